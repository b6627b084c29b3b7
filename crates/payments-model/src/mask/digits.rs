//! A quick check for the digits of a number.

/// Whether there are this many digits without a letter of ASCII between them. A quick check: dates and random ids have few, and nearly
/// always there are no digits, or a letter follows them soon.
pub(super) fn has_digits(text: &str, count: usize) -> bool {
    let mut text = text.as_bytes();
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
