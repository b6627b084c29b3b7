use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::new_and_reused;
use crate::completed_call::CompletedCall;
use crate::connection::Connection;
use crate::contract::{Contract, own_name};
use crate::contracts::lost_answers::MAY_BE_CHARGED;
use crate::http2_peer::{Event, Peer, Request};
use crate::signal::{Signal, cancel_on, join_all};
use crate::situations::{End, pause, unknown_and_once};
use crate::test_request::AMPLE;
use crate::violation::{Violation, ensure};
use crate::{Ability, AnyStack, Verdict};

/// The server reads the whole request and closes, cuts or resets the connection.
///
/// The call must be `Unknown`, on a new and on a reused connection, and the request arrives once.
pub fn the_end_of_the_connection_is_unknown_over_http2(stack: &dyn AnyStack) -> Verdict {
    Contract::over_http2(own_name!(), MAY_BE_CHARGED).check(stack, |harness| {
        for (how, end) in ENDS {
            let action = move |peer: &mut Peer<'_>, _: &Request| end(&mut peer.connection());
            let what = format!("reads the whole request, then {how}");
            new_and_reused(harness, &what, AMPLE, action, unknown_and_once)?;
        }
        Ok(())
    })
}

/// The server has read many requests on one connection, then closes, cuts or resets it.
///
/// Every call must be `Unknown`, and every request arrives once, all on that connection.
pub fn all_streams_of_a_lost_connection_are_unknown(stack: &dyn AnyStack) -> Verdict {
    Contract::over_http2(own_name!(), MAY_BE_CHARGED).check(stack, |harness| {
        for (how, end) in ENDS {
            let script = move |peer: &mut Peer<'_>| {
                peer.serve_one();
                let mut read = 0;
                // A second connection, which there should not be, ends after its first request.
                while (read == 0 || peer.index() == 0 && read < MANY) && peer.next_request().is_some() {
                    read += 1;
                }
                end(&mut peer.connection());
            };
            let what = format!("reads {MANY} requests on a connection that was used before, then {how}");
            harness.with_http2_server(&what, script, |run| {
                run.round_trip()?;
                let calls = run.send_all((0..MANY).map(|_| run.charge().total(LONG)))?;
                calls.iter().try_for_each(|call| unknown_and_once(run, call))?;
                let carriers = calls.iter().flat_map(|call| run.arrivals.carriers_of(&call.id));
                let used = carriers.collect::<BTreeSet<_>>().len();
                ensure!(
                    used == 1,
                    "{MANY} concurrent calls used {used} connections; send them all on one HTTP/2 connection"
                );
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// The server reads a request and never responds to it, while it responds to others on the same connection.
///
/// The call must end at its total deadline, as `Timeout` and `Unknown`. Later calls succeed.
pub fn silence_on_a_stream_ends_with_the_total_deadline(stack: &dyn AnyStack) -> Verdict {
    let why = "a live connection says nothing about a stalled request on it. Without its own deadline the call waits forever, \
               and its caller gives up without knowing that there is something to look up";
    Contract::over_http2(own_name!(), why).check(stack, |harness| {
        let number = AtomicUsize::new(0);
        let script = move |peer: &mut Peer<'_>| {
            while let Some(request) = peer.next_request() {
                if number.fetch_add(1, Ordering::SeqCst) != 1 {
                    peer.echo(&request);
                }
            }
        };
        harness.with_http2_server("responds to every request except the second", script, |run| {
            run.round_trip()?;
            let call = run.send(run.charge().total(SHORT))?;
            call.must_be_unknown()?;
            call.must_be_a_timeout()?;
            let late = call.must_end_with_the_deadline()?;
            harness.figure(format!("{late:.1?} after the total deadline (goal 50 ms)"));
            run.must_have_arrived_once(&call.id)?;
            run.send(run.charge())?.must_get_own_response()
        })
    })
}

/// The caller drops one of 64 concurrent calls on one connection.
///
/// The server must see that stream reset with `CANCEL` and get no more of it. All other calls must succeed.
pub fn a_cancelled_stream_is_reset_and_harms_no_other(stack: &dyn AnyStack) -> Verdict {
    let why = "one customer closing a payment page must not affect other customers' payments";
    Contract::over_http2(own_name!(), why).tests(Ability::Cancel).check(stack, |harness| {
        let all_arrived = Signal::default();
        let reset_with = Arc::new(AtomicU32::new(NOT_RESET));
        let (arrived, code_of_reset) = (all_arrived.clone(), Arc::clone(&reset_with));
        let script = move |peer: &mut Peer<'_>| {
            peer.serve_one();
            let mut in_progress: Vec<Request> = Vec::new();
            while let Some(event) = peer.next() {
                match event {
                    Event::Begun(_) => {}
                    Event::Request(request) => in_progress.push(request),
                    Event::Reset { stream, code } => {
                        code_of_reset.store(code.into(), Ordering::SeqCst);
                        in_progress.retain(|request| request.stream != stream);
                        in_progress.drain(..).for_each(|request| _ = peer.echo(&request));
                    }
                }
                if in_progress.len() == 64 {
                    arrived.set();
                }
            }
        };
        let what = "reads 64 requests on a connection that was used before, and responds when one is reset";
        harness.with_http2_server(what, script, |run| {
            run.round_trip()?;
            let never = Signal::default();
            let calls = (0..64).map(|number| {
                let signal = if number == 17 { &all_arrived } else { &never };
                run.call_until(signal, run.charge().total(LONG))
            });
            let ended = run.block_on(join_all(calls))?.into_iter().collect::<Result<Vec<_>, Violation>>()?;
            let dropped = ended.iter().filter(|one| one.is_none()).count();
            match (dropped, reset_with.load(Ordering::SeqCst)) {
                (1, CANCEL) => {
                    ended.iter().flatten().try_for_each(CompletedCall::must_get_own_response)
                }
                (1, NOT_RESET) => Err(Violation::new(
                    "the server did not see the stream of the dropped call reset; send RST_STREAM with CANCEL",
                )),
                (1, code) => Err(Violation::new(format!(
                    "the stream of the dropped call was reset with the code {code}; the code must be CANCEL, 8"
                ))),
                _ => Err(Violation::new(
                    "the 64 calls were never in progress at once on the reused connection; send them all on one HTTP/2 \
                     connection",
                )),
            }
        })
    })
}

/// The server responds to the first call. Then the network drops the connection without closing it: nothing gets a response,
/// not even a ping.
///
/// The next call must be `Unknown`, no later than its deadline. Ten seconds later, or once the transport has closed the
/// connection, another call must succeed on a new connection. For stacks with [`Ability::Http2Pings`].
pub fn a_connection_that_the_network_dropped_is_not_used_again(stack: &dyn AnyStack) -> Verdict {
    let why = "a NAT or a firewall can drop a connection silently. Without pings every payment is sent into it and becomes \
               unknown, until the kernel gives up after a quarter of an hour";
    Contract::over_http2(own_name!(), why).tests(Ability::Http2Pings).check(stack, |harness| {
        let closed = Signal::default();
        let is_closed = closed.clone();
        let script = move |peer: &mut Peer<'_>| {
            if peer.index() > 0 {
                return peer.serve();
            }
            peer.serve_one();
            peer.connection().discard_input();
            closed.set();
        };
        let what = "responds to the first request; then the network drops its first connection";
        harness.with_http2_server(what, script, |run| {
            run.round_trip()?;
            let lost = run.send(run.charge().total(LOST))?;
            lost.must_be_unknown()?;
            let idle_since = Instant::now();
            run.block_on(cancel_on(&is_closed, pause(NOTICED_BY)))?;
            let call = run.send(run.charge().total(LONG))?;
            if call.must_get_own_response().is_err() {
                let wanted = format!(
                    "its own response, over a new connection, because the connection of {} is dead",
                    lost.id
                );
                return Err(call.expected(&wanted));
            }
            harness.figure(format!("noticed {:.1?} after the lost call", idle_since.elapsed()));
            Ok(())
        })
    })
}

/// The ways in which a server ends a connection.
const ENDS: [(&str, End); 3] = [
    ("closes the connection", Connection::close),
    ("cuts the connection", Connection::cut),
    ("resets the connection", Connection::reset),
];

/// The code of `CANCEL`.
const CANCEL: u32 = 8;

const MANY: usize = 16;
const NOT_RESET: u32 = u32::MAX;

const SHORT: Duration = Duration::from_millis(300);
/// Enough to write a request.
const LOST: Duration = Duration::from_secs(1);
/// The promised ten seconds, which is less than callers wait for a payment.
const NOTICED_BY: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_secs(5);
