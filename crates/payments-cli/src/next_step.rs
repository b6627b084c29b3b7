//! What to do about a payment or a void whose outcome is unknown.

use payments_model::TransactionId;

use crate::call_error::CallError;

/// The transaction of an answer, if a look-up takes its id.
pub(crate) fn to_look_up(error: &impl CallError) -> Option<TransactionId> {
    error.transaction_id().filter(|id| id.path_segment().is_ok()).cloned()
}

/// The step as a clause, with the whole command where an id is known. Where none is, a person searches the service's records:
/// the interface has neither a search nor a list.
pub(crate) fn after_unknown(known: Option<&TransactionId>, search_by: &str) -> String {
    match known {
        Some(id) => format!("look it up: {}", look_up(id)),
        None => format!("reconcile by {search_by}"),
    }
}

/// The command that looks a transaction up, ready to paste. Its id must be one that a look-up takes.
pub(crate) fn look_up(id: &TransactionId) -> String {
    let separator = if id.as_str().starts_with('-') { "-- " } else { "" };
    format!("payments transaction get {separator}{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_whole_and_takes_its_id_for_no_option() {
        let step = |text| after_unknown(Some(&TransactionId::new(text).unwrap()), "time");
        assert_eq!(step("txn_1"), "look it up: payments transaction get txn_1");
        assert_eq!(step("--output=json"), "look it up: payments transaction get -- --output=json");
        assert_eq!(after_unknown(None, "token and time"), "reconcile by token and time");
    }
}
