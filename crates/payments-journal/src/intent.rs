use std::borrow::Cow;
use std::time::SystemTime;

use payments_core::OperationName;
use payments_model::TransactionId;
use serde::{Deserialize, Serialize};

use crate::ids::deserialize_kept_key;
use crate::row::milliseconds;
use crate::{AttemptId, IntentKey, IntentRequest, OwnerId};

/// One row of the journal: an intent to move money, and its state.
///
/// Stores keep it as a serde document, with times in milliseconds since 1970 UTC. A document with an unknown member is not
/// read, because a change that drops or copies the member could be wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Intent {
    /// The caller's name for the intent.
    #[serde(deserialize_with = "deserialize_kept_key")]
    pub key: IntentKey,
    /// The request.
    pub request: IntentRequest,
    /// The state of the newest attempt.
    pub state: IntentState,
    /// The newest attempt.
    pub attempt: AttemptId,
    /// The owner of that attempt.
    pub owner: OwnerId,
    /// The rejection that the newest attempt follows, until its end is known. If that attempt was not processed, the key is
    /// rejected again, so that no plain call sends it.
    pub follows: Option<Failure>,
    /// The number of attempts. All but the last provably moved nothing or were rejected, or a person has said so.
    pub attempts: u32,
    /// When the intent was first written.
    #[serde(with = "milliseconds")]
    pub created_at: SystemTime,
    /// When the newest attempt was written, just before it was sent: the time to look for in the service's records.
    #[serde(with = "milliseconds")]
    pub begun_at: SystemTime,
    /// When the row last changed.
    #[serde(with = "milliseconds")]
    pub changed_at: SystemTime,
    /// Counts the changes of the row, from 1.
    pub revision: u64,
}

/// The state of an intent.
///
/// ```text
///            ┌────────────────────────────────┐
///            ▼                                │
/// (new) ─► Sending ─► NotProcessed ───────────┤
///            ├─────► Processed                │
///            ├─────► Rejected ─(a person)─► NotProcessed   (or Sending: a new attempt that the caller asks for)
///            └─────► Unknown ─(a person)──► Resolved, as processed or as not processed
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum IntentState {
    /// Written before the request was passed to the transport. The outcome is not known yet.
    Sending,
    /// The service reports it as processed. Never sent again.
    Processed {
        /// The transaction.
        transaction_id: TransactionId,
    },
    /// The service or something in front of it said no. Never sent again, unless a person [reopens](crate::Journal::reopen) it
    /// or the caller explicitly asks for a [new attempt](crate::JournaledClient::after_rejection).
    Rejected(Failure),
    /// Provably never acted upon. The same key may be sent again.
    NotProcessed(Failure),
    /// It may have been processed. Never sent again, unless a person [resolves](crate::Journal::resolve) it.
    Unknown(Failure),
    /// It was unknown, and a person has resolved it. Sent again only if the person says that it was not processed.
    Resolved {
        /// What the person found out.
        resolution: Resolution,
        /// The failure before the resolution.
        before: Failure,
    },
}

impl Intent {
    /// Whether the outcome is open, so money can have moved: the intent is being sent, or its outcome is unknown.
    pub fn is_unresolved(&self) -> bool {
        matches!(self.state, IntentState::Sending | IntentState::Unknown(_))
    }

    /// Whether it is a void and not a payment. A void and the payment that it undoes may be
    /// [processed as](Self::processed_as) the same transaction; two payments may not, nor two voids.
    pub fn is_void(&self) -> bool {
        self.request.operation == OperationName::Void
    }

    /// The transaction, if one is known: from the response, or from a person.
    pub fn transaction_id(&self) -> Option<&TransactionId> {
        match &self.state {
            IntentState::Rejected(failure)
            | IntentState::NotProcessed(failure)
            | IntentState::Unknown(failure) => failure.transaction_id.as_ref(),
            IntentState::Resolved { before, .. } => self.processed_as().or(before.transaction_id.as_ref()),
            _ => self.processed_as(),
        }
    }

    /// The transaction that it was processed as, as the service or a person reported.
    pub fn processed_as(&self) -> Option<&TransactionId> {
        match &self.state {
            IntentState::Processed { transaction_id } => Some(transaction_id),
            IntentState::Resolved { resolution, .. } => resolution.processed_as(),
            _ => None,
        }
    }

