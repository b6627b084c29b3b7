use std::fmt;

use crate::RawJson;
use crate::json_tokens::redact_nested;
use crate::redact::is_secret_name;
use crate::violation::printable_name;

/// The fields of a record that the interface does not have, kept as they came and in their order.
///
/// A value whose name says that it holds card or account data (`Cvv`, `ExpiryDate`, `AccountNumber` and the
/// like, in any spelling and at any depth) is replaced by `"[redacted]"` on the way in, so that nothing
/// downstream can leak it. `Debug` shows names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OtherFields(Vec<(String, RawJson)>);

impl OtherFields {
    /// Adds a field after the others. A repeated name is kept twice.
    pub fn insert(&mut self, name: impl Into<String>, value: RawJson) {
        let name = name.into();
        let value = if is_secret_name(&name) {
            RawJson::redacted()
        } else {
            redact_nested(value.text()).map_or(value, RawJson::from_json_text)
        };
        self.0.push((name, value));
    }

    /// Replaces every value that holds one of these texts, at any depth and whatever its name is.
    ///
    /// For the secrets of a request whose answer sends them back. Texts shorter than five characters are ignored: they
    /// would strike values that only look alike.
    pub fn redact_echoes(&mut self, secrets: &[&str]) {
        let echoes =
            |value: &RawJson| secrets.iter().any(|secret| secret.len() >= 5 && value.text().contains(secret));
        for (_, value) in self.0.iter_mut().filter(|(_, value)| echoes(value)) {
            *value = RawJson::redacted();
        }
    }

    /// The value of the first field with this name.
    pub fn get(&self, name: &str) -> Option<&RawJson> {
        self.iter().find(|(own, _)| *own == name).map(|(_, value)| value)
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The number of fields.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none, as the interface has it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for OtherFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(fields) = self;
        f.debug_set().entries(fields.iter().map(|(name, _)| printable_name(name))).finish()
    }
}
