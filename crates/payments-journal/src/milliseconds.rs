//! Times as stores keep them: milliseconds since 1970 UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A time before 1970 counts as 1970.
pub(crate) fn of(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn time(milliseconds: i64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(u64::try_from(milliseconds).ok()?))
}

/// The time as it will be read back.
pub(crate) fn rounded(at: SystemTime) -> SystemTime {
    time(of(at)).unwrap_or(at)
}

pub(crate) fn serialize<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(of(*time))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
    time(i64::deserialize(deserializer)?).ok_or_else(|| D::Error::custom(OUT_OF_RANGE))
}

/// Of a time that may be missing.
#[expect(clippy::ref_option, reason = "serde passes a reference")]
pub(crate) fn serialize_some<S: Serializer>(
    time: &Option<SystemTime>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    time.map(of).serialize(serializer)
}

pub(crate) fn deserialize_some<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SystemTime>, D::Error> {
    let found = Option::<i64>::deserialize(deserializer)?;
    found.map(|found| time(found).ok_or_else(|| D::Error::custom(OUT_OF_RANGE))).transpose()
}

const OUT_OF_RANGE: &str = "the time is out of range";
