//! A status arrived but not the whole body: the transport keeps what arrived and does not reuse the connection.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use http::StatusCode;

use super::connections::pay;
use crate::completed_call::CompletedCall;
use crate::connection::Connection;
use crate::contract::{Contract, own_name};
use crate::harness::Harness;
use crate::script::{Act, response};
use crate::situations::{End, LARGE, MEDIUM, echo_except, send_and};
use crate::violation::{Violation, ensure};
use crate::{Ability, AnyStack, Verdict};

/// The server announces a longer body than it sends, and closes.
///
/// The call must fail with `Answered`, the status and the part of the body that arrived, which may contain the transaction
/// id. The next call uses another connection.
pub fn a_truncated_body_is_answered_and_kept(stack: &dyn AnyStack) -> Verdict {
    Contract::scripted(own_name!(), HALF_A_RECEIPT).check(stack, |harness| {
        for status in [StatusCode::OK, StatusCode::BAD_REQUEST, StatusCode::SERVICE_UNAVAILABLE] {
            let truncated = Act::Truncate { answer: response(status, WHOLE), bytes: HALF.len() };
            let what = format!("announces {} bytes, sends {} and closes", WHOLE.len(), HALF.len());
            harness.with_script(&what, [truncated, Act::Echo], |run| {
                let call = run.send(run.charge())?;
                must_keep(&call, status, HALF)?;
                run.follow_up(&call)
            })?;
        }
        Ok(())
    })
}

/// The server sends a chunked body and closes before the last chunk.
///
/// Without the last chunk the body may be incomplete. The call must fail with `Answered` and keep what arrived.
pub fn a_chunked_body_without_its_end_is_answered(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), HALF_A_RECEIPT).check(stack, |harness| {
        for end in ["", "5\r\nab", "0", "0\r\n"] {
            let chunks = format!("{:x}\r\n{HALF}\r\n{end}", HALF.len());
            let response = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
            let what = match end {
                "" => "sends a chunk and closes without the last chunk".to_owned(),
                end => format!("sends a chunk, then {end:?}, and closes"),
            };
            harness.on_request(0, &what, send_and(response, Connection::close), |_, call| {
                // Some clients do not wait for the line break that ends the trailers.
                if end == "0\r\n" && call.result.as_ref().is_ok_and(|response| response.body() == HALF) {
                    return Ok(());
                }
                let partial = call.must_have_partial_response(StatusCode::OK)?.body();
                if partial.starts_with(HALF.as_bytes()) {
                    return Ok(());
                }
                Err(call.expected("the part of the body that arrived"))
            })?;
        }
        Ok(())
    })
}

/// The server sends invalid or impossibly large chunk sizes, or a chunk without the line break that ends it, and leaves the
/// connection open.
///
/// The call must fail with `Answered`. The rest of the connection cannot be interpreted, so the next call uses another.
pub fn a_broken_chunk_is_answered_and_ends_the_connection(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), MIXED_UP_RESPONSES).check(stack, |harness| {
        let sizes = ["nonsense", "-1", "", "FFFFFFFFFFFFFFFFF", "10000000000000002", "0x2", "2 2"];
        let after_a_chunk = sizes.map(|size| format!("\r\n{size}\r\n{{}}\r\n0\r\n\r\n"));
        for rest in after_a_chunk.into_iter().chain(["XX0\r\n\r\n".to_owned()]) {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            let what = format!("sends the size and the bytes of a chunk, then {rest:?}");
            let response = format!("{head}{:x}\r\n{HALF}{rest}", HALF.len());
            harness.respond_to_first(&what, response, |run, call| {
                call.must_have_partial_response(StatusCode::OK)?;
                run.follow_up(call)
            })?;
        }
        Ok(())
    })
}

/// The server sends part of a large body and resets the connection.
///
/// The status was read, so the call must fail with `Answered`.
pub fn a_body_broken_off_by_a_reset_is_answered(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), HALF_A_RECEIPT).check(stack, |harness| {
        let script = echo_except(0, |connection, _| {
            // A reset discards what the client has not read. This is more than the socket buffers hold, so the client
            // has read the head by the time everything is written.
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
            connection.write(vec![b'a'; LARGE]);
            connection.reset();
        });
        let what = "sends 32 MiB of a larger body and resets the connection";
        harness.with_server(what, script, |run| {
            let call = run.send(run.charge().cap(usize::MAX / 2))?;
            call.must_have_partial_response(StatusCode::OK).map(drop)
        })
    })
}

