//! Small random changes to inputs.

use crate::random::Random;

impl Random {
    /// The input with one to four changes: bytes are flipped, removed, repeated, or replaced by special words or by a piece of
    /// another input.
    pub(crate) fn mutate(&mut self, input: &[u8], other: &[u8]) -> Vec<u8> {
        let mut output = input.to_vec();
        for _ in 0..=self.below(4) {
            self.change(&mut output, other);
        }
        output.truncate(MAX_LENGTH);
        output
    }

    fn change(&mut self, output: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(output.len() + 1);
        let length = self.below(output.len() - at + 1).min(64);
        let range = at..at + length;
        match self.below(7) {
            0 => {
                if let Some(byte) = output.get_mut(at) {
                    *byte ^= 1 << self.below(8);
                }
            }
            1 => output.truncate(at),
            2 => drop(output.drain(range)),
            3 => {
                let piece = output[range].to_vec();
                output.splice(at..at, piece);
            }
            4 => {
                let from = self.below(other.len() + 1);
                let to = from + self.below(other.len() - from + 1);
                output.splice(range, other[from..to].iter().copied());
            }
            choice => {
                let words: Vec<_> = WORDS.split(|byte| *byte == b' ').collect();
                let word = words[self.below(words.len())];
                let replaced = if choice == 5 { at..at } else { range };
                output.splice(replaced, word.iter().copied());
            }
        }
    }

    /// A number below `bound`, or zero if `bound` is zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.bits() % bound).unwrap_or_default()
    }
}

/// Words that parsers often mishandle, and words with a meaning in this interface. Spaces separate them.
const WORDS: &[u8] =
    b"\" \\ { } [ ] : , \0 \n \r\n \xff \xef\xbb\xbf \\u0000 \\ud800 \\u0031 %2e%2e %25 &#52; &quot; null \
    true false 0 -0 100 \"100\" 200 1e2 1E400 -1 0.01 99999999999999999999 e . .. / @ # ? status \
    status_code success failed data TransactionId Amount message msg 4929907390318794 \
    4929-9073-9031-8794 917 1137 \"a\":1, [redacted] ****";

const MAX_LENGTH: usize = 64 * 1024;
