//! The places of a secret in a text.

use std::ops::Range;

use memchr::memmem;

use super::digits::has_digits;
use crate::secret::REDACTED;

pub(super) fn is_replaced(secret: &str) -> bool {
    secret.len() >= SHORTEST_SECRET && !REDACTED.contains(secret)
}

/// The occurrences to replace, from left to right.
pub(super) fn occurrences(text: &str, secret: &str) -> Vec<Range<usize>> {
    if let Some(digits) = digits_of_number(secret) {
        return occurrences_of_number(text, secret, digits);
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

/// A quick check. Only a number is found where other separators stand between its characters.
pub(super) fn may_occur(text: &str, secret: &str) -> bool {
    match digits_of_number(secret) {
        Some(digits) => has_digits(text, digits),
        None => text.contains(secret),
    }
}

/// How many digits the secret has, if it is a card or account number: people write these with separators, or without those that the
/// secret has.
fn digits_of_number(secret: &str) -> Option<usize> {
    let first = secret.bytes().take_while(u8::is_ascii_digit).count();
    if secret[first..].contains(breaks_number) {
        return None;
    }
    let digits = first + secret[first..].bytes().filter(u8::is_ascii_digit).count();
    (digits >= LONG_SECRET).then_some(digits)
}

/// The places where the digits of a number follow each other, whatever separators are between them.
fn occurrences_of_number(text: &str, number: &str, count: usize) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    // What the secret itself has before its first and after its last digit.
    let inner = number.trim_matches(|character: char| !character.is_ascii_digit());
    let (before, after) = number.split_once(inner).unwrap_or_default();
    // The places of the digits since the last letter.
    let mut run: Vec<usize> = Vec::new();
    for (at, character) in text.char_indices() {
        if character.is_ascii_digit() {
            run.push(at);
            // Nearly always decided by the last digit.
            let mut digits = run.iter().rev().map(|at| text.as_bytes()[*at]);
            let mut of_number = number.bytes().rev().filter(u8::is_ascii_digit);
            if of_number.all(|digit| digits.next() == Some(digit)) {
                let (start, end) = (run[run.len() - count], at + 1);
                let start = start - if text[..start].ends_with(before) { before.len() } else { 0 };
                let end = end + if text[end..].starts_with(after) { after.len() } else { 0 };
                found.push(start.max(found.last().map_or(0, |last| last.end))..end);
                run.clear();
            }
        } else if breaks_number(character) {
            run.clear();
        }
    }
    found
}

/// Whether the digits before and after it are of different numbers. An asterisk stands for a digit that is already masked.
fn breaks_number(character: char) -> bool {
    character == '*' || (character.is_alphanumeric() && !character.is_ascii_digit())
}

/// Shorter secrets occur in other text by chance.
pub(super) const SHORTEST_SECRET: usize = 3;

/// Secrets of at least this length, and numbers of at least so many digits, do not occur in other text by chance.
pub(super) const LONG_SECRET: usize = 8;
