//! Every public test value and every shape of a decline, through a client.

use crate::support::*;
use payments_core::model::{
    AchTransaction, ConvenienceFee, Payer, TokenTransaction, TransactionId, TransactionRecord,
    TransactionType,
};
use payments_core::{Error, OperationName, Outcome, Success};
use payments_fake::test_values::{
    DECLINED, DECLINED_AS_TOKEN, INVALID_POSTAL_CODE, TEST_VALUES, TestEffect, TestField, TestValue, VISA,
};
use payments_fake::{
    DeclineShape, EntryState, FakeGateway, Fault, PaymentSource, UnlistedCards, block_on, test_values,
};

fn rows(field: TestField) -> impl Iterator<Item = &'static TestValue> {
    TEST_VALUES.iter().filter(move |row| row.field == field)
}

fn charge_token(gateway: &FakeGateway, id: &str) -> Result<TransactionId, Error> {
    block_on(gateway.client().process_token(&token(id))).map(|charged| charged.into_data().transaction_id)
}

/// The outcome of a payment is that of its test value, and so is the ledger.
#[track_caller]
fn assert_declined<T: std::fmt::Debug>(gateway: &FakeGateway, result: Result<T, Error>, reason: &str) {
    let error = result.unwrap_err();
    assert_eq!((error.outcome(), error.reason()), (Outcome::Rejected, Some(reason)));
    gateway.ledger().assert_nothing_charged();
}

#[test]
fn every_card_number_does_what_the_table_says() {
    for row in rows(TestField::CardNumber) {
        let gateway = FakeGateway::new();
        let Ok(payment) = card(row.value).build() else {
            assert_eq!(row.effect, TestEffect::Invalid, "{}", row.value);
            continue;
        };
        let result = block_on(gateway.client().process_card(&payment));
        match row.effect {
            TestEffect::Approves | TestEffect::DeclinesAsToken => {
                let last_four = result.unwrap().card_number.value().unwrap().last_four().map(str::to_owned);
                assert_eq!(last_four.as_deref(), row.value.get(row.value.len() - 4..));
                gateway.ledger().assert_charged_once(PRICE);
            }
            TestEffect::Declines => assert_declined(&gateway, result, row.result),
            effect => panic!("{effect:?} is not an effect of a card"),
        }
    }
}

#[test]
fn an_account_is_declined_by_its_number_in_any_field() {
    for row in rows(TestField::AccountField) {
        assert_eq!(row.effect, TestEffect::Declines);
        for field in ["AccountNumber", "Iban"] {
            let gateway = FakeGateway::new();
            let pay = |number: &str| {
                let fee = ConvenienceFee::Inactive;
                let payment = AchTransaction::builder(PRICE, TransactionType::Sale, fee, PAYER);
                let payment =
                    payment.account_field("RoutingNumber", "021000021").account_field(field, number);
                block_on(gateway.client().process_ach(&payment.build().unwrap()))
            };
            assert_declined(&gateway, pay(row.value), row.result);
            assert_eq!(gateway.ledger().entries()[0].source, PaymentSource::Account);
            assert!(!gateway.first_tenant().state_json().contains(row.value), "the account is not kept");
            pay("000123456789").unwrap();
            gateway.ledger().assert_charged_once(PRICE);
        }
    }
    // In a field of the interface it is only a text.
    let payer = Payer { phone_number: test_values::DECLINED_ACCOUNT, ..PAYER };
    let payment = AchTransaction::builder(PRICE, TransactionType::Sale, ConvenienceFee::Inactive, payer)
        .account_field("AccountNumber", "000123456789");
    block_on(FakeGateway::new().client().process_ach(&payment.build().unwrap())).unwrap();
}

#[test]
fn the_service_refuses_a_number_that_fails_luhn() {
    let body =
        String::from_utf8(card_request(&sale()).body().to_vec()).unwrap().replace(VISA, "4242424242424241");
    let (status, error) = json(&FakeGateway::new(), post("/transaction", body));
    assert_eq!(status, 400);
    assert!(
        error["msg"].as_str().unwrap().starts_with("bad request error: 1 field is invalid: CardNumber: ")
    );
}

