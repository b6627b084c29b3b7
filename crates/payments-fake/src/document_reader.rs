//! Reading JSON that a person may have written, strictly and with every problem at once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::str::FromStr;

use payments_model::{Field, printable_field_name};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::record::without_card_numbers;

/// The members of one JSON object, taken one by one. What is left at the end is a problem.
#[derive(Debug)]
pub(crate) struct DocumentReader<'a> {
    members: BTreeMap<Cow<'a, str>, &'a RawValue>,
    problems: Vec<String>,
}

impl<'a> DocumentReader<'a> {
    pub(crate) fn new(json: &'a str) -> Result<Self, Vec<String>> {
        // What serde_json says quotes the document, which may hold a card number.
        let members = serde_json::from_str(json).map_err(|_| vec!["it must be a JSON object".to_owned()])?;
        Ok(Self { members, problems: Vec::new() })
    }

    /// The value of a field, which counts as read from now on.
    pub(crate) fn take(&mut self, name: &str) -> Option<&'a RawValue> {
        self.members.remove(name)
    }

    /// A text without card numbers; `null` counts as absent.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        self.value::<Cow<'a, str>>(name, "must be a text or null").map(|text| without_card_numbers(&text))
    }

    /// An absent flag is down.
    pub(crate) fn flag(&mut self, name: &'static str) -> bool {
        self.value(name, "must be true or false").unwrap_or_default()
    }

    /// A text that `T` can be read from; `rule` says how it must be.
    pub(crate) fn parsed<T: FromStr>(&mut self, name: &'static str, rule: &str) -> Option<T> {
        let text = self.value::<Cow<'a, str>>(name, rule)?;
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.problem(name, rule);
        }
        parsed
    }

    /// A value of the type that JSON has for `T`; absent and `null` are nothing, and anything else is a problem.
    pub(crate) fn value<T: Deserialize<'a>>(&mut self, name: &'static str, rule: &str) -> Option<T> {
        let json = self.take(name)?.get();
        let value = serde_json::from_str::<Option<T>>(json);
        value.unwrap_or_else(|_| {
            self.problem(name, rule);
            None
        })
    }

    /// A field of a record that was read leniently: whoever writes one by hand is told what the lenient reading forgives.
    pub(crate) fn must_be_readable<T>(&mut self, name: &'static str, field: &Field<T>, rule: &str) {
        self.members.remove(name);
        if matches!(field, Field::Unreadable(_)) {
            self.problem(name, rule);
        }
    }

    pub(crate) fn problem(&mut self, name: &str, rule: &str) {
        self.problems.push(format!("{name} {rule}"));
    }

    /// Everything that was wrong, fields that nobody asked for included.
    pub(crate) fn finish(self) -> Result<(), Vec<String>> {
        let Self { members, mut problems } = self;
        let unknown =
            members.keys().map(|name| format!("{} is not a field here", printable_field_name(name)));
        problems.extend(unknown);
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}
