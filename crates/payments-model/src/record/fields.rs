//! Declares a record: one line for each field.

use std::fmt;

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::json::{Json, Member, Portable};
use crate::mask::{is_secret_name, mask};
use crate::secret::{REDACTED, Redacted};
use crate::{Amount, CustomerId, Field, MaskedCard, OtherFields, RawJson, TransactionTypeCode, amount};

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

            /// `None` if the required field is missing.
            pub(crate) fn read(members: &[$crate::json::Member<'_>]) -> Option<Self> {
                Some(Self {
                    $($id: $crate::json::only(members, $id_name)
                        .and_then(|json| $id_type::from_answer(json.text_or_integer()?))?,)?
                    $($field: $crate::record::fields::read(members, $name, $read),)*
                    other: $crate::OtherFields::read(members, Self::NAMES),
                })
            }

            /// The record as the interface's JSON: the fields in the order of its table, amounts as numbers, then the other
            /// fields. It contains the personal data that `Debug` hides. [`Deserialize`](serde::Deserialize) reads it back.
            pub fn to_json(&self) -> String {
                let record = $crate::record::fields::SerializeRecord::<_, true>(self);
                serde_json::to_string(&record).expect("a map of strings and JSON values is JSON")
            }
        }

        impl $crate::record::fields::Record for $record {
            const NAMES: &[&str] = Self::NAMES;

            fn fields(&self) -> Vec<(&'static str, $crate::record::fields::Wire<'_>)> {
                use $crate::record::fields::Wire;
                let required = [$(($id_name, Wire::Text(self.$id.as_str())))?];
                let others: Vec<Option<_>> = vec![$(Wire::of(&self.$field).map(|wire| ($name, wire))),*];
                required.into_iter().chain(others.into_iter().flatten()).collect()
            }

            fn other(&self) -> &$crate::OtherFields {
                &self.other
            }
        }

        /// Serializes with the interface's names. Amounts and other numbers that are not whole become strings, so that every
        /// format keeps their digits. Deserializing returns an equal record, except that an unreadable number becomes an array
        /// with that number. [`to_json`](Self::to_json) writes the interface's JSON instead.
        impl serde::Serialize for $record {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::record::fields::SerializeRecord::<_, false>(self).serialize(serializer)
            }
        }

        /// Reads the output of `to_json` or of `Serialize`, from any self-describing format, as leniently as a response.
        impl<'de> serde::Deserialize<'de> for $record {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let json = $crate::json::AnyJson::deserialize(deserializer)?;
                let members = json.as_json().members();
                members.as_deref().and_then(Self::read).ok_or_else(|| {
                    serde::de::Error::custom(concat!(
                        "expected a ", stringify!($record), ": an object" $(, " with exactly one ", $id_name)?
                    ))
                })
            }
        }

        impl std::fmt::Debug for $record {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let Self { $($id,)? $($field,)* other } = self;
                f.debug_struct(stringify!($record))
                    $(.field(stringify!($id), $id))?
                    $(.field(stringify!($field), &$crate::record::fields::Debugged::$privacy($field)))*
                    .field("other", other)
                    .finish()
            }
        }
    };
}
pub(crate) use record;

/// Reads the field with this name. It is a value if it appears once and `read` can read it.
pub(crate) fn read<'a, T>(
    members: &[Member<'a>],
    name: &str,
    read: impl FnOnce(Json<'a>) -> Option<T>,
) -> Field<T> {
    let mut found = members.iter().filter(|member| member.0 == name).map(|(_, json)| *json);
    let Some(json) = found.next() else {
        return Field::Absent;
    };
    let unreadable = |json| {
        let kept = RawJson::redacted_from(json);
        // A card number in an unexpected form cannot be masked reliably, so nothing of it is kept. The mark is in an array,
        // because a string would be read back as the value of the field.
        let is_secret = is_secret_name(name) || kept == RawJson::redacted();
        let redacted = || RawJson::from_json_text(format!("[\"{REDACTED}\"]"));
        Field::Unreadable(if is_secret { redacted() } else { kept })
    };
    if found.next().is_some() {
        let all = members.iter().filter(|member| member.0 == name).map(|(_, json)| json.as_str());
        let all = RawJson::from_json_text(format!("[{}]", all.collect::<Vec<_>>().join(",")));
        return unreadable(all.as_raw().into());
    }
    if json.is_null() {
        return Field::Null;
    }
    read(json).map_or_else(|| unreadable(json), Field::Value)
}

pub(crate) fn text(json: Json<'_>) -> Option<String> {
    json.text().map(Into::into)
}

/// Codes are strings that some services send as numbers.
pub(crate) fn code(json: Json<'_>) -> Option<String> {
    json.text_or_integer().map(Into::into)
}

pub(crate) fn customer_id(json: Json<'_>) -> Option<CustomerId> {
    CustomerId::from_answer(json.text_or_integer()?)
}

/// A field in `Debug` output.
pub(crate) struct Debugged<'a, T> {
    field: &'a Field<T>,
    is_personal: bool,
}

