//! An earlier charge that may be the same payment under another key: a key that is made anew for each try protects nobody.

use payments_core::Facts;
use payments_journal::{Intent, IntentKey, IntentState, Subject};

/// Whether the intent, under another key and with an open outcome, has the same token, amount and reference. Two payments without a
/// reference are never the same: nothing tells two equal sales apart.
pub(crate) fn is_open_elsewhere(intent: &Intent, service: &str, key: &IntentKey, facts: &Facts<'_>) -> bool {
    let request = &intent.request;
    intent.is_unresolved()
        && intent.key != *key
        && intent.is_of(service)
        && has_reference(facts)
        && request.reference.as_deref() == facts.reference
        && request.amount == facts.amount
        && request.operation() == Some(facts.operation)
        && matches!(&request.subject, Subject::Token(token) if Some(token) == facts.token_id)
}

/// Whether the payment has a reference that tells it apart from others.
pub(crate) fn has_reference(facts: &Facts<'_>) -> bool {
    facts.reference.is_some_and(|reference| !reference.trim().is_empty())
}

/// What is open, and what to do about it.
pub(crate) fn open_elsewhere(intent: &Intent) -> [String; 2] {
    let key = &intent.key;
    let state = if matches!(intent.state, IntentState::Sending) { "being sent now" } else { "unknown" };
    [
        format!(
            "a charge with this token, amount and ReferenceNo is {state} under the key {key}, and may have been processed"
        ),
        format!(
            "find out what became of {key} and resolve it first, with `payments journal resolve`; if this is another payment, give \
             it another ReferenceNo"
        ),
    ]
}
