use std::time::Duration;

use super::contract;
use crate::http2::{Peer, Request, flag, frame, header_block, kind, literal};
use crate::situations::{Counter, after};
use crate::violation::ensure;
use crate::{Stack, Verdict};

/// The server reads the whole request and then endlessly sends frames without effect: pings, settings, window updates,
/// empty data frames, informational heads, or frames of an unknown type.
///
/// The call must end no later than its total deadline, and not as `NotProcessed`. Dropping the transport closes the
/// connection.
pub fn a_flood_of_frames_ends_with_the_deadline(stack: &impl Stack) -> Verdict {
    let why = "a deadline that is checked only when there is nothing to read never ends the call while a server keeps \
               sending, so the outcome of the payment stays open forever";
    contract("a_flood_of_frames_ends_with_the_deadline", why).check(stack, |harness| {
        let hint = header_block("103", []);
        for (what, kind, flags, on_stream, payload) in [
            ("pings", kind::PING, 0, false, b"conforms".as_slice()),
            ("settings", kind::SETTINGS, 0, false, &[]),
            ("window updates of one byte", kind::WINDOW_UPDATE, 0, true, &[0, 0, 0, 1]),
            ("empty data frames", kind::DATA, 0, true, &[]),
            ("informational heads", kind::HEADERS, flag::END_HEADERS, true, &hint),
            ("frames of an unknown type", 0xfa, 0, true, b"whatever this is"),
        ] {
            let sent = Counter::default();
            let (counter, payload) = (sent.clone(), payload.to_vec());
            let script = move |peer: &mut Peer<'_>| {
                peer.serve_one();
                let Some(Request { stream, .. }) = peer.next_request() else { return };
                if kind == kind::DATA {
                    peer.frame(kind::HEADERS, flag::END_HEADERS, stream, &header_block("200", []));
                }
                let many = frame(kind, flags, if on_stream { stream } else { 0 }, &payload).repeat(1000);
                while peer.connection.write(&many) {
                    counter.add(1000);
                }
            };
            let situation = after(1, &format!("reads the whole, then sends endless {what}"));
            harness.with_http2_server(&situation, &[], script, |run| {
                run.round_trip()?;
                let call = run.send(run.charge().total(SHORT))?;
                call.must_fail()?;
                call.must_not_be_not_processed()?;
                call.must_end_by_the_deadline()?;
                run.must_have_arrived_once(&call.id)
            })?;
            harness.figure(format!("{} {what}", sent.get()));
        }
        Ok(())
    })
}

/// The server responds with an endless head, or with one of 100 000 fields.
///
/// The transport may give up or wait for the end until the deadline, but must limit how much it reads. The call must not be
/// `NotProcessed`.
pub fn an_endless_head_is_bounded_over_http2(stack: &impl Stack) -> Verdict {
    let why = "a head is buffered until it is complete. Without a limit one server can use all memory and stop every \
               payment in progress";
    contract("an_endless_head_is_bounded_over_http2", why).check(stack, |harness| {
        for (what, endless) in [("an endless head", true), ("a head of 100 000 fields", false)] {
            let sent = Counter::default();
            let counter = sent.clone();
            let script = move |peer: &mut Peer<'_>| {
                let Some(Request { stream, .. }) = peer.next_request() else { return };
                let mut fields = Vec::new();
                for number in 0..400 {
                    literal(&mut fields, format!("x-{number:03}").as_bytes(), b"a value of twenty bytes");
                }
                peer.frame(kind::HEADERS, 0, stream, &header_block("200", []));
                let mut left = if endless { usize::MAX } else { 250 };
                while left > 0 && peer.frame(kind::CONTINUATION, 0, stream, &fields) {
                    counter.add(fields.len());
                    left -= 1;
                }
                peer.frame(kind::CONTINUATION, flag::END_HEADERS, stream, &[]);
                peer.frame(kind::DATA, flag::END_STREAM, stream, b"{}");
                peer.wait_for_close();
            };
            harness.with_http2_server(&format!("responds with {what}"), &[], script, |run| {
                let call = run.send(run.charge().total(LONG))?;
                call.must_not_be_not_processed()?;
                call.must_end_by_the_deadline()?;
                run.must_have_arrived_once(&call.id)
            })?;
            let sent = sent.get();
            harness.figure(format!("read {} KiB of {what}", sent / 1024));
            ensure!(sent <= MOST, "the transport read {sent} bytes of {what}; it must give up before {MOST}");
        }
        Ok(())
    })
}

/// The server responds with an endless body.
///
/// The call must end at the response cap, as `Answered`, with as much as fits. The transport must stop the server from
/// sending more.
pub fn an_endless_body_is_bounded_over_http2(stack: &impl Stack) -> Verdict {
    let why = "the beginning of the body may contain the transaction id; the rest may be larger than the program's memory";
    contract("an_endless_body_is_bounded_over_http2", why).check(stack, |harness| {
        let sent = Counter::default();
        let counter = sent.clone();
        let script = move |peer: &mut Peer<'_>| {
            let Some(Request { stream, .. }) = peer.next_request() else { return };
            peer.frame(kind::HEADERS, flag::END_HEADERS, stream, &header_block("200", []));
            let piece = [b' '; 8 * 1024];
            while peer.data(stream, &piece, false) {
                counter.add(piece.len());
            }
        };
        harness.with_http2_server("responds with an endless body", &[], script, |run| {
            let call = run.send(run.charge().cap(CAP))?;
            let partial = call.must_have_partial_response(http::StatusCode::OK)?;
            call.must(partial.body().len() == CAP, &format!("a partial body of {CAP} bytes, exactly the cap"))
        })?;
        let sent = sent.get();
        harness.figure(format!("{} KiB sent before the end, with a cap of {} KiB", sent / 1024, CAP / 1024));
        ensure!(
            sent <= MOST,
            "the transport read {sent} bytes of a body with a cap of {CAP}; it must give up before {MOST}"
        );
        Ok(())
    })
}

const CAP: usize = 64 * 1024;

/// Several times what the socket buffers and HTTP/2 windows hold.
const MOST: usize = 32 * 1024 * 1024;

const SHORT: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(5);
