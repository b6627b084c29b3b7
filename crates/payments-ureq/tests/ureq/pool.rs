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

/// Starts a server that serves lookups and counts connections.
fn server() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
            thread::spawn(move || serve(&stream.unwrap()));
        }
    });
    (address, connections)
}

fn serve(mut stream: &TcpStream) {
    let body = r#"{"status_code":200,"data":{"TransactionId":"txn_1"}}"#;
    for line in BufReader::new(stream).lines() {
        if line.unwrap().is_empty() {
            let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            stream.write_all(response.as_bytes()).unwrap();
        }
    }
}

fn connections_of_three_calls(builder: UreqTransportBuilder) -> usize {
    let (address, connections) = server();
    let endpoint = Endpoint::new(&format!("http://{address}"), ApiKey::new("sk_test").unwrap()).unwrap();
    let client = payments_core::Client::builder(endpoint, builder.build().unwrap(), SystemTimer::new())
        .build_blocking();
    for _ in 0..3 {
        client.transaction(&"txn_1".parse().unwrap()).unwrap();
    }
    connections.load(Ordering::SeqCst)
}

#[test]
fn without_idle_time_or_idle_connections_each_call_opens_its_own() {
    let builder = UreqTransport::builder();
    assert_eq!(connections_of_three_calls(builder.pool_idle_timeout(Duration::ZERO)), 3);
    let builder = UreqTransport::builder();
    assert_eq!(connections_of_three_calls(builder.max_idle_connections(0)), 3);
}
