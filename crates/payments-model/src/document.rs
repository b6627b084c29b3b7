//! Reading a request out of JSON into the same unchecked form that a builder fills.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::check::Entry;
use crate::json_object::{self, ObjectError, for_each_member};
use crate::{Amount, UnknownFields, ValidationError, Violation};

/// A place for one field of the interface, by the JSON type that the interface names.
pub(crate) enum Slot<'s, 'a> {
    Text(&'s mut Entry<Cow<'a, str>>),
    Flag(&'s mut Entry<bool>),
    Amount(&'s mut Entry<Amount>),
}

impl<'a> Slot<'_, 'a> {
    pub(crate) fn put(self, raw: &'a RawValue) {
        match self {
            Self::Text(entry) => entry.put(given(json_object::text(raw), "must be a string")),
            Self::Flag(entry) => entry.put(given(json_object::flag(raw), "must be true or false")),
            Self::Amount(entry) => entry.put(match json_object::number(raw).map(str::parse::<Amount>) {
                Some(Ok(amount)) => Entry::Given(amount),
                Some(Err(error)) => Entry::Refused(error.rule()),
                None => Entry::Refused("must be a JSON number, not a text"),
            }),
        }
    }
}

/// Calls `member` for every member of the document.
pub(crate) fn read<'a>(
    document: &'a [u8],
    member: impl FnMut(Cow<'a, str>, &'a RawValue),
) -> Result<(), ValidationError> {
    let document = document.strip_prefix(BYTE_ORDER_MARK).unwrap_or(document);
    let text = str::from_utf8(document).map_err(|_| ValidationError::one("body", "must be UTF-8"))?;
    for_each_member(text, member).map_err(|error| match error {
        ObjectError::NotAnObject => ValidationError::one("body", "must be a JSON object"),
        ObjectError::NotJson { line, column } => {
            let rule = format!("must be JSON; it stops being so at line {line}, column {column}");
            ValidationError::new(vec![Violation::new("body", rule)])
        }
    })
}

/// A request before it is checked, whose fields are those of the interface and no others.
pub(crate) trait Draft<'a>: Default {
    type Request;

    /// The place for a field of the interface, `None` for any other name.
    fn slot(&mut self, name: &str) -> Option<Slot<'_, 'a>>;

    /// The request, or everything that is wrong with it, `unknown` fields included.
    fn check(self, unknown: Vec<Violation>) -> Result<Self::Request, ValidationError>;
}

/// The request that the document asks for.
pub(crate) fn parse<'a, D: Draft<'a>>(
    document: &'a [u8],
    unknown_fields: UnknownFields,
) -> Result<D::Request, ValidationError> {
    let mut draft = D::default();
    let mut unknown = Vec::new();
    read(document, |name, raw| match draft.slot(&name) {
        Some(slot) => slot.put(raw),
        None if unknown_fields == UnknownFields::Ignored => {}
        None => unknown.push(Violation::of_named(&name, "is not a field of this request")),
    })?;
    draft.check(unknown)
}

pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

fn given<T>(value: Option<T>, otherwise: &'static str) -> Entry<T> {
    value.map_or(Entry::Refused(otherwise), Entry::Given)
}
