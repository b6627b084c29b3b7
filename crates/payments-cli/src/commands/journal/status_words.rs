//! Words with which reports and people say that a payment was not made or not kept.

/// Of a payment that was made and given back, or will be.
const UNDONE: [&str; 14] = [
    "canceled",
    "cancellation",
    "cancelled",
    "chargeback",
    "chargedback",
    "dispute",
    "disputed",
    "refund",
    "refunded",
    "refunds",
    "reversal",
    "reversed",
    "void",
    "voided",
];

/// Of a payment that was not made, or not yet.
const NOT_MADE: [&str; 14] = [
    "abandoned",
    "blocked",
    "decline",
    "declined",
    "denied",
    "error",
    "expired",
    "fail",
    "failed",
    "failure",
    "pending",
    "refused",
    "rejected",
    "unpaid",
];

/// A word in a cell that contradicts a payment that was made and kept.
pub(super) fn against_a_charge(cell: &str) -> Option<&'static str> {
    of_undoing(cell).or_else(|| first_of(&NOT_MADE, cell))
}

/// A word in a cell that contradicts a payment that was kept.
pub(super) fn of_undoing(cell: &str) -> Option<&'static str> {
    first_of(&UNDONE, cell)
}

fn first_of(words: &[&'static str], cell: &str) -> Option<&'static str> {
    let cell = cell.to_lowercase();
    let mut in_cell = cell.split(|letter: char| !letter.is_alphanumeric());
    in_cell.find_map(|word| words.iter().copied().find(|it| *it == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case_and_only_whole() {
        for (cell, against, undone) in [
            ("Declined", Some("declined"), None),
            ("DECLINED (05)", Some("declined"), None),
            ("payment_failed", Some("failed"), None),
            ("Refund", Some("refund"), Some("refund")),
            ("partially-refunded", Some("refunded"), Some("refunded")),
            ("Approved", None, None),
            ("avoided", None, None),
            ("errors: 0", None, None),
            ("", None, None),
        ] {
            assert_eq!((against_a_charge(cell), of_undoing(cell)), (against, undone), "{cell}");
        }
    }
}
