//! The parts of a text that can contain a number.

use std::iter;
use std::ops::Range;

/// The parts that have at least this many digits, and no letter of ASCII between them. Nearly every text has none: dates and random
/// ids have few digits, and nearly always there are no digits, or a letter follows them soon.
pub(super) fn parts_with_digits(text: &str, count: usize) -> impl Iterator<Item = Range<usize>> {
    let (text, mut from) = (text.as_bytes(), 0);
    iter::from_fn(move || {
        loop {
            from += first_digit(&text[from..])?;
            let shortest = text[from..].get(..count)?;
            if let Some(letter) = shortest.iter().rposition(u8::is_ascii_alphabetic) {
                from += letter + 1;
                continue;
            }
            let length = text[from..].iter().position(u8::is_ascii_alphabetic);
            let part = from..length.map_or(text.len(), |length| from + length);
            from = part.end;
            if digits(&text[part.clone()]) >= count {
                return Some(part);
            }
        }
    })
}

fn first_digit(text: &[u8]) -> Option<usize> {
    let (blocks, _) = text.as_chunks::<16>();
    let skipped = 16 * blocks.iter().take_while(|block| !has_digit(block)).count();
    let digit = text[skipped..].iter().position(u8::is_ascii_digit)?;
    Some(skipped + digit)
}

/// Looks at every byte: a loop that does not end early is compiled to vector instructions.
fn has_digit(block: &[u8; 16]) -> bool {
    block.iter().fold(false, |found, byte| found | byte.is_ascii_digit())
}

fn digits(text: &[u8]) -> usize {
    text.iter().filter(|byte| byte.is_ascii_digit()).count()
}
