//! Masks secrets and card-like numbers in text from other parties.

mod card_numbers;
mod cut;
mod digits;
mod escapes;
mod names;
mod secrets;
mod unescaped;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

use crate::secret::REDACTED;
use card_numbers::card_numbers;
pub(crate) use card_numbers::{contains_card_number, mask_digits, may_contain_card_number};
pub use cut::without_half_a_secret;
use escapes::{FILLER, readings};
pub(crate) use names::is_secret_name;
use secrets::{LONG_SECRET, is_replaced, may_occur, occurrences};
use unescaped::{DEPTH, unescaped};

/// The text with secrets and card-like numbers masked, so that it can be shown and logged.
///
/// - Each occurrence of one of `secrets` is replaced by `[redacted]`, also if some of its characters are escapes of JSON, HTML, a
///   URL or Rust's `Debug` (`\/`, `\u0034`, `&#x2F;`, `%2F`). A secret of fewer than eight characters is replaced only where no
///   letter or digit is next to it, because `917` is part of many harmless numbers. A secret of fewer than three characters is
///   ignored.
/// - A secret of eight or more digits and no letter is a card or account number. It is also replaced where other separators stand
///   between its digits, or none: any characters except letters and asterisks, also as escapes of JSON, HTML or a URL (`\u00a0`,
///   `&nbsp;`, `%20`).
/// - Other card-like numbers keep only their last four digits. A card-like number has 13 to 19 digits, passes the Luhn check,
///   begins like the number of an issuer (22 to 27, 3, 4, 5, 6, 81 or 82), and is in one piece or in groups of at least
///   three digits with one or two other characters between them. These rules are chosen by this SDK.
///
/// This is a safety net for texts, and **does not catch everything**. It does not find:
///
/// - a secret in another encoding, such as base64;
/// - a card-like number whose digits are escapes, if it is not in `secrets`;
/// - a secret with letters that has separators, or is in another case;
/// - a number with words between its digits, such as `"first": "4242", "second": "4242"`;
/// - the card number of another request, if it fails the Luhn check or has other separators;
/// - an expiry date or a security code that is not in `secrets`.
///
/// A masked text says nothing about whether an id is valid: one in twenty random numbers of 16 digits is card-like.
///
/// ```
/// use payments_model::mask;
///
/// assert_eq!(mask("card 4242 4242 4242 4242, code 917", &["917"]), "card **** **** **** 4242, code [redacted]");
/// assert_eq!(mask("invoice 1793000000000", &[]), "invoice 1793000000000");
/// assert_eq!(mask("card 6200 - 0000 - 0000 - 0006", &["6200000000000006"]), "card [redacted]");
/// ```
pub fn mask<'t>(text: &'t str, secrets: &[&str]) -> Cow<'t, str> {
    let mut masked = Cow::Borrowed(text);
    let is_found = |secret: &&str| may_occur(text, secret) && is_replaced(secret);
    let mut found: Vec<&str> = secrets.iter().copied().filter(is_found).collect();
    let escaped = found_escaped(text, secrets, is_replaced);
    if found.is_empty() && escaped.is_empty() && !may_contain_card_number(text) {
        return masked;
    }
    // Before the digits of a longer secret are taken for a card number.
    redact_escaped(&mut masked, escaped);
    // Longest first: if one secret contains another, the rest of the longer one must not remain.
    found.sort_by_key(|secret| Reverse(secret.len()));
    for &read in readings(text) {
        for secret in &found {
            redact_one(&mut masked, secret, read);
        }
        let ranges = card_numbers(&read(&masked));
        replace(&mut masked, &ranges, |number| mask_digits(&read(number)).replace(FILLER, ""));
    }
    masked
}

