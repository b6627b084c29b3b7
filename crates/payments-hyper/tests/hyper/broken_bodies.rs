//! What is reported for a response whose head arrived and whose body did not?

use std::time::{Duration, Instant};

use crate::support::{Conversation, Server, gate, post, send, send_failing};
use http::StatusCode;
use payments_core::{Delivery, TransportError, TransportErrorKind, TransportResponse};
use payments_hyper::HyperTransport;

/// A deadline that expires. Long enough for a response head to arrive on a busy machine.
const SHORT: Duration = Duration::from_secs(1);
/// More time than any of these responses takes on a busy machine.
const AMPLE: Duration = Duration::from_secs(30);
const SOON: Duration = Duration::from_secs(15);

/// The evidence for a response that `script` writes, and the part of its body that was kept.
async fn broken(cap: usize, script: fn(&mut Conversation)) -> (Delivery, TransportErrorKind, Vec<u8>) {
    broken_within(AMPLE, cap, script).await
}

async fn broken_within(
    total: Duration,
    cap: usize,
    script: fn(&mut Conversation),
) -> (Delivery, TransportErrorKind, Vec<u8>) {
    let server = Server::start(move |connection| {
        // A connection whose response broke off must not be reused: the second call gets a new one.
        if connection.index() == 0 {
            connection.read_request();
            script(connection);
        } else {
            connection.serve("whole");
        }
    });
    let transport = HyperTransport::builder().build().unwrap();
    let started = Instant::now();
    let (delivery, kind, error) = send_failing(&transport, post(server.url()).cap(cap).total(total)).await;
    assert!(started.elapsed() < total + SOON);
    assert_eq!(server.received().len(), 1);
    let partial = error.partial().expect("the error has the partial response").body().to_vec();
    let next = send(&transport, post(server.url())).await.unwrap();
    assert_eq!(next.body(), "whole");
    assert_eq!(server.connections(), 2);
    (delivery, kind, partial)
}

const ANSWERED: Delivery = Delivery::Answered(StatusCode::OK);

#[tokio::test]
async fn a_body_shorter_than_its_length_is_answered_and_kept() {
    let (delivery, kind, partial) = broken(1000, |connection| {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"data\":");
        connection.close();
    })
    .await;
    assert_eq!((delivery, kind), (ANSWERED, TransportErrorKind::BodyTruncated));
    assert_eq!(partial, b"{\"data\":");
}

#[tokio::test]
async fn a_chunked_body_without_its_end_is_answered_and_kept() {
    let (delivery, kind, partial) = broken(1000, |connection| {
        connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n");
        connection.close();
    })
    .await;
    assert_eq!((delivery, kind), (ANSWERED, TransportErrorKind::BodyTruncated));
    assert_eq!(partial, b"abcde");
}

#[tokio::test]
async fn a_body_cut_by_a_reset_is_answered() {
    let (delivery, kind, partial) = broken(usize::MAX, |connection| {
        // A reset discards what the client has not read yet. This body is larger than the socket buffers, so the head has been
        // read once the last byte is written.
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
        connection.write(vec![b'a'; 32 * 1024 * 1024]);
        connection.reset();
    })
    .await;
    assert_eq!((delivery, kind), (ANSWERED, TransportErrorKind::BodyTruncated));
    assert!(!partial.is_empty());
}

#[tokio::test]
async fn a_broken_chunk_is_answered() {
    let (delivery, kind, partial) = broken(1000, |connection| {
        connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nnonsense\r\n");
        connection.hold();
    })
    .await;
    assert_eq!((delivery, kind), (ANSWERED, TransportErrorKind::BodyTruncated));
    assert_eq!(partial, b"abc");
}

#[tokio::test]
async fn a_dripping_body_ends_with_the_total_deadline_and_is_answered_d23() {
    let (delivery, kind, partial) = broken_within(SHORT, 1_000_000, |connection| {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
        while connection.write("a") {
            std::thread::sleep(Duration::from_millis(5));
        }
    })
    .await;
    assert_eq!((delivery, kind), (ANSWERED, TransportErrorKind::Timeout));
    assert!(!partial.is_empty() && partial.len() < 1000, "{}", partial.len());
}

#[tokio::test]
async fn an_endless_body_is_read_up_to_the_cap_d65() {
    let (delivery, kind, partial) = broken(10_000, |connection| {
        connection.write("HTTP/1.1 200 OK\r\n\r\n");
        while connection.write([b'a'; 4096]) {}
    })
    .await;
    assert_eq!((delivery, kind), (ANSWERED, TransportErrorKind::BodyTooLarge));
    assert_eq!(partial, [b'a'; 10_000]);
}

#[tokio::test]
async fn an_endless_chunked_body_is_read_up_to_the_cap_d65() {
    let (delivery, kind, partial) = broken(10_000, |connection| {
        connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        while connection.write("1\r\na\r\n".repeat(1000)) {}
    })
    .await;
    assert_eq!((delivery, kind), (ANSWERED, TransportErrorKind::BodyTooLarge));
    assert_eq!(partial, [b'a'; 10_000]);
}

/// The result of a call whose runtime is blocked until the whole body has arrived, and resumes this long after the deadline.
async fn resumed_after_the_deadline(late: Duration) -> Result<TransportResponse, TransportError> {
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
    let call = tokio::spawn({
        let plan = post(server.url()).cap(CHUNKS).total(AMPLE);
        async move { send(&HyperTransport::builder().build().unwrap(), plan).await }
    });
    tokio::task::spawn_blocking(wait_until_arrived).await.unwrap();
    may_write();
    wait_until_written();
    tokio::time::pause();
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

#[tokio::test]
async fn a_body_announced_above_the_cap_is_kept_up_to_the_cap_d65() {
    let (delivery, kind, partial) = broken(5, |connection| {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nabcdefg");
        connection.hold();
    })
    .await;
    assert_eq!((delivery, kind), (ANSWERED, TransportErrorKind::BodyTooLarge));
    assert_eq!(partial, b"abcde");
}

#[tokio::test]
async fn a_huge_content_length_reserves_no_memory_d65() {
    let (delivery, kind, partial) = broken_within(SHORT, 1000, |connection| {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000000\r\n\r\nabc");
        connection.hold();
    })
    .await;
    assert_eq!((delivery, kind), (ANSWERED, TransportErrorKind::Timeout));
    assert_eq!(partial, b"abc");
}

#[tokio::test]
async fn a_body_as_long_as_the_cap_is_complete_d65() {
    let server = Server::start(|connection| connection.serve("12345"));
    let transport = HyperTransport::builder().build().unwrap();
    let response = send(&transport, post(server.url()).cap(5)).await.unwrap();
    assert_eq!(response.body(), "12345");
}

#[tokio::test]
async fn a_body_that_ends_with_its_connection_is_complete() {
    let server = Server::start(|connection| {
        connection.read_request();
        connection.write("HTTP/1.1 200 OK\r\n\r\nabc");
        connection.close();
    });
    let transport = HyperTransport::builder().build().unwrap();
    let response = send(&transport, post(server.url())).await.unwrap();
    assert_eq!(response.body(), "abc");
}
