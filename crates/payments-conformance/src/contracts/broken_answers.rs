//! A status came, and the body did not: what was read is handed over as evidence, and the connection is done for.

use http::StatusCode;

use crate::violation::Violation;
use crate::contract::Contract;
use crate::connection::Connection;
use crate::journal::Received;
use crate::script::{Act, response};
use crate::completed_call::CompletedCall;
use crate::{Ability, Stack, Verdict};

/// The server announces a longer body than it sends, and closes.
///
/// The call fails as `Answered` with the status, and keeps what came: the transaction's id may be in it. It is never an
/// answer, and the next call takes another connection.
pub fn a_truncated_body_is_answered_and_kept(stack: &impl Stack) -> Verdict {
    Contract::scripted("a_truncated_body_is_answered_and_kept", HALF_A_RECEIPT).check(stack, |harness| {
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
/// Without the last chunk nobody can say that the body was whole. The call fails as `Answered`, and keeps what came.
pub fn a_chunked_body_without_its_end_is_answered(stack: &impl Stack) -> Verdict {
    Contract::new("a_chunked_body_without_its_end_is_answered", HALF_A_RECEIPT).check(stack, |harness| {
        for end in ["", "5\r\nab", "0", "0\r\n"] {
            let chunks = format!("{:x}\r\n{HALF}\r\n{end}", HALF.len());
            let action = move |connection: &mut Connection, _: &Received| {
                connection.write(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"));
                connection.close();
            };
            let what = match end {
                "" => "sends a chunk and closes without the last one".to_owned(),
                end => format!("sends a chunk, then {end:?}, and closes"),
            };
            harness.on_first_request(
                &what,
                action,
                |charge| charge,
                |_, call| {
                    // The last line break, which ends no trailer, is one that some readers do not wait for.
                    if end == "0\r\n" && call.result.as_ref().is_ok_and(|response| response.body() == HALF) {
                        return Ok(());
                    }
                    let partial = call.must_have_partial_response(StatusCode::OK)?.body();
                    if partial.starts_with(HALF.as_bytes()) {
                        return Ok(());
                    }
                    Err(call.expected("what came of the body"))
                },
            )?;
        }
        Ok(())
    })
}

/// The server sends chunks whose sizes are no sizes, or too large for any machine, and leaves the connection open.
///
/// The call fails as `Answered`. What follows on the connection is anybody's guess, so the next call takes another.
pub fn a_broken_chunk_is_answered_and_ends_the_connection(stack: &impl Stack) -> Verdict {
    let name = "a_broken_chunk_is_answered_and_ends_the_connection";
    Contract::new(name, MIXED_UP_RESPONSES).check(stack, |harness| {
        for size in ["nonsense", "-1", "", "FFFFFFFFFFFFFFFFF", "10000000000000002", "0x2", "2 2"] {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            let chunks = format!("{:x}\r\n{HALF}\r\n{size}\r\n{{}}\r\n0\r\n\r\n", HALF.len());
            let what = format!("sends a good chunk and one of the size {size:?}");
            harness.respond_to_first(&what, format!("{head}{chunks}"), |run, call| {
                call.must_have_partial_response(StatusCode::OK)?;
                run.follow_up(call)
            })?;
        }
        Ok(())
    })
}

/// The server sends a part of a large body and resets the connection.
///
/// The call fails as `Answered`: the status was read.
pub fn a_body_broken_off_by_a_reset_is_answered(stack: &impl Stack) -> Verdict {
    Contract::new("a_body_broken_off_by_a_reset_is_answered", HALF_A_RECEIPT).check(stack, |harness| {
        let action = |connection: &mut Connection, _: &Received| {
            // A reset throws away what the client has not read yet. This is more than the sockets hold, so that the head
            // was read when the last of it has been written.
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
            connection.write(vec![b'a'; 32 * 1024 * 1024]);
            connection.reset();
        };
        let what = "sends 32 MiB of a larger body and resets the connection";
        harness.on_first_request(
            what,
            action,
            |charge| charge.cap(usize::MAX / 2),
            |_, call| {
                call.must_have_partial_response(StatusCode::OK)?;
                Ok(())
            },
        )
    })
}

/// The line is cut in the middle of a body that only the end of the connection ends.
///
/// Over TLS this shows: the server did not say goodbye. An answer that somebody in between can shorten is no answer; the
/// call fails as `Answered`.
pub fn a_body_cut_without_goodbye_is_not_whole(stack: &impl Stack) -> Verdict {
    let contract = Contract::new("a_body_cut_without_goodbye_is_not_whole", HALF_A_RECEIPT);
    contract.needs(Ability::Https).check(stack, |harness| {
        let action = |connection: &mut Connection, _: &Received| {
            connection.write(format!("HTTP/1.1 200 OK\r\n\r\n{HALF}"));
            connection.cut();
        };
        let what = "sends a part of a body without a length, and the line is cut without TLS saying so";
        harness.on_first_request(
            what,
            action,
            |charge| charge,
            |_, call| {
                call.must_have_partial_response(StatusCode::OK)?;
                Ok(())
            },
        )
    })
}

/// The server sends more than the response cap allows: announced, unannounced, and in chunks.
///
/// The call fails as `Answered`, keeps at most the cap, and nothing of the rest is taken for another call's answer.
pub fn a_body_over_the_cap_is_cut_at_the_cap(stack: &impl Stack) -> Verdict {
    let why = "an answer without a bound is the machine's memory in the hands of whoever answers";
    Contract::new("a_body_over_the_cap_is_cut_at_the_cap", why).check(stack, |harness| {
        let body = "x".repeat(101);
        let announced = format!("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n{body}");
        let chunk = "32\r\n".to_owned() + &body[..50] + "\r\n";
        let chunked =
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}{chunk}1\r\nx\r\n0\r\n\r\n");
        let unannounced = format!("HTTP/1.1 200 OK\r\n\r\n{body}");
        for (kind, bytes) in
            [("with its length", announced), ("in chunks", chunked), ("without a length", unannounced)]
        {
            let closes = kind == "without a length";
            let action = move |connection: &mut Connection, _: &Received| {
                connection.write(&bytes);
                if closes {
                    connection.close();
                }
            };
            let what = format!("sends a body of 101 bytes {kind}; the cap is 100");
            harness.on_first_request(
                &what,
                action,
                |charge| charge.cap(100),
                |run, call| {
                    let kept = call.must_have_partial_response(StatusCode::OK)?.body();
                    if kept.len() > 100 || !body.as_bytes().starts_with(kept) {
                        return Err(call.expected("at most the first 100 bytes of the body"));
                    }
                    run.round_trip()?;
                    Ok(())
                },
            )?;
        }
        Ok(())
    })
}

/// The server gives the length of its answer twice: as `Content-Length` and `Transfer-Encoding`, as two different
/// lengths, or as a length that is none.
///
/// Where one reader sees the end of the answer another sees the beginning of the next. The call fails, as `Unknown` or as
/// `Answered`, and the next call takes another connection. Two equal lengths may be believed, as RFC 9112 allows.
pub fn an_ambiguous_length_is_refused(stack: &impl Stack) -> Verdict {
    Contract::new("an_ambiguous_length_is_refused", MIXED_UP_RESPONSES).check(stack, |harness| {
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
            "Content-Length: 99999999999999999999999",
            // By one of the two the response ends at its head, and the connection seems free.
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
            let what = format!("answers with the headers {lengths:?}");
            harness.respond_to_first(
                &what,
                format!("HTTP/1.1 200 OK\r\n{lengths}\r\n\r\n{bytes}"),
                |run, call| {
                    if equal && call.result.as_ref().is_ok_and(|response| response.body() == "{}") {
                        return Ok(());
                    }
                    call.must_fail()?;
                    call.must_not_be_not_processed()?;
                    run.follow_up(call)
                },
            )?;
        }
        Ok(())
    })
}

/// The server has answered on the connection before. Of the next response it sends the head and a part of the body, then
/// closes or cuts the line.
///
/// The call fails as `Answered` and keeps what came. The request arrives once, and the next call uses another connection.
pub fn a_body_broken_off_on_a_reused_connection_is_answered(stack: &impl Stack) -> Verdict {
    let name = "a_body_broken_off_on_a_reused_connection_is_answered";
    let why = "many clients repeat whatever fails on a reused connection, because it may have been closed before the \
               request came. This request was answered: sent again, it is charged again";
    Contract::new(name, why).needs(Ability::Reuse).check(stack, |harness| {
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
                let action = move |connection: &mut Connection, _: &Received| {
                    connection.write(&response);
                    end(connection);
                };
                let what =
                    format!("announces a body by {framing:?}, sends {} bytes of it and ends", kept.len());
                harness.on_second_request(
                    &what,
                    action,
                    |charge| charge,
                    |run, call| {
                        run.must_have_arrived_once(&call.id)?;
                        must_keep(call, StatusCode::OK, kept)?;
                        run.follow_up(call)
                    },
                )?;
            }
        }
        Ok(())
    })
}

/// The error holds the status and what came of the body.
fn must_keep(call: &CompletedCall, status: StatusCode, sent: &str) -> Result<(), Violation> {
    let kept = call.must_have_partial_response(status)?.body();
    if kept == sent {
        return Ok(());
    }
    Err(call.expected(&format!("the {} bytes of the body that came", sent.len())))
}

const WHOLE: &str =
    r#"{"status":"success","status_code":100,"data":{"TransactionId":"txn_1","Amount":10.50}}"#;
const HALF: &str = r#"{"status":"success","status_code":100,"data":{"TransactionId":"txn_1","#;

const HALF_A_RECEIPT: &str = "half an answer proves no payment, and its status and its beginning are all that a person \
     has to find the payment by";

const MIXED_UP_RESPONSES: &str = "once nobody can say where an answer ends, the rest of it is taken for the answer to the \
     next payment, which is then booked as paid, or paid again";
