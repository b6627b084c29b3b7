//! Reading JSON that a person may have written, strictly and with every problem at once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::str::FromStr;

use payments_model::{Field, mask, printable_field_name};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::{RawValue, to_raw_value};

/// The members of one JSON object, taken one by one. What is left at the end is a problem.
#[derive(Debug)]
pub(crate) struct DocumentReader<'a> {
    members: BTreeMap<String, &'a RawValue>,
    problems: Vec<String>,
}

impl<'a> DocumentReader<'a> {
    pub(crate) fn new(json: &'a str) -> Result<Self, Vec<String>> {
        let Members { members, repeated } =
            serde_json::from_str(json).map_err(|_| vec![not_an_object(json)])?;
        let mut reader = Self { members, problems: Vec::new() };
        for name in repeated {
            reader.problem(printable_field_name(&name), "stands twice");
        }
        Ok(reader)
    }

    /// The value of a field, which counts as read from now on.
    pub(crate) fn take(&mut self, name: &str) -> Option<&'a RawValue> {
        self.members.remove(name)
    }

    /// A text without card numbers; `null` counts as absent.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        self.value::<Cow<'a, str>>(name, "must be a text or null").map(|text| mask(&text, &[]).into_owned())
    }

    /// An absent flag is down.
    pub(crate) fn flag(&mut self, name: &'static str) -> bool {
        self.value(name, "must be true or false").unwrap_or_default()
    }

    /// A text that `T` can be read from; `rule` says how it must be.
    pub(crate) fn parsed<T: FromStr>(&mut self, name: &'static str, rule: &str) -> Option<T> {
        let text = self.value::<Cow<'a, str>>(name, rule)?;
        // An id is kept and shown as it is.
        if mask(&text, &[]) != text {
            self.problem(name, "must not look like a card number");
            return None;
        }
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.problem(name, rule);
        }
        parsed
    }

    /// The same, but it must be there.
    pub(crate) fn required<T: FromStr>(&mut self, name: &'static str, rule: &str) -> Option<T> {
        if self.members.get(name).is_none_or(|json| json.get() == "null") {
            self.take(name);
            self.problem(name, "must be there");
            return None;
        }
        self.parsed(name, rule)
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

    /// The same for a number that a look-up shows as it is: one that could be a card number is none.
    pub(crate) fn must_be_small(&mut self, name: &'static str, field: &Field<i64>) {
        const RULE: &str = "must be a whole number from 0 to 4294967295";
        self.must_be_readable(name, field, RULE);
        if field.value().is_some_and(|number| u32::try_from(*number).is_err()) {
            self.problem(name, RULE);
        }
    }

    /// What was not taken yet, as JSON, with one more member.
    pub(crate) fn rest_with(&self, name: &str, text: &str) -> String {
        let text = to_raw_value(text).expect("a text is JSON");
        let mut members = self.members.clone();
        members.insert(name.to_owned(), &text);
        serde_json::to_string(&members).expect("JSON is JSON")
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

/// The members of a JSON object by name, and the names that stand in it more than once.
struct Members<'a> {
    members: BTreeMap<String, &'a RawValue>,
    repeated: Vec<String>,
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut found = Members { members: BTreeMap::new(), repeated: Vec::new() };
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    match found.members.entry(name) {
                        Entry::Vacant(place) => _ = place.insert(value),
                        Entry::Occupied(taken) => found.repeated.push(taken.key().clone()),
                    }
                }
                Ok(found)
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// With the place, but without the parser's words, which quote the document: it may hold a card number.
fn not_an_object(json: &str) -> String {
    match serde_json::from_str::<&RawValue>(json) {
        Ok(_) => "it must be a JSON object".to_owned(),
        Err(error) => {
            format!("it must be JSON; it stops being so at line {}, column {}", error.line(), error.column())
        }
    }
}
