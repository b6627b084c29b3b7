use std::time::Duration;

use http::{Response, StatusCode};
use payments_core::Delivery;

use super::{contract, new_and_reused};
use crate::completed_call::CompletedCall;
use crate::connection::Connection;
use crate::http2::{Event, LARGEST, Peer, Request, code, flag, header_block, kind, literal, setting};
use crate::situations::{own_response_and_once, unknown_and_once};
use crate::test_request::AMPLE;
use crate::violation::{Violation, ensure};
use crate::{Stack, Verdict};

/// The server responds with 100, 103 and 103 again before the final status.
///
/// The call must return the final response.
pub fn informational_heads_are_passed_over_in_http2(stack: &impl Stack) -> Verdict {
    let why = "a gateway may send hints first. They say nothing about the payment";
    contract("informational_heads_are_passed_over_in_http2", why).check(stack, |harness| {
        let action = |peer: &mut Peer<'_>, request: &Request| {
            for status in ["100", "103", "103"] {
                let hint = header_block(status, [(b"link".as_slice(), b"</a>".as_slice())]);
                peer.frame(kind::HEADERS, flag::END_HEADERS, request.stream, &hint);
            }
            peer.echo(request);
        };
        new_and_reused(
            harness,
            "responds with 100, 103, 103 and then 200",
            AMPLE,
            action,
            own_response_and_once,
        )
    })
}

/// The server uses what the protocol allows and few servers send: padding, priorities, a head in three frames, empty frames,
/// trailers, unknown frames, unknown settings, and pings in between.
///
/// The call must return the response byte for byte.
pub fn rare_frames_are_understood(stack: &impl Stack) -> Verdict {
    let why = "a response that the transport cannot read makes the payment unknown";
    contract("rare_frames_are_understood", why).check(stack, |harness| {
        let action = |peer: &mut Peer<'_>, request: &Request| {
            let stream = request.stream;
            peer.frame(UNKNOWN_KIND, 0xff, stream, b"whatever this is");
            peer.frame(kind::SETTINGS, 0, 0, &[0xfa, 0xfa, 0, 0, 0, 1]);
            peer.frame(kind::PING, 0, 0, b"conforms");
            let head = header_block("200", [(b"x-long".as_slice(), [b'x'; 3000].as_slice())]);
            // Four bytes of padding and five of priority surround the first part of the head.
            let mut first = vec![4, 0, 0, 0, 0, 16];
            first.extend(&head[..7]);
            first.extend([0; 4]);
            peer.frame(kind::HEADERS, flag::PADDED | flag::PRIORITY, stream, &first);
            peer.frame(kind::CONTINUATION, 0, stream, &[]);
            peer.frame(kind::CONTINUATION, flag::END_HEADERS, stream, &head[7..]);
            peer.frame(kind::DATA, 0, stream, &[]);
            for byte in request.received.id().bytes() {
                let padding = [0; 255];
                let mut padded = vec![255, byte];
                padded.extend(padding);
                peer.frame(kind::DATA, flag::PADDED, stream, &padded);
                peer.frame(kind::PING, 0, 0, b"conforms");
            }
            let mut trailers = Vec::new();
            literal(&mut trailers, b"x-trailer", b"1");
            peer.frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, stream, &trailers);
        };
        new_and_reused(harness, "responds with valid but rare frames", AMPLE, action, own_response_and_once)
    })
}

/// The server opens the window for only a few bytes of the request's body at a time.
///
/// The whole body must arrive unchanged, once, and no frame is larger than the server allows.
pub fn a_body_arrives_whole_through_small_windows(stack: &impl Stack) -> Verdict {
    let why = "a payment that arrives incomplete is rejected, or worse, read as a different payment";
    contract("a_body_arrives_whole_through_small_windows", why).check(stack, |harness| {
        let script = |peer: &mut Peer<'_>| {
            peer.give_no_windows();
            while let Some(event) = peer.next() {
                match event {
                    Event::Begun(request) => {
                        // Seven bytes at a time, then enough for the rest of the body, which ends within the last window.
                        for bytes in std::iter::repeat_n(7, 40).chain([LONG_BODY]) {
                            peer.give_window(request.stream, bytes);
                        }
                        peer.give_window(0, LONG_BODY);
                    }
                    Event::Request(request) => _ = peer.echo(&request),
                    Event::Reset { .. } => {}
                }
            }
        };
        let what = "opens no window for a body at first, then seven bytes at a time";
        harness.with_http2_server(what, NO_WINDOW, script, |run| {
            let charge = run.charge().padded_to(LONG_BODY as usize);
            let call = run.send(charge.clone())?;
            own_response_and_once(run, &call)?;
            ensure!(
                run.journal.received().iter().all(|received| received.body == *charge.request.body()),
                "the body that arrived is not the one that was sent; send it unchanged"
            );
            Ok(())
        })
    })
}

