use std::borrow::Cow;
use std::fmt;

use serde_json::Value;
use serde_json::value::RawValue;

use super::{Json, Member};
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
    pub fn text(&self) -> &str {
        self.0.get()
    }

    pub(crate) fn as_raw(&self) -> &RawValue {
        &self.0
    }

    /// Keeps text that is JSON by construction.
    pub(crate) fn from_json_text(text: String) -> Self {
        Self(RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }

    pub(crate) fn redacted() -> Self {
        Self::from_json_text(format!("\"{REDACTED}\""))
    }

    /// The value with two kinds of content replaced: values under the name of a secret, and strings and numbers that contain
    /// a card-like number.
    pub(crate) fn redacted_from(json: Json<'_>) -> Self {
        redact(json, MAX_DEPTH).map_or_else(|| Self(json.as_raw().to_owned()), Self::from_json_text)
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
        self.text() == other.text()
    }
}

impl Eq for RawJson {}

/// The JSON with secrets replaced. `None` if there are none, so that the caller keeps the original text.
fn redact(json: Json<'_>, levels: u32) -> Option<String> {
    let replaced = || Some(format!("\"{REDACTED}\""));
    let is_list = json.is_list();
    if !is_list && !json.is_object() {
        let text = json.text();
        let text = text.as_deref().unwrap_or_else(|| json.as_str());
        return if contains_card_number(text) { replaced() } else { None };
    }
    let nameless = |elements: Vec<_>| elements.into_iter().map(|element| (Cow::default(), element)).collect();
    let parts: Option<Vec<Member<'_>>> = if is_list { json.elements().map(nameless) } else { json.members() };
    let (Some(parts), Some(levels)) = (parts, levels.checked_sub(1)) else { return replaced() };
    let mut is_changed = false;
    let written = parts.iter().map(|(name, value)| {
        let redacted = if is_secret_name(name) { replaced() } else { redact(*value, levels) };
        is_changed |= redacted.is_some();
        let value = redacted.unwrap_or_else(|| value.as_str().to_owned());
        if is_list { value } else { format!("{}:{value}", Value::from(&**name)) }
    });
    let written = written.collect::<Vec<_>>().join(",");
    is_changed.then(|| if is_list { format!("[{written}]") } else { format!("{{{written}}}") })
}

/// Deeper values are rejected in an account field and redacted as a whole in a record.
pub(crate) const MAX_DEPTH: u32 = 64;

#[cfg(test)]
mod tests {
    use super::RawJson;

    #[test]
    fn json_value_is_kept_verbatim_and_not_shown_by_debug() {
        let raw = RawJson::parse(" {\"a\" : 4242} ").unwrap();
        assert_eq!(raw.text(), "{\"a\" : 4242}");
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
            assert_eq!(RawJson::redacted_from(raw.as_raw().into()).text(), redacted);
        }
    }
}
