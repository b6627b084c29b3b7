//! The service's interface, response by response, through the pure core.

use std::time::{Duration, SystemTime};

use crate::support::*;
use http::Method;
use payments_fake::{FakeGateway, Reply, RequestEffect, block_on};
use serde_json::json;

#[test]
fn a_card_payment_returns_the_record_in_the_post_envelope() {
    let gateway = FakeGateway::new();
    let (status, body) = json(&gateway, card_request(&sale()));
    let id = body["data"]["TransactionId"].as_str().unwrap().to_owned();
    let record = json!({
        "TransactionId": id,
        "BaseAmount": 10.5,
        "Amount": 10.5,
        "CardNumber": "************4242",
        "BillingEmail": "ada@example.com",
        "BillingCustomerName": "Ada Example",
        "BillingAddress": "",
        "BillingCity": "",
        "BillingState": null,
        "BillingPostalCode": "SW1A 1AA",
        "BillingCountry": body["data"]["BillingCountry"].as_i64().unwrap(),
        "BillingCountryCode": "+44",
        "BillingPhoneNumber": "020 7946 0000",
        "TransactionType": 1,
        "Status": "1",
    });
    let envelope = json!({
        "status": "success",
        "status_code": 100,
        "message": "Transaction Processed Successfully",
        "data": record,
    });
    assert_eq!((status, body), (200, envelope));

    let found =
        json!({ "status_code": 200, "message": "Transaction Details found successfully", "data": record });
    assert_eq!(json(&gateway, get(&format!("/transaction/{id}"))), (200, found));
}

#[test]
fn a_token_payment_and_a_void_return_only_the_transaction_id() {
    let gateway = FakeGateway::new();
    let (status, body) = json(&gateway, token_request("tok_approved"));
    assert_eq!((status, &body["status"], &body["status_code"]), (200, &json!("success"), &json!(100)));
    assert_eq!(body["message"], "Transaction Processed Successfully");
    assert_eq!(body["data"].as_object().unwrap().keys().collect::<Vec<_>>(), ["TransactionId"]);

    let (_, authorized) = json(&gateway, card_request(&authorization()));
    let id = authorized["data"]["TransactionId"].as_str().unwrap();
    let void = json!({ "TransactionId": id, "TransactionFor": "Void", "Reason": "changed their mind" });
    let voided = json!({
        "status": "success",
        "status_code": 100,
        "message": "Transaction Voided Successfully",
        "data": { "TransactionId": id },
    });
    assert_eq!(json(&gateway, post("/void", void.to_string())), (200, voided));
}

#[test]
fn the_seeded_customer_is_returned_in_the_get_envelope() {
    let (status, body) = json(&FakeGateway::new(), get("/customer/cus_1"));
    assert_eq!((status, body.get("status"), &body["status_code"]), (200, None, &json!(200)));
    assert_eq!(body["message"], "Customer Details found successfully");
    assert_eq!(body["data"]["CustomerId"], "cus_1");
    assert!(body["data"]["CountryId"].is_i64() && body["data"]["StateId"].is_i64());
}

