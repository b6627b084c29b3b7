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
                let word = WORDS[self.below(WORDS.len())];
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

/// Words that parsers often mishandle, and words with a meaning in this interface.
const WORDS: [&[u8]; 56] = [
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"\0",
    b"\n",
    b"\r\n",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\\u0000",
    b"\\ud800",
    b"\\u0031",
    b"%2e%2e",
    b"%25",
    b"&#52;",
    b"&quot;",
    b"null",
    b"true",
    b"false",
    b"0",
    b"-0",
    b"100",
    b"\"100\"",
    b"200",
    b"1e2",
    b"1E400",
    b"-1",
    b"0.01",
    b"99999999999999999999",
    b"e",
    b".",
    b"..",
    b"/",
    b"@",
    b"#",
    b"?",
    b"status",
    b"status_code",
    b"success",
    b"failed",
    b"data",
    b"TransactionId",
    b"Amount",
    b"message",
    b"msg",
    b"4929907390318794",
    b"4929-9073-9031-8794",
    b"917",
    b"1137",
    b"\"a\":1,",
    b"[redacted]",
    b"****",
];

const MAX_LENGTH: usize = 64 * 1024;
