//! Reading a request out of JSON into the same unchecked form that a builder fills.

use std::borrow::Cow;

use crate::check::Entry;
use crate::json::Json;
use crate::{Amount, RequestMembers, UnknownFields, ValidationError, Violation};

/// A place for one field of the interface, by the JSON type that the interface names.
pub(crate) enum Slot<'s, 'a> {
    Text(&'s mut Entry<Cow<'a, str>>),
    Flag(&'s mut Entry<bool>),
    Amount(&'s mut Entry<Amount>),
}

impl<'a> Slot<'_, 'a> {
    pub(crate) fn put(self, json: Json<'a>) {
        match self {
            Self::Text(entry) => entry.put(given(json.text(), "must be a string")),
            Self::Flag(entry) => entry.put(given(json.flag(), "must be true or false")),
            Self::Amount(entry) => entry.put(match json.number().map(str::parse::<Amount>) {
                Some(Ok(amount)) => Entry::Given(amount),
                Some(Err(error)) => Entry::Refused(error.rule()),
                None => Entry::Refused("must be a JSON number, not a text"),
            }),
        }
    }
}

/// A request before it is checked, whose fields are those of the interface and no others.
pub(crate) trait Draft<'a>: Default {
    type Request;

    /// The place for a field of the interface, `None` for any other name.
    fn slot(&mut self, name: &str) -> Option<Slot<'_, 'a>>;

    /// The request, or everything that is wrong with it, `unknown` fields included.
    fn check(self, unknown: Vec<Violation>) -> Result<Self::Request, ValidationError>;
}

/// The request that the members ask for.
pub(crate) fn parse<'a, D: Draft<'a>>(
    members: &RequestMembers<'a>,
    unknown_fields: UnknownFields,
) -> Result<D::Request, ValidationError> {
    let mut draft = D::default();
    let mut unknown = Vec::new();
    for (name, json) in members.as_slice() {
        match draft.slot(name) {
            Some(slot) => slot.put(*json),
            None if unknown_fields == UnknownFields::Ignored => {}
            None => unknown.push(Violation::of_named(name, "is not a field of this request")),
        }
    }
    draft.check(unknown)
}

fn given<T>(value: Option<T>, otherwise: &'static str) -> Entry<T> {
    value.map_or(Entry::Refused(otherwise), Entry::Given)
}
