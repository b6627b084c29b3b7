use std::borrow::Cow;
use std::collections::BTreeMap;

use payments_model::unversioned::RequestMembers;

use crate::redaction::Redaction;

/// The fields of a body without their secrets, in the order in which they came.
#[derive(Clone, Default)]
pub(crate) struct RecordedFields {
    /// The values as JSON, one behind the other: a buffer for each would cost more than everything else about them.
    values: String,
    /// Each field's name and where its value ends.
    ends: Vec<(Cow<'static, str>, usize)>,
}

impl RecordedFields {
    pub(crate) fn redacted(members: &RequestMembers<'_>, redaction: &Redaction<'_>) -> Self {
        let length = members.iter().map(|(_, json)| json.len()).sum();
        let count = members.iter().count();
        let mut fields = Self { values: String::with_capacity(length), ends: Vec::with_capacity(count) };
        for (name, json) in members.iter() {
            let (name, json) = redaction.field(name, json);
            fields.values.push_str(&json);
            fields.ends.push((name, fields.values.len()));
        }
        fields
    }

    /// The value of a field as JSON; of a repeated one the last.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.last_first().find(|(own, _)| *own == name).map(|(_, value)| value)
    }

    /// By name, each name once. Sorted when somebody looks, which is once in many requests if ever.
    pub(crate) fn sorted(&self) -> BTreeMap<&str, &str> {
        let mut sorted = BTreeMap::new();
        for (name, value) in self.last_first() {
            sorted.entry(name).or_insert(value);
        }
        sorted
    }

    fn last_first(&self) -> impl Iterator<Item = (&str, &str)> {
        let start = |index: usize| index.checked_sub(1).map_or(0, |before| self.ends[before].1);
        let fields = self.ends.iter().enumerate().rev();
        fields.map(move |(index, (name, end))| (name.as_ref(), &self.values[start(index)..*end]))
    }
}

/// In any order, as members of a JSON object are.
impl PartialEq for RecordedFields {
    fn eq(&self, other: &Self) -> bool {
        self.sorted() == other.sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(body: &str) -> RecordedFields {
        RecordedFields::redacted(&RequestMembers::read(body.as_bytes()).unwrap(), &Redaction::of(&[], None))
    }

    #[test]
    fn of_a_repeated_field_the_last_is_told() {
        let fields = fields(r#"{"Reason":"a","Amount":1,"Reason":"b","x y":1,"y z":2,"Cvv":"917"}"#);
        assert_eq!(
            (fields.get("Reason"), fields.get("Amount"), fields.get("Status")),
            (Some("\"b\""), Some("1"), None)
        );
        let sorted: Vec<_> = fields.sorted().into_iter().collect();
        let redacted = "\"[redacted]\"";
        assert_eq!(
            sorted,
            [("(unprintable field name)", redacted), ("Amount", "1"), ("Cvv", redacted), ("Reason", "\"b\"")]
        );
    }

    #[test]
    fn fields_are_the_same_in_another_order() {
        assert!(fields(r#"{"Amount":1,"Reason":"a"}"#) == fields(r#"{"Reason":"a","Amount":1}"#));
        assert!(fields(r#"{"Amount":1,"Reason":"a"}"#) != fields(r#"{"Reason":"a","Amount":2}"#));
    }
}
