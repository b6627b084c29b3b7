//! Which kind of error is a request that may have been read? The contracts check that it is unknown and sent once.

use std::sync::mpsc;
use std::time::Duration;

use crate::support::{Conversation, Server, post, send, send_failing, transport};
use payments_core::{Delivery, TransportErrorKind};

/// A deadline that expires. Long enough for a request to arrive on a busy machine.
const SHORT: Duration = Duration::from_secs(1);
/// Longer than `SHORT` plus any delay of the machine.
const SOON: Duration = Duration::from_secs(15);

#[tokio::test]
async fn each_unreadable_response_has_its_kind_d03() {
    let two_lengths = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}";
    let many_headers = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(100_000));
    for (response, end, kind) in [
        ("", Conversation::close as fn(&mut Conversation), TransportErrorKind::Closed),
        ("", Conversation::reset, TransportErrorKind::Closed),
        ("HTTP/1.1 200 OK\r\nContent-Le", Conversation::close, TransportErrorKind::Closed),
        // These are reported while the connection is open.
        ("\u{1}\u{2} nonsense\r\n\r\n", |it| drop(it.hold()), TransportErrorKind::Protocol),
        (two_lengths, |it| drop(it.hold()), TransportErrorKind::Protocol),
        (&many_headers, |it| drop(it.hold()), TransportErrorKind::Protocol),
    ] {
        let bytes = response.to_owned();
        let server = Server::start(move |connection| {
            connection.read_request();
            connection.write(&bytes);
            end(connection);
        });
        let (delivery, was, _) = send_failing(&transport(), post(server.url())).await;
        let shown = &response[..response.len().min(80)];
        assert_eq!((delivery, was), (Delivery::Unknown, kind), "{shown:?}");
    }
}

#[tokio::test]
async fn the_connection_of_a_failed_call_is_closed_and_not_reused() {
    let (closed, seen_closed) = mpsc::channel();
    let server = Server::start(move |connection| {
        if connection.index() == 0 {
            connection.read_request();
            let rest = connection.hold();
            closed.send(rest.len()).unwrap();
        } else {
            connection.serve("{}");
        }
    });
    let transport = transport();
    let (_, kind, _) = send_failing(&transport, post(server.url()).total(SHORT)).await;
    assert_eq!(kind, TransportErrorKind::Timeout);
    let seen_closed = tokio::task::spawn_blocking(move || seen_closed.recv_timeout(SOON)).await.unwrap();
    assert_eq!(seen_closed, Ok(0), "the server sees the close and no further bytes");
    send(&transport, post(server.url())).await.unwrap();
    assert_eq!(server.connections(), 2);
}
