//! No byte of the request ever left: the caller may be told so, and should be.

use crate::contract::Contract;
use crate::script::Act;
use crate::{Stack, Verdict};

/// Nobody listens at the server's port.
///
/// The call is `NotProcessed`: whoever says `Unknown` here turns every outage of the service into a pile of payments
/// that a person has to look up.
pub fn refused_is_not_processed(stack: &impl Stack) -> Verdict {
    Contract::as_data("refused_is_not_processed", NOTHING_LEFT).check(stack, |stage| {
        stage.scripted("nobody listens at its port", [Act::Refuse], |trial| {
            trial.send(trial.charge())?.must_be_not_processed()?;
            Ok(())
        })
    })
}

const NOTHING_LEFT: &str = "nothing was sent, and the transport can know it. Without the proof the caller must treat \
     the payment as possibly taken, and a person has to look it up";
