//! Every call ends, and reports what it knows.

use std::thread;
use std::time::Duration;

use http::StatusCode;
use payments_core::{Deadlines, Delivery};

use crate::connection::Connection;
use crate::contract::{Contract, own_name};
use crate::script::{Act, response};
use crate::situations::{LARGE, SHORT, SHORT_WITH_CONNECT, after, echo_except};
use crate::{Ability, AnyStack, Verdict};

/// The server reads the whole request and sends nothing.
///
/// The call must end at its total deadline, as `Timeout` and `Unknown`. The goal is within 50 ms; the report shows the
/// measured value. The connection must not carry another request, because the response may still arrive on it.
pub fn silence_ends_with_the_total_deadline(stack: &dyn AnyStack) -> Verdict {
    Contract::scripted(own_name!(), NEVER_ENDS).check(stack, |harness| {
        let mut latest = Duration::ZERO;
        for (before, total) in [(0, SHORT_WITH_CONNECT), (1, SHORT)] {
            let mut acts = vec![Act::Echo; before];
            acts.extend([Act::Silence, Act::Echo]);
            let what = format!("responds to {before} requests, reads the next and sends nothing");
            harness.with_script(&what, acts, |run| {
                (0..before).try_for_each(|_| run.round_trip())?;
                let call = run.send(run.charge().total(total))?;
                call.must_be_unknown()?;
                call.must_be_a_timeout()?;
                latest = latest.max(call.must_end_with_the_deadline()?);
                run.must_have_arrived_once(&call.id)?;
                if harness.speaks_http1() {
                    return run.follow_up(&call);
                }
                // With a stream for each request, the connection is still usable.
                run.send(run.charge())?.must_get_own_response()
            })?;
        }
        harness.figure(format!("{latest:.1?} after the deadline (goal 50 ms)"));
        Ok(())
    })
}

