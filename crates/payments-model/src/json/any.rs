//! A JSON value out of whatever format a record is deserialized from.

use std::cell::Cell;
use std::fmt;
use std::iter;

use serde::de::value::MapDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Json;

/// A value as JSON text: verbatim where `serde_json` has the text, and otherwise written anew from what the format has.
///
/// `RawValue` by itself is refused by every other format, and by `serde_json` where a value was buffered (`flatten`,
/// untagged enums).
pub(crate) struct AnyJson {
    raw: Box<RawValue>,
    is_exact: bool,
}

impl AnyJson {
    pub(crate) fn as_json(&self) -> Json<'_> {
        Json { text: self.raw.get(), is_exact: self.is_exact }
    }
}

impl<'de> Deserialize<'de> for AnyJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let is_exact = Cell::new(true);
        let raw = Box::<RawValue>::deserialize(Rewriting { inner: deserializer, is_exact: &is_exact })?;
        Ok(Self { raw, is_exact: is_exact.get() })
    }
}

/// The format's deserializer, except that `RawValue` gets a value from it in any case.
struct Rewriting<'c, D> {
    inner: D,
    is_exact: &'c Cell<bool>,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Rewriting<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = RewritingVisitor { name, visitor, is_exact: self.is_exact };
        self.inner.deserialize_newtype_struct(name, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct RewritingVisitor<'c, V> {
    name: &'static str,
    visitor: V,
    is_exact: &'c Cell<bool>,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for RewritingVisitor<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    /// `serde_json`, which knows the name and gives the text.
    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<V::Value, M::Error> {
        self.visitor.visit_map(map)
    }

    /// Any other format, for which the name says nothing. `RawValue` gets the text in the form that it expects.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let text = Value::deserialize(deserializer)?.to_string();
        self.is_exact.set(false);
        self.visitor.visit_map(MapDeserializer::new(iter::once((self.name, text))))
    }
}
