//! The places of a secret in a text.

use std::ops::Range;

use super::digits::has_digits;
use super::readings::readings;
use crate::secret::REDACTED;

/// The places of these secrets in the text, from left to right, without secrets of fewer bytes. Places that overlap are one: if one
/// secret contains another, nothing of the longer one may remain.
pub(super) fn places(text: &str, secrets: &[&str], fewest_bytes: usize) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    if secrets.is_empty() {
        return found;
    }
    for reading in readings(text) {
        for secret in secrets.iter().filter(|secret| secret.len() >= fewest_bytes) {
            let in_reading = occurrences(&reading.text, secret);
            if !in_reading.is_empty() && !REDACTED.contains(secret) {
                found.extend(in_reading.iter().map(|at| reading.place(at.start)..reading.place(at.end)));
            }
        }
    }
    found.sort_by_key(|place| place.start);
    found.dedup_by(|next, last| {
        let overlaps = next.start < last.end;
        if overlaps {
            last.end = last.end.max(next.end);
        }
        overlaps
    });
    found
}

fn occurrences(text: &str, secret: &str) -> Vec<Range<usize>> {
    let (mut found, digits) = (Vec::new(), digits_of_number(secret));
    if let Some(digits) = digits.filter(|digits| has_digits(text, *digits)) {
        found = occurrences_of_number(text, secret, digits);
    }
    // Most texts have none, and it costs less to know that.
    if digits != Some(secret.len()) && text.contains(secret) {
        let is_separate = |place: &Range<usize>| {
            !text[..place.start].ends_with(char::is_alphanumeric)
                && !text[place.end..].starts_with(char::is_alphanumeric)
        };
        let places = text.match_indices(secret).map(|(start, _)| start..start + secret.len());
        found.extend(places.filter(|place| secret.len() >= LONG_SECRET || is_separate(place)));
    }
    found
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
    let mut found = Vec::new();
    // The places of the digits since the last letter.
    let mut run: Vec<usize> = Vec::new();
    for (at, character) in text.char_indices() {
        if character.is_ascii_digit() {
            run.push(at);
            // Nearly always decided by the last digit.
            let mut digits = run.iter().rev().map(|at| text.as_bytes()[*at]);
            let mut of_number = number.bytes().rev().filter(u8::is_ascii_digit);
            if of_number.all(|digit| digits.next() == Some(digit)) {
                found.push(run[run.len() - count]..at + 1);
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
