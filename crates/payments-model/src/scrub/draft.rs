use std::ops::Range;

use super::reading::{Reading, is_unprintable};
use crate::redact::REDACTED;

/// A text on its way to being shown. What must not be seen is overwritten in place by control characters,
/// which the text itself no longer has, so that every position in it stays what it was.
pub(super) struct Draft {
    text: String,
}

/// What a masked range becomes.
#[derive(Clone, Copy)]
pub(super) enum Mark {
    /// The redaction mark, one for all that is hidden in a row.
    Hidden,
    /// One star.
    Digit,
}

impl Draft {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.replace(is_unprintable, " ") }
    }

    /// Overwrites what `find` finds in the text as it stands.
    pub(super) fn mask_as_it_stands(&mut self, mark: Mark, find: impl Fn(&str) -> Vec<Range<usize>>) {
        self.overwrite(mark, find(&self.text));
    }

    /// Overwrites what `find` finds in any reading of the text.
    pub(super) fn mask(&mut self, mark: Mark, find: impl Fn(&str) -> Vec<Range<usize>>) {
        let mut found = Vec::new();
        Reading::for_each_of(&self.text, &mut |reading| {
            found.extend(find(reading.text()).into_iter().map(|range| reading.place_of(range)));
        });
        self.overwrite(mark, found);
    }

    pub(super) fn finish(&self) -> String {
        let mut shown = String::with_capacity(self.text.len());
        let mut is_hidden = false;
        for character in self.text.chars() {
            let was_hidden = std::mem::replace(&mut is_hidden, character == char::from(HIDDEN));
            match u8::try_from(character) {
                Ok(HIDDEN) if was_hidden => {}
                Ok(HIDDEN) => shown.push_str(REDACTED),
                Ok(DIGIT) => shown.push('*'),
                Ok(REST_OF_DIGIT) => {}
                _ => shown.push(character),
            }
        }
        shown
    }

    fn overwrite(&mut self, mark: Mark, found: Vec<Range<usize>>) {
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        for range in found {
            let first = range.start;
            bytes[range].fill(match mark {
                Mark::Hidden => HIDDEN,
                Mark::Digit => REST_OF_DIGIT,
            });
            if matches!(mark, Mark::Digit) {
                bytes[first] = DIGIT;
            }
        }
        // Whole characters were overwritten; if ever they were not, nothing is shown rather than too much.
        self.text = String::from_utf8(bytes).unwrap_or_default();
    }
}

const HIDDEN: u8 = 0;
const DIGIT: u8 = 1;
/// An escaped digit (`\u0034`) is longer than the star that replaces it.
const REST_OF_DIGIT: u8 = 2;

#[cfg(test)]
mod tests {
    use super::{Draft, Mark};

    #[test]
    fn what_is_hidden_in_a_row_is_one_mark_and_an_escaped_digit_one_star() {
        let mut draft = Draft::new(r"ä 42 \u0034");
        draft.mask(Mark::Digit, |reading| reading.match_indices('4').map(|(at, _)| at..at + 1).collect());
        assert_eq!(draft.finish(), r"ä *2 *");
        draft.mask(Mark::Hidden, |reading| vec![0..2, 2..reading.find(' ').unwrap_or(2) + 1]);
        assert_eq!(draft.finish(), "[redacted]*2 *");
    }

    #[test]
    fn control_characters_cannot_forge_a_log_line() {
        assert_eq!(Draft::new("a\r\nb\u{1b}[31m\u{202e}c\u{2028}d\0\u{1}\u{2}").finish(), "a  b [31m c d   ");
    }
}
