use std::borrow::Cow;
use std::fmt;

use crate::json::{Member, Members};
use crate::mask::is_secret_name;
use crate::{RawJson, printable_field_name};

/// The fields of a record that the interface does not define, in order.
///
/// They are kept as JSON text and parsed at each access. These values read as `"[redacted]"`:
///
/// - the value of a field, at any depth, whose name is that of card or account data, such as `Cvv`, `ExpiryDate` or
///   `AccountNumber`, in any spelling;
/// - a string or number that contains a card-like number;
/// - a value nested more than 64 levels deep.
///
/// `Debug` shows only the names.
#[derive(Clone, Default)]
pub struct OtherFields {
    /// A JSON object, or an empty string.
    object: String,
}

impl OtherFields {
    /// Keeps the members that are not `known`.
    pub(crate) fn read(members: &[Member<'_>], known: &[&str]) -> Self {
        let mut other = Self::default();
        for (name, value) in members.iter().filter(|(name, _)| !known.contains(&&**name)) {
            other.push(name, value.as_str());
        }
        other
    }

    /// Appends a field. A repeated name is kept twice.
    #[expect(clippy::needless_pass_by_value, reason = "an insert takes ownership of the value")]
    pub fn insert(&mut self, name: impl Into<String>, value: RawJson) {
        self.push(&name.into(), value.text());
    }

    fn push(&mut self, name: &str, value: &str) {
        let before = if self.object.pop().is_some() { "," } else { "{" };
        let name = serde_json::to_string(name).expect("a string is JSON");
        self.object.extend([before, &name, ":", value, "}"]);
    }

    /// The value of the first field with this name.
    pub fn get(&self, name: &str) -> Option<RawJson> {
        self.iter().find(|field| field.0 == name).map(|(_, value)| value)
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (Cow<'_, str>, RawJson)> {
        self.members().into_iter().map(|(name, value)| {
            let value =
                if is_secret_name(&name) { RawJson::redacted() } else { RawJson::redacted_from(value) };
            (name, value)
        })
    }

    /// The number of fields.
    pub fn len(&self) -> usize {
        self.members().len()
    }

    /// Whether there are no such fields.
    pub fn is_empty(&self) -> bool {
        self.object.is_empty()
    }

    fn members(&self) -> Vec<Member<'_>> {
        let Members(members) = serde_json::from_str(&self.object).unwrap_or_default();
        members
    }
}

impl PartialEq for OtherFields {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for OtherFields {}

impl fmt::Debug for OtherFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = self.members();
        f.debug_set().entries(members.iter().map(|(name, _)| printable_field_name(name))).finish()
    }
}
