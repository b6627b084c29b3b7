//! The end of a text that was cut.

use super::escapes::{FILLER, LONGEST_ESCAPE, begins_escape, is_of_escape, with_escapes_read};
use super::unescaped::unescaped;

/// The start of a text, without what may be part of one of these secrets or of a number at its end, and without half an escape.
///
/// For a text that was cut: [`mask`](super::mask) does not recognize the beginning of a secret or of a number.
pub fn without_half_a_secret<'t>(start: &'t [u8], secrets: &[&str]) -> &'t [u8] {
    let longest = secrets.iter().map(|secret| secret.len()).max().unwrap_or_default();
    let from = start.len().saturating_sub(longest * LONGEST_CHARACTER);
    let tail = text_of(&start[from..]);
    let last = tail.bytes().rev().take(LONGEST_ESCAPE).position(begins_escape);
    let half_escape = last.map_or(tail.len(), |at| tail[..tail.len() - at - 1].trim_end_matches('\\').len());
    let end = [&tail, &tail[..half_escape]].map(|tail| length_without_half(tail, secrets));
    without_half_a_number(&start[..from + end[0].min(end[1])])
}

/// The length of the text without part of a secret at its end, as it is written or with escapes.
fn length_without_half(text: &str, secrets: &[&str]) -> usize {
    let half = |text: &str| {
        let halves = secrets.iter().filter_map(|secret| {
            let secret = secret.as_bytes();
            (1..secret.len()).rev().find(|&length| text.as_bytes().ends_with(&secret[..length]))
        });
        halves.max().unwrap_or_default()
    };
    let of_escaped = unescaped(text).map(|read| read.place(read.text.len() - half(&read.text)));
    of_escaped.fold(text.len() - half(text), usize::min)
}

/// The text with one [`FILLER`] for each byte that is not UTF-8.
fn text_of(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| FILLER));
    }
    text
}

fn without_half_a_number(start: &[u8]) -> &[u8] {
    // Nearly always a few bytes before the end. Nothing before it matters.
    let is_letter = |place: usize| start[place].is_ascii_alphabetic() && !is_of_escape(start, place);
    let last_letter = (0..start.len()).rev().find(|&place| is_letter(place)).unwrap_or(0);
    let end = start.len().saturating_sub(LONGEST_ESCAPE).max(last_letter);
    let half_escape = start[end..].iter().rposition(|byte| begins_escape(*byte));
    let end = half_escape.map_or(start.len(), |at| end + at);
    let text = text_of(&start[last_letter..end]);
    let text = with_escapes_read(&text);
    let is_letter = |character: char| character.is_alphanumeric() && !character.is_ascii_digit();
    let from = text.rfind(is_letter).unwrap_or(0);
    let digits = text[from..].find(|character: char| character.is_ascii_digit());
    &start[..digits.map_or(end, |digits| last_letter + from + digits)]
}

/// How much of a text can stand for one byte of a secret: `\\\\u0041` in JSON in JSON.
const LONGEST_CHARACTER: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_escapes_at_the_end_may_be_half_a_number_d64() {
        for (text, kept) in [
            (&b"card 6212, 9473"[..], &b"card "[..]),
            (b"a\":\"6212\",\"9473", b"a\":\""),
            (br"card 6212\u00a09473\u00", b"card "),
            (br"card 6212\u00a09473\u00a0", b"card "),
            (b"card 6212&nbsp;9473&nbs", b"card "),
            (b"card 6212\xa09473\xa00184", b"card "),
            ("card 6212\u{2009}9473\u{2009}".as_bytes(), b"card "),
            (b"\x80\x93 9473 ", b"\x80\x93 "),
            ("6 письмо".as_bytes(), "6 письмо".as_bytes()),
            (br"6 \u043f\u0438\u0441\u044c\u043c\u043e 7 12", br"6 \u043f\u0438\u0441\u044c\u043c\u043e "),
            (b"no digits, [[[", b"no digits, [[["),
            (b"", b""),
            (b"6212", b""),
        ] {
            assert_eq!(without_half_a_number(text), kept, "{}", String::from_utf8_lossy(text));
        }
    }
}
