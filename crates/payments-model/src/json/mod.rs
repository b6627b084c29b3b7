//! JSON values as text. A `Value` or an `f64` would lose digits.

mod any;
mod raw;

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

pub(crate) use any::AnyJson;
pub use raw::RawJson;
pub(crate) use raw::{MAX_DEPTH, Portable};

/// One JSON value as text.
#[derive(Clone, Copy)]
pub(crate) struct Json<'a> {
    text: &'a str,
    digits: Digits,
}

/// Whether the numbers in a text have their original digits. Numbers that passed through an `f64` may not.
#[derive(Clone, Copy)]
pub(crate) enum Digits {
    /// The text is part of the input.
    AsWritten,
    /// The text comes from `serde_json`, but its source may be a reader or a `Value`.
    Unknown,
    /// The text was serialized again from another format or from a buffered value.
    Rebuilt,
}

impl<'a> From<&'a RawValue> for Json<'a> {
    fn from(raw: &'a RawValue) -> Self {
        Self { text: raw.get(), digits: Digits::AsWritten }
    }
}

impl<'a> Json<'a> {
    pub(crate) fn as_str(self) -> &'a str {
        self.text
    }

    pub(crate) fn is_null(self) -> bool {
        self.text == "null"
    }

    pub(crate) fn is_object(self) -> bool {
        self.text.starts_with('{')
    }

    pub(crate) fn is_string(self) -> bool {
        self.text.starts_with('"')
    }

    /// The members of an object. `None` for any other value, and if a name is not Unicode (`"\ud800"`).
    pub(crate) fn members(self) -> Option<Vec<Member<'a>>> {
        if !self.is_object() {
            return None;
        }
        let Members(members) = serde_json::from_str(self.text).ok()?;
        let inherited = |(name, json)| (name, Self { digits: self.digits, ..json });
        Some(members.into_iter().map(inherited).collect())
    }

    /// The elements of an array. `None` for any other value.
    pub(crate) fn elements(self) -> Option<Vec<Self>> {
        if !self.text.starts_with('[') {
            return None;
        }
        let elements: Vec<&RawValue> = serde_json::from_str(self.text).ok()?;
        Some(elements.into_iter().map(|raw| Self { text: raw.get(), ..self }).collect())
    }

    /// The text of a string. `None` for any other value, and for a string that is not Unicode.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        let written = self.text.strip_prefix('"')?.strip_suffix('"')?;
        if written.contains('\\') {
            return serde_json::from_str(self.text).ok().map(Cow::Owned);
        }
        Some(Cow::Borrowed(written))
    }

    /// The digits of a number.
    pub(crate) fn number(self) -> Option<&'a str> {
        matches!(self.text.as_bytes(), [b'-' | b'0'..=b'9', ..]).then_some(self.text)
    }

    /// A string, or the digits of a whole number. Identifiers and codes are read this way.
    pub(crate) fn text_or_integer(self) -> Option<Cow<'a, str>> {
        match self.number() {
            Some(digits) => self.is_whole(digits).then_some(Cow::Borrowed(digits)),
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
            Some(digits) if self.is_whole(digits) || self.has_original_digits(digits) => digits.parse().ok(),
            Some(_) => None,
            None => self.text()?.parse().ok(),
        }
    }

    /// Whether the text is a whole number with its original digits. A large number may come from an `f64`, depending on the
    /// `serde_json` features that other crates enable.
    fn is_whole(self, digits: &str) -> bool {
        let is_small = || digits.parse::<i64>().is_ok() || digits.parse::<u64>().is_ok();
        is_integer(digits) && (matches!(self.digits, Digits::AsWritten) || is_small())
    }

    /// Whether a decimal number has its original digits. An `f64` keeps 15 significant digits.
    fn has_original_digits(self, number: &str) -> bool {
        match self.digits {
            Digits::AsWritten => true,
            Digits::Unknown => number.bytes().filter(u8::is_ascii_digit).count() <= 15,
            Digits::Rebuilt => false,
        }
    }

    pub(crate) fn flag(self) -> Option<bool> {
        self.text.parse().ok()
    }
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The whitespace characters of JSON. Unicode has more.
pub(crate) const WHITESPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// The name and the value of a member of a JSON object.
pub(crate) type Member<'a> = (Cow<'a, str>, Json<'a>);

/// The members of an object in order, including repeated ones.
#[derive(Default)]
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

/// Enough for nearly every record and request.
const TYPICAL_COUNT: usize = 32;

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
