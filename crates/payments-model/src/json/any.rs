//! A JSON value from any self-describing format.

use std::cell::Cell;
use std::fmt;
use std::iter;

use serde::de::value::MapDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Digits, Json};

/// A value as JSON text: verbatim if `serde_json` has the text, otherwise serialized from the format's value.
///
/// `RawValue` alone fails with every other format, and with `serde_json` if serde buffered the value (`flatten`, untagged
/// enums).
pub(crate) struct AnyJson {
    raw: Box<RawValue>,
    digits: Digits,
}

impl AnyJson {
    pub(crate) fn as_json(&self) -> Json<'_> {
        Json { text: self.raw.get(), digits: self.digits }
    }
}

impl<'de> Deserialize<'de> for AnyJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = Cell::new(Digits::AsWritten);
        let raw =
            Box::<RawValue>::deserialize(RawValueDeserializer { inner: deserializer, digits: &digits })?;
        Ok(Self { raw, digits: digits.get() })
    }
}

/// The format's deserializer, extended so that it always produces a `RawValue`.
struct RawValueDeserializer<'c, D> {
    inner: D,
    digits: &'c Cell<Digits>,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for RawValueDeserializer<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(visitor)
    }

    /// `RawValue` calls this with a name that `serde_json` knows. It expects a map with the text as its one value.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let (text, digits) = self.inner.deserialize_newtype_struct(name, TextVisitor)?;
        self.digits.set(digits);
        visitor.visit_map(MapDeserializer::new(iter::once((name, text))))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Turns any value into JSON text.
struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = (String, Digits);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    /// For `serde_json`, which recognizes the name and provides the text.
    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        map.next_key::<IgnoredAny>()?;
        let RawText(text, digits) = map.next_value()?;
        Ok((text, digits))
    }

    /// For any other format, which ignores the name.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        Ok((Value::deserialize(deserializer)?.to_string(), Digits::Rebuilt))
    }
}

/// The text from `serde_json`: borrowed from its input, or a new string.
struct RawText(String, Digits);

impl<'de> Deserialize<'de> for RawText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawTextVisitor;

        impl<'de> Visitor<'de> for RawTextVisitor {
            type Value = RawText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<RawText, E> {
                Ok(RawText(text.to_owned(), Digits::AsWritten))
            }

            fn visit_str<E>(self, text: &str) -> Result<RawText, E> {
                Ok(RawText(text.to_owned(), Digits::Unknown))
            }
        }

        deserializer.deserialize_str(RawTextVisitor)
    }
}
