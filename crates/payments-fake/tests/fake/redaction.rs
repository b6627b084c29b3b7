//! No stored or printed text of the fake holds a card number, a security code, an account or the key.

use std::time::SystemTime;

use payments_core::OperationName;
use payments_core::model::{CardTransaction, ConvenienceFee, Payer, TokenTransaction, TransactionType};
use payments_fake::{FakeGateway, block_on};
use serde_json::json;

use crate::support::*;

const NUMBER: &str = "4242424242424242";
/// As many digits as a dialing prefix may have.
const SHORT_NUMBER: &str = "378282246310005";
const SECRETS: [&str; 7] =
    [NUMBER, SHORT_NUMBER, "987", "1231", "021000021", "9876543210", FakeGateway::API_KEY];

fn payment() -> CardTransaction {
    let card = payments_core::model::Card { number: NUMBER, cvv: "987", expiry: "12/31" };
    let payer = Payer { customer_name: "Ada 4242 4242 4242 4242", country_code: "+378282246310005", ..PAYER };
    let builder =
        CardTransaction::builder(PRICE, TransactionType::Sale, ConvenienceFee::Inactive, card, payer);
    builder.payment_tokenization(true).build().unwrap()
}

#[track_caller]
fn assert_no_secret(text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret} is shown: {text}");
    }
    assert!(!text.contains("4242 4242 4242 4242"), "{text}");
}

#[test]
fn no_stored_text_holds_a_secret_d62() {
    let gateway = FakeGateway::new();
    let client = gateway.client();
    let paid = block_on(client.process_card(&payment())).unwrap();
    block_on(client.process_ach(&ach())).unwrap();
    let described = TokenTransaction::builder("tok_approved", PRICE, ConvenienceFee::Inactive)
        .description("for card 4242 4242 4242 4242")
        .build()
        .unwrap();
    block_on(client.process_token(&described)).unwrap();
    block_on(client.transaction(&"4242424242424242".parse().unwrap())).unwrap_err();

    for request in gateway.requests() {
        assert_no_secret(&format!("{request:?} {} {:?}", request.path, request.headers));
        for name in request.field_names() {
            assert_no_secret(&format!("{name}: {}", request.field(name).unwrap()));
        }
    }
    for entry in gateway.ledger().entries() {
        assert_no_secret(&format!("{entry:?} {entry} {:?}", entry.description));
        assert_no_secret(&serde_json::to_string(&entry.record).unwrap());
    }
    assert_no_secret(&gateway.first_tenant().state_json());
    assert_no_secret(&format!("{:?}", gateway.tokens()));
    assert_no_secret(&paid.body_snippet());
}

#[test]
fn a_recorded_request_shows_what_a_test_needs_d62() {
    let gateway = FakeGateway::new();
    block_on(gateway.client().process_card(&payment())).unwrap();
    block_on(gateway.client().process_ach(&ach())).unwrap();
    let [card, account] = &gateway.requests()[..] else { panic!("two requests were sent") };
    for (request, field, shown) in [
        (card, "CardNumber", Some("************4242")),
        (card, "Cvv", Some("[redacted]")),
        (card, "ExpiryDate", Some("[redacted]")),
        (card, "BillingEmail", Some("ada@example.com")),
        (card, "PaymentTokenization", Some("true")),
        (card, "Amount", Some("10.50")),
        (card, "BillingCity", None),
        // Account fields are recorded by name only.
        (account, "AccountNumber", Some("[redacted]")),
        (account, "SuggestedMode", Some("ACH")),
    ] {
        assert_eq!(request.field(field).as_deref(), shown, "{field}");
    }
    assert_eq!(card.headers["authorization"], "[redacted]");
    assert_eq!(card.headers["accept-encoding"], "identity");
    assert_eq!(
        (card.operation, &*card.path),
        (Some(OperationName::Transaction), "/api/v1/public/transaction")
    );
    assert_eq!(card.received_at, gateway.clock().system_time());
}