/// The text with each occurrence of these secrets replaced by `[redacted]`, and nothing else. Secrets of fewer than eight
/// characters occur by chance and are ignored.
///
/// For an identifier, which [`mask`] could change although it contains no secret.
pub fn redact<'t>(text: &'t str, secrets: &[&str]) -> Cow<'t, str> {
    let mut redacted = Cow::Borrowed(text);
    let is_found = |secret: &&str| secret.len() >= LONG_SECRET && may_occur(text, secret);
    let found: Vec<&str> = secrets.iter().copied().filter(is_found).collect();
    let escaped = found_escaped(text, secrets, |secret| secret.len() >= LONG_SECRET);
    if found.is_empty() && escaped.is_empty() {
        return redacted;
    }
    for &read in readings(text) {
        for secret in &found {
            redact_one(&mut redacted, secret, read);
        }
    }
    redact_escaped(&mut redacted, escaped);
    redacted
}

/// Whether [`redact`] would replace one of these secrets in the text.
pub fn contains_long_secret(text: &str, secrets: &[&str]) -> bool {
    matches!(redact(text, secrets), Cow::Owned(_))
}

/// Whether [`mask`] would replace one of these secrets in the text.
pub fn contains_secret(text: &str, secrets: &[&str]) -> bool {
    let is_written = |secret: &&str| {
        may_occur(text, secret)
            && is_replaced(secret)
            && readings(text).iter().any(|read| !occurrences(&read(text), secret).is_empty())
    };
    secrets.iter().any(is_written) || !found_escaped(text, secrets, is_replaced).is_empty()
}

/// The secrets that occur in the text once its escapes are read.
fn found_escaped<'s>(text: &str, secrets: &[&'s str], is_replaced: fn(&str) -> bool) -> Vec<&'s str> {
    let mut found = Vec::new();
    if secrets.is_empty() {
        return found;
    }
    for read in unescaped(text) {
        let is_found = |secret: &&str| {
            is_replaced(secret)
                && may_occur(&read.text, secret)
                && !occurrences(&read.text, secret).is_empty()
        };
        found.extend(secrets.iter().copied().filter(is_found));
    }
    found
}

fn redact_escaped(text: &mut Cow<'_, str>, mut secrets: Vec<&str>) {
    secrets.sort_by_key(|secret| Reverse(secret.len()));
    secrets.dedup();
    for depth in 0..DEPTH {
        for secret in &secrets {
            let Some(read) = unescaped(text).nth(depth) else { return };
            let ranges = occurrences(&read.text, secret).into_iter();
            let ranges: Vec<_> = ranges.map(|at| read.place(at.start)..read.place(at.end)).collect();
            replace(text, &ranges, |_| REDACTED.to_owned());
        }
    }
}

fn redact_one(text: &mut Cow<'_, str>, secret: &str, read: fn(&str) -> Cow<'_, str>) {
    let ranges = occurrences(&read(text), secret);
    replace(text, &ranges, |_| REDACTED.to_owned());
}

/// Replaces ranges that are sorted and do not overlap.
fn replace(text: &mut Cow<'_, str>, ranges: &[Range<usize>], replacement: impl Fn(&str) -> String) {
    if ranges.is_empty() {
        return;
    }
    let (mut replaced, mut copied_to) = (String::with_capacity(text.len()), 0);
    for range in ranges {
        replaced.push_str(&text[copied_to..range.start]);
        replaced.push_str(&replacement(&text[range.clone()]));
        copied_to = range.end;
    }
    replaced.push_str(&text[copied_to..]);
    *text = Cow::Owned(replaced);
}

#[cfg(test)]
mod tests {
    use super::card_numbers::CARD_DIGITS;
    use super::escapes::with_escapes_read;
    use super::*;
    use crate::card::passes_luhn;

    #[test]
    fn card_number_is_masked_in_any_grouping_d62() {
        let cards =
            ["4007000000027", "4242424242424242", "5555555555554444", "2223000010309703", "378282246310005"];
        let more = ["6011111111111117", "30569309025904", "3530111333300000", "8171999927660000"];
        for card in cards.into_iter().chain(more) {
            for separator in ["", " ", "-", ".", "_", "/", "\u{a0}", " -", "  "] {
                let (first, rest) = card.split_at(4);
                let (second, last) = rest.split_at(rest.len() - 4);
                let grouped = [first, second, last].join(separator);
                for text in
                    [format!("card {grouped}, please"), format!("17 {grouped}"), format!("x{grouped}y")]
                {
                    let masked = mask(&text, &[]);
                    assert_eq!(masked, text.replace(&grouped, &mask_digits(&grouped)), "{text}");
                    assert!(masked.matches('*').count() >= 9);
                    assert_eq!(mask(&masked, &[]), masked);
                }
            }
        }
    }

