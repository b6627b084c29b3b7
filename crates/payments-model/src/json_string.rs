//! What a JSON string stands for.

/// The text of a string that is known to be JSON, quotation marks included; `None` where it stands for no Unicode
/// (`"\ud800"`), or where the value is no string.
///
/// Room is reserved once, so that no copy is left behind where the text is a secret.
pub(crate) fn unescape(quoted: &str) -> Option<String> {
    let mut rest = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::with_capacity(rest.len());
    while let Some(at) = rest.find('\\') {
        let (plain, escape) = rest.split_at(at);
        let (character, length) = unescape_one(escape)?;
        text.push_str(plain);
        text.push(character);
        rest = &escape[length..];
    }
    text.push_str(rest);
    Some(text)
}

/// The character for which the escape at the beginning stands, and how long the escape is.
fn unescape_one(escape: &str) -> Option<(char, usize)> {
    let character = match escape.as_bytes().get(1)? {
        mark @ (b'"' | b'\\' | b'/') => char::from(*mark),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unescape_unicode(escape),
        _ => return None,
    };
    Some((character, 2))
}

fn unescape_unicode(escape: &str) -> Option<(char, usize)> {
    let unit = utf16_unit(escape)?;
    if let Some(character) = char::from_u32(unit.into()) {
        return Some((character, 6));
    }
    let next = utf16_unit(escape.get(6..)?)?;
    let character = char::decode_utf16([unit, next]).next()?.ok()?;
    Some((character, 12))
}

fn utf16_unit(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::unescape;
    use crate::json::Json;

    /// A string is read as `serde_json` reads it, or by neither.
    #[track_caller]
    fn assert_read_alike(quoted: &str) {
        let judged = serde_json::from_str::<String>(quoted).ok();
        assert_eq!(Json::read(quoted).ok().and_then(|_| unescape(quoted)), judged, "{quoted}");
    }

    #[test]
    fn every_escape_is_read_as_serde_json_reads_it() {
        for mark in '\0'..='\u{ff}' {
            assert_read_alike(&format!("\"a\\{mark}b\""));
        }
        for unit in 0..=u16::MAX {
            assert_read_alike(&format!("\"\\u{unit:04x}\""));
        }
        for first in ["d7ff", "d800", "dbff", "dc00", "dfff", "e000", "0000", "D83D"] {
            for second in ["", "x", "\\", "\\n", "\\u", "\\u12", "\\u+0DC", "é", "\\\\udc00"] {
                assert_read_alike(&format!("\"\\u{first}{second}\""));
            }
            for second in ["d7ff", "d800", "dbff", "dc00", "dfff", "e000", "DE00"] {
                assert_read_alike(&format!("\"\\u{first}\\u{second}\\u{first}\\u{second}z\""));
            }
        }
    }

    #[test]
    fn s5_room_is_reserved_once() {
        let quoted = format!("\"{}\"", r"x\u00e9\n".repeat(99));
        assert_eq!(unescape(&quoted).unwrap().capacity(), quoted.len() - 2);
    }

    #[test]
    fn what_is_no_string_is_none() {
        for text in ["", "\"", "a", "\"a", "a\"", r#""\""#, r#""\u00"#] {
            assert_eq!(unescape(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_string_is_read_as_serde_json_reads_it(
            pieces in prop::collection::vec(r#"\PC|\\[u"\\/bfnrtx]|\\u[dD][89a-fA-F][0-9a-f]{2}|\\u[0-9a-f]{3,4}"#, 0..8),
        ) {
            assert_read_alike(&format!("\"{}\"", pieces.concat()));
        }
    }
}
