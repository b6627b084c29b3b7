//! A quick check for the digits of a number.

use memchr::memchr3_iter;

use super::escapes::escape_length;

/// Whether there may be this many digits without a letter between them, in any [reading](readings). A quick check: dates and random
/// ids have few.
pub(super) fn has_digits(text: &str, count: usize) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < count {
        return false;
    }
    let (mut start, mut run) = (0, 0);
    for at in memchr3_iter(b'\\', b'&', b'%', bytes).chain([bytes.len()]) {
        // Nothing, inside the escape before.
        let words = bytes.get(start..at).unwrap_or_default();
        let letter = words.iter().position(u8::is_ascii_alphabetic).unwrap_or(words.len());
        let (before, words) = words.split_at(letter);
        run += digits(before);
        if run >= count || has_digits_between_letters(words, count) {
            return true;
        }
        if let Some(letter) = words.iter().rposition(u8::is_ascii_alphabetic) {
            run = digits(&words[letter..]);
        }
        if (start..bytes.len()).contains(&at) {
            // Its letters do not count.
            start = at + escape_length(&text[at..]);
            run += digits(&bytes[at..start]);
            start = start.max(at + 1);
        }
    }
    run >= count
}

/// Nearly always there are no digits, or a letter follows them soon.
fn has_digits_between_letters(mut text: &[u8], count: usize) -> bool {
    while let Some(first) = first_digit(text) {
        text = &text[first..];
        let Some(shortest) = text.get(..count) else { return false };
        let next = if let Some(letter) = shortest.iter().rposition(u8::is_ascii_alphabetic) {
            letter + 1
        } else {
            let end = text.iter().position(u8::is_ascii_alphabetic).unwrap_or(text.len());
            if digits(&text[..end]) >= count {
                return true;
            }
            end
        };
        text = &text[next..];
    }
    false
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
