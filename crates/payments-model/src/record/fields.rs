//! How a record is declared: each of its fields in one place.

use std::fmt;

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::json::{Json, Member, Portable};
use crate::mask::{is_secret_name, mask};
use crate::secret::{REDACTED, Redacted};
use crate::{Amount, CustomerId, Field, MaskedCard, OtherFields, RawJson, TransactionTypeCode, amount};

/// Declares a record out of its fields: name and type here, name in the interface, how its JSON is read, and whether
/// `Debug` shows it (`shown`) or says only that it is there (`personal`).
///
/// The one field that must be there, if there is one, comes first.
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
            /// Fields that the interface does not have.
            pub other: $crate::OtherFields,
        }

        impl $record {
            /// The interface's table.
            const NAMES: &[&str] = &[$($id_name,)? $($name,)*];

            /// A record with nothing else in it.
            pub fn new($($id: $id_type)?) -> Self {
                Self {
                    $($id,)?
                    $($field: $crate::Field::Absent,)*
                    other: $crate::OtherFields::default(),
                }
            }

            /// `None` without the field that must be there.
            pub(crate) fn read(members: &[$crate::json::Member<'_>]) -> Option<Self> {
                Some(Self {
                    $($id: $crate::json::only(members, $id_name)
                        .and_then(|json| $id_type::from_answer(json.text_or_integer()?))?,)?
                    $($field: $crate::record::fields::read(members, $name, $read),)*
                    other: $crate::OtherFields::read(members, Self::NAMES),
                })
            }

            /// The record as the interface's JSON: its names in the order of its table, amounts as numbers, then the other
            /// fields. It has the personal data that `Debug` hides. [`Deserialize`](serde::Deserialize) reads it back.
            pub fn to_json(&self) -> String {
                let written = $crate::record::fields::Written::<_, true>(self);
                serde_json::to_string(&written).expect("a map of texts and JSON values is JSON")
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

        /// Writes the interface's names. Amounts are texts and other numbers that are not whole are too, so that every format
        /// keeps their digits. What was written reads back, except that an unreadable number becomes an array of it.
        /// [`to_json`](Self::to_json) writes the interface's own JSON.
        impl serde::Serialize for $record {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::record::fields::Written::<_, false>(self).serialize(serializer)
            }
        }

        /// Reads what `to_json` or any serializer wrote, out of any self-describing format, as leniently as a response.
        impl<'de> serde::Deserialize<'de> for $record {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let json = $crate::json::AnyJson::deserialize(deserializer)?;
                let members = json.as_json().members();
                members.as_deref().and_then(Self::read).ok_or_else(|| {
                    serde::de::Error::custom(concat!(
                        stringify!($record), " is an object" $(, " with one ", $id_name)?
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

/// The field under this name, if it is there once and `read` understands it.
pub(crate) fn read<'a, T>(
    members: &[Member<'a>],
    name: &str,
    read: impl FnOnce(Json<'a>) -> Option<T>,
) -> Field<T> {
    let mut found = members.iter().filter(|(own, _)| own == name).map(|(_, json)| *json);
    let Some(json) = found.next() else {
        return Field::Absent;
    };
    let unreadable = |json| {
        let kept = RawJson::redacted_from(json);
        // In a shape that cannot be masked with certainty, nothing of a card number is kept. In an array, because a text would
        // be read back as the field's value.
        let is_secret = is_secret_name(name) || kept == RawJson::redacted();
        let nothing = || RawJson::from_json_text(format!("[\"{REDACTED}\"]"));
        Field::Unreadable(if is_secret { nothing() } else { kept })
    };
    if found.next().is_some() {
        let all = members.iter().filter(|(own, _)| own == name).map(|(_, json)| json.as_str());
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

/// Codes are texts that some services send as numbers.
pub(crate) fn code(json: Json<'_>) -> Option<String> {
    json.text_or_integer().map(Into::into)
}

pub(crate) fn customer_id(json: Json<'_>) -> Option<CustomerId> {
    CustomerId::from_answer(json.text_or_integer()?)
}

/// What `Debug` shows of a field.
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

/// A value by the JSON type that the interface has for it, however it was read.
pub(crate) enum Wire<'a> {
    Null,
    Amount(Amount),
    Integer(i64),
    Text(&'a str),
    Unreadable(&'a RawJson),
    /// Of a field that the interface does not have.
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

/// A record on its way to a serializer: `EXACT` with numbers digit by digit, for the interface's JSON, or for any format.
pub(crate) struct Written<'r, R, const EXACT: bool>(pub(crate) &'r R);

impl<R: Record, const EXACT: bool> Serialize for Written<'_, R, EXACT> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.0.fields() {
            map.serialize_entry(name, &WrittenValue::<EXACT>(value))?;
        }
        // None that would repeat a field of the record.
        for (name, value) in self.0.other().iter().filter(|(name, _)| !R::NAMES.contains(&&**name)) {
            map.serialize_entry(&name, &WrittenValue::<EXACT>(Wire::Other(&value)))?;
        }
        map.end()
    }
}

struct WrittenValue<'a, const EXACT: bool>(Wire<'a>);

impl<const EXACT: bool> Serialize for WrittenValue<'_, EXACT> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Wire::Null => serializer.serialize_unit(),
            Wire::Amount(amount) if EXACT => amount::as_number(amount, serializer),
            Wire::Amount(amount) => amount.serialize(serializer),
            Wire::Integer(value) => serializer.serialize_i64(*value),
            Wire::Text(text) => serializer.serialize_str(text),
            Wire::Unreadable(raw) | Wire::Other(raw) if EXACT => raw.as_raw().serialize(serializer),
            // As a text the number would be read back as the field's value.
            Wire::Unreadable(raw) if Json::from(raw.as_raw()).number().is_some() => {
                [Portable::new(raw.as_raw().into())].serialize(serializer)
            }
            Wire::Unreadable(raw) | Wire::Other(raw) => {
                Portable::new(raw.as_raw().into()).serialize(serializer)
            }
        }
    }
}
