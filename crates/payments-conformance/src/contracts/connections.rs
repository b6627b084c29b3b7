//! Which connection carries a request, and which connections must not be reused.

use std::env;
use std::ffi::OsStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use payments_core::Delivery;

use crate::arrivals::counted;
use crate::completed_call::CompletedCall;
use crate::connection::Connection;
use crate::contract::{Contract, own_name};
use crate::signal::{Signal, cancel_on, join_all};
use crate::situations::{End, LARGE, MEDIUM, Steps, echo_except, own_response_and_once, pause};
use crate::test_request::TestRequest;
use crate::test_run::TestRun;
use crate::violation::{Violation, ensure};
use crate::{Ability, AnyStack, Verdict};

/// The server responds to twenty calls in sequence and keeps the connection open.
///
/// One connection must carry them, or a few, because a pool may return connections in the background. If connections were
/// never reused, the contracts about reuse would prove nothing.
pub fn a_connection_is_used_again(stack: &dyn AnyStack) -> Verdict {
    let why = "a new TLS handshake for each payment is slow and can fail";
    Contract::new(own_name!(), why).tests(Ability::Reuse).check(stack, |harness| {
        harness.with_server("responds to every request", Connection::serve, |run| {
            let started = Instant::now();
            for _ in 0..10 {
                run.round_trip()?;
                run.send(run.lookup())?.must_get_own_response()?;
            }
            harness.figure(format!("{:.2?} for a call on a warm connection", started.elapsed() / 20));
            let connections = run.arrivals.connections();
            ensure!(
                connections <= 5,
                "20 sequential calls used {connections} connections; reuse one or a few for all of them"
            );
            Ok(())
        })
    })
}

/// The server responds, then closes or resets the idle connection, and the client has had time to notice.
///
/// The next call must succeed on another connection, because the close was visible before anything was written.
pub fn a_connection_seen_to_be_closed_is_replaced(stack: &dyn AnyStack) -> Verdict {
    let why = "load balancers close every idle connection sooner or later. A client that writes the next payment to such a \
               connection cannot tell whether it was processed";
    Contract::new(own_name!(), why).check(stack, |harness| {
        for end in [Connection::close, Connection::reset] {
            let between = Between::default();
            let server = between.clone();
            let script = echo_except(0, move |connection, request| {
                connection.echo(request);
                server.is_idle.wait(MEDIUM);
                end(connection);
                server.is_done.set();
            });
            let what = "responds to the first request, then ends the idle connection";
            harness.with_server(what, script, |run| {
                two_calls(run, &between)?.iter().try_for_each(|call| own_response_and_once(run, call))
            })?;
        }
        Ok(())
    })
}

