//! Times as documents hold them: RFC 3339 in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// To the nanosecond, so that what is read back is equal. A time before 1970 is written as 1970.
pub(crate) fn format(at: SystemTime) -> String {
    humantime::format_rfc3339_nanos(at.max(UNIX_EPOCH)).to_string()
}

pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    humantime::parse_rfc3339(text).ok()
}
