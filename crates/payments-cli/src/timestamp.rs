//! Times as every document shows them.

use std::time::SystemTime;

/// In UTC as RFC 3339 has it, with milliseconds.
pub(crate) fn timestamp(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}