    #[test]
    fn no_part_of_a_secret_with_a_card_number_and_escapes_remains_d62() {
        let masked = mask(r"key sk_4242424242424242\/x, please", &["sk_4242424242424242/x"]);
        assert_eq!(masked, "key [redacted], please");
    }

    #[test]
    fn own_card_number_is_masked_whatever_stands_for_its_digits_and_separators_d62() {
        let card = "4242424242424242";
        for digit in ["2", "&#50;", "&#x32;", "&#X32;", "%32", r"\u0032"] {
            for separator in ["", " ", "&nbsp;", "&#32;", "&#x20;", "&#X20;", "%20", "%C2%A0", r"\u00a0"] {
                let number = ["4242", &format!("424{digit}"), "4242", "4242"].join(separator);
                for text in [format!("card {number}, please"), format!("<b>{number}</b>")] {
                    let masked = mask(&text, &[card]);
                    assert_ne!(masked, text);
                    assert!(!masked.contains("4242"), "{text}: {masked}");
                }
            }
        }
    }

    #[test]
    fn only_groups_of_three_digits_with_short_gaps_are_a_card_number_d62() {
        for masked in ["424 242 424 242 4242", "x4007000000027y", "17 4242424242424242 17"] {
            assert_ne!(mask(masked, &[]), masked);
        }
        for kept in [
            "4242 - 4242 - 4242 - 4242",
            "42 42 42 42 42 42 42 42",
            "4242x4242x4242x4242",
            "42424242424",
            "424242424242",
            "42424242424242424242",
            "4242424242424241",
            "2030-01-31 12:00:00.123456",
            "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
            "0000000000000000",
        ] {
            assert_eq!(mask(kept, &[]), kept);
        }
    }

    #[test]
    fn timestamps_counters_and_phone_numbers_are_not_masked() {
        for millisecond in 1_793_000_000_000_u64..1_793_000_000_200 {
            let text = millisecond.to_string();
            assert_eq!(mask(&text, &[]), text);
        }
        for counter in 0..100 {
            for text in [format!("r4502740593-0-{counter}"), format!("+44 20 7946 00{counter:02}")] {
                assert_eq!(mask(&text, &[]), text);
            }
        }
    }

    #[test]
    fn last_four_digits_of_a_masked_number_do_not_begin_another_d62() {
        for (text, masked) in [
            ("4242424242424242 12345674", "************4242 12345674"),
            ("4242 4242 4242 4242 1234 56786", "**** **** **** 4242 1234 56786"),
            // Markdown, and asterisks before a number that is not masked yet.
            ("**4242 4242 4242 4242**", "****** **** **** 4242**"),
            ("**4242424242424242**", "**************4242**"),
            ("***4242 4242 4242 4242***", "******* **** **** 4242***"),
            ("********4242424242424242", "********************4242"),
        ] {
            assert_eq!(mask(text, &[]), masked);
            assert_eq!(mask(masked, &[]), masked);
        }
    }

    #[test]
    fn exact_occurrences_of_a_secret_are_replaced_d64() {
        for (text, masked) in [
            ("6200000000000009", "[redacted]"),
            ("00006200000000000009x", "0000[redacted]x"),
            ("key=sk_live_51H.", "key=[redacted]."),
            ("917 9170 12 x917 917x (917) 917_", "[redacted] 9170 12 x917 917x ([redacted]) [redacted]_"),
            ("9.17 9-17 91 7", "9.17 9-17 91 7"),
            ("SK_LIVE_51H", "SK_LIVE_51H"),
            ("917917 917", "917917 [redacted]"),
        ] {
            assert_eq!(mask(text, &["6200000000000009", "sk_live_51H", "917", "12"]), masked);
        }
        assert_eq!(mask("[redacted] 42", &["redacted", "red", ""]), "[redacted] 42");
        assert_eq!(mask("sk_live_51Habc", &["sk_live_51H", "sk_live_51Habc"]), "[redacted]");
    }

