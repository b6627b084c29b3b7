//! An earlier charge that may be the same payment under another key: a key that is made anew for each try, or that a spreadsheet or a
//! person has spelled anew, protects nobody.

use payments_journal::{Intent, IntentKey, IntentRequest, Subject};

use crate::report::advice::keys;
use crate::spreadsheet::{is_exact_variant, is_variant};

/// Why a payment with this key is not sent, and what to do about it: the journal has the intent for the same with another key, or its
/// outcome is open.
pub(crate) fn why_not_sent(
    intent: &Intent,
    service: &str,
    key: &IntentKey,
    payment: &IntentRequest,
) -> Option<[String; 2]> {
    if intent.key == *key || !intent.is_of(service) || intent.moved_nothing() {
        return None;
    }
    in_another_spelling(intent, key, payment).or_else(|| open(intent, payment))
}

/// The intent is for the same with another key: a spreadsheet or a person has changed it, or the column Key, without which the
/// reference is the key, was added or removed.
fn in_another_spelling(intent: &Intent, key: &IntentKey, payment: &IntentRequest) -> Option<[String; 2]> {
    let is_lost = match intent.request.subject {
        Subject::Lost => true,
        Subject::Token(_) => false,
        _ => return None,
    };
    let (recorded, given) = (intent.request.reference.as_deref(), payment.reference.as_deref());
    let [old_key, key] = [&intent.key, key].map(IntentKey::as_str);
    // Only the key of a lost charge is known, so keys that may be rounded are no evidence.
    let is_variant = if is_lost { is_exact_variant(old_key, key) } else { is_variant(old_key, key) };
    let is_reference = |reference: Option<&str>, key| reference.is_some_and(|it| is_exact_variant(it, key));
    let is_same = (is_variant || is_reference(recorded, key) || is_reference(given, old_key))
        && (is_lost || is_same_reference(recorded, given))
        && intent.differences(payment).is_empty();
    let what = match given {
        _ if is_lost => "which may have been sent in a lost time,",
        Some(_) => "with this ReferenceNo, token and amount",
        None => "with this token and amount",
    };
    let otherwise =
        if is_variant { "use a key that is clearly another" } else { "give it another ReferenceNo" };
    is_same.then(|| keys::in_another_spelling(intent, what, otherwise))
}

/// Whether two references are one, maybe in two spellings.
pub(crate) fn is_same_reference(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one == other || is_variant(one, other),
        (one, other) => one == other,
    }
}

/// The outcome of the intent is open, and it has the same token, amount and reference. Two payments without a reference are never the
/// same: nothing tells two equal sales apart.
fn open(intent: &Intent, payment: &IntentRequest) -> Option<[String; 2]> {
    let request = &intent.request;
    let is_same = intent.is_unresolved()
        && payment.reference.as_ref().is_some_and(|reference| !reference.trim().is_empty())
        && request.reference == payment.reference
        && request.amount == payment.amount
        && request.operation() == payment.operation()
        && matches!(&request.subject, Subject::Token(_))
        && request.subject == payment.subject;
    is_same.then(|| keys::open(intent))
}
