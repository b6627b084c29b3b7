//! Why an attempt did not succeed.

use std::borrow::Cow;
use std::fmt;

use payments_core::{ErrorKind, FailedCall, OperationName, Outcome, RefusedBy};
use payments_model::TransactionId;
use serde::{Deserialize, Serialize};

/// What the journal stores about an attempt that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Failure {
    /// Why.
    pub kind: FailureKind,
    /// The HTTP status of the response, if there was one.
    pub http_status: Option<u16>,
    /// The error that the service names in the body of a refusal with another HTTP status, such as 401 in a response with 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_code: Option<u16>,
    /// Why, in the service's own words, masked.
    pub reason: Option<String>,
    /// The transaction that the response names, or the one that a void was to change.
    pub transaction_id: Option<TransactionId>,
}

impl Failure {
    /// Whether a person allowed the intent to be sent again.
    pub(crate) fn is_reopened(&self) -> bool {
        self.kind == FailureKind::REOPENED || self.kind == FailureKind::REOPENED_BY_NAME
    }

    /// Of a rejection of this operation: whether it is about the payment or the void itself. Otherwise it is about the caller (HTTP
    /// 401, 403 and 429), the address (405, and 404 unless a void names a transaction that the service does not know) or the form of the
    /// request (such as 413 and 415), or something between here and the service said it. No other card helps there: once the cause is
    /// fixed, a person may [allow](crate::Journal::reopen) the request to be sent again.
    pub fn is_about_the_payment(&self, operation: Option<OperationName>) -> bool {
        ["rejected", "not_found", FailureKind::RESOLVED.as_str()].contains(&self.kind.as_str())
            && [self.http_status, self.status_code]
                .into_iter()
                .all(|status| payments_core::Error::is_about_the_payment(status, operation))
    }

    /// The word under which the journal stores how a call failed. The command shows the same words. It is finer than
    /// [`ErrorKind`] if the transport failed.
    pub fn kind_of(call: &FailedCall) -> &'static str {
        match (call.transport_error(), call.kind()) {
            (Some(error), _) => error.kind().as_str(),
            (None, ErrorKind::Invalid) => "validation",
            (None, ErrorKind::Refused) => "rejected",
            (None, ErrorKind::RateLimited) if call.refused_by() == Some(RefusedBy::Service) => "rejected",
            (None, ErrorKind::RateLimited | ErrorKind::RefusedByIntermediary) => "intermediary",
            (None, ErrorKind::Unclear) => "unclear_answer",
            (None, kind) => kind.as_str(),
        }
    }

    /// A failure of which only the kind is known, for a test of what a program does with it.
    pub fn of_kind(kind: impl Into<Cow<'static, str>>) -> Self {
        let kind = FailureKind(kind.into());
        Self { kind, http_status: None, status_code: None, reason: None, transaction_id: None }
    }
}

impl From<&payments_core::Error> for Failure {
    fn from(error: &payments_core::Error) -> Self {
        let named = error.failed_call().named_transaction();
        let http_status = error.http_status().map(|status| status.as_u16());
        let code = error.failed_call().status_code().and_then(|code| code.parse().ok());
        let code = code.filter(|code| (400..=499).contains(code) && http_status != Some(*code));
        Self {
            kind: FailureKind(Self::kind_of(error.failed_call()).into()),
            http_status,
            status_code: code.filter(|_| error.outcome() == Outcome::Rejected),
            reason: error.reason().map(str::to_owned),
            transaction_id: named.or_else(|| error.transaction_id()).cloned(),
        }
    }
}

/// Why an attempt failed, as one word: that of [`Failure::kind_of`], such as `timeout` or `rejected`, or one of the journal's own,
/// which are the constants here. A word of a newer version is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FailureKind(Cow<'static, str>);

impl FailureKind {
    /// The process that was sending died before it could record the outcome.
    pub const CRASH: Self = Self(Cow::Borrowed("crash"));
    /// The transport panicked, or the journal did.
    pub const PANIC: Self = Self(Cow::Borrowed("panic"));
    /// The caller left before the request was sent, so it was not sent.
    pub const ABANDONED: Self = Self(Cow::Borrowed("abandoned"));
    /// The journal could not confirm that the intent was written, so nothing was sent.
    pub const WITHDRAWN: Self = Self(Cow::Borrowed("withdrawn"));
    /// The runtime ended while it was being sent.
    pub const LOST: Self = Self(Cow::Borrowed("lost"));
    /// The journal lost its newest entries, and a person named this key as one that may have been sent since.
    pub const LOST_HISTORY: Self = Self(Cow::Borrowed("lost_history"));
    /// A person allowed a rejected intent to be sent again.
    pub const REOPENED: Self = Self(Cow::Borrowed("reopened"));
    /// A person allowed a rejected intent to be sent again, and named its key.
    pub const REOPENED_BY_NAME: Self = Self(Cow::Borrowed("reopened_by_name"));
    /// A person has found out that it was rejected.
    pub const RESOLVED: Self = Self(Cow::Borrowed("resolved"));

    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<FailureKind> for Cow<'static, str> {
    fn from(kind: FailureKind) -> Self {
        kind.0
    }
}
