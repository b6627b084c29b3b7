//! The call has ended but its connection is still open: nothing more may be sent on it.

use std::time::Duration;

use crate::connection::Connection;
use crate::contract::{Contract, own_name};
use crate::harness::Harness;
use crate::server::Security;
use crate::signal::{Signal, cancel_on};
use crate::situations::{LARGE, MEDIUM, SHORT_WITH_CONNECT, Steps, pause};
use crate::test_request::AMPLE;
use crate::test_run::TestRun;
use crate::violation::{Violation, ensure};
use crate::{Ability, AnyStack, Verdict};

use super::connections::drop_when;

/// The server accepts the connection, but begins the TLS handshake only after the call has ended, by its connect deadline or
/// by a shorter total deadline. Then it completes the handshake and waits for a request.
///
/// No part of the request may arrive. The transport may continue to connect in the background and use the connection for a
/// later call, but not for this request.
pub fn a_handshake_after_the_deadline_sends_nothing(stack: &dyn AnyStack) -> Verdict {
    let why = "the caller got NotProcessed and charges again. If the first request is then sent as well, the card is \
               charged twice";
    Contract::over_tls(own_name!(), why).check(stack, |harness| {
        for (deadline, connect, total) in [("connect", BRIEF, AMPLE), ("total", AMPLE, BRIEF)] {
            let what =
                format!("begins the TLS handshake after the call has ended by its {deadline} deadline");
            late_handshake(harness, &what, |run, late| {
                let call = run.send(run.charge().connect(connect).total(total))?;
                late.ended.set();
                call.must_fail().map(drop)
            })?;
        }
        Ok(())
    })
}

/// The caller drops the call once the server has accepted the TCP connection. Then the server completes the TLS handshake
/// and waits for a request.
///
/// No part of the request may arrive.
pub fn a_call_dropped_while_connecting_sends_nothing(stack: &dyn AnyStack) -> Verdict {
    let why = "a caller may drop a call that is still connecting, for example because the customer left. It does not expect \
               a charge after that";
    Contract::over_tls(own_name!(), why).needs(Ability::Cancel).check(stack, |harness| {
        let what = "begins the TLS handshake after the caller has dropped the call";
        late_handshake(harness, what, |run, late| {
            drop_when(run, &late.accepted, run.charge())?;
            late.ended.set();
            Ok(())
        })
    })
}

/// The server reads the beginning of a large request and stops until the call has ended by its total deadline. Then it
/// continues to read.
///
/// The call must be `Unknown`. The rest of the request must not be sent: the connection closes before the server has the
/// whole request.
pub fn a_request_cut_by_the_deadline_is_never_completed(stack: &dyn AnyStack) -> Verdict {
    let why = "after the deadline the caller looks the payment up and does not find it, so the customer pays again. If the \
               first request then completes in the background, the card is charged twice";
    Contract::new(own_name!(), why).check(stack, |harness| {
        let steps = Steps::default();
        let what = "reads the beginning of a large request, and the rest only after the call has ended";
        harness.with_server(what, steps.stop_reading(), |run| {
            let call = run.send(run.charge().padded_to(LARGE).total(SHORT_WITH_CONNECT))?;
            call.must_be_unknown()?;
            steps.go.set();
            // Waits in the stack's runtime, which may be what sends or closes.
            run.block_on(cancel_on(&steps.closed, pause(2 * MEDIUM)))?;
            ensure!(
                steps.closed.is_set(),
                "the connection was still open long after the call had ended; close it when the call ends"
            );
            ensure!(
                dangerous unless steps.read.get() < LARGE,
                "the whole request was sent, most of it after the call's deadline; stop writing when the call ends"
            );
            run.round_trip()
        })
    })
}

/// The steps of a delayed handshake.
#[derive(Clone, Default)]
struct DelayedHandshake {
    /// The server has accepted the TCP connection.
    accepted: Signal,
    /// The call has ended.
    ended: Signal,
    /// The handshake has completed, or the client has closed the connection.
    handshaken: Signal,
    /// A request has arrived, or the client has closed the connection.
    finished: Signal,
}

/// Makes one call whose handshake the server delays until the call has ended. Fails if any part of the request arrives or
/// the next call does not succeed.
fn late_handshake(
    harness: &Harness<'_>,
    what: &str,
    make_call: impl Fn(&TestRun<'_>, &DelayedHandshake) -> Result<(), Violation>,
) -> Result<(), Violation> {
    let late = DelayedHandshake::default();
    let steps = late.clone();
    let script = move |connection: &mut Connection| {
        if connection.index > 0 {
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
        // Waits in the stack's runtime, which may be what sends or closes.
        run.block_on(cancel_on(&late.handshaken, pause(2 * MEDIUM)))?;
        // A pending request needs only the handshake, so it would follow at once.
        run.block_on(cancel_on(&late.finished, pause(Duration::from_millis(500))))?;
        ensure!(
            dangerous unless run.arrivals.requests() == 0 && run.arrivals.unfinished().is_empty(),
            "the request was sent after its call had ended; discard it when the call ends"
        );
        run.round_trip()
    })
}

/// A deadline that the test waits for.
const BRIEF: Duration = Duration::from_millis(300);
