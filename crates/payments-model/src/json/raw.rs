use std::cell::Cell;
use std::fmt;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use super::Json;
use crate::mask::{contains_card_number, is_secret_name};
use crate::secret::REDACTED;

/// A JSON value exactly as the service sent it, for which this crate has no type.
///
/// It is valid JSON, but nothing else was checked: it may have any size and any content. `Debug` shows only its length.
#[derive(Clone)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Keeps `text` if it is exactly one JSON value. `None` otherwise.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self)
    }

    /// The JSON text. It may contain anything that the service sent, so do not log it.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    pub(crate) fn as_raw(&self) -> &RawValue {
        &self.0
    }

    /// Keeps text that is JSON by construction.
    pub(crate) fn from_json_text(text: String) -> Self {
        Self(RawValue::from_string(text).unwrap_or_default())
    }

    pub(crate) fn redacted() -> Self {
        Self(to_raw_value(REDACTED).unwrap_or_default())
    }

    /// The value without what [is always hidden](Hidden::ALWAYS).
    pub(crate) fn redacted_from(json: Json<'_>) -> Self {
        Self::without(Hidden::ALWAYS, json)
    }

    pub(crate) fn without(hidden: Hidden<'_>, json: Json<'_>) -> Self {
        if !json.is_list() && !json.is_object() {
            return if hidden.is_in(json) { Self::redacted() } else { Self(json.as_raw().to_owned()) };
        }
        let has_secret = Cell::new(false);
        let redacted = to_raw_value(&Redacted { json, hidden, levels: MAX_DEPTH, has_secret: &has_secret });
        if has_secret.get() {
            return Self(redacted.unwrap_or_default());
        }
        Self(json.as_raw().to_owned())
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(raw) = self;
        write!(f, "RawJson({} bytes)", raw.get().len())
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

/// What is replaced in a value.
#[derive(Clone, Copy)]
pub(crate) struct Hidden<'a> {
    /// Values under these names.
    pub(crate) names: &'a dyn Fn(&str) -> bool,
    /// Strings and numbers with these texts.
    pub(crate) texts: &'a dyn Fn(&str) -> bool,
}

impl Hidden<'static> {
    /// In any record: values under the name of a secret, and what contains a card-like number.
    pub(crate) const ALWAYS: Self = Self { names: &is_secret_name, texts: &contains_card_number };
}

impl Hidden<'_> {
    /// Whether a string or a number is replaced.
    fn is_in(&self, json: Json<'_>) -> bool {
        let text = json.text();
        (self.texts)(text.as_deref().unwrap_or_else(|| json.as_str()))
    }
}

/// Serializes as the value with secrets replaced, and notes whether there were any.
struct Redacted<'a> {
    json: Json<'a>,
    hidden: Hidden<'a>,
    levels: u32,
    has_secret: &'a Cell<bool>,
}

impl Serialize for Redacted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { json, hidden, levels, has_secret } = *self;
        if !json.is_list() && !json.is_object() {
            if !hidden.is_in(json) {
                return json.as_raw().serialize(serializer);
            }
        } else if let Some(levels) = levels.checked_sub(1) {
            let part = |json| Redacted { json, hidden, levels, has_secret };
            if let Some(elements) = json.elements() {
                return serializer.collect_seq(elements.into_iter().map(part));
            }
            if let Some(members) = json.members() {
                let mut map = serializer.serialize_map(None)?;
                for (name, json) in members {
                    if (hidden.names)(&name) {
                        has_secret.set(true);
                        map.serialize_entry(&name, REDACTED)?;
                    } else {
                        map.serialize_entry(&name, &part(json))?;
                    }
                }
                return map.end();
            }
        }
        has_secret.set(true);
        serializer.serialize_str(REDACTED)
    }
}

/// Deeper values are refused in an account field and redacted as a whole in a record.
pub(crate) const MAX_DEPTH: u32 = 64;

#[cfg(test)]
mod tests {
    use super::RawJson;

    #[test]
    fn json_value_is_kept_verbatim_and_not_shown_by_debug() {
        let raw = RawJson::parse(" {\"a\" : 4242} ").unwrap();
        assert_eq!(raw.as_str(), "{\"a\" : 4242}");
        assert_eq!(format!("{raw:?}"), "RawJson(12 bytes)");
        assert_eq!(raw, raw.clone());
        assert_ne!(raw, RawJson::parse("{\"a\" : 4243}").unwrap());
        for text in ["", "1 2", "{", "x"] {
            assert!(RawJson::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn only_values_under_secret_names_and_card_numbers_are_replaced_d62() {
        for (json, redacted) in [
            (r#"{"Cvv" : "1"}"#, r#"{"Cvv":"[redacted]"}"#),
            (r#"[{"Cvv":{"Cvv":["}"]}, "b":1}]"#, r#"[{"Cvv":"[redacted]","b":1}]"#),
            (r#"{"a":"Cvv","Cvv":1,"pan":null}"#, r#"{"a":"Cvv","Cvv":"[redacted]","pan":"[redacted]"}"#),
            (r#"{"a" : "\"Cvv\":1"}"#, r#"{"a" : "\"Cvv\":1"}"#),
            (r#"["Cvv", 1.50]"#, r#"["Cvv", 1.50]"#),
            (r#""Cvv""#, r#""Cvv""#),
            (r#"{"a":["x","card 4242 4242 4242 4242"]}"#, r#"{"a":["x","[redacted]"]}"#),
            ("4242424242424242", r#""[redacted]""#),
            (r#""\u0034242424242424242""#, r#""[redacted]""#),
            (r#"{"\ud800":1}"#, r#""[redacted]""#),
        ] {
            let raw = RawJson::parse(json).unwrap();
            assert_eq!(RawJson::redacted_from(raw.as_raw().into()).as_str(), redacted);
        }
    }
}
