//! Records to and from `serde_json`, for programs that keep them in documents of their own.
//!
//! For `serde_json` alone: amounts and whatever has no type here go through its raw values, because in any other way a
//! number would lose digits.

use serde_core::de::{Deserialize, Deserializer, Error as _};
use serde_core::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::json::Json;
use crate::json_object::Member;
use crate::record_fields::{RecordSink, Wire, WireValue};
use crate::{CustomerRecord, Field, RawJson, TransactionReceipt, TransactionRecord};

macro_rules! record {
    ($record:ident, $read:expr, $problem:literal) => {
        impl Serialize for $record {
            /// Writes the interface's names in the order of its table, then the other fields. For `serde_json` alone.
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut out = RecordWriter(serializer.serialize_map(None)?);
                self.write(&mut out)?;
                out.0.end()
            }
        }

        impl<'de> Deserialize<'de> for $record {
            /// Reads what `serde_json` reads, and only that; not inside `flatten` or untagged enums.
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let raw = Box::<RawValue>::deserialize(deserializer)?;
                let record = members_of(&raw).as_deref().and_then($read);
                record.ok_or_else(|| D::Error::custom($problem))
            }
        }
    };
}

record!(TransactionRecord, Self::read, "a transaction record is a JSON object with one TransactionId");
record!(TransactionReceipt, Self::read, "a transaction receipt is a JSON object with one TransactionId");
record!(CustomerRecord, |members| Some(Self::read(members)), "a customer record is a JSON object");

fn members_of(raw: &RawValue) -> Option<Vec<Member<'_>>> {
    Json::read(raw.get()).ok()?.members().ok()
}

/// Writes a record's fields to a serializer.
struct RecordWriter<M>(M);

impl<M: SerializeMap> RecordSink for RecordWriter<M> {
    type Error = M::Error;

    fn text(&mut self, name: &'static str, text: &str) -> Result<(), M::Error> {
        self.0.serialize_entry(name, text)
    }

    fn field<T: WireValue>(&mut self, name: &'static str, field: &Field<T>) -> Result<(), M::Error> {
        match field {
            Field::Absent => Ok(()),
            Field::Null => self.0.serialize_entry(name, &()),
            Field::Value(value) => self.0.serialize_entry(name, &value.wire()),
            Field::Unreadable(raw) => self.raw(name, raw),
        }
    }

    fn raw(&mut self, name: &str, value: &RawJson) -> Result<(), M::Error> {
        self.0.serialize_entry(name, &Raw(value.text()))
    }
}

impl Serialize for Wire<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Amount(amount) => Raw(&amount.to_string()).serialize(serializer),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

/// A text that is JSON already.
struct Raw<'a>(&'a str);

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.0).map_err(|_| S::Error::custom("not JSON"))?;
        raw.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Amount, Field, MaskedCard, RawJson, TransactionRecord, TransactionTypeCode};

    #[test]
    fn a_record_is_the_same_json_by_either_way() {
        let mut record = TransactionRecord::new("txn_1".parse().unwrap());
        assert_eq!(record.to_json(), serde_json::to_string(&record).unwrap());
        record.base_amount = Field::Value(Amount::from_cents(10_50));
        record.amount = Field::Unreadable(RawJson::parse(r#"["1"]"#).unwrap());
        record.card_number = Field::Value(MaskedCard::new("4242424242424242"));
        record.billing_customer_name = Field::Value("Zoë \"O\" \\ \n\u{0}\u{7f}".to_owned());
        record.billing_state = Field::Null;
        record.billing_country = Field::Value(-826);
        record.transaction_type = Field::Value(TransactionTypeCode::AUTH);
        record.status = Field::Value(String::new());
        record.other.insert("Status", RawJson::parse("7").unwrap());
        record.other.insert("a \"name\"", RawJson::parse("{ }").unwrap());
        let json = record.to_json();
        assert_eq!(json, serde_json::to_string(&record).unwrap());
        assert!(json.ends_with(r#""TransactionType":2,"Status":"","a \"name\"":{ }}"#), "{json}");
    }
}