    /// Whether no call with this key has moved money: the service said no, no request reached it, or a person says so.
    pub(crate) fn moved_nothing(&self) -> bool {
        matches!(self.state, IntentState::Rejected(_)) || self.may_be_sent()
    }

    /// Whether the same request may be sent again with this key, because it cannot have been acted upon.
    pub(crate) fn may_be_sent(&self) -> bool {
        matches!(self.state, IntentState::NotProcessed(_) | IntentState::Resolved { .. })
            && self.processed_as().is_none()
    }
}

/// The name of a state, for lists and for stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StateName {
    /// [`IntentState::Sending`]
    Sending,
    /// [`IntentState::Processed`]
    Processed,
    /// [`IntentState::Rejected`]
    Rejected,
    /// [`IntentState::NotProcessed`]
    NotProcessed,
    /// [`IntentState::Unknown`]
    Unknown,
    /// [`IntentState::Resolved`]
    Resolved,
}

impl StateName {
    /// Every state.
    pub const ALL: &'static [Self] =
        &[Self::Sending, Self::Processed, Self::Rejected, Self::NotProcessed, Self::Unknown, Self::Resolved];

    /// The states whose outcome is open, so money can have moved.
    pub const UNRESOLVED: &'static [Self] = &[Self::Sending, Self::Unknown];

    /// The name in lower case with underscores, such as `not_processed`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sending => "sending",
            Self::Processed => "processed",
            Self::Rejected => "rejected",
            Self::NotProcessed => "not_processed",
            Self::Unknown => "unknown",
            Self::Resolved => "resolved",
        }
    }

    /// The state with this [name](Self::as_str).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|state| state.as_str() == name)
    }
}

impl IntentState {
    /// The name of the state.
    pub const fn name(&self) -> StateName {
        match self {
            Self::Sending => StateName::Sending,
            Self::Processed { .. } => StateName::Processed,
            Self::Rejected(_) => StateName::Rejected,
            Self::NotProcessed(_) => StateName::NotProcessed,
            Self::Unknown(_) => StateName::Unknown,
            Self::Resolved { .. } => StateName::Resolved,
        }
    }
}

/// What the journal stores about an attempt that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Failure {
    /// One word: [`payments_core::Error::code`], such as `timeout` or `rejected`, or one of the journal's own:
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
    /// The process that was sending died before it could record the outcome.
    pub const CRASH: &'static str = "crash";
    /// The transport panicked.
    pub const PANIC: &'static str = "panic";
    /// The caller left before the request was sent, so it was not sent.
    pub const ABANDONED: &'static str = "abandoned";
    /// The journal could not confirm that the intent was written, so nothing was sent.
    pub const WITHDRAWN: &'static str = "withdrawn";
    /// The runtime ended while it was being sent.
    pub const LOST: &'static str = "lost";
    /// A person allowed a rejected intent to be sent again.
    pub const REOPENED: &'static str = "reopened";

    /// A failure of which only the kind is known.
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

/// What a person found out about an intent of unknown outcome.
///
/// ```
/// use payments_journal::Resolution;
///
/// let resolution = Resolution::not_processed("ada").note("not in the settlement report of 21 November");
/// assert_eq!(resolution.by, "ada");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[must_use = "nothing is resolved before it is passed to the journal"]
pub struct Resolution {
    /// What happened to the money.
    pub verdict: Verdict,
    /// The person who says so.
    pub by: String,
    /// How this person knows.
    pub note: Option<String>,
}

/// What happened to the money, as reported by a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::exhaustive_enums, reason = "complete: the money moved or it did not")]
pub enum Verdict {
    /// It was processed, as this transaction. The key is never sent again.
    Processed(TransactionId),
    /// It was not processed. **The key may be sent again**: if the person is wrong, somebody is charged twice.
    NotProcessed,
}

impl Resolution {
    /// It was processed, as this transaction.
    pub fn processed(transaction_id: TransactionId, by: impl Into<String>) -> Self {
        Self { verdict: Verdict::Processed(transaction_id), by: by.into(), note: None }
    }

    /// It was not processed, and may be sent again.
    pub fn not_processed(by: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotProcessed, by: by.into(), note: None }
    }

    pub(crate) const fn processed_as(&self) -> Option<&TransactionId> {
        match &self.verdict {
            Verdict::Processed(id) => Some(id),
            Verdict::NotProcessed => None,
        }
    }

    /// Adds how the person knows.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.note = Some(text.into());
        self
    }
}
