//! How the members of a fault are read and written as JSON.

#![allow(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a field by reference"
)]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use payments_core::OperationName;
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serializer};
use serde_json::Value;

use crate::document::{members, shown_name};

/// The operation of a fault of any operation.
pub(crate) const ANY: &str = "any";

members! {
    operation: Value => Option<OperationName>,
        "must be transaction, token-transaction, void, get-transaction, get-customer or any",
        |name: Value| match name.as_str()? {
            ANY => Some(None),
            name => OperationName::from_name(name).map(Some),
        };
    status: Value => StatusCode, "status must be an HTTP status from 200 to 599", |status: Value| {
        let status = status.as_u64().filter(|status| (200..600).contains(status))?;
        StatusCode::from_u16(status.try_into().ok()?).ok()
    };
    /// Accepts seconds as a number too, because people write them so.
    retry_after: Value => Option<HeaderValue>, "must be seconds or a date, as in the Retry-After header",
        |value| match value {
            Value::Null => Some(None),
            Value::String(text) if !text.is_empty() => HeaderValue::try_from(text).ok().map(Some),
            Value::Number(seconds) => HeaderValue::try_from(seconds.to_string()).ok().map(Some),
            _ => None,
        };
    bytes: Value => usize, "bytes must be a whole number", |bytes: Value| bytes.as_u64()?.try_into().ok();
    piece: Value => NonZeroUsize, "bytes must be a whole number",
        |bytes: Value| Some(NonZeroUsize::new(bytes.as_u64()?.try_into().ok()?).unwrap_or(NonZeroUsize::MIN));
    delay: Value => Duration, "delay_ms must be a whole number of milliseconds",
        |millis: Value| Some(Duration::from_millis(u32::try_from(millis.as_u64()?).ok()?.into()));
    skip: Value => u32, "must be a whole number", |count: Value| count.as_u64()?.try_into().ok();
    times: Value => u32, "must be a whole number above zero",
        |count: Value| count.as_u64()?.try_into().ok().filter(|count| *count > 0);
}

/// The HTTP status of a fault that names none.
pub(crate) const fn status_default() -> StatusCode {
    StatusCode::BAD_GATEWAY
}

pub(crate) const fn bytes_default() -> usize {
    10
}

pub(crate) fn piece_default() -> NonZeroUsize {
    NonZeroUsize::new(bytes_default()).unwrap_or(NonZeroUsize::MIN)
}

pub(crate) const fn delay_default() -> Duration {
    Duration::from_millis(500)
}

pub(crate) const fn times_default() -> u32 {
    1
}

/// Refuses a member that no kind of fault has. A kind accepts those that only others use, and those that
/// [`ArmedFault::to_json`](crate::ArmedFault::to_json) writes beyond the fault.
pub(crate) fn check_names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    const NAMES: [&str; 7] = ["kind", "status", "bytes", "delay_ms", "id", "seen", "fired"];
    #[expect(clippy::zero_sized_map_values, reason = "serde reads the members of an object as a map")]
    let members = BTreeMap::<String, IgnoredAny>::deserialize(deserializer)?;
    match members.keys().find(|name| !NAMES.contains(&name.as_str())) {
        Some(name) => Err(D::Error::custom(format_args!("{} is not a known field", shown_name(name)))),
        None => Ok(()),
    }
}

pub(crate) fn write_operation<S: Serializer>(
    operation: &Option<OperationName>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(operation.map_or(ANY, OperationName::as_str))
}

pub(crate) fn write_status<S: Serializer>(status: &StatusCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u16(status.as_u16())
}

pub(crate) fn write_delay<S: Serializer>(delay: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(delay.as_millis().try_into().unwrap_or(u64::MAX))
}

pub(crate) fn write_retry_after<S: Serializer>(
    value: &Option<HeaderValue>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&String::from_utf8_lossy(value.as_ref().map_or(b"", HeaderValue::as_bytes)))
}
