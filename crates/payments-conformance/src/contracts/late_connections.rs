//! A call has ended, and its connection has not: nothing may be sent on it any more.

use std::time::Duration;

use crate::violation::Violation;
use crate::test_request::AMPLE;
use crate::contract::{Contract, Harness};
use crate::connection::Connection;
use crate::server::Security;
use crate::situations::{SHORT_WITH_CONNECT, Counter, MEDIUM, pause};
use crate::signal::Signal;
use crate::test_run::TestRun;
use crate::{Ability, Stack, Verdict};

use super::connections::drop_when;

/// The server accepts the connection and begins the TLS handshake only after the call has ended with its connect
/// deadline, or with a total deadline that is shorter. Then it completes the handshake and waits for a request.
///
/// Nothing of the request arrives. A connect attempt may go on in the background, and its connection may serve a later
/// call, but the request ended with its call.
pub fn a_handshake_after_the_deadline_sends_nothing(stack: &impl Stack) -> Verdict {
    let name = "a_handshake_after_the_deadline_sends_nothing";
    let why = "the caller was told that nothing was sent and charges again. The first request then goes out too, and \
               the card is charged twice";
    Contract::new(name, why).needs(Ability::Https).check(stack, |harness| {
        for (deadline, connect, total) in [("connect", BRIEF, AMPLE), ("total", AMPLE, BRIEF)] {
            let what =
                format!("begins the TLS handshake after the call has ended with its {deadline} deadline");
            late_handshake(harness, &what, |run, late| {
                let call = run.send(run.charge().connect(connect).total(total))?;
                late.ended.set();
                call.must_fail().map(drop)
            })?;
        }
        Ok(())
    })
}

/// The caller drops the call when the server has accepted the TCP connection. Then the server completes the TLS
/// handshake and waits for a request.
///
/// Nothing of the request arrives.
pub fn a_call_dropped_while_connecting_sends_nothing(stack: &impl Stack) -> Verdict {
    let name = "a_call_dropped_while_connecting_sends_nothing";
    let why = "a caller that drops a call which is still connecting, because the customer has left, does not expect a \
               payment. One that is made all the same is a charge for nothing";
    Contract::new(name, why).needs(Ability::Https).needs(Ability::Cancel).check(stack, |harness| {
        let what = "begins the TLS handshake after the caller has dropped the call";
        late_handshake(harness, what, |run, late| {
            drop_when(run, &late.accepted, run.charge())?;
            late.ended.set();
            Ok(())
        })
    })
}

/// The server reads the beginning of a large request and stops until the call has ended with its total deadline. Then it
/// reads on.
///
/// The call is `Unknown`. The rest of its request is never sent: the server sees the connection close before it has the
/// whole.
pub fn a_request_cut_by_the_deadline_is_never_completed(stack: &impl Stack) -> Verdict {
    let name = "a_request_cut_by_the_deadline_is_never_completed";
    let why = "after the deadline the caller looks the payment up and does not find it. Whoever then pays again is charged \
               twice, if the first request is completed in the background";
    Contract::new(name, why).check(stack, |harness| {
        const LARGE: usize = 32 * 1024 * 1024;
        let (ended, closed, read) = (Signal::default(), Signal::default(), Counter::default());
        let signals = (ended.clone(), closed.clone(), read.clone());
        let script = move |connection: &mut Connection| {
            if connection.index() > 0 {
                connection.serve();
            } else if connection.read_at_least(2000) {
                signals.0.wait(2 * MEDIUM);
                signals.2.add(connection.wait_for_close());
                signals.1.set();
            }
        };
        let what = "reads the beginning of a large request, and reads on after the call has ended";
        harness.with_server(what, script, |run| {
            let call = run.send(run.charge().padded_to(LARGE).total(SHORT_WITH_CONNECT))?;
            call.must_be_unknown()?;
            ended.set();
            run.block_on(until(&closed, 2 * MEDIUM))?;
            if !closed.is_set() {
                return Err(Violation::new(
                    "the connection was still open long after the call had ended; it should have been closed with it",
                ));
            }
            if read.get() >= LARGE {
                return Err(Violation::new(
                    "the whole request was sent, most of it after its call had ended with the deadline",
                ));
            }
            run.round_trip()
        })
    })
}

/// The steps of a handshake that the server delays.
#[derive(Clone, Default)]
struct DelayedHandshake {
    /// The server accepted the TCP connection.
    accepted: Signal,
    /// The call has ended.
    ended: Signal,
    /// The handshake was completed, or the client closed the connection before that.
    handshaken: Signal,
    /// A request arrived, or the client closed the connection.
    finished: Signal,
}

/// Runs one call whose handshake the server begins when the call has ended. Nothing of its request may arrive, and the
/// next call must be served.
fn late_handshake<S: Stack>(
    harness: &Harness<'_, S>,
    what: &str,
    make_call: impl Fn(&TestRun<'_, S>, &DelayedHandshake) -> Result<(), Violation>,
) -> Result<(), Violation> {
    let late = DelayedHandshake::default();
    let steps = late.clone();
    let script = move |connection: &mut Connection| {
        if connection.index() > 0 {
            return connection.serve();
        }
        steps.accepted.set();
        steps.ended.wait(MEDIUM);
        if connection.handshake() {
            connection.note("the TLS handshake was completed after the call had ended");
        }
        steps.handshaken.set();
        let request = connection.read_request();
        steps.finished.set();
        if let Some(request) = request {
            connection.echo(&request);
            connection.serve();
        }
    };
    let security = Security::Tls(harness.authority.server());
    harness.with_server_over(security, what, script, |run| {
        make_call(run, &late)?;
        run.block_on(until(&late.handshaken, 2 * MEDIUM))?;
        // A request that is still to be sent needs no more than the handshake, so it follows at once.
        run.block_on(until(&late.finished, Duration::from_millis(500)))?;
        let journal = run.journal();
        if journal.requests() > 0 || !journal.unfinished().is_empty() {
            return Err(Violation::new(
                "the request was sent after its call had ended; nothing of it should have been sent",
            ));
        }
        run.round_trip()
    })
}

/// Waits in the stack's runtime, because that may be what sends or closes.
async fn until(signal: &Signal, patience: Duration) {
    let step = Duration::from_millis(10);
    let mut waited = Duration::ZERO;
    while !signal.is_set() && waited < patience {
        pause(step).await;
        waited += step;
    }
}

/// A deadline that is waited for.
const BRIEF: Duration = Duration::from_millis(300);
