//! How a count, a time and an amount are written.

use std::time::{Duration, SystemTime};

use payments_model::Amount;
use payments_model::unversioned::as_number;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// `1 row`, `2 rows`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The time in UTC as RFC 3339, with milliseconds. A clock may have been set beyond the years that have such a form.
pub(crate) fn timestamp(time: SystemTime) -> String {
    let last = SystemTime::UNIX_EPOCH + Duration::from_millis(253_402_300_799_999);
    humantime::format_rfc3339_millis(time.clamp(SystemTime::UNIX_EPOCH, last)).to_string()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_any_clock_has_a_form() {
        let at = |seconds: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        for (time, shown) in [
            (at(1), "1970-01-01T00:00:01.000Z"),
            (at(253_402_300_799), "9999-12-31T23:59:59.000Z"),
            (at(253_402_300_800), "9999-12-31T23:59:59.999Z"),
            (at(9_000_000_000_000), "9999-12-31T23:59:59.999Z"),
            (before, "1970-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(time), shown);
        }
    }
}
