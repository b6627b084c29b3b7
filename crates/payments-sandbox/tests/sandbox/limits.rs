//! The limits that protect the server from its clients.

use std::sync::mpsc;
use std::time::Duration;

use payments_core::OperationName;
use payments_fake::{Fixtures, block_on};
use payments_sandbox::{BlockingSandbox, IdleClose, Sandbox, SandboxBuilder};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::raw_client::{RawClient, TOKEN_PAYMENT, start};

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
    let lengths: Vec<_> = sandbox.gateway().requests().iter().map(|request| request.body_length).collect();
    assert_eq!(lengths, [65_536, 65_537, 65_537, 100], "one byte over the limit is enough to refuse it");
}

#[test]
fn an_incomplete_request_is_ignored() {
    let (sandbox, mut client) = start();
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
    first.look_up();
    // A connection that waits for its response is not idle, so it is not closed for the next one.
    let gate = sandbox.gateway().gate(OperationName::TokenTransaction);
    first.pay("");
    block_on(gate.arrived());
    let mut second = RawClient::connect(&sandbox);
    second.get("/customer/cus_1");
    assert!(second.is_silent());
    assert_eq!(sandbox.gateway().requests().len(), 1);
    gate.release();
    assert_eq!(first.response().status(), 200);
    drop(first);
    assert_eq!(second.response().status(), 200);
}

#[test]
fn every_limit_serves_at_least_one_connection_and_starts() {
    for limit in [0, usize::MAX] {
        let sandbox = Sandbox::builder().max_connections(limit).start_blocking().unwrap();
        RawClient::connect(&sandbox).look_up();
        assert_eq!(sandbox.gateway().requests().len(), 1, "{limit}");
        sandbox.shutdown().unwrap();
    }
}

