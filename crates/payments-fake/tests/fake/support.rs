//! What the tests of this crate share. Each test file uses a part of it.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response};
use payments_core::model::{
    AchTransaction, Amount, Card, CardTransaction, CardTransactionBuilder, ConvenienceFee, Payer,
    TokenTransaction, TransactionId, TransactionRecord, TransactionType, Void,
};
use payments_core::{Error, Success, VoidReceipt};
use payments_fake::{Choices, FakeGateway, Fault, Fixtures, Reply, block_on};
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

/// A gateway with this fault armed.
pub(crate) fn armed(fault: Fault) -> FakeGateway {
    let gateway = FakeGateway::new();
    gateway.arm(fault);
    gateway
}

/// A gateway with one other choice.
pub(crate) fn choosing(change: impl FnOnce(&mut Choices)) -> FakeGateway {
    FakeGateway::builder().choices(change).build()
}

/// Pays by card.
pub(crate) fn pay(gateway: &FakeGateway) -> Result<Success<TransactionRecord>, Error> {
    block_on(gateway.client().process_card(&sale()))
}

/// The id of a new authorization.
pub(crate) fn authorize(gateway: &FakeGateway) -> TransactionId {
    block_on(gateway.client().process_card(&authorization())).unwrap().into_data().transaction_id
}

pub(crate) fn void(gateway: &FakeGateway, id: &str) -> Result<Success<VoidReceipt>, Error> {
    block_on(gateway.client().void(&Void::new(id.parse().unwrap())))
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

/// The request of a card payment.
pub(crate) fn card_request(payment: &CardTransaction) -> Request<Bytes> {
    post("/transaction", Bytes::from_owner(payment.to_json()))
}

/// The request of a payment with a token.
pub(crate) fn token_request(id: &str) -> Request<Bytes> {
    post("/token-transaction", Bytes::from_owner(token(id).to_json()))
}

/// The fields of a payment that may hold any text.
pub(crate) const BILLING_FIELDS: &str = "BillingAddress BillingCity BillingCountry BillingCustomerName BillingEmail \
                                         BillingPhoneNumber BillingPostalCode BillingState";

pub(crate) const KEYS: [&str; 2] = ["key_one", "key_two"];

/// A gateway that accepts two keys.
pub(crate) fn two_tenants(seed: u64) -> FakeGateway {
    FakeGateway::builder().api_key(KEYS[0]).api_key(KEYS[1]).seed(seed).build()
}

pub(crate) fn with_key(key: &'static str, mut request: Request<Bytes>) -> Request<Bytes> {
    request.headers_mut().insert("authorization", HeaderValue::from_static(key));
    request
}

/// Polls once, and wakes nobody.
pub(crate) fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Loads a document.
pub(crate) fn load(gateway: &FakeGateway, fixtures: &Value) {
    gateway.load(&Fixtures::from_json(&fixtures.to_string()).unwrap());
}

/// The request of a void.
pub(crate) fn void_request(id: &str) -> Request<Bytes> {
    post("/void", serde_json::json!({ "TransactionId": id }).to_string())
}

/// Pays by card and asks for a token.
pub(crate) fn tokenizing(number: &str) -> CardTransaction {
    card(number).payment_tokenization(true).build().unwrap()
}

/// The message that the work panics with.
pub(crate) fn panic_message(work: impl FnOnce()) -> String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).expect_err("it must panic");
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => (*panic.downcast::<&str>().expect("a panic has a message")).to_owned(),
    }
}
