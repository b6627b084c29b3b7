use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether the money can have moved. Every failed payment and void has one.
///
/// ```
/// use payments_core::{Error, Outcome};
///
/// fn next_step(error: &Error) -> &'static str {
///     match error.outcome() {
///         Outcome::NotProcessed => "send it again",
///         Outcome::Rejected => "fix it, then send a new request",
///         Outcome::Unknown => "look it up before you send anything again",
///     }
/// }
/// # let error = payments_core::ApiKey::new("").unwrap_err();
/// # assert_eq!(next_step(&error), "send it again");
/// ```
///
/// Complete: a fourth outcome would be a breaking change, so that every `match` notices it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::exhaustive_enums, reason = "callers must be able to match on all three without a wildcard")]
pub enum Outcome {
    /// The service provably did not act on it. Sending the same request again is safe, and helps once the cause is fixed.
    ///
    /// A failed lookup has no outcome, because it says nothing about a payment: see [`LookupError`](crate::LookupError).
    NotProcessed,
    /// The service, or something in front of it, refused. Fix the request, then send a new one.
    Rejected,
    /// It may have been processed. Never send it again blindly: look it up or reconcile.
    Unknown,
}

impl Outcome {
    /// The outcome as the command and logs write it: `not_processed`, `rejected` or `unknown`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotProcessed => "not_processed",
            Self::Rejected => "rejected",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
