//! Masks secrets and card-like numbers in text from other parties.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::iter::repeat_n;
use std::ops::{Range, RangeInclusive};

use memchr::{memchr3_iter, memmem};

use crate::card::passes_luhn;
use crate::secret::REDACTED;

/// The text with secrets and card-like numbers masked, so that it can be shown and logged.
///
/// - Each exact occurrence of one of `secrets` is replaced by `[redacted]`. A secret of fewer than eight characters is
///   replaced only where no letter or digit is next to it, because `917` is part of many harmless numbers. A secret of fewer
///   than three characters is ignored.
/// - A secret of 12 to 19 digits is a card or account number. It is also replaced where separators stand between its digits:
///   any characters except letters and asterisks, also as escapes of JSON, HTML or a URL (`\u00a0`, `&nbsp;`, `%20`).
/// - Other card-like numbers keep only their last four digits. A card-like number has 13 to 19 digits, passes the Luhn check,
///   begins like the number of an issuer (22 to 27, 3, 4, 5, 6, 81 or 82), and is in one piece or in groups of at least
///   three digits with one or two other characters between them. These rules are chosen by this SDK.
///
/// This is a safety net for texts, and **does not catch everything**. It does not find:
///
/// - a secret in another encoding, such as base64, or digits or letters as escapes;
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
    if found.is_empty() && !may_contain_card_number(text) {
        return masked;
    }
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

fn is_replaced(secret: &str) -> bool {
    secret.len() >= SHORTEST_SECRET && !REDACTED.contains(secret)
}

/// The text with each occurrence of these secrets replaced by `[redacted]`, and nothing else. Secrets of fewer than eight
/// characters occur by chance and are ignored.
///
/// For an identifier, which [`mask`] could change although it contains no secret.
pub fn redact<'t>(text: &'t str, secrets: &[&str]) -> Cow<'t, str> {
    let mut redacted = Cow::Borrowed(text);
    let is_found = |secret: &&str| secret.len() >= LONG_SECRET && may_occur(text, secret);
    let found: Vec<&str> = secrets.iter().copied().filter(is_found).collect();
    if found.is_empty() {
        return redacted;
    }
    for &read in readings(text) {
        for secret in &found {
            redact_one(&mut redacted, secret, read);
        }
    }
    redacted
}

/// Whether [`redact`] would replace one of these secrets in the text.
pub fn contains_long_secret(text: &str, secrets: &[&str]) -> bool {
    matches!(redact(text, secrets), Cow::Owned(_))
}

/// Whether [`mask`] would replace one of these secrets in the text.
pub fn contains_secret(text: &str, secrets: &[&str]) -> bool {
    secrets.iter().any(|secret| {
        may_occur(text, secret)
            && is_replaced(secret)
            && readings(text).iter().any(|read| !occurrences(&read(text), secret).is_empty())
    })
}

/// The start of a text, without the digits at its end that may begin a number, and without half an escape.
///
/// For a text that was cut: [`mask`] does not recognize the beginning of a number.
pub fn without_half_a_number(start: &[u8]) -> &[u8] {
    // Nearly always a few bytes before the end. Nothing before it matters.
    let is_letter = |place: usize| start[place].is_ascii_alphabetic() && !is_of_escape(start, place);
    let last_letter = (0..start.len()).rev().find(|&place| is_letter(place)).unwrap_or(0);
    let end = start.len().saturating_sub(LONGEST_ESCAPE).max(last_letter);
    let half_escape = start[end..].iter().rposition(|byte| begins_escape(*byte));
    let end = half_escape.map_or(start.len(), |at| end + at);
    let mut text = String::with_capacity(end - last_letter);
    for chunk in start[last_letter..end].utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| FILLER));
    }
    let text = with_escapes_read(&text);
    let is_letter = |character: char| character.is_alphanumeric() && !character.is_ascii_digit();
    let from = text.rfind(is_letter).unwrap_or(0);
    let digits = text[from..].find(|character: char| character.is_ascii_digit());
    &start[..digits.map_or(end, |digits| last_letter + from + digits)]
}

