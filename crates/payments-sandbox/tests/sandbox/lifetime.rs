//! Starting, stopping gracefully, and dropping.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use payments_core::OperationName;
use payments_core::model::Amount;
use payments_fake::{FakeGateway, Fault, block_on};
use payments_sandbox::{BlockingSandbox, Exchange, Sandbox};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::raw_client::{EVERYWHERE, End, RawClient, wait_for_a_request};

/// Whether a request to the address reaches the gateway. Another process may listen on a port that was released.
fn reaches(base_url: &str, gateway: &FakeGateway) -> bool {
    gateway.clear_requests();
    if let Ok(mut client) = RawClient::to(base_url, gateway.api_key()) {
        client.get("/customer/cus_1");
        client.wait_for_anything();
    }
    !gateway.requests().is_empty()
}

#[test]
fn it_listens_from_the_return_of_start_until_the_drop() {
    let sandbox = BlockingSandbox::start().unwrap();
    let base_url = sandbox.base_url().to_owned();
    assert!(base_url.starts_with("http://127.0.0.1:") && base_url.ends_with("/api/v1/public"), "{base_url}");
    assert_eq!(sandbox.endpoint().base_url(), base_url);
    assert!(reaches(&base_url, sandbox.gateway()));
    let gateway = sandbox.gateway().clone();
    drop(sandbox);
    assert!(!reaches(&base_url, &gateway));
}

#[test]
fn a_graceful_stop_finishes_requests_in_flight() {
    let runtime = Runtime::new().unwrap();
    let sandbox = runtime.block_on(Sandbox::start()).unwrap();
    let gateway = sandbox.gateway().clone();
    let gate = gateway.gate(OperationName::TokenTransaction);
    let connect = || RawClient::to(sandbox.base_url(), gateway.api_key()).unwrap();
    let (mut paying, mut idle) = (connect(), connect());
    idle.look_up();
    paying.pay("");
    block_on(gate.arrived());

    let stopping = thread::spawn(move || runtime.block_on(sandbox.shutdown()).unwrap());
    assert_eq!(idle.read_to_end(), (Vec::new(), End::Closed), "an idle connection is closed at once");
    assert!(paying.is_silent() && !stopping.is_finished(), "a request in flight is waited for");
    gate.release();
    assert_eq!(paying.response().status(), 200);
    assert_eq!(paying.read_to_end(), (Vec::new(), End::Closed));
    stopping.join().unwrap();
    gateway.ledger().assert_charged_once(Amount::from_cents(10_50));
}

#[test]
fn neither_a_shutdown_nor_a_drop_waits_for_a_gate() {
    for (is_after_commit, stop) in [
        (false, drop as fn(BlockingSandbox)),
        (true, drop),
        (false, |sandbox| sandbox.shutdown().unwrap()),
        (true, |sandbox| sandbox.shutdown().unwrap()),
    ] {
        let sandbox = BlockingSandbox::start().unwrap();
        let gateway = sandbox.gateway().clone();
        let operation = OperationName::TokenTransaction;
        let gate =
            if is_after_commit { gateway.gate_after_commit(operation) } else { gateway.gate(operation) };
        let mut paying = RawClient::connect(&sandbox);
        paying.pay("");
        block_on(gate.arrived());
        let (stopped, wait) = mpsc::channel();
        thread::spawn(move || {
            stop(sandbox);
            stopped.send(()).unwrap();
        });
        wait.recv_timeout(Duration::from_secs(30)).expect("it ends although the gate is closed");
        assert_eq!(paying.response().status(), 200);
        drop(gate);
    }
}