/// The server reads the head of the request and never opens a window for its body.
///
/// The call must end at its total deadline. Bytes were sent, and the transport cannot know what the server does with a
/// head, so the call must be `Unknown`.
pub fn no_window_for_the_body_is_unknown(stack: &impl Stack) -> Verdict {
    let why = "without a deadline the call would wait forever. And a proxy may already have acted on the part that was \
               sent";
    contract("no_window_for_the_body_is_unknown", why).check(stack, |harness| {
        let script = |peer: &mut Peer<'_>| {
            peer.give_no_windows();
            peer.wait_for_close();
        };
        harness.with_http2_server("opens no window for the body", NO_WINDOW, script, |run| {
            let call = run.send(run.charge().total(SHORT_WITH_CONNECT))?;
            call.must_be_unknown()?;
            call.must_be_a_timeout()?;
            call.must_end_with_the_deadline()?;
            run.must_have_connected(1, "part of the request was already sent on the first")
        })
    })
}

/// The server allows one stream at a time, and the caller makes many calls at once.
///
/// Each call must wait for its turn or use another connection, and get its response.
pub fn calls_beyond_the_stream_limit_wait(stack: &impl Stack) -> Verdict {
    let why = "servers lower this limit when they are busy; calls beyond it must wait, not fail";
    contract("calls_beyond_the_stream_limit_wait", why).check(stack, |harness| {
        let script = |peer: &mut Peer<'_>| peer.serve();
        harness.with_http2_server("allows one stream at a time", ONE_STREAM, script, |run| {
            run.round_trip()?;
            for call in run.send_all((0..20).map(|_| run.charge()))? {
                call.must_get_own_response()?;
            }
            Ok(())
        })
    })
}

/// The server allows no streams. It responds only to the first request on its first connection, which the client may have
/// sent before it read that setting.
///
/// The first call may succeed or fail. The second must fail, not as `Answered`. Both must end by their total deadline,
/// neither may be `NotProcessed` if the server received any of it, and the second must not use the first one's connection.
pub fn a_server_that_allows_no_stream_is_given_up(stack: &impl Stack) -> Verdict {
    let why = "otherwise the call waits forever in a queue inside the HTTP client";
    contract("a_server_that_allows_no_stream_is_given_up", why).check(stack, |harness| {
        let script = |peer: &mut Peer<'_>| {
            if peer.connection.index == 0 {
                peer.serve_one();
            }
            peer.wait_for_close();
        };
        harness.with_http2_server("allows no stream", NO_STREAM, script, |run| {
            let first = run.send(run.charge().total(SHORT))?;
            first.must_end_by_the_deadline()?;
            match &first.result {
                Ok(_) => first.must_get_own_response()?,
                Err(_) => must_not_be_answered(&first)?,
            }
            let second = run.send(run.charge().total(SHORT))?;
            must_not_be_answered(&second)?;
            second.must_end_by_the_deadline()?;
            harness.figure(format!("Delivery::{:?}", second.must_fail()?.delivery()));
            run.must_be_on_different_connections(&first.id, &second.id)
        })
    })
}

/// The server agrees on HTTP/2 and then sends nothing, not even its settings.
///
/// The call must end by its total deadline, not as `Answered`.
pub fn a_server_that_sends_no_settings_is_given_up(stack: &impl Stack) -> Verdict {
    let why = "after the TLS handshake the connect timeout may be over while the response timeout has not started: with such \
               a gap the call waits forever";
    contract("a_server_that_sends_no_settings_is_given_up", why).check(stack, |harness| {
        let script = |connection: &mut Connection| {
            if let Some(mut peer) = Peer::accept(connection) {
                peer.wait_for_close();
            }
        };
        let what = "completes the TLS handshake and never sends its settings";
        harness.with_server_over(harness.http2_security(), what, script, |run| {
            let call = run.send(run.charge().connect(SHORT).total(SHORT))?;
            must_not_be_answered(&call)?;
            call.must_end_by_the_deadline()?;
            harness.figure(format!("Delivery::{:?}", call.must_fail()?.delivery()));
            Ok(())
        })
    })
}

