//! Reading JSON without ever making a number of a number: every value stays the text that it was.
//!
//! A `Value` and an `f64` would be shorter and wrong: they lose digits.

use std::borrow::Cow;

use crate::json_object::{Member, Object, ObjectError};
use crate::json_scanner::{NotJson, Scanner};
use crate::json_string::unescape;

/// One JSON value as it was written, without white space around it.
#[derive(Clone, Copy)]
pub(crate) struct Json<'a> {
    pub(crate) text: &'a str,
    /// Whether it is a string in which nothing is escaped.
    pub(crate) is_plain_string: bool,
}

impl<'a> Json<'a> {
    /// The value that the text is, nested to any depth.
    pub(crate) fn read(text: &'a str) -> Result<Self, NotJson> {
        let mut scanner = Scanner::new(text);
        let value = scanner.value()?;
        scanner.expect_end()?;
        Ok(value)
    }

    pub(crate) fn as_str(self) -> &'a str {
        self.text
    }

    pub(crate) fn is_object(self) -> bool {
        self.text.starts_with('{')
    }

    pub(crate) fn is_null(self) -> bool {
        self.text == "null"
    }

    /// The members of an object in order, repeated names included.
    pub(crate) fn members(self) -> Result<Vec<Member<'a>>, ObjectError> {
        Object::open(self.text)?.all()
    }

    /// The text that a string stands for; `None` if the value is no string, or one that is not Unicode
    /// (`"\ud800"`).
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        if self.is_plain_string {
            return self.text.get(1..self.text.len() - 1).map(Cow::Borrowed);
        }
        unescape(self.text).map(Cow::Owned)
    }

    /// The digits of a number.
    pub(crate) fn number(self) -> Option<&'a str> {
        matches!(self.text.as_bytes(), [b'-' | b'0'..=b'9', ..]).then_some(self.text)
    }

    /// A text, or the digits of a number.
    pub(crate) fn text_or_number(self) -> Option<Cow<'a, str>> {
        self.number().map(Cow::Borrowed).or_else(|| self.text())
    }

    /// A text, or the digits of a whole number: how identifiers and codes are read.
    pub(crate) fn text_or_integer(self) -> Option<Cow<'a, str>> {
        match self.number() {
            Some(digits) => is_integer(digits).then_some(Cow::Borrowed(digits)),
            None => self.text(),
        }
    }

    /// A whole number, as a number or as a text that would be one.
    pub(crate) fn integer(self) -> Option<i64> {
        let digits = self.text_or_number()?;
        let has_leading_zero = digits.trim_start_matches('-').starts_with('0') && digits != "0";
        if is_integer(&digits) && !has_leading_zero { digits.parse().ok() } else { None }
    }

    pub(crate) fn flag(self) -> Option<bool> {
        match self.text {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }
}

/// What JSON counts as white space, which is less than Unicode does.
pub(crate) const JSON_WHITESPACE: [char; 4] = [' ', '\t', '\n', '\r'];

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json<'_> {
        Json::read(text).unwrap()
    }

    #[test]
    fn values_are_read_as_what_they_are() {
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
