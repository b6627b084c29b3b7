use h2::Reason;
use http::{Response, StatusCode};

use super::new_and_reused;
use crate::contract::{Contract, own_name};
use crate::http2_peer::{Event, Peer, Request};
use crate::situations::unknown_and_once;
use crate::test_request::AMPLE;
use crate::{AnyStack, Verdict};

/// The server resets the stream with `REFUSED_STREAM` before a response, on a new and on a reused connection, and after
/// reading only the head of a large request.
///
/// RFC 9113 §8.7 reserves this code for requests that were not processed at all. The call must be `NotProcessed`. The
/// transport must not retry: the caller decides, and may no longer want the payment.
pub fn refused_stream_is_not_processed(stack: &dyn AnyStack) -> Verdict {
    let why = "REFUSED_STREAM is the only proof a server gives that no money moved. Without it a person has to look up a \
               payment that does not exist. A transport that retries on its own makes a decision that belongs to the \
               caller";
    Contract::over_http2(own_name!(), why).check(stack, |harness| {
        let action = |peer: &mut Peer<'_>, request: &Request| peer.refuse(request);
        let what = "reads the whole request, then resets its stream with REFUSED_STREAM";
        new_and_reused(harness, what, AMPLE, action, |run, call| {
            call.must_be_not_processed()?;
            run.must_have_arrived_once(&call.id)
        })?;
        let script = |peer: &mut Peer<'_>| {
            peer.give_no_windows();
            while let Some(event) = peer.next() {
                if let Event::Begun(request) = event {
                    peer.refuse(&request);
                }
            }
        };
        let what = "reads the head of a large request, then resets its stream with REFUSED_STREAM";
        harness.with_http2_server(what, script, |run| {
            run.send(run.charge().padded_to(MORE_THAN_A_WINDOW))?.must_be_not_processed()?;
            run.must_have_connected(1, "part of the request was already sent on the first")
        })
    })
}

/// The server responds with a status, and then resets the stream with `REFUSED_STREAM`.
///
/// A response is not a refusal. The call must fail with `Answered` and keep what arrived of the body, which may contain the
/// transaction id.
pub fn refused_stream_after_the_head_is_answered(stack: &dyn AnyStack) -> Verdict {
    let why = "a request that got a response was processed, whatever the server sends afterwards";
    Contract::over_http2(own_name!(), why).check(stack, |harness| {
        let action = |peer: &mut Peer<'_>, request: &Request| {
            peer.head(request.stream, &Response::new("{\"TransactionId\":\"txn_1\"}"));
            peer.data(request.stream, b"{\"Tran", false);
            peer.reset(request.stream, Reason::REFUSED_STREAM);
        };
        let what =
            "responds with 200 and the beginning of a body, then resets the stream with REFUSED_STREAM";
        new_and_reused(harness, what, AMPLE, action, |run, call| {
            call.must_have_partial_response(StatusCode::OK)?;
            run.must_have_arrived_once(&call.id)
        })
    })
}

/// The server reads the whole request and resets its stream with any code other than `REFUSED_STREAM`.
///
/// A gateway sends `CANCEL` or `INTERNAL_ERROR` when it loses the service behind it, which may already have charged the
/// card. The call must be `Unknown` for every code, even an unassigned one, and the request arrives once.
pub fn any_other_reset_of_the_stream_is_unknown(stack: &dyn AnyStack) -> Verdict {
    let why =
        "none of these codes proves that nothing was charged. Treating one as REFUSED_STREAM charges twice";
    Contract::over_http2(own_name!(), why).check(stack, |harness| {
        for (name, code) in [
            ("NO_ERROR", Reason::NO_ERROR),
            ("PROTOCOL_ERROR", Reason::PROTOCOL_ERROR),
            ("INTERNAL_ERROR", Reason::INTERNAL_ERROR),
            ("STREAM_CLOSED", Reason::STREAM_CLOSED),
            ("CANCEL", Reason::CANCEL),
            ("ENHANCE_YOUR_CALM", Reason::ENHANCE_YOUR_CALM),
            ("HTTP_1_1_REQUIRED", Reason::HTTP_1_1_REQUIRED),
            ("the unknown code 0x5eed", Reason::from(0x5eed)),
        ] {
            let action = move |peer: &mut Peer<'_>, request: &Request| peer.reset(request.stream, code);
            let what = format!("reads the whole request, then resets its stream with {name}");
            new_and_reused(harness, &what, AMPLE, action, unknown_and_once)?;
        }
        Ok(())
    })
}

/// The body of the response breaks off: the connection or the stream ends, with and without an announced length, or the body is
/// shorter or longer than announced.
///
/// The call must fail with `Answered` and the status, and keep what arrived. It must not return a response.
pub fn a_body_that_breaks_off_is_answered_over_http2(stack: &dyn AnyStack) -> Verdict {
    let why = "part of a body can be valid JSON with a different meaning";
    Contract::over_http2(own_name!(), why).check(stack, |harness| {
        let ends: [(&str, End); 4] = [
            ("closes the connection", |peer, _| peer.connection().close()),
            ("resets the connection", |peer, _| peer.connection().reset()),
            ("resets the stream with CANCEL", |peer, stream| peer.reset(stream, Reason::CANCEL)),
            ("resets the stream with NO_ERROR", |peer, stream| peer.reset(stream, Reason::NO_ERROR)),
        ];
        let lengths: [(&str, End); 2] = [
            ("ends the stream", |peer, stream| _ = peer.data(stream, b"", true)),
            ("sends more than it announced", |peer, stream| _ = peer.data(stream, &[b' '; 100], true)),
        ];
        let announced = ends.into_iter().chain(lengths).map(|(how, end)| (true, how, end));
        let unannounced = ends.map(|(how, end)| (false, how, end));
        for (is_announced, how, end) in announced.chain(unannounced) {
            let action = move |peer: &mut Peer<'_>, request: &Request| {
                if is_announced {
                    peer.head(request.stream, &Response::new("{\"a\":1}   "));
                } else {
                    peer.unannounced(request.stream, Response::new(()));
                }
                peer.data(request.stream, b"{\"a\":1}", false);
                peer.wait_until_read();
                end(peer, request.stream);
            };
            let sent = if is_announced { "seven of ten bytes" } else { "part of a body without a length" };
            let what = format!("responds with 200 and {sent}, then {how}");
            new_and_reused(harness, &what, AMPLE, action, |run, call| {
                call.must_have_partial_response(StatusCode::OK)?;
                run.must_have_arrived_once(&call.id)
            })?;
        }
        Ok(())
    })
}

/// What a server does to a stream in the middle of its response.
type End = fn(&mut Peer<'_>, u32);

/// More than the initial window of a stream.
const MORE_THAN_A_WINDOW: usize = 100_000;