/// The server reads the whole request and responds with frames that the protocol forbids.
///
/// It may have processed the request. The call must be `Unknown`, and the request arrives once.
pub fn forbidden_frames_are_unknown(stack: &impl Stack) -> Verdict {
    let why = "the server read the request before it broke the protocol, so it may have charged the card";
    contract("forbidden_frames_are_unknown", why).check(stack, |harness| {
        let no_status: &[u8] = &{
            let mut block = Vec::new();
            literal(&mut block, b"x-a", b"1");
            block
        };
        let upper_case = &header_block("200", [(b"X-Upper".as_slice(), b"1".as_slice())]);
        let bad_status = &header_block("2xx", []);
        let ends = flag::END_HEADERS | flag::END_STREAM;
        let (own, too_large) = (None, vec![0; LARGEST + 1]);
        for (what, kind, flags, stream, payload) in [
            ("a head without a status", kind::HEADERS, ends, own, no_status),
            ("a header name in upper case", kind::HEADERS, ends, own, upper_case),
            ("a status that is not a number", kind::HEADERS, ends, own, bad_status),
            ("a head that cannot be decoded", kind::HEADERS, ends, own, &[0xff; 20]),
            ("a head on stream 0", kind::HEADERS, ends, Some(0), &[0x88]),
            ("a body before a head", kind::DATA, flag::END_STREAM, own, b"{}"),
            ("a body on stream 0", kind::DATA, flag::END_STREAM, Some(0), b"{}"),
            ("a pushed request", kind::PUSH_PROMISE, flag::END_HEADERS, own, &[0, 0, 0, 2, 0x82, 0x84, 0x87]),
            ("a continuation without a head", kind::CONTINUATION, flag::END_HEADERS, own, &[0x88]),
            ("a window that overflows", kind::WINDOW_UPDATE, 0, own, &[0x7f, 0xff, 0xff, 0xff]),
            ("a window update of zero", kind::WINDOW_UPDATE, 0, own, &[0; 4]),
            ("a ping that is too short", kind::PING, 0, Some(0), b"short"),
            ("a setting out of range", kind::SETTINGS, 0, Some(0), &[0, 4, 0xff, 0xff, 0xff, 0xff]),
            ("a frame larger than allowed", kind::DATA, 0, own, &too_large),
        ] {
            let payload = payload.to_vec();
            let action = move |peer: &mut Peer<'_>, request: &Request| {
                peer.frame(kind, flags, stream.unwrap_or(request.stream), &payload);
                if kind == kind::WINDOW_UPDATE {
                    // A transport may ignore a window update, so the call must be ended in another way.
                    peer.connection.close();
                }
            };
            let what = format!("reads the whole request and sends {what}");
            new_and_reused(harness, &what, LONG, action, unknown_and_once)?;
        }
        let garbage = |peer: &mut Peer<'_>, _: &Request| {
            peer.connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
            peer.connection.close();
        };
        let what = "reads the whole request and responds in HTTP/1.1";
        new_and_reused(harness, what, LONG, garbage, unknown_and_once)
    })
}

