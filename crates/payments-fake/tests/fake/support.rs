//! What the tests of this crate share. Each test file uses a part of it.

use std::time::SystemTime;

use bytes::Bytes;
use http::{Method, Request, Response};
use payments_core::model::{
    AchTransaction, Amount, Card, CardTransaction, CardTransactionBuilder, ConvenienceFee, Payer,
    TokenTransaction, TransactionType,
};
use payments_fake::{FakeGateway, Reply};
use serde_json::Value;

pub(crate) const PRICE: Amount = Amount::from_cents(10_50);

pub(crate) const PAYER: Payer<'static> = Payer {
    customer_name: "Ada Example",
    email: "ada@example.com",
    country_code: "+44",
    phone_number: "020 7946 0000",
    country: "GB",
    postal_code: "SW1A 1AA",
    ip_address: "203.0.113.7",
};

pub(crate) fn card(number: &str) -> CardTransactionBuilder<'_> {
    payment(number, TransactionType::Sale, PAYER)
}

pub(crate) fn payment<'a>(
    number: &'a str,
    transaction_type: TransactionType,
    payer: Payer<'a>,
) -> CardTransactionBuilder<'a> {
    let cvv = if number.len() == 15 { "1234" } else { "123" };
    CardTransaction::builder(
        PRICE,
        transaction_type,
        ConvenienceFee::Inactive,
        Card { number, cvv, expiry: "12/30" },
        payer,
    )
}

pub(crate) fn sale() -> CardTransaction {
    card("4242424242424242").build().unwrap()
}

pub(crate) fn authorization() -> CardTransaction {
    payment("4242424242424242", TransactionType::Auth, PAYER).build().unwrap()
}

pub(crate) fn ach() -> AchTransaction {
    AchTransaction::builder(PRICE, TransactionType::Sale, ConvenienceFee::Inactive, PAYER)
        .account_field("RoutingNumber", "021000021")
        .account_field("AccountNumber", "9876543210")
        .build()
        .unwrap()
}

pub(crate) fn token(id: &str) -> TokenTransaction {
    TokenTransaction::builder(id, PRICE, ConvenienceFee::Inactive).reference_no("order-7").build().unwrap()
}

/// The time of requests to the pure core.
pub(crate) fn noon() -> SystemTime {
    SystemTime::UNIX_EPOCH + std::time::Duration::new(1_900_000_000, 0)
}

/// A request as a client would send it, for the pure core.
pub(crate) fn request(method: Method, path: &str, body: impl Into<Bytes>) -> Request<Bytes> {
    Request::builder()
        .method(method)
        .uri(format!("https://pay.example.com/api/v1/public{path}"))
        .header("authorization", FakeGateway::API_KEY)
        .header("content-type", "application/json")
        .body(body.into())
        .unwrap()
}

pub(crate) fn post(path: &str, body: impl Into<Bytes>) -> Request<Bytes> {
    request(Method::POST, path, body)
}

pub(crate) fn get(path: &str) -> Request<Bytes> {
    request(Method::GET, path, Bytes::new())
}

/// The complete response; panics on any other reply.
pub(crate) fn response(gateway: &FakeGateway, request: Request<Bytes>) -> Response<Bytes> {
    match gateway.handle(noon(), request) {
        Reply::Response(response) => response,
        reply => panic!("expected a response, not {reply:?}"),
    }
}

/// The response's status, and its body as JSON.
pub(crate) fn json(gateway: &FakeGateway, request: Request<Bytes>) -> (u16, Value) {
    let response = response(gateway, request);
    (response.status().as_u16(), serde_json::from_slice(response.body()).unwrap())
}

/// The error body that the interface shows.
pub(crate) fn error_body(status_code: u16, msg: &str) -> (u16, Value) {
    (status_code, serde_json::json!({ "status": "failed", "status_code": status_code, "msg": msg }))
}

pub(crate) fn encoded(request: &CardTransaction) -> Bytes {
    Bytes::from_owner(request.to_json())
}
