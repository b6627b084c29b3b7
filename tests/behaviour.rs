//! Does the client behave as the interface says with the fake, and the same over HTTP and HTTPS with the sandbox?

use payments_core::model::{
    Amount, CustomerId, Field, Payer, TransactionId, TransactionType, TransactionTypeCode, Void,
};
use payments_core::{Error, ErrorKind, OperationName, Outcome, RefusedBy, Success, VoidReceipt};
use payments_fake::{DeclineShape, FakeGateway, Fault, VoidResponse};
use serde::Serialize;

use crate::requests::{APPROVED, ach, card, payer, sale, sale_to, token};
use crate::test_setup::{Network, TestSetup};

#[tokio::test]
async fn sale_is_charged_once_and_returns_its_record_d05_d26() {
    let setup = Network::InProcess.setup().await;
    let charged = setup.client.process_card(&sale(10_50)).await.unwrap();
    assert_eq!(charged.http_status().as_u16(), 200);
    assert_eq!(charged.status_code(), Some("100"));
    assert_eq!(charged.message(), Some("Transaction Processed Successfully"));
    assert_eq!(charged.amount.value(), Some(&Amount::from_cents(10_50)));
    assert_eq!(charged.transaction_type.value(), Some(&TransactionTypeCode::SALE));
    assert_eq!(charged.card_number.value().and_then(|card| card.last_four()), Some("4242"));
    assert_eq!(charged.billing_email.value().map(String::as_str), Some("ada@example.com"));
    assert_eq!(charged.billing_city.value().map(String::as_str), Some("San Francisco"));
    assert_eq!(charged.billing_address.value().map(String::as_str), Some(""));
    assert_eq!(charged.billing_state, Field::Null);
    assert!(charged.request_id().is_some());
    let ledger = setup.gateway.ledger();
    assert_eq!(
        ledger.assert_charged_once(Amount::from_cents(10_50)).transaction_id(),
        &charged.transaction_id
    );
}

#[tokio::test]
async fn authorisation_is_voided_d05_d66() {
    let setup = Network::InProcess.setup().await;
    let authorised = setup.client.process_card(&card(APPROVED, TransactionType::Auth, 25_00)).await.unwrap();
    assert_eq!(authorised.transaction_type.value(), Some(&TransactionTypeCode::AUTH));
    let void = Void::new(authorised.transaction_id.clone()).with_reason("ordered twice").unwrap();
    let voided = setup.client.void(&void).await.unwrap();
    assert_eq!(voided.message(), Some("Transaction Voided Successfully"));
    assert_eq!(voided.voided, authorised.transaction_id);
    assert_eq!(voided.transaction_id, authorised.transaction_id);
    setup.gateway.ledger().assert_voided(&authorised.transaction_id);
    assert_eq!(rejected(setup.client.void(&void).await, 400).reason(), Some("invalid transaction id"));
}

#[tokio::test]
async fn void_may_return_another_id_d66() {
    let gateway =
        FakeGateway::builder().choices(|choices| choices.void_response = VoidResponse::NewTransactionId);
    let setup = Network::InProcess.setup_with(gateway).await;
    let authorised = setup.client.process_card(&card(APPROVED, TransactionType::Auth, 25_00)).await.unwrap();
    let voided = setup.client.void(&Void::new(authorised.transaction_id.clone())).await.unwrap();
    assert_eq!(voided.voided, authorised.transaction_id);
    assert_ne!(voided.transaction_id, authorised.transaction_id);
}

#[tokio::test]
async fn ach_payment_is_charged_d05_d39() {
    let setup = Network::InProcess.setup().await;
    let debited = setup.client.process_ach(&ach(99)).await.unwrap();
    let ledger = setup.gateway.ledger();
    assert_eq!(ledger.assert_charged_once(Amount::from_cents(99)).transaction_id(), &debited.transaction_id);
}

#[tokio::test]
async fn token_is_charged_d05_d40() {
    let setup = Network::InProcess.setup().await;
    let charged = setup.client.process_token(&token("tok_approved", 7_00)).await.unwrap();
    let ledger = setup.gateway.ledger();
    assert_eq!(
        ledger.assert_charged_once(Amount::from_cents(7_00)).transaction_id(),
        &charged.transaction_id
    );
}

#[tokio::test]
async fn token_approves_twice_then_declines_d40() {
    let setup = Network::InProcess.setup().await;
    for _ in 0..2 {
        setup.client.process_token(&token("tok_then_declined", 1_00)).await.unwrap();
    }
    let error = setup.client.process_token(&token("tok_then_declined", 1_00)).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Rejected);
    setup.gateway.ledger().assert_charged_total(Amount::from_cents(2_00));
}

#[tokio::test]
async fn transaction_and_customer_are_found_d12() {
    let setup = Network::InProcess.setup().await;
    let charged = setup.client.process_card(&sale(10_50)).await.unwrap();
    let found = setup.client.transaction(&charged.transaction_id).await.unwrap();
    assert_eq!(found.status_code(), Some("200"));
    assert_eq!(found.message(), Some("Transaction Details found successfully"));
    assert_eq!(found.data(), charged.data());
    let customer = setup.client.customer(&"cus_1".parse().unwrap()).await.unwrap();
    assert_eq!(customer.message(), Some("Customer Details found successfully"));
    assert_eq!(customer.customer_id.value().map(CustomerId::as_str), Some("cus_1"));
}

