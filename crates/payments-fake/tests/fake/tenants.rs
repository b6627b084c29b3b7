//! The keys of a gateway have separate records.

use bytes::Bytes;
use http::Method;
use payments_core::OperationName;
use payments_core::model::Amount;
use payments_fake::{FakeGateway, Fault, Ledger, RecordedRequest, Reply};
use serde_json::{Value, json};

use crate::support::*;

#[test]
fn the_records_of_one_key_are_invisible_to_another() {
    let gateway = two_tenants(0);
    let payment = tokenizing("4242424242424242");
    let (status, paid) = json(&gateway, with_key(KEYS[1], card_request(&payment)));
    assert_eq!(status, 200);
    let id = paid["data"]["TransactionId"].as_str().unwrap();
    let (_, authorized) = json(&gateway, with_key(KEYS[1], card_request(&authorization())));
    let authorized = authorized["data"]["TransactionId"].as_str().unwrap();
    let second = gateway.tenant(KEYS[1]).unwrap();
    second.add_customer_json(r#"{"CustomerId":"cus_7"}"#).unwrap();
    let token = second.tokens()[0].token_id.to_string();

    let charge = json!({"TokenId": token, "Amount": 1, "ConvenienceFeeActive": false}).to_string();
    let statuses = |key| {
        [
            get(&format!("/transaction/{id}")),
            get("/customer/cus_7"),
            get("/customer/cus_1"),
            post("/token-transaction", charge.clone()),
            void_request(authorized),
        ]
        .map(|request| json(&gateway, with_key(key, request)).0)
    };
    assert_eq!(statuses(KEYS[0]), [404, 404, 200, 400, 400]);
    assert_eq!(statuses(KEYS[1]), [200, 200, 200, 200, 200]);

    let first = gateway.first_tenant();
    first.ledger().assert_nothing_charged();
    assert_eq!(first.tokens(), []);
    second.ledger().assert_charged_total(Amount::from_cents(11_50));
    assert_eq!(first.state_json(), FakeGateway::new().first_tenant().state_json());
}

#[test]
fn keys_of_one_tenant_share_its_records() {
    let gateway = FakeGateway::builder().api_keys(["old_key", "new_key"]).api_key("other_key").build();
    let (status, paid) = json(&gateway, with_key("old_key", card_request(&sale())));
    assert_eq!((status, gateway.tenants().count()), (200, 2));
    let id = paid["data"]["TransactionId"].as_str().unwrap();
    let found = |key| json(&gateway, with_key(key, get(&format!("/transaction/{id}")))).0;
    assert_eq!(["old_key", "new_key", "other_key", "old_key,new_key"].map(found), [200, 200, 404, 401]);
    let text = gateway.requests().iter().map(RecordedRequest::to_json).collect::<String>();
    assert!(!text.contains("old_key") && !text.contains("new_key"), "{text}");
}

#[test]
fn the_ledger_and_the_tokens_of_a_gateway_are_those_of_all_its_keys() {
    let gateway = two_tenants(0);
    let payment = tokenizing("4242424242424242");
    for key in [KEYS[1], KEYS[0]] {
        assert_eq!(json(&gateway, with_key(key, card_request(&payment))).0, 200);
    }
    let (ledgers, tokens): (Vec<_>, Vec<_>) =
        gateway.tenants().map(|tenant| (tenant.ledger(), tenant.tokens())).unzip();
    assert!(ledgers.iter().all(|ledger| ledger.charged().count() == 1), "{ledgers:?}");
    let entries: Vec<_> = ledgers.iter().flat_map(Ledger::entries).cloned().collect();
    assert_eq!(gateway.ledger().entries(), entries);
    assert_eq!(gateway.tokens(), tokens.concat());
}

#[test]
fn charges_of_a_test_token_are_counted_per_key() {
    let gateway = two_tenants(0);
    let charge = |key| json(&gateway, with_key(key, token_request("tok_then_declined"))).1["status"].clone();
    assert_eq!([(); 3].map(|()| charge(KEYS[0])), ["success", "success", "failed"]);
    assert_eq!([(); 3].map(|()| charge(KEYS[1])), ["success", "success", "failed"]);
}

#[test]
fn keys_are_grouped_as_they_were_given_whatever_their_order_and_characters() {
    let build = |groups: &[&[&str]]| {
        groups
            .iter()
            .fold(FakeGateway::builder(), |builder, keys| builder.api_keys(keys.iter().copied()))
            .build()
    };
    for (groups, tenants) in [
        (&[&["one"][..], &["two"]][..], &[&["one"][..], &["two"]][..]),
        (&[&["one"], &["two"], &["one"]], &[&["one"], &["two"]]),
        (&[&["one"], &["one", "two"]], &[&["one", "two"]]),
        (&[&["one"], &["two"], &["three", "one"]], &[&["one", "three"], &["two"]]),
        (&[&["one"], &["two"], &["one", "three"], &["four"]], &[&["one", "three"], &["two"], &["four"]]),
        (&[&["one,two"], &["one"]], &[&["one,two"], &["one"]]),
        (&[&["one"], &["two"], &["three"], &["three", "two"]], &[&["one"], &["two", "three"]]),
        (&[&[], &["one"]], &[&["one"]]),
    ] {
        let gateway = build(groups);
        assert_eq!(gateway.tenants().count(), tenants.len(), "{groups:?}");
        for (own, keys) in gateway.tenants().zip(tenants) {
            own.add_customer_json(r#"{"CustomerId":"cus_7"}"#).unwrap();
            let find = |key: &str| gateway.tenant(key).unwrap().state_json() == own.state_json();
            let all = tenants.concat();
            let found: Vec<_> = all.into_iter().filter(|key| find(key)).collect();
            assert_eq!(found, *keys, "{groups:?}");
            gateway.reset();
        }
        assert_eq!(gateway.api_key(), groups.concat()[0], "{groups:?}");
    }
}

#[test]
fn faults_and_recorded_requests_are_shared() {
    let gateway = two_tenants(0);
    gateway.arm(Fault::on(OperationName::GetCustomer).before_commit().close());
    let reply = gateway.handle(noon(), with_key(KEYS[1], get("/customer/cus_1")));
    assert!(matches!(reply, Reply::Closed));
    assert_eq!(gateway.requests().len(), 1);
}

#[test]
fn a_late_payment_takes_effect_for_its_own_key() {
    let gateway = two_tenants(0);
    gateway.arm(Fault::on_any().late().close());
    gateway.handle(noon(), with_key(KEYS[1], card_request(&sale())));
    assert_eq!(gateway.deliver_late(), 1);
    gateway.first_tenant().ledger().assert_nothing_charged();
    gateway.tenant(KEYS[1]).unwrap().ledger().assert_charged_once(PRICE);
    gateway.ledger().assert_charged_once(PRICE);
}

#[test]
fn a_reset_removes_the_records_of_every_key() {
    let gateway = two_tenants(0);
    let fresh = gateway.first_tenant().state_json();
    for key in KEYS {
        json(&gateway, with_key(key, card_request(&sale())));
        gateway.tenant(key).unwrap().add_token_json(r#"{"TokenId":"tok_7"}"#).unwrap();
        gateway.tenant(key).unwrap().add_customer_json(r#"{"CustomerId":"cus_7"}"#).unwrap();
        for _ in 0..2 {
            json(&gateway, with_key(key, token_request("tok_then_declined")));
        }
    }
    gateway.arm(Fault::on_any().late().close());
    gateway.handle(noon(), with_key(KEYS[1], card_request(&sale())));
    gateway.arm(Fault::on_any().before_commit().close());
    gateway.reset();

    assert_eq!((gateway.faults().len(), gateway.requests().len(), gateway.deliver_late()), (0, 0, 0));
    for key in KEYS {
        assert_eq!(gateway.tenant(key).unwrap().state_json(), fresh);
        assert_eq!(json(&gateway, with_key(key, token_request("tok_then_declined"))).1["status"], "success");
    }
}

#[test]
fn a_fresh_tenant_has_only_the_seeded_customer() {
    let state: Value = serde_json::from_str(&FakeGateway::new().first_tenant().state_json()).unwrap();
    assert_eq!((&state["transactions"], &state["tokens"]), (&json!([]), &json!([])));
    let (_, shown) = json(&FakeGateway::new(), request(Method::GET, "/customer/cus_1", Bytes::new()));
    assert_eq!(state["customers"], json!([shown["data"]]));
}
