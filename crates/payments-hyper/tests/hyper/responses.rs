//! Which responses end their connection? The contracts check that every complete response is returned unchanged.

use std::sync::mpsc;
use std::time::Duration;

use crate::support::{Server, post, send, transport};
use http::StatusCode;

#[tokio::test]
async fn an_unrequested_protocol_switch_ends_the_connection() {
    let switch = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n";
    let server =
        Server::start(move |connection| while connection.read_request() && connection.write(switch) {});
    let transport = transport();
    for _ in 0..2 {
        let response = send(&transport, post(server.url())).await.unwrap();
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    }
    assert_eq!(server.connections(), 2);
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