/// A client that sends only these bytes, and reads nothing.
async fn a_client_that_sends(sandbox: &Sandbox, bytes: &str) -> TcpStream {
    let client = connect(sandbox, bytes).await;
    // A response on a later connection means that this one was accepted and read.
    read_response(&mut connect(sandbox, HEALTH).await).await;
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
async fn an_unfinished_head_or_body_does_not_delay_the_shutdown() {
    let half_a_head = "POST /api/v1/public/void HTTP/1.1\r\nhost: local";
    for sent in [half_a_head, HALF_A_BODY] {
        let sandbox = Sandbox::start().await.unwrap();
        let gateway = sandbox.gateway().clone();
        let client = a_client_that_sends(&sandbox, sent).await;
        assert_shutdown_ends_soon(sandbox).await;
        assert_eq!(gateway.requests(), []);
        drop(client);
    }
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
    let mut client = connect(&sandbox, GET).await;
    gate.arrived().await;
    let stopping = tokio::spawn(sandbox.shutdown());
    sleep(Duration::from_hours(1)).await;
    assert!(!stopping.is_finished());
    gate.release();
    assert_answered(&mut client).await;
    stopping.await.unwrap().unwrap();
}

const GET: &str = "GET /api/v1/public/customer/cus_1 HTTP/1.1\r\nhost: localhost\r\n\r\n";

const HEALTH: &str = "GET /_sandbox/health HTTP/1.1\r\nhost: localhost\r\n\r\n";

const HALF_A_BODY: &str =
    "POST /api/v1/public/void HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{";

async fn connect(sandbox: &Sandbox, sent: &str) -> TcpStream {
    let mut client = TcpStream::connect(sandbox.local_addr()).await.unwrap();
    client.write_all(sent.as_bytes()).await.unwrap();
    client
}

/// The response to a request without a key, on a connection that stays open.
async fn assert_answered(client: &mut TcpStream) {
    let response = read_response(client).await;
    assert!(response.starts_with("HTTP/1.1 401 "), "{response}");
}

/// Reads until the end of a JSON response.
async fn read_response(client: &mut TcpStream) -> String {
    let mut response = Vec::new();
    while !response.trim_ascii_end().ends_with(b"}") {
        let read = client.read_buf(&mut response).await.unwrap();
        assert_ne!(read, 0, "{}", String::from_utf8_lossy(&response));
    }
    String::from_utf8(response).unwrap()
}

/// A sandbox that records the connections that it closes because they are idle.
async fn recording_idle_closes(builder: SandboxBuilder) -> (Sandbox, mpsc::Receiver<IdleClose>) {
    let (sender, closes) = mpsc::channel();
    let sandbox = builder.on_idle_close(move |closed| sender.send(*closed).unwrap()).start().await.unwrap();
    (sandbox, closes)
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_after_a_minute() {
    for (what, sent) in
        [("nothing", ""), ("half a head", "GET /api"), ("half a body", HALF_A_BODY), ("a request", GET)]
    {
        let (sandbox, closes) = recording_idle_closes(Sandbox::builder()).await;
        let mut client = connect(&sandbox, sent).await;
        if sent == GET {
            read_response(&mut client).await;
        }
        let began = Instant::now();
        assert_eq!(client.read(&mut [0]).await.unwrap(), 0, "{what}");
        let idle = began.elapsed();
        assert!((59..=61).contains(&idle.as_secs()), "{what}: {idle:?}");
        let close = closes.try_recv().unwrap();
        assert_eq!((close.client, close.reached_limit), (client.local_addr().unwrap(), None), "{what}");
        assert!(close.idle >= Duration::from_mins(1), "{close}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_transfers_bytes_or_waits_for_its_response_is_not_idle() {
    let (sandbox, closes) = recording_idle_closes(Sandbox::builder()).await;
    let gate = sandbox.gateway().gate(OperationName::GetCustomer);
    let mut slow = TcpStream::connect(sandbox.local_addr()).await.unwrap();
    for byte in GET.bytes() {
        slow.write_all(&[byte]).await.unwrap();
        sleep(Duration::from_secs(50)).await;
    }
    gate.arrived().await;
    sleep(Duration::from_hours(1)).await;
    gate.release();
    assert_answered(&mut slow).await;
    closes.try_recv().unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn at_the_limit_the_oldest_idle_connection_is_closed() {
    let (sandbox, closes) = recording_idle_closes(Sandbox::builder().max_connections(3)).await;
    let gate = sandbox.gateway().gate(OperationName::GetCustomer);
    // It waits for its response, so it is not idle, although it is the oldest.
    let mut busy = connect(&sandbox, GET).await;
    gate.arrived().await;
    let mut idle = Vec::new();
    for _ in 0..2 {
        idle.push(TcpStream::connect(sandbox.local_addr()).await.unwrap());
        sleep(Duration::from_secs(2)).await;
    }
    for next in 0..2 {
        let mut client = connect(&sandbox, HEALTH).await;
        read_response(&mut client).await;
        let close = closes.try_recv().unwrap();
        assert_eq!((close.client, close.reached_limit), (idle[next].local_addr().unwrap(), Some(3)));
        assert_eq!(idle[next].read(&mut [0]).await.unwrap(), 0);
        sleep(Duration::from_secs(2)).await;
        idle.push(client);
    }
    gate.release();
    assert_answered(&mut busy).await;
}

#[tokio::test(start_paused = true)]
async fn an_event_stream_that_is_written_to_is_not_idle() {
    let (sandbox, closes) = recording_idle_closes(Sandbox::builder().max_connections(2)).await;
    let stream = connect(&sandbox, "GET /_sandbox/events HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    stream.readable().await.unwrap();
    let mut idle = connect(&sandbox, "").await;
    for _ in 0..3 {
        sleep(Duration::from_secs(2)).await;
        let mut client = connect(&sandbox, HEALTH).await;
        read_response(&mut client).await;
        assert_eq!(closes.try_recv().unwrap().client, idle.local_addr().unwrap());
        idle = client;
    }
    sleep(Duration::from_hours(1)).await;
    assert_eq!(closes.try_recv().unwrap().client, idle.local_addr().unwrap());
    closes.try_recv().unwrap_err();
}

#[tokio::test]
async fn more_idle_clients_than_connections_do_not_make_it_deaf() {
    let sandbox = Sandbox::builder().max_connections(64).start().await.unwrap();
    let mut idle = Vec::new();
    for _ in 0..200 {
        idle.push(TcpStream::connect(sandbox.local_addr()).await.unwrap());
    }
    let mut client = connect(&sandbox, GET).await;
    timeout(Duration::from_secs(30), assert_answered(&mut client)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn clients_that_make_one_request_after_another_keep_their_connections_at_the_limit() {
    let (sandbox, closes) = recording_idle_closes(Sandbox::builder().max_connections(1)).await;
    let mut first = connect(&sandbox, GET).await;
    read_response(&mut first).await;
    let mut second = connect(&sandbox, GET).await;
    for _ in 0..20 {
        sleep(Duration::from_millis(500)).await;
        first.write_all(GET.as_bytes()).await.unwrap();
        read_response(&mut first).await;
    }
    closes.try_recv().unwrap_err();
    read_response(&mut second).await;
    assert_eq!(closes.try_recv().unwrap().client, first.local_addr().unwrap());
}
