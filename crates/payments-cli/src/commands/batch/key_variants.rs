//! Keys that differ only as spreadsheets and people change them.

/// Whether a spreadsheet or a person may have made one key of the other. Keys that differ only after their fifteenth digit are
/// variants if one of them has zeros there.
pub(super) fn is_variant(one: &str, other: &str) -> bool {
    let exact = |key| form(key, usize::MAX);
    plain_form(one) == plain_form(other)
        && (exact(one) == exact(other) || [one, other].into_iter().any(|key| exact(key) == plain_form(key)))
}

/// The form that all variants of a key share: `Inv-0017` and `inv-17`, `12.10` and `12.1`, `1234567890123456` and
/// `1234567890123450`. Spreadsheets remove zeros in front of a number and at the end of its decimals, and keep 15 digits; people
/// change cases, and copy other signs for a hyphen or a space.
pub(super) fn plain_form(key: &str) -> String {
    form(key, DIGITS)
}

/// Numbers have this many digits, and zeros after them.
fn form(key: &str, digits: usize) -> String {
    let mut plain = String::with_capacity(key.len());
    let mut rest = key;
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_digit() {
            let (whole, decimals, after) = number(rest, plain.ends_with('.'));
            push_number(&mut plain, whole, decimals, digits);
            rest = after;
        } else {
            match first {
                _ if first.is_whitespace() || is_invisible(first) => {}
                '\u{2010}'..='\u{2015}' | '\u{2212}' => plain.push('-'),
                _ => plain.extend(first.to_lowercase()),
            }
            rest = &rest[first.len_utf8()..];
        }
    }
    plain
}

/// The digits at the beginning, those behind a decimal point, and what follows. Of several points, as in a version or a date, none
/// is a decimal point.
fn number(text: &str, is_after_point: bool) -> (&str, &str, &str) {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, after) = text.split_at(digits(text));
    if let Some(tail) = after.strip_prefix('.').filter(|_| !is_after_point) {
        let (decimals, after_decimals) = tail.split_at(digits(tail));
        if !decimals.is_empty() && !after_decimals.starts_with('.') {
            return (whole, decimals, after_decimals);
        }
    }
    (whole, "", after)
}

/// Spreadsheets keep so many digits of a number.
const DIGITS: usize = 15;

fn push_number(plain: &mut String, whole: &str, decimals: &str, digits: usize) {
    let whole = whole.trim_start_matches('0');
    let kept = whole.len().min(digits);
    plain.push_str(&whole[..kept]);
    plain.extend(std::iter::repeat_n('0', whole.len() - kept));
    if whole.is_empty() {
        plain.push('0');
    }
    let decimals = decimals.trim_end_matches('0');
    if !decimals.is_empty() {
        plain.push('.');
        plain.push_str(decimals);
    }
}

/// Signs without width, which no screen shows.
const fn is_invisible(sign: char) -> bool {
    matches!(sign, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::is_variant;

    #[test]
    fn variants_share_a_form_and_other_keys_do_not_d53() {
        for (key, variants) in [
            ("0017", &["17", "017", "17.0", "17.00"][..]),
            ("12.10", &["12.1", "012.1"]),
            ("1234567890123456", &["1234567890123450", "01234567890123450"]),
            ("12345678901234567890", &["12345678901234500000"]),
            ("Inv-5", &["inv-5", "INV-05", "Inv\u{2011}5", "Inv-\u{200b}5", "Inv\u{a0}-5", "inv\u{2212}5"]),
            ("order 2026-01-07", &["Order 2026-1-7", "order2026-01-07"]),
            ("v1.02.3", &["V1.2.3"]),
            ("0", &["00", "0.0"]),
            ("Straße", &["straße"]),
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
            "1-7",
            "-17",
            "12.1",
            "12.01",
            "1.2.10",
            "1.2.1",
            "123456789012345",
            "12345678901234560",
            "1234567890123456",
            "1234567890123457",
            "inv-5",
            "inv5",
            "inv_5",
            "sub-2026-10",
            "sub-2026-11",
            "",
        ];
        for (index, one) in others.iter().enumerate() {
            for other in &others[index + 1..] {
                assert!(!is_variant(one, other), "{one} {other}");
            }
        }
    }
}
