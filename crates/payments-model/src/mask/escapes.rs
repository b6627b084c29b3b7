//! Escapes of JSON, HTML, URLs and Rust's `Debug` in a text.

use std::borrow::Cow;
use std::iter::repeat_n;

/// How the text is searched: as written, then with its escapes read if it has any. A place is the same in both.
pub(super) fn readings(text: &str) -> &'static [fn(&str) -> Cow<'_, str>] {
    let has_escapes = text.bytes().any(begins_escape);
    if has_escapes { &[as_written, with_escapes_read] } else { &[as_written] }
}

pub(super) fn begins_escape(byte: u8) -> bool {
    matches!(byte, b'\\' | b'&' | b'%')
}

pub(super) fn as_written(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

/// The text with a space and [`FILLER`]s for each escape that can stand for a separator.
pub(super) fn with_escapes_read(text: &str) -> Cow<'_, str> {
    let (mut read, mut copied_to, mut from) = (String::new(), 0, 0);
    while let Some(at) = text[from..].find(['\\', '&', '%']) {
        let start = from + at;
        let length = escape_length(&text[start..]);
        if length > 0 {
            read.push_str(&text[copied_to..start]);
            read.push(' ');
            read.extend(repeat_n(FILLER, length - 1));
            copied_to = start + length;
        }
        from = start + length.max(1);
    }
    if copied_to == 0 {
        return Cow::Borrowed(text);
    }
    read.push_str(&text[copied_to..]);
    Cow::Owned(read)
}

/// The length of the escape that begins with this backslash, `&` or `%`: as JSON, HTML, URLs and Rust's `Debug` write it. One
/// that stands for a letter or digit does not count.
pub(super) fn escape_length(text: &str) -> usize {
    let hex = |text: &str| text.bytes().take_while(u8::is_ascii_hexdigit).count();
    let is_separator = |code: &str, radix| {
        let code = u32::from_str_radix(code, radix).map(char::from_u32);
        code.is_ok_and(|character| !character.is_some_and(char::is_alphanumeric))
    };
    match text.as_bytes()[0] {
        b'%' => {
            let is_byte = |part: &&[u8]| {
                part.len() == 3 && part[0] == b'%' && part[1..].iter().all(u8::is_ascii_hexdigit)
            };
            3 * text.as_bytes().chunks(3).take_while(is_byte).count()
        }
        b'&' => {
            let is_of_name = |byte: &u8| *byte == b'#' || byte.is_ascii_alphanumeric();
            let (name, rest) = text[1..].split_at(text.bytes().skip(1).take_while(is_of_name).count());
            let is_read =
                match (name.strip_prefix("#x").or_else(|| name.strip_prefix("#X")), name.strip_prefix('#')) {
                    (Some(code), _) => is_separator(code, 16),
                    (None, Some(code)) => is_separator(code, 10),
                    (None, None) => !name.is_empty(),
                };
            if is_read && rest.starts_with(';') { name.len() + 2 } else { 0 }
        }
        _ => {
            let escaped = text.trim_start_matches('\\');
            let braced = escaped.strip_prefix("u{").and_then(|text| {
                let (code, rest) = text.split_at(hex(text));
                rest.starts_with('}').then_some((code, 3))
            });
            let code = braced.or_else(|| Some((escaped.strip_prefix('u')?.get(..4)?, 1)));
            let length = match code {
                Some((code, marks)) if is_separator(code, 16) => code.len() + marks,
                _ => usize::from(escaped.starts_with(['n', 'r', 't', 'b', 'f'])),
            };
            text.len() - escaped.len() + length
        }
    }
}

/// Whether a letter at this place may be part of an escape.
pub(super) fn is_of_escape(text: &[u8], place: usize) -> bool {
    let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"#{}".contains(byte);
    let mut before = text[..place].iter().rev().take(LONGEST_NAME).skip_while(is_of_name);
    before.next().is_none_or(|byte| begins_escape(*byte))
}

/// Keeps the places in a text whose escapes are [read](with_escapes_read). One byte, and no separator that people write.
pub(super) const FILLER: char = '\0';

/// How far an escape is looked for before one of its letters. A longer one only makes quick checks fail.
pub(super) const LONGEST_NAME: usize = 32;

/// `\u{10ffff}`.
pub(super) const LONGEST_ESCAPE: usize = 10;