/// The connection is cut in the middle of a body that has no length and would end with the connection.
///
/// Over TLS the cut is visible, because there is no `close_notify`. Otherwise anyone on the network could shorten a
/// response. The call must fail with `Answered`.
pub fn a_body_cut_without_goodbye_is_not_whole(stack: &dyn AnyStack) -> Verdict {
    Contract::over_tls(own_name!(), HALF_A_RECEIPT).check(stack, |harness| {
        let action = send_and(format!("HTTP/1.1 200 OK\r\n\r\n{HALF}"), Connection::cut);
        let what = "sends part of a body without a length, then the connection is cut without close_notify";
        harness
            .on_request(0, what, action, |_, call| call.must_have_partial_response(StatusCode::OK).map(drop))
    })
}

/// The server sends more than the response cap: with a length, in chunks, and without a length.
///
/// The call must fail with `Answered` and keep at most as many bytes as the cap. The rest must not become another call's
/// response.
pub fn a_body_over_the_cap_is_cut_at_the_cap(stack: &dyn AnyStack) -> Verdict {
    let why = "without a limit a response can use all memory and stop every payment of the process";
    Contract::new(own_name!(), why).check(stack, |harness| {
        let body = "x".repeat(101);
        let announced = format!("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n{body}");
        let chunk = "32\r\n".to_owned() + &body[..50] + "\r\n";
        let chunked =
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}{chunk}1\r\nx\r\n0\r\n\r\n");
        let unannounced = format!("HTTP/1.1 200 OK\r\n\r\n{body}");
        let cases: [(&str, String, End); 3] = [
            ("with a length", announced, |_| {}),
            ("in chunks", chunked, |_| {}),
            ("without a length", unannounced, Connection::close),
        ];
        for (kind, bytes, end) in cases {
            let script = echo_except(0, send_and(bytes, end));
            let what = format!("sends a body of 101 bytes {kind}; the cap is 100");
            harness.with_server(&what, script, |run| {
                let call = run.send(run.charge().cap(100))?;
                let kept = call.must_have_partial_response(StatusCode::OK)?.body();
                let is_beginning = kept.len() <= 100 && body.as_bytes().starts_with(kept);
                call.must(is_beginning, "at most the first 100 bytes of the body")?;
                run.round_trip()
            })?;
        }
        Ok(())
    })
}

/// The server sends ambiguous lengths: `Content-Length` with `Transfer-Encoding`, two different lengths, or an invalid one.
///
/// Two readers could disagree about where the response ends and the next one begins. The call must fail with `Unknown` or
/// `Answered`, and the next call uses another connection. A call that runs at the same time must not get what the server sends
/// next on this one. Two equal lengths may be accepted, as RFC 9112 allows.
pub fn an_ambiguous_length_is_refused(stack: &dyn AnyStack) -> Verdict {
    let advice = "`payments_core::transport::has_ambiguous_length` looks into the headers of a response. If the library hides a \
                  second length, declare that with `Abilities::default().deviation(..)`";
    Contract::new(own_name!(), MIXED_UP_RESPONSES).advice(advice).check(stack, |harness| {
        for lengths in [
            "Content-Length: 2\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nContent-Length: 2",
            "Content-Length: 2\r\nContent-Length: 3",
            "Content-Length: 3\r\nContent-Length: 2",
            "Content-Length: 2, 3",
            "Content-Length: 2\r\nContent-Length: 2",
            "Content-Length: 2, 2",
            "Content-Length: two",
            "Content-Length: -2",
            "Content-Length: +2",
            "Content-Length: 2 2",
            "Content-Length: 2\r\n 2",
            "Content-Length: 99999999999999999999999",
            // If the client used this length, the response would end with its head and the connection would seem idle.
            "Content-Length: 0\r\nTransfer-Encoding: gzip",
        ] {
            let equal =
                lengths.matches(": 2").count() == 2 && !lengths.contains("chunked") && !lengths.contains('3')
                    || lengths.ends_with("2, 2");
            let bytes = match lengths {
                chunked if chunked.contains("chunked") => "2\r\n{}\r\n0\r\n\r\n",
                none if none.ends_with("gzip") => "",
                _ => "{}",
            };
            let what = format!("responds with the headers {lengths:?}");
            let response = format!("HTTP/1.1 200 OK\r\n{lengths}\r\n\r\n{bytes}");
            harness.respond_to_first(&what, response, |run, call| {
                if equal && call.result.as_ref().is_ok_and(|response| response.body() == "{}") {
                    return Ok(());
                }
                call.must_fail()?;
                call.must_not_be_not_processed()?;
                run.follow_up(call)
            })?;
        }
        ["Content-Length: 0\r\nTransfer-Encoding: gzip\r\n\r\n", CHUNKED_WITH_A_LENGTH]
            .into_iter()
            .try_for_each(|ambiguous| is_refused_beside_others(harness, ambiguous))
    })
}

