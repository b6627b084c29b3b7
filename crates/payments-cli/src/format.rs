//! How a count, a name, a time and an amount are written.

use std::time::{Duration, SystemTime};

use payments_model::Amount;
use payments_model::unversioned::as_number;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// `1 row`, `2 rows`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The name of a state, a verdict, a kind or a member, for people.
pub(crate) fn in_words(name: &str) -> String {
    name.replace('_', " ")
}

/// The time in UTC as RFC 3339, with milliseconds. A clock may have been set beyond the years that have such a form.
pub(crate) fn timestamp(time: SystemTime) -> String {
    let last = SystemTime::UNIX_EPOCH + Duration::from_millis(253_402_300_799_999);
    humantime::format_rfc3339_millis(time.clamp(SystemTime::UNIX_EPOCH, last)).to_string()
}

/// An amount for people, with at least two decimals. Documents have the digits that were sent.
pub(crate) fn money(amount: Amount) -> String {
    let text = amount.to_string();
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let point = if decimals == 0 { "." } else { "" };
    format!("{text}{point}{}", "0".repeat(2_usize.saturating_sub(decimals)))
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
    fn amount_for_people_has_two_decimals() {
        for (sent, shown) in [("10.5", "10.50"), ("1", "1.00"), ("-3.50", "-3.50"), ("0.125", "0.125")] {
            assert_eq!(sent.parse().map(money).ok().as_deref(), Some(shown));
        }
    }

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
