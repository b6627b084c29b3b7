//! A text with the characters that its escapes stand for.

use std::iter::successors;

use memchr::memchr3;

use crate::json::escaped_character;

/// A text whose escapes are read: those of JSON, HTML, URLs and Rust's `Debug`.
#[derive(Default)]
pub(super) struct Unescaped {
    pub(super) text: String,
    /// Where in the text a piece begins, and where it was before.
    pieces: Vec<(usize, usize)>,
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
        let (mut read, mut copied_to, mut from) = (Self::default(), 0, 0);
        while let Some(escape) = next(from) {
            from = escape + 1;
            if let Some((character, length)) = character(&text[escape..]) {
                if copied_to == 0 {
                    read.text.reserve(text.len());
                }
                read.push(copied_to, &text[copied_to..escape]);
                read.push(escape, character.encode_utf8(&mut [0; 4]));
                (copied_to, from) = (escape + length, escape + length);
            }
        }
        if copied_to == 0 {
            return None;
        }
        read.push(copied_to, &text[copied_to..]);
        Some(read)
    }

    fn again(&self) -> Option<Self> {
        let Self { text, pieces } = Self::of(&self.text)?;
        let ends = pieces.iter().skip(1).map(|(begin, _)| *begin).chain([text.len()]);
        let mut of_original = Vec::new();
        for (&(begin, was), end) in pieces.iter().zip(ends) {
            of_original.push((begin, self.place(was)));
            let last = was + (end - begin);
            let inner = self.pieces.iter().skip(self.pieces.partition_point(|(inner, _)| *inner <= was));
            let inner = inner.take_while(|(inner, _)| *inner <= last);
            of_original.extend(inner.map(|(inner, place)| (begin + inner - was, *place)));
        }
        Some(Self { text, pieces: of_original })
    }

    /// Where the character at this place, or the end, was before.
    pub(super) fn place(&self, at: usize) -> usize {
        let of_piece = self.pieces.partition_point(|(begin, _)| *begin <= at) - 1;
        let (begin, was) = self.pieces[of_piece];
        was + (at - begin)
    }

    fn push(&mut self, was: usize, piece: &str) {
        self.pieces.push((self.text.len(), was));
        self.text.push_str(piece);
    }
}

/// The character that the escape at the start of the text stands for, and the length of the escape.
fn character(text: &str) -> Option<(char, usize)> {
    let rest = &text[1..];
    if text.starts_with('%') {
        let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let bytes = text.as_bytes().chunks(3).map_while(|part| match *part {
            [b'%', high, low] => Some(digit(high)? * 16 + digit(low)?),
            _ => None,
        });
        let bytes: Vec<u8> = bytes.take(char::MAX.len_utf8()).collect();
        let character = bytes.utf8_chunks().next()?.valid().chars().next()?;
        return Some((character, 3 * character.len_utf8()));
    }
    if text.starts_with('\\') {
        let braced = rest.strip_prefix("u{").and_then(|code| {
            let end = code.bytes().take(LONGEST_CODE + 1).position(|byte| byte == b'}')?;
            code.get(..end)
        });
        if let Some(code) = braced {
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
        // As a rule a space. Whatever it stands for, it separates.
        name if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic()) => '\u{a0}',
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