/// How the text is searched: as written, then with its escapes read if it has any. A place is the same in both.
fn readings(text: &str) -> &'static [fn(&str) -> Cow<'_, str>] {
    let has_escapes = text.bytes().any(begins_escape);
    if has_escapes { &[as_written, with_escapes_read] } else { &[as_written] }
}

fn begins_escape(byte: u8) -> bool {
    matches!(byte, b'\\' | b'&' | b'%')
}

fn as_written(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

/// The text with a space and [`FILLER`]s for each escape that can stand for a separator.
fn with_escapes_read(text: &str) -> Cow<'_, str> {
    let (mut read, mut copied_to, mut from) = (String::new(), 0, 0);
    while let Some(at) = text[from..].find(['\\', '&', '%']) {
        let start = from + at;
        let length = escape_length(&text[start..]);
        if length > 0 {
            read.push_str(&text[copied_to..start]);
            read.push(' ');
            read.extend(repeat_n(FILLER, length - 1));
            copied_to = start + length;
        }
        from = start + length.max(1);
    }
    if copied_to == 0 {
        return Cow::Borrowed(text);
    }
    read.push_str(&text[copied_to..]);
    Cow::Owned(read)
}

/// The length of the escape that begins with this backslash, `&` or `%`: as JSON, HTML, URLs and Rust's `Debug` write it. One
/// that stands for a letter or digit does not count.
fn escape_length(text: &str) -> usize {
    let hex = |text: &str| text.bytes().take_while(u8::is_ascii_hexdigit).count();
    let is_separator = |code: &str, radix| {
        let code = u32::from_str_radix(code, radix).map(char::from_u32);
        code.is_ok_and(|character| !character.is_some_and(char::is_alphanumeric))
    };
    match text.as_bytes()[0] {
        b'%' => {
            let is_byte = |part: &&[u8]| {
                part.len() == 3 && part[0] == b'%' && part[1..].iter().all(u8::is_ascii_hexdigit)
            };
            3 * text.as_bytes().chunks(3).take_while(is_byte).count()
        }
        b'&' => {
            let is_of_name = |byte: &u8| *byte == b'#' || byte.is_ascii_alphanumeric();
            let (name, rest) = text[1..].split_at(text.bytes().skip(1).take_while(is_of_name).count());
            let is_read = match (name.strip_prefix("#x"), name.strip_prefix('#')) {
                (Some(code), _) => is_separator(code, 16),
                (None, Some(code)) => is_separator(code, 10),
                (None, None) => !name.is_empty(),
            };
            if is_read && rest.starts_with(';') { name.len() + 2 } else { 0 }
        }
        _ => {
            let escaped = text.trim_start_matches('\\');
            let braced = escaped.strip_prefix("u{").and_then(|text| {
                let (code, rest) = text.split_at(hex(text));
                rest.starts_with('}').then_some((code, 3))
            });
            let code = braced.or_else(|| Some((escaped.strip_prefix('u')?.get(..4)?, 1)));
            let length = match code {
                Some((code, marks)) if is_separator(code, 16) => code.len() + marks,
                _ => usize::from(escaped.starts_with(['n', 'r', 't', 'b', 'f'])),
            };
            text.len() - escaped.len() + length
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

/// The occurrences to replace, from left to right.
fn occurrences(text: &str, secret: &str) -> Vec<Range<usize>> {
    if is_number(secret) {
        return occurrences_of_number(text, secret.as_bytes());
    }
    let is_separate = |range: &Range<usize>| {
        !text[..range.start].ends_with(char::is_alphanumeric)
            && !text[range.end..].starts_with(char::is_alphanumeric)
    };
    memmem::find_iter(text.as_bytes(), secret.as_bytes())
        .map(|start| start..start + secret.len())
        .filter(|range| secret.len() >= LONG_SECRET || is_separate(range))
        .collect()
}

/// A quick check. Only a card or account number is found where separators stand between its characters.
fn may_occur(text: &str, secret: &str) -> bool {
    if is_number(secret) { has_digits(text, secret.len()) } else { text.contains(secret) }
}

/// Whether a secret is a card or account number, which people write with separators.
fn is_number(secret: &str) -> bool {
    SEPARATED_DIGITS.contains(&secret.len()) && secret.bytes().all(|byte| byte.is_ascii_digit())
}

/// The places where the digits of a number follow each other, whatever separators are between them.
fn occurrences_of_number(text: &str, number: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // The places of the digits since the last letter.
    let mut run: Vec<usize> = Vec::new();
    for (at, character) in text.char_indices() {
        if character.is_ascii_digit() {
            run.push(at);
            // Nearly always decided by the last digit.
            let mut digits = run.iter().rev().map(|at| text.as_bytes()[*at]);
            if number.iter().rev().all(|digit| digits.next() == Some(*digit)) {
                found.push(run[run.len() - number.len()]..at + 1);
                run.clear();
            }
        } else if character == '*' || character.is_alphanumeric() {
            // An asterisk stands for a digit that is already masked.
            run.clear();
        }
    }
    found
}

/// Whether the text contains a card-like number.
pub(crate) fn contains_card_number(text: &str) -> bool {
    may_contain_card_number(text) && readings(text).iter().any(|read| !card_numbers(&read(text)).is_empty())
}

/// A quick check.
pub(crate) fn may_contain_card_number(text: &str) -> bool {
    has_digits(text, *CARD_DIGITS.start())
}

/// Whether there may be this many digits without a letter between them, in any [reading](readings). A quick check: dates and random
/// ids have few.
fn has_digits(text: &str, count: usize) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < count {
        return false;
    }
    let (mut start, mut run) = (0, 0);
    for at in memchr3_iter(b'\\', b'&', b'%', bytes).chain([bytes.len()]) {
        // Nothing, inside the escape before.
        let words = bytes.get(start..at).unwrap_or_default();
        let letter = words.iter().position(u8::is_ascii_alphabetic).unwrap_or(words.len());
        let (before, words) = words.split_at(letter);
        run += digits(before);
        if run >= count || has_digits_between_letters(words, count) {
            return true;
        }
        if let Some(letter) = words.iter().rposition(u8::is_ascii_alphabetic) {
            run = digits(&words[letter..]);
        }
        if (start..bytes.len()).contains(&at) {
            // Its letters do not count.
            start = at + escape_length(&text[at..]);
            run += digits(&bytes[at..start]);
            start = start.max(at + 1);
        }
    }
    run >= count
}

/// Nearly always there are no digits, or a letter follows them soon.
fn has_digits_between_letters(mut text: &[u8], count: usize) -> bool {
    while let Some(first) = first_digit(text) {
        text = &text[first..];
        let Some(shortest) = text.get(..count) else { return false };
        let next = if let Some(letter) = shortest.iter().rposition(u8::is_ascii_alphabetic) {
            letter + 1
        } else {
            let end = text.iter().position(u8::is_ascii_alphabetic).unwrap_or(text.len());
            if digits(&text[..end]) >= count {
                return true;
            }
            end
        };
        text = &text[next..];
    }
    false
}

fn first_digit(text: &[u8]) -> Option<usize> {
    let (blocks, _) = text.as_chunks::<16>();
    let skipped = 16 * blocks.iter().take_while(|block| !has_digit(block)).count();
    let digit = text[skipped..].iter().position(u8::is_ascii_digit)?;
    Some(skipped + digit)
}

/// Looks at every byte: a loop that does not end early is compiled to vector instructions.
fn has_digit(block: &[u8; 16]) -> bool {
    block.iter().fold(false, |found, byte| found | byte.is_ascii_digit())
}

fn digits(text: &[u8]) -> usize {
    text.iter().filter(|byte| byte.is_ascii_digit()).count()
}

/// Whether a letter at this place may be part of an escape.
fn is_of_escape(text: &[u8], place: usize) -> bool {
    let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"#{}".contains(byte);
    let mut before = text[..place].iter().rev().take(LONGEST_NAME).skip_while(is_of_name);
    before.next().is_none_or(|byte| begins_escape(*byte))
}

/// The card-like numbers in the text, from left to right.
fn card_numbers(text: &str) -> Vec<Range<usize>> {
    let groups = groups_of_digits(text);
    let (mut found, mut first) = (Vec::new(), 0);
    while first < groups.len() {
        match card_number_at(text, &groups[first..]) {
            Some(count) => {
                found.push(groups[first].start..groups[first + count - 1].end);
                first += count;
            }
            None => first += 1,
        }
    }
    found
}

fn groups_of_digits(text: &str) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_digit()) {
        match groups.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => groups.push(at..at + 1),
        }
    }
    groups
}

