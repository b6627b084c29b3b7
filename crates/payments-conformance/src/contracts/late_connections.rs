//! The connection stands when its call has ended: nothing may be sent on it any more.

use std::time::Duration;

use crate::breach::Breach;
use crate::charge::AMPLE;
use crate::contract::{Contract, Stage};
use crate::conversation::Conversation;
use crate::server::Greeting;
use crate::situations::{NOT_LONG, pause};
use crate::switch::Switch;
use crate::trial::Trial;
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
    Contract::new(name, why).needs(Ability::Https).check(stack, |stage| {
        for (deadline, connect, total) in [("connect", BRIEF, AMPLE), ("total", AMPLE, BRIEF)] {
            let what =
                format!("begins the TLS handshake after the call has ended with its {deadline} deadline");
            late_handshake(stage, &what, |trial, late| {
                let seen = trial.send(trial.charge().connect(connect).total(total))?;
                late.ended.throw();
                seen.must_fail().map(drop)
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
    Contract::new(name, why).needs(Ability::Https).needs(Ability::Cancel).check(stack, |stage| {
        let what = "begins the TLS handshake after the caller has dropped the call";
        late_handshake(stage, what, |trial, late| {
            drop_when(trial, &late.accepted, trial.charge())?;
            late.ended.throw();
            Ok(())
        })
    })
}

/// The steps of a handshake that the server delays.
#[derive(Clone, Default)]
struct Late {
    /// The server accepted the TCP connection.
    accepted: Switch,
    /// The call has ended.
    ended: Switch,
    /// The handshake was completed, or the client closed the connection before that.
    tried: Switch,
    /// A request arrived, or the client closed the connection.
    seen: Switch,
}

/// Runs one call whose handshake the server begins when the call has ended. Nothing of its request may arrive, and the
/// next call must be served.
fn late_handshake<S: Stack>(
    stage: &Stage<'_, S>,
    what: &str,
    call: impl Fn(&Trial<'_, S>, &Late) -> Result<(), Breach>,
) -> Result<(), Breach> {
    let late = Late::default();
    let steps = late.clone();
    let script = move |connection: &mut Conversation| {
        if connection.index() > 0 {
            return connection.serve();
        }
        steps.accepted.throw();
        steps.ended.wait(NOT_LONG);
        if connection.handshake() {
            connection.note("the TLS handshake was completed after the call had ended");
        }
        steps.tried.throw();
        let request = connection.read_request();
        steps.seen.throw();
        if let Some(request) = request {
            connection.echo(&request);
            connection.serve();
        }
    };
    let greeting = Greeting::Tls(stage.authority.server());
    stage.served_with(greeting, what, script, |trial| {
        call(trial, &late)?;
        trial.block_on(until(&late.tried, 2 * NOT_LONG))?;
        // A request that is still to be sent needs no more than the handshake, so it follows at once.
        trial.block_on(until(&late.seen, Duration::from_millis(500)))?;
        let journal = trial.journal();
        if journal.requests() > 0 || !journal.unfinished().is_empty() {
            return Err(Breach::new(
                "the request was sent after its call had ended; nothing of it should have been sent",
            ));
        }
        trial.round_trip()
    })
}

/// Waits in the stack's runtime, because that may be what sends or closes.
async fn until(switch: &Switch, patience: Duration) {
    let step = Duration::from_millis(10);
    let mut waited = Duration::ZERO;
    while !switch.is_thrown() && waited < patience {
        pause(step).await;
        waited += step;
    }
}

/// A deadline that is waited for.
const BRIEF: Duration = Duration::from_millis(300);
