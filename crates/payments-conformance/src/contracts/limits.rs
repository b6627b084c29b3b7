//! A server that never stops talking takes neither the machine's memory nor its time.

use std::cell::Cell;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use crate::violation::Violation;
use crate::test_request::TestRequest;
use crate::contract::{Contract, Harness};
use crate::connection::Connection;
use crate::journal::Received;
use crate::completed_call::CompletedCall;
use crate::situations::{Counter, SHORT};
use crate::test_run::TestRun;
use crate::{Stack, Verdict};

/// The server sends a body without end, with and without chunks.
///
/// The call fails as `Answered` at the cap, long before its deadline, and the server can get rid of no more than what
/// the cap and the sockets hold.
pub fn an_endless_body_is_read_to_the_cap(stack: &impl Stack) -> Verdict {
    Contract::new("an_endless_body_is_read_to_the_cap", UNBOUNDED_MEMORY).check(stack, |harness| {
        for (framing, piece) in
            [("\r\n", "a".repeat(4096)), ("Transfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n".repeat(700))]
        {
            let head = format!("HTTP/1.1 200 OK\r\n{framing}");
            flooded(
                harness,
                "sends a body without end",
                head,
                piece,
                |charge| charge.cap(10_000),
                |_, call| {
                    let kept = call.must_have_partial_response(StatusCode::OK)?.body();
                    if kept.len() > 10_000 {
                        return Err(call.expected("at most 10 000 bytes of the body"));
                    }
                    Ok(())
                },
            )?;
        }
        Ok(())
    })
}

/// The server sends a head without end: one line that never ends, or lines for ever.
///
/// The call fails as `Unknown`, at the latest with its deadline.
pub fn an_endless_head_is_given_up(stack: &impl Stack) -> Verdict {
    Contract::new("an_endless_head_is_given_up", UNBOUNDED_MEMORY).check(stack, |harness| {
        for (what, piece) in [
            ("sends a header line without end", "a".repeat(4096)),
            ("sends header lines without end", "A: b\r\n".repeat(700)),
        ] {
            let head = "HTTP/1.1 200 OK\r\nX-Long: ".to_owned();
            flooded(
                harness,
                what,
                head,
                piece,
                |charge| charge.total(Duration::from_secs(3)),
                |_, call| {
                    call.must_be_unknown()?;
                    Ok(())
                },
            )?;
        }
        Ok(())
    })
}

/// The server answers with a hundred thousand headers.
///
/// It is an answer or an error, never `NotProcessed`, and it takes no unreasonable time. The answer is whole, so its
/// connection may carry the next call.
pub fn a_hundred_thousand_headers_are_an_answer_or_an_error(stack: &impl Stack) -> Verdict {
    let name = "a_hundred_thousand_headers_are_an_answer_or_an_error";
    Contract::new(name, UNBOUNDED_MEMORY).check(stack, |harness| {
        let action = |connection: &mut Connection, _: &Received| {
            connection.write("HTTP/1.1 200 OK\r\n");
            connection.write("A: b\r\n".repeat(100_000));
            connection.write("Content-Length: 2\r\n\r\n{}");
        };
        harness.on_first_request(
            "answers with 100 000 headers",
            action,
            |charge| charge,
            |run, call| {
                call.must_not_be_not_processed()?;
                harness.figure(match &call.result {
                    Ok(_) => format!("an answer after {:.0?}", call.took),
                    Err(error) => format!("{:?} after {:.0?}", error.kind(), call.took),
                });
                run.round_trip()?;
                Ok(())
            },
        )
    })
}

/// The server sends interim answers without end, faster than they are read, three times over.
///
/// The call fails as `Unknown`, at the latest with its deadline, which must not starve while there is always something to
/// read.
pub fn endless_interim_answers_end_with_the_deadline(stack: &impl Stack) -> Verdict {
    Contract::new("endless_interim_answers_end_with_the_deadline", UNBOUNDED_MEMORY).exclusive().check(stack, |harness| {
        let before = new_peak_of_memory();
        // A deadline that starves is met by chance if the reader ever has to wait. So the pieces are large and cheap to
        // send, their contents are many to read, and one such chance does not decide.
        let many: Arc<str> = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(40_000).into();
        let latest = Cell::new(Duration::ZERO);
        for _ in 0..3 {
            let many = Arc::clone(&many);
            let action = move |connection: &mut Connection, _: &Received| while connection.write(&*many) {};
            let (what, prepare) = ("sends interim answers without end", |charge: TestRequest| charge.total(SHORT));
            harness.on_second_request(what, action, prepare, |_, call| {
                call.must_be_unknown()?;
                call.must_end_by_the_deadline()?;
                latest.set(latest.get().max(call.took.saturating_sub(call.total)));
                Ok(())
            })?;
        }
        harness.figure(format!("{:.1?} after the deadline (goal 50 ms)", latest.get()));
        memory_grew_little(harness, before)
    })
}

