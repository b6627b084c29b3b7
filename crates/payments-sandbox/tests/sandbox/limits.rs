//! What a client cannot do to the server.

use std::time::Duration;

use payments_fake::{Fixtures, RecordedRequest};
use payments_sandbox::{BlockingSandbox, Sandbox};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::raw_client::{RawClient, TOKEN_PAYMENT};

#[test]
fn d37_a_body_over_64_kib_is_too_large_and_the_connection_goes_on() {
    let sandbox = BlockingSandbox::start().unwrap();
    let padded = |length: usize| format!("{TOKEN_PAYMENT}{}", " ".repeat(length - TOKEN_PAYMENT.len()));
    let mut client = RawClient::connect(&sandbox);
    for (length, status) in [(64 * 1024, 200), (64 * 1024 + 1, 413), (8 * 1024 * 1024, 413), (100, 200)] {
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
fn a_head_of_more_than_64_kib_is_too_large_and_is_not_kept() {
    let sandbox = BlockingSandbox::start().unwrap();
    let of_length = |length: usize| format!("x-long: {}\r\n", "a".repeat(length));
    let mut client = RawClient::connect(&sandbox);
    let target = "/api/v1/public/customer/cus_1";
    assert_eq!(client.ask("GET", target, &of_length(60 * 1024), "").status(), 200);
    assert_eq!(client.ask("GET", target, &of_length(70 * 1024), "").status(), 431);
    assert_eq!(sandbox.gateway().requests().len(), 1);
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
        answer.contains("\r\nx-request-id: sbx_") && answer.contains("\r\nsandbox-version: "),
        "{answer}"
    );
    assert!(
        answer.ends_with(r#"{"status":"failed","status_code":408,"msg":"Request body came too slowly"}"#),
        "{answer}"
    );
}

#[test]
fn a_connection_over_the_limit_waits_until_another_is_closed() {
    let sandbox = Sandbox::builder().max_connections(1).start_blocking().unwrap();
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

/// A client that asks for more than the sockets' buffers hold and reads nothing of it.
async fn a_client_that_never_reads(sandbox: &Sandbox) -> TcpStream {
    let transactions: Vec<_> = (0..5000)
        .map(|number| serde_json::json!({"TransactionId": format!("txn_{number}"), "Amount": 1}))
        .collect();
    let fixtures = serde_json::json!({ "transactions": transactions }).to_string();
    sandbox.gateway().load(&Fixtures::from_json(&fixtures).unwrap());
    let mut client = TcpStream::connect(sandbox.local_addr()).await.unwrap();
    let state = "GET /_sandbox/state HTTP/1.1\r\nhost: localhost\r\n\r\n";
    client.write_all(state.repeat(20).as_bytes()).await.unwrap();
    // The first bytes of an answer: the sandbox is writing now.
    client.readable().await.unwrap();
    client
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_its_answers_does_not_hold_the_shutdown() {
    let sandbox = Sandbox::start().await.unwrap();
    let client = a_client_that_never_reads(&sandbox).await;
    let began = Instant::now();
    timeout(Duration::from_hours(1), sandbox.shutdown()).await.expect("it is given up").unwrap();
    assert!(began.elapsed() <= Duration::from_secs(30), "{:?}", began.elapsed());
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_its_answers_gives_its_place_back() {
    let sandbox = Sandbox::builder().max_connections(1).start().await.unwrap();
    let stuck = a_client_that_never_reads(&sandbox).await;
    let mut other = TcpStream::connect(sandbox.local_addr()).await.unwrap();
    other
        .write_all(b"GET /_sandbox/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    timeout(Duration::from_hours(1), other.read_to_string(&mut answer))
        .await
        .expect("there is a place")
        .unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    drop(stuck);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_slowly_gets_all_of_its_answers() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = a_client_that_never_reads(&sandbox).await;
    client
        .write_all(b"GET /_sandbox/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    let began = Instant::now();
    let (mut received, mut piece) = (Vec::new(), vec![0; 64 * 1024]);
    let mut has_ended = false;
    while !has_ended {
        tokio::time::sleep(Duration::from_secs(9)).await;
        // As much as the buffers hold, so that the sandbox can go on writing, but not all of it.
        let enough = received.len() + 8 * 1024 * 1024;
        while received.len() < enough
            && !has_ended
            && let Ok(read) = timeout(Duration::from_millis(1), client.read(&mut piece)).await
        {
            let length = read.unwrap();
            received.extend_from_slice(&piece[..length]);
            has_ended = length == 0;
        }
    }
    let answers = received.windows(15).filter(|bytes| bytes == b"HTTP/1.1 200 OK").count();
    assert_eq!(answers, 21);
    assert!(began.elapsed() > Duration::from_secs(20), "it took longer than the patience with one pause");
}
