//! Strict reading of JSON that a person may have written. The error messages never quote a value.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use payments_core::OperationName;
use payments_model::unversioned::{amount_in_json, printable_field_name};
use payments_model::{
    Amount, CustomerId, GatewayCustomerId, MaskedCard, TokenId, TransactionId, TransactionTypeCode, mask,
};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::error::Category;
use serde_json::value::RawValue;
use serde_path_to_error::Segment;
use thiserror::Error;

/// A document is invalid: a fixture file, a fault, a customer, a token, or the name of a [`DeclineShape`](crate::DeclineShape).
///
/// No part of the document took effect. The message is the first problem, such as
/// `transactions[3].Amount: must be above zero at line 9 column 20`. It names the place and the rule, and never a value, which
/// may be a card number.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct DocumentError(pub(crate) String);

/// Reads a value from a JSON object.
pub(crate) fn read<'de, T: Deserialize<'de>>(json: &'de str) -> Result<T, DocumentError> {
    // Keeping track of the place takes time, and is necessary only for the error.
    if let Ok(Object(value)) = serde_json::from_str(json) {
        return Ok(value);
    }
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let value = read_from(&mut deserializer)?;
    deserializer.end().map_err(|error| DocumentError(words(&error)))?;
    Ok(value)
}

/// Reads a value from each of the JSON objects in a text.
pub(crate) fn read_all<'de, T: Deserialize<'de>>(json: &'de str) -> Result<Vec<T>, DocumentError> {
    let quickly =
        serde_json::Deserializer::from_str(json).into_iter().map(|read| read.map(|Object(value)| value));
    if let Ok(values) = quickly.collect() {
        return Ok(values);
    }
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let mut values = Vec::new();
    while deserializer.end().is_err() {
        let value = read_from(&mut deserializer).map_err(|DocumentError(problem)| match values.len() {
            0 => DocumentError(problem),
            earlier => DocumentError(format!("document {}: {problem}", earlier + 1)),
        })?;
        values.push(value);
    }
    Ok(values)
}

/// The same from JSON that is already parsed.
pub(crate) fn read_from<'de, T, D>(deserializer: D) -> Result<T, DocumentError>
where
    T: Deserialize<'de>,
    D: Deserializer<'de, Error = serde_json::Error>,
{
    let read = serde_path_to_error::deserialize(deserializer);
    read.map(|Object(value)| value).map_err(|error| {
        let mut place = String::new();
        for segment in error.path() {
            match segment {
                Segment::Seq { index } => place.extend(["[", &index.to_string(), "]"]),
                Segment::Map { key } if place.is_empty() => place.push_str(shown_name(key)),
                Segment::Map { key } => place.extend([".", shown_name(key)]),
                Segment::Enum { .. } | Segment::Unknown => {}
            }
        }
        let words = words(error.inner());
        // Words that begin with an index name a part of the place.
        let is_place = place.is_empty() || words.starts_with('[');
        DocumentError(if is_place { place + &words } else { format!("{place}: {words}") })
    })
}

/// What is shown of an error. The messages of serde may quote the document, so of those only the name of a missing or repeated
/// member is shown, or what was expected: both come from the type.
fn words(error: &serde_json::Error) -> String {
    let message = error.to_string();
    // A problem with the JSON itself is a constant of serde_json.
    if error.classify() != Category::Data || SHOWN.iter().any(|shown| message.starts_with(shown)) {
        return message;
    }
    match (message.rsplit_once("expected "), error.line()) {
        (Some((_, expected)), _) => format!("expected {expected}"),
        // A value that is already parsed has no line.
        (None, 0) => "is not valid".to_owned(),
        (None, line) => format!("is not valid at line {line} column {}", error.column()),
    }
}

/// How this crate's own messages begin, of which one begins with an index, and the messages of serde that quote no value.
const SHOWN: [&str; 5] = ["must ", "Voided must ", "[", "missing field `", "duplicate field `"];

/// The name of a field, unless it may hold a secret. The fake quotes nothing of a document.
pub(crate) fn shown_name(name: &str) -> &str {
    match printable_field_name(name) {
        Cow::Borrowed(name) => name,
        Cow::Owned(_) => "(unprintable field name)",
    }
}

/// Reads a `T` from an object. Without this wrapper, serde would accept an array for a struct too.
#[derive(Default)]
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members)).map(Object)
            }
        }

        deserializer.deserialize_map(Members(PhantomData))
    }
}

/// Types for the members of documents: the Rust type, the JSON type, the rule for the error message, and the value if the rule
/// is met.
macro_rules! member_types {
    ($($(#[$meta:meta])* $name:ident($value:ty) from $json:ty, $rule:expr, $read:expr;)*) => {$(
        $(#[$meta])*
        pub(crate) struct $name(pub(crate) $value);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let json = <$json>::deserialize(deserializer)?;
                $read(json).map(Self).ok_or_else(|| D::Error::custom($rule))
            }
        }
    )*};
}
pub(crate) use member_types;

