//! The request was read, and the answer never came: the one situation in which a charge is sent twice or lost.

use crate::breach::Breach;
use crate::charge::Charge;
use crate::contract::{Contract, Stage};
use crate::script::Act;
use crate::seen::Seen;
use crate::trial::Trial;
use crate::{Stack, Verdict};

/// The server reads the whole request and closes the connection.
///
/// It may have booked the payment before. The call is `Unknown`, on a new connection and on one that has served before,
/// and the request arrives once: a client that opens another connection charges the card twice.
pub fn fin_after_the_request_is_unknown(stack: &impl Stack) -> Verdict {
    Contract::as_data("fin_after_the_request_is_unknown", MAY_BE_BOOKED).check(stack, |stage| {
        new_and_reused(
            stage,
            "reads the whole request, then closes the connection",
            &Act::Close,
            |trial, seen| {
                seen.must_be_unknown()?;
                trial.must_have_arrived_once(&seen.id)
            },
        )
    })
}

/// The server reads the whole request and resets the connection.
///
/// To the client's socket this looks like a connection that never worked, and some stacks file it under "connect". The
/// call is `Unknown`, and the request arrives once.
pub fn reset_after_the_request_is_unknown(stack: &impl Stack) -> Verdict {
    Contract::as_data("reset_after_the_request_is_unknown", MAY_BE_BOOKED).check(stack, |stage| {
        new_and_reused(
            stage,
            "reads the whole request, then resets the connection",
            &Act::Reset,
            |trial, seen| {
                seen.must_be_unknown()?;
                trial.must_have_arrived_once(&seen.id)
            },
        )
    })
}

/// Checks what a call gives whose request meets this act, on a new connection and on one that has served before.
fn new_and_reused<S: Stack>(
    stage: &Stage<'_, S>,
    what: &str,
    act: &Act,
    judge: impl Fn(&Trial<'_, S>, &Seen) -> Result<(), Breach>,
) -> Result<(), Breach> {
    new_and_reused_with(stage, what, act, |charge| charge, judge)
}

fn new_and_reused_with<S: Stack>(
    stage: &Stage<'_, S>,
    what: &str,
    act: &Act,
    prepare: impl Fn(Charge) -> Charge,
    judge: impl Fn(&Trial<'_, S>, &Seen) -> Result<(), Breach>,
) -> Result<(), Breach> {
    stage.scripted(what, [act.clone()], |trial| {
        let seen = trial.send(prepare(trial.charge()))?;
        judge(trial, &seen)
    })?;
    let what = format!("answers a first request; of the second it {what}");
    stage.scripted(&what, [Act::Echo, act.clone()], |trial| {
        trial.warm_up()?;
        let seen = trial.send(prepare(trial.charge()))?;
        judge(trial, &seen)
    })
}

const MAY_BE_BOOKED: &str = "the server may have booked the payment before the connection ended. \"Not processed\" \
     would let the caller charge again; only \"unknown\" makes it look the payment up";
