//! What a client cannot do to the server.

use payments_fake::RecordedRequest;
use payments_sandbox::{BlockingSandbox, Sandbox};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::raw_client::{RawClient, TOKEN_PAYMENT};

#[test]
fn d37_a_body_over_64_kib_is_too_large_and_the_connection_goes_on() {
    let sandbox = BlockingSandbox::start().unwrap();
    let padded = |length: usize| format!("{TOKEN_PAYMENT}{}", " ".repeat(length - TOKEN_PAYMENT.len()));
    let mut client = RawClient::connect(&sandbox);
    for (length, status) in [(64 * 1024, 200), (64 * 1024 + 1, 413), (1024 * 1024, 413), (100, 200)] {
        client.post("/token-transaction", &padded(length));
        let answer = client.answer();
        assert_eq!(answer.status(), status, "{length} bytes");
        assert_eq!(answer.json()["status"], if status == 200 { "success" } else { "failed" });
    }
    assert_eq!(sandbox.gateway().ledger().entries().len(), 2);
    let kept: Vec<_> = sandbox.gateway().requests().iter().map(RecordedRequest::body_length).collect();
    assert_eq!(kept, [65_536, 65_537, 65_537, 100], "no more is kept than it takes to refuse it");
}

#[test]
fn a_request_that_breaks_off_is_none() {
    let sandbox = BlockingSandbox::start().unwrap();
    let mut client = RawClient::connect(&sandbox);
    let head = client.head("POST", "/token-transaction");
    client.send(&format!(
        "{head}content-type: application/json\r\ncontent-length: 4096\r\n\r\n{TOKEN_PAYMENT}"
    ));
    drop(client);
    let gateway = sandbox.gateway().clone();
    drop(sandbox);
    assert_eq!(gateway.requests(), []);
    gateway.ledger().assert_nothing_charged();
}

/// Starts a sandbox on paused time, which jumps ahead as soon as both sides wait, and sends it the start of a request.
async fn after_the_start_of_a_request(start: &str) -> String {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = TcpStream::connect(sandbox.local_addr()).await.unwrap();
    client.write_all(start.as_bytes()).await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert_eq!(sandbox.gateway().requests(), []);
    answer
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_finish_the_head_of_its_request_is_let_go() {
    for start in ["", "POST /api/v1/public/void HTTP/1.1\r\nhost: local"] {
        let answer = after_the_start_of_a_request(start).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_finish_its_body_is_told_and_let_go() {
    let head = "POST /api/v1/public/void HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n";
    let answer = after_the_start_of_a_request(&format!("{head}{{\"TransactionId\"")).await;
    assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{answer}");
    assert!(
        answer.ends_with(r#"{"status":"failed","status_code":408,"msg":"Request body came too slowly"}"#),
        "{answer}"
    );
}

#[test]
fn a_connection_over_the_limit_waits_until_another_is_closed() {
    let sandbox = BlockingSandbox::start_with(Sandbox::builder().max_connections(1)).unwrap();
    let mut first = RawClient::connect(&sandbox);
    first.get("/customer/cus_1");
    first.answer();
    let mut second = RawClient::connect(&sandbox);
    second.get("/customer/cus_1");
    first.get("/customer/cus_1");
    first.answer();
    assert!(second.is_silent());
    assert_eq!(sandbox.gateway().requests().len(), 2);
    drop(first);
    assert_eq!(second.answer().status(), 200);
}
