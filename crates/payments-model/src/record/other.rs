use std::fmt;

use crate::RawJson;
use crate::json::{Hidden, Json};
use crate::mask::contains_long_secret;
use crate::violation::printable_field_name;

/// The fields of a record that the interface does not define, in order.
///
/// They are kept as JSON text. When a record is read, these values become `"[redacted]"`:
///
/// - the value of a field, at any depth, whose name is that of card or account data or of an API key, such as `Cvv`,
///   `ExpiryDate` or `AccountNumber`, in any spelling;
/// - a string or number that contains a card-like number;
/// - a value nested more than 64 levels deep.
///
/// `Debug` shows only the names.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OtherFields(Vec<(String, RawJson)>);

impl OtherFields {
    /// Appends a field, with secrets in its value redacted. A repeated name is kept twice.
    #[expect(clippy::needless_pass_by_value, reason = "an insert takes ownership of the value")]
    pub fn insert(&mut self, name: impl Into<String>, value: RawJson) {
        self.keep(name, value.as_raw().into());
    }

    pub(crate) fn keep(&mut self, name: impl Into<String>, value: Json<'_>) {
        let name = name.into();
        let value = field_without(Hidden::ALWAYS, &name, value);
        self.0.push((name, value));
    }

    /// Redacts also, at any depth, the values under these names, and what contains one of these secrets, unless it is so short that it
    /// occurs by chance. For the other crates of this project only: it may change in any version.
    #[doc(hidden)]
    pub fn redact(&mut self, names: &[&str], secrets: &[&str]) {
        let hidden = Hidden {
            names: &|name| names.contains(&name),
            texts: &|text| contains_long_secret(text, secrets),
        };
        for (name, value) in &mut self.0 {
            *value = field_without(hidden, name, value.as_raw().into());
        }
    }

    /// The value of the first field with this name.
    pub fn get(&self, name: &str) -> Option<&RawJson> {
        self.iter().find(|field| field.0 == name).map(|(_, value)| value)
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The number of fields.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no such fields.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn field_without(hidden: Hidden<'_>, name: &str, value: Json<'_>) -> RawJson {
    if (hidden.names)(name) { RawJson::redacted() } else { RawJson::without(hidden, value) }
}

impl fmt::Debug for OtherFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(fields) = self;
        f.debug_set().entries(fields.iter().map(|(name, _)| printable_field_name(name))).finish()
    }
}
