//! A text with the characters that its escapes stand for.

use std::iter::{repeat_n, successors};
use std::ops::Range;

use memchr::memchr3;

use crate::json::escaped_character;

/// A text whose escapes are read: those of JSON, HTML, URLs and Rust's `Debug`.
pub(super) struct Unescaped {
    pub(super) text: String,
    /// Where each byte of the text was before, and where the text ended.
    pub(super) places: Vec<usize>,
}

/// How often escapes are read: a string of JSON can contain JSON.
pub(super) const DEPTH: usize = 3;

/// The text with its escapes read once, twice and so on, as often as it has any.
pub(super) fn unescaped(text: &str) -> impl Iterator<Item = Unescaped> {
    successors(Unescaped::of(text), Unescaped::again).take(DEPTH)
}

impl Unescaped {
    /// `None` if the text has no escape.
    fn of(text: &str) -> Option<Self> {
        let next = |from: usize| memchr3(b'\\', b'&', b'%', &text.as_bytes()[from..]).map(|at| from + at);
        let mut escape = next(0)?;
        let mut read =
            Self { text: String::with_capacity(text.len()), places: Vec::with_capacity(text.len() + 1) };
        let mut copied_to = 0;
        loop {
            let character = character(&text[escape..]);
            if let Some((character, length)) = character {
                read.copy(text, copied_to..escape);
                read.text.push(character);
                read.places.extend(repeat_n(escape, character.len_utf8()));
                copied_to = escape + length;
            }
            match next(copied_to.max(escape + 1)) {
                Some(at) => escape = at,
                None => break,
            }
        }
        if copied_to == 0 {
            return None;
        }
        read.copy(text, copied_to..text.len());
        read.places.push(text.len());
        Some(read)
    }

    fn again(&self) -> Option<Self> {
        let mut read = Self::of(&self.text)?;
        for place in &mut read.places {
            *place = self.places[*place];
        }
        Some(read)
    }

    fn copy(&mut self, from: &str, range: Range<usize>) {
        self.text.push_str(&from[range.clone()]);
        self.places.extend(range);
    }
}

/// The character that the escape at the start of the text stands for, and the length of the escape.
fn character(text: &str) -> Option<(char, usize)> {
    let rest = &text[1..];
    if text.starts_with('%') {
        let byte = u8::from_str_radix(rest.get(..2)?, 16).ok()?;
        return byte.is_ascii().then_some((char::from(byte), 3));
    }
    if text.starts_with('\\') {
        let braced = rest.strip_prefix("u{").and_then(|code| code.split_once('}'));
        if let Some((code, _)) = braced.filter(|(code, _)| code.len() <= LONGEST_CODE) {
            let character = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
            return character.map(|character| (character, code.len() + "\\u{}".len()));
        }
        // Any other backslash is not an escape.
        if !rest.starts_with(['"', '\\', '/', '\'', 'b', 'f', 'n', 'r', 't', 'u']) {
            return None;
        }
        return escaped_character(rest).map(|(character, length)| (character, 1 + length));
    }
    let end = rest.bytes().take(LONGEST_CODE + 3).position(|byte| byte == b';')?;
    let character = match &rest[..end] {
        "amp" => '&',
        "apos" => '\'',
        "gt" => '>',
        "lt" => '<',
        "quot" => '"',
        code => {
            let code = code.strip_prefix('#')?;
            let hex = code.strip_prefix(['x', 'X']).map(|code| u32::from_str_radix(code, 16));
            char::from_u32(hex.unwrap_or_else(|| code.parse()).ok()?)?
        }
    };
    Some((character, end + "&;".len()))
}

/// `10ffff`, or in decimal digits `1114111`.
const LONGEST_CODE: usize = 7;
