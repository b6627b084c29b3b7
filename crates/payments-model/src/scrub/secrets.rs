use std::ops::Range;

use zeroize::Zeroizing;

use super::patterns::{Patterns, letters, widest_gap};
use super::reading::Reading;
use crate::redact::REDACTED;

/// The secrets of a request, ready to be looked for in any number of texts.
pub(crate) struct Secrets {
    /// Too long to be anything else by chance: found wherever they stand.
    long: Patterns,
    /// Found where nothing touches them; sorted.
    short: Vec<ShortSecret>,
    widest_gap: usize,
}

/// The letters and digits of a secret, and what may stand between them.
type ShortSecret = (Zeroizing<String>, Gaps);

/// What stands, or may stand, between the letters and digits of a short secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gaps {
    /// Nothing: `9.17` is an amount and not the security code 917.
    None,
    /// What separates a month from a year, after so many digits.
    OfDate(usize),
    /// Anything, because the secret itself is written with separators.
    Any,
}

impl Secrets {
    /// Ignores those with fewer letters and digits than `shortest`.
    pub(crate) fn new(secrets: &[&str], shortest: usize) -> Self {
        let widest_gap = widest_gap(secrets);
        let by_letters = secrets.iter().map(|secret| (*secret, letters(secret)));
        let (long, short): (Vec<_>, Vec<_>) = by_letters
            .filter(|(_, letters)| letters.chars().count() >= shortest)
            .partition(|(_, letters)| letters.chars().count() >= SHORTEST_LONG);
        // A secret that is the word of the redaction mark is no secret, and would be masked again and again.
        let long =
            long.iter().map(|(_, letters)| letters.as_str()).filter(|letters| !REDACTED.contains(letters));
        let long = Patterns::new(long, widest_gap);
        let mut short: Vec<ShortSecret> =
            short.into_iter().flat_map(|(secret, letters)| spellings(secret, letters)).collect();
        short.sort_unstable_by(|(one, gaps), (other, others)| (one.as_str(), gaps).cmp(&(other, others)));
        short.dedup();
        Self { long, short, widest_gap }
    }

    /// Whether one of them stands in any reading of the text.
    pub(crate) fn stand_in(&self, text: &str) -> bool {
        let mut are_found = false;
        Reading::for_each_of(text, &mut |reading| {
            are_found = are_found
                || !self.long_in(reading.text()).is_empty()
                || !self.short_in(reading.text()).is_empty();
        });
        are_found
    }

    /// Where the secrets of eight or more letters and digits stand.
    pub(super) fn long_in(&self, text: &str) -> Vec<Range<usize>> {
        self.long.find(text)
    }

    /// Where the other secrets stand untouched.
    pub(super) fn short_in(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        if self.short.is_empty() {
            return found;
        }
        let mut is_touched = false;
        for (start, character) in text.char_indices() {
            let is_letter = character.is_alphanumeric();
            if is_letter && !is_touched {
                found.extend(self.length_at_start_of(&text[start..]).map(|length| start..start + length));
            }
            is_touched = is_letter;
        }
        found
    }

    /// The length of the longest short secret that the text begins with and that no letter follows.
    fn length_at_start_of(&self, text: &str) -> Option<usize> {
        let mut word = Zeroizing::new(String::with_capacity(4 * SHORTEST_LONG));
        let (mut count, mut gaps, mut end) = (0, Gaps::None, 0);
        let mut found = None;
        for (start, character) in text.char_indices() {
            if !character.is_alphanumeric() {
                if text[end..start].chars().count() == self.widest_gap {
                    break;
                }
                continue;
            }
            gaps = gaps.and(Gaps::of(&text[end..start], count));
            word.push(character.to_ascii_lowercase());
            count += 1;
            end = start + character.len_utf8();
            if count == SHORTEST_LONG {
                break;
            }
            if !text[end..].starts_with(char::is_alphanumeric) && self.has_short(&word, gaps) {
                found = Some(end);
            }
        }
        found
    }

    fn has_short(&self, word: &str, gaps: Gaps) -> bool {
        let first = self.short.partition_point(|(secret, _)| secret.as_str() < word);
        let same_word = self.short[first..].iter().take_while(|(secret, _)| secret.as_str() == word);
        same_word
            .map(|(_, allowed)| *allowed)
            .any(|allowed| allowed == gaps || gaps == Gaps::None || allowed == Gaps::Any)
    }
}

impl Gaps {
    fn of(gap: &str, digits_before: usize) -> Self {
        match gap.trim() {
            "" if gap.is_empty() => Self::None,
            "" | "/" | "-" => Self::OfDate(digits_before),
            _ => Self::Any,
        }
    }

    /// A date has one gap.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (gaps, Self::None) | (Self::None, gaps) => gaps,
            _ => Self::Any,
        }
    }
}

/// The secret as it is written and, if it may be an expiry date, as people and other programs write one.
fn spellings(secret: &str, letters: Zeroizing<String>) -> Vec<ShortSecret> {
    let gaps = if letters.len() < secret.len() { Gaps::Any } else { Gaps::None };
    let mut spellings = Vec::new();
    if let Some((month, year)) = month_and_year(&letters) {
        spellings.push((letters.clone(), Gaps::OfDate(2)));
        spellings.push((Zeroizing::new(format!("{month}20{year}")), Gaps::OfDate(2)));
        spellings.push((Zeroizing::new(format!("20{year}{month}")), Gaps::OfDate(4)));
    }
    spellings.push((letters, gaps));
    spellings
}

/// `MMYY` in two halves.
fn month_and_year(digits: &str) -> Option<(&str, &str)> {
    let is_number = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_digit());
    let (month, year) = digits.split_at_checked(2).filter(|_| is_number)?;
    ("01"..="12").contains(&month).then_some((month, year))
}

/// From here on a secret is long. Seven digits are part of many a number, eight of few.
const SHORTEST_LONG: usize = 8;

#[cfg(test)]
mod tests {
    use super::Secrets;

    #[test]
    fn repeated_secrets_are_looked_for_once() {
        let secrets = Secrets::new(&["917", "917", "9-17", "12345678", "1234-5678"], 3);
        assert_eq!(secrets.short.len(), 2);
        assert_eq!(secrets.long_in("12345678 9-17").first(), Some(&(0..8)));
        assert_eq!(secrets.short_in("12345678 9-17").first(), Some(&(9..13)));
    }
}
