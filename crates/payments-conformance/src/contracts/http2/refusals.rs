use http::{Response, StatusCode};

use super::{contract, new_and_reused, unknown_and_once};
use crate::http2::{Event, Peer, Request, code};
use crate::{Stack, Verdict};

/// The server resets the stream with `REFUSED_STREAM`: before an answer, on a new connection and on one that has served
/// before, and also when it has read no more than the head of a large request.
///
/// RFC 9113 §8.7 reserves this code for requests with which nothing was done. The call is `NotProcessed`, and the
/// transport sends it no second time: whether to try again is for the caller to say, who may have lost the wish.
pub fn refused_stream_is_not_processed(stack: &impl Stack) -> Verdict {
    let why = "this is the one word of a server that proves that no money moved; an SDK that does not understand it \
               makes a person look up what cannot be there. And a transport that sends again by itself takes from its \
               caller the one decision that is the caller's";
    contract("refused_stream_is_not_processed", why).check(stack, |harness| {
        let action = |peer: &mut Peer<'_>, request: &Request| _ = peer.refuse(request);
        let what = "reads the whole request, then resets its stream with REFUSED_STREAM";
        new_and_reused(
            harness,
            what,
            action,
            |charge| charge,
            |run, call| {
                call.must_be_not_processed()?;
                run.must_have_arrived_once(&call.id)
            },
        )?;
        let script = |peer: &mut Peer<'_>| {
            peer.give_no_windows();
            while let Some(event) = peer.next() {
                if let Event::Begun(request) = event {
                    peer.refuse(&request);
                }
            }
        };
        let what = "reads the head of a large request, then resets its stream with REFUSED_STREAM";
        harness.with_http2_server(what, &[], script, |run| {
            run.send(run.charge().padded_to(MORE_THAN_A_WINDOW))?.must_be_not_processed()?;
            run.must_have_connected(1, "the request had begun to leave on the first")
        })
    })
}

/// The server answers with a status, and then resets the stream with `REFUSED_STREAM`.
///
/// Whoever answers has not refused. The call fails as `Answered`, and keeps what came of the body, because it may hold
/// the transaction's id.
pub fn refused_stream_after_the_head_is_answered(stack: &impl Stack) -> Verdict {
    let why = "a request that was answered was processed, whatever the server says afterwards";
    contract("refused_stream_after_the_head_is_answered", why).check(stack, |harness| {
        let action = |peer: &mut Peer<'_>, request: &Request| {
            peer.head(request.stream, &Response::new("{\"TransactionId\":\"txn_1\"}"), 0);
            peer.data(request.stream, b"{\"Tran", false);
            peer.reset(request.stream, code::REFUSED_STREAM);
        };
        let what = "answers 200 with the beginning of a body, then resets the stream with REFUSED_STREAM";
        new_and_reused(
            harness,
            what,
            action,
            |charge| charge,
            |run, call| {
                call.must_have_partial_response(StatusCode::OK)?;
                run.must_have_arrived_once(&call.id)
            },
        )
    })
}

/// The server reads the whole request and resets its stream, with any code but `REFUSED_STREAM`.
///
/// A gateway sends `CANCEL` or `INTERNAL_ERROR` when it loses the service behind it, which may have booked by then. The
/// call is `Unknown`, whatever the code, one that nobody has heard of included, and the request arrives once.
pub fn any_other_reset_of_the_stream_is_unknown(stack: &impl Stack) -> Verdict {
    let why = "none of these codes says that nothing was done; taken for REFUSED_STREAM, each of them charges twice";
    contract("any_other_reset_of_the_stream_is_unknown", why).check(stack, |harness| {
        for (name, code) in [
            ("NO_ERROR", code::NO_ERROR),
            ("PROTOCOL_ERROR", code::PROTOCOL_ERROR),
            ("INTERNAL_ERROR", code::INTERNAL_ERROR),
            ("STREAM_CLOSED", code::STREAM_CLOSED),
            ("CANCEL", code::CANCEL),
            ("ENHANCE_YOUR_CALM", code::ENHANCE_YOUR_CALM),
            ("HTTP_1_1_REQUIRED", code::HTTP_1_1_REQUIRED),
            ("the unknown code 0x5eed", 0x5eed),
        ] {
            let action = move |peer: &mut Peer<'_>, request: &Request| _ = peer.reset(request.stream, code);
            let what = format!("reads the whole request, then resets its stream with {name}");
            new_and_reused(harness, &what, action, |charge| charge, unknown_and_once)?;
        }
        Ok(())
    })
}

/// More than a stream takes before the server gives it room.
const MORE_THAN_A_WINDOW: usize = 100_000;