/// The number of groups in the longest card number that begins with the first group.
fn card_number_at(text: &str, groups: &[Range<usize>]) -> Option<usize> {
    let begins_like_an_issuer = matches!(
        text.as_bytes()[groups[0].clone()],
        [b'3'..=b'6', ..] | [b'2', b'2'..=b'7', ..] | [b'8', b'1' | b'2', ..]
    );
    if !begins_like_an_issuer {
        return None;
    }
    if groups[0].len() <= 4 && ends_with_masked_digits(&text[..groups[0].start]) {
        return None;
    }
    let mut digits = String::with_capacity(*CARD_DIGITS.end());
    let mut longest = None;
    for (index, group) in groups.iter().enumerate() {
        let gap = if index > 0 { &text[groups[index - 1].end..group.start] } else { "" };
        if gap.chars().filter(|character| *character != FILLER).count() > LONGEST_GAP
            || gap.contains(char::is_alphanumeric)
            || group.len() < SMALLEST_GROUP
            || digits.len() + group.len() > *CARD_DIGITS.end()
        {
            break;
        }
        digits.push_str(&text[group.clone()]);
        if CARD_DIGITS.contains(&digits.len()) && passes_luhn(&digits) {
            longest = Some(index + 1);
        }
    }
    longest
}

/// Whether digits after this text are the last four of a number that is already masked.
fn ends_with_masked_digits(before: &str) -> bool {
    let gap_or_star = before.chars().rev().take_while(|character| !character.is_alphanumeric());
    gap_or_star.take(2 * *CARD_DIGITS.end()).filter(|character| *character == '*').count() + 4
        >= *CARD_DIGITS.start()
}

