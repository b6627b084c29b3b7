//! Does the client behave the same over the fake in process and over HTTP and HTTPS to the sandbox?

use payments_core::model::{
    Amount, CustomerId, Field, Payer, TransactionId, TransactionType, TransactionTypeCode, Void,
};
use payments_core::{Error, OperationName, Outcome, Success, VoidReceipt};
use payments_fake::{DeclineShape, FakeGateway, Fault, VoidAnswer};
use serde::Serialize;

use crate::requests::{APPROVED, ach, card, payer, sale, sale_to, token};
use crate::rig::{Network, Rig};

/// Makes of each behaviour one test over the fake transport, one over HTTP and one over HTTPS.
macro_rules! behaviours {
    ($($name:ident,)*) => {
        mod in_process {
            $(#[tokio::test]
            async fn $name() {
                super::$name(crate::rig::Network::InProcess).await;
            })*
        }

        mod over_http {
            $(#[tokio::test]
            async fn $name() {
                super::$name(crate::rig::Network::Http).await;
            })*
        }

        mod over_https {
            $(#[tokio::test]
            async fn $name() {
                super::$name(crate::rig::Network::Https).await;
            })*
        }
    };
}

behaviours! {
    a_sale_is_charged_once_and_its_record_comes_back_d05_d26,
    an_authorisation_is_voided_d05_d66,
    a_void_may_answer_with_an_id_of_its_own_d66,
    an_ach_payment_is_made_d05_d39,
    a_token_is_charged_d05_d40,
    a_token_that_approves_twice_then_declines_d40,
    a_transaction_and_a_customer_are_found_d12,
    every_documented_error_is_a_rejection_d09,
    a_decline_is_rejected_whatever_its_shape_d06_d09,
    a_lookup_survives_a_passing_fault_d12,
    every_cent_of_a_charge_arrives,
}

async fn a_sale_is_charged_once_and_its_record_comes_back_d05_d26(network: Network) {
    let rig = network.rig().await;
    let charged = rig.client.process_card(&sale(10_50)).await.unwrap();
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
    let ledger = rig.gateway.ledger();
    assert_eq!(
        ledger.assert_charged_once(Amount::from_cents(10_50)).transaction_id(),
        &charged.transaction_id
    );
}

async fn an_authorisation_is_voided_d05_d66(network: Network) {
    let rig = network.rig().await;
    let authorised = rig.client.process_card(&card(APPROVED, TransactionType::Auth, 25_00)).await.unwrap();
    assert_eq!(authorised.transaction_type.value(), Some(&TransactionTypeCode::AUTH));
    let void = Void::new(authorised.transaction_id.clone()).reason("ordered twice");
    let voided = rig.client.void(&void).await.unwrap();
    assert_eq!(voided.message(), Some("Transaction Voided Successfully"));
    assert_eq!(voided.voided, authorised.transaction_id);
    assert_eq!(voided.receipt.transaction_id, authorised.transaction_id);
    rig.gateway.ledger().assert_voided(&authorised.transaction_id);
    assert_eq!(rejected(rig.client.void(&void).await, 400).reason(), Some("invalid transaction id"));
}

async fn a_void_may_answer_with_an_id_of_its_own_d66(network: Network) {
    let gateway =
        FakeGateway::builder().choices(|choices| choices.void_answer = VoidAnswer::NewTransactionId);
    let rig = network.rig_of(gateway).await;
    let authorised = rig.client.process_card(&card(APPROVED, TransactionType::Auth, 25_00)).await.unwrap();
    let voided = rig.client.void(&Void::new(authorised.transaction_id.clone())).await.unwrap();
    assert_eq!(voided.voided, authorised.transaction_id);
    assert_ne!(voided.receipt.transaction_id, authorised.transaction_id);
}

async fn an_ach_payment_is_made_d05_d39(network: Network) {
    let rig = network.rig().await;
    let debited = rig.client.process_ach(&ach(99)).await.unwrap();
    let ledger = rig.gateway.ledger();
    assert_eq!(ledger.assert_charged_once(Amount::from_cents(99)).transaction_id(), &debited.transaction_id);
}

async fn a_token_is_charged_d05_d40(network: Network) {
    let rig = network.rig().await;
    let charged = rig.client.process_token(&token("tok_approved", 7_00)).await.unwrap();
    let ledger = rig.gateway.ledger();
    assert_eq!(
        ledger.assert_charged_once(Amount::from_cents(7_00)).transaction_id(),
        &charged.transaction_id
    );
}

async fn a_token_that_approves_twice_then_declines_d40(network: Network) {
    let rig = network.rig().await;
    for _ in 0..2 {
        rig.client.process_token(&token("tok_then_declined", 1_00)).await.unwrap();
    }
    let error = rig.client.process_token(&token("tok_then_declined", 1_00)).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Rejected);
    rig.gateway.ledger().assert_charged_total(Amount::from_cents(2_00));
}

async fn a_transaction_and_a_customer_are_found_d12(network: Network) {
    let rig = network.rig().await;
    let charged = rig.client.process_card(&sale(10_50)).await.unwrap();
    let found = rig.client.transaction(&charged.transaction_id).await.unwrap();
    assert_eq!(found.status_code(), Some("200"));
    assert_eq!(found.message(), Some("Transaction Details found successfully"));
    assert_eq!(found.data(), charged.data());
    let customer = rig.client.customer(&"cus_1".parse().unwrap()).await.unwrap();
    assert_eq!(customer.message(), Some("Customer Details found successfully"));
    assert_eq!(customer.customer_id.value().map(CustomerId::as_str), Some("cus_1"));
}

