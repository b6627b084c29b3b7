//! Gateways that start with the state of an earlier one.

use std::collections::HashSet;
use std::panic::catch_unwind;

use payments_core::model::{Amount, Card, CardTransaction, ConvenienceFee, TransactionType};
use payments_fake::{FakeGateway, Fixtures, VoidResponse};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::*;

/// Pays and creates a token, ten times. Returns the ids of both.
fn pay_and_tokenize(gateway: &FakeGateway, key: &'static str) -> HashSet<String> {
    let payment = tokenizing("4242424242424242");
    let tenant = gateway.tenant(key).unwrap();
    let known = (tenant.ledger().entries().len(), tenant.tokens().len());
    for _ in 0..10 {
        let (status, paid) = json(gateway, with_key(key, card_request(&payment)));
        assert_eq!(status, 200, "{paid}");
    }
    let (ledger, tokens) = (tenant.ledger(), tenant.tokens());
    let transactions = ledger.entries()[known.0..].iter().map(|entry| entry.transaction_id().to_string());
    transactions.chain(tokens[known.1..].iter().map(|token| token.token_id.to_string())).collect()
}

#[test]
fn a_loaded_id_is_never_given_out_again() {
    let first = two_tenants(3);
    let loaded = pay_and_tokenize(&first, KEYS[0]);
    assert_eq!(loaded.len(), 20);
    let state = Fixtures::from_json(&first.first_tenant().state_json()).unwrap();
    let assert_new = |gateway: &FakeGateway, key: &'static str, old: &HashSet<String>, when: &str| {
        let new = pay_and_tokenize(gateway, key);
        assert_eq!((new.len(), new.intersection(old).count()), (20, 0), "{when}");
    };

    let gateway = two_tenants(3);
    gateway.first_tenant().load(&state);
    assert_eq!(gateway.tenant(KEYS[1]).unwrap().transaction_count(), 0);
    assert_new(&gateway, KEYS[0], &loaded, "to the same key");
    assert_new(&gateway, KEYS[1], &loaded, "to another key");

    let gateway = two_tenants(3);
    gateway.load(&state);
    gateway.reset();
    assert_new(&gateway, KEYS[0], &loaded, "after a reset");

    let gateway = two_tenants(3);
    let tokens: HashSet<_> = first.tokens().iter().map(|token| token.token_id.to_string()).collect();
    for id in &tokens {
        gateway.first_tenant().add_token_json(&json!({ "TokenId": id }).to_string()).unwrap();
    }
    assert_new(&gateway, KEYS[0], &tokens, "after tokens were added");
}

#[test]
fn a_voided_token_authorization_does_not_count_as_another_charge() {
    for void_response in [VoidResponse::SameTransactionId, VoidResponse::NewTransactionId] {
        let gateway = choosing(|choices| {
            choices.token_transaction_type = TransactionType::Auth;
            choices.void_response = void_response;
        });
        let charge = || json(&gateway, token_request("tok_then_declined")).1;
        let void = void_request(charge()["data"]["TransactionId"].as_str().unwrap());
        assert_eq!(json(&gateway, void).0, 200);
        let statuses: [Value; 2] = [(); 2].map(|()| charge()["status"].clone());
        assert_eq!(statuses, ["success", "failed"], "{void_response:?}");
    }
}

