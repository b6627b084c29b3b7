//! Reading JSON without ever making a number of a number: every value stays the text that it was.
//!
//! `serde_json::Value` and `f64` would be shorter and wrong. They lose digits, and what they yield changes
//! when another crate of the build turns on `arbitrary_precision` or `float_roundtrip`. Values are skipped
//! without recursion, so that deep nesting cannot overflow the stack.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Why a text is not a JSON object. Of `serde_json`'s own error only the place survives: its text quotes the
/// input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectError {
    NotJson { line: usize, column: usize },
    NotAnObject,
}

/// Calls `member` for each name and value of the object that `text` is, in order, repeated names included.
pub(crate) fn for_each_member<'a>(
    text: &'a str,
    member: impl FnMut(Cow<'a, str>, &'a RawValue),
) -> Result<(), ObjectError> {
    let not_json =
        |error: serde_json::Error| ObjectError::NotJson { line: error.line(), column: error.column() };
    if !text.trim_start_matches(JSON_WHITESPACE).starts_with('{') {
        let _: &RawValue = serde_json::from_str(text).map_err(not_json)?;
        return Err(ObjectError::NotAnObject);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    Members(member).deserialize(&mut deserializer).and_then(|()| deserializer.end()).map_err(not_json)
}

/// The text that a JSON string stands for; `None` if the value is no string, or one that is not Unicode
/// (`"\ud800"`).
pub(crate) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    // Without a way out of the loop, so that the processor looks at many bytes at once.
    if inner.bytes().fold(false, |escaped, byte| escaped | matches!(byte, b'\\')) {
        serde_json::from_str(raw.get()).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// The digits of a JSON number.
pub(crate) fn number(raw: &RawValue) -> Option<&str> {
    raw.get().starts_with(|first: char| first == '-' || first.is_ascii_digit()).then(|| raw.get())
}

/// A text, or the digits of a number.
pub(crate) fn text_or_number(raw: &RawValue) -> Option<Cow<'_, str>> {
    number(raw).map(Cow::Borrowed).or_else(|| text(raw))
}

/// A text, or the digits of a whole number: how identifiers and codes are read.
pub(crate) fn text_or_integer(raw: &RawValue) -> Option<Cow<'_, str>> {
    match number(raw) {
        Some(digits) => is_integer(digits).then_some(Cow::Borrowed(digits)),
        None => text(raw),
    }
}

/// A whole number, as a JSON number or as a text that would be one.
pub(crate) fn integer(raw: &RawValue) -> Option<i64> {
    let digits = text_or_number(raw)?;
    let has_leading_zero = digits.trim_start_matches('-').starts_with('0') && digits != "0";
    if is_integer(&digits) && !has_leading_zero { digits.parse().ok() } else { None }
}

/// A JSON boolean.
pub(crate) fn flag(raw: &RawValue) -> Option<bool> {
    match raw.get() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Whether the value is JSON `null`.
pub(crate) fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

/// What JSON counts as white space, which is less than Unicode does.
pub(crate) const JSON_WHITESPACE: [char; 4] = [' ', '\t', '\n', '\r'];

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

struct Members<F>(F);

impl<'de, F: FnMut(Cow<'de, str>, &'de RawValue)> DeserializeSeed<'de> for Members<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, F: FnMut(Cow<'de, str>, &'de RawValue)> Visitor<'de> for Members<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key_seed(Name)? {
            (self.0)(name, map.next_value()?);
        }
        Ok(())
    }
}

/// A member name, borrowed unless it holds escapes. (`Cow` by itself would always be copied.)
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::{ObjectError, flag, for_each_member, integer, number, text, text_or_integer};

    fn raw(json: &str) -> &RawValue {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn members_come_in_order_with_repeats_and_borrowed_where_possible() {
        let mut seen = Vec::new();
        for_each_member(r#" {"b":1 ,"a": [ ] ,"b":"x","\u0061":null} "#, |name, raw| {
            seen.push((matches!(name, std::borrow::Cow::Borrowed(_)), format!("{name}={}", raw.get())));
        })
        .unwrap();
        let expected = [(true, "b=1"), (true, "a=[ ]"), (true, "b=\"x\""), (false, "a=null")];
        assert_eq!(seen, expected.map(|(borrowed, text)| (borrowed, text.to_owned())));
    }

    #[test]
    fn what_is_no_object_is_told_apart_from_what_is_no_json() {
        let read = |text| for_each_member(text, |_, _| ());
        for text in ["null", " []", "\"{}\"", "1"] {
            assert_eq!(read(text), Err(ObjectError::NotAnObject));
        }
        assert_eq!(read("{\n}}"), Err(ObjectError::NotJson { line: 2, column: 2 }));
        assert!(matches!(read(""), Err(ObjectError::NotJson { .. })));
        assert!(matches!(read("\u{a0}{}"), Err(ObjectError::NotJson { .. })));
    }

    #[test]
    fn values_are_read_as_what_they_are() {
        assert_eq!(text(raw(r#""a\n\u00e4\ud83d\ude00""#)).as_deref(), Some("a\nä😀"));
        assert_eq!(text(raw(r#""\ud800""#)), None);
        assert_eq!(text(raw("1")), None);
        assert_eq!(
            (number(raw("-1.50e3")), number(raw("\"1\"")), number(raw("true"))),
            (Some("-1.50e3"), None, None)
        );
        assert_eq!(
            (flag(raw("true")), flag(raw("false")), flag(raw("\"true\""))),
            (Some(true), Some(false), None)
        );
        assert_eq!(text_or_integer(raw("007e0".trim_start_matches("00"))), None);
        for (json, expected) in [
            ("0", Some(0)),
            ("-0", None),
            ("\"0\"", Some(0)),
            ("\"00\"", None),
            ("\"-7\"", Some(-7)),
            ("\"\"", None),
            ("\"-\"", None),
        ] {
            assert_eq!(integer(raw(json)), expected, "{json}");
        }
    }
}
