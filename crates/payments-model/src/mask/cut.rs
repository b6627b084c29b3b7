//! The end of a text that was cut.

use std::borrow::Cow;
use std::iter::repeat_n;

use super::readings::{LONGEST_ESCAPE, begins_escape, readings};
use super::secrets::places;

/// The start of a text, without what may be part of one of these secrets or of a number at its end, and without half an escape.
///
/// For a text that was cut: [`mask`](super::mask) does not recognize the beginning of a secret or of a number.
pub fn without_half_a_secret<'t>(start: &'t [u8], secrets: &[&str]) -> &'t [u8] {
    let escape = start.iter().rev().take(LONGEST_ESCAPE).position(|byte| begins_escape(*byte));
    let end = escape.map_or(start.len(), |at| start.len() - at - 1);
    let end = start[..end].iter().rposition(|byte| *byte != b'\\').map_or(0, |last| last + 1);
    let text = text_of(&start[..end]);
    let ends = readings(&text).map(|reading| {
        let text = &*reading.text;
        let letter = text.rfind(|character: char| character.is_alphanumeric() && !character.is_ascii_digit());
        let digits = text[letter.unwrap_or(0)..].find(|character: char| character.is_ascii_digit());
        let number = digits.map_or(text.len(), |digits| letter.unwrap_or(0) + digits);
        let cut = number.min(text.len() - half_a_secret(text, secrets));
        // A whole secret is masked, and its beginning is not.
        let whole = places(text, secrets, ..).into_iter().find(|place| place.contains(&cut));
        reading.place(whole.map_or(cut, |place| place.start))
    });
    &start[..ends.min().unwrap_or(end)]
}

/// The length of the longest part of a secret with which the text ends.
fn half_a_secret(text: &str, secrets: &[&str]) -> usize {
    let halves = secrets.iter().filter_map(|secret| {
        let secret = secret.as_bytes();
        (1..secret.len()).rev().find(|&length| text.as_bytes().ends_with(&secret[..length]))
    });
    halves.max().unwrap_or_default()
}

/// The text, with one character of one byte for each byte that is not UTF-8.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = str::from_utf8(bytes) {
        return text.into();
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(repeat_n('\0', chunk.invalid().len()));
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_that_ends_with_digits_is_not_cut_in_two_d64() {
        let key = "sk_live_51H99887";
        for behind in ["", "\"", "\", ", "\",\"", " 12", "."] {
            let text = format!("bad header {key}{behind}");
            let kept = without_half_a_secret(text.as_bytes(), &[key]);
            assert_eq!(kept, b"bad header ", "{behind}");
        }
        let later = format!("{key} was refused");
        assert_eq!(without_half_a_secret(later.as_bytes(), &[key]), later.as_bytes());
    }

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
            assert_eq!(without_half_a_secret(text, &[]), kept, "{}", String::from_utf8_lossy(text));
        }
    }
}