member_types! {
    /// A string, with card numbers masked.
    #[derive(Default)]
    Text(String) from String, "must be a string", |text| Some(masked(text));
    /// A string or a whole number, as some services send a code.
    #[derive(Default)]
    Code(String) from Value, "must be a string", |code| text_or_number(code).map(masked);
    Card(MaskedCard) from Value, "must be a string", |card| text_or_number(card).map(|card| MaskedCard::new(&card));
    /// The limit excludes card numbers.
    #[derive(Default)]
    SmallNumber(u32) from Value, "must be a whole number from 0 to 4 294 967 295", whole;
    TypeCode(TransactionTypeCode) from Value, "must be 1 for a sale or 2 for an authorization",
        |code| whole(code).filter(|code| matches!(code, 1 | 2)).map(|code| TransactionTypeCode::new(code.into()));
    Payment(OperationName) from String, "must be transaction, token-transaction or void",
        |name: String| OperationName::from_name(&name).filter(|operation| operation.moves_money());
    Time(SystemTime) from String, "must be a time in UTC such as 2030-01-31T12:00:00Z",
        |time: String| humantime::parse_rfc3339(&time).ok();
    Number(Amount) from &RawValue, "must be a number with at most 18 digits",
        |amount: &RawValue| amount_in_json(amount.get());
    Positive(Amount) from Number, "must be above zero", |Number(amount)| amount.is_positive().then_some(amount);
    Price(Amount) from Positive, "must be written with at most two decimal places",
        |Positive(amount)| (amount.written_decimals() <= 2).then_some(amount);
    /// An id is stored and shown unmasked.
    IdText(String) from String, "must not look like a card number",
        |id: String| matches!(mask(&id, &[]), Cow::Borrowed(_)).then_some(id);
    IdOfToken(TokenId) from IdText, "must be a string that is valid as an id", |IdText(id)| TokenId::new(id).ok();
    IdOfOwner(GatewayCustomerId) from IdText, "must be a string that is valid as an id",
        |IdText(id)| GatewayCustomerId::new(id).ok();
    IdOfTransaction(TransactionId) from IdText, "must be a string that is valid as an id in a URL path",
        |IdText(id)| TransactionId::new(id).ok().filter(|id| id.path_segment().is_ok());
    IdOfCustomer(CustomerId) from IdText, "must be a string that is valid as an id in a URL path",
        |IdText(id)| CustomerId::new(id).ok().filter(|id| id.path_segment().is_ok());
}

/// `must be a, b or c`.
pub(crate) fn must_be(names: impl Iterator<Item = &'static str>) -> String {
    let mut names: Vec<_> = names.collect();
    let last = names.pop().unwrap_or_default();
    format!("must be {} or {last}", names.join(", "))
}

pub(crate) fn text_or_number(json: Value) -> Option<String> {
    match json {
        Value::String(text) => Some(text),
        Value::Number(number) => (number.is_u64() || number.is_i64()).then(|| number.to_string()),
        _ => None,
    }
}

pub(crate) fn whole(json: Value) -> Option<u32> {
    match json {
        Value::Number(number) => number.as_u64()?.try_into().ok(),
        Value::String(digits) => digits.parse().ok().filter(|number: &u32| number.to_string() == digits),
        _ => None,
    }
}

fn masked(text: String) -> String {
    match mask(&text, &[]) {
        Cow::Borrowed(_) => text,
        Cow::Owned(masked) => masked,
    }
}

/// A value of this crate as JSON.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("structs of texts, numbers and flags are JSON")
}

/// A time in a document: RFC 3339 in UTC, to the nanosecond, so that reading it back returns the same time. A time before
/// 1970 is written as 1970.
pub(crate) fn timestamp(at: SystemTime) -> impl fmt::Display {
    humantime::format_rfc3339_nanos(representable(at))
}

/// The nearest time that a timestamp and the date of a response can show: from 1970 to the end of 9999.
pub fn representable(at: SystemTime) -> SystemTime {
    at.clamp(UNIX_EPOCH, UNIX_EPOCH + Duration::from_secs(253_402_300_799))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value whose error is not worded as any of today's.
    #[derive(Debug)]
    struct Reworded;

    impl<'de> Deserialize<'de> for Reworded {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let value = Value::deserialize(deserializer)?;
            Err(D::Error::custom(format_args!("this must not be {value}")))
        }
    }

    #[test]
    fn an_unknown_message_is_not_shown_d62() {
        let json = r#"{"CardNumber":"4242424242424242"}"#;
        let DocumentError(problem) = read::<Reworded>(json).unwrap_err();
        assert_eq!(problem, "is not valid at line 1 column 33");
        let value: Value = serde_json::from_str(json).unwrap();
        assert_eq!(read_from::<Reworded, _>(value).unwrap_err(), DocumentError("is not valid".to_owned()));
    }
}
