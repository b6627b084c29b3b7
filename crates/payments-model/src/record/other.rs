use std::borrow::Cow;
use std::fmt;

use serde_json::value::RawValue;

use crate::json::{Json, Member};
use crate::mask::is_secret_name;
use crate::{RawJson, printable_field_name};

/// The fields of a record that the interface does not have, in their order.
///
/// They are read out of the response's text each time they are asked for. A field whose name is that of card or account data
/// (`Cvv`, `ExpiryDate`, `AccountNumber` and the like, in any spelling) reads `"[redacted]"`; so does whatever stands under
/// such a name within a field, and a text or number that holds a card-like number. `Debug` shows names alone.
#[derive(Clone, Default)]
pub struct OtherFields {
    /// An object that has these fields, and maybe those of the interface.
    object: Option<Box<RawValue>>,
    /// The names of the interface, which are passed over.
    known: &'static [&'static str],
}

impl OtherFields {
    /// Of an object with these members.
    pub(crate) fn read(object: Json<'_>, members: &[Member<'_>], known: &'static [&'static str]) -> Self {
        let is_other = |(name, _): &Member<'_>| !known.contains(&&**name);
        let object = members.iter().any(is_other).then(|| object.as_str().to_owned());
        Self { object: object.and_then(|object| RawValue::from_string(object).ok()), known }
    }

    /// Adds a field after the others. A repeated name is kept twice.
    #[expect(clippy::needless_pass_by_value, reason = "the caller gives the value away")]
    pub fn insert(&mut self, name: impl Into<String>, value: RawJson) {
        let mut object = String::from("{");
        let mut write = |name: &str, value: &str| {
            let comma = if object.len() > 1 { "," } else { "" };
            let name = RawJson::from_json_text(serde_json::to_string(name).unwrap_or_default());
            object.extend([comma, name.text(), ":", value]);
        };
        for (name, value) in self.members() {
            write(&name, value.as_str());
        }
        write(&name.into(), value.text());
        object.push('}');
        self.object = RawValue::from_string(object).ok();
    }

    /// The value of the first field with this name.
    pub fn get(&self, name: &str) -> Option<RawJson> {
        self.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (Cow<'_, str>, RawJson)> {
        self.members().map(|(name, value)| {
            let value =
                if is_secret_name(&name) { RawJson::redacted() } else { RawJson::redacted_from(value) };
            (name, value)
        })
    }

    /// The number of fields.
    pub fn len(&self) -> usize {
        self.members().count()
    }

    /// Whether there are none, as the interface has it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn members(&self) -> impl Iterator<Item = Member<'_>> {
        let members = self.object.as_deref().and_then(|object| Json::from(object).members());
        members.unwrap_or_default().into_iter().filter(|(name, _)| !self.known.contains(&&**name))
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
        let names: Vec<_> = self.members().map(|(name, _)| printable_field_name(&name).to_owned()).collect();
        f.debug_set().entries(names).finish()
    }
}