impl<'a, T> Debugged<'a, T> {
    pub(crate) fn shown(field: &'a Field<T>) -> Self {
        Self { field, is_personal: false }
    }

    pub(crate) fn personal(field: &'a Field<T>) -> Self {
        Self { field, is_personal: true }
    }
}

impl<T: fmt::Debug> fmt::Debug for Debugged<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field {
            Field::Value(_) if self.is_personal => f.debug_tuple("Value").field(&Redacted).finish(),
            Field::Value(value) => {
                let shown = format!("{value:?}");
                f.debug_tuple("Value").field(&format_args!("{}", mask(&shown, &[]))).finish()
            }
            other => other.fmt(f),
        }
    }
}

/// A record as names and values.
pub(crate) trait Record {
    const NAMES: &[&str];

    fn fields(&self) -> Vec<(&'static str, Wire<'_>)>;

    fn other(&self) -> &OtherFields;
}

/// A value with its JSON type in the interface. The service may have sent another type.
pub(crate) enum Wire<'a> {
    Null,
    Amount(Amount),
    Integer(i64),
    Text(&'a str),
    Unreadable(&'a RawJson),
    /// A field that the interface does not define.
    Other(&'a RawJson),
}

impl<'a> Wire<'a> {
    pub(crate) fn of<T: ToWire>(field: &'a Field<T>) -> Option<Self> {
        match field {
            Field::Absent => None,
            Field::Null => Some(Self::Null),
            Field::Value(value) => Some(value.to_wire()),
            Field::Unreadable(raw) => Some(Self::Unreadable(raw)),
        }
    }
}

pub(crate) trait ToWire {
    fn to_wire(&self) -> Wire<'_>;
}

impl ToWire for Amount {
    fn to_wire(&self) -> Wire<'_> {
        Wire::Amount(*self)
    }
}

impl ToWire for i64 {
    fn to_wire(&self) -> Wire<'_> {
        Wire::Integer(*self)
    }
}

impl ToWire for TransactionTypeCode {
    fn to_wire(&self) -> Wire<'_> {
        Wire::Integer(self.value())
    }
}

impl ToWire for String {
    fn to_wire(&self) -> Wire<'_> {
        Wire::Text(self)
    }
}

impl ToWire for MaskedCard {
    fn to_wire(&self) -> Wire<'_> {
        Wire::Text(self.as_str())
    }
}

impl ToWire for CustomerId {
    fn to_wire(&self) -> Wire<'_> {
        Wire::Text(self.as_str())
    }
}

/// Serializes a record: as the interface's JSON with exact numbers if `EXACT`, otherwise for any format.
pub(crate) struct SerializeRecord<'r, R, const EXACT: bool>(pub(crate) &'r R);

impl<R: Record, const EXACT: bool> Serialize for SerializeRecord<'_, R, EXACT> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.0.fields() {
            map.serialize_entry(name, &SerializeValue::<EXACT>(value))?;
        }
        // Another field with the name of a record field would be a duplicate, so it is left out.
        for (name, value) in self.0.other().iter().filter(|(name, _)| !R::NAMES.contains(&&**name)) {
            map.serialize_entry(&name, &SerializeValue::<EXACT>(Wire::Other(&value)))?;
        }
        map.end()
    }
}

struct SerializeValue<'a, const EXACT: bool>(Wire<'a>);

impl<const EXACT: bool> Serialize for SerializeValue<'_, EXACT> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Wire::Null => serializer.serialize_unit(),
            Wire::Amount(amount) if EXACT => amount::as_number(amount, serializer),
            Wire::Amount(amount) => amount.serialize(serializer),
            Wire::Integer(value) => serializer.serialize_i64(*value),
            Wire::Text(text) => serializer.serialize_str(text),
            Wire::Unreadable(raw) | Wire::Other(raw) if EXACT => raw.as_raw().serialize(serializer),
            // A string would be read back as the value of the field, so the number is put in an array.
            Wire::Unreadable(raw) if Json::from(raw.as_raw()).number().is_some() => {
                [Portable::new(raw.as_raw().into())].serialize(serializer)
            }
            Wire::Unreadable(raw) | Wire::Other(raw) => {
                Portable::new(raw.as_raw().into()).serialize(serializer)
            }
        }
    }
}
