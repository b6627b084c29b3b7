//! Tests of the HTTP request of each operation.

use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request};
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, TransactionId, Void};
use payments_core::{ApiKey, Endpoint, GetCustomer, GetTransaction, Operation};

fn endpoint() -> Endpoint {
    Endpoint::new("https://pay.example.com/prefix/api/v1/public/", ApiKey::new("the-key").unwrap()).unwrap()
}

fn check_common_headers(request: &Request<bytes::Bytes>) {
    assert_eq!(request.headers()[AUTHORIZATION], "the-key");
    assert!(request.headers()[AUTHORIZATION].is_sensitive());
    assert_eq!(request.headers()[ACCEPT_ENCODING], "identity");
}

#[test]
fn a_post_has_a_body_and_its_content_type_d20_d21_d65() {
    let payment =
        TokenTransaction::builder("tok_1", Amount::from_cents(5), ConvenienceFee::Active).build().unwrap();
    let request = payment.request(&endpoint()).unwrap();
    check_common_headers(&request);
    assert_eq!(request.method(), Method::POST);
    assert_eq!(request.uri(), "https://pay.example.com/prefix/api/v1/public/token-transaction");
    assert_eq!(request.headers()[CONTENT_TYPE], "application/json");
    assert_eq!(&request.body()[..], br#"{"TokenId":"tok_1","Amount":0.05,"ConvenienceFeeActive":true}"#);
}

#[test]
fn a_void_has_its_transaction_for_d28() {
    let request = Void::new(TransactionId::new("txn_1").unwrap()).request(&endpoint()).unwrap();
    check_common_headers(&request);
    assert_eq!(request.uri(), "https://pay.example.com/prefix/api/v1/public/void");
    assert_eq!(&request.body()[..], br#"{"TransactionId":"txn_1","TransactionFor":"Void"}"#);
}

#[test]
fn a_lookup_has_no_body() {
    let requests = [
        (GetTransaction::new("txn_1".parse().unwrap()).request(&endpoint()).unwrap(), "transaction/txn_1"),
        (GetCustomer::new("cus_1".parse().unwrap()).request(&endpoint()).unwrap(), "customer/cus_1"),
    ];
    for (request, path) in requests {
        check_common_headers(&request);
        assert_eq!(request.method(), Method::GET);
        assert_eq!(request.uri().to_string(), format!("https://pay.example.com/prefix/api/v1/public/{path}"));
        assert!(request.body().is_empty());
        assert!(!request.headers().contains_key(CONTENT_TYPE));
    }
}
