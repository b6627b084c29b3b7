//! How a count, a time and an amount are written.

use std::time::SystemTime;

use payments_model::Amount;
use payments_model::unversioned::as_number;
use serde::Serializer;

/// `1 row`, `2 rows`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The time in UTC as RFC 3339, with milliseconds.
pub(crate) fn timestamp(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

/// An amount as a JSON number with all its digits, or null.
#[allow(clippy::ref_option, reason = "serde passes a field by reference")]
pub(crate) fn exact<S: Serializer>(amount: &Option<Amount>, serializer: S) -> Result<S::Ok, S::Error> {
    match amount {
        Some(amount) => as_number(amount, serializer),
        None => serializer.serialize_none(),
    }
}