async fn every_documented_error_is_a_rejection_d09(network: Network) {
    let rig = network.rig().await;
    let stranger = rig.client_with_key("not-the-key");
    let error = rejected(stranger.process_card(&sale(1_00)).await, 401);
    assert!(error.is_unauthorized() && !error.is_intermediary());
    assert_eq!(error.reason(), Some("Unauthorized: Invalid API Key"));

    let misplaced = Payer { postal_code: "00000", ..payer() };
    let error = rejected(rig.client.process_card(&sale_to(misplaced)).await, 400);
    assert_eq!(error.reason(), Some("invalid postal code"));

    let error = rejected(rig.client.process_token(&token("tok_unheard_of", 1_00)).await, 400);
    assert_eq!(error.reason(), Some("invalid token"));
    let error = rejected(rig.client.process_token(&token("tok_removed", 1_00)).await, 400);
    assert_eq!(error.reason(), Some("invalid token"));

    let nobody: TransactionId = "txn_unheard_of".parse().unwrap();
    let error = rejected(rig.client.void(&Void::new(nobody.clone())).await, 400);
    assert_eq!(error.reason(), Some("invalid transaction id"));
    assert!(!error.is_not_found());

    let error = rig.client.transaction(&nobody).await.unwrap_err();
    assert!(error.is_not_found() && error.is_rejected());
    assert_eq!(error.reason(), Some("Transaction not found"));

    let error = rig.client.customer(&"cus_unheard_of".parse().unwrap()).await.unwrap_err();
    assert!(error.is_not_found() && error.is_rejected());
    assert_eq!(error.reason(), Some("Customer not found"));
    rig.gateway.ledger().assert_nothing_charged();
}

async fn a_decline_is_rejected_whatever_its_shape_d06_d09(network: Network) {
    for shape in DeclineShape::ALL {
        let rig = network.rig_of(FakeGateway::builder().decline_shape(shape)).await;
        let declined = card("4000000000000002", TransactionType::Sale, 1_00);
        let error = rig.client.process_card(&declined).await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::Rejected, "{}", shape.as_str());
        assert!(!error.is_intermediary(), "{}", shape.as_str());
        let in_a_200 = matches!(shape, DeclineShape::OkFailed | DeclineShape::OkError);
        assert_eq!(error.transaction_id().is_some(), in_a_200, "{}", shape.as_str());
        rig.gateway.ledger().assert_nothing_charged();
    }
}

async fn a_lookup_survives_a_passing_fault_d12(network: Network) {
    let rig = network.rig().await;
    let charged = rig.client.process_card(&sale(10_50)).await.unwrap();
    rig.gateway.arm(Fault::response_lost(OperationName::GetTransaction));
    rig.client.transaction(&charged.transaction_id).await.unwrap();
}

#[track_caller]
fn rejected<T>(result: Result<Success<T>, Error>, http_status: u16) -> Error {
    let error = result.err().expect("the service says no");
    assert_eq!(error.outcome(), Outcome::Rejected);
    assert_eq!(error.http_status().map(|status| status.as_u16()), Some(http_status));
    error
}

/// The same calls, in words, over each: every answer and every error must be the same to the letter.
#[tokio::test]
async fn every_network_tells_the_same_story() {
    let in_process = story(&Network::InProcess.rig().await).await;
    assert_eq!(story(&Network::Http.rig().await).await, in_process);
    assert_eq!(story(&Network::Https.rig().await).await, in_process);
}

async fn story(rig: &Rig) -> Vec<String> {
    let client = &rig.client;
    let authorised = client.process_card(&card(APPROVED, TransactionType::Auth, 25_00)).await.unwrap();
    let void = Void::new(authorised.transaction_id.clone());
    let stranger = rig.client_with_key("not-the-key");
    vec![
        told(client.process_card(&sale(10_50)).await),
        told(client.process_card(&card("4000000000009995", TransactionType::Sale, 5_00)).await),
        told_of_void(client.void(&void).await),
        told_of_void(client.void(&void).await),
        told(client.transaction(&authorised.transaction_id).await),
        told(client.process_ach(&ach(3_00)).await),
        told(client.process_token(&token("tok_approved", 4_00)).await),
        told(client.process_token(&token("tok_declined", 4_00)).await),
        told(client.customer(&"cus_1".parse().unwrap()).await),
        told(client.customer(&"cus_2".parse().unwrap()).await),
        told(stranger.process_card(&sale(1_00)).await),
    ]
}

fn told<T: Serialize>(result: Result<Success<T>, impl std::error::Error>) -> String {
    match result {
        Ok(success) => format!("{} {:?}", serde_json::to_string(success.data()).unwrap(), success.message()),
        Err(error) => error.to_string(),
    }
}

fn told_of_void(result: Result<Success<VoidReceipt>, Error>) -> String {
    match result {
        Ok(success) => format!("{} {:?}", success.receipt.transaction_id, success.message()),
        Err(error) => error.to_string(),
    }
}

async fn every_cent_of_a_charge_arrives(network: Network) {
    let rig = network.rig().await;
    let mut total = Amount::from_cents(0);
    for cents in [1, 7, 10, 29, 1_00, 19_99, 45_00, 70_07, 4_503_599_627_370_497, 9_007_199_254_740_993] {
        let amount = Amount::from_cents(cents);
        let charged = rig.client.process_card(&sale(cents)).await.unwrap();
        assert_eq!(charged.amount.value(), Some(&amount), "{amount}");
        total = total.checked_add(amount).unwrap();
    }
    rig.gateway.ledger().assert_charged_total(total);
}
