//! Which kind of error is a response whose head arrived and whose body did not? The contracts check what is kept of it.

use std::time::Duration;

use crate::support::{Server, gate, post, send_failing, spawn, transport};
use http::StatusCode;
use payments_core::{Delivery, TransportError, TransportErrorKind, TransportResponse};

/// More time than any of these responses takes on a busy machine.
const AMPLE: Duration = Duration::from_secs(30);

const ANSWERED: Delivery = Delivery::Answered(StatusCode::OK);

#[tokio::test]
async fn each_broken_body_has_its_kind() {
    for (framing, body, kind) in [
        ("Content-Length: 100", "half", TransportErrorKind::BodyTruncated),
        ("Transfer-Encoding: chunked", "4\r\nhalf\r\n", TransportErrorKind::BodyTruncated),
        ("Transfer-Encoding: chunked", "4\r\nhalf\r\nnonsense\r\n", TransportErrorKind::BodyTruncated),
        ("Content-Length: 5", "half+", TransportErrorKind::BodyTooLarge),
        ("Transfer-Encoding: chunked", "5\r\nhalf+\r\n0\r\n\r\n", TransportErrorKind::BodyTooLarge),
    ] {
        let server = Server::start(move |connection| {
            connection.read_request();
            connection.write(format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n{body}"));
            connection.close();
        });
        let (delivery, was, error) = send_failing(&transport(), post(server.url()).cap(4)).await;
        assert_eq!((delivery, was), (ANSWERED, kind), "{body:?}");
        assert_eq!(error.partial().unwrap().body(), "half", "{body:?}");
    }
}

/// The result of a call whose runtime is blocked until the whole body has arrived, and resumes this long after the deadline.
async fn resumed_after_the_deadline(late: Duration) -> Result<TransportResponse, TransportError> {
    // The clock stands still from the beginning: what a busy machine needs until here must not make the call later still. While a
    // blocking task runs, tokio does not advance it either.
    tokio::time::pause();
    let (arrived, wait_until_arrived) = gate();
    let (may_write, wait_until_may_write) = gate();
    let (written, wait_until_written) = gate();
    let server = Server::start(move |connection| {
        connection.read_request();
        arrived();
        wait_until_may_write();
        connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        connection.write("1\r\na\r\n".repeat(CHUNKS) + "0\r\n\r\n");
        written();
        connection.hold();
    });
    let call = spawn(&transport(), post(server.url()).cap(CHUNKS).total(AMPLE));
    tokio::task::spawn_blocking(wait_until_arrived).await.unwrap();
    may_write();
    wait_until_written();
    tokio::time::advance(AMPLE + late).await;
    call.await.unwrap()
}

const CHUNKS: usize = 5_000;

#[tokio::test]
async fn buffered_chunks_are_not_read_past_the_deadline_d23() {
    let error = resumed_after_the_deadline(Duration::from_millis(200)).await.unwrap_err();
    assert_eq!((error.delivery(), error.kind()), (ANSWERED, TransportErrorKind::Timeout));
    assert!(error.partial().unwrap().body().len() < 1_000, "chunks were read past the deadline");
}

#[tokio::test]
async fn buffered_chunks_are_read_in_a_process_that_was_stopped_d23() {
    let response = resumed_after_the_deadline(Duration::from_hours(1)).await.unwrap();
    assert_eq!(response.body(), "a".repeat(CHUNKS).as_str());
}