/// The server responds to each request, and then closes or resets the connection or sends a second response. The next call
/// starts as soon as that has arrived, before any of the stack's background tasks could run.
///
/// Every call must get its own response, and its request arrives once. This is for stacks with
/// [`Ability::LooksBeforeReuse`]: a transport that watches idle connections in a background task cannot know yet.
pub fn what_has_arrived_on_an_idle_connection_is_seen(stack: &dyn AnyStack) -> Verdict {
    let why = "writing a payment to a connection that is already closed makes its outcome unknown for no reason, and a \
               pending second response would be read as its own";
    Contract::new(own_name!(), why).tests(Ability::LooksBeforeReuse).check(stack, |harness| {
        let second = |connection: &mut Connection| {
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\nsomebody else's");
        };
        let ends: [(&str, End); 3] = [
            ("closes the idle connection", Connection::close),
            ("resets the idle connection", Connection::reset),
            ("sends a second response on the idle connection", second),
        ];
        for (what, end) in ends {
            let (read_response, has_read) = mpsc::channel::<()>();
            let (ended, has_ended) = mpsc::channel();
            let has_read = Mutex::new(has_read);
            let script = move |connection: &mut Connection| {
                while let Some(request) = connection.read_request() {
                    connection.echo(&request);
                    // Waits until the client has its response, so that the connection is idle.
                    _ = has_read.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(MEDIUM);
                    end(connection);
                    _ = ended.send(());
                }
            };
            harness.with_server(&format!("responds to each request, then {what}"), script, |run| {
                for _ in 0..5 {
                    run.round_trip()?;
                    run.must_have_arrived_once(&run.last_id().unwrap_or_default())?;
                    _ = read_response.send(());
                    // Blocks this thread, so that the stack's runtime does not run meanwhile.
                    _ = has_ended.recv_timeout(MEDIUM);
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// The server responds, and closes the connection while the next request is in transit.
///
/// Each call must get its own response or fail with the correct delivery, and arrives at most once.
pub fn a_close_that_crosses_a_request_is_told_honestly(stack: &dyn AnyStack) -> Verdict {
    let why = "a client that retries in this situation sends twice. One that reports every failure on a reused connection as \
               NotProcessed makes its caller send twice";
    Contract::new(own_name!(), why).check(stack, |harness| {
        let script = |connection: &mut Connection| {
            let Some(request) = connection.read_request() else { return };
            connection.echo(&request);
            if connection.index.is_multiple_of(2) {
                // Until the next request is certainly in transit.
                connection.read_at_least(1);
            } else {
                // A sleep, because the close must race with the next request, at a different moment each time.
                thread::sleep(Duration::from_micros(20 * (connection.index as u64 % 10)));
            }
            connection.close_writing();
            while connection.read_request().is_some() {}
        };
        let what = "responds to one request on each connection, then closes its side and keeps reading";
        harness.with_server(what, script, |run| {
            let calls = async {
                let mut calls = Vec::new();
                for _ in 0..100 {
                    calls.push(run.call(run.charge()).await?);
                }
                Ok(calls)
            };
            let calls: Vec<CompletedCall> = run.block_on(calls)??;
            harness.figure(tally(&calls)?);
            Ok(())
        })
    })
}

/// The server sends an unsolicited second response, together with the first or while the connection is idle.
///
/// The next call must get its own response or an error, never the unsolicited one.
pub fn an_answer_nobody_asked_for_is_nobodys(stack: &dyn AnyStack) -> Verdict {
    let why = "a payment that gets another payment's response is recorded with the wrong outcome";
    Contract::new(own_name!(), why).check(stack, |harness| {
        let another = b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\nsomebody else's";
        for at_once in [true, false] {
            let between = Between::default();
            let server = between.clone();
            let script = echo_except(0, move |connection, request| {
                let id = request.id();
                let own = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{id}", id.len());
                if at_once {
                    connection.write([own.as_bytes(), another].concat());
                } else {
                    connection.write(own);
                    server.is_idle.wait(MEDIUM);
                    connection.write(another);
                }
                server.is_done.set();
            });
            let when = if at_once { "together with the first" } else { "while the connection is idle" };
            harness.with_server(&format!("sends an unsolicited second response {when}"), script, |run| {
                // A client may also reject the first response, because more than the response arrived.
                for call in two_calls(run, &between)?.iter().filter(|call| call.result.is_ok()) {
                    call.must_get_own_response()?;
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// What happens between two calls. Clones share it.
#[derive(Clone, Default)]
struct Between {
    /// The first call has its response.
    is_idle: Signal,
    /// The server has done what the second call meets.
    is_done: Signal,
}

fn two_calls(run: &TestRun<'_>, between: &Between) -> Result<[CompletedCall; 2], Violation> {
    run.block_on(async {
        let first = run.call(run.charge()).await?;
        between.is_idle.set();
        between.is_done.until_set().await;
        // So that the stack's background tasks can notice it.
        pause(Duration::from_millis(50)).await;
        Ok([first, run.call(run.charge()).await?])
    })?
}

/// The server announces that it will close the connection, but does not.
///
/// The next call must use another connection.
pub fn a_connection_announced_to_close_is_not_used(stack: &dyn AnyStack) -> Verdict {
    let why = "the server reads no more requests from this connection, so the next payment would be lost";
    Contract::new(own_name!(), why).check(stack, |harness| {
        for head in [
            "HTTP/1.1 200 OK\r\nConnection: close",
            "HTTP/1.1 200 OK\r\nconnection: CLOSE",
            "HTTP/1.0 200 OK",
        ] {
            let bytes = format!("{head}\r\nContent-Length: 2\r\n\r\n{{}}");
            harness.respond_to_first(&format!("responds with {head:?}"), bytes, |run, call| {
                call.must_have_body(b"{}")?;
                run.follow_up(call)
            })?;
        }
        Ok(())
    })
}

/// Two servers are called alternately.
///
/// Each must receive only its own requests, and each call gets its own response.
pub fn two_servers_never_share_a_connection(stack: &dyn AnyStack) -> Verdict {
    let why = "a payment on a connection to another service exposes the API key and the card";
    Contract::new(own_name!(), why).check(stack, |harness| {
        let other = harness.another_server(Connection::serve);
        let other_url = harness.url(other.address);
        harness.with_server("is one of two that are called alternately", Connection::serve, |run| {
            let mut ids = Vec::new();
            for _ in 0..3 {
                run.round_trip()?;
                let call = run.send(run.charge_at(&other_url))?;
                call.must_get_own_response()?;
                ids.push(call.id);
            }
            ensure!(
                dangerous unless ids.iter().all(|id| other.arrivals.carriers_of(id).len() == 1),
                "a request for one server reached the other; pool connections by server"
            );
            Ok(())
        })
    })
}

/// The caller drops a call whose request the server has read.
///
/// The connection must close, and nothing more is sent, on it or elsewhere. The next call succeeds.
pub fn a_dropped_call_closes_its_connection(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), SENT_AFTER_DROP).tests(Ability::Cancel).check(stack, |harness| {
        let steps = Steps::default();
        let server = steps.clone();
        let script = echo_except(0, move |connection, _| {
            server.arrived.set();
            server.read.add(connection.wait_for_close());
            server.closed.set();
        });
        harness.with_server("reads the request, which its caller then drops", script, |run| {
            drop_when(run, &steps.arrived, run.charge())?;
            must_see_the_close(run, &steps.closed)?;
            let rest = steps.read.get();
            ensure!(dangerous unless rest == 0, "{rest} more bytes were sent after the call was dropped");
            run.must_have_connected(1, "a dropped call must not be retried")?;
            run.round_trip()
        })
    })
}

/// The caller drops a call while its large request is being written.
///
/// The rest must not be sent: the connection closes before the server has the whole request.
pub fn a_call_dropped_while_it_sends_stops_sending(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), SENT_AFTER_DROP).tests(Ability::Cancel).check(stack, |harness| {
        let steps = Steps::default();
        let what = "reads the beginning of a request, which its caller then drops";
        harness.with_server(what, steps.stop_reading(), |run| {
            drop_when(run, &steps.arrived, run.charge().padded_to(LARGE))?;
            steps.go.set();
            must_see_the_close(run, &steps.closed)?;
            ensure!(
                dangerous unless steps.read.get() < LARGE,
                "the whole request was sent although the caller had dropped the call; stop writing when it is dropped"
            );
            run.round_trip()
        })
    })
}

/// Sixty-four calls run at once. The first is dropped while the others wait for their responses.
///
/// Each of the others must get its own response. A stack that cannot cancel makes all calls without the drop.
pub fn sixty_four_at_once_get_their_own_answers(stack: &dyn AnyStack) -> Verdict {
    let why = "a response that reaches the wrong call reports a successful payment as failed, or a failed one as \
               successful";
    Contract::new(own_name!(), why).check(stack, |harness| {
        let cancels = !harness.lacks(Ability::Cancel);
        let (arrived, go) = (Signal::default(), Signal::default());
        let (has_arrived, may_go) = (arrived.clone(), go.clone());
        let script = move |connection: &mut Connection| {
            while let Some(request) = connection.read_request() {
                if cancels && request.has_id("charge-00001") {
                    has_arrived.set();
                    connection.wait_for_close();
                    return;
                }
                if cancels {
                    // With a limit, for stacks that do not start the first call first.
                    may_go.wait(MEDIUM);
                }
                connection.echo(&request);
            }
        };
        harness.with_server("responds to 64 requests once the first call was dropped", script, |run| {
            let calls = (0..64).map(|number| {
                let (charge, arrived, go) = (run.charge(), &arrived, &go);
                async move {
                    if number > 0 || !cancels {
                        return run.call(charge).await.map(Some);
                    }
                    let dropped = run.call_until(arrived, charge).await;
                    go.set();
                    dropped
                }
            });
            let calls = run.block_on(join_all(calls))?.into_iter().collect::<Result<Vec<_>, _>>()?;
            calls.iter().flatten().try_for_each(|call| own_response_and_once(run, call))?;
            ensure!(
                !cancels || calls[0].is_none(),
                "the dropped call ended, although the server never responded to it"
            );
            harness.figure(counted(run.arrivals.connections(), "connection"));
            Ok(())
        })
    })
}

/// Sixteen callers make 5 000 payments to a server that closes and resets connections at random moments.
///
/// No payment may arrive twice, none that arrived may be `NotProcessed`, and every response belongs to its call. The report
/// shows the server's random seed; the environment variable `PAYMENTS_CONFORMANCE_SEED` sets it.
pub fn five_thousand_payments_arrive_at_most_once(stack: &dyn AnyStack) -> Verdict {
    let why = "behind a load balancer this happens all day; one wrong retry or NotProcessed in thousands charges somebody \
               twice";
    Contract::new(own_name!(), why).check(stack, |harness| {
        let seed = seed();
        let what = format!("ends idle connections at random moments, with the seed {seed}");
        let script = move |connection: &mut Connection| end_at_random(connection, seed);
        harness.with_server(&what, script, |run| {
            let mut calls = Vec::new();
            // In rounds, because each wait has a limit and a busy machine needs long for all payments.
            for _ in 0..10 {
                let made = AtomicUsize::new(0);
                calls.extend(pay(run, || (made.fetch_add(1, Ordering::SeqCst) < 500).then(|| run.charge()))?);
            }
            let connections = counted(run.arrivals.connections(), "connection");
            harness.figure(format!("seed {seed}, {connections}, {}", tally(&calls)?));
            Ok(())
        })
    })
}

/// Sixteen callers each make one payment after another, until `next` returns no more.
pub(super) fn pay(
    run: &TestRun<'_>,
    next: impl Fn() -> Option<TestRequest> + Sync,
) -> Result<Vec<CompletedCall>, Violation> {
    let next = &next;
    let callers = (0..16).map(|_| async move {
        let mut calls = Vec::new();
        while let Some(charge) = next() {
            calls.push(run.call(charge).await?);
        }
        Ok(calls)
    });
    let calls = run.block_on(join_all(callers))?.into_iter().collect::<Result<Vec<_>, Violation>>()?;
    Ok(calls.into_iter().flatten().collect())
}

/// Responds for a while, then ends the connection in a random way, with or without a delay.
fn end_at_random(connection: &mut Connection, seed: u64) {
    let mut random = Rng::with_seed(seed.wrapping_add(connection.index as u64));
    while let Some(request) = connection.read_request() {
        connection.echo(&request);
        let action = random.u8(..48);
        if action >= 6 {
            continue;
        }
        if action >= 2 {
            thread::sleep(Duration::from_micros(random.u64(..400)));
        }
        match action {
            0 | 2 => connection.close(),
            1 | 3 => connection.reset(),
            _ => {
                connection.close_writing();
                // Requests that arrive now may be processed, but get no response.
                while connection.read_request().is_some() {}
            }
        }
        return;
    }
}

/// The random seed for this run.
pub(super) fn seed() -> u64 {
    env::var_os("PAYMENTS_CONFORMANCE_SEED").map_or_else(|| fastrand::u64(..), |given| given_seed(&given))
}

fn given_seed(given: &OsStr) -> u64 {
    let seed = given.to_str().and_then(|seed| seed.parse().ok());
    seed.unwrap_or_else(|| panic!("PAYMENTS_CONFORMANCE_SEED must be a number, and is {}", given.display()))
}

/// Counts how the calls ended. Every response must be the call's own.
pub(super) fn tally(calls: &[CompletedCall]) -> Result<String, Violation> {
    let (mut answered, mut unknown, mut unsent, mut cut_off) = (0, 0, 0, 0);
    for call in calls {
        match call.delivery() {
            None => {
                call.must_get_own_response()?;
                answered += 1;
            }
            Some(Delivery::Unknown) => unknown += 1,
            Some(Delivery::NotProcessed) => unsent += 1,
            Some(Delivery::Answered(_)) => cut_off += 1,
        }
    }
    Ok(format!("{answered} answered, {unknown} unknown, {unsent} not processed, {cut_off} cut off"))
}

/// Makes a call that is dropped when the signal is set.
pub(super) fn drop_when(run: &TestRun<'_>, signal: &Signal, charge: TestRequest) -> Result<(), Violation> {
    match run.block_on(run.call_until(signal, charge))?? {
        None => Ok(()),
        Some(call) => Err(call.expected("nothing, because the server never responded")),
    }
}

fn must_see_the_close(run: &TestRun<'_>, closed: &Signal) -> Result<(), Violation> {
    // Waits in the stack's runtime, which may be what closes the connection.
    run.block_on(cancel_on(closed, pause(Duration::from_secs(2))))?;
    ensure!(
        closed.is_set(),
        "the connection was still open two seconds after the call was dropped; close it when the call is dropped"
    );
    Ok(())
}

const SENT_AFTER_DROP: &str = "a caller that drops a call treats its outcome as unknown and looks it up. Anything sent \
     afterwards can become a charge that nobody expects";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_number() {
        assert_eq!(given_seed(OsStr::new("17")), 17);
    }

    #[test]
    #[should_panic(expected = "PAYMENTS_CONFORMANCE_SEED must be a number, and is 0x11")]
    fn another_seed_is_not_replaced_by_a_random_one() {
        given_seed(OsStr::new("0x11"));
    }
}
