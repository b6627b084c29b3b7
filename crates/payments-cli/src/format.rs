//! How a count, a time and an amount are written.

use std::time::SystemTime;

use payments_model::Amount;
use payments_model::unversioned::as_number;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// `1 row`, `2 rows`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The time in UTC as RFC 3339, with milliseconds.
pub(crate) fn timestamp(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

/// An amount as a JSON number with all its digits.
#[derive(Serialize)]
pub(crate) struct Exact(#[serde(serialize_with = "as_number")] pub(crate) Amount);

/// The same for a field, or null.
#[allow(clippy::ref_option, reason = "serde passes a field by reference")]
pub(crate) fn exact<S: Serializer>(amount: &Option<Amount>, serializer: S) -> Result<S::Ok, S::Error> {
    amount.map(Exact).serialize(serializer)
}

/// A member that is left out if it has no value.
pub(crate) fn entry<M: SerializeMap>(
    object: &mut M,
    name: &str,
    value: Option<impl Serialize>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| object.serialize_entry(name, &value))
}
