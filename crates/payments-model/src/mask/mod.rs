//! Masks secrets and card-like numbers in text from other parties.

mod card_numbers;
mod cut;
mod digits;
mod names;
mod readings;
mod secrets;

use std::borrow::Cow;
use std::ops::Range;

use crate::secret::REDACTED;
use card_numbers::card_numbers;
pub(crate) use card_numbers::{contains_card_number, mask_digits};
pub use cut::without_half_a_secret;
pub(crate) use names::is_secret_name;
use readings::readings;
use secrets::{LONG_SECRET, SHORTEST_SECRET, places};

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
///   begins like the number of an issuer (22 to 27, 3, 4, 5, 6, 81 or 82), and is in one piece or in groups with one or two
///   other characters between them: of at least three digits, or of four with a shorter rest. These rules are chosen by this SDK.
///
/// This is a safety net for texts, and **does not catch everything**. It does not find:
///
/// - a secret in another encoding, such as base64;
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
    // The longer ones first, because a short one can be next to them. Their digits must not be taken for a card number.
    let mut masked = redact(text, secrets);
    let short = places(&masked, secrets, SHORTEST_SECRET..LONG_SECRET);
    if !short.is_empty() {
        masked = Cow::Owned(replaced(&masked, short.into_iter().map(with_redacted)).into_owned());
    }
    for depth in 0.. {
        let Some(reading) = readings(&masked).nth(depth) else { break };
        let numbers = card_numbers(&reading.text).into_iter().map(|at| {
            let number = mask_digits(&reading.text[at.clone()]);
            let number = if depth > 0 { number.replace(char::is_control, " ") } else { number };
            (reading.place(at.start)..reading.place(at.end), number)
        });
        if let Cow::Owned(other) = replaced(&masked, numbers) {
            masked = Cow::Owned(other);
        }
    }
    masked
}

/// The text with each occurrence of these secrets replaced by `[redacted]`, and nothing else. Secrets of fewer than eight
/// characters occur by chance and are ignored.
///
/// For an identifier, which [`mask`] could change although it contains no secret.
pub fn redact<'t>(text: &'t str, secrets: &[&str]) -> Cow<'t, str> {
    replaced(text, places(text, secrets, LONG_SECRET..).into_iter().map(with_redacted))
}

/// Whether [`redact`] would replace one of these secrets in the text.
pub fn contains_long_secret(text: &str, secrets: &[&str]) -> bool {
    !places(text, secrets, LONG_SECRET..).is_empty()
}

/// Whether [`mask`] would replace one of these secrets in the text.
pub fn contains_secret(text: &str, secrets: &[&str]) -> bool {
    !places(text, secrets, SHORTEST_SECRET..).is_empty()
}

fn with_redacted(place: Range<usize>) -> (Range<usize>, String) {
    (place, REDACTED.to_owned())
}

/// The text with other texts at these places, which are sorted and do not overlap.
fn replaced(text: &str, others: impl Iterator<Item = (Range<usize>, String)>) -> Cow<'_, str> {
    let (mut replaced, mut copied_to) = (String::new(), 0);
    for (place, other) in others {
        replaced.push_str(&text[copied_to..place.start]);
        replaced.push_str(&other);
        copied_to = place.end;
    }
    if copied_to == 0 {
        return Cow::Borrowed(text);
    }
    replaced.push_str(&text[copied_to..]);
    Cow::Owned(replaced)
}

#[cfg(test)]
mod tests {
    use super::card_numbers::CARD_DIGITS;
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
        for (text, masked) in [
            ("card 3056 9309 0259 04.", "card **** **** **59 04."),
            ("4007-0000-0002-7", "****-****-*002-7"),
            ("3782.8224.6310.005", "****.****.***0.005"),
            ("4242 4242 4242 4242 12", "**** **** **** 4242 12"),
        ] {
            assert_eq!(mask(text, &[]), masked);
        }
        for kept in [
            "4242 - 4242 - 4242 - 4242",
            "42 42 42 42 42 42 42 42",
            "3056 9309 02 59 04",
            "30 5693 0902 5904",
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
    fn short_secret_beside_a_longer_one_or_an_escape_is_masked_d64() {
        let secrets = ["6200000000000006", "sk_live_51H", "917"];
        for (text, masked) in [
            ("6200000000000006917", "[redacted][redacted]"),
            ("917sk_live_51H917", "[redacted][redacted][redacted]"),
            (r"code\u00a0917%62", r"code\u00a0[redacted]%62"),
            (r"\ud800917\ud800", r"\ud800[redacted]\ud800"),
            (r"\n917\u{-", r"\n[redacted]\u{-"),
            ("%32917&#50;", "%32[redacted]&#50;"),
            (r"9170 1917\u0435", r"9170 1917\u0435"),
        ] {
            assert_eq!(mask(text, &secrets), masked);
            assert_eq!(mask(masked, &secrets), masked);
            assert_eq!(contains_secret(text, &secrets), text != masked, "{text}");
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
            assert_eq!(mask(text, &["6200000000000006"]), text);
        }
        let read = |text: &str| readings(text).map(|reading| reading.text.into_owned()).collect::<Vec<_>>();
        assert_eq!(read("&#1076;&#x434;&nbsp"), ["&#1076;&#x434;&nbsp", "дд&nbsp"]);
        assert_eq!(read(r"a%20%20b\nc\\n"), [r"a%20%20b\nc\\n", "a  b\nc\\n", "a  b\nc\n"]);
        assert_eq!(read("%A0%C3%A9"), ["%A0%C3%A9", "\u{fffd}é"]);
    }

    #[test]
    fn place_in_a_reading_is_that_in_the_text_as_written() {
        let text = r"é%20\u00e9&amp;nbsp;\\u0034!";
        for reading in readings(text) {
            for (at, character) in
                reading.text.char_indices().filter(|(_, character)| "é!".contains(*character))
            {
                let escape = if character == 'é' && at > 1 { r"\u00e9" } else { &character.to_string() };
                assert!(text[reading.place(at)..].starts_with(escape), "{}", reading.text);
            }
            assert_eq!(reading.place(reading.text.len()), text.len());
        }
    }

    #[test]
    fn card_number_of_escaped_digits_is_masked_d62() {
        for digit in ["&#50;", "&#x32;", "%32", r"\u0032", r"\\u0032", "%2532"] {
            let masked = mask(&format!("card 424{digit} 4242 4242 424{digit}, please"), &[]).into_owned();
            assert_eq!(masked, "card **** **** **** 4242, please", "{digit}");
        }
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
