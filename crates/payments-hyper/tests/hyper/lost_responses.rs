//! Is a request that may have been read always reported as unknown, and never sent twice?

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::support::{Conversation, Server, post, send, send_failing};
use payments_core::{Delivery, TransportErrorKind};
use payments_hyper::HyperTransport;

/// A deadline that expires. Long enough for a request to arrive on a busy machine.
const SHORT: Duration = Duration::from_secs(1);
/// A deadline that expires only if something hangs.
const AMPLE: Duration = Duration::from_secs(20);
/// Longer than every deadline that expires plus any delay of the machine, and shorter than `AMPLE`.
const SOON: Duration = Duration::from_secs(15);

/// Runs `script` after the whole request was read, on a new connection and on a reused one, and returns the error kinds. The
/// delivery is always unknown, and the request arrives exactly once.
async fn kinds_after_read(total: Duration, script: fn(&mut Conversation)) -> [TransportErrorKind; 2] {
    let mut kinds = Vec::new();
    for served_before in [0, 1] {
        let server = Server::start(move |connection| {
            for _ in 0..served_before {
                connection.read_request();
                connection.peer().respond("{}");
            }
            if connection.read_request() {
                script(connection);
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
        assert_eq!(server.received().len(), served_before + 1, "the request is sent once");
        assert_eq!(server.connections(), 1, "no second connection is opened");
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
async fn half_a_head_then_fin_is_unknown_d03() {
    let half = |connection: &mut Conversation| {
        connection.write("HTTP/1.1 200 OK\r\nContent-Le");
        connection.close();
    };
    assert_eq!(kinds_after_read(AMPLE, half).await, [TransportErrorKind::Closed; 2]);
}

#[tokio::test]
async fn silence_until_the_total_deadline_is_unknown_d23() {
    let silence = |connection: &mut Conversation| drop(connection.hold());
    assert_eq!(kinds_after_read(SHORT, silence).await, [TransportErrorKind::Timeout; 2]);
}

#[tokio::test]
async fn a_dripping_head_until_the_total_deadline_is_unknown_d23() {
    let drip = |connection: &mut Conversation| {
        connection.write("HTTP/1.1 200 OK\r\nX-Drip: ");
        while connection.write("a") {
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    assert_eq!(kinds_after_read(SHORT, drip).await, [TransportErrorKind::Timeout; 2]);
}

#[tokio::test]
async fn an_endless_head_is_unknown_d03() {
    let endless = |connection: &mut Conversation| {
        connection.write("HTTP/1.1 200 OK\r\nX-Long: ");
        while connection.write([b'a'; 4096]) {}
    };
    assert_eq!(kinds_after_read(AMPLE, endless).await, [TransportErrorKind::Protocol; 2]);
}

#[tokio::test]
async fn a_hundred_thousand_headers_are_unknown_d03() {
    let many = |connection: &mut Conversation| {
        connection.write("HTTP/1.1 200 OK\r\n");
        connection.write("A: b\r\n".repeat(100_000));
        connection.write("Content-Length: 2\r\n\r\n{}");
        connection.hold();
    };
    assert_eq!(kinds_after_read(AMPLE, many).await, [TransportErrorKind::Protocol; 2]);
}

#[tokio::test]
async fn endless_interim_responses_end_with_the_total_deadline_d23() {
    // Written as fast as the socket accepts them, so that there is always something to read. The deadline must not starve.
    let endless = |connection: &mut Conversation| {
        let many = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(1000);
        while connection.write(&many) {}
    };
    assert_eq!(kinds_after_read(SHORT, endless).await, [TransportErrorKind::Timeout; 2]);
}

#[tokio::test]
async fn a_protocol_error_is_reported_while_the_connection_is_open() {
    let ambiguous = |connection: &mut Conversation| {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}");
        connection.hold();
    };
    assert_eq!(kinds_after_read(AMPLE, ambiguous).await, [TransportErrorKind::Protocol; 2]);
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
    let transport = HyperTransport::builder().build().unwrap();
    let (_, kind, _) = send_failing(&transport, post(server.url()).total(SHORT)).await;
    assert_eq!(kind, TransportErrorKind::Timeout);
    let seen_closed = tokio::task::spawn_blocking(move || seen_closed.recv_timeout(SOON)).await.unwrap();
    assert_eq!(seen_closed, Ok(0), "the server sees the close and no further bytes");
    send(&transport, post(server.url())).await.unwrap();
    assert_eq!(server.connections(), 2);
}
