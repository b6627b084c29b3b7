//! Words and columns with which reports and people say that a payment was not made or not kept.

/// Of a payment that was made and given back, or will be.
const UNDONE: [&str; 15] = [
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
    "undone",
    "void",
    "voided",
];

/// Of a payment that was not made, or not yet.
const NOT_MADE: [&str; 16] = [
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
    "unapproved",
    "unpaid",
    "unsuccessful",
];

/// A word in a cell that contradicts a payment that was made and kept.
pub(super) fn against_a_charge(cell: &str) -> Option<&'static str> {
    words(cell).find_map(|word| UNDONE.into_iter().chain(NOT_MADE).find(|it| *it == word))
}

/// Whether a status cannot mean that money moved, whatever a person says. A pending one can.
pub(super) fn is_no_charge(status: &str) -> bool {
    let is_against = |word: String| word != "pending" && against_a_charge(&word).is_some();
    words(status).next().is_some_and(|word| word == "not") || words(status).any(is_against)
}

fn words(cell: &str) -> impl Iterator<Item = String> {
    let words = cell.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}

/// Whether a column says what became of a payment, in words that only a person knows. The status of a customer or an address says
/// nothing about it, and what went wrong has a column of its own.
pub(super) fn is_status_column(heading: &str) -> bool {
    let letters = letters(heading);
    let names = ["decision", "disposition", "estado", "outcome", "response", "result", "status", "statut"];
    let is_misspelt_verdict = letters.len() <= 9 && letters.starts_with("ver") && letters.ends_with('t');
    let is_one = names.iter().any(|name| letters.contains(name))
        || letters.ends_with("state")
        || letters.ends_with("stato")
        || is_misspelt_verdict;
    is_one && !is_of_something_else(&letters) && !is_trouble(&letters)
}

/// The word by which a cell says that a payment was not made or not kept. A column of what went wrong, such as `Failure Message`,
/// says so unless the cell is empty, zero or a plain no; a column of a success, such as `Captured`, says so if it is. Elsewhere one of the
/// words says so, but in a remark only if it is the whole cell.
pub(super) fn against_in_column(heading: &str, cell: &str) -> Option<&'static str> {
    let letters = letters(heading);
    let word = against_a_charge(cell);
    if is_of_something_else(&letters) || (is_remark(&letters) && !is_trouble(&letters)) {
        return word.filter(|word| cell.trim().eq_ignore_ascii_case(word));
    }
    if let Some(trouble) = TROUBLE.into_iter().find(|trouble| letters.contains(trouble)) {
        return (!is_nothing(cell)).then_some(word.unwrap_or(trouble));
    }
    let is_success = SUCCESS.iter().any(|success| letters.contains(success));
    word.or_else(|| (is_success && is_no(cell)).then_some("no"))
}

/// Parts of a heading whose cells say what went wrong.
const TROUBLE: [&str; 12] = [
    "cancel",
    "chargeback",
    "declin",
    "denied",
    "disput",
    "error",
    "fail",
    "refund",
    "refus",
    "reject",
    "revers",
    "void",
];

/// Parts of a heading whose cells say that the payment was made.
const SUCCESS: [&str; 8] = ["accept", "approv", "authori", "captur", "complet", "paid", "settle", "succe"];

fn is_trouble(letters: &str) -> bool {
    TROUBLE.iter().any(|trouble| letters.contains(trouble))
}

/// Checks of a card, and what is no payment.
fn is_of_something_else(letters: &str) -> bool {
    let others = [
        "3d", "address", "avs", "billing", "country", "customer", "cvc", "cvv", "fulfil", "order", "shipping",
    ];
    others.iter().any(|other| letters.contains(other))
}

fn is_remark(letters: &str) -> bool {
    ["comment", "descri", "memo", "note", "remark"].iter().any(|remark| letters.contains(remark))
}

/// In lower case, without white space and signs.
fn letters(heading: &str) -> String {
    heading.chars().filter(|it| it.is_alphanumeric()).collect::<String>().to_lowercase()
}

/// Whether a cell is empty, zero, or a no.
fn is_nothing(cell: &str) -> bool {
    let noes = ["", "f", "false", "n", "na", "nein", "never", "no", "non", "none", "null"];
    let letters = letters(cell);
    // `0.00 EUR` is zero, and a sentence with a zero is none.
    let is_zero =
        letters.contains('0') && letters.trim_matches(char::is_alphabetic).trim_matches('0').is_empty();
    noes.contains(&&*letters) || (is_zero && letters.chars().filter(|it| it.is_alphabetic()).count() <= 3)
}

/// The same, or a sentence such as `not yet`.
fn is_no(cell: &str) -> bool {
    is_nothing(cell) || words(cell).next().is_some_and(|word| ["nein", "no", "not"].contains(&&*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case_and_only_whole() {
        for (cell, against, no_charge) in [
            ("Declined", Some("declined"), true),
            ("DECLINED (05)", Some("declined"), true),
            ("payment_failed", Some("failed"), true),
            ("Refund", Some("refund"), true),
            ("partially-refunded", Some("refunded"), true),
            ("Unsuccessful", Some("unsuccessful"), true),
            ("Not approved", None, true),
            ("Pending", Some("pending"), false),
            ("pending, failed", Some("pending"), true),
            ("Approved", None, false),
            ("avoided", None, false),
            ("errors: 0", None, false),
            ("", None, false),
        ] {
            assert_eq!((against_a_charge(cell), is_no_charge(cell)), (against, no_charge), "{cell}");
        }
    }

    #[test]
    fn column_is_a_status_by_a_part_of_its_heading() {
        for heading in [
            "Status",
            "State",
            "Payment Status",
            "PaymentState",
            "Result_Code",
            "Outcome",
            "Decision",
            "Processor Response",
            "Estado",
            "Statut du paiement",
            "Stato",
            "Verdikt",
            "Veredict",
        ] {
            assert!(is_status_column(heading), "{heading}");
        }
        for heading in [
            "AVS Status",
            "CVV result",
            "Order status",
            "Billing State",
            "Statement",
            "Refund Status",
            "Decline response",
            "Approved",
            "Type",
            "Version",
        ] {
            assert!(!is_status_column(heading), "{heading}");
        }
    }

    #[test]
    fn column_says_what_went_wrong_or_right() {
        for (heading, cell, against) in [
            ("Approved", "No", Some("no")),
            ("IsCaptured", "FALSE", Some("no")),
            ("Paid", "", Some("no")),
            ("Amount captured", "0.00 EUR", Some("no")),
            ("Amount captured", "10.50 EUR", None),
            ("Success", "not yet", Some("no")),
            ("Success", "1", None),
            ("FailureMessage", "Insufficient funds", Some("fail")),
            ("Error", "card_declined", Some("declined")),
            ("Error", "n/a", None),
            ("Error", "No such card", Some("error")),
            ("Decline reason", "Not sufficient funds", Some("declin")),
            ("Error code", "00", None),
            ("Refunded", "9.00", Some("refund")),
            ("Refunded", "0.00", None),
            ("Refunded", "-", None),
            ("Refunded", "No", None),
            ("Note", "asked for a refund", None),
            ("Note", "Refunded", Some("refunded")),
            ("Refund note", "on request", Some("refund")),
            ("AVS result", "failed twice", None),
            ("Type", "Refund of sale", Some("refund")),
            ("Type", "Sale", None),
        ] {
            assert_eq!(against_in_column(heading, cell), against, "{heading}: {cell}");
        }
    }
}
