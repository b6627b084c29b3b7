//! Is every complete response returned unchanged, and nothing else?

use std::sync::mpsc;
use std::time::Duration;

use crate::support::{Server, post, send, send_failing};
use http::StatusCode;
use payments_core::{Delivery, TransportErrorKind};
use payments_hyper::HyperTransport;

fn transport() -> HyperTransport {
    HyperTransport::builder().build().unwrap()
}

/// A server that responds to every request with these bytes.
fn responding(bytes: &'static [u8]) -> Server {
    Server::start(move |connection| while connection.read_request() && connection.write(bytes) {})
}

#[tokio::test]
async fn redirects_are_not_followed_d20() {
    let elsewhere = Server::start(|connection| connection.serve("{}"));
    let target = elsewhere.url();
    let server = Server::start(move |connection| {
        for status in ["301 A", "302 B", "303 C", "307 D", "308 E"] {
            connection.read_request();
            connection.write(format!("HTTP/1.1 {status}\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n"));
        }
    });
    let transport = transport();
    for _ in 0..5 {
        let response = send(&transport, post(server.url())).await.unwrap();
        assert!(response.status().is_redirection());
    }
    assert_eq!(server.received().len(), 5);
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn an_unrequested_protocol_switch_ends_the_connection() {
    let server =
        responding(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n");
    let transport = transport();
    for _ in 0..2 {
        let response = send(&transport, post(server.url())).await.unwrap();
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    }
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_chunked_body_is_joined() {
    let server = responding(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-Trailer: z\r\n\r\n",
    );
    let transport = transport();
    for _ in 0..2 {
        let response = send(&transport, post(server.url())).await.unwrap();
        assert_eq!(response.body(), "abcde");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_response_of_ambiguous_length_is_unknown_d03() {
    for head in [
        "Content-Length: 2\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 2",
        "Content-Length: 2\r\nContent-Length: 2",
        "Content-Length: 2\r\nContent-Length: 3",
        "Content-Length: 2, 2",
        "Content-Length: two",
        "Content-Length: -2",
        "Content-Length: 99999999999999999999999",
    ] {
        let server = Server::start(move |connection| {
            connection.read_request();
            connection.write(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"));
            connection.hold();
        });
        let (delivery, kind, _) = send_failing(&transport(), post(server.url())).await;
        assert_eq!((delivery, kind), (Delivery::Unknown, TransportErrorKind::Protocol), "{head}");
    }
}

#[tokio::test]
async fn an_early_response_is_returned_and_ends_the_connection() {
    let (closed, seen_closed) = mpsc::channel();
    let server = Server::start(move |connection| {
        connection.peer().read_some();
        connection.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n{}");
        connection.hold();
        closed.send(()).unwrap();
    });
    let plan = post(server.url()).body(vec![b'a'; 32 * 1024 * 1024]);
    let transport = transport();
    let response = send(&transport, plan).await.unwrap();
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    // The rest of the request can never be sent, so the connection cannot be reused and must be closed.
    let closed = tokio::task::spawn_blocking(move || seen_closed.recv_timeout(Duration::from_secs(5)));
    closed.await.unwrap().expect("the connection is closed while the transport exists");
}