#[test]
fn every_named_token_does_what_the_table_says() {
    for row in rows(TestField::TokenId) {
        let gateway = FakeGateway::new();
        let result = charge_token(&gateway, row.value);
        match row.effect {
            TestEffect::Approves | TestEffect::ApprovesTwice => {
                result.unwrap();
                gateway.ledger().assert_charged_once(PRICE);
            }
            TestEffect::Declines => assert_declined(&gateway, result, row.result),
            TestEffect::Removed => assert_declined(&gateway, result, "invalid token"),
            effect => panic!("{effect:?} is not an effect of a token"),
        }
    }
}

#[test]
fn one_token_approves_twice_and_then_declines() {
    let gateway = FakeGateway::new();
    let approved: Vec<bool> = (0..4).map(|_| charge_token(&gateway, "tok_then_declined").is_ok()).collect();
    assert_eq!(approved, [true, true, false, false]);
    gateway.ledger().assert_charged_total(payments_core::model::Amount::from_cents(21_00));
}

#[test]
fn a_charge_that_is_late_counts_as_one_of_two() {
    for late in 0..=3 {
        let gateway = FakeGateway::new();
        if late > 0 {
            gateway.arm(Fault::on(OperationName::TokenTransaction).late().close().times(late));
        }
        for _ in 0..3 {
            let _ = charge_token(&gateway, "tok_then_declined");
        }
        gateway.deliver_late();
        let ledger = gateway.ledger();
        let approved = ledger.entries().iter().filter(|entry| entry.state == EntryState::Approved);
        assert_eq!(approved.count(), 2, "{late} late");
    }
}

/// Pays with a card and asks for a token.
fn pay_for_a_token(gateway: &FakeGateway, number: &str) -> Result<Success<TransactionRecord>, Error> {
    block_on(gateway.client().process_card(&tokenizing(number)))
}

#[test]
fn the_gateway_lists_a_new_token_and_it_can_be_charged_d29() {
    let gateway = FakeGateway::new();
    let paid = pay_for_a_token(&gateway, VISA).unwrap();
    assert!(paid.other.is_empty(), "the interface promises no token");
    let tokens = gateway.tokens();
    assert_eq!((tokens.len(), tokens[0].transaction_id.as_ref()), (1, Some(&paid.transaction_id)));
    assert_eq!(tokens[0].card.as_str(), "************4242");
    charge_token(&gateway, tokens[0].token_id.as_str()).unwrap();
}

#[test]
fn a_declined_card_creates_no_token_and_that_of_a_declining_card_is_declined() {
    let gateway = FakeGateway::new();
    pay_for_a_token(&gateway, DECLINED).unwrap_err();
    assert_eq!(gateway.tokens(), []);
    pay_for_a_token(&gateway, DECLINED_AS_TOKEN).unwrap();
    let id = gateway.tokens()[0].token_id.to_string();
    for _ in 0..2 {
        assert_eq!(charge_token(&gateway, &id).unwrap_err().reason(), Some("declined"));
    }
}

#[test]
fn a_token_belongs_to_its_customer_d40() {
    let gateway = FakeGateway::new();
    pay_for_a_token(&gateway, VISA).unwrap();
    let created = &gateway.tokens()[0];
    assert_eq!(created.gateway_customer_id.as_str(), "gc_1");
    for id in ["tok_approved", created.token_id.as_str()] {
        let charge = |owner: &str| {
            let payment = TokenTransaction::builder(id, PRICE, ConvenienceFee::Inactive);
            block_on(gateway.client().process_token(&payment.gateway_customer_id(owner).build().unwrap()))
        };
        charge("gc_1").unwrap();
        assert_eq!(charge("gc_2").unwrap_err().reason(), Some("invalid token"));
        assert_eq!(charge("cus_1").unwrap_err().reason(), Some("invalid token"), "another kind of id");
    }
}

#[test]
fn a_decline_shape_is_parsed_from_its_name() {
    for &shape in DeclineShape::ALL {
        assert_eq!(shape.to_string().parse(), Ok(shape));
    }
    let error = "ok_failed".parse::<DeclineShape>().unwrap_err();
    assert_eq!(error.to_string(), "must be ok-failed, ok-error, bad-request or payment-required");
}

