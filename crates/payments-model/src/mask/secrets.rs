//! The places of a secret in a text.

use std::ops::{Range, RangeInclusive};

use memchr::memmem;

use super::digits::has_digits;
use crate::secret::REDACTED;

pub(super) fn is_replaced(secret: &str) -> bool {
    secret.len() >= SHORTEST_SECRET && !REDACTED.contains(secret)
}

/// The occurrences to replace, from left to right.
pub(super) fn occurrences(text: &str, secret: &str) -> Vec<Range<usize>> {
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
pub(super) fn may_occur(text: &str, secret: &str) -> bool {
    if is_number(secret) { has_digits(text, secret.len()) } else { text.contains(secret) }
}

/// Whether a secret is a card or account number, which people write with separators.
pub(super) fn is_number(secret: &str) -> bool {
    SEPARATED_DIGITS.contains(&secret.len()) && secret.bytes().all(|byte| byte.is_ascii_digit())
}

/// The places where the digits of a number follow each other, whatever separators are between them.
pub(super) fn occurrences_of_number(text: &str, number: &[u8]) -> Vec<Range<usize>> {
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

/// Shorter secrets occur in other text by chance.
pub(super) const SHORTEST_SECRET: usize = 3;

/// Secrets of at least this length do not occur inside other words by chance.
pub(super) const LONG_SECRET: usize = 8;

/// How many digits a number has that is searched for with separators: those of a [`CardNumber`](crate::CardNumber).
pub(super) const SEPARATED_DIGITS: RangeInclusive<usize> = 12..=19;
