use std::borrow::Cow;

use payments_model::TransactionId;
use serde::{Deserialize, Serialize};

/// What is kept of an attempt that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Failure {
    /// One word: that of [`payments_core::Error::code`], such as `timeout` or `rejected`, or one of the journal's own:
    /// `crash`, `panic`, `abandoned`, `withdrawn`, `lost`, `reopened`.
    pub kind: Cow<'static, str>,
    /// The HTTP status of the response, if there was one.
    pub http_status: Option<u16>,
    /// Why, in the service's own words, masked.
    pub reason: Option<String>,
    /// The transaction that the response names, or the one that a void was to change.
    pub transaction_id: Option<TransactionId>,
}

impl Failure {
    /// The process that was sending died before it could write down how it ended.
    pub const CRASH: &'static str = "crash";
    /// The transport panicked.
    pub const PANIC: &'static str = "panic";
    /// The caller went away before anything was sent, so nothing was.
    pub const ABANDONED: &'static str = "abandoned";
    /// It could not be made certain that the intent is written down, so nothing was sent.
    pub const WITHDRAWN: &'static str = "withdrawn";
    /// The runtime ended while it was being sent.
    pub const LOST: &'static str = "lost";
    /// A person said that a rejected intent may be sent again.
    pub const REOPENED: &'static str = "reopened";

    /// A failure of which nothing but this is known.
    pub fn of_kind(kind: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: kind.into(), http_status: None, reason: None, transaction_id: None }
    }
}

impl From<&payments_core::Error> for Failure {
    fn from(error: &payments_core::Error) -> Self {
        Self {
            kind: error.code().into(),
            http_status: error.http_status().map(|status| status.as_u16()),
            reason: error.reason().map(str::to_owned),
            transaction_id: error.transaction_id().cloned(),
        }
    }
}
