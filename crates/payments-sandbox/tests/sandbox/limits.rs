//! The limits that protect the server from its clients.

use std::time::Duration;

use payments_core::OperationName;
use payments_fake::{Fixtures, RecordedRequest};
use payments_sandbox::{BlockingSandbox, Sandbox};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::raw_client::{RawClient, TOKEN_PAYMENT};

#[test]
fn a_body_over_64_kib_is_refused_and_the_connection_stays_usable_d37() {
    let sandbox = BlockingSandbox::start().unwrap();
    let padded = |length: usize| format!("{TOKEN_PAYMENT}{}", " ".repeat(length - TOKEN_PAYMENT.len()));
    let mut client = RawClient::connect(&sandbox);
    for (length, status) in [(64 * 1024, 200), (64 * 1024 + 1, 413), (8 * 1024 * 1024, 413), (100, 200)] {
        client.post("/token-transaction", &padded(length));
        let response = client.response();
        assert_eq!(response.status(), status, "{length} bytes");
        assert_eq!(response.json()["status"], if status == 200 { "success" } else { "failed" });
    }
    assert_eq!(sandbox.gateway().ledger().entries().len(), 2);
    let lengths: Vec<_> = sandbox.gateway().requests().iter().map(RecordedRequest::body_length).collect();
    assert_eq!(lengths, [65_536, 65_537, 65_537, 100], "one byte over the limit is enough to refuse it");
}

#[test]
fn a_head_over_64_kib_is_refused_and_not_recorded() {
    let sandbox = BlockingSandbox::start().unwrap();
    let of_length = |length: usize| format!("x-long: {}\r\n", "a".repeat(length));
    let mut client = RawClient::connect(&sandbox);
    let target = "/api/v1/public/customer/cus_1";
    assert_eq!(client.request("GET", target, &of_length(60 * 1024), "").status(), 200);
    assert_eq!(client.request("GET", target, &of_length(70 * 1024), "").status(), 431);
    assert_eq!(sandbox.gateway().requests().len(), 1);
}

#[test]
fn an_incomplete_request_is_ignored() {
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

#[test]
fn a_connection_over_the_limit_waits_until_another_is_closed() {
    let sandbox = Sandbox::builder().max_connections(1).start_blocking().unwrap();
    let mut first = RawClient::connect(&sandbox);
    first.get("/customer/cus_1");
    first.response();
    let mut second = RawClient::connect(&sandbox);
    second.get("/customer/cus_1");
    first.get("/customer/cus_1");
    first.response();
    assert!(second.is_silent());
    assert_eq!(sandbox.gateway().requests().len(), 2);
    drop(first);
    assert_eq!(second.response().status(), 200);
}

/// A client that sends only these bytes, and reads nothing.
async fn a_client_that_sends(sandbox: &Sandbox, bytes: &str) -> TcpStream {
    let mut client = TcpStream::connect(sandbox.local_addr()).await.unwrap();
    client.write_all(bytes.as_bytes()).await.unwrap();
    // A response on a later connection means that this one was accepted and read.
    let mut other = TcpStream::connect(sandbox.local_addr()).await.unwrap();
    other
        .write_all(b"GET /_sandbox/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    other.read_to_end(&mut Vec::new()).await.unwrap();
    client
}

/// Shuts the sandbox down in paused time, which jumps ahead when every task waits.
async fn assert_shutdown_ends_soon(sandbox: Sandbox) {
    let began = Instant::now();
    timeout(Duration::from_hours(1), sandbox.shutdown())
        .await
        .expect("the shutdown does not wait for the client")
        .unwrap();
    assert!(began.elapsed() <= Duration::from_secs(3), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_unfinished_head_does_not_delay_the_shutdown() {
    let sandbox = Sandbox::start().await.unwrap();
    let client = a_client_that_sends(&sandbox, "POST /api/v1/public/void HTTP/1.1\r\nhost: local").await;
    assert_shutdown_ends_soon(sandbox).await;
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn an_unfinished_body_does_not_delay_the_shutdown() {
    let sandbox = Sandbox::start().await.unwrap();
    let gateway = sandbox.gateway().clone();
    let head = "POST /api/v1/public/void HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n";
    let client = a_client_that_sends(&sandbox, &format!("{head}{{")).await;
    assert_shutdown_ends_soon(sandbox).await;
    assert_eq!(gateway.requests(), []);
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_does_not_delay_the_shutdown() {
    let sandbox = Sandbox::start().await.unwrap();
    let transactions: Vec<_> =
        (0..5000).map(|number| json!({"TransactionId": format!("txn_{number}"), "Amount": 1})).collect();
    let fixtures = json!({ "transactions": transactions }).to_string();
    sandbox.gateway().load(&Fixtures::from_json(&fixtures).unwrap());
    // More than fits into the buffers of the sockets.
    let state = "GET /_sandbox/state HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(20);
    let client = a_client_that_sends(&sandbox, &state).await;
    // The first bytes of a response mean that the sandbox is writing.
    client.readable().await.unwrap();
    assert_shutdown_ends_soon(sandbox).await;
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn the_shutdown_waits_for_a_request_at_a_gate() {
    let sandbox = Sandbox::start().await.unwrap();
    let gate = sandbox.gateway().gate(OperationName::GetCustomer);
    let get = "GET /api/v1/public/customer/cus_1 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut client = a_client_that_sends(&sandbox, get).await;
    gate.arrived().await;
    let stopping = tokio::spawn(sandbox.shutdown());
    sleep(Duration::from_hours(1)).await;
    assert!(!stopping.is_finished());
    gate.release();
    let mut response = String::new();
    client.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 401 "), "{response}");
    stopping.await.unwrap().unwrap();
}