#[test]
fn precedence_is_fault_then_card_then_postal_code_then_approval() {
    let gateway = armed(Fault::on(OperationName::Transaction).before_commit().garbage());
    let reason = |number, postal_code| {
        let payer = Payer { postal_code, ..PAYER };
        let payment = payment(number, TransactionType::Sale, payer).build().unwrap();
        block_on(gateway.client().process_card(&payment))
            .err()
            .map(|error| (error.outcome(), error.reason().map(str::to_owned)))
    };
    let rejected = |reason: &str| Some((Outcome::Rejected, Some(reason.to_owned())));
    assert_eq!(reason(DECLINED, INVALID_POSTAL_CODE), Some((Outcome::Unknown, None)));
    assert_eq!(reason(DECLINED, INVALID_POSTAL_CODE), rejected("declined"));
    assert_eq!(reason(VISA, INVALID_POSTAL_CODE), rejected("invalid postal code"));
    assert_eq!(gateway.ledger().entries().len(), 1, "only the declined one");
    assert_eq!(reason(VISA, "94105"), None);

    let body = String::from_utf8(ach().to_json().as_ref().to_vec()).unwrap();
    let body = body.replace("SW1A 1AA", INVALID_POSTAL_CODE);
    let refused = error_body(400, "bad request error: invalid postal code");
    assert_eq!(json(&gateway, post("/transaction", body)), refused);
    assert_eq!(gateway.ledger().entries().len(), 2);
}

#[test]
fn every_shape_of_a_decline_is_a_rejection_and_takes_no_money_d06() {
    for (shape, http_status, status_code, has_record) in [
        (DeclineShape::OkFailed, 200, "200", true),
        (DeclineShape::OkError, 200, "200", true),
        (DeclineShape::BadRequest, 400, "400", false),
        (DeclineShape::PaymentRequired, 402, "402", false),
    ] {
        let gateway = choosing(|choices| choices.decline_shape = shape);
        let error = block_on(gateway.client().process_card(&card(DECLINED).build().unwrap())).unwrap_err();
        assert_eq!((error.outcome(), error.reason()), (Outcome::Rejected, Some("declined")), "{shape}");
        let codes = (error.http_status().unwrap().as_u16(), error.failed_call().status_code());
        assert_eq!(codes, (http_status, Some(status_code)));

        let ledger = gateway.ledger();
        let entry = &ledger.entries()[0];
        assert_eq!(entry.state, EntryState::Declined);
        assert_eq!(error.transaction_id(), Some(entry.transaction_id()).filter(|_| has_record), "{shape}");
        assert_eq!(error.record_status(), Some("4").filter(|_| has_record), "{shape}");
    }
}

#[test]
fn a_declined_payment_can_be_looked_up() {
    let gateway = FakeGateway::new();
    let client = gateway.client();
    let error = block_on(client.process_card(&card(DECLINED).build().unwrap())).unwrap_err();
    let record = block_on(client.transaction(error.transaction_id().unwrap())).unwrap();
    assert_eq!(record.status.value().map(String::as_str), Some("4"));
}

#[test]
fn an_unlisted_number_is_approved_by_default() {
    let unlisted = card("4000000000000010").build().unwrap();
    block_on(FakeGateway::new().client().process_card(&unlisted)).unwrap();
    let strict = choosing(|choices| choices.unlisted_cards = UnlistedCards::Declined);
    assert_eq!(block_on(strict.client().process_card(&unlisted)).unwrap_err().reason(), Some("declined"));
    pay(&strict).unwrap();
    let strictest = choosing(|choices| choices.unlisted_cards = UnlistedCards::Refused);
    let refused = error_body(400, "bad request error: not a test card number");
    assert_eq!(json(&strictest, card_request(&unlisted)), refused);
    assert_eq!(strictest.ledger().entries(), []);
    for listed in [VISA, DECLINED] {
        assert_eq!(json(&strictest, card_request(&card(listed).build().unwrap())).0, 200);
    }
    charge_token(&strictest, "tok_approved").unwrap();
}
