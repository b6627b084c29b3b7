use std::fmt;

use crate::json::Json;
use crate::json_tokens::redact_nested;
use crate::redact::REDACTED;

/// A JSON value kept exactly as the service sent it, because this crate has no type for it.
///
/// Nothing in it was checked beyond being JSON: it may be of any size and hold anything, so its `Debug` shows
/// only its length and the text has to be asked for by name.
#[derive(Clone)]
pub struct RawJson(Box<str>);

impl RawJson {
    /// Keeps `text` if it is one JSON value, `None` otherwise.
    pub fn parse(text: &str) -> Option<Self> {
        Json::read(text).ok().map(Self::from)
    }

    /// The JSON text, which may be whatever the service sent. Do not log it.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Keeps a text that is JSON by construction; should it ever not be, a marker takes its place.
    pub(crate) fn from_json_text(text: &str) -> Self {
        Self::parse(text).unwrap_or_else(|| Self("null".into()))
    }

    /// The value without what stands under names of card or account data in it.
    pub(crate) fn redact_nested(self) -> Self {
        redact_nested(self.text()).map_or(self, |redacted| Self::from_json_text(&redacted))
    }

    pub(crate) fn redacted() -> Self {
        Self::from_json_text(&format!("\"{REDACTED}\""))
    }
}

impl From<Json<'_>> for RawJson {
    fn from(json: Json<'_>) -> Self {
        Self(json.as_str().into())
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        write!(f, "RawJson({} bytes)", text.len())
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for RawJson {}

#[cfg(test)]
mod tests {
    use super::RawJson;

    #[test]
    fn one_json_value_is_kept_verbatim_and_not_shown() {
        let raw = RawJson::parse(" {\"a\" : 4242} ").unwrap();
        assert_eq!(raw.text(), "{\"a\" : 4242}");
        assert_eq!(format!("{raw:?}"), "RawJson(12 bytes)");
        assert_eq!(raw, raw.clone());
        assert_ne!(raw, RawJson::parse("{\"a\" : 4243}").unwrap());
        for text in ["", "1 2", "{", "x"] {
            assert!(RawJson::parse(text).is_none(), "{text}");
        }
    }
}
