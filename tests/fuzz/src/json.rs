use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON value, read without the SDK, for comparison with what the SDK reads.
///
/// Numbers stay text. An object keeps its members in order, including repeated names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Flag(bool),
    /// The number as text.
    Number(String),
    /// The unescaped string. `None` if it is not valid Unicode, such as `"\ud800"`.
    Text(Option<String>),
    /// The elements.
    List(Vec<Self>),
    /// Names and values.
    Object(Vec<(Option<String>, Self)>),
}

/// Why a text could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotRead {
    /// The text is not JSON as RFC 8259 defines it.
    NotJson,
    /// The text is nested deeper than this reader supports. It may be JSON or not.
    TooDeep,
}

impl Json {
    /// Reads the whole text.
    ///
    /// # Errors
    ///
    /// If it is not JSON, or is nested deeper than 200 levels.
    pub(crate) fn read(text: &str) -> Result<Self, NotRead> {
        Self::read_raw(serde_json::from_str(text).map_err(|_| NotRead::NotJson)?, 0)
    }

    fn read_raw(raw: &RawValue, depth: usize) -> Result<Self, NotRead> {
        if depth > DEEPEST {
            return Err(NotRead::TooDeep);
        }
        let text = raw.get();
        let string = |raw: &RawValue| serde_json::from_str(raw.get()).ok();
        Ok(match text.as_bytes().first() {
            Some(b'{') => {
                let Members(members) = serde_json::from_str(text).map_err(|_| NotRead::NotJson)?;
                let read = |(name, value)| Ok((string(name), Self::read_raw(value, depth + 1)?));
                Self::Object(members.into_iter().map(read).collect::<Result<_, _>>()?)
            }
            Some(b'[') => {
                let elements: Vec<&RawValue> = serde_json::from_str(text).map_err(|_| NotRead::NotJson)?;
                let read = |element| Self::read_raw(element, depth + 1);
                Self::List(elements.into_iter().map(read).collect::<Result<_, _>>()?)
            }
            Some(b'"') => Self::Text(string(raw)),
            Some(b'n') => Self::Null,
            Some(b't') => Self::Flag(true),
            Some(b'f') => Self::Flag(false),
            _ => Self::Number(text.to_owned()),
        })
    }

    /// The text, if the value is a string of valid Unicode.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => text.as_deref(),
            _ => None,
        }
    }

    /// The members, if the value is an object and all names are valid Unicode.
    pub(crate) fn members(&self) -> Option<Vec<(&str, &Self)>> {
        match self {
            Self::Object(members) => {
                members.iter().map(|(name, value)| Some((name.as_deref()?, value))).collect()
            }
            _ => None,
        }
    }

    /// The values of every member with this name.
    pub(crate) fn all(&self, name: &str) -> Vec<&Self> {
        let members = self.members().unwrap_or_default();
        members.into_iter().filter(|member| member.0 == name).map(|(_, value)| value).collect()
    }

    /// The value of the member with this name, if there is exactly one.
    pub(crate) fn once(&self, name: &str) -> Option<&Self> {
        match *self.all(name) {
            [value] => Some(value),
            _ => None,
        }
    }
}

/// The members of an object in order, none of them read. A map would keep only one of a repeated name.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// The grammar of RFC 8259, section 6.
pub(crate) fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    digits(integer) && (integer == "0" || !integer.starts_with('0')) && digits(fraction) && digits(exponent)
}

/// The text of a body, without a leading byte order mark. `None` if it is not UTF-8.
pub(crate) fn body_text(bytes: &[u8]) -> Option<&str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    str::from_utf8(bytes).ok()
}

/// Far above the depth of any document of the service, and small enough for the stack of a test.
const DEEPEST: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_is_read() {
        let text = |text: &str| Json::Text(Some(text.to_owned()));
        let read = Json::read(r#" {"a":[1.50e+2 ,null],"\u0061":"\ud83d\ude00\n","b":"\ud800"} "#).unwrap();
        assert_eq!(read.all("a").len(), 2);
        assert_eq!(read.once("a"), None);
        assert_eq!(read.all("a")[1], &text("\u{1f600}\n"));
        assert_eq!(read.once("b"), Some(&Json::Text(None)));
        for good in ["0", "-0", "1e5", "\"\"", "[]", "{}", "true", " null\n"] {
            assert!(Json::read(good).is_ok(), "{good}");
        }
        for bad in
            ["", "01", "1.", ".1", "+1", "1e", "[1,]", "{,}", "{a:1}", "'a'", "\"\t\"", "nul", "1 2", "\"a"]
        {
            assert_eq!(Json::read(bad), Err(NotRead::NotJson), "{bad}");
        }
        assert_eq!(Json::read(&("[".repeat(300) + &"]".repeat(300))), Err(NotRead::TooDeep));
    }
}
