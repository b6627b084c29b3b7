//! Does the client behave as the interface says with the fake, and the same over HTTP and HTTPS with the sandbox? The tests of the
//! fake have each of its choices, test values and errors.

use payments_core::model::{Amount, Field, Payer, TransactionType, TransactionTypeCode, Void};
use payments_core::{Error, OperationName, Success, VoidReceipt};
use payments_fake::Fault;
use serde::Serialize;

use crate::requests::{APPROVED, ach, card, payer, sale, sale_to, token};
use crate::test_setup::{Network, TestSetup};

#[tokio::test]
async fn sale_is_charged_once_and_its_record_is_returned_and_found_d05_d12_d26() {
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
    let found = setup.client.transaction(&charged.transaction_id).await.unwrap();
    assert_eq!((found.status_code(), found.data()), (Some("200"), charged.data()));
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
