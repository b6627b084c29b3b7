//! Which connection carries a request, and which one never does again.

use std::env;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use payments_core::Delivery;

use crate::violation::Violation;
use crate::test_request::TestRequest;
use crate::contract::Contract;
use crate::connection::Connection;
use crate::journal::counted;
use crate::completed_call::CompletedCall;
use crate::situations::{Counter, MEDIUM, first_then_echo, pause};
use crate::signal::{Signal, join_all};
use crate::test_run::TestRun;
use crate::{Ability, Journal, Stack, Verdict};

/// The server answers ten calls, one after the other, and keeps the connection open.
///
/// One connection carries them, or a few: a pool that takes a connection back in the background may be asked before it
/// has. Without this the contracts about pooled connections prove nothing.
pub fn a_connection_is_used_again(stack: &impl Stack) -> Verdict {
    let why = "a new TLS handshake for each payment is slow, and each is one more that can fail";
    Contract::new("a_connection_is_used_again", why).tests(Ability::Reuse).check(stack, |harness| {
        harness.with_server("answers every request", Connection::serve, |run| {
            let started = Instant::now();
            for _ in 0..10 {
                run.round_trip()?;
                run.send(run.lookup())?.must_get_own_response()?;
            }
            harness.figure(format!("{:.2?} for a call on a warm connection", started.elapsed() / 20));
            let connections = run.journal().connections();
            if connections > 5 {
                return Err(Violation::new(format!(
                    "{connections} connections were made for 20 calls, one after the other; one or a few should have \
                     carried them all"
                )));
            }
            Ok(())
        })
    })
}

