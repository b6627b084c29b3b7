use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::contract;
use crate::http2::{Peer, Request, flag, frame, header_block, kind, literal};
use crate::{Stack, Verdict};

/// The server reads the whole request and sends without end what means nothing: pings, settings, windows, empty pieces
/// of a body, informational heads, frames of an unknown kind.
///
/// The call ends by its total deadline, and is never `NotProcessed`. When the transport is gone, so is the connection.
pub fn a_flood_of_frames_ends_with_the_deadline(stack: &impl Stack) -> Verdict {
    let why = "a deadline that is looked at only when there is nothing to read never ends while a server keeps talking; \
               the payment is then neither made nor lost, for ever";
    contract("a_flood_of_frames_ends_with_the_deadline", why).check(stack, |harness| {
        let hint = header_block("103", []);
        for (what, kind, flags, on_stream, payload) in [
            ("pings", kind::PING, 0, false, b"conforms".as_slice()),
            ("settings", kind::SETTINGS, 0, false, &[]),
            ("windows of one byte", kind::WINDOW_UPDATE, 0, true, &[0, 0, 0, 1]),
            ("empty pieces of a body", kind::DATA, 0, true, &[]),
            ("informational heads", kind::HEADERS, flag::END_HEADERS, true, &hint),
            ("frames of an unknown kind", 0xfa, 0, true, b"whatever this is"),
        ] {
            let sent = Arc::new(AtomicUsize::new(0));
            let script = {
                let (sent, payload) = (Arc::clone(&sent), payload.to_vec());
                move |peer: &mut Peer<'_>| {
                    peer.serve_one();
                    let Some(Request { stream, .. }) = peer.next_request() else { return };
                    if kind == kind::DATA {
                        peer.frame(kind::HEADERS, flag::END_HEADERS, stream, &header_block("200", []));
                    }
                    let many = frame(kind, flags, if on_stream { stream } else { 0 }, &payload).repeat(1000);
                    while peer.connection().write(&many) {
                        sent.fetch_add(1000, Ordering::SeqCst);
                    }
                }
            };
            let situation = format!(
                "answers a first request; of the second it reads the whole, then sends {what} without end"
            );
            harness.with_http2_server(&situation, &[], script, |run| {
                run.round_trip()?;
                let call = run.send(run.charge().total(SHORT))?;
                call.must_fail()?;
                call.must_not_be_not_processed()?;
                call.must_end_by_the_deadline()?;
                run.must_have_arrived_once(&call.id)
            })?;
            harness.figure(format!("{} {what}", sent.load(Ordering::SeqCst)));
        }
        Ok(())
    })
}

/// The server answers with a head that never ends, or that has 100 000 fields.
///
/// The transport gives it up, or waits for its end until the deadline, but does not keep it all: what it takes is
/// bounded. The call is an answer or `Unknown`.
pub fn an_endless_head_is_bounded_over_http2(stack: &impl Stack) -> Verdict {
    let why = "a head is kept until it is whole; without a limit one server takes all memory of the program, and with \
               it every payment that is under way";
    contract("an_endless_head_is_bounded_over_http2", why).check(stack, |harness| {
        for (what, endless) in [("a head without end", true), ("a head of 100 000 fields", false)] {
            let sent = Arc::new(AtomicUsize::new(0));
            let script = {
                let sent = Arc::clone(&sent);
                move |peer: &mut Peer<'_>| {
                    let Some(Request { stream, .. }) = peer.next_request() else { return };
                    let mut fields = Vec::new();
                    for number in 0..400 {
                        literal(&mut fields, format!("x-{number:03}").as_bytes(), b"a value of twenty bytes");
                    }
                    peer.frame(kind::HEADERS, 0, stream, &header_block("200", []));
                    let mut left = if endless { usize::MAX } else { 250 };
                    while left > 0 && peer.frame(kind::CONTINUATION, 0, stream, &fields) {
                        sent.fetch_add(fields.len(), Ordering::SeqCst);
                        left -= 1;
                    }
                    peer.frame(kind::CONTINUATION, flag::END_HEADERS, stream, &[]);
                    peer.frame(kind::DATA, flag::END_STREAM, stream, b"{}");
                    peer.wait_for_close();
                }
            };
            harness.with_http2_server(&format!("answers with {what}"), &[], script, |run| {
                let call = run.send(run.charge().total(LONG))?;
                call.must_not_be_not_processed()?;
                call.must_end_by_the_deadline()?;
                run.must_have_arrived_once(&call.id)
            })?;
            let sent = sent.load(Ordering::SeqCst);
            harness.figure(format!("{} KiB taken of {what}", sent / 1024));
            if sent > MOST {
                return Err(crate::violation::Violation::new(format!(
                    "the transport took {sent} bytes of {what}; it should have given up before {MOST}"
                )));
            }
        }
        Ok(())
    })
}

/// The server answers with a body that never ends.
///
/// The call ends at the response cap, as `Answered`, with what fits. The server is told to stop.
pub fn an_endless_body_is_bounded_over_http2(stack: &impl Stack) -> Verdict {
    let why =
        "the beginning may hold the transaction's id; the rest may be as long as the memory of the program";
    contract("an_endless_body_is_bounded_over_http2", why).check(stack, |harness| {
        let sent = Arc::new(AtomicUsize::new(0));
        let script = {
            let sent = Arc::clone(&sent);
            move |peer: &mut Peer<'_>| {
                let Some(Request { stream, .. }) = peer.next_request() else { return };
                peer.frame(kind::HEADERS, flag::END_HEADERS, stream, &header_block("200", []));
                let piece = [b' '; 8 * 1024];
                while peer.data(stream, &piece, false) {
                    sent.fetch_add(piece.len(), Ordering::SeqCst);
                }
            }
        };
        harness.with_http2_server("answers with a body that never ends", &[], script, |run| {
            let call = run.send(run.charge().cap(CAP))?;
            let partial = call.must_have_partial_response(http::StatusCode::OK)?;
            if partial.body().len() != CAP {
                return Err(call.expected(&format!("a partial body of {CAP} bytes, which is the cap")));
            }
            Ok(())
        })?;
        let sent = sent.load(Ordering::SeqCst);
        harness.figure(format!("{} KiB sent before the end, with a cap of {} KiB", sent / 1024, CAP / 1024));
        if sent > MOST {
            return Err(crate::violation::Violation::new(format!(
                "the transport took {sent} bytes of a body with a cap of {CAP}; it should have given up before {MOST}"
            )));
        }
        Ok(())
    })
}

const CAP: usize = 64 * 1024;

/// What the sockets' buffers and the windows of HTTP/2 hold, several times over.
const MOST: usize = 32 * 1024 * 1024;

const SHORT: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(5);