/// The server announces a body longer than any memory, sends three bytes of it, and waits.
///
/// Nothing is reserved for what has not come. The call fails as `Answered` with its deadline or earlier.
pub fn an_absurd_length_reserves_no_memory(stack: &impl Stack) -> Verdict {
    Contract::new("an_absurd_length_reserves_no_memory", UNBOUNDED_MEMORY).exclusive().check(stack, |harness| {
        let before = new_peak_of_memory();
        for head in [
            "Content-Length: 9300000000000000000\r\n\r\nabc",
            "Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\nabc",
        ] {
            let action = move |connection: &mut Connection, _: &Received| {
                connection.write(format!("HTTP/1.1 200 OK\r\n{head}"));
                connection.wait_for_close();
            };
            let what = format!("announces more than any machine holds: {head:?}");
            // Without a cap of use, so that nothing but the transport's own care protects it.
            let without_cap = |charge: TestRequest| charge.total(SHORT).cap(usize::MAX / 2);
            harness.on_second_request(&what, action, without_cap, |_, call| {
                call.must_have_partial_response(StatusCode::OK)?;
                Ok(())
            })?;
        }
        memory_grew_little(harness, before)
    })
}

/// A server that first sends `head` and then `piece` for as long as anybody reads.
fn flooded<S: Stack>(
    harness: &Harness<'_, S>,
    what: &str,
    head: String,
    piece: String,
    prepare: impl Fn(TestRequest) -> TestRequest,
    check: impl Fn(&TestRun<'_, S>, &CompletedCall) -> Result<(), Violation>,
) -> Result<(), Violation> {
    let sent = Counter::default();
    let counter = sent.clone();
    let action = move |connection: &mut Connection, _: &Received| {
        connection.write(&head);
        while counter.get() <= MOST_READ && connection.write(&piece) {
            counter.add(piece.len());
        }
        connection.close();
    };
    harness.on_first_request(what, action, prepare, |run, call| {
        if sent.get() > MOST_READ {
            return Err(Violation::new(format!(
                "the server got rid of {} MiB; the transport should have stopped reading",
                sent.mebibytes()
            )));
        }
        check(run, call)?;
        harness.figure(format!("the server {what} and got rid of {} MiB at most", sent.mebibytes()));
        Ok(())
    })
}

fn memory_grew_little<S>(harness: &Harness<'_, S>, before: Option<usize>) -> Result<(), Violation>
where
    S: Stack,
{
    let (Some(before), Some(after)) = (before, peak_memory()) else { return Ok(()) };
    let grown = after.saturating_sub(before).div_ceil(1024);
    if grown > MOST_GROWN {
        return Err(Violation::new(format!(
            "the process grew by {grown} MiB; what a server says must not decide how much memory is used"
        )));
    }
    harness.figure(format!("the process grew by {grown} MiB"));
    Ok(())
}

/// The same counted anew, because below the peak of an earlier test nothing would be seen to grow.
fn new_peak_of_memory() -> Option<usize> {
    // Where that is not allowed, less is seen, and nothing wrong.
    drop(fs::write("/proc/self/clear_refs", "5"));
    peak_memory()
}

/// The most memory that this process has had so far, in KiB. Linux alone tells it for nothing.
fn peak_memory() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// In bytes: what the sockets of both sides hold, many times over.
const MOST_READ: usize = 64 * 1024 * 1024;

/// In MiB. Other tests of the same process need some as well, though no contract of the kit runs beside this one.
const MOST_GROWN: usize = 256;

const UNBOUNDED_MEMORY: &str = "whoever answers for the service, or in its place, could take down every payment of the process, \
     those that are already booked among them";