/// The server has answered, then it closed or reset the idle connection, and that has arrived.
///
/// The next call succeeds on another connection: the close was there to be seen before anything was written.
pub fn a_connection_seen_to_be_closed_is_replaced(stack: &impl Stack) -> Verdict {
    let why = "every idle connection is closed by a load balancer in the end. A client that writes the next payment \
               into it can no longer say whether it was processed";
    Contract::new("a_connection_seen_to_be_closed_is_replaced", why).check(stack, |harness| {
        for end in [Connection::close, Connection::reset] {
            let ended = Signal::default();
            let has_ended = ended.clone();
            let script = first_then_echo(move |connection, request| {
                connection.echo(request);
                end(connection);
                ended.set();
            });
            harness.with_server("answers the first request, then ends the idle connection", script, |run| {
                let calls = async {
                    let first = run.call(run.charge()).await?;
                    has_ended.until_set().await;
                    // What runs in the background of the stack may learn of it now.
                    pause(Duration::from_millis(50)).await;
                    Ok([first, run.call(run.charge()).await?])
                };
                let calls: [CompletedCall; 2] = run.block_on(calls)??;
                for call in &calls {
                    call.must_get_own_response()?;
                    run.must_have_arrived_once(&call.id)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// The server responds to each request and then closes or resets the connection, or sends a second response. When that
/// has arrived, the next call is made at once. Nothing of the stack has run in between.
///
/// Every call gets its own response, and its request arrives once. For stacks with [`Ability::LooksBeforeReuse`]: a transport
/// that leaves idle connections to a background task cannot know yet.
pub fn what_has_arrived_on_an_idle_connection_is_seen(stack: &impl Stack) -> Verdict {
    let name = "what_has_arrived_on_an_idle_connection_is_seen";
    let why = "a payment that is written into a connection which was closed already has an unknown outcome for nothing, and \
               a second response in front of it would be taken for its own";
    Contract::new(name, why).tests(Ability::LooksBeforeReuse).check(stack, |harness| {
        let second = |connection: &mut Connection| {
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\nsomebody else's");
        };
        let ends: [(&str, End); 3] = [
            ("closes the idle connection", Connection::close),
            ("resets the idle connection", Connection::reset),
            ("sends a second response on the idle connection", second),
        ];
        for (what, end) in ends {
            let (response, answered) = mpsc::channel::<()>();
            let (ended, has_ended) = mpsc::channel();
            let answered = Mutex::new(answered);
            let script = move |connection: &mut Connection| {
                while let Some(request) = connection.read_request() {
                    connection.echo(&request);
                    // When the client has its response, so that this happens to an idle connection.
                    _ = answered.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(MEDIUM);
                    end(connection);
                    _ = ended.send(());
                }
            };
            harness.with_server(&format!("responds to each request, then {what}"), script, |run| {
                for _ in 0..5 {
                    run.round_trip()?;
                    run.must_have_arrived_once(&run.last_id().unwrap_or_default())?;
                    _ = response.send(());
                    // On this thread, so that the stack's runtime does not run meanwhile.
                    _ = has_ended.recv_timeout(MEDIUM);
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}

type End = fn(&mut Connection);

/// The server answers, and closes the connection while the next call is on its way.
///
/// Each call is answered with its own answer or fails honestly, and arrives at most once.
pub fn a_close_that_crosses_a_request_is_told_honestly(stack: &impl Stack) -> Verdict {
    let name = "a_close_that_crosses_a_request_is_told_honestly";
    let why = "here a client that repeats by itself sends twice, and one that calls every broken reused connection \
               \"not sent\" makes its caller send twice";
    Contract::new(name, why).check(stack, |harness| {
        let script = |connection: &mut Connection| {
            let Some(request) = connection.read_request() else { return };
            connection.echo(&request);
            if connection.index().is_multiple_of(2) {
                // The next is on its way for certain.
                connection.read_at_least(1);
            } else {
                // Not for an event: the two are meant to race, at another moment each time.
                thread::sleep(Duration::from_micros(20 * (connection.index() as u64 % 10)));
            }
            connection.close_writing();
            while connection.read_request().is_some() {}
        };
        let what = "answers one request on each connection, then closes its side and reads on";
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

/// The server sends a second answer that nobody asked for: in one piece with the first, or while the connection is idle.
///
/// The next call gets its own answer or an error, never that one.
pub fn an_answer_nobody_asked_for_is_nobodys(stack: &impl Stack) -> Verdict {
    let why = "a payment that is told another payment's answer is booked as paid, or as refused, and is not";
    Contract::new("an_answer_nobody_asked_for_is_nobodys", why).check(stack, |harness| {
        let another = b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\nsomebody else's";
        for at_once in [true, false] {
            let sent = Signal::default();
            let is_sent = sent.clone();
            let script = first_then_echo(move |connection, request| {
                let id = request.id();
                let own = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{id}", id.len());
                if at_once {
                    connection.write([own.as_bytes(), another].concat());
                } else {
                    connection.write(own);
                    // After the client has taken its answer; should it be slower, the case is the one above.
                    thread::sleep(Duration::from_millis(50));
                    connection.write(another);
                }
                sent.set();
            });
            let when = if at_once { "in one piece with the first" } else { "while the connection is idle" };
            harness.with_server(&format!("sends a second answer {when}"), script, |run| {
                let calls = async {
                    let first = run.call(run.charge()).await?;
                    is_sent.until_set().await;
                    pause(Duration::from_millis(50)).await;
                    Ok([first, run.call(run.charge()).await?])
                };
                let [first, next]: [CompletedCall; 2] = run.block_on(calls)??;
                // A client may refuse the first as well, when more than its answer came.
                for call in [first, next].iter().filter(|call| call.result.is_ok()) {
                    call.must_get_own_response()?;
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// The server announces that it closes the connection, and does not.
///
/// The next call takes another one.
pub fn a_connection_announced_to_close_is_not_used(stack: &impl Stack) -> Verdict {
    let why = "the server reads no other request from it, so that the next payment would be lost";
    Contract::new("a_connection_announced_to_close_is_not_used", why).check(stack, |harness| {
        for head in [
            "HTTP/1.1 200 OK\r\nConnection: close",
            "HTTP/1.1 200 OK\r\nconnection: CLOSE",
            "HTTP/1.0 200 OK",
        ] {
            let bytes = format!("{head}\r\nContent-Length: 2\r\n\r\n{{}}");
            harness.respond_to_first(&format!("answers with {head:?}"), bytes, |run, call| {
                call.must_have_body(b"{}")?;
                run.follow_up(call)
            })?;
        }
        Ok(())
    })
}

/// Two servers are called in turns.
///
/// Each gets its own requests, and each call its own answer.
pub fn two_servers_never_share_a_connection(stack: &impl Stack) -> Verdict {
    let why = "a payment on another service's connection shows it key and card";
    Contract::new("two_servers_never_share_a_connection", why).check(stack, |harness| {
        let elsewhere = Journal::default();
        let other = harness.another_server(&elsewhere, Connection::serve);
        let other_url = harness.url(other.address);
        harness.with_server("is one of two that are called in turns", Connection::serve, |run| {
            let mut ids = Vec::new();
            for _ in 0..3 {
                run.round_trip()?;
                let call = run.send(run.charge_at(&other_url))?;
                call.must_get_own_response()?;
                ids.push(call.id);
            }
            if ids.iter().any(|id| elsewhere.carriers_of(id).len() != 1) {
                return Err(Violation::new("a request for one server reached another"));
            }
            Ok(())
        })
    })
}

/// The caller drops a call whose request the server has read.
///
/// The server sees the connection close, and nothing more is sent, there or elsewhere. The next call is unharmed.
pub fn a_dropped_call_closes_its_connection(stack: &impl Stack) -> Verdict {
    let contract = Contract::new("a_dropped_call_closes_its_connection", SENT_AFTER_DROP);
    contract.tests(Ability::Cancel).check(stack, |harness| {
        let (arrived, closed, rest) = (Signal::default(), Signal::default(), Counter::default());
        let signals = (arrived.clone(), closed.clone(), rest.clone());
        let script = first_then_echo(move |connection, _| {
            signals.0.set();
            signals.2.add(connection.wait_for_close());
            signals.1.set();
        });
        harness.with_server("reads the request, which its caller then drops", script, |run| {
            drop_when(run, &arrived, run.charge())?;
            must_see_the_close(run, &closed)?;
            if rest.get() > 0 {
                return Err(Violation::new(format!("{} more bytes were sent after the drop", rest.get())));
            }
            run.must_have_connected(1, "a dropped call must not be tried again")?;
            run.round_trip()
        })
    })
}

/// The caller drops a call whose large request is still being written.
///
/// The rest of it is never sent: the server sees the connection close before it has the whole request.
pub fn a_call_dropped_while_it_sends_stops_sending(stack: &impl Stack) -> Verdict {
    let contract = Contract::new("a_call_dropped_while_it_sends_stops_sending", SENT_AFTER_DROP);
    contract.tests(Ability::Cancel).check(stack, |harness| {
        const LARGE: usize = 32 * 1024 * 1024;
        let (begun, dropped, closed, read) =
            (Signal::default(), Signal::default(), Signal::default(), Counter::default());
        let signals = (begun.clone(), dropped.clone(), closed.clone(), read.clone());
        let script = move |connection: &mut Connection| {
            if connection.index() > 0 {
                connection.serve();
            } else if connection.read_at_least(2000) {
                signals.0.set();
                signals.1.wait(Duration::from_secs(10));
                signals.3.add(connection.wait_for_close());
                signals.2.set();
            }
        };
        harness.with_server("reads the beginning of a request, which its caller then drops", script, |run| {
            drop_when(run, &begun, run.charge().padded_to(LARGE))?;
            dropped.set();
            must_see_the_close(run, &closed)?;
            if read.get() >= LARGE {
                return Err(Violation::new(
                    "the whole request was sent, though its caller had dropped the call",
                ));
            }
            run.round_trip()
        })
    })
}

/// Sixty-four calls are made at once, and the first of them is dropped while the others wait for their answers.
///
/// Each of the others gets its own answer. A stack that cannot cancel makes them all.
pub fn sixty_four_at_once_get_their_own_answers(stack: &impl Stack) -> Verdict {
    let why = "an answer that reaches another call tells a customer that a payment failed which did not, and the other \
               way round";
    Contract::new("sixty_four_at_once_get_their_own_answers", why).check(stack, |harness| {
        let cancels = !harness.lacks(Ability::Cancel);
        let (arrived, go) = (Signal::default(), Signal::default());
        let signals = (arrived.clone(), go.clone());
        let script = move |connection: &mut Connection| {
            while let Some(request) = connection.read_request() {
                if cancels && request.has_id("charge-00001") {
                    signals.0.set();
                    connection.wait_for_close();
                    return;
                }
                if cancels {
                    // A stack that does not begin with the first call would otherwise wait for ever.
                    signals.1.wait(Duration::from_secs(5));
                }
                connection.echo(&request);
            }
        };
        harness.with_server("answers 64 requests when the first of them was dropped", script, |run| {
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
            for call in calls.iter().flatten() {
                call.must_get_own_response()?;
                run.must_have_arrived_once(&call.id)?;
            }
            if cancels && calls[0].is_some() {
                return Err(Violation::new("the dropped call ended by itself, though it was never answered"));
            }
            harness.figure(counted(run.journal().connections(), "connection"));
            Ok(())
        })
    })
}

/// Sixteen callers make 5 000 payments of a server that closes and resets its idle connections at random moments.
///
/// Nothing arrives twice, nothing that arrived is called `NotProcessed`, and every answer is the call's own. The seed of
/// the server's choices is in the report; the environment variable `PAYMENTS_CONFORMANCE_SEED` sets it.
pub fn five_thousand_payments_arrive_at_most_once(stack: &impl Stack) -> Verdict {
    let why = "this is what a service behind a load balancer does all day";
    Contract::new("five_thousand_payments_arrive_at_most_once", why).check(stack, |harness| {
        let seed = seed();
        let what = format!("ends idle connections at random moments, by the seed {seed}");
        harness.with_server(
            &what,
            move |connection| end_at_random(connection, seed),
            |run| {
                let mut calls: Vec<CompletedCall> = Vec::new();
                // In rounds, because a busy machine takes long for all of them and each wait has an end.
                for _ in 0..10 {
                    let made = AtomicUsize::new(0);
                    let callers = (0..16).map(|_| {
                        let made = &made;
                        async move {
                            let mut calls = Vec::new();
                            while made.fetch_add(1, Ordering::SeqCst) < 500 {
                                calls.push(run.call(run.charge()).await?);
                            }
                            Ok(calls)
                        }
                    });
                    for caller in run.block_on(join_all(callers))? {
                        calls.extend(caller?);
                    }
                }
                let connections = run.journal().connections();
                let connections = counted(connections, "connection");
                harness.figure(format!("seed {seed}, {connections}, {}", tally(&calls)?));
                Ok(())
            },
        )
    })
}

/// Answers for a while, then ends the connection: at once, after a moment, gently, hard, or only on its own side.
fn end_at_random(connection: &mut Connection, seed: u64) {
    let mut random = Rng::with_seed(seed.wrapping_add(connection.index() as u64));
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
                // What comes now is read, and may be processed, and nobody will ever hear of it.
                while connection.read_request().is_some() {}
            }
        }
        return;
    }
}

/// The seed of this run.
pub(super) fn seed() -> u64 {
    let given = env::var("PAYMENTS_CONFORMANCE_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| fastrand::u64(..))
}

/// How the calls ended, each answer being its call's own.
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

/// Makes a call that is dropped when the server throws the switch.
pub(super) fn drop_when<S: Stack>(
    run: &TestRun<'_, S>,
    signal: &Signal,
    charge: TestRequest,
) -> Result<(), Violation> {
    match run.block_on(run.call_until(signal, charge))?? {
        None => Ok(()),
        Some(call) => Err(call.expected("nothing yet: it was never answered")),
    }
}

fn must_see_the_close<S: Stack>(run: &TestRun<'_, S>, closed: &Signal) -> Result<(), Violation> {
    // In the stack's runtime, because that may be what closes it.
    let patience = async {
        let mut waited = 0;
        while !closed.is_set() && waited < 100 {
            pause(Duration::from_millis(20)).await;
            waited += 1;
        }
    };
    run.block_on(patience)?;
    if closed.is_set() {
        return Ok(());
    }
    Err(Violation::new(
        "two seconds after the call was dropped its connection was still open; it should be closed at once",
    ))
}

const SENT_AFTER_DROP: &str = "whoever drops a call takes its outcome for unknown and looks it up. What is still sent \
     afterwards is a payment that nobody is waiting for";