#[test]
fn no_stored_document_holds_a_full_card_number_d62() {
    const NUMBER: &str = "4242424242424242";
    let gateway = choosing(|choices| choices.void_response = VoidResponse::NewTransactionId);
    for field in BILLING_FIELDS.split(' ') {
        let mut body = json!({
            "Amount": 10.5, "CardNumber": NUMBER, "Cvv": "123", "ExpiryDate": "1230", "SuggestedMode": "Card",
            "BillingCustomerName": "Ada Example", "BillingEmail": "ada@example.com", "BillingCountryCode": "+44",
            "BillingPhoneNumber": "020 7946 0000", "BillingCountry": "GB", "BillingPostalCode": "SW1A 1AA",
            "IpAddress": "203.0.113.7", "ConvenienceFeeActive": false, "TransactionType": "2",
            "PaymentTokenization": true,
        });
        body[field] =
            if field == "BillingEmail" { format!("{NUMBER}@example.com") } else { NUMBER.to_owned() }.into();
        assert_eq!(json(&gateway, post("/transaction", body.to_string())).0, 200, "{field}");
    }
    let mut charge = json!({"TokenId": "tok_approved", "Amount": 10.5, "ConvenienceFeeActive": false, "ReferenceNo": NUMBER});
    assert_eq!(json(&gateway, post("/token-transaction", charge.to_string())).0, 200);
    charge["Description"] = "4242-4242-4242-4242".into();
    assert_eq!(json(&gateway, post("/token-transaction", charge.to_string())).0, 200);
    let authorized = gateway.ledger().entries()[0].transaction_id().to_string();
    let void = json!({ "TransactionId": authorized, "Reason": format!("card {NUMBER}") });
    assert_eq!(json(&gateway, post("/void", void.to_string())).0, 200);

    let tenant = gateway.first_tenant();
    for field in ["CustomerName", "Email", "PhoneNumber", "CountryCode", "Address", "City", "PostalCode"] {
        tenant
            .add_customer_json(&json!({ "CustomerId": format!("cus_{field}"), field: NUMBER }).to_string())
            .unwrap();
    }
    tenant.add_token_json(&json!({ "TokenId": "tok_7", "CardNumber": NUMBER }).to_string()).unwrap();
    let transactions: Vec<_> = BILLING_FIELDS
        .split(' ')
        .filter(|field| *field != "BillingCountry")
        .chain(["CardNumber", "BillingCountryCode", "ReferenceNo", "Description", "VoidReason", "Status"])
        .map(|field| json!({ "TransactionId": format!("txn_{field}"), "Amount": 1, field: NUMBER }))
        .collect();
    load(&gateway, &json!({ "transactions": transactions }));

    let text = tenant.state_json();
    let digits: String = text.chars().filter(|character| !" -".contains(*character)).collect();
    assert!(!digits.contains(NUMBER) && !digits.contains("424242424242"), "{text}");
    assert!(text.contains("************4242"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn whatever_state_can_be_saved_can_be_loaded_d53(
        (fee, status) in (prop::option::of("-?[0-9]{1,20}([.][0-9]{1,4})?"), ".{0,12}"),
        amounts in prop::collection::vec(1..1_000_000_000_i64, 1..8),
        void_response in prop::sample::select(vec![VoidResponse::SameTransactionId, VoidResponse::NewTransactionId]),
    ) {
        let fee = fee.and_then(|fee| fee.parse().ok());
        // It may refuse the fee.
        let Ok(builder) = catch_unwind(|| {
            FakeGateway::builder().choices(|choices| {
                choices.convenience_fee = fee;
                choices.status_codes.sale = status.into();
                choices.void_response = void_response;
            })
        }) else { return Ok(()) };
        let gateway = builder.build();
        for (index, cents) in amounts.into_iter().enumerate() {
            let number = if index % 2 == 0 { "4242424242424242" } else { "4000000000000002" };
            let kind = if index % 3 == 0 { TransactionType::Auth } else { TransactionType::Sale };
            let (amount, fee) = (Amount::from_cents(cents), ConvenienceFee::Active);
            let card = Card { number, cvv: "123", expiry: "12/30" };
            let payment = CardTransaction::builder(amount, kind, fee, card, PAYER);
            let payment = payment.payment_tokenization(true).build().unwrap();
            drop(json(&gateway, card_request(&payment)));
        }
        for entry in gateway.ledger().entries() {
            drop(response(&gateway, void_request(entry.transaction_id().as_str())));
        }
        let state = gateway.first_tenant().state_json();
        let loaded = FakeGateway::new();
        loaded.load(&Fixtures::from_json(&state).unwrap());
        prop_assert_eq!(loaded.ledger().charged_total(), gateway.ledger().charged_total());
    }
}