/// The server sends the head of its response and then the body one byte at a time, forever.
///
/// The call must end at its total deadline, not some time after the last byte, and report the status.
pub fn a_dripping_body_ends_with_the_total_deadline(stack: &dyn AnyStack) -> Verdict {
    Contract::scripted(own_name!(), NEVER_ENDS).check(stack, |harness| {
        let drip = Act::Drip {
            answer: response(StatusCode::OK, vec![b'a'; 100_000]),
            bytes: 1,
            every: Duration::from_millis(5),
        };
        let what =
            "responds to a first request; with the second it sends a byte of the response body every 5 ms";
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

/// The server sends the head of its response one byte at a time, forever.
///
/// The call must end at its total deadline, as `Unknown`.
pub fn a_dripping_head_ends_with_the_total_deadline(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), NEVER_ENDS).check(stack, |harness| {
        let script = echo_except(1, |connection, _| {
            connection.write("HTTP/1.1 200 OK\r\nX-Drip: ");
            while connection.write("a") {
                thread::sleep(Duration::from_millis(5));
            }
        });
        let what = after(1, "sends a byte of its response head every 5 ms");
        harness.with_server(&what, script, |run| {
            run.round_trip()?;
            let call = run.send(run.charge().total(SHORT))?;
            call.must_be_unknown()?;
            call.must_end_with_the_deadline().map(drop)
        })
    })
}

/// The server reads the beginning of a large request and then stops reading.
///
/// The call must end at its total deadline, as `Unknown`. A timeout that covers only the response would never start.
pub fn a_server_that_stops_reading_ends_with_the_total_deadline(stack: &dyn AnyStack) -> Verdict {
    Contract::new(own_name!(), NEVER_ENDS).check(stack, |harness| {
        let script = |connection: &mut Connection| {
            connection.read_at_least(2000);
            // Waits for the end of the test, because without reading it cannot notice that the client is gone.
            connection.server_stopped.wait(Duration::from_secs(30));
        };
        harness.with_server("reads the beginning of a large request and stops", script, |run| {
            let call = run.send(run.charge().padded_to(LARGE).total(SHORT_WITH_CONNECT))?;
            call.must_be_unknown()?;
            call.must_end_with_the_deadline().map(drop)
        })
    })
}

/// The server responds after the connect deadline but before the total deadline.
///
/// The call must return the response. A connect deadline that keeps running after the connection is open would make
/// successful payments unknown.
pub fn a_slow_answer_within_the_deadline_is_an_answer(stack: &dyn AnyStack) -> Verdict {
    let why = "a client that gives up early makes a payment unknown although its receipt was about to arrive";
    Contract::new(own_name!(), why).check(stack, |harness| {
        // Also long enough to connect on a busy machine.
        let connect = Duration::from_millis(1500);
        let script = echo_except(0, move |connection, request| {
            thread::sleep(connect + Duration::from_millis(200));
            let id = request.id();
            connection.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", id.len()));
            connection.write(id);
        });
        let what = "responds after the connect deadline, long before the total deadline";
        harness
            .with_server(what, script, |run| run.send(run.charge().connect(connect))?.must_get_own_response())
    })
}

/// The deadlines of a call are zero, on a new connection and on one that is open.
///
/// The call must fail at once as `NotProcessed`, and no byte of it may reach the server: a request that was not sent by its
/// deadline must never be sent. Some sockets treat zero as no limit, and some transports look at the clock only after they have
/// written to a connection that is open.
pub fn a_deadline_of_zero_ends_the_call(stack: &dyn AnyStack) -> Verdict {
    let why = "a charge that leaves after its deadline reaches the server when nobody waits for its receipt. The caller looks \
               the payment up too early, does not find it, and pays again";
    Contract::scripted(own_name!(), why).check(stack, |harness| {
        for before in [0, 1] {
            harness.with_script("responds to every request", [Act::Echo], |run| {
                // A transport whose timer races with the request sends only some of them.
                for _ in 0..ZERO_DEADLINES {
                    (0..before).try_for_each(|_| run.round_trip())?;
                    let call = run.send(run.charge().total(Duration::ZERO).connect(Duration::ZERO))?;
                    call.must_be_not_processed()?;
                    call.must_be_a_timeout()?;
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// A call has the longest possible deadlines.
///
/// It must return the response; adding the deadline to the clock must not overflow.
pub fn the_longest_deadline_is_no_overflow(stack: &dyn AnyStack) -> Verdict {
    let why = "a panic in the middle of a payment leaves its outcome unknown";
    Contract::scripted(own_name!(), why).check(stack, |harness| {
        harness.with_script("responds to every request", [Act::Echo], |run| {
            let charge = run.charge().total(Deadlines::LONGEST).connect(Deadlines::LONGEST);
            run.send(charge)?.must_get_own_response()
        })
    })
}

/// The server reads the whole request and is silent for 100 seconds, or sends a byte of the body every 45 seconds. The
/// call's total deadline is 100 seconds.
///
/// The call must end at its deadline and not earlier: no other timeout of the stack, such as the common 30 seconds, may end
/// it. This is checked only in virtual time, for a stack without [`Ability::Sockets`], which simulates the server and the
/// clock.
pub fn silence_is_waited_out_to_the_deadline(stack: &dyn AnyStack) -> Verdict {
    let why = "an acquirer may take a minute. A client that gives up before the caller's deadline makes the payment \
               unknown and loses the receipt that arrives a moment later";
    let has_sockets = stack.abilities().missing(Ability::Sockets).is_none();
    let reason = has_sockets.then_some("with real sockets it would take minutes");
    Contract::scripted(own_name!(), why).unless(reason).check(stack, |harness| {
        let total = Duration::from_secs(100);
        let every = Duration::from_secs(45);
        let drip = Act::Drip { answer: response(StatusCode::OK, "four"), bytes: 1, every };
        for (what, act) in [("nothing", Act::Silence), ("a byte every 45 s", drip)] {
            let is_silent = matches!(act, Act::Silence);
            let what = format!("responds to a first request, reads the next and sends {what}");
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

/// The server reads every request and sends nothing. The caller makes more calls at once than many connection pools allow.
///
/// Each call must end by its own total deadline, even if it is still waiting for a connection. A call that reached the
/// server must be `Unknown`.
pub fn calls_beyond_the_connections_end_with_their_deadlines(stack: &dyn AnyStack) -> Verdict {
    let why = "when the service hangs, every payment of the process waits. A call that waits for a free connection without \
               a deadline ends minutes later, when the customer has already paid elsewhere";
    Contract::scripted(own_name!(), why).check(stack, |harness| {
        harness.with_script("reads every request and sends nothing", [Act::Silence], |run| {
            let calls = run.send_all((0..CALLS).map(|number| {
                // Different deadlines, so that no call can pass by ending at another's.
                run.charge().total(SATURATED + Duration::from_millis(number % 4 * 250))
            }))?;
            let mut latest = Duration::ZERO;
            let mut unsent = 0;
            for call in &calls {
                let error = call.must_fail()?;
                unsent += usize::from(error.delivery() == Delivery::NotProcessed);
                latest = latest.max(call.took.saturating_sub(call.total));
                run.must_have_arrived_at_most_once(&call.id)?;
            }
            harness.figure(format!(
                "at most {latest:.1?} after the deadline, {unsent} of {CALLS} not processed"
            ));
            Ok(())
        })
    })
}

/// Enough that a race between a timer and a request has both ends.
const ZERO_DEADLINES: usize = 10;

/// More than the per-host connection limit of most clients.
const CALLS: u64 = 128;

/// Long enough that a call whose deadline starts only when it gets a connection ends measurably late.
const SATURATED: Duration = Duration::from_secs(3);

/// The deadline is the caller's only protection against a call that hangs.
const NEVER_ENDS: &str = "a payment that never ends is a payment whose outcome nobody learns, and the customer who waits for \
     it gives up and pays again";
