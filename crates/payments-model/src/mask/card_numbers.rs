//! Card-like numbers.

use std::ops::{Range, RangeInclusive};

use super::digits::parts_with_digits;
use super::readings::readings;
use crate::card::passes_luhn;

/// Whether the text contains a card-like number.
pub(crate) fn contains_card_number(text: &str) -> bool {
    // No escape is shorter than its character.
    text.len() >= *CARD_DIGITS.start()
        && readings(text).any(|reading| !card_numbers(&reading.text).is_empty())
}

/// The card-like numbers in the text, from left to right.
pub(super) fn card_numbers(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for part in parts_with_digits(text, *CARD_DIGITS.start()) {
        let groups = groups_of_digits(text, part);
        let mut first = 0;
        while first < groups.len() {
            match card_number_at(text, &groups[first..]) {
                Some(count) => {
                    found.push(groups[first].start..groups[first + count - 1].end);
                    first += count;
                }
                None => first += 1,
            }
        }
    }
    found
}

fn groups_of_digits(text: &str, part: Range<usize>) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for at in part.filter(|at| text.as_bytes()[*at].is_ascii_digit()) {
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
        if gap.chars().count() > LONGEST_GAP
            || gap.contains(char::is_alphanumeric)
            || group.len() < SMALLEST_GROUP && (longest.is_some() || digits.len() != 4 * index || index == 0)
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

/// How many digits a card-like number has (decision 52).
pub(super) const CARD_DIGITS: RangeInclusive<usize> = 13..=19;

/// Card numbers are printed in groups of three digits or more, and programs cut them into groups of four with a shorter rest. Dates
/// and counters have other short groups.
const SMALLEST_GROUP: usize = 3;

const LONGEST_GAP: usize = 2;
