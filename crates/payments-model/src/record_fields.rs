//! Reading and writing the fields of a record, each by itself, so that one odd field harms no other.

use std::convert::Infallible;
use std::fmt;
use std::ptr;

use crate::json::Json;
use crate::json_object::Member;
use crate::json_writer::{ObjectWriter, write_object};
use crate::redact::{REDACTED, Redacted};
use crate::{
    Amount, CustomerId, Field, MaskedCard, OtherFields, RawJson, TransactionId, TransactionTypeCode, scrub,
};

/// The members of one record: those that the interface names, and the others.
pub(crate) struct RecordMembers<'a, const N: usize> {
    names: &'static [&'static str; N],
    /// How many of them were asked for: all are, in their order, so that none has to be looked for.
    asked: usize,
    first: [Option<Json<'a>>; N],
    repeats: Vec<(usize, Json<'a>)>,
    pub(crate) other: OtherFields,
}

impl<'a, const N: usize> RecordMembers<'a, N> {
    pub(crate) fn new(members: &[Member<'a>], names: &'static [&'static str; N]) -> Self {
        let mut this =
            Self { names, asked: 0, first: [None; N], repeats: Vec::new(), other: OtherFields::default() };
        let mut expected = 0;
        for (name, value) in members {
            match index(names, expected, name) {
                None => this.other.insert(&**name, RawJson::from(*value)),
                Some(index) if this.first[index].is_none() => {
                    this.first[index] = Some(*value);
                    expected = index + 1;
                }
                Some(index) => this.repeats.push((index, *value)),
            }
        }
        this
    }

    /// The field if it is there once and `read` understands it.
    pub(crate) fn field<T>(&mut self, name: &str, read: impl FnOnce(Json<'a>) -> Option<T>) -> Field<T> {
        let (index, json) = self.next(name);
        let Some(json) = json else {
            return Field::Absent;
        };
        if let Some(all) = self.all_if_repeated(index) {
            return Field::Unreadable(all.redact_nested());
        }
        if json.is_null() {
            return Field::Null;
        }
        read(json).map_or_else(|| Field::Unreadable(RawJson::from(json).redact_nested()), Field::Value)
    }

    /// The masked card number. In a shape that cannot be masked with certainty, nothing of it is kept.
    pub(crate) fn masked_card(&mut self, name: &str) -> Field<MaskedCard> {
        match self.field(name, |json| json.text_or_number().map(|text| MaskedCard::new(&text))) {
            Field::Unreadable(_) => Field::Unreadable(RawJson::from_json_text(&format!("[\"{REDACTED}\"]"))),
            readable => readable,
        }
    }

    /// The transaction's identifier: a text that is not empty or a whole number, there exactly once.
    pub(crate) fn transaction_id(&mut self, name: &str) -> Option<TransactionId> {
        let (index, json) = self.next(name);
        let is_there_once = self.all_if_repeated(index).is_none();
        is_there_once.then(|| json?.text_or_integer().and_then(TransactionId::from_answer)).flatten()
    }

    /// The next field of the table, which is the one of this name, and where it is in there.
    fn next(&mut self, name: &str) -> (usize, Option<Json<'a>>) {
        let index = self.asked;
        debug_assert_eq!(self.names[index], name, "fields are asked for in the order of the table");
        self.asked += 1;
        (index, self.first[index])
    }

    /// An array of all that the record has under a name that it has more than once.
    fn all_if_repeated(&self, index: usize) -> Option<RawJson> {
        if self.repeats.is_empty() {
            return None;
        }
        let mut others = self.repeats.iter().filter(|(of, _)| *of == index).peekable();
        others.peek()?;
        let mut array = format!("[{}", self.first[index]?.as_str());
        for (_, value) in others {
            array.push(',');
            array.push_str(value.as_str());
        }
        array.push(']');
        Some(RawJson::from_json_text(&array))
    }
}

/// Where this name is in the table. Nearly every record has its fields in the table's order.
fn index(names: &[&str], expected: usize, name: &str) -> Option<usize> {
    let is_expected = names.get(expected).is_some_and(|known| ptr::eq(*known, name) || *known == name);
    if is_expected { Some(expected) } else { names.iter().position(|known| *known == name) }
}

pub(crate) fn read_amount(json: Json<'_>) -> Option<Amount> {
    json.text_or_number()?.parse().ok()
}

pub(crate) fn read_text(json: Json<'_>) -> Option<String> {
    json.text().map(Into::into)
}

/// Codes are texts that some services send as numbers.
pub(crate) fn read_code(json: Json<'_>) -> Option<String> {
    json.text_or_integer().map(Into::into)
}

pub(crate) fn read_type(json: Json<'_>) -> Option<TransactionTypeCode> {
    json.integer().map(TransactionTypeCode::new)
}

pub(crate) fn read_customer_id(json: Json<'_>) -> Option<CustomerId> {
    CustomerId::from_answer(json.text_or_integer()?)
}

/// Where a record's fields go with the interface's names: to JSON, or to a serializer.
pub(crate) trait RecordSink {
    type Error;

    fn text(&mut self, name: &'static str, text: &str) -> Result<(), Self::Error>;

    fn field<T: WireValue>(&mut self, name: &'static str, field: &Field<T>) -> Result<(), Self::Error>;

    fn raw(&mut self, name: &str, value: &RawJson) -> Result<(), Self::Error>;

    /// Writes the other fields, except any that would repeat a field of the record.
    fn finish(&mut self, names: &[&str], other: &OtherFields) -> Result<(), Self::Error> {
        other
            .iter()
            .filter(|(name, _)| !names.contains(name))
            .try_for_each(|(name, value)| self.raw(name, value))
    }
}

/// The JSON of what `write` puts out, with room for so much of it from the beginning.
pub(crate) fn to_json(
    room: usize,
    write: impl Fn(&mut ObjectWriter<'_>) -> Result<(), Infallible>,
) -> String {
    let mut json = String::with_capacity(room);
    write_object(&mut json, |out| {
        let Ok(()) = write(out);
    });
    json
}

impl RecordSink for ObjectWriter<'_> {
    type Error = Infallible;

    fn text(&mut self, name: &'static str, text: &str) -> Result<(), Infallible> {
        ObjectWriter::text(self, name, text);
        Ok(())
    }

    fn field<T: WireValue>(&mut self, name: &'static str, field: &Field<T>) -> Result<(), Infallible> {
        match field {
            Field::Absent => {}
            Field::Null => self.json(name, "null"),
            Field::Value(value) => match value.wire() {
                Wire::Amount(amount) => self.amount(name, amount),
                Wire::Integer(value) => self.integer(name, value),
                Wire::Text(text) => ObjectWriter::text(self, name, text),
            },
            Field::Unreadable(raw) => self.json(name, raw.text()),
        }
        Ok(())
    }

    fn raw(&mut self, name: &str, value: &RawJson) -> Result<(), Infallible> {
        self.foreign(name, value.text());
        Ok(())
    }
}

/// A value by the JSON type that the interface has for it, however it was read.
pub(crate) enum Wire<'a> {
    Amount(Amount),
    Integer(i64),
    Text(&'a str),
}

pub(crate) trait WireValue {
    fn wire(&self) -> Wire<'_>;

    /// The value itself where it is a text that the service chose.
    fn text(&self) -> Option<&str> {
        if let Wire::Text(text) = self.wire() { Some(text) } else { None }
    }
}

impl WireValue for Amount {
    fn wire(&self) -> Wire<'_> {
        Wire::Amount(*self)
    }
}

impl WireValue for i64 {
    fn wire(&self) -> Wire<'_> {
        Wire::Integer(*self)
    }
}

impl WireValue for TransactionTypeCode {
    fn wire(&self) -> Wire<'_> {
        Wire::Integer(self.value())
    }
}

impl WireValue for String {
    fn wire(&self) -> Wire<'_> {
        Wire::Text(self)
    }
}

impl WireValue for MaskedCard {
    fn wire(&self) -> Wire<'_> {
        Wire::Text(self.as_str())
    }
}

impl WireValue for CustomerId {
    fn wire(&self) -> Wire<'_> {
        Wire::Text(self.as_str())
    }
}

/// Shows whether there is a value, not the value.
pub(crate) struct Personal<'a, T>(pub(crate) &'a Field<T>);

impl<T> fmt::Debug for Personal<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Field::Absent => f.write_str("Absent"),
            Field::Null => f.write_str("Null"),
            Field::Value(_) => f.debug_tuple("Value").field(&Redacted).finish(),
            Field::Unreadable(raw) => f.debug_tuple("Unreadable").field(raw).finish(),
        }
    }
}

/// Shows a code, unless something that looks like a card number was sent in its place.
pub(crate) struct Scrubbed<'a, T>(pub(crate) &'a Field<T>);

impl<T: fmt::Debug> fmt::Debug for Scrubbed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Field::Value(code) => {
                let shown = scrub(&format!("{code:?}"), &[]);
                f.debug_tuple("Value").field(&format_args!("{shown}")).finish()
            }
            other => other.fmt(f),
        }
    }
}
