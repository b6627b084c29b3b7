//! A server that sends without end must not use up the client's memory or time.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use crate::arrivals::Received;
use crate::completed_call::CompletedCall;
use crate::connection::Connection;
use crate::contract::{Contract, own_name};
use crate::harness::Harness;
use crate::situations::{Counter, SHORT, after, echo_except, send_and};
use crate::test_request::TestRequest;
use crate::violation::{Violation, ensure};
use crate::{AnyStack, Verdict};

/// The server sends an endless body, with and without chunks.
///
/// The call must fail with `Answered` at the cap, long before its deadline. The server can send no more than the cap and the
/// socket buffers hold.
pub fn an_endless_body_is_read_to_the_cap(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), UNBOUNDED_MEMORY).check(stack, |harness| {
        for (framing, piece) in
            [("\r\n", "a".repeat(4096)), ("Transfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n".repeat(700))]
        {
            let head = format!("HTTP/1.1 200 OK\r\n{framing}");
            let prepare = |charge: TestRequest| charge.cap(10_000);
            flooded(harness, "sends an endless body", head, piece, prepare, |call| {
                let kept = call.must_have_partial_response(StatusCode::OK)?.body();
                call.must(kept.len() <= 10_000, "at most 10 000 bytes of the body")
            })?;
        }
        Ok(())
    })
}

/// The server sends an endless head: one endless line, or endlessly many lines.
///
/// The call must fail with `Unknown`, no later than its deadline.
pub fn an_endless_head_is_given_up(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), UNBOUNDED_MEMORY).check(stack, |harness| {
        for (what, piece) in [
            ("sends an endless header line", "a".repeat(4096)),
            ("sends endlessly many header lines", "A: b\r\n".repeat(700)),
        ] {
            let head = "HTTP/1.1 200 OK\r\nX-Long: ".to_owned();
            let prepare = |charge: TestRequest| charge.total(Duration::from_secs(3));
            flooded(harness, what, head, piece, prepare, CompletedCall::must_be_unknown)?;
        }
        Ok(())
    })
}

/// The server responds with a hundred thousand headers.
///
/// The call must return a response or an error other than `NotProcessed`, in reasonable time. The response is complete, so
/// its connection may carry the next call.
pub fn a_hundred_thousand_headers_are_an_answer_or_an_error(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), UNBOUNDED_MEMORY).check(stack, |harness| {
        let action = |connection: &mut Connection, _: &Received| {
            connection.write("HTTP/1.1 200 OK\r\n");
            connection.write("A: b\r\n".repeat(100_000));
            connection.write("Content-Length: 2\r\n\r\n{}");
        };
        harness.on_request(0, "responds with 100 000 headers", action, |run, call| {
            call.must_not_be_not_processed()?;
            harness.figure(match &call.result {
                Ok(_) => format!("a response after {:.0?}", call.took),
                Err(error) => format!("{:?} after {:.0?}", error.kind(), call.took),
            });
            run.round_trip()
        })
    })
}

/// The server sends endless interim responses, faster than they are read. This is checked three times.
///
/// The call must fail with `Unknown`, no later than its deadline. The deadline must be checked even while there is always
/// something to read.
pub fn endless_interim_answers_end_with_the_deadline(stack: &dyn AnyStack) -> Verdict {
    let advice = "one poll reads for as long as the server sends: limit what a poll reads, or read the clock in between";
    Contract::new(own_name!(), UNBOUNDED_MEMORY).advice(advice).exclusive().check(stack, |harness| {
        let before = new_peak_of_memory();
        // A client that never checks its deadline still meets it if the reader happens to wait once. Large pieces, which
        // are cheap to send and slow to parse, and three attempts make that unlikely.
        let many: Arc<str> = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(40_000).into();
        let mut latest = Duration::ZERO;
        for _ in 0..3 {
            let many = Arc::clone(&many);
            let script = echo_except(1, move |connection, _| while connection.write(&*many) {});
            harness.with_server(&after(1, "sends endless interim responses"), script, |run| {
                // The flood before may still keep a slow machine busy, so this call has all the time it needs.
                run.send(run.charge())?.must_get_own_response()?;
                let call = run.send(run.charge().total(SHORT))?;
                call.must_be_unknown()?;
                latest = latest.max(call.took.saturating_sub(call.total));
                Ok(())
            })?;
        }
        harness.figure(format!("{latest:.1?} after the deadline (goal 50 ms)"));
        memory_grew_little(harness, before)
    })
}

