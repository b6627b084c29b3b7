//! Complete responses.

use payments_fake::FakeGateway;
use payments_sandbox::Sandbox;

use crate::raw_client::{TOKEN_PAYMENT, start, start_with};

#[test]
fn the_socket_carries_the_same_bytes_as_in_process() {
    let fresh = || FakeGateway::builder().seed(3).build();
    let (_sandbox, mut client) = start_with(Sandbox::builder().gateway(fresh()));
    let gateway = fresh();
    for (method, path, body, status) in [
        ("POST", "/token-transaction", TOKEN_PAYMENT, 200),
        ("POST", "/void", "{\"TransactionId\":", 400),
        ("GET", "/customer/cus_2", "", 404),
        ("GET", "/void", "", 405),
    ] {
        let target = format!("/api/v1/public{path}");
        let over_the_socket = client.request(method, &target, "", body);
        let request = http::Request::builder()
            .method(method)
            .uri(format!("https://pay.example.com{target}"))
            .header("authorization", FakeGateway::API_KEY)
            .header("content-type", "application/json")
            .body(body.into())
            .unwrap();
        let payments_fake::Reply::Response(in_process) =
            gateway.handle(gateway.clock().system_time(), request)
        else {
            panic!("expected a response");
        };
        assert_eq!((over_the_socket.status(), in_process.status().as_u16()), (status, status));
        assert_eq!(over_the_socket.body, in_process.body().as_ref());
        for (name, value) in in_process.headers() {
            assert_eq!(over_the_socket.header(name.as_str()), value.to_str().ok());
        }
    }
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
