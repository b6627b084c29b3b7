//! Does the transport of the chapter "Bring your own HTTP stack" keep the contract of every transport?

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]
#![allow(
    clippy::exhaustive_structs,
    reason = "the transport has no settings, and whoever copies it may give it some"
)]

#[path = "../docs/own_transport/answer.rs"]
mod answer;
#[path = "../docs/own_transport/exchange.rs"]
mod exchange;
#[path = "../docs/own_transport/line.rs"]
mod line;
#[path = "../docs/own_transport/transport.rs"]
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

use line::Line;

// As a program names it that has copied the files.
pub use transport::StdTransport;

fn std_stack() -> FnStack<StdTransport> {
    let abilities = Abilities::default()
        .without(Ability::Https, "TLS is spoken by a proxy on the same machine")
        .without(Ability::Reuse, "each call has a connection of its own");
    stack(|_setup| StdTransport).abilities(abilities).searching_debug()
}

payments_conformance::contract_tests!(std_stack());

/// A payment with so much time, to the server at this address.
fn payment(server: SocketAddr, total: Duration) -> TransportRequest {
    let request =
        http::Request::post(format!("http://{server}/transaction")).body(Bytes::from("{}")).unwrap();
    let deadlines = Deadlines::new(Duration::from_secs(10), total);
    TransportRequest::new(request, OperationName::Transaction, deadlines, 1024)
}

/// A server of one connection, and what `serve` makes of it.
fn server<T: Send + 'static>(
    serve: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (SocketAddr, thread::JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (address, thread::spawn(move || serve(listener.accept().unwrap().0)))
}

#[test]
fn a_call_that_is_over_before_it_may_write_is_never_heard() {
    let (address, heard) = server(|mut socket| socket.read(&mut [0; 64]).unwrap());
    let line = Line::default();
    line.cut(TransportErrorKind::Cancelled);
    let in_time = Instant::now() + Duration::from_secs(10);
    let error = exchange::exchange(&line, payment(address, Duration::from_secs(10)), in_time).unwrap_err();
    assert_eq!((error.delivery(), error.kind()), (Delivery::NotProcessed, TransportErrorKind::Cancelled));
    assert_eq!(heard.join().unwrap(), 0);
}

#[test]
fn the_end_of_the_time_is_not_the_end_of_a_body() {
    let (address, served) = server(|mut socket| {
        socket.write_all(b"HTTP/1.1 200 OK\r\n\r\nhalf").unwrap();
        // Until the client is gone.
        socket.read_to_end(&mut Vec::new()).unwrap();
    });
    let error = block_on(StdTransport.send(payment(address, Duration::from_millis(300)))).unwrap_err();
    assert_eq!(
        (error.delivery(), error.kind()),
        (Delivery::Answered(http::StatusCode::OK), TransportErrorKind::Timeout)
    );
    assert_eq!(error.partial().unwrap().body().as_ref(), b"half");
    served.join().unwrap();
}

#[test]
fn the_versions_of_the_chapter_are_the_workspaces() {
    let chapter = include_str!("../docs/own_transport/evidence.md");
    let workspace = include_str!("../../../Cargo.toml");
    let versions: Vec<_> = chapter
        .lines()
        .filter_map(|line| line.split_once(" = \""))
        // Our own stand there by path, and by version from the commit of a release on, which raises them.
        .filter(|(name, _)| !name.contains(' ') && !name.starts_with("payments-"))
        .collect();
    assert_eq!(versions.len(), 5, "{versions:?}");
    for (name, version) in versions {
        let is_this = |line: &str| {
            let own = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(" = "));
            own.is_some_and(|own| {
                own.trim_start_matches("{ version = ").trim_start_matches('"').starts_with(version)
            })
        };
        assert!(workspace.lines().any(is_this), "the workspace has another version of {name} than {version}");
    }
}