#[test]
fn an_added_customer_is_found() {
    let gateway = FakeGateway::new();
    let added = gateway.first_tenant().add_customer_json(r#"{"CustomerId":"cus_2"}"#).unwrap();
    let found = json(&gateway, get("/customer/cus_2")).1["data"].to_string();
    assert_eq!(found, serde_json::from_str::<serde_json::Value>(&added).unwrap().to_string());
}

#[test]
fn every_error_of_the_interface_has_its_status_and_text() {
    let gateway = FakeGateway::new();
    let (_, sold) = json(&gateway, card_request(&sale()));
    let sold = sold["data"]["TransactionId"].as_str().unwrap();
    for (request, status, msg) in [
        (void_request("txn_unknown"), 400, "bad request error: invalid transaction id"),
        (void_request(sold), 400, "bad request error: invalid transaction id"),
        (token_request("tok_unknown"), 400, "bad request error: invalid token"),
        (get("/transaction/txn_unknown"), 404, "Transaction not found"),
        (get("/customer/cus_unknown"), 404, "Customer not found"),
        (get("/transaction/a/b"), 404, "Path not found"),
        (post("/refund", "{}"), 404, "Path not found"),
    ] {
        assert_eq!(json(&gateway, request), error_body(status, msg));
    }
    assert_eq!(gateway.ledger().entries().len(), 1);
}

#[test]
fn a_wrong_or_missing_key_is_refused_before_the_body_is_read() {
    let gateway = FakeGateway::new();
    let unauthorized = error_body(401, "Unauthorized: Invalid API Key");
    let requests = || {
        [
            post("/transaction", "not even JSON"),
            post("/token-transaction", "{}"),
            post("/void", "{}"),
            get("/transaction/txn_1"),
            get("/customer/cus_1"),
        ]
    };
    let key = FakeGateway::API_KEY;
    let longer =
        [&key[..key.len() - 1], &format!("{key}2"), &key.repeat(2), &key.to_uppercase()].map(str::to_owned);
    let wrong =
        ["", "wrong", "Bearer test_key_of_the_fake_gateway"].map(str::to_owned).into_iter().chain(longer);
    for key in wrong.map(Some).chain([None]) {
        assert!(key.as_ref().is_none_or(|key| gateway.tenant(key).is_none()));
        for mut request in requests() {
            match &key {
                Some(key) => _ = request.headers_mut().insert("authorization", key.parse().unwrap()),
                None => _ = request.headers_mut().remove("authorization"),
            }
            assert_eq!(json(&gateway, request), unauthorized, "{key:?}");
        }
    }
    assert_eq!(gateway.ledger().entries(), []);
}

#[test]
fn a_wrong_method_gets_the_allowed_one() {
    let gateway = FakeGateway::new();
    for (method, path, allowed) in [
        (Method::GET, "/transaction", "POST"),
        (Method::PUT, "/void", "POST"),
        (Method::DELETE, "/customer/cus_1", "GET"),
    ] {
        let refused = response(&gateway, request(method, path, ""));
        assert_eq!((refused.status().as_u16(), refused.headers()["allow"].to_str().unwrap()), (405, allowed));
    }
}

#[test]
fn a_body_must_be_json_and_declared_as_json() {
    let gateway = FakeGateway::new();
    let mut untyped = post("/void", "{}");
    untyped.headers_mut().remove("content-type");
    assert_eq!(json(&gateway, untyped).0, 415);
    let mut form = post("/void", "TransactionId=1");
    form.headers_mut().insert("content-type", "application/x-www-form-urlencoded".parse().unwrap());
    assert_eq!(json(&gateway, form), error_body(415, "Content-Type must be application/json"));

    for body in ["", "{", "null", "[]", "{\"TransactionId\":\"a\"} x"] {
        let (status, error) = json(&gateway, post("/void", body));
        assert_eq!(status, 400, "{body}");
        assert!(error["msg"].as_str().unwrap().starts_with("bad request error: "), "{error}");
    }
}

#[test]
fn a_body_over_64_kib_is_too_large_d37() {
    let gateway = FakeGateway::new();
    let large = |length: usize| json(&gateway, post("/void", vec![b' '; length])).0;
    assert_eq!((large(64 * 1024), large(64 * 1024 + 1)), (400, 413));
}

#[test]
fn every_violation_is_named_without_its_value_d30() {
    let gateway = FakeGateway::new();
    let mut body: serde_json::Value = serde_json::from_slice(card_request(&sale()).body()).unwrap();
    body["BillingEmial"] = json!("ada@example.com");
    body["Cvv"] = json!(987);
    body["Amount"] = json!("10.50");
    let (status, error) = json(&gateway, post("/transaction", body.to_string()));
    let msg = error["msg"].as_str().unwrap();
    assert_eq!((status, &error["status_code"]), (400, &json!(400)));
    assert!(msg.starts_with("bad request error: 3 fields are invalid: "), "{msg}");
    for field in ["BillingEmial", "Cvv", "Amount"] {
        assert!(msg.contains(field), "{msg}");
    }
    for value in ["987", "10.50", "4242", "ada@"] {
        assert!(!msg.contains(value), "{msg}");
    }
    gateway.ledger().assert_nothing_charged();
}

#[test]
fn every_response_has_a_request_id_and_a_date() {
    let gateway = FakeGateway::new();
    let first = response(&gateway, get("/customer/cus_1"));
    let second = response(&gateway, post("/refund", "{}"));
    assert_ne!(first.headers()["x-request-id"], second.headers()["x-request-id"]);
    assert_eq!(first.headers()["date"], "Sun, 17 Mar 2030 17:46:40 GMT");
    assert_eq!(first.headers()["content-type"], "application/json");
}

#[test]
fn an_authorization_is_voided_once() {
    let gateway = FakeGateway::new();
    let (_, authorized) = json(&gateway, card_request(&authorization()));
    assert_eq!(
        (&authorized["data"]["TransactionType"], &authorized["data"]["Status"]),
        (&json!(2), &json!("2"))
    );
    let id = authorized["data"]["TransactionId"].as_str().unwrap().to_owned();
    let void = || void_request(&id);
    gateway.ledger().assert_charged_once(PRICE);

    assert_eq!(json(&gateway, void()).0, 200);
    assert_eq!(json(&gateway, void()), error_body(400, "bad request error: invalid transaction id"));
    gateway.ledger().assert_voided(&id.parse().unwrap());
    gateway.ledger().assert_nothing_charged();
    assert_eq!(json(&gateway, get(&format!("/transaction/{id}"))).1["data"]["Status"], "3");
}

#[test]
fn any_ach_account_is_accepted_and_not_kept_d39() {
    let gateway = FakeGateway::new();
    let (status, body) = json(&gateway, post("/transaction", ach().to_json().as_ref().to_vec()));
    assert_eq!((status, body["data"].get("CardNumber")), (200, None));
    assert_eq!(gateway.ledger().assert_charged_once(PRICE).source, payments_fake::PaymentSource::Account);
}

/// The machine's clock may be wrong, and a sandbox's clock can be set.
#[test]
fn a_time_that_no_date_can_show_is_shown_as_the_nearest() {
    let day = Duration::from_hours(24);
    for (now, date, timestamp) in [
        (SystemTime::UNIX_EPOCH - day, "Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01T00:00:00.000000000Z"),
        (
            SystemTime::UNIX_EPOCH + day * 366 * 9000,
            "Fri, 31 Dec 9999 23:59:59 GMT",
            "9999-12-31T23:59:59.000000000Z",
        ),
    ] {
        for gateway in [FakeGateway::new(), FakeGateway::builder().wall_clock(move || now).build()] {
            let Reply::Response(response) = gateway.handle(now, card_request(&sale())) else {
                panic!("the gateway responds")
            };
            assert_eq!(response.headers()["date"], date);
            block_on(gateway.client().process_card(&sale())).unwrap();
            assert_eq!(gateway.ledger().entries().len(), 2);
            let requests = gateway.requests();
            assert!(requests.iter().all(|request| request.effect == RequestEffect::Charged), "{requests:?}");
            assert!(requests[0].to_json().contains(timestamp), "{}", requests[0].to_json());
            assert!(gateway.first_tenant().state_json().contains(timestamp));
        }
    }
}
