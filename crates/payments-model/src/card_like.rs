//! Which texts may hold a card number: strictly enough that a timestamp or a counter is not taken for one.

use std::borrow::Cow;

use crate::scrub;

/// A free text as it may be kept: a card number that somebody wrote into it is masked but for its last four digits.
///
/// Stricter than [`scrub`] about what a card number is, because a reference that is masked by mistake is lost to whoever
/// needs it: it begins as the networks' numbers do, stands in groups as cards have them, and its check digit is right.
///
/// ```
/// use payments_model::without_card_numbers;
///
/// assert_eq!(without_card_numbers("card 4242 4242 4242 4242"), "card **** **** **** 4242");
/// assert_eq!(without_card_numbers("invoice 1793000000000"), "invoice 1793000000000");
/// ```
pub fn without_card_numbers(text: &str) -> Cow<'_, str> {
    // Scrubbing costs a microsecond, and it masks whatever could be a card number: in an error, where nobody misses it.
    if has_few_digits(text) || !may_hold_a_card_number(text) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(scrub(text, &[]))
    }
}

/// Whether there are too few digits in the text for a card number: a quick look before a thorough one.
pub fn has_few_digits(text: &str) -> bool {
    // As many as a byte can count: within a byte the processor counts many at once.
    let pieces = text.as_bytes().chunks(usize::from(u8::MAX));
    let count =
        |piece: &[u8]| usize::from(piece.iter().map(|byte| u8::from(byte.is_ascii_digit())).sum::<u8>());
    text.len() < SHORTEST || pieces.map(count).sum::<usize>() < SHORTEST
}

/// Whether a number as cards have it stands in the text: 12 to 19 digits together, or in groups of three and more with
/// little between them, that begin as the networks' numbers do and have the right check digit.
///
/// An escaped text is judged as if it held one: who reads it is somebody else's affair.
fn may_hold_a_card_number(text: &str) -> bool {
    if text.bytes().any(|byte| matches!(byte, b'%' | b'\\' | b'&')) || !text.is_ascii() {
        return true;
    }
    let groups = groups_of_digits(text.as_bytes());
    (0..groups.len()).any(|first| begins_a_card_number(text.as_bytes(), &groups[first..]))
}

/// A run of digits: where it begins and ends.
type Group = (usize, usize);

fn groups_of_digits(text: &[u8]) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 {
            groups.push((at, at + digits));
        }
        at += digits.max(1);
    }
    groups
}

/// Whether the first group is a card number, alone or with some that follow it closely.
fn begins_a_card_number(text: &[u8], groups: &[Group]) -> bool {
    let mut digits = Vec::with_capacity(LONGEST);
    let mut end = None;
    for &(from, to) in groups {
        let follows_closely = end.is_none_or(|end: usize| {
            from - end <= LONGEST_GAP && !text[end..from].iter().any(u8::is_ascii_alphabetic)
        });
        if !follows_closely || digits.len() + (to - from) > LONGEST || (to - from < SMALLEST_GROUP) {
            return false;
        }
        digits.extend(text[from..to].iter().map(|byte| byte - b'0'));
        if is_card_number(&digits) {
            return true;
        }
        end = Some(to);
    }
    false
}

/// The shortest and longest numbers of cards (ISO/IEC 7812-1).
const SHORTEST: usize = 12;
const LONGEST: usize = 19;

/// What stands between two groups: a space, a hyphen, a dot, or two of them.
const LONGEST_GAP: usize = 2;

/// Cards are printed in groups of three digits and more; a counter after a hyphen is shorter.
const SMALLEST_GROUP: usize = 3;

/// Cards of the known networks begin with 3 to 6 or with Mastercard's 22 to 27. A time in milliseconds begins with 1.
fn is_card_number(digits: &[u8]) -> bool {
    let begins_like_one = matches!(digits, [3..=6, ..] | [2, 2..=7, ..]);
    digits.len() >= SHORTEST && begins_like_one && (passes_luhn(digits) || digits.starts_with(&[6, 2]))
}

fn passes_luhn(digits: &[u8]) -> bool {
    let doubled = |digit: u8| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let weighted = digits.iter().rev().enumerate();
    let sum: u32 =
        weighted.map(|(place, digit)| u32::from(if place % 2 == 1 { doubled(*digit) } else { *digit })).sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_number_is_one_in_whatever_groups_it_is_written() {
        let cards =
            ["4007000000027", "4242424242424242", "5555555555554444", "2223000010309703", "378282246310005"];
        let more = ["6011111111111117", "30569309025904", "3530111333300000"];
        for card in cards.into_iter().chain(more) {
            for separator in ["", " ", "-", ".", " -"] {
                let (first, rest) = card.split_at(4);
                let (second, last) = rest.split_at(rest.len() - 4);
                let grouped = [first, second, last].join(separator);
                assert!(may_hold_a_card_number(&format!("card {grouped}, please")), "{grouped}");
                assert!(may_hold_a_card_number(&format!("17 {grouped}")), "{grouped}");
            }
        }
    }

    #[test]
    fn a_card_number_may_have_groups_of_three_but_no_wide_gaps() {
        assert!(may_hold_a_card_number("424 242 424 242 4242"));
        assert!(may_hold_a_card_number("6200000000000000001"));
        assert!(!may_hold_a_card_number("4242 - 4242 - 4242 - 4242"));
        assert!(!may_hold_a_card_number("42 42 42 42 42 42 42 42"));
        assert!(!may_hold_a_card_number("4242x4242x4242x4242"));
        assert!(!may_hold_a_card_number("42424242424"));
        assert!(!may_hold_a_card_number("42424242424242424242"));
    }

    #[test]
    fn references_that_people_use_are_none() {
        for millisecond in 1_793_000_000_000_u64..1_793_000_000_200 {
            assert!(!may_hold_a_card_number(&millisecond.to_string()));
        }
        for counter in 0..100 {
            assert!(!may_hold_a_card_number(&format!("r4502740593-0-{counter}")));
            assert!(!may_hold_a_card_number(&format!("+44 20 7946 00{counter:02}")));
        }
        assert!(!may_hold_a_card_number("4242424242424241"), "its last digit checks nothing");
        assert!(!may_hold_a_card_number("2030-01-31 12:00:00.123456"));
        assert!(!may_hold_a_card_number("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"));
    }

    #[test]
    fn an_escaped_text_is_left_to_who_knows_escapes() {
        assert!(may_hold_a_card_number("%34%32"));
    }

    #[test]
    fn d62_digits_are_counted_however_long_the_text_is() {
        for filler in [0, 1, 254, 255, 1000] {
            let text = format!("{}{}", "1".repeat(11), "x".repeat(filler));
            assert!(has_few_digits(&text), "{filler}");
            assert!(!has_few_digits(&format!("{text}2")), "{filler}");
        }
        assert!(!has_few_digits(&"1".repeat(256)));
    }

    #[test]
    fn d62_a_card_number_in_a_free_text_is_masked() {
        assert_eq!(without_card_numbers("4242 4242 4242 4242"), "**** **** **** 4242");
        assert_eq!(without_card_numbers("order 20300101, 2 items"), "order 20300101, 2 items");
    }
}
