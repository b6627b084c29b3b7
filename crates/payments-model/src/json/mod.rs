//! JSON values as text. A `Value` or an `f64` would lose digits.

mod raw;

use std::borrow::Cow;
use std::fmt;

use memchr::memchr;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

pub use raw::RawJson;
pub(crate) use raw::{Hidden, MAX_DEPTH};

/// One JSON value as text.
#[derive(Clone, Copy)]
pub(crate) struct Json<'a>(&'a RawValue);

impl<'a> From<&'a RawValue> for Json<'a> {
    fn from(raw: &'a RawValue) -> Self {
        Self(raw)
    }
}

impl<'a> Json<'a> {
    pub(crate) fn as_raw(self) -> &'a RawValue {
        self.0
    }

    pub(crate) fn as_str(self) -> &'a str {
        self.0.get()
    }

    pub(crate) fn is_null(self) -> bool {
        self.as_str() == "null"
    }

    pub(crate) fn is_object(self) -> bool {
        self.as_str().starts_with('{')
    }

    pub(crate) fn is_list(self) -> bool {
        self.as_str().starts_with('[')
    }

    pub(crate) fn is_string(self) -> bool {
        self.as_str().starts_with('"')
    }

    /// The members of an object. `None` for any other value, and if a name is not Unicode (`"\ud800"`).
    pub(crate) fn members(self) -> Option<Vec<Member<'a>>> {
        if !self.is_object() {
            return None;
        }
        serde_json::from_str(self.as_str()).ok().map(|Members(members)| members)
    }

    /// The elements of an array. `None` for any other value.
    pub(crate) fn elements(self) -> Option<Vec<Self>> {
        if !self.is_list() {
            return None;
        }
        let elements: Vec<&RawValue> = serde_json::from_str(self.as_str()).ok()?;
        Some(elements.into_iter().map(Self::from).collect())
    }

    /// Visits each value in it that is neither an array nor an object. `false` if one of the visits is, or if a value is not visited: it is
    /// nested in more than this many levels, or in an object whose names are not Unicode.
    pub(crate) fn visit(self, levels: u32, visit: &mut dyn FnMut(Self) -> bool) -> bool {
        let Some(levels) = levels.checked_sub(1) else { return false };
        if let Some(elements) = self.elements() {
            elements.into_iter().filter(|element| !element.visit(levels, visit)).count() == 0
        } else if let Some(members) = self.members() {
            members.into_iter().filter(|(_, value)| !value.visit(levels, visit)).count() == 0
        } else {
            !self.is_object() && visit(self)
        }
    }

    /// The text of a string. `None` for any other value, and for a string that is not Unicode.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        read_escapes(self.as_str().strip_prefix('"')?.strip_suffix('"')?)
    }

    /// The digits of a number.
    pub(crate) fn number(self) -> Option<&'a str> {
        let text = self.as_str();
        text.starts_with(|first: char| first == '-' || first.is_ascii_digit()).then_some(text)
    }

    /// A string, or the digits of a whole number. Identifiers and codes are read this way.
    pub(crate) fn text_or_integer(self) -> Option<Cow<'a, str>> {
        match self.number() {
            Some(digits) => is_integer(digits).then_some(Cow::Borrowed(digits)),
            None => self.text(),
        }
    }

    /// A whole number, or a string that contains one.
    pub(crate) fn integer(self) -> Option<i64> {
        let digits = self.text_or_integer()?;
        let has_leading_zero = digits.trim_start_matches('-').starts_with('0') && digits != "0";
        if is_integer(&digits) && !has_leading_zero { digits.parse().ok() } else { None }
    }

    /// A number, or a string that contains one.
    pub(crate) fn amount(self) -> Option<crate::Amount> {
        match self.number() {
            Some(digits) => digits.parse().ok(),
            None => self.text()?.parse().ok(),
        }
    }

    pub(crate) fn flag(self) -> Option<bool> {
        self.as_str().parse().ok()
    }
}

