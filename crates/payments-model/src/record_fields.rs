//! Reading and writing the fields of a record, each by itself, so that one odd field harms no other.

use std::convert::Infallible;
use std::fmt;

use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::json_object::{for_each_member, integer, is_null, text, text_or_integer, text_or_number};
use crate::json_writer::ObjectWriter;
use crate::other_fields::SHORTEST_ECHO;
use crate::redact::{REDACTED, Redacted};
use crate::scrub::Secrets;
use crate::{
    Amount, CustomerId, Field, MaskedCard, OtherFields, RawJson, TransactionId, TransactionTypeCode, scrub,
};

/// The members of one record: those that the interface names, as raw JSON, and the others.
pub(crate) struct RecordMembers<'a> {
    names: &'static [&'static str],
    first: Vec<Option<&'a RawValue>>,
    repeats: Vec<(usize, &'a RawValue)>,
    pub(crate) other: OtherFields,
}

impl<'a> RecordMembers<'a> {
    /// `None` if the text is not a JSON object.
    pub(crate) fn read(text: &'a str, names: &'static [&'static str]) -> Option<Self> {
        let mut members = Self {
            names,
            first: vec![None; names.len()],
            repeats: Vec::new(),
            other: OtherFields::default(),
        };
        for_each_member(text, |name, raw| match names.iter().position(|known| *known == name) {
            None => members.other.insert(name, RawJson::from_raw(raw)),
            Some(index) if members.first[index].is_none() => members.first[index] = Some(raw),
            Some(index) => members.repeats.push((index, raw)),
        })
        .ok()?;
        Some(members)
    }

    /// The field if it is there once and `read` understands it.
    pub(crate) fn field<T>(&self, name: &str, read: impl FnOnce(&RawValue) -> Option<T>) -> Field<T> {
        match self.raw(name) {
            Raw::Absent => Field::Absent,
            Raw::Once(raw) if is_null(raw) => Field::Null,
            Raw::Once(raw) => read(raw)
                .map_or_else(|| Field::Unreadable(RawJson::from_raw(raw).redact_nested()), Field::Value),
            Raw::Repeated(all) => Field::Unreadable(all.redact_nested()),
        }
    }

    /// The masked card number. In a shape that cannot be masked with certainty, nothing of it is kept.
    pub(crate) fn masked_card(&self, name: &str) -> Field<MaskedCard> {
        match self.field(name, |raw| text_or_number(raw).map(|text| MaskedCard::new(&text))) {
            Field::Unreadable(_) => Field::Unreadable(RawJson::from_json_text(format!("[\"{REDACTED}\"]"))),
            readable => readable,
        }
    }

    /// The transaction's identifier: a text that is not empty or a whole number, there exactly once.
    pub(crate) fn transaction_id(&self, name: &str) -> Option<TransactionId> {
        match self.raw(name) {
            Raw::Once(raw) => TransactionId::from_answer(text_or_integer(raw)?),
            Raw::Absent | Raw::Repeated(_) => None,
        }
    }

    fn raw(&self, name: &str) -> Raw<'a> {
        let Some(index) = self.names.iter().position(|known| *known == name) else {
            return Raw::Absent;
        };
        let Some(first) = self.first[index] else {
            return Raw::Absent;
        };
        let mut all = self.repeats.iter().filter(|(of, _)| *of == index).map(|(_, raw)| raw.get()).peekable();
        if all.peek().is_none() {
            return Raw::Once(first);
        }
        let mut array = format!("[{}", first.get());
        for value in all {
            array.push(',');
            array.push_str(value);
        }
        array.push(']');
        Raw::Repeated(RawJson::from_json_text(array))
    }
}

/// Replaces each field that holds one of a request's secrets; see [`OtherFields::redact_echoes`].
///
/// Every answer has these fields, and to prepare a search for secrets in them would cost more than to read the record. So
/// nothing is searched but what is in a wrong shape, texts with so many digits that a card or an account can be among
/// them, and of the `codes` also texts in which a secret stands as it was sent. What the others say an account may well
/// say as well, such as the name of its holder, and it is wanted.
pub(crate) fn redact_echoes<'a, const CODES: usize, const OTHERS: usize>(
    codes: [&'a mut dyn MayEcho; CODES],
    others: [&'a mut dyn MayEcho; OTHERS],
    secrets: &[&str],
) {
    let codes = codes.into_iter().filter(|field| field.is_suspect() || field.holds_plainly(secrets));
    let suspects = codes.chain(others.into_iter().filter(|field| field.is_suspect()));
    let mut searched = None;
    for field in suspects {
        field.redact_echo(searched.get_or_insert_with(|| Secrets::new(secrets, SHORTEST_ECHO)));
    }
}

/// A field in which the service may have put something of the request.
pub(crate) trait MayEcho {
    fn is_suspect(&self) -> bool;

    /// Whether one of these stands in it as it is.
    fn holds_plainly(&self, secrets: &[&str]) -> bool;

    fn redact_echo(&mut self, secrets: &Secrets);
}

impl<T: WireValue> MayEcho for Field<T> {
    fn is_suspect(&self) -> bool {
        match self {
            Self::Absent | Self::Null => false,
            Self::Value(value) => {
                let digits = value.text().map_or(0, |text| text.bytes().filter(u8::is_ascii_digit).count());
                digits >= FEWEST_DIGITS
            }
            Self::Unreadable(_) => true,
        }
    }

    fn holds_plainly(&self, secrets: &[&str]) -> bool {
        let text = self.value().and_then(WireValue::text);
        text.is_some_and(|text| secrets.iter().any(|secret| stands_plainly_in(text, secret)))
    }

    fn redact_echo(&mut self, secrets: &Secrets) {
        let is_echo = match self {
            Self::Absent | Self::Null => false,
            Self::Value(value) => value.text().is_some_and(|text| secrets.stand_in(text)),
            Self::Unreadable(raw) => secrets.stand_in(raw.text()),
        };
        if is_echo {
            *self = Self::Unreadable(RawJson::redacted());
        }
    }
}

/// Looks at each place once, without the preparation that pays only for longer texts.
fn stands_plainly_in(text: &str, secret: &str) -> bool {
    let secret = secret.as_bytes();
    secret.len() >= SHORTEST_ECHO
        && text.as_bytes().windows(secret.len()).any(|window| window.eq_ignore_ascii_case(secret))
}

/// Of a card number; few texts have as many.
const FEWEST_DIGITS: usize = 12;

enum Raw<'a> {
    Absent,
    Once(&'a RawValue),
    Repeated(RawJson),
}

pub(crate) fn read_amount(raw: &RawValue) -> Option<Amount> {
    text_or_number(raw)?.parse().ok()
}

pub(crate) fn read_text(raw: &RawValue) -> Option<String> {
    text(raw).map(Into::into)
}

/// Codes are texts that some services send as numbers.
pub(crate) fn read_code(raw: &RawValue) -> Option<String> {
    text_or_integer(raw).map(Into::into)
}

pub(crate) fn read_integer(raw: &RawValue) -> Option<i64> {
    integer(raw)
}

pub(crate) fn read_type(raw: &RawValue) -> Option<TransactionTypeCode> {
    integer(raw).map(TransactionTypeCode::new)
}

pub(crate) fn read_customer_id(raw: &RawValue) -> Option<CustomerId> {
    CustomerId::from_answer(text_or_integer(raw)?)
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
