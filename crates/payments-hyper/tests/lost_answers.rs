//! Is a request that may have been read ever called anything but "unknown", and is it ever sent twice?

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::sync::mpsc;
use std::time::{Duration, Instant};

use payments_core::{Delivery, TransportErrorKind};
use payments_hyper::HyperTransport;
use support::{Conversation, Server, post, send, send_failing};

/// A deadline that is waited for. Long enough for a request to arrive on a busy machine.
const SHORT: Duration = Duration::from_secs(1);
/// A deadline that is never reached, unless something hangs.
const AMPLE: Duration = Duration::from_secs(20);
/// Above any noise of the machine and every deadline that is waited for, below those that are not.
const SOON: Duration = Duration::from_secs(15);

/// Runs `fate` on a request that was read whole, on a new connection and on one that has served before; gives the
/// kinds. Delivery is always unknown, and the request arrives exactly once.
async fn kinds_after_read(total: Duration, fate: fn(&mut Conversation)) -> [TransportErrorKind; 2] {
    let mut kinds = Vec::new();
    for served_before in [0, 1] {
        let server = Server::start(move |connection| {
            for _ in 0..served_before {
                connection.read_request();
                connection.peer().answer("{}");
            }
            if connection.read_request() {
                fate(connection);
            }
        });
        let transport = HyperTransport::builder().build().unwrap();
        for _ in 0..served_before {
            send(&transport, post(server.url())).await.unwrap();
        }
        let started = Instant::now();
        let (delivery, kind, _) = send_failing(&transport, post(server.url()).total(total)).await;
        assert_eq!(delivery, Delivery::Unknown);
        assert!(started.elapsed() < SOON);
        assert_eq!(server.received().len(), served_before + 1, "it is sent once");
        assert_eq!(server.connections(), 1, "no second connection is tried");
        kinds.push(kind);
    }
    [kinds[0], kinds[1]]
}

#[tokio::test]
async fn read_then_fin_is_unknown_d03() {
    assert_eq!(kinds_after_read(AMPLE, Conversation::close).await, [TransportErrorKind::Closed; 2]);
}

#[tokio::test]
async fn read_then_reset_is_unknown_d03() {
    assert_eq!(kinds_after_read(AMPLE, Conversation::reset).await, [TransportErrorKind::Closed; 2]);
}

#[tokio::test]
async fn garbage_instead_of_a_head_is_unknown_d03() {
    let garbage = |connection: &mut Conversation| {
        connection.write("\u{1}\u{2} nonsense\r\n\r\n");
        connection.hold();
    };
    assert_eq!(kinds_after_read(AMPLE, garbage).await, [TransportErrorKind::Protocol; 2]);
}

#[tokio::test]
async fn half_a_head_and_then_fin_is_unknown_d03() {
    let half = |connection: &mut Conversation| {
        connection.write("HTTP/1.1 200 OK\r\nContent-Le");
        connection.close();
    };
    assert_eq!(kinds_after_read(AMPLE, half).await, [TransportErrorKind::Closed; 2]);
}

#[tokio::test]
async fn silence_ends_with_the_total_deadline_as_unknown_d23() {
    let silence = |connection: &mut Conversation| drop(connection.hold());
    assert_eq!(kinds_after_read(SHORT, silence).await, [TransportErrorKind::Timeout; 2]);
}

#[tokio::test]
async fn a_dripping_head_ends_with_the_total_deadline_as_unknown_d23() {
    let drip = |connection: &mut Conversation| {
        connection.write("HTTP/1.1 200 OK\r\nX-Drip: ");
        while connection.write("a") {
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    assert_eq!(kinds_after_read(SHORT, drip).await, [TransportErrorKind::Timeout; 2]);
}

#[tokio::test]
async fn an_endless_head_is_refused_d03() {
    let endless = |connection: &mut Conversation| {
        connection.write("HTTP/1.1 200 OK\r\nX-Long: ");
        while connection.write([b'a'; 4096]) {}
    };
    assert_eq!(kinds_after_read(AMPLE, endless).await, [TransportErrorKind::Protocol; 2]);
}

#[tokio::test]
async fn a_hundred_thousand_headers_are_refused_d03() {
    let many = |connection: &mut Conversation| {
        connection.write("HTTP/1.1 200 OK\r\n");
        connection.write("A: b\r\n".repeat(100_000));
        connection.write("Content-Length: 2\r\n\r\n{}");
        connection.hold();
    };
    assert_eq!(kinds_after_read(AMPLE, many).await, [TransportErrorKind::Protocol; 2]);
}

#[tokio::test]
async fn endless_interim_answers_end_with_the_total_deadline_d23() {
    // As fast as the socket takes them, so that there is always something to read: the deadline must not starve.
    let endless = |connection: &mut Conversation| {
        let many = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(1000);
        while connection.write(&many) {}
    };
    assert_eq!(kinds_after_read(SHORT, endless).await, [TransportErrorKind::Timeout; 2]);
}

#[tokio::test]
async fn a_protocol_error_is_reported_while_the_peer_still_sends() {
    let ambiguous = |connection: &mut Conversation| {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}");
        connection.hold();
    };
    assert_eq!(kinds_after_read(AMPLE, ambiguous).await, [TransportErrorKind::Protocol; 2]);
}

#[tokio::test]
async fn a_connection_whose_call_failed_is_closed_and_never_used_again() {
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
    let transport = HyperTransport::builder().build().unwrap();
    let (_, kind, _) = send_failing(&transport, post(server.url()).total(SHORT)).await;
    assert_eq!(kind, TransportErrorKind::Timeout);
    let seen_closed = tokio::task::spawn_blocking(move || seen_closed.recv_timeout(SOON)).await.unwrap();
    assert_eq!(seen_closed, Ok(0), "the server sees the end, and nothing before it");
    send(&transport, post(server.url())).await.unwrap();
    assert_eq!(server.connections(), 2);
}