/// Callers pay at once, and some responses are ambiguous. If another call takes such a connection, it finds somebody else's response.
fn is_refused_beside_others(harness: &Harness<'_>, ambiguous: &'static str) -> Result<(), Violation> {
    const CALLS: usize = 400;
    let requests = AtomicUsize::new(0);
    let script = move |connection: &mut Connection| {
        while let Some(request) = connection.read_request() {
            if requests.fetch_add(1, Ordering::SeqCst) % 10 < 9 {
                connection.echo(&request);
                continue;
            }
            connection.write(format!("HTTP/1.1 200 OK\r\n{ambiguous}"));
            if connection.wait_for_input() {
                // Later than the call that got the ambiguous response needs to see it.
                thread::sleep(Duration::from_millis(50));
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\nsomebody else's");
            }
            connection.wait_for_close();
            return;
        }
    };
    let head = ambiguous.split("\r\n\r\n").next().unwrap_or_default();
    let what = format!(
        "responds to one request in ten with the headers {head:?}, and with another response if the connection is used again"
    );
    harness.with_server(&what, script, |run| {
        let made = AtomicUsize::new(0);
        let next = || (made.fetch_add(1, Ordering::SeqCst) < CALLS).then(|| run.charge().total(MEDIUM));
        // On several threads, so that one call can run within a step of another.
        let calls = thread::scope(|scope| {
            let payers = [(); 4].map(|()| scope.spawn(|| pay(run, next)));
            let paid = payers.map(|payer| payer.join().unwrap_or_else(|panic| resume_unwind(panic)));
            paid.into_iter().collect::<Result<Vec<_>, _>>()
        })?;
        let mut calls = calls.iter().flatten();
        let foreign = calls.find(|call| call.result.is_ok() && call.must_get_own_response().is_err());
        ensure!(
            dangerous unless foreign.is_none(),
            "{} returned a response that is not its own; a connection must not be used again, not even by a call that runs at \
             the same time, before its response is known to be unambiguous",
            foreign.map(|call| call.id.as_str()).unwrap_or_default()
        );
        Ok(())
    })
}

/// The server has already responded on this connection. It then sends the head and part of the next response, and closes or
/// cuts the connection.
///
/// The call must fail with `Answered` and keep what arrived. The request arrives once, and the next call uses another
/// connection.
pub fn a_body_broken_off_on_a_reused_connection_is_answered(stack: &dyn AnyStack) -> Verdict {
    let why = "many clients retry any failure on a reused connection, assuming that the server had closed it before the \
               request. This request was processed: sending it again charges again. Disable such retries";
    Contract::new(own_name!(), why).needs(Ability::Reuse).check(stack, |harness| {
        let length = WHOLE.len();
        let chunk = format!("{:x}\r\n{HALF}\r\n", HALF.len());
        for (framing, part) in [
            (format!("Content-Length: {length}"), HALF.to_owned()),
            (format!("Content-Length: {length}"), String::new()),
            ("Transfer-Encoding: chunked".to_owned(), chunk),
        ] {
            for end in [Connection::close, Connection::cut] {
                let response = format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n{part}");
                let kept = if part.is_empty() { "" } else { HALF };
                let what =
                    format!("announces a body with {framing:?}, sends {} bytes of it and ends", kept.len());
                harness.on_request(1, &what, send_and(response, end), |run, call| {
                    run.must_have_arrived_once(&call.id)?;
                    must_keep(call, StatusCode::OK, kept)?;
                    run.follow_up(call)
                })?;
            }
        }
        Ok(())
    })
}

/// Requires the status and exactly the part of the body that was sent.
fn must_keep(call: &CompletedCall, status: StatusCode, sent: &str) -> Result<(), Violation> {
    let kept = call.must_have_partial_response(status)?.body();
    call.must(kept == sent, &format!("the {} bytes of the body that arrived", sent.len()))
}

const CHUNKED_WITH_A_LENGTH: &str =
    "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";

const WHOLE: &str =
    r#"{"status":"success","status_code":100,"data":{"TransactionId":"txn_1","Amount":10.50}}"#;
pub(super) const HALF: &str = r#"{"status":"success","status_code":100,"data":{"TransactionId":"txn_1","#;

const HALF_A_RECEIPT: &str = "half a response does not prove a payment, but its status and first bytes may be the only way \
     to find it";

const MIXED_UP_RESPONSES: &str = "if it is unclear where a response ends, its rest can be read as the response to the next \
     payment, which is then recorded as paid although it was not, or charged again";
