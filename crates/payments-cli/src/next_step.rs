//! What a person does after an unknown outcome, with the command ready to paste.

use std::borrow::Cow;

use payments_model::TransactionId;

/// The next step as a clause, with the whole command if an id is known. Otherwise a person must search the service's
/// records, because the interface has neither a search nor a list.
pub(crate) fn after_unknown(known: Option<&TransactionId>, search_by: &str) -> String {
    match known {
        Some(id) => format!("look it up: {}", look_up(id)),
        None => format!("reconcile by {search_by}"),
    }
}

/// The command that looks up a transaction, ready to paste. The id must be one that can be looked up.
pub(crate) fn look_up(id: &TransactionId) -> String {
    let separator = if id.as_str().starts_with('-') { "-- " } else { "" };
    format!("payments transaction get {separator}{}", shell_word(id.as_str()))
}

/// Quotes a key or an id for a shell if it needs quotes.
pub(crate) fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/@+=,%".contains(&byte);
    if text.bytes().all(is_plain) { text.into() } else { format!("'{}'", text.replace('\'', r"'\''")).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup_command_does_not_take_its_id_for_an_option() {
        let step = |text| after_unknown(Some(&TransactionId::new(text).unwrap()), "time");
        assert_eq!(step("txn_1"), "look it up: payments transaction get txn_1");
        assert_eq!(step("--output=json"), "look it up: payments transaction get -- --output=json");
        assert_eq!(after_unknown(None, "token and time"), "reconcile by token and time");
    }
}