/// The server announces a body larger than any memory, sends three bytes of it, and waits.
///
/// The transport must not reserve memory for it, and no sum may overflow. The call must fail with `Answered`, no later than
/// its deadline.
pub fn an_absurd_length_reserves_no_memory(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), UNBOUNDED_MEMORY).exclusive().check(stack, |harness| {
        let before = new_peak_of_memory();
        for head in [
            "Content-Length: 9300000000000000000\r\n\r\nabc",
            "Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\nabc",
            "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc",
            "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nffffffffffffffff\r\nabc",
        ] {
            let action = send_and(format!("HTTP/1.1 200 OK\r\n{head}"), |connection| {
                connection.wait_for_close();
            });
            let what = format!("announces a body larger than any memory: {head:?}");
            harness.with_server(&after(1, &what), echo_except(1, action), |run| {
                run.round_trip()?;
                // With a huge cap, so that the cap does not protect the transport.
                let call = run.send(run.charge().total(SHORT).cap(usize::MAX / 2))?;
                call.must_have_partial_response(StatusCode::OK).map(drop)
            })?;
        }
        memory_grew_little(harness, before)
    })
}

/// Checks a call to which the server sends `head` and then `piece` for as long as the client reads.
fn flooded(
    harness: &Harness<'_>,
    what: &str,
    head: String,
    piece: String,
    prepare: impl Fn(TestRequest) -> TestRequest,
    check: impl Fn(&CompletedCall) -> Result<(), Violation>,
) -> Result<(), Violation> {
    let sent = Counter::default();
    let counter = sent.clone();
    let script = echo_except(0, move |connection, _| {
        connection.write(&head);
        while counter.get() <= MOST_READ && connection.write(&piece) {
            counter.add(piece.len());
        }
        connection.close();
    });
    harness.with_server(what, script, |run| {
        let call = run.send(prepare(run.charge()))?;
        let sent = sent.get();
        let mebibytes = sent.div_ceil(1024 * 1024);
        ensure!(sent <= MOST_READ, "the server could send {mebibytes} MiB; the transport must stop reading");
        check(&call)?;
        harness.figure(format!("the server {what} and could send at most {mebibytes} MiB"));
        Ok(())
    })
}

fn memory_grew_little(harness: &Harness<'_>, before: Option<usize>) -> Result<(), Violation> {
    let (Some(before), Some(after)) = (before, peak_memory()) else {
        harness.not_checked("this system does not report how much memory a process has used");
        return Ok(());
    };
    let grown = after.saturating_sub(before).div_ceil(1024);
    ensure!(
        grown <= MOST_GROWN,
        "the process grew by {grown} MiB; the transport must not reserve memory because a server announces it"
    );
    harness.figure(format!("the process grew by {grown} MiB"));
    Ok(())
}

/// Resets the peak, because growth below an earlier peak would not be visible.
fn new_peak_of_memory() -> Option<usize> {
    // Without permission, growth below an earlier peak is missed.
    drop(fs::write("/proc/self/clear_refs", "5"));
    peak_memory()
}

/// The peak memory of this process in KiB. Only available on Linux.
fn peak_memory() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// In bytes: several times what the socket buffers of both sides hold.
const MOST_READ: usize = 64 * 1024 * 1024;

/// In MiB. Other tests in this process use memory too, but no other contract of the kit runs at the same time.
const MOST_GROWN: usize = 256;

const UNBOUNDED_MEMORY: &str = "a broken or malicious server could exhaust the memory of the process and stop all its \
     payments, including those that were charged but not yet recorded";

#[cfg(test)]
mod tests {
    use payments_core::{Transport, TransportError, TransportRequest, TransportResponse};

    use super::*;

    struct Unused;

    impl Transport for Unused {
        async fn send(&self, _: TransportRequest) -> Result<TransportResponse, TransportError> {
            unreachable!("the server is never asked")
        }
    }

    #[test]
    fn memory_that_cannot_be_measured_is_not_kept() {
        let (name, stack) = (own_name!(), crate::stack(|_| Unused));
        let check = |then: fn() -> Result<(), Violation>| {
            Contract::new(name, UNBOUNDED_MEMORY)
                .check(&stack, |harness| memory_grew_little(harness, None).and_then(|()| then()))
        };
        let verdict = check(|| Ok(()));
        assert!(verdict.is_not_applicable(), "{verdict}");
        let verdict = check(|| Err(Violation::new("the call had no response")));
        assert!(verdict.is_broken(), "{verdict}");
    }
}
