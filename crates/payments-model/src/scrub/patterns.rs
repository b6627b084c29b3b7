use std::collections::VecDeque;
use std::ops::Range;

use zeroize::Zeroizing;

/// Many texts that are looked for at once, by their letters and digits alone.
///
/// This is the automaton of Aho and Corasick: one step per letter of the text, however many patterns there are
/// and however much they have in common. Trying one pattern after the other would let whoever sends a long
/// answer to a request with many secrets keep a processor busy for minutes.
pub(super) struct Patterns {
    states: Vec<State>,
    /// How many other characters may stand between two letters.
    widest_gap: usize,
}

/// What has been read last is the beginning of a pattern.
#[derive(Default)]
struct State {
    /// By the next letter, in order. They spell secrets, hence set to zero on drop like these.
    next: Zeroizing<Vec<(char, usize)>>,
    /// The state for the longest shorter beginning that has been read too.
    fallback: usize,
    /// The length of the longest pattern that ends here; 0 if none does.
    longest: usize,
}

impl Patterns {
    pub(super) fn new<'a>(patterns: impl Iterator<Item = &'a str>, widest_gap: usize) -> Self {
        let mut automaton = Self { states: vec![State::default()], widest_gap };
        for pattern in patterns {
            automaton.insert(pattern);
        }
        automaton.link();
        automaton
    }

    /// The ranges of the text that the patterns cover, joined where they overlap or touch, in order.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        if self.states.len() == 1 {
            return found;
        }
        let mut starts = Vec::with_capacity(text.len());
        let (mut state, mut gap) = (0, 0);
        for (start, character) in text.char_indices() {
            if !character.is_alphanumeric() {
                gap += 1;
                continue;
            }
            if gap > self.widest_gap {
                state = 0;
            }
            gap = 0;
            starts.push(start);
            state = self.step(state, character.to_ascii_lowercase());
            let length = self.states[state].longest;
            if length > 0 {
                let end = start + character.len_utf8();
                join(&mut found, starts[starts.len() - length]..end);
            }
        }
        found
    }

    fn insert(&mut self, pattern: &str) {
        let mut state = 0;
        let letters = letters(pattern);
        for letter in letters.chars() {
            state = match self.position(state, letter) {
                Ok(known) => self.states[state].next[known].1,
                Err(place) => {
                    let new = self.states.len();
                    self.states[state].next.insert(place, (letter, new));
                    self.states.push(State::default());
                    new
                }
            };
        }
        self.states[state].longest = letters.chars().count();
    }

    /// Sets the fallbacks, from the shortest beginnings to the longest, because each builds on a shorter one.
    fn link(&mut self) {
        let mut queue = VecDeque::from([0]);
        while let Some(state) = queue.pop_front() {
            for index in 0..self.states[state].next.len() {
                let (letter, next) = self.states[state].next[index];
                let fallback = if state == 0 { 0 } else { self.step(self.states[state].fallback, letter) };
                self.states[next].fallback = fallback;
                self.states[next].longest = self.states[next].longest.max(self.states[fallback].longest);
                queue.push_back(next);
            }
        }
    }

    fn step(&self, mut state: usize, letter: char) -> usize {
        loop {
            match self.position(state, letter) {
                Ok(known) => return self.states[state].next[known].1,
                Err(_) if state == 0 => return 0,
                Err(_) => state = self.states[state].fallback,
            }
        }
    }

    fn position(&self, state: usize, letter: char) -> Result<usize, usize> {
        self.states[state].next.binary_search_by_key(&letter, |(own, _)| *own)
    }
}

/// The letters and digits of a text, in lower case as far as it is ASCII.
pub(super) fn letters(text: &str) -> Zeroizing<String> {
    let letters = text.chars().filter(|character| character.is_alphanumeric());
    Zeroizing::new(letters.map(|letter| letter.to_ascii_lowercase()).collect())
}

/// How many other characters may stand between two letters or digits of these secrets: what people and programs put
/// between groups, and as many as a secret has itself, or it would not be found as it is written.
pub(super) fn widest_gap(secrets: &[&str]) -> usize {
    let gaps = secrets.iter().flat_map(|secret| {
        let inner = secret.trim_matches(|character: char| !character.is_alphanumeric());
        inner.split(char::is_alphanumeric).map(|gap| gap.chars().count())
    });
    gaps.fold(USUAL_GAP, usize::max)
}

/// Adds a range that ends behind all others.
fn join(ranges: &mut Vec<Range<usize>>, mut range: Range<usize>) {
    while let Some(last) = ranges.pop_if(|last| last.end >= range.start) {
        range.start = range.start.min(last.start);
    }
    ranges.push(range);
}

/// What people and programs put between groups of digits is no longer, such as two spaces or a hyphen between spaces.
const USUAL_GAP: usize = 3;

#[cfg(test)]
mod tests {
    use super::{Patterns, widest_gap};

    fn found<'a>(patterns: &[&str], text: &'a str) -> Vec<&'a str> {
        let patterns = Patterns::new(patterns.iter().copied(), widest_gap(patterns));
        patterns.find(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn patterns_are_found_by_their_letters_and_digits() {
        assert_eq!(found(&["a-b/1"], "xAB1x a..b --1 a....b1"), ["AB1", "a..b --1"]);
        assert_eq!(found(&["äö"], "xä öx"), ["ä ö"]);
        assert_eq!(found(&["--a-----b-"], "a-----b a------b"), ["a-----b"]);
        assert_eq!(found(&["-----ab-----"], "a---b a----b"), ["a---b"]);
        assert_eq!(found(&[], "abc"), [""; 0]);
        assert_eq!(found(&["", "-"], "abc"), [""; 0]);
    }

    #[test]
    fn patterns_may_begin_and_end_within_each_other() {
        assert_eq!(found(&["abcd", "bc"], "abce"), ["bc"]);
        assert_eq!(found(&["abcd", "cdef", "x"], "abcdefx"), ["abcdefx"]);
        assert_eq!(found(&["abab"], "abababxab"), ["ababab"]);
        assert_eq!(found(&["aab", "ab", "b"], "aaab-b"), ["aab", "b"]);
    }

    /// The plain way, which takes as long as it takes.
    fn found_one_by_one(patterns: &[String], text: &str) -> Vec<bool> {
        let mut covered = vec![false; text.len()];
        for pattern in patterns {
            for start in 0..text.len() {
                if text[start..].starts_with(pattern) {
                    covered[start..start + pattern.len()].fill(true);
                }
            }
        }
        covered
    }

    proptest::proptest! {
        #[test]
        fn what_is_found_at_once_is_what_is_found_one_by_one(
            patterns in proptest::collection::vec("[ab]{1,5}", 0..6),
            text in "[abc]{0,30}",
        ) {
            let mut covered = vec![false; text.len()];
            for range in Patterns::new(patterns.iter().map(String::as_str), 3).find(&text) {
                covered[range].fill(true);
            }
            assert_eq!(covered, found_one_by_one(&patterns, &text));
        }
    }
}