#[test]
fn a_card_number_in_an_escaped_text_is_masked_d62() {
    let gateway = FakeGateway::new();
    for text in [
        r"card \u00274242424242424242\u0027",
        r"\n4242424242424242",
        r"\u0034242 4242\u002042424242",
        "q=4242424242424242&a",
        "4242424242424242",
        "order 4242.4242.4242.4242",
    ] {
        for name in ["Description", "ReferenceNo", "TokenId", "Reason"] {
            gateway.clear_requests();
            response(&gateway, post("/token-transaction", format!(r#"{{"{name}":"{text}"}}"#)));
            let field = gateway.requests()[0].field(name).unwrap().into_owned();
            assert_eq!(field.matches('*').count(), 12, "{name}: {field}");
        }
    }
    let payment = TokenTransaction::builder("tok_approved", PRICE, ConvenienceFee::Inactive);
    let payment = payment.reference_no(NUMBER).build().unwrap();
    block_on(gateway.client().process_token(&payment)).unwrap();
    assert_eq!(gateway.ledger().entries()[0].reference_no.as_deref(), Some("************4242"));
}

#[test]
fn references_and_descriptions_without_card_numbers_are_unchanged() {
    let gateway = FakeGateway::new();
    for text in ["order\u{a0}7, \"line\"\nbreak", "ORD-2030-01-0001", "20300101000018", "a%20b"] {
        let payment = TokenTransaction::builder("tok_approved", PRICE, ConvenienceFee::Inactive);
        let payment = payment.reference_no(text).description(text).build().unwrap();
        gateway.clear_requests();
        block_on(gateway.client().process_token(&payment)).unwrap();
        for name in ["ReferenceNo", "Description"] {
            assert_eq!(gateway.requests()[0].field(name).as_deref(), Some(text));
        }
    }
}

#[test]
fn s5_headers_with_a_key_or_a_card_number_are_redacted() {
    let gateway = FakeGateway::new();
    let mut request = get("/customer/cus_1");
    for (name, value) in [
        ("x-api-key", "[redacted]"),
        ("cookie", "[redacted]"),
        ("proxy-authorization", "[redacted]"),
        ("x-auth-token", "[redacted]"),
        ("x-client-secret", "[redacted]"),
        ("idempotency-key", "4fb1-secret"),
        ("x-card-cvv", "[redacted]"),
        ("x-trace", "4fb1-secret"),
    ] {
        request.headers_mut().insert(name, "4fb1-secret".parse().unwrap());
        response(&gateway, request.clone());
        assert_eq!(gateway.requests().last().unwrap().headers[name], value, "{name}");
    }
    let mut sensitive = http::HeaderValue::from_static("4fb1-secret");
    sensitive.set_sensitive(true);
    request.headers_mut().insert("x-trace", sensitive);
    response(&gateway, request.clone());
    assert_eq!(gateway.requests().last().unwrap().headers["x-trace"], "[redacted]");
    request.headers_mut().insert("x-trace", "card=4242424242424242".parse().unwrap());
    response(&gateway, request);
    assert_eq!(gateway.requests().last().unwrap().headers["x-trace"], "card=************4242");
}

#[test]
fn s5_a_header_name_that_is_a_secret_is_redacted() {
    let key = "Key_Of_The_Test";
    let gateway = FakeGateway::builder().api_key(key).build();
    for name in ["4242424242424242", "x-4242-4242-4242-4242", "12345678", key, "x-key_of_the_test"] {
        let mut request = get("/customer/cus_1");
        request.headers_mut().insert(http::HeaderName::try_from(name).unwrap(), "x".parse().unwrap());
        drop(gateway.handle(noon(), request));
        let recorded = gateway.requests().pop().unwrap();
        for text in [recorded.to_json(), format!("{:?}", recorded.headers)] {
            let is_shown = text.to_lowercase().contains(&name.to_lowercase());
            assert!(!is_shown && text.contains("redacted"), "{name}: {text}");
        }
    }
}

#[test]
fn only_the_newest_requests_are_stored() {
    let gateway = FakeGateway::builder().recorded_requests(2).build();
    for id in ["cus_1", "cus_2", "cus_3"] {
        response(&gateway, get(&format!("/customer/{id}")));
    }
    let paths: Vec<_> = gateway.requests().iter().map(|request| request.path.clone()).collect();
    assert_eq!(paths, ["/api/v1/public/customer/cus_2", "/api/v1/public/customer/cus_3"]);
    gateway.clear_requests();
    assert_eq!(gateway.requests(), []);

    let without_log = FakeGateway::builder().recorded_requests(0).build();
    response(&without_log, get("/customer/cus_1"));
    assert_eq!(without_log.requests(), []);
}

/// Everything that a program can read or print of each recorded request. Checks that its JSON is valid.
fn shown(gateway: &FakeGateway) -> Vec<String> {
    let requests = gateway.requests();
    let all = requests.iter().map(|request| {
        let json = request.to_json();
        serde_json::from_str::<&serde_json::value::RawValue>(&json)
            .unwrap_or_else(|_| panic!("not JSON: {json}"));
        let fields = request.field_names().map(|name| format!("{name} {}", request.field(name).unwrap()));
        let fields: Vec<_> = fields.collect();
        format!("{json} {request:?} {} {:?} {fields:?}", request.path, request.headers)
    });
    all.collect()
}

#[test]
fn a_secret_is_not_recorded_in_any_place_d62() {
    const SECRET_FIELDS: [&str; 7] =
        ["Cvv", "ExpiryDate", "AccountNumber", "RoutingNumber", "cardnumber", "Api-Key", "Unknown"];
    let shown_fields = format!(
        "{BILLING_FIELDS} Amount BillingCountryCode CardNumber ConvenienceFeeActive Description GatewayCustomerId IpAddress \
         PaymentTokenization Reason ReferenceNo ShippingAddress ShippingCity ShippingCountry ShippingCustomerName \
         ShippingEmail ShippingPhoneNumber ShippingPostalCode ShippingSameAsBilling ShippingState SuggestedMode TokenId \
         TransactionFor TransactionId TransactionType"
    );
    let gateway = FakeGateway::new();
    let key = FakeGateway::API_KEY;
    for path in ["/transaction", "/token-transaction", "/void"] {
        for field in SECRET_FIELDS {
            for value in
                [json!("987"), json!(987), json!(["987"]), json!({ "a": "9876543210" }), json!("021000021")]
            {
                response(&gateway, post(path, json!({ field: value }).to_string()));
            }
        }
        for field in shown_fields.split(' ') {
            for value in [
                json!(NUMBER),
                json!(4_242_424_242_424_242_u64),
                json!([NUMBER]),
                json!({ "CardNumber": NUMBER }),
                json!({ "Cvv": 987 }),
                json!(format!("for {key}")),
                json!([key]),
            ] {
                response(&gateway, post(path, json!({ field: value }).to_string()));
            }
        }
        for body in [json!({ key: 1 }), json!({ NUMBER: 1 }), json!(NUMBER), json!([NUMBER])] {
            response(&gateway, post(path, body.to_string()));
        }
        response(&gateway, post(path, format!("{{\"CardNumber\":\"{NUMBER}\"")));
    }
    for place in [NUMBER, key, "4242-4242-4242-4242"] {
        response(&gateway, get(&format!("/transaction/{place}")));
        response(&gateway, get(&format!("/customer/cus_1?api_key={place}")));
        response(&gateway, get(&format!("/{place}")));
        for header in ["referer", "user-agent", "x-request-id", "idempotency-key", "x-card"] {
            let mut request = get("/customer/cus_1");
            request.headers_mut().insert(header, format!("http://localhost/{place}").parse().unwrap());
            response(&gateway, request);
        }
    }
    assert_eq!(gateway.requests().len(), 3 * (7 * 5 + 32 * 7 + 5) + 3 * (3 + 5));
    for request in shown(&gateway) {
        assert_no_secret(&request);
        assert!(!request.contains("4242-4242-4242-4242") && !request.contains("api_key"), "{request}");
    }
}

#[test]
fn to_json_is_valid_for_any_request() {
    let gateway = FakeGateway::new();
    let deep = format!("{{\"BillingCity\":{}1{}}}", "[".repeat(1000), "]".repeat(1000));
    for body in [
        r#"{"Amount":4242424242424242,"TransactionType":null,"ConvenienceFeeActive":true,"BillingCity":{"Cvv":987}}"#,
        r#"{"Amount":1e400,"BillingState":"\u0000\ud83d\ude00\"","BillingCity":[1,"a"]}"#,
        deep.as_str(),
        "[]",
        "",
    ] {
        let mut request = post("/transaction", body.to_owned());
        request.headers_mut().append("x-two", "a\"b".parse().unwrap());
        request.headers_mut().append("x-two", http::HeaderValue::from_bytes(b"\xff").unwrap());
        response(&gateway, request);
    }
    shown(&gateway);
    let first: serde_json::Value = serde_json::from_str(&gateway.requests()[0].to_json()).unwrap();
    let fields = json!({
        "Amount": "************4242", "BillingCity": "[redacted]", "ConvenienceFeeActive": true, "TransactionType": null,
    });
    assert_eq!(first["fields"], fields);
    assert_eq!(
        (&first["operation"], &first["method"], &first["body_length"]),
        (&json!("transaction"), &json!("POST"), &json!(104))
    );
    assert_eq!(first["headers"]["x-two"], "a\"b, \u{fffd}");
    assert_eq!(first["received_at"], "2030-03-17T17:46:40.000000000Z");
}

#[test]
fn s5_no_accepted_key_is_stored_or_recorded() {
    let (key, other) = ("sk_canary_of_one", "sk_canary_of_another");
    let gateway = FakeGateway::builder().api_key(key).api_key(other).build();
    let payment = TokenTransaction::builder("tok_approved", PRICE, ConvenienceFee::Inactive);
    let payment =
        payment.reference_no(format!("x{other}")).description(format!("{key} {key}")).build().unwrap();
    block_on(gateway.client().process_token(&payment)).unwrap();
    response(&gateway, get(&format!("/transaction/{other}")));
    let state = gateway.first_tenant().state_json();
    let recorded: Vec<_> = gateway.requests().iter().map(payments_fake::RecordedRequest::to_json).collect();
    for secret in [key, other] {
        assert!(
            !state.contains(secret) && !recorded.concat().contains(secret),
            "{secret}: {state}\n{recorded:?}"
        );
    }
    assert!(state.contains(r#""ReferenceNo":"x[redacted]""#), "{state}");
}

#[test]
fn a_secret_in_the_method_is_neither_recorded_nor_logged_d62() {
    let gateway = FakeGateway::new();
    for (method, shown) in [(NUMBER, "************4242"), ("my_own_key", "REDACTED"), ("PURGE", "PURGE")] {
        let request = http::Request::builder().method(method).uri("/api/v1/public/transaction");
        let request = request.header("authorization", "my_own_key").body(bytes::Bytes::new()).unwrap();
        assert_eq!(gateway.core().loggable(&request).0, shown);
        drop(gateway.handle(SystemTime::UNIX_EPOCH, request));
        assert_eq!(gateway.requests().last().unwrap().method, shown);
    }
}
