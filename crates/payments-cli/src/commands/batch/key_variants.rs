//! Keys that differ only as spreadsheets and people change them.

/// Whether a spreadsheet or a person may have made one key of the other.
pub(super) fn is_variant(one: &str, other: &str) -> bool {
    let is_rounded = |key| exact_form(key) == plain_form(key);
    plain_form(one) == plain_form(other)
        && (is_exact_variant(one, other) || is_rounded(one) || is_rounded(other))
}

/// The same, but no digit is lost.
pub(super) fn is_exact_variant(one: &str, other: &str) -> bool {
    exact_form(one) == exact_form(other)
}

/// The form that all variants of a key share: `Inv-5` and `inv-5`; of a number `0017` and `17`, `12.10` and `12.1`,
/// `1234567890123456` and `1234567890123450`. Spreadsheets remove the zeros before a number and after its decimals, and keep 15
/// digits. People change cases, and copy other signs for a hyphen or a space.
pub(super) fn plain_form(key: &str) -> String {
    let mut form = exact_form(key);
    let (whole, decimals) = form.split_once('.').unwrap_or((&form, ""));
    if is_number(&form) && whole.len() > DIGITS {
        let (kept, lost) = whole.split_at(DIGITS);
        let decimals = if decimals.is_empty() { String::new() } else { format!(".{decimals}") };
        form = format!("{kept}{}{decimals}", "0".repeat(lost.len()));
    }
    form
}

/// Spreadsheets keep so many digits of a number.
const DIGITS: usize = 15;

fn exact_form(key: &str) -> String {
    let text = plain_text(key);
    if !is_number(&text) {
        return text;
    }
    let whole = text.trim_start_matches('0');
    let whole = if whole.contains('.') { whole.trim_end_matches('0').trim_end_matches('.') } else { whole };
    if whole.is_empty() || whole.starts_with('.') { format!("0{whole}") } else { whole.to_owned() }
}

/// Digits, and others after a decimal point if there is one.
fn is_number(text: &str) -> bool {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    [whole, decimals]
        .iter()
        .all(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// In lower case, with plain hyphens, and with no spaces but one between two digits.
fn plain_text(key: &str) -> String {
    let mut plain = String::with_capacity(key.len());
    let mut is_after_space = false;
    for sign in key.chars().filter(|sign| !is_invisible(*sign)) {
        if sign.is_whitespace() {
            is_after_space = true;
            continue;
        }
        if is_after_space && sign.is_ascii_digit() && plain.ends_with(|before: char| before.is_ascii_digit())
        {
            plain.push(' ');
        }
        is_after_space = false;
        match sign {
            '\u{2010}'..='\u{2015}' | '\u{2212}' => plain.push('-'),
            _ => plain.extend(sign.to_lowercase()),
        }
    }
    plain
}

/// Signs without width, which no screen shows.
const fn is_invisible(sign: char) -> bool {
    matches!(sign, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_share_a_form_and_other_keys_do_not_d53() {
        for (key, variants) in [
            ("0017", &["17", "017", "17.0", "17.00"][..]),
            ("12.10", &["12.1", "012.1"]),
            ("0.50", &["0.5", "00.5"]),
            ("1234567890123456", &["1234567890123450", "01234567890123450"]),
            ("12345678901234567890", &["12345678901234500000"]),
            ("Inv-5", &["inv-5", "INV-5", "Inv\u{2011}5", "Inv-\u{200b}5", "Inv\u{a0}-5", "inv\u{2212}5"]),
            ("order 2026-01-07", &["Order 2026-01-07", "order2026-01-07", "order\u{a0}2026\u{2013}01-07"]),
            ("0", &["00", "0.0"]),
        ] {
            for variant in variants {
                assert!(is_variant(key, variant) && is_variant(variant, key), "{key} {variant}");
            }
        }
        let others = [
            "17",
            "170",
            "1.7",
            "17a",
            "a17",
            "a017",
            "1-7",
            "-17",
            "1 7",
            "12.1",
            "12.01",
            "1.2.10",
            "1.2.1",
            "sub7-2026.1",
            "sub7-2026.10",
            "sub 1 11",
            "sub 11 1",
            "123456789012345",
            "12345678901234560",
            "1234567890123456",
            "1234567890123457",
            "ord-1234567890123456",
            "ord-1234567890123450",
            "inv-5",
            "inv5",
            "inv_5",
            "",
        ];
        for (index, one) in others.iter().enumerate() {
            for other in &others[index + 1..] {
                assert!(!is_variant(one, other), "{one} {other}");
            }
        }
        assert!(!is_exact_variant("1234567890123456", "1234567890123450"));
    }
}