/// A program's own function panics on the task of a connection.
#[test]
fn a_panic_on_any_connection_is_reported_by_the_shutdown() {
    for (panicking, exchanges) in [(0, 1), (0, 2), (1, 2)] {
        let told = AtomicUsize::new(0);
        let tell =
            move |_: &Exchange| assert!(told.fetch_add(1, Ordering::SeqCst) != panicking, "the log broke");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state.json");
        let sandbox = Sandbox::builder().data_file(&file).on_exchange(tell).start_blocking().unwrap();
        for exchange in 0..exchanges {
            let mut client = RawClient::connect(&sandbox);
            client.pay("");
            if exchange == panicking {
                client.read_to_end();
            } else {
                assert_eq!(client.response().status(), 200);
            }
        }
        let error = sandbox.shutdown().unwrap_err().to_string();
        assert!(error.contains("the log broke"), "{panicking} of {exchanges}: {error}");
        let saved = std::fs::read_to_string(&file).unwrap();
        assert_eq!(saved.matches("\"Amount\":10.5").count(), exchanges, "{saved}");
    }
}

#[test]
fn a_port_in_use_is_an_error() {
    let taken = BlockingSandbox::start().unwrap();
    let builder = Sandbox::builder().listen(taken.local_addr());
    assert_eq!(builder.start_blocking().unwrap_err().kind(), ErrorKind::AddrInUse);
}

#[test]
fn a_sandbox_that_listens_everywhere_has_a_loopback_base_url() {
    let sandbox = Sandbox::builder().listen(EVERYWHERE).start_blocking().unwrap();
    assert!(sandbox.base_url().starts_with("http://127.0.0.1:"));
    assert!(reaches(sandbox.endpoint().base_url(), sandbox.gateway()));
}

#[tokio::test]
async fn dropping_it_breaks_requests_in_flight() {
    let sandbox = Sandbox::start().await.unwrap();
    let gateway = sandbox.gateway().clone();
    let gate = gateway.gate(OperationName::GetCustomer);
    let mut client = TcpStream::connect(sandbox.local_addr()).await.unwrap();
    client.write_all(b"GET /api/v1/public/customer/cus_1 HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    gate.arrived().await;
    drop(sandbox);
    let mut response = Vec::new();
    let end = client.read_to_end(&mut response).await;
    assert!(response.is_empty(), "{end:?}");
    assert_eq!((gate.held(), gateway.requests().len()), (0, 0));
}

#[test]
#[should_panic(expected = "armed faults that never fired")]
fn an_unfired_fault_fails_the_test() {
    let sandbox = BlockingSandbox::start().unwrap();
    sandbox.gateway().arm(Fault::request_lost(OperationName::Void));
}

#[test]
fn debug_shows_no_key() {
    let sandbox = Sandbox::builder()
        .fresh_gateway(FakeGateway::builder().api_key("key_of_the_test"))
        .start_blocking()
        .unwrap();
    let builder = Sandbox::builder().fresh_gateway(FakeGateway::builder().api_key("key_of_the_test"));
    let shown = format!("{sandbox:?} {builder:?}");
    assert!(shown.contains("127.0.0.1") && !shown.contains("key_of_the_test"), "{shown}");
}

#[test]
fn a_stop_ends_the_pauses_of_faults() {
    let long = Duration::from_hours(1000);
    let on = || Fault::on(OperationName::TokenTransaction);
    for (fault, completes) in [
        (on().before_commit().delay(long), true),
        (on().after_commit().delay(long), true),
        (on().after_commit().drip(16, long), true),
        (on().before_commit().drip(16, long), false),
    ] {
        let sandbox = BlockingSandbox::start().unwrap();
        let gateway = sandbox.gateway().clone();
        gateway.arm(fault.clone());
        let mut client = RawClient::connect(&sandbox);
        client.pay("");
        wait_for_a_request(&gateway);
        drop(sandbox);
        let (bytes, end) = client.read_to_end();
        let response = String::from_utf8(bytes).unwrap();
        assert_eq!((response.ends_with("}}"), end), (completes, End::Closed), "{fault:?}: {response}");
        let charged = gateway.ledger().charged().count();
        assert_eq!(charged, usize::from(completes), "{fault:?}");
    }
}