    #[test]
    fn number_of_the_request_is_found_with_any_separators_d52() {
        // UnionPay numbers need not pass the Luhn check; the last two are a Maestro number and a foreign prefix.
        for number in
            ["4242424242424242", "6200000000000006", "6200000000000000001", "501800000009", "900000000000"]
        {
            for separator in [
                "", " ", "\u{a0}", "\u{202f}", ".", "-", " - ", " – ", " \u{a0} ", "/", "_", ", ", "\n",
                "\",\"",
            ] {
                for size in [1, 2, 3, 4, 5, 11] {
                    let groups = number.as_bytes().chunks(size).map(|group| str::from_utf8(group).unwrap());
                    let written = groups.collect::<Vec<_>>().join(separator);
                    for (before, after) in
                        [("", ""), ("card ", ", please"), ("x", "y"), ("17 ", " 17"), ("é", "é")]
                    {
                        let masked = mask(&format!("{before}{written}{after}"), &[number]).into_owned();
                        assert_eq!(masked, format!("{before}[redacted]{after}"), "{separator:?} {size}");
                        assert_eq!(mask(&masked, &[number]), masked);
                    }
                }
            }
            let twice = format!("{number}{number} {number}");
            assert_eq!(mask(&twice, &[number]), "[redacted][redacted] [redacted]");
        }
        for kept in ["6200x0000x0000x0006", "6200 0000 0000 00", "6200 0000 0000 0007", "6200****00000006"] {
            assert_eq!(mask(kept, &["6200000000000006"]), kept);
        }
    }

    #[test]
    fn account_number_is_found_with_any_separators_d52() {
        for number in
            ["02100002", "021000021", "12345678901", "1234-5678 9", "(12) 345/678", "01234567890123456789"]
        {
            let digits: Vec<_> = number.matches(|character: char| character.is_ascii_digit()).collect();
            for separator in ["", " ", "-", ". ", " – ", "\u{a0}", r"\u00a0", "&nbsp;", "%20", r#"",""#] {
                for size in [1, 2, 3, 4, 9] {
                    let groups = digits.chunks(size).map(<[&str]>::concat);
                    let text = format!("account {}, please", groups.collect::<Vec<_>>().join(separator));
                    assert_eq!(
                        mask(&text, &[number]),
                        "account [redacted], please",
                        "{number} {separator:?} {size}"
                    );
                    assert_eq!(
                        redact(&text, &[number]),
                        "account [redacted], please",
                        "{number} {separator:?} {size}"
                    );
                    assert!(contains_secret(&text, &[number]) && contains_long_secret(&text, &[number]));
                }
            }
        }
        // Seven digits are too few, and a letter or an asterisk is no separator.
        for (kept, secret) in
            [("123 4567", "1234567"), ("0210x00021", "021000021"), ("0210*00021", "021000021")]
        {
            assert_eq!(mask(kept, &[secret]), kept);
        }
    }

