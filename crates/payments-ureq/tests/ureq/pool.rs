//! Tests which calls share a connection.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use payments_core::SystemTimer;
use payments_core::{ApiKey, Endpoint};
use payments_ureq::{UreqTransport, UreqTransportBuilder};

const RECEIPT: &str =
    "200 OK\r\nContent-Length: 52\r\n\r\n{\"status_code\":200,\"data\":{\"TransactionId\":\"txn_1\"}}";

/// Starts a server that gives every lookup this response, and counts connections.
fn server(response: &'static str) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
            thread::spawn(move || serve(&stream.unwrap(), response));
        }
    });
    (address, connections)
}

fn serve(mut stream: &TcpStream, response: &str) {
    for line in BufReader::new(stream).lines() {
        if line.unwrap().is_empty() {
            stream.write_all(format!("HTTP/1.1 {response}").as_bytes()).unwrap();
        }
    }
}

fn connections_of_three_calls(builder: UreqTransportBuilder, response: &'static str) -> usize {
    let (address, connections) = server(response);
    let endpoint = Endpoint::new(&format!("http://{address}"), ApiKey::new("sk_test").unwrap()).unwrap();
    let client = payments_core::Client::builder(endpoint, builder.build().unwrap(), SystemTimer::new())
        .lookup_retries(0)
        .build_blocking();
    for _ in 0..3 {
        assert_eq!(client.transaction(&"txn_1".parse().unwrap()).is_ok(), response == RECEIPT);
    }
    connections.load(Ordering::SeqCst)
}

#[test]
fn without_idle_time_or_idle_connections_each_call_opens_its_own() {
    let builder = UreqTransport::builder();
    assert_eq!(connections_of_three_calls(builder.pool_idle_timeout(Duration::ZERO), RECEIPT), 3);
    let builder = UreqTransport::builder();
    assert_eq!(connections_of_three_calls(builder.max_idle_connections(0), RECEIPT), 3);
}

/// ureq returns such a connection to its pool before the call sees the head. If the head gives two lengths, a call on another thread
/// could take the bytes after it for its own response.
#[test]
fn a_response_without_a_body_ends_its_connection() {
    for response in ["204 No Content\r\n\r\n", "200 OK\r\nContent-Length: 0\r\n\r\n"] {
        assert_eq!(connections_of_three_calls(UreqTransport::builder(), response), 3, "{response:?}");
    }
    assert_eq!(connections_of_three_calls(UreqTransport::builder(), RECEIPT), 1);
}
