//! Every call ends, and says what it knows when it does.

use std::thread;
use std::time::Duration;

use http::StatusCode;
use payments_core::{Deadlines, Delivery};

use crate::contract::Contract;
use crate::connection::Connection;
use crate::journal::Received;
use crate::script::{Act, response};
use crate::situations::{SHORT_WITH_CONNECT, SHORT};
use crate::{Ability, Stack, Verdict};

/// The server reads the whole request and says nothing.
///
/// The call ends with its total deadline, as `Timeout` and `Unknown`; the goal is 50 ms after it, and the report has the
/// figure. The connection carries no other request: the answer may still come, and would be taken for the other's.
pub fn silence_ends_with_the_total_deadline(stack: &impl Stack) -> Verdict {
    Contract::scripted("silence_ends_with_the_total_deadline", NEVER_ENDS).check(stack, |harness| {
        let mut latest = Duration::ZERO;
        for (before, total) in [(0, SHORT_WITH_CONNECT), (1, SHORT)] {
            let mut acts = vec![Act::Echo; before];
            acts.extend([Act::Silence, Act::Echo]);
            let what = format!("answers {before} requests, reads the next and says nothing");
            harness.with_script(&what, acts, |run| {
                for _ in 0..before {
                    run.round_trip()?;
                }
                let call = run.send(run.charge().total(total))?;
                call.must_be_unknown()?;
                call.must_be_a_timeout()?;
                latest = latest.max(call.must_end_with_the_deadline()?);
                run.must_have_arrived_once(&call.id)?;
                if harness.speaks_http1() {
                    return run.follow_up(&call);
                }
                // Where each request has a stream of its own, the connection is none the worse for it.
                run.send(run.charge())?.must_get_own_response().map(drop)
            })?;
        }
        harness.figure(format!("{latest:.1?} after the deadline (goal 50 ms)"));
        Ok(())
    })
}

/// The server sends the head of its answer and then its body, a byte at a time, for ever.
///
/// The call ends with its total deadline, not some time after the last byte that came, and says which status it read.
pub fn a_dripping_body_ends_with_the_total_deadline(stack: &impl Stack) -> Verdict {
    Contract::scripted("a_dripping_body_ends_with_the_total_deadline", NEVER_ENDS).check(stack, |harness| {
        let drip = Act::Drip {
            answer: response(StatusCode::OK, vec![b'a'; 100_000]),
            bytes: 1,
            every: Duration::from_millis(5),
        };
        let what = "answers a first request; with the second it sends a byte of its answer's body every 5 ms";
        harness.with_script(what, [Act::Echo, drip], |run| {
            run.round_trip()?;
            let call = run.send(run.charge().total(SHORT))?;
            call.must_have_partial_response(StatusCode::OK)?;
            let late = call.must_end_with_the_deadline()?;
            harness.figure(format!("{late:.1?} after the deadline (goal 50 ms)"));
            Ok(())
        })
    })
}

/// The server sends the head of its answer a byte at a time, for ever.
///
/// The call ends with its total deadline, as `Unknown`.
pub fn a_dripping_head_ends_with_the_total_deadline(stack: &impl Stack) -> Verdict {
    Contract::new("a_dripping_head_ends_with_the_total_deadline", NEVER_ENDS).check(stack, |harness| {
        let action = |connection: &mut Connection, _: &Received| {
            connection.write("HTTP/1.1 200 OK\r\nX-Drip: ");
            while connection.write("a") {
                thread::sleep(Duration::from_millis(5));
            }
        };
        let what = "sends a byte of its answer's head every 5 ms";
        harness.on_second_request(
            what,
            action,
            |charge| charge.total(SHORT),
            |_, call| {
                call.must_be_unknown()?;
                call.must_end_with_the_deadline()?;
                Ok(())
            },
        )
    })
}

/// The server reads the beginning of a large request and then nothing more.
///
/// The call ends with its total deadline, as `Unknown`: a deadline that only watches the answer never begins to run.
pub fn a_server_that_stops_reading_ends_with_the_total_deadline(stack: &impl Stack) -> Verdict {
    let name = "a_server_that_stops_reading_ends_with_the_total_deadline";
    Contract::new(name, NEVER_ENDS).check(stack, |harness| {
        let script = |connection: &mut Connection| {
            connection.read_at_least(2000);
            // Until the trial is over, whether the client is gone or not: to notice that, it would have to read.
            connection.server_stopped().wait(Duration::from_secs(30));
        };
        harness.with_server("reads the beginning of a large request and stops", script, |run| {
            let call = run.send(run.charge().padded_to(32 * 1024 * 1024).total(SHORT_WITH_CONNECT))?;
            call.must_be_unknown()?;
            call.must_end_with_the_deadline()?;
            Ok(())
        })
    })
}

/// The server takes longer than the connect deadline for its answer, but not longer than the total one.
///
/// It is an answer: a connect deadline that goes on running after the connection stands turns good payments into
/// unknown ones.
pub fn a_slow_answer_within_the_deadline_is_an_answer(stack: &impl Stack) -> Verdict {
    let why = "a client that gives up early has a payment of unknown outcome where it could have a receipt";
    Contract::new("a_slow_answer_within_the_deadline_is_an_answer", why).check(stack, |harness| {
        // It has to be enough to connect on a busy machine, too.
        let connect = Duration::from_millis(1500);
        let action = move |connection: &mut Connection, request: &Received| {
            thread::sleep(connect + Duration::from_millis(200));
            let id = request.id();
            connection.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", id.len()));
            connection.write(id);
        };
        let what = "answers after the connect deadline, long before the total one";
        harness.on_first_request(
            what,
            action,
            move |charge| charge.connect(connect),
            |_, call| {
                call.must_get_own_response()?;
                Ok(())
            },
        )
    })
}

