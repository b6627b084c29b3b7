//! The places of a secret in a text.

use std::cell::LazyCell;
use std::ops::{Deref, Range, RangeBounds};

use zeroize::Zeroizing;

use super::digits::parts_with_digits;
use super::readings::{Reading, readings};
use crate::secret::REDACTED;

/// The places of these secrets in the text, from left to right, without those of another length in bytes. Places that overlap are one:
/// if one secret contains another, nothing of the longer one may remain.
pub(super) fn places(text: &str, secrets: &[&str], lengths: impl RangeBounds<usize>) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    if secrets.is_empty() {
        return found;
    }
    for reading in readings(text) {
        let digits = LazyCell::new(|| Digits::of(&reading.text, secrets));
        for secret in secrets.iter().filter(|secret| lengths.contains(&secret.len())) {
            let in_reading = occurrences(&reading, &digits, secret);
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

/// `digits`: of the text.
fn occurrences(
    reading: &Reading<'_>,
    digits: &impl Deref<Target = Digits>,
    secret: &str,
) -> Vec<Range<usize>> {
    let text = &*reading.text;
    let (mut found, count) = (Vec::new(), digits_of_number(secret));
    if count.is_some_and(|count| parts_with_digits(text, count).next().is_some()) {
        found = digits.occurrences(secret);
    }
    // Most texts have none, and it costs less to know that.
    if count != Some(secret.len()) && text.contains(secret) {
        let places = text.match_indices(secret).map(|(start, _)| start..start + secret.len());
        found.extend(places.filter(|place| secret.len() >= LONG_SECRET || is_separate(reading, place)));
    }
    found
}

/// Whether no letter or digit is beside this place, except for one that an escape stands for: it may be no escape.
fn is_separate(reading: &Reading<'_>, place: &Range<usize>) -> bool {
    let separates =
        |at: usize, character: char| !character.is_alphanumeric() || reading.is_escape(at, character);
    let before = reading.text[..place.start].chars().next_back();
    let after = reading.text[place.end..].chars().next();
    before.is_none_or(|before| separates(place.start - before.len_utf8(), before))
        && after.is_none_or(|after| separates(place.end, after))
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

/// The digits of a text without what separates them, and a letter where those before and after it are of different numbers. Parts
/// with too few digits for any of the secrets are left out.
struct Digits {
    text: String,
    /// Where each of them is.
    places: Vec<usize>,
}

impl Digits {
    fn of(text: &str, secrets: &[&str]) -> Self {
        let mut digits = Self { text: String::new(), places: Vec::new() };
        let fewest = secrets.iter().filter_map(|secret| digits_of_number(secret)).min();
        for Range { start, end } in parts_with_digits(text, fewest.unwrap_or(LONG_SECRET)) {
            // With the letter that ends it.
            for (at, character) in text[start..text.len().min(end + 1)].char_indices() {
                let is_digit = character.is_ascii_digit();
                if is_digit || (breaks_number(character) && !digits.text.ends_with('x')) {
                    digits.text.push(if is_digit { character } else { 'x' });
                    digits.places.push(start + at);
                }
            }
        }
        digits
    }

    /// The places where the digits of a number follow each other.
    fn occurrences(&self, number: &str) -> Vec<Range<usize>> {
        let number = Zeroizing::new(number.replace(|character: char| !character.is_ascii_digit(), ""));
        let found = self.text.match_indices(&**number);
        found.map(|(first, _)| self.places[first]..self.places[first + number.len() - 1] + 1).collect()
    }
}

/// Whether the digits before and after it are of different numbers. An asterisk stands for a digit that is already masked.
fn breaks_number(character: char) -> bool {
    character == '*' || (character.is_alphanumeric() && !character.is_ascii_digit())
}

/// Shorter secrets occur in other text by chance.
pub(super) const SHORTEST_SECRET: usize = 3;

/// Secrets of at least this length, and numbers of at least so many digits, do not occur in other text by chance.
pub(super) const LONG_SECRET: usize = 8;
