//! Keys, references, tokens and transaction ids that look like card numbers.
//!
//! So do one in twenty random numbers of 16 digits, but in a file with mixed-up columns they are cards. They are refused unless
//! a person says with `--ids-are-not-cards` that they are none, or the journal already has the key.

use payments_model::mask;

/// Whether a token, a key or another id looks like a card number.
pub(crate) fn is_like_a_card(id: &str) -> bool {
    mask(id, &[]) != id
}

/// The rule that such an id breaks, as the rest of a sentence that starts with its field.
pub(crate) fn rule(field: &str) -> &'static str {
    match field {
        "TokenId" => "must be a token of the service, never a card number",
        "TransactionId" => "must not be a card number",
        _ => "must not contain a card number",
    }
}

/// The rule, and what to do about an id that is none.
pub(crate) fn refusal(field: &str) -> String {
    format!("{}; {NOT_CARDS}", rule(field))
}

/// What to do about an id that looks like a card number and is none.
pub(crate) const NOT_CARDS: &str = "if it only looks like one, give --ids-are-not-cards";
