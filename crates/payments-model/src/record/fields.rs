//! Declares a record: one line for each field.

use std::fmt;

use serde::ser::{Serialize, SerializeMap};
use thiserror::Error;

use crate::amount::Number;
use crate::json::{Json, Member};
use crate::mask::{is_secret_name, mask};
use crate::secret::{REDACTED, Redacted};
use crate::{Amount, CustomerId, Field, MaskedCard, RawJson, TransactionTypeCode};

/// Declares a record. Each field has a name and type in Rust, a name in the interface, a function that reads its JSON, and a
/// privacy: `Debug` shows its value (`shown`) or only whether it is present (`personal`).
///
/// A required field, if there is one, comes first.
macro_rules! record {
    (
        $(#[$meta:meta])*
        pub struct $record:ident {
            $(=> {
                $(#[$id_meta:meta])*
                $id:ident: $id_type:ident = $id_name:literal;
            })?
            $(
                $(#[$field_meta:meta])*
                $privacy:ident $field:ident: $type:ty = $name:literal, $read:expr;
            )*
        }
    ) => {
        $(#[$meta])*
        #[non_exhaustive]
        #[derive(Clone, PartialEq, Eq)]
        pub struct $record {
            $($(#[$id_meta])* pub $id: $id_type,)?
            $($(#[$field_meta])* pub $field: $crate::Field<$type>,)*
            /// Fields that the interface does not define.
            pub other: $crate::OtherFields,
        }

        impl $record {
            /// The fields of the interface's table.
            const NAMES: &[&str] = &[$($id_name,)? $($name,)*];

            /// A record in which every optional field is absent.
            pub fn new($($id: $id_type)?) -> Self {
                Self {
                    $($id,)?
                    $($field: $crate::Field::Absent,)*
                    other: $crate::OtherFields::default(),
                }
            }

            /// Reads a record from the interface's JSON, as leniently as from a response. It reads what
            /// [`to_json`](Self::to_json) wrote.
            ///
            /// # Errors
            ///
            /// If the document is not a JSON object, or does not have exactly one identifier where the record requires one.
            pub fn from_json(document: &[u8]) -> Result<Self, $crate::RecordError> {
                let $crate::json::Members(members) =
                    serde_json::from_slice($crate::json::without_byte_order_mark(document)).map_err(|_| $crate::RecordError::NOT_AN_OBJECT)?;
                Self::read(&members).ok_or($crate::RecordError::WITHOUT_ID)
            }

            /// `None` if the required field is missing.
            pub(crate) fn read(members: &[$crate::json::Member<'_>]) -> Option<Self> {
                let mut record = Self::new(
                    $($id_type::from_response($crate::json::only(members, $id_name)?.text_or_integer()?)?)?
                );
                #[allow(unused_mut, unused_variables, reason = "a receipt has only its identifier")]
                let mut repeated: Vec<&str> = Vec::new();
                for member in members {
                    match &*member.0 {
                        $($id_name => {})?
                        $($name => $crate::record::fields::read(&mut record.$field, $read, member, &mut repeated),)*
                        name => record.other.keep(name, member.1),
                    }
                }
                $(if repeated.contains(&$name) {
                    record.$field = $crate::record::fields::repeated(members, $name);
                })*
                Some(record)
            }

            /// The record as the interface's JSON: the fields in the order of its table, amounts as numbers, then the other
            /// fields. It contains the personal data that `Debug` hides.
            pub fn to_json(&self) -> String {
                serde_json::to_string(self).expect("a map of strings and JSON values is JSON")
            }
        }

        /// Serializes as [`to_json`](Self::to_json) does. It needs a serializer of `serde_json`, because an amount is written
        /// as its digits. In a `serde_json::Value` a number keeps only the digits of an `f64`.
        impl serde::Serialize for $record {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $(map.serialize_entry($id_name, &self.$id)?;)?
                $($crate::record::fields::write(&mut map, $name, &self.$field)?;)*
                for (name, value) in self.other.iter().filter(|(name, _)| !Self::NAMES.contains(name)) {
                    map.serialize_entry(name, value.as_raw())?;
                }
                map.end()
            }
        }

        impl std::fmt::Debug for $record {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let Self { $($id,)? $($field,)* other } = self;
                f.debug_struct(stringify!($record))
                    $(.field(stringify!($id), $id))?
                    $(.field(stringify!($field), &$crate::record::fields::$privacy($field)))*
                    .field("other", other)
                    .finish()
            }
        }
    };
}
pub(crate) use record;

/// Reads a member with the field's name: a value if `read` can read it. Any further one makes the name `repeated`.
pub(crate) fn read<'m, 'a, T>(
    field: &mut Field<T>,
    read: impl FnOnce(Json<'a>) -> Option<T>,
    (name, json): &'m Member<'a>,
    repeated: &mut Vec<&'m str>,
) {
    if !field.is_absent() {
        if !repeated.contains(&&**name) {
            repeated.push(name);
        }
    } else if json.is_null() {
        *field = Field::Null;
    } else {
        *field = read(*json).map_or_else(|| unreadable(name, *json), Field::Value);
    }
}

/// A field that appears more than once: all its values.
pub(crate) fn repeated<T>(members: &[Member<'_>], name: &str) -> Field<T> {
    let all = members.iter().filter(|member| member.0 == name).map(|(_, json)| json.as_str());
    let all = RawJson::from_json_text(format!("[{}]", all.collect::<Vec<_>>().join(",")));
    unreadable(name, all.as_raw().into())
}

fn unreadable<T>(name: &str, json: Json<'_>) -> Field<T> {
    let kept = RawJson::redacted_from(json);
    // A card number in an unexpected form cannot be masked reliably, so nothing of it is kept. The mark is in an array, because a
    // string would be read back as the value of the field.
    let is_secret = is_secret_name(name) || kept == RawJson::redacted();
    let redacted = || RawJson::from_json_text(format!("[\"{REDACTED}\"]"));
    Field::Unreadable(if is_secret { redacted() } else { kept })
}

pub(crate) fn text(json: Json<'_>) -> Option<String> {
    json.text().map(Into::into)
}

/// Codes are strings that some services send as numbers.
pub(crate) fn code(json: Json<'_>) -> Option<String> {
    json.text_or_integer().map(Into::into)
}

pub(crate) fn customer_id(json: Json<'_>) -> Option<CustomerId> {
    CustomerId::from_response(json.text_or_integer()?)
}

/// A field for `Debug` output, with card numbers masked.
pub(crate) fn shown<T: fmt::Debug>(field: &Field<T>) -> Field<impl fmt::Debug> {
    map(field, |value| Masked(mask(&format!("{value:?}"), &[]).into_owned()))
}

struct Masked(String);

impl fmt::Debug for Masked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A field for `Debug` output, without its value.
pub(crate) fn personal<T>(field: &Field<T>) -> Field<impl fmt::Debug> {
    map(field, |_| Redacted)
}

fn map<'a, T, U>(field: &'a Field<T>, map: impl FnOnce(&'a T) -> U) -> Field<U> {
    match field {
        Field::Absent => Field::Absent,
        Field::Null => Field::Null,
        Field::Value(value) => Field::Value(map(value)),
        Field::Unreadable(raw) => Field::Unreadable(raw.clone()),
    }
}

/// Writes the field, unless it is absent.
pub(crate) fn write<M: SerializeMap, T: Written>(
    map: &mut M,
    name: &str,
    field: &Field<T>,
) -> Result<(), M::Error> {
    match field {
        Field::Absent => Ok(()),
        Field::Null => map.serialize_entry(name, &()),
        Field::Value(value) => value.write(map, name),
        Field::Unreadable(raw) => map.serialize_entry(name, raw.as_raw()),
    }
}

/// The type of a field. Its own form is that in the interface, except for an amount, which is a number there.
pub(crate) trait Written: Serialize {
    fn write<M: SerializeMap>(&self, map: &mut M, name: &str) -> Result<(), M::Error> {
        map.serialize_entry(name, self)
    }
}

impl Written for Amount {
    fn write<M: SerializeMap>(&self, map: &mut M, name: &str) -> Result<(), M::Error> {
        map.serialize_entry(name, &Number(*self))
    }
}

impl Written for i64 {}
impl Written for String {}
impl Written for CustomerId {}
impl Written for MaskedCard {}
impl Written for TransactionTypeCode {}

/// Why a document is not a record: it is not a JSON object, or it has no identifier.
///
/// It says nothing about the payment. It contains nothing of the document.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct RecordError(&'static str);

impl RecordError {
    pub(crate) const NOT_AN_OBJECT: Self = Self("the record is not a JSON object");
    pub(crate) const WITHOUT_ID: Self = Self("the record does not have exactly one TransactionId");
}
