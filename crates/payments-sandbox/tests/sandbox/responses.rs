//! Complete responses.

use payments_fake::FakeGateway;
use payments_sandbox::Sandbox;

use crate::raw_client::{TOKEN_PAYMENT, start, start_with};

#[test]
fn the_socket_carries_the_same_bytes_as_in_process() {
    let fresh = || FakeGateway::builder().seed(3).build();
    let (_sandbox, mut client) = start_with(Sandbox::builder().gateway(fresh()));
    client.post("/token-transaction", TOKEN_PAYMENT);
    let over_the_socket = client.response();

    let request = http::Request::post("https://pay.example.com/api/v1/public/token-transaction")
        .header("authorization", FakeGateway::API_KEY)
        .header("content-type", "application/json")
        .body(TOKEN_PAYMENT.into())
        .unwrap();
    let gateway = fresh();
    let payments_fake::Reply::Response(in_process) = gateway.handle(gateway.clock().wall(), request) else {
        panic!("expected a response");
    };
    assert_eq!(over_the_socket.body, in_process.body().as_ref());
    for (name, value) in in_process.headers() {
        assert_eq!(over_the_socket.header(name.as_str()), value.to_str().ok());
    }
}

#[test]
fn errors_have_the_error_body_of_the_service() {
    let (_sandbox, mut client) = start();
    client.get("/refund");
    assert_eq!((client.response().json()["status_code"].as_u64(), client.is_silent()), (Some(404), true));
    client.get("/transaction");
    let wrong_method = client.response();
    assert_eq!((wrong_method.status(), wrong_method.header("allow")), (405, Some("POST")));
    client.post("/void", "{\"TransactionId\":");
    let malformed = client.response().json();
    assert!(malformed["msg"].as_str().unwrap().starts_with("bad request error: "), "{malformed}");
    client.send(
        "GET /api/v1/public/customer/cus_1 HTTP/1.1\r\nhost: localhost\r\nauthorization: wrong\r\n\r\n",
    );
    assert_eq!(client.response().json()["msg"], "Unauthorized: Invalid API Key");
}

#[test]
fn expect_100_continue_gets_an_interim_response() {
    let (_sandbox, mut client) = start();
    let head = client.head("POST", "/token-transaction");
    let length = TOKEN_PAYMENT.len();
    client.send(&format!(
        "{head}expect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    ));
    assert_eq!(client.read_head(), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send(TOKEN_PAYMENT);
    assert_eq!(client.response().status(), 200);
}
