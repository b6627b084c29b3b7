use payments_core::model::mask;

use crate::digits::has_check_digit;
use crate::http_text::line;

/// Two secrets, one to a line, and then a text in which they may stand.
pub fn mask_text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (first, rest) = line(text.as_bytes());
    let (second, rest) = line(rest);
    let own = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (first, second, rest) = (own(first), own(second), own(rest));
    let secrets = [first.as_str(), second.as_str()];

    check_masked(&mask(&rest, &secrets), &secrets);
    for secret in &secrets {
        check_masked(&mask(&format!("{rest}{secret}{rest}"), &secrets), &secrets);
    }
}

/// No secret as given is left, and no card number in one piece.
fn check_masked(shown: &str, secrets: &[&str]) {
    if !secrets.iter().any(|secret| may_meet_a_mark(secret)) {
        for secret in secrets.iter().filter(|secret| secret.len() >= 8) {
            assert!(!shown.contains(secret), "{secret:?} is left in {shown:?}");
        }
    }
    let mut before = "";
    for run in shown.split_inclusive(|letter: char| !letter.is_ascii_digit()) {
        let digits = run.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        // What stands behind a star counts as the rest of a number that is masked already.
        if !before.ends_with('*') {
            assert!(!is_card_number(digits), "{digits} is left in {shown:?}");
        }
        before = run;
    }
}

fn is_card_number(digits: &str) -> bool {
    let begins_like_none = ["0", "1", "20", "21", "28", "29"];
    (13..=19).contains(&digits.len())
        && !begins_like_none.iter().any(|begin| digits.starts_with(begin))
        && has_check_digit(digits)
}

/// Whether what replaces something may complete the secret: a mark or the stars of a card number. Such a secret was not in
/// the text as given.
fn may_meet_a_mark(secret: &str) -> bool {
    secret.contains('*')
        || secret.contains(MARK)
        || MARK.contains(secret)
        || (1..MARK.len()).any(|at| secret.starts_with(&MARK[at..]) || secret.ends_with(&MARK[..at]))
}

const MARK: &str = "[redacted]";
