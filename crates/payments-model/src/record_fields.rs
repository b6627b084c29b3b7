//! Reading and writing the fields of a record, each by itself, so that one odd field harms no other.

use std::convert::Infallible;
use std::fmt;
use std::ptr;

use serde_core::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::json::Json;
use crate::json_object::Member;
use crate::json_writer::ObjectWriter;
use crate::redact::{REDACTED, Redacted};
use crate::{
    Amount, CustomerId, Field, MaskedCard, OtherFields, RawJson, TransactionId, TransactionTypeCode, scrub,
};

/// The members of one record: those that the interface names, and the others.
pub(crate) struct RecordMembers<'a, const N: usize> {
    names: &'static [&'static str; N],
    /// The name that is expected next: nearly every record has its fields in the order of the interface's table, in which
    /// they are asked for as well.
    expected: usize,
    first: [Option<Json<'a>>; N],
    repeats: Vec<(usize, Json<'a>)>,
    pub(crate) other: OtherFields,
}

impl<'a, const N: usize> RecordMembers<'a, N> {
    pub(crate) fn new(members: &[Member<'a>], names: &'static [&'static str; N]) -> Self {
        let mut this =
            Self { names, expected: 0, first: [None; N], repeats: Vec::new(), other: OtherFields::default() };
        for (name, value) in members {
            match this.index(name) {
                None => this.other.insert(&**name, RawJson::from(*value)),
                Some(index) if this.first[index].is_none() => this.first[index] = Some(*value),
                Some(index) => this.repeats.push((index, *value)),
            }
        }
        this.expected = 0;
        this
    }

    fn index(&mut self, name: &str) -> Option<usize> {
        let is_same = |expected: &str| ptr::eq(expected, name) || expected == name;
        let is_expected = self.names.get(self.expected).is_some_and(|expected| is_same(expected));
        let index =
            if is_expected { self.expected } else { self.names.iter().position(|known| *known == name)? };
        self.expected = index + 1;
        Some(index)
    }

    /// The field if it is there once and `read` understands it.
    pub(crate) fn field<T>(&mut self, name: &str, read: impl FnOnce(Json<'a>) -> Option<T>) -> Field<T> {
        let Some((index, json)) = self.first(name) else {
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
            Field::Unreadable(_) => Field::Unreadable(RawJson::from_json_text(format!("[\"{REDACTED}\"]"))),
            readable => readable,
        }
    }

    /// The transaction's identifier: a text that is not empty or a whole number, there exactly once.
    pub(crate) fn transaction_id(&mut self, name: &str) -> Option<TransactionId> {
        let (index, json) = self.first(name)?;
        let is_there_once = self.all_if_repeated(index).is_none();
        is_there_once.then(|| json.text_or_integer().and_then(TransactionId::from_answer)).flatten()
    }

    fn first(&mut self, name: &str) -> Option<(usize, Json<'a>)> {
        let index = self.index(name)?;
        self.first[index].map(|first| (index, first))
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
        Some(RawJson::from_json_text(array))
    }
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

/// Where a record's fields go with the interface's names: to any serializer, or to JSON at once.
pub(crate) trait RecordSink: Sized {
    type Ok;
    type Error;

    fn text(&mut self, name: &'static str, text: &str) -> Result<(), Self::Error>;

    fn field<T: WireValue>(&mut self, name: &'static str, field: &Field<T>) -> Result<(), Self::Error>;

    fn raw(&mut self, name: &str, value: &RawJson) -> Result<(), Self::Error>;

    fn end(self) -> Result<Self::Ok, Self::Error>;

    /// Writes the other fields, except any that would repeat a field of the record, and ends the record.
    fn finish(mut self, names: &[&str], other: &OtherFields) -> Result<Self::Ok, Self::Error> {
        for (name, value) in other.iter().filter(|(name, _)| !names.contains(name)) {
            self.raw(name, value)?;
        }
        self.end()
    }
}

/// Straight to JSON, for those who write many records: it takes a third of the time that a serializer takes.
impl RecordSink for &mut ObjectWriter<'_> {
    type Ok = ();
    type Error = Infallible;

    fn text(&mut self, name: &'static str, text: &str) -> Result<(), Infallible> {
        ObjectWriter::text(self, name, text);
        Ok(())
    }

    fn field<T: WireValue>(&mut self, name: &'static str, field: &Field<T>) -> Result<(), Infallible> {
        match field {
            Field::Absent => {}
            Field::Null => self.json(name, "null"),
            Field::Value(value) => value.put(name, self),
            Field::Unreadable(raw) => self.json(name, raw.text()),
        }
        Ok(())
    }

    fn raw(&mut self, name: &str, value: &RawJson) -> Result<(), Infallible> {
        self.foreign(name, value.text());
        Ok(())
    }

    fn end(self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Writes a record's fields to a serializer.
pub(crate) struct RecordWriter<M> {
    map: M,
}

impl<M: SerializeMap> RecordWriter<M> {
    pub(crate) fn new<S: Serializer<SerializeMap = M>>(serializer: S) -> Result<Self, S::Error> {
        serializer.serialize_map(None).map(|map| Self { map })
    }
}

impl<M: SerializeMap> RecordSink for RecordWriter<M> {
    type Ok = M::Ok;
    type Error = M::Error;

    fn text(&mut self, name: &'static str, text: &str) -> Result<(), M::Error> {
        self.map.serialize_entry(name, text)
    }

    fn field<T: WireValue>(&mut self, name: &'static str, field: &Field<T>) -> Result<(), M::Error> {
        match field {
            Field::Absent => Ok(()),
            Field::Null => self.map.serialize_entry(name, &()),
            Field::Value(value) => self.map.serialize_entry(name, &AsWire(value)),
            Field::Unreadable(raw) => self.raw(name, raw),
        }
    }

    fn raw(&mut self, name: &str, value: &RawJson) -> Result<(), M::Error> {
        self.map.serialize_entry(name, value.as_raw())
    }

    fn end(self) -> Result<M::Ok, M::Error> {
        self.map.end()
    }
}

/// How a value is written, which is by the interface's JSON type and not by how it was read.
pub(crate) trait WireValue {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// The same to JSON at once.
    fn put(&self, name: &'static str, out: &mut ObjectWriter<'_>);

    /// The value itself where it is a text that the service chose.
    fn text(&self) -> Option<&str> {
        None
    }
}

impl WireValue for Amount {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.to_string())
            .map_err(|_| S::Error::custom("not a number"))?
            .serialize(serializer)
    }

    fn put(&self, name: &'static str, out: &mut ObjectWriter<'_>) {
        out.amount(name, *self);
    }
}

impl WireValue for i64 {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(*self)
    }

    fn put(&self, name: &'static str, out: &mut ObjectWriter<'_>) {
        out.integer(name, *self);
    }
}

impl WireValue for TransactionTypeCode {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.value())
    }

    fn put(&self, name: &'static str, out: &mut ObjectWriter<'_>) {
        out.integer(name, self.value());
    }
}

macro_rules! written_as_text {
    ($($name:ident),*) => {
        $(impl WireValue for $name {
            fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }

            fn put(&self, name: &'static str, out: &mut ObjectWriter<'_>) {
                out.text(name, self.as_str());
            }

            fn text(&self) -> Option<&str> {
                Some(self.as_str())
            }
        })*
    };
}
written_as_text!(String, MaskedCard, CustomerId);

struct AsWire<'a, T>(&'a T);

impl<T: WireValue> Serialize for AsWire<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
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
