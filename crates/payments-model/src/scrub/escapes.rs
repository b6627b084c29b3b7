//! What one escape stands for, in each of the notations that a secret may be echoed in.

/// One notation: which character its escapes begin with, and what the escape that a text begins with stands
/// for and how long it is.
#[derive(Clone, Copy)]
pub(super) struct Decoder {
    pub(super) lead: char,
    pub(super) decode: fn(&str) -> Option<(char, usize)>,
}

/// JSON, and what other languages write in the same way.
pub(super) const JSON: Decoder = Decoder { lead: '\\', decode: json };
/// URLs, as far as they hold ASCII.
pub(super) const URL: Decoder = Decoder { lead: '%', decode: url };
/// HTML: the characters by number, and those names that escape or separate.
pub(super) const HTML: Decoder = Decoder { lead: '&', decode: html };

fn json(text: &str) -> Option<(char, usize)> {
    let kind = text.chars().nth(1)?;
    match kind {
        'b' | 'f' | 'n' | 'r' | 't' => Some((' ', 2)),
        'x' => Some((char::from_u32(hex(text, 2, 2)?)?, 4)),
        'u' => utf16(text),
        _ if kind.is_ascii_punctuation() => Some((kind, 2)),
        _ => None,
    }
}

fn utf16(text: &str) -> Option<(char, usize)> {
    let unit = hex(text, 2, 4)?;
    if let Some(character) = char::from_u32(unit) {
        return Some((character, 6));
    }
    let low = text.get(6..8).filter(|lead| *lead == "\\u").and_then(|_| hex(text, 8, 4));
    let pair = [unit, low.unwrap_or_default()].map(|unit| u16::try_from(unit).unwrap_or_default());
    match char::decode_utf16(pair).next() {
        Some(Ok(character)) => Some((character, 12)),
        _ => Some((char::REPLACEMENT_CHARACTER, 6)),
    }
}

fn url(text: &str) -> Option<(char, usize)> {
    let byte = char::from_u32(hex(text, 1, 2)?)?;
    Some((if byte.is_ascii() { byte } else { char::REPLACEMENT_CHARACTER }, 3))
}

fn html(text: &str) -> Option<(char, usize)> {
    let name_end = text.bytes().take(LONGEST_ENTITY).position(|byte| byte == b';')?;
    let name = text.get(1..name_end)?;
    let character = match name {
        "amp" => '&',
        "apos" => '\'',
        "gt" => '>',
        "lt" => '<',
        "nbsp" => '\u{a0}',
        "quot" => '"',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    };
    Some((character, name_end + 1))
}

/// The number that so many hexadecimal digits are.
fn hex(text: &str, from: usize, length: usize) -> Option<u32> {
    let digits = text.get(from..from + length)?;
    // `from_str_radix` takes a sign for a digit.
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_hex { u32::from_str_radix(digits, 16).ok() } else { None }
}

/// `&#x10FFFF;`
const LONGEST_ENTITY: usize = 10;

#[cfg(test)]
mod tests {
    use super::{Decoder, HTML, JSON, URL};

    fn assert_decodes(decoder: Decoder, cases: &[(&str, Option<(char, usize)>)]) {
        for (text, expected) in cases {
            assert_eq!((decoder.decode)(text), *expected, "{text}");
        }
    }

    #[test]
    fn d64_escapes_of_json_stand_for_one_character_and_a_cut_one_for_none() {
        let cases = [
            (r"\n4", Some((' ', 2))),
            (r"\t", Some((' ', 2))),
            (r#"\""#, Some(('"', 2))),
            (r"\/x", Some(('/', 2))),
            (r"\\n", Some(('\\', 2))),
            (r"\u0027", Some(('\'', 6))),
            (r"\x27", Some(('\'', 4))),
            (r"\ud83d\ude00x", Some(('😀', 12))),
            (r"\ud83dx", Some(('\u{fffd}', 6))),
            (r"\ud83d\u0041", Some(('\u{fffd}', 6))),
            (r"\ud83d\ude0", Some(('\u{fffd}', 6))),
            (r"\ud83d\n\ude00", Some(('\u{fffd}', 6))),
            (r"\ude00", Some(('\u{fffd}', 6))),
            ("\\", None),
            (r"\u", None),
            (r"\u002", None),
            (r"\u+027", None),
            ("\\u00ä", None),
            ("\\ä", None),
            (r"\w", None),
            (r"\x2", None),
        ];
        assert_decodes(JSON, &cases);
    }

    #[test]
    fn d64_escapes_of_urls_and_pages_stand_for_one_character_and_a_cut_one_for_none() {
        let urls = [
            ("%22x", Some(('"', 3))),
            ("%aF", Some(('\u{fffd}', 3))),
            ("%2", None),
            ("%", None),
            ("%+2", None),
            ("%2ä", None),
        ];
        assert_decodes(URL, &urls);
        let pages = [
            ("&#39;4", Some(('\'', 5))),
            ("&#x27;", Some(('\'', 6))),
            ("&#x10FFFF;", Some(('\u{10ffff}', 10))),
            ("&nbsp;", Some(('\u{a0}', 6))),
            ("&quot;", Some(('"', 6))),
            ("&amp;#39;", Some(('&', 5))),
            ("&apos;s", Some(('\'', 6))),
            ("&gt;", Some(('>', 4))),
            ("&lt;b", Some(('<', 4))),
            ("&#xd800;", None),
            ("&#99999999;", None),
            ("&copy;", None),
            ("&#;", None),
            ("&;", None),
            ("&ä;", None),
            ("&amp", None),
        ];
        assert_decodes(HTML, &pages);
    }
}