/// The amount in a JSON value: a number, or a string that contains one.
pub fn amount_in_json(json: &str) -> Option<crate::Amount> {
    serde_json::from_str::<&RawValue>(json).ok().map(Json::from)?.amount()
}

/// The JSON text with the characters that its escapes stand for. `None` if there is half a surrogate pair.
fn read_escapes(json: &str) -> Option<Cow<'_, str>> {
    if memchr(b'\\', json.as_bytes()).is_none() {
        return Some(Cow::Borrowed(json));
    }
    let (mut read, mut rest) = (String::with_capacity(json.len()), json);
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        read.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let (character, length) = escaped_character(escape)?;
        read.push(character);
        rest = &escape[length..];
    }
    read.push_str(rest);
    Some(Cow::Owned(read))
}

/// The character that an escape stands for, and the length of the escape. Both without its backslash. `None` for half a surrogate
/// pair, or if nothing follows the backslash.
pub(crate) fn escaped_character(escape: &str) -> Option<(char, usize)> {
    let code = |escape: &str| u16::from_str_radix(escape.strip_prefix('u')?.get(..4)?, 16).ok();
    if let Some(first) = code(escape) {
        // A pair of them stands for one character.
        let second = escape[5..].strip_prefix('\\').and_then(code);
        let character = char::decode_utf16([first].into_iter().chain(second)).next()?.ok()?;
        return Some((character, if character.len_utf16() > 1 { 11 } else { 5 }));
    }
    let letter = escape.chars().next()?;
    let character = match letter {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        other => other,
    };
    Some((character, letter.len_utf8()))
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

pub(crate) fn without_byte_order_mark(document: &[u8]) -> &[u8] {
    document.strip_prefix(b"\xef\xbb\xbf").unwrap_or(document)
}

/// The whitespace characters of JSON. Unicode has more.
pub(crate) const WHITESPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// The name and the value of a member of a JSON object.
pub(crate) type Member<'a> = (Cow<'a, str>, Json<'a>);

/// The members of an object in order, including repeated ones.
#[derive(Clone)]
pub(crate) struct Members<'a>(pub(crate) Vec<Member<'a>>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Members<'de>, M::Error> {
                let mut members = Vec::with_capacity(TYPICAL_COUNT);
                while let Some((Text(name), value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
                    members.push((name, value.into()));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

/// The value of the member with this name, if there is exactly one.
pub(crate) fn only<'a>(members: &[Member<'a>], name: &str) -> Option<Json<'a>> {
    let mut found = members.iter().filter(|member| member.0 == name);
    let (_, json) = found.next()?;
    found.next().is_none().then_some(*json)
}

/// A string. It is borrowed if it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Enough for the fields of the interface's records.
const TYPICAL_COUNT: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json<'_> {
        serde_json::from_str::<&RawValue>(text).unwrap().into()
    }

    #[test]
    fn each_accessor_reads_only_its_kind_of_value() {
        assert_eq!(json(r#""a\n\u00e4\ud83d\ude00""#).text().as_deref(), Some("a\nä😀"));
        assert_eq!(json(r#""\ud800""#).text(), None);
        assert_eq!(json("1").text(), None);
        assert_eq!(
            (json("-1.50e3").number(), json("\"1\"").number(), json("true").number()),
            (Some("-1.50e3"), None, None)
        );
        assert_eq!(
            (json("true").flag(), json("false").flag(), json("\"true\"").flag()),
            (Some(true), Some(false), None)
        );
        assert_eq!(json("7e0").text_or_integer(), None);
        for (text, expected) in [
            ("0", Some(0)),
            ("-0", None),
            ("\"0\"", Some(0)),
            ("\"00\"", None),
            ("\"-7\"", Some(-7)),
            ("\"\"", None),
            ("\"-\"", None),
        ] {
            assert_eq!(json(text).integer(), expected, "{text}");
        }
    }
}