/// The number with every digit except the last four replaced by `*`.
pub(crate) fn mask_digits(number: &str) -> String {
    let digits = number.chars().filter(|character| character.is_numeric()).count();
    let mut to_hide = digits.saturating_sub(4);
    if to_hide == 0 {
        return number.to_owned();
    }
    let star = |character: char| {
        if to_hide > 0 && character.is_numeric() {
            to_hide -= 1;
            return '*';
        }
        character
    };
    number.chars().map(star).collect()
}

/// Whether a field with this name holds card or account data: the names in the interface, and the names that other services use for
/// the same fields. Case and punctuation are ignored.
#[rustfmt::skip]
pub(crate) fn is_secret_name(name: &str) -> bool {
    let (mut letters, mut length) = ([0; "primaryaccountnumber".len()], 0);
    for letter in name.bytes().filter(u8::is_ascii_alphanumeric) {
        let Some(place) = letters.get_mut(length) else { return false };
        *place = letter.to_ascii_lowercase();
        length += 1;
    }
    matches!(
        &letters[..length],
        b"aba" | b"abanumber" | b"account" | b"accountno" | b"accountnumber" | b"acctno" | b"acctnumber"
        | b"achaccount" | b"bankaccount" | b"bankaccountnumber" | b"cardcode" | b"cardcvc" | b"cardcvv"
        | b"cardexpiry" | b"cardno" | b"cardnum" | b"cardnumber" | b"cardsecuritycode" | b"ccnumber"
        | b"creditcard" | b"creditcardnumber" | b"csc" | b"cvc" | b"cvc2" | b"cvv" | b"cvv2" | b"cvvcode"
        | b"exp" | b"expdate" | b"expiration" | b"expirationdate" | b"expiry" | b"expirydate" | b"iban"
        | b"pan" | b"primaryaccountnumber" | b"routing" | b"routingno" | b"routingnumber" | b"securitycode"
        | b"track1" | b"track2"
    )
}