    #[test]
    fn number_is_found_between_escaped_separators_d52() {
        let escapes = [
            r"\u00a0",
            r"\u202F",
            r"\n",
            r"\r",
            r"\t",
            r"\f",
            r"\b",
            r"\u0020",
            r" \u2013 ",
            r"\\n",
            r"\\u00a0",
            r"\/",
            r#"\",\""#,
            r"\u{a0}",
            "&nbsp;",
            "&#160;",
            "&#xA0;",
            "&ndash;",
            "%20",
            "%C2%A0",
            "%e2%80%af",
            "%2D",
        ];
        for escape in escapes {
            for (number, shown) in [("6200000000000006", "[redacted]"), ("20140000000000", "[redacted]")] {
                let groups = number.as_bytes().chunks(4).map(|group| str::from_utf8(group).unwrap());
                let written = groups.collect::<Vec<_>>().join(escape);
                for (before, after) in
                    [("", ""), ("card ", " please"), (r"x\n", "%20"), ("&nbsp;", r"\u00a0é")]
                {
                    let text = format!("{before}{written}{after}");
                    let masked = mask(&text, &[number]).into_owned();
                    assert_eq!(masked, format!("{before}{shown}{after}"));
                    assert_eq!(mask(&masked, &[number]), masked);
                    assert_eq!(redact(&text, &[number]), masked);
                }
            }
            // Longer gaps make no card-like number.
            if !escape.contains([' ', '"']) {
                let written = ["4242", "4242", "4242", "4242"].join(escape);
                let masked = mask(&written, &[]).into_owned();
                assert!(masked.starts_with("****") && masked.ends_with("4242"), "{masked}");
                assert!(masked.bytes().filter(u8::is_ascii_digit).count() == 4, "{masked}");
                assert_eq!(mask(&masked, &[]), masked);
                assert!(contains_card_number(&written));
            }
            assert_ne!(mask(&format!("{escape}4242424242424242"), &[]), format!("{escape}4242424242424242"));
            assert_eq!(
                mask(&format!("{escape}917{escape}"), &["917"]),
                format!("{escape}[redacted]{escape}")
            );
        }
        assert_eq!(mask("3%6200000000000006", &["6200000000000006"]), "3%[redacted]");
    }

    #[test]
    fn escapes_of_letters_and_half_escapes_are_read_as_written() {
        for text in [
            r"4242\u04344242\u04344242\u04344242",
            r"\u00",
            r"\u{a0",
            r"\u{110000}",
            r"\u{",
            r"\uéé",
            "&#1076;",
            "&#x434;",
            "&;",
            "&#;",
            "&",
            "%",
            "%2",
            "%2é",
            "%%20",
            "&nbsp",
            "&é;",
            "\\",
            "&&amp;",
        ] {
            assert_eq!(with_escapes_read(text).len(), text.len());
            assert_eq!(mask(text, &["6200000000000006"]), text);
        }
        assert_eq!(with_escapes_read("&#1076;&#x434;&nbsp"), "&#1076;&#x434;&nbsp");
        assert_eq!(with_escapes_read(r"a%20%20b\nc"), "a \0\0\0\0\0b \0c");
    }

    #[test]
    fn only_digits_that_begin_like_an_issuer_are_a_card_number_d52() {
        let with_check_digit = |prefix: &str, length: usize| {
            let body = format!("{prefix:7<width$}", width = length - 1);
            (0..10).map(|digit| format!("{body}{digit}")).find(|number| passes_luhn(number)).unwrap()
        };
        let issuers = ["22", "23", "24", "25", "26", "27", "3", "4", "5", "6", "81", "82"];
        let others =
            ["0", "1", "20", "21", "28", "29", "7", "80", "83", "84", "85", "86", "87", "88", "89", "9"];
        for length in 12..=20 {
            for (prefixes, is_card) in [(&issuers[..], CARD_DIGITS.contains(&length)), (&others, false)] {
                for prefix in prefixes {
                    let number = with_check_digit(prefix, length);
                    assert_eq!(mask(&number, &[]) != number, is_card, "{number}");
                    assert_eq!(contains_card_number(&number), is_card, "{number}");
                }
            }
        }
        for token in ["9405701444882224", "9477709629051443"] {
            assert!(passes_luhn(token));
            assert_eq!(mask(token, &[]), token);
        }
    }

    #[test]
    fn text_without_secrets_is_unchanged() {
        assert!(matches!(mask("as it\nis\u{202e}", &["sk_live_51H"]), Cow::Borrowed(_)));
    }

    #[test]
    fn hostile_texts_and_many_secrets_end_in_time() {
        let secrets: Vec<String> = (8..350).map(|length| "1".repeat(length) + "2").collect();
        let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
        for unit in [
            "4242-",
            "1",
            "1 ",
            "4242424242424242 ",
            "\u{1}",
            "917 ",
            "\\",
            "\\u{",
            "\\u{41",
            "&a",
            "%20",
            "4242\\n",
        ] {
            assert!(!mask(&unit.repeat(4_000), &secrets).is_empty());
            assert!(
                !mask(&unit.repeat(150_000), &["917", "1111111111111111112", "424242424242424243"])
                    .is_empty()
            );
        }
    }
}