#[tokio::test]
async fn documented_errors_are_rejections_d09() {
    let setup = Network::InProcess.setup().await;
    let wrong_key = setup.client_with_key("not-the-key");
    let error = rejected(wrong_key.process_card(&sale(1_00)).await, 401);
    assert_eq!(error.kind(), ErrorKind::Unauthorized);
    assert_eq!(error.reason(), Some("Unauthorized: Invalid API Key"));

    let invalid_payer = Payer { postal_code: "00000", ..payer() };
    let error = rejected(setup.client.process_card(&sale_to(invalid_payer)).await, 400);
    assert_eq!(error.reason(), Some("invalid postal code"));

    let error = rejected(setup.client.process_token(&token("tok_unheard_of", 1_00)).await, 400);
    assert_eq!(error.reason(), Some("invalid token"));
    let error = rejected(setup.client.process_token(&token("tok_removed", 1_00)).await, 400);
    assert_eq!(error.reason(), Some("invalid token"));

    let unknown: TransactionId = "txn_unheard_of".parse().unwrap();
    let error = rejected(setup.client.void(&Void::new(unknown.clone())).await, 400);
    assert_eq!(error.reason(), Some("invalid transaction id"));
    assert!(error.kind() != ErrorKind::NotFound);

    let error = setup.client.transaction(&unknown).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.failed_call().refused_by()),
        (ErrorKind::NotFound, Some(RefusedBy::Service))
    );
    assert_eq!(error.reason(), Some("Transaction not found"));

    let error = setup.client.customer(&"cus_unheard_of".parse().unwrap()).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.failed_call().refused_by()),
        (ErrorKind::NotFound, Some(RefusedBy::Service))
    );
    assert_eq!(error.reason(), Some("Customer not found"));
    setup.gateway.ledger().assert_nothing_charged();
}

#[tokio::test]
async fn decline_of_any_shape_is_rejected_d06_d09() {
    for &shape in DeclineShape::ALL {
        let setup = Network::InProcess
            .setup_with(FakeGateway::builder().choices(|choices| choices.decline_shape = shape))
            .await;
        let declined = card("4000000000000002", TransactionType::Sale, 1_00);
        let error = setup.client.process_card(&declined).await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::Rejected, "{}", shape.as_str());
        assert!(error.kind() != ErrorKind::RefusedByIntermediary, "{}", shape.as_str());
        let in_a_200 = matches!(shape, DeclineShape::OkFailed | DeclineShape::OkError);
        assert_eq!(error.transaction_id().is_some(), in_a_200, "{}", shape.as_str());
        setup.gateway.ledger().assert_nothing_charged();
    }
}

#[tokio::test]
async fn lookup_is_retried_after_a_fault_d12() {
    let setup = Network::InProcess.setup().await;
    let charged = setup.client.process_card(&sale(10_50)).await.unwrap();
    setup.gateway.arm(Fault::response_lost(OperationName::GetTransaction));
    setup.client.transaction(&charged.transaction_id).await.unwrap();
}

#[track_caller]
fn rejected<T>(result: Result<Success<T>, Error>, http_status: u16) -> Error {
    let error = result.err().expect("the service rejects the request");
    assert_eq!(error.outcome(), Outcome::Rejected);
    assert_eq!(error.http_status().map(|status| status.as_u16()), Some(http_status));
    error
}

/// Makes the same calls over each network. Every result and every error text must be identical.
#[tokio::test]
async fn every_network_returns_the_same_results() {
    let in_process = results(&Network::InProcess.setup().await).await;
    assert_eq!(results(&Network::Http.setup().await).await, in_process);
    assert_eq!(results(&Network::Https.setup().await).await, in_process);
}

async fn results(setup: &TestSetup) -> Vec<String> {
    let client = &setup.client;
    let authorised = client.process_card(&card(APPROVED, TransactionType::Auth, 25_00)).await.unwrap();
    let void = Void::new(authorised.transaction_id.clone());
    let wrong_key = setup.client_with_key("not-the-key");
    setup.gateway.arm(Fault::response_lost(OperationName::GetTransaction));
    vec![
        text(client.process_card(&sale(10_50)).await),
        text(client.process_card(&card("4000000000009995", TransactionType::Sale, 5_00)).await),
        text(client.process_card(&sale_to(Payer { postal_code: "00000", ..payer() })).await),
        text(client.process_card(&sale(9_007_199_254_740_993)).await),
        void_text(client.void(&void).await),
        void_text(client.void(&void).await),
        text(client.transaction(&authorised.transaction_id).await),
        text(client.process_ach(&ach(3_00)).await),
        text(client.process_token(&token("tok_approved", 4_00)).await),
        text(client.process_token(&token("tok_declined", 4_00)).await),
        text(client.process_token(&token("tok_unheard_of", 4_00)).await),
        text(client.customer(&"cus_1".parse().unwrap()).await),
        text(client.customer(&"cus_2".parse().unwrap()).await),
        text(wrong_key.process_card(&sale(1_00)).await),
    ]
}

fn text<T: Serialize>(result: Result<Success<T>, impl std::error::Error>) -> String {
    match result {
        Ok(success) => format!("{} {:?}", serde_json::to_string(success.data()).unwrap(), success.message()),
        Err(error) => error.to_string(),
    }
}

fn void_text(result: Result<Success<VoidReceipt>, Error>) -> String {
    match result {
        Ok(success) => format!("{} {:?}", success.transaction_id, success.message()),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn amounts_arrive_to_the_cent() {
    let setup = Network::InProcess.setup().await;
    let mut total = Amount::from_cents(0);
    for cents in [1, 7, 10, 29, 1_00, 19_99, 45_00, 70_07, 4_503_599_627_370_497, 9_007_199_254_740_993] {
        let amount = Amount::from_cents(cents);
        let charged = setup.client.process_card(&sale(cents)).await.unwrap();
        assert_eq!(charged.amount.value(), Some(&amount), "{amount}");
        total = total.checked_add(amount).unwrap();
    }
    setup.gateway.ledger().assert_charged_total(total);
}
