//! Each of the fake's choices, where the interface does not say what the service does.

use payments_core::model::{
    Amount, Card, CardTransaction, ConvenienceFee, Field, TransactionType, TransactionTypeCode, Void,
};
use payments_core::{Client, ErrorKind};
use payments_fake::{EntryKind, FakeGateway, VoidResponse, block_on};

use crate::support::*;

/// The base amount and the amount of a new payment.
fn amounts(
    gateway: &FakeGateway,
    fee: ConvenienceFee,
    transaction_type: TransactionType,
) -> (Field<Amount>, Field<Amount>) {
    let card = Card { number: "4242424242424242", cvv: "123", expiry: "12/30" };
    let payment = CardTransaction::builder(PRICE, transaction_type, fee, card, PAYER).build().unwrap();
    let record = block_on(gateway.client().process_card(&payment)).unwrap().into_data();
    (record.base_amount, record.amount)
}

#[test]
fn a_convenience_fee_is_charged_only_if_active_d27() {
    use ConvenienceFee::{Active, Inactive};
    let gateway = choosing(|choices| choices.convenience_fee = Some(Amount::from_cents(1_95)));
    let total = Amount::from_cents(12_45);
    assert_eq!(amounts(&gateway, Active, TransactionType::Sale), (PRICE.into(), total.into()));
    gateway.ledger().assert_charged_once(total);
    assert_eq!(amounts(&gateway, Inactive, TransactionType::Sale), (PRICE.into(), PRICE.into()));
    gateway.ledger().assert_charged_total(Amount::from_cents(22_95));
    assert_eq!(amounts(&FakeGateway::new(), Active, TransactionType::Sale), (PRICE.into(), PRICE.into()));
}

#[test]
fn an_omitted_transaction_type_is_the_chosen_one_d26() {
    for (chosen, kind) in [
        (None, EntryKind::Sale),
        (Some(TransactionType::Sale), EntryKind::Sale),
        (Some(TransactionType::Auth), EntryKind::Authorization),
    ] {
        let gateway = choosing(|choices| {
            choices.omitted_transaction_type = chosen.unwrap_or(choices.omitted_transaction_type);
        });
        amounts(&gateway, ConvenienceFee::Inactive, TransactionType::GatewayDefault);
        assert_eq!(gateway.ledger().entries()[0].kind, kind);
    }
}

#[test]
fn a_token_payment_that_is_an_authorization_can_be_voided() {
    let gateway = choosing(|choices| choices.token_transaction_type = TransactionType::Auth);
    let id =
        block_on(gateway.client().process_token(&token("tok_approved"))).unwrap().into_data().transaction_id;
    let record = block_on(gateway.client().transaction(&id)).unwrap();
    assert_eq!(record.transaction_type.value(), Some(&TransactionTypeCode::AUTH));
    void(&gateway, id.as_str()).unwrap();
    gateway.ledger().assert_voided(&id);
}

#[test]
fn a_void_returns_the_same_id_or_a_new_one_that_can_be_looked_up_d66() {
    let gateway = FakeGateway::new();
    let authorized = authorize(&gateway);
    let voided = void(&gateway, authorized.as_str()).unwrap();
    assert_eq!((&voided.voided, &voided.transaction_id), (&authorized, &authorized));
    assert_eq!(gateway.ledger().entries().len(), 1);

    let gateway = choosing(|choices| choices.void_response = VoidResponse::NewTransactionId);
    let authorized = authorize(&gateway);
    let request = Void::new(authorized.clone()).with_reason("changed their mind").unwrap();
    let id = &block_on(gateway.client().void(&request)).unwrap().transaction_id;
    assert_ne!(*id, authorized);
    block_on(gateway.client().transaction(id)).unwrap();
    let ledger = gateway.ledger();
    assert_eq!(ledger.assert_voided(&authorized).void_reason.as_deref(), Some("changed their mind"));
    assert_eq!(ledger.entry(id).unwrap().kind, EntryKind::Void);
    ledger.assert_nothing_charged();
}

#[test]
fn a_record_can_have_the_new_token_d29() {
    let gateway = choosing(|choices| choices.token_field = Some("PaymentToken".into()));
    let paid = block_on(gateway.client().process_card(&tokenizing("4242424242424242"))).unwrap();
    let token_id = gateway.tokens()[0].token_id.clone();
    assert_eq!(paid.other.get("PaymentToken").unwrap().as_str(), format!("\"{token_id}\""));
    assert!(pay(&gateway).unwrap().other.is_empty());
}

#[test]
fn status_codes_are_the_chosen_ones() {
    let gateway = choosing(|choices| choices.status_codes.sale = "77".into());
    assert_eq!(pay(&gateway).unwrap().status, Field::Value("77".to_owned()));
}

#[test]
fn only_the_chosen_key_is_accepted_d25() {
    let gateway = FakeGateway::builder().api_key("another_key").build();
    pay(&gateway).unwrap();
    let wrong_key =
        Client::builder(FakeGateway::new().endpoint(), gateway.transport(), gateway.clock().clone());
    let error = block_on(wrong_key.build().process_card(&sale())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized);
    gateway.ledger().assert_charged_once(PRICE);
}

#[test]
fn a_key_a_type_or_a_fee_that_nothing_can_have_is_refused_d25_d26_d53() {
    let message = panic_message(|| _ = FakeGateway::builder().api_key("a key"));
    assert!(message.contains("an API key is visible ASCII without spaces"), "{message}");
    let default = TransactionType::GatewayDefault;
    let message = panic_message(|| _ = choosing(|choices| choices.omitted_transaction_type = default));
    assert!(message.contains("a chosen transaction type is Sale or Auth"), "{message}");

    let choose = |fee: &str| _ = choosing(|choices| choices.convenience_fee = Some(fee.parse().unwrap()));
    for fee in ["0", "0.00", "1", "1.5", "1.95"] {
        choose(fee);
    }
    for fee in ["1.950", "0.005", "1e-3", "-0.01", "-1"] {
        let message = panic_message(|| choose(fee));
        assert_eq!(message, "a convenience fee is at least zero and has at most two decimal places", "{fee}");
    }
}
