//! A text with the characters that its escapes stand for: those of JSON, HTML, URLs and Rust's `Debug`.

use std::borrow::Cow;
use std::iter::successors;
use std::ops::Range;

use memchr::memchr3;

use crate::json::escaped_character;

/// A text as it is written, or with its escapes read.
#[derive(Default)]
pub(super) struct Reading<'t> {
    pub(super) text: Cow<'t, str>,
    /// The escapes of each text from which this one was read, from the one as it is written.
    escapes: Vec<Vec<Escape>>,
}

/// One escape that was read.
#[derive(Clone)]
struct Escape {
    /// Where it was.
    written: Range<usize>,
    /// Where the character is that it stands for.
    read: Range<usize>,
}

/// The text as it is written, then with its escapes read once, twice and so on, as often as it has any: a string of JSON can contain
/// JSON.
pub(super) fn readings(text: &str) -> impl Iterator<Item = Reading<'_>> {
    let as_written = Reading { text: Cow::Borrowed(text), escapes: Vec::new() };
    successors(Some(as_written), Reading::unescaped).take(MAX_READINGS)
}

impl Reading<'_> {
    /// `None` if the text has no escape.
    fn unescaped(&self) -> Option<Self> {
        let text = &*self.text;
        let next = |from: usize| memchr3(b'\\', b'&', b'%', &text.as_bytes()[from..]).map(|at| from + at);
        let (mut read, mut escapes, mut copied_to, mut from) = (String::new(), Vec::new(), 0, 0);
        while let Some(escape) = next(from) {
            from = escape + 1;
            if let Some((character, length)) = character(&text[escape..]) {
                if escapes.is_empty() {
                    read.reserve(text.len());
                    escapes.reserve(TYPICAL_ESCAPES);
                }
                read.push_str(&text[copied_to..escape]);
                let start = read.len();
                read.push(character);
                (copied_to, from) = (escape + length, escape + length);
                escapes.push(Escape { written: escape..copied_to, read: start..read.len() });
            }
        }
        if escapes.is_empty() {
            return None;
        }
        read.push_str(&text[copied_to..]);
        let escapes = self.escapes.iter().cloned().chain([escapes]).collect();
        Some(Self { text: Cow::Owned(read), escapes })
    }

    /// Whether an escape stands for this character at this place.
    pub(super) fn is_escape(&self, at: usize, character: char) -> bool {
        self.place(at + character.len_utf8()) - self.place(at) > character.len_utf8()
    }

    /// Where the character at this place, or the end, is in the text as it is written.
    pub(super) fn place(&self, at: usize) -> usize {
        self.escapes.iter().rev().fold(at, |at, escapes| {
            let before = escapes.partition_point(|escape| escape.read.start <= at);
            match before.checked_sub(1).map(|last| &escapes[last]) {
                None => at,
                Some(escape) if at < escape.read.end => escape.written.start,
                Some(escape) => escape.written.end + (at - escape.read.end),
            }
        })
    }
}

/// The character that the escape at the start of the text stands for, and the length of the escape.
fn character(text: &str) -> Option<(char, usize)> {
    let rest = &text[1..];
    match text.as_bytes()[0] {
        b'%' => of_url(text),
        b'&' => {
            let end = rest.bytes().take(LONGEST_NAME).position(|byte| byte == b';')?;
            of_html(&rest[..end]).map(|character| (character, end + "&;".len()))
        }
        _ => {
            let braced = rest.strip_prefix("u{").and_then(|code| {
                let end = code.bytes().take(LONGEST_CODE + 1).position(|byte| byte == b'}')?;
                code.get(..end)
            });
            if let Some(code) = braced {
                let character = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
                return character.map(|character| (character, code.len() + "\\u{}".len()));
            }
            let is_code =
                || rest.get(1..5).is_some_and(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
            match rest.as_bytes().first()? {
                b'u' if is_code() => {}
                b'"' | b'\\' | b'/' | b'\'' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                // Any other backslash is not an escape.
                _ => return None,
            }
            // Half a surrogate pair stands for no character.
            let (character, length) = escaped_character(rest).unwrap_or((char::REPLACEMENT_CHARACTER, 5));
            Some((character, 1 + length))
        }
    }
}

/// `%2F`, or more of them for one character of UTF-8.
fn of_url(text: &str) -> Option<(char, usize)> {
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = text.as_bytes().chunks(3).map_while(|part| match *part {
        [b'%', high, low] => Some(digit(high)? * 16 + digit(low)?),
        _ => None,
    });
    let bytes: Vec<u8> = bytes.take(char::MAX.len_utf8()).collect();
    let character = bytes.utf8_chunks().next()?.valid().chars().next();
    // In another encoding as a rule a space.
    Some(
        character.map_or((char::REPLACEMENT_CHARACTER, 3), |character| (character, 3 * character.len_utf8())),
    )
}

/// The name or the number between `&` and `;`.
fn of_html(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "apos" => Some('\''),
        "gt" => Some('>'),
        "lt" => Some('<'),
        "quot" => Some('"'),
        // As a rule a space. Whatever it stands for, it separates.
        name if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric()) => Some('\u{a0}'),
        code => {
            let code = code.strip_prefix('#')?;
            let hex = code.strip_prefix(['x', 'X']).map(|code| u32::from_str_radix(code, 16));
            char::from_u32(hex.unwrap_or_else(|| code.parse()).ok()?)
        }
    }
}

pub(super) fn begins_escape(byte: u8) -> bool {
    matches!(byte, b'\\' | b'&' | b'%')
}

const MAX_READINGS: usize = 4;

/// Enough for nearly every response that has any.
const TYPICAL_ESCAPES: usize = 16;

/// `10ffff`.
const LONGEST_CODE: usize = 6;

/// Longer than any name in HTML that stands for a separator.
const LONGEST_NAME: usize = 32;

/// The length of `\u{10ffff}`.
pub(super) const LONGEST_ESCAPE: usize = 10;
