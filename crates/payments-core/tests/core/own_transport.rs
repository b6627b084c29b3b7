//! Tests that the transport of the chapter "Bring your own HTTP stack" keeps the contract of every transport.

#![allow(unreachable_pub, reason = "public in a program that has copied the files")]

#[path = "../../docs/own_transport/call_state.rs"]
mod call_state;
#[path = "../../docs/own_transport/exchange.rs"]
mod exchange;
#[path = "../../docs/own_transport/response.rs"]
mod response;
#[path = "../../docs/own_transport/transport.rs"]
mod transport;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use payments_conformance::{Abilities, Ability, FnStack, block_on, stack};
use payments_core::{
    Deadlines, Delivery, OperationName, Transport as _, TransportErrorKind, TransportRequest,
};

use call_state::CallState;
use transport::StdTransport;

fn std_stack() -> FnStack<StdTransport> {
    let abilities = Abilities::default()
        .without(Ability::Https, "a proxy on the same machine adds TLS")
        .without(Ability::Reuse, "each call opens its own connection")
        .with(Ability::ManyHeaders);
    stack(|_setup| StdTransport).abilities(abilities).searching_debug()
}

payments_conformance::contract_tests!(std_stack());

/// A payment with this total deadline, to the server at this address.
fn payment(server: SocketAddr, total: Duration) -> TransportRequest {
    let request =
        http::Request::post(format!("http://{server}/transaction")).body(Bytes::from("{}")).unwrap();
    let deadlines = Deadlines::new(Duration::from_secs(10), total);
    TransportRequest::new(request, OperationName::Transaction, deadlines, 1024)
}

/// A server that accepts one connection and passes it to `serve`.
fn server<T: Send + 'static>(
    serve: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (SocketAddr, thread::JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (address, thread::spawn(move || serve(listener.accept().unwrap().0)))
}

#[test]
fn a_call_that_ends_before_it_writes_sends_nothing() {
    let (address, received) = server(|mut socket| socket.read(&mut [0; 64]).unwrap());
    let call = CallState::default();
    call.end(TransportErrorKind::Cancelled);
    let error =
        exchange::exchange(&call, payment(address, Duration::from_secs(10)), Instant::now()).unwrap_err();
    assert_eq!((error.delivery(), error.kind()), (Delivery::NotProcessed, TransportErrorKind::Cancelled));
    assert_eq!(received.join().unwrap(), 0);
}

#[test]
fn a_deadline_is_not_the_end_of_a_body() {
    let (address, served) = server(|mut socket| {
        socket.write_all(b"HTTP/1.1 200 OK\r\n\r\nhalf").unwrap();
        // Returns when the client has closed the connection.
        socket.read_to_end(&mut Vec::new()).unwrap();
    });
    let error = block_on(StdTransport.send(payment(address, Duration::from_secs(3)))).unwrap_err();
    assert_eq!(
        (error.delivery(), error.kind()),
        (Delivery::Answered(http::StatusCode::OK), TransportErrorKind::Timeout)
    );
    assert_eq!(error.partial().unwrap().body().as_ref(), b"half");
    served.join().unwrap();
}

#[test]
fn the_chapter_has_the_versions_of_the_workspace() {
    let chapter = include_str!("../../docs/own_transport/evidence.md");
    let workspace = include_str!("../../../../Cargo.toml");
    let versions: Vec<_> = chapter
        .lines()
        .filter_map(|line| line.split_once(" = \""))
        // This project's crates have a path, and a version in releases only.
        .filter(|(name, _)| !name.contains(' ') && !name.starts_with("payments-"))
        .collect();
    assert_eq!(versions.len(), 4, "{versions:?}");
    for (name, version) in versions {
        let is_this = |line: &str| {
            let value = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(" = "));
            value.is_some_and(|value| {
                value.trim_start_matches("{ version = ").trim_start_matches('"').starts_with(version)
            })
        };
        assert!(workspace.lines().any(is_this), "the workspace has another version of {name} than {version}");
    }
}