/// Shorter secrets occur in other text by chance.
const SHORTEST_SECRET: usize = 3;

/// Secrets of at least this length do not occur inside other words by chance.
const LONG_SECRET: usize = 8;

/// How many digits a number has that is searched for with separators: those of a [`CardNumber`](crate::CardNumber).
const SEPARATED_DIGITS: RangeInclusive<usize> = 12..=19;

/// How many digits a card-like number has (decision 52).
const CARD_DIGITS: RangeInclusive<usize> = 13..=19;

/// Card numbers are printed in groups of three digits or more. Dates and counters have shorter groups.
const SMALLEST_GROUP: usize = 3;

const LONGEST_GAP: usize = 2;

/// Keeps the places in a text whose escapes are [read](with_escapes_read). One byte, and no separator that people write.
const FILLER: char = '\0';

/// How far an escape is looked for before one of its letters. A longer one only makes quick checks fail.
const LONGEST_NAME: usize = 32;

/// `\u{10ffff}`.
const LONGEST_ESCAPE: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_names_match_in_any_spelling_d62() {
        for name in
            ["Cvv", "CVV2", "card_number", "Card-Number", "expiry date", "AccountNumber", "PAN", "i.b.a.n"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in
            ["", "Amount", "TransactionId", "AccountName", "panel", "x", "cvvcvvcvvcvvcvvcvvcvvcvvcvvcvv"]
        {
            assert!(!is_secret_name(name), "{name}");
        }
    }

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
    fn digits_and_escapes_at_the_end_may_be_half_a_number_d64() {
        for (text, kept) in [
            (&b"card 6212, 9473"[..], &b"card "[..]),
            (b"a\":\"6212\",\"9473", b"a\":\""),
            (br"card 6212\u00a09473\u00", b"card "),
            (br"card 6212\u00a09473\u00a0", b"card "),
            (b"card 6212&nbsp;9473&nbs", b"card "),
            (b"card 6212\xa09473\xa00184", b"card "),
            ("card 6212\u{2009}9473\u{2009}".as_bytes(), b"card "),
            (b"\x80\x93 9473 ", b"\x80\x93 "),
            ("6 письмо".as_bytes(), "6 письмо".as_bytes()),
            (br"6 \u043f\u0438\u0441\u044c\u043c\u043e 7 12", br"6 \u043f\u0438\u0441\u044c\u043c\u043e "),
            (b"no digits, [[[", b"no digits, [[["),
            (b"", b""),
            (b"6212", b""),
        ] {
            assert_eq!(without_half_a_number(text), kept, "{}", String::from_utf8_lossy(text));
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
        for unit in
            ["4242-", "1", "1 ", "4242424242424242 ", "\u{1}", "917 ", "\\", "\\u{", "&a", "%20", "4242\\n"]
        {
            assert!(!mask(&unit.repeat(20_000), &secrets).is_empty());
            assert!(
                !mask(&unit.repeat(150_000), &["917", "1111111111111111112", "424242424242424243"])
                    .is_empty()
            );
        }
    }
}
