//! The words about a charge with a key that was not sent now, or that was sent before: what they mean for the money, and what to do.

use payments_journal::{Intent, IntentState};

use crate::failure::Situation;
use crate::report::advice::shell_word;

/// The end of a message about a call whose journal could not be opened: an earlier call may have paid.
pub(crate) const fn earlier_call(situation: Situation, is_interrupted: bool) -> &'static str {
    match situation {
        // The message about the signal already says that nothing was sent.
        _ if is_interrupted => {
            "an earlier call with this key may have paid: if so, the same command shows its result and sends nothing"
        }
        Situation::NoJournal => "an earlier call with this key may have paid: do not pay it another way",
        _ => {
            "nothing was sent now: an earlier call with this key may have paid, so run the same command again when the \
             journal is available"
        }
    }
}

/// The same of a run: it sent nothing, but only the journal knows what earlier runs have sent.
pub(crate) const EARLIER_RUNS: &str =
    "earlier runs may have paid rows of this file: do not pay them another way";

/// A run panicked, and has no summary.
pub(crate) const RUN_LOST: &str = "internal error after charges may have been sent; their outcomes may be unknown: do not pay them \
     another way, see `payments journal list --unresolved`, then run the same command again";

/// What sends a rejected key again.
pub(crate) const NEW_ATTEMPT: &str = "to make a new attempt with this key, give --after-rejection";

/// What to do about a key of another service.
pub(crate) fn of_other_service(recorded: &str, called: &str) -> String {
    if recorded.split('#').next() == called.split('#').next() {
        let merchant = match recorded.split_once('#') {
            Some((_, label)) => format!("give --merchant {}", shell_word(label)),
            None => "leave --merchant and PAYMENTS_MERCHANT out".to_owned(),
        };
        return format!("only the merchant differs: if it is a payment of the key's merchant, {merchant}");
    }
    "if it is the same service under another name, or a mistake that moved no money: payments journal rename-service OLD NEW"
        .to_owned()
}

/// What the journal has for the same under another key, and what to do. `what` says what is the same, and `otherwise` what to do about
/// another payment.
pub(crate) fn in_another_spelling(intent: &Intent, what: &str, otherwise: &str) -> [String; 2] {
    [
        format!("a charge {what} is in the journal under the key {}", intent.key),
        format!(
            "if it is the same, write that key, because with another one it would be charged again; else {otherwise}"
        ),
    ]
}

/// The same about one whose outcome is open.
pub(crate) fn open(intent: &Intent) -> [String; 2] {
    let key = &intent.key;
    let state = if matches!(intent.state, IntentState::Sending) { "being sent now" } else { "unknown" };
    [
        format!(
            "a charge with this token, amount and ReferenceNo is {state} under the key {key}, and may have been processed"
        ),
        format!(
            "find out what became of {key} and resolve it first, with `payments journal resolve`; if this is another payment, \
             give it another ReferenceNo"
        ),
    ]
}