/// The body of the response breaks off: the connection or the stream ends, or the body is shorter or longer than announced.
///
/// The call must fail with `Answered` and the status, and keep what arrived. It must not return a response.
pub fn a_body_that_breaks_off_is_answered_over_http2(stack: &impl Stack) -> Verdict {
    let why = "part of a body can be valid JSON with a different meaning";
    contract("a_body_that_breaks_off_is_answered_over_http2", why).check(stack, |harness| {
        let fates: [(&str, End); 6] = [
            ("closes the connection", |peer, _| peer.connection.close()),
            ("resets the connection", |peer, _| peer.connection.reset()),
            ("resets the stream with CANCEL", |peer, stream| _ = peer.reset(stream, code::CANCEL)),
            ("resets the stream with NO_ERROR", |peer, stream| _ = peer.reset(stream, code::NO_ERROR)),
            ("ends the stream", |peer, stream| _ = peer.data(stream, b"", true)),
            ("sends more than it announced", |peer, stream| _ = peer.data(stream, &[b' '; 100], true)),
        ];
        for (how, end) in fates {
            let action = move |peer: &mut Peer<'_>, request: &Request| {
                peer.head(request.stream, &Response::new("{\"a\":1}   "), 0);
                peer.data(request.stream, b"{\"a\":1}", false);
                end(peer, request.stream);
            };
            let what = format!("responds with 200 and seven of ten bytes, then {how}");
            new_and_reused(harness, &what, AMPLE, action, |run, call| {
                call.must_have_partial_response(StatusCode::OK)?;
                run.must_have_arrived_once(&call.id)
            })?;
        }
        Ok(())
    })
}

/// The server responds after reading only the head of a large request. It resets the stream with `NO_ERROR`, which asks the
/// client to stop sending.
///
/// The call must return the response. RFC 9113 §8.1 defines this for early responses, such as refusals.
pub fn an_early_answer_is_taken_over_http2(stack: &impl Stack) -> Verdict {
    let why = "if the transport discards the response because the request was not fully sent, a refused payment becomes \
               unknown";
    contract("an_early_answer_is_taken_over_http2", why).check(stack, |harness| {
        let script = |peer: &mut Peer<'_>| {
            peer.give_no_windows();
            while let Some(event) = peer.next() {
                if let Event::Begun(Request { stream, .. }) = event {
                    let mut refusal = Response::new("{\"a\":1}");
                    *refusal.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
                    peer.respond(stream, &refusal);
                    peer.reset(stream, code::NO_ERROR);
                }
            }
        };
        let what =
            "reads the head of a large request, responds with 413, and resets the stream with NO_ERROR";
        harness.with_http2_server(what, &[], script, |run| {
            let call = run.send(run.charge().padded_to(LONG_BODY as usize))?;
            let response = call.must_have_status(StatusCode::PAYLOAD_TOO_LARGE)?;
            call.must(response.body() == "{\"a\":1}", "the whole body of the response")
        })
    })
}

/// The transport offers HTTP/2, and the server supports only HTTP/1.1. The server either says so in the handshake or ignores
/// the offer.
///
/// The call must succeed over HTTP/1.1.
pub fn http1_is_spoken_to_a_server_that_knows_no_other(stack: &impl Stack) -> Verdict {
    let why = "a server cannot read a request in a protocol that it does not speak, and the payment becomes unknown";
    contract("http1_is_spoken_to_a_server_that_knows_no_other", why).check(stack, |harness| {
        for (protocols, what) in
            [(&["http/1.1"][..], "offers only HTTP/1.1"), (&[][..], "does not negotiate a protocol")]
        {
            let security = crate::server::Security::Tls(harness.authority.server_speaking(protocols));
            harness.with_server_over(security, what, Connection::serve, |run| {
                run.send(run.charge())?.must_get_own_response()?;
                run.send(run.charge())?.must_get_own_response()
            })?;
        }
        Ok(())
    })
}

/// Requires an error other than `Answered`.
fn must_not_be_answered(call: &CompletedCall) -> Result<(), Violation> {
    let is_answered = matches!(call.must_fail()?.delivery(), Delivery::Answered(_));
    call.must(!is_answered, "an error without Delivery::Answered")
}

/// What a server does to a stream in the middle of its response.
type End = fn(&mut Peer<'_>, u32);

const NO_WINDOW: &[(u16, u32)] = &[(setting::INITIAL_WINDOW_SIZE, 0)];
const ONE_STREAM: &[(u16, u32)] = &[(setting::MAX_CONCURRENT_STREAMS, 1)];
const NO_STREAM: &[(u16, u32)] = &[(setting::MAX_CONCURRENT_STREAMS, 0)];

/// An unassigned frame type, which must be ignored.
const UNKNOWN_KIND: u8 = 0xfa;

const LONG_BODY: u32 = 100_000;

const SHORT: Duration = Duration::from_millis(500);
/// A deadline that the test waits for, with time to connect first.
const SHORT_WITH_CONNECT: Duration = Duration::from_secs(2);
const LONG: Duration = Duration::from_secs(5);
