use payments_core::model::mask;

use crate::digits::has_check_digit;
use crate::http_text::line;

/// Two secrets, one per line, followed by a text that may contain them.
pub(crate) fn mask_text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (first, rest) = line(text.as_bytes());
    let (second, rest) = line(rest);
    let owned = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (first, second, rest) = (owned(first), owned(second), owned(rest));
    let secrets = [first.as_str(), second.as_str()];

    check_masked(&mask(&rest, &secrets), &secrets);
    for secret in &secrets {
        check_masked(&mask(&format!("{rest}{secret}{rest}"), &secrets), &secrets);
    }
}

/// No exact secret is left, and no card number in one piece.
fn check_masked(shown: &str, secrets: &[&str]) {
    if !secrets.iter().any(|secret| may_contain_a_mask(secret)) {
        for secret in secrets.iter().filter(|secret| secret.len() >= 8) {
            assert!(!shown.contains(secret), "{secret:?} is left in {shown:?}");
        }
    }
    let mut before = "";
    for run in shown.split_inclusive(|letter: char| !letter.is_ascii_digit()) {
        let digits = run.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        // Digits after an asterisk are the rest of a number that is already masked.
        if !before.ends_with('*') {
            assert!(!is_card_number(digits), "{digits} is left in {shown:?}");
        }
        before = run;
    }
}

fn is_card_number(digits: &str) -> bool {
    let issuers = ["22", "23", "24", "25", "26", "27", "3", "4", "5", "6", "81", "82"];
    (13..=19).contains(&digits.len())
        && issuers.iter().any(|prefix| digits.starts_with(prefix))
        && has_check_digit(digits)
}

/// Whether masking itself may produce the secret, with `[redacted]` or the asterisks of a card number. Such a secret was not
/// in the original text.
fn may_contain_a_mask(secret: &str) -> bool {
    secret.contains('*')
        || secret.contains(MARK)
        || MARK.contains(secret)
        || (1..MARK.len()).any(|at| secret.starts_with(&MARK[at..]) || secret.ends_with(&MARK[..at]))
}

const MARK: &str = "[redacted]";