/// A call is made with no time at all.
///
/// It fails, soon, and honestly. Zero means no limit to some sockets and is refused by others: neither is what the
/// caller asked for.
pub fn a_deadline_of_zero_ends_the_call(stack: &impl Stack) -> Verdict {
    Contract::scripted("a_deadline_of_zero_ends_the_call", NEVER_ENDS).check(stack, |harness| {
        let silence = [Act::Echo, Act::Silence];
        harness.with_script("answers a first request and says nothing to any other", silence, |run| {
            run.round_trip()?;
            let call = run.send(run.charge().total(Duration::ZERO).connect(Duration::ZERO))?;
            let delivery = call.must_fail()?.delivery();
            call.must_end_with_the_deadline()?;
            harness.figure(format!("Delivery::{delivery:?}"));
            Ok(())
        })
    })
}

/// A call is made with the longest deadlines that there are.
///
/// It is answered: no clock overflows.
pub fn the_longest_deadline_is_no_overflow(stack: &impl Stack) -> Verdict {
    let why = "a panic in the middle of a payment leaves its outcome unknown";
    Contract::scripted("the_longest_deadline_is_no_overflow", why).check(stack, |harness| {
        harness.with_script("answers", [Act::Echo], |run| {
            let charge = run.charge().total(Deadlines::LONGEST).connect(Deadlines::LONGEST);
            run.send(charge)?.must_get_own_response()?;
            Ok(())
        })
    })
}

/// The server reads the whole request and is silent for 100 seconds, or sends a byte of the body every 45 seconds. The
/// call's total deadline is 100 seconds.
///
/// The call ends with its deadline and not before: no other timeout of the stack, such as the 30 seconds that are common,
/// ends it. It is checked in virtual time, so only on a stack without [`Ability::Sockets`], which plays the server and
/// its clock.
pub fn silence_is_waited_out_to_the_deadline(stack: &impl Stack) -> Verdict {
    let name = "silence_is_waited_out_to_the_deadline";
    let why = "an acquirer may take a minute. A client that gives up before its caller told it to leaves a payment of \
               unknown outcome, and the receipt that comes a moment later is lost";
    if stack.abilities().missing(Ability::Sockets).is_none() {
        let reason = "with real sockets it would take minutes of real time".to_owned();
        return Verdict::not_applicable(name, reason);
    }
    Contract::scripted(name, why).check(stack, |harness| {
        let total = Duration::from_secs(100);
        let every = Duration::from_secs(45);
        let drip = Act::Drip { answer: response(StatusCode::OK, "four"), bytes: 1, every };
        for (what, act) in [("nothing", Act::Silence), ("a byte every 45 s", drip)] {
            let is_silent = matches!(act, Act::Silence);
            let what = format!("answers a first request, reads the next and sends {what}");
            harness.with_script(&what, [Act::Echo, act], |run| {
                run.round_trip()?;
                let call = run.send(run.charge().total(total))?;
                if is_silent {
                    call.must_be_unknown()?;
                } else {
                    call.must_have_partial_response(StatusCode::OK)?;
                }
                call.must_be_a_timeout()?;
                call.must_end_with_the_deadline()?;
                run.must_have_arrived_once(&call.id)
            })?;
        }
        Ok(())
    })
}

/// The server reads every request and says nothing. Many calls are made at once, more than many transports have
/// connections for.
///
/// Each call ends with its own total deadline, whether it got a connection or waited for one. One that reached the server
/// is `Unknown`.
pub fn calls_beyond_the_connections_end_with_their_deadlines(stack: &impl Stack) -> Verdict {
    let name = "calls_beyond_the_connections_end_with_their_deadlines";
    let why = "when the service hangs, every payment of the process waits. A call that waits for a free connection \
               without a deadline ends minutes later, when its customer has paid elsewhere";
    Contract::scripted(name, why).check(stack, |harness| {
        harness.with_script("reads every request and says nothing", [Act::Silence], |run| {
            let calls = run.send_all((0..CALLS).map(|number| {
                // Not all the same, so that no call can end with another's deadline.
                run.charge().total(SATURATED + Duration::from_millis(number % 4 * 250))
            }))?;
            let mut latest = Duration::ZERO;
            let mut unsent = 0;
            for call in &calls {
                let error = call.must_fail()?;
                unsent += usize::from(error.delivery() == Delivery::NotProcessed);
                call.must_end_by_the_deadline()?;
                latest = latest.max(call.took.saturating_sub(call.total));
                run.must_have_arrived_at_most_once(&call.id)?;
            }
            harness.figure(format!(
                "{latest:.1?} after the deadline at most, {unsent} of {CALLS} not processed"
            ));
            Ok(())
        })
    })
}

/// More than the pools of most clients hold for one host.
const CALLS: u64 = 128;

/// A call that waits for another's end before its own time begins is late by as much.
const SATURATED: Duration = Duration::from_secs(3);

/// A deadline is the caller's only protection against a payment that never ends.
const NEVER_ENDS: &str = "a payment that never ends is a payment whose outcome nobody learns, and whoever waits for it \
     gives up and pays again";
