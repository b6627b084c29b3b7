//! One intent: what is paid under a key, and how its newest attempt ended.

use std::borrow::Cow;
use std::fmt;
use std::mem::discriminant;
use std::ops::Not;
use std::time::SystemTime;

use payments_core::{ErrorKind, FailedCall, OperationName, RefusedBy};
use payments_model::TransactionId;
use serde::{Deserialize, Serialize};

use crate::ids::deserialize_kept_key;
use crate::milliseconds;
use crate::{AttemptId, HistoryEvent, IntentKey, IntentRequest, OwnerId, Subject};

/// One row of the journal: an intent to move money, and its state.
///
/// Stores keep it as a serde document, with times in milliseconds since 1970 UTC. A document with an unknown member is not
/// read, because a change that drops or copies the member could be wrong. The form of this document belongs to the version of the
/// journal and is brought forward with it: for an export of your own, write what you need from the members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Intent {
    /// The caller's name for the intent.
    #[serde(deserialize_with = "deserialize_kept_key")]
    pub key: IntentKey,
    /// The [service](payments_core::Client::service) for which the key was first used. The intent belongs to it: nothing in this
    /// row says anything about another service. `None` if the entry was [lost](Subject::Lost).
    #[serde(with = "stored_service")]
    pub service: Option<String>,
    /// The request of the newest attempt, or of the one that the key was found processed as if the [history](Self::history) still
    /// has it.
    pub request: IntentRequest,
    /// The state of the newest attempt. If that one moved no money and an earlier one was found processed:
    /// [`Resolved`](IntentState::Resolved), as that one.
    pub state: IntentState,
    /// The newest attempt.
    #[doc(hidden)]
    #[serde(rename = "attempt")]
    pub attempt_id: AttemptId,
    /// The owner of that attempt.
    #[doc(hidden)]
    pub owner: OwnerId,
    /// The rejection that the newest attempt follows, until its end is known. If that attempt was not processed, the key is
    /// rejected again, so that no plain call sends it.
    #[doc(hidden)]
    pub follows: Option<Failure>,
    /// The number of attempts, and so the number of the newest one. When the newest began, all others had provably moved nothing or
    /// were rejected, or a person had said so. What was found out since is in the [history](Self::history): see
    /// [`second_charges`](Self::second_charges).
    pub attempts: u32,
    /// When the intent was first written.
    #[serde(with = "milliseconds")]
    pub created_at: SystemTime,
    /// When the attempt of [`request`](Self::request) was written, just before it was sent: the time to look for in the
    /// service's records.
    #[serde(with = "milliseconds")]
    pub begun_at: SystemTime,
    /// When the row last changed.
    #[serde(with = "milliseconds")]
    pub changed_at: SystemTime,
    /// Counts the changes of the row, from 1. Marking the attempt of a dead owner as a crash does not count: a person who read
    /// the row before may still resolve it.
    pub revision: u64,
    /// Its [history](Self::history) as it is stored: empty if nothing has happened but its only attempt, because the other members
    /// say how that one began and ended.
    #[doc(hidden)]
    #[serde(rename = "history", default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<HistoryEvent>,
    /// How many older events its history no longer has.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped_events: u32,
}

/// What a person has said, or the service about an [earlier attempt](Resolution::is_reported), as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RecordedResolution {
    /// When.
    #[serde(with = "milliseconds")]
    pub at: SystemTime,
    /// The attempt that it is about.
    pub attempt: u32,
    /// What the person said.
    pub resolution: Resolution,
    /// The failure of the newest attempt before this, if it had one.
    pub before: Option<Failure>,
}

/// The state of an intent.
///
/// ```text
///            ┌────────────────────────────────┐
///            ▼                                │
/// (new) ─► Sending ─► NotProcessed ───────────┤
///            ├─────► Processed                │
///            ├─────► Rejected ─(a person)─► NotProcessed   (or Sending: a new attempt that the caller asks for)
///            └─────► Unknown ─(a person)──► Resolved, as processed or as not processed, or Rejected
/// ```
///
/// A person who finds the transaction resolves a rejected or not processed intent as processed too.
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
    /// The service or something in front of it said no, or a person has found out that it did (kind
    /// [`resolved`](FailureKind::RESOLVED)). Never sent again, unless a person [reopens](crate::Journal::reopen) it or the caller
    /// explicitly asks for a [new attempt](crate::JournaledClient::after_rejection).
    Rejected(Failure),
    /// Provably never acted upon. The same key may be sent again.
    NotProcessed(Failure),
    /// It may have been processed. Never sent again, unless a person [resolves](crate::Journal::resolve) it.
    Unknown(Failure),
    /// A person has found out that it was processed, or that an unknown one was not. Sent again only if it was not.
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

    /// Whether it belongs to this service, or may: of a key whose entry was [lost](Subject::Lost) the service is not known.
    pub fn is_of(&self, service: &str) -> bool {
        self.service.as_ref().is_none_or(|own| own == service)
    }

    /// Whether the ids of its transactions and of those of this service are of one kind: they have one base URL, whatever the labels
    /// of their merchants.
    #[doc(hidden)]
    pub fn is_at_base_url_of(&self, service: &str) -> bool {
        self.service.as_ref().is_none_or(|own| base_url(own) == base_url(service))
    }

    /// Whether it says what became of a call for this service. As long as the service of a [lost](Subject::Lost) key is not known,
    /// it does so only until a person has said that it was processed or rejected: that may be true of another service.
    pub fn answers(&self, service: &str) -> bool {
        self.is_of(service) && (self.service.is_some() || self.is_unresolved() || self.may_be_sent())
    }

    /// Whether it is a void and not a payment; of a [lost](Subject::Lost) one, as a person has
    /// [said](Resolution::of_a_void). A void and the payment that it undoes may be
    /// [processed as](Self::processed_as) the same transaction; two payments may not, nor two voids.
    pub fn is_void(&self) -> bool {
        self.request.operation() == Some(OperationName::Void)
    }

    /// The transaction, if one is known: from the response, or from a person.
    pub fn transaction_id(&self) -> Option<&TransactionId> {
        let failure = match &self.state {
            IntentState::Resolved { before, .. } => Some(before),
            state => state.failure(),
        };
        self.processed_as().or_else(|| failure?.transaction_id.as_ref())
    }

    /// The transaction that it was processed as, as the service or a person reported. If several attempts were, the others are
    /// [possible second charges](Self::second_charges).
    pub fn processed_as(&self) -> Option<&TransactionId> {
        match &self.state {
            IntentState::Processed { transaction_id } => Some(transaction_id),
            IntentState::Resolved { resolution, .. } => resolution.verdict.processed_as(),
            _ => None,
        }
    }

    /// The names of what makes `request` another payment than this intent, as in [`IntentRequest::differences`]. With none of
    /// them, a plain call treats it as the same request.
    ///
    /// A key that a person has [reopened](crate::Journal::reopen) takes its request again, once, or a corrected one: its token or
    /// card may differ. The reference must be the same except for white space, because it shows that it is the same payment.
    /// Where neither has a reference, only a key that the person has [named](crate::Journal::reopen_by_name) takes another
    /// token or card.
    pub fn differences(&self, request: &IntentRequest) -> Vec<&'static str> {
        if self.request.subject == Subject::Lost {
            // Only that it was a void may be known.
            let known = self.request.operation();
            let is_another = known.is_some_and(|known| Some(known) != request.operation());
            return if is_another { vec!["operation"] } else { Vec::new() };
        }
        let mut differences = self.request.differences(request);
        let is_corrigible = |name: &&str| matches!(*name, "card" | "token");
        let reopened = match &self.state {
            IntentState::NotProcessed(failure) if failure.kind == FailureKind::REOPENED => Some(false),
            IntentState::NotProcessed(failure) if failure.kind == FailureKind::REOPENED_BY_NAME => Some(true),
            _ => None,
        };
        let is_same_kind = discriminant(&self.request.subject) == discriminant(&request.subject);
        let Some(is_named) = reopened.filter(|_| is_same_kind) else { return differences };
        match [&self.request, request].map(IntentRequest::reference_without_white_space) {
            [None, None] if !is_named => {}
            [recorded, corrected] if recorded == corrected => {
                differences.retain(|name| !is_corrigible(name));
            }
            _ => differences.push("reference"),
        }
        differences
    }

    /// Whether no call with this key has moved money: the service said no, no request reached it, or a person says so. Otherwise it
    /// is processed, being sent or unknown.
    pub fn moved_nothing(&self) -> bool {
        self.may_be_sent() || (matches!(self.state, IntentState::Rejected(_)) && !self.is_found_processed())
    }

    /// Its service as it is stored.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn stored_service(&self) -> &str {
        self.service.as_deref().unwrap_or_default()
    }

    /// Whether the same request may be sent again with this key, because it cannot have been acted upon.
    pub(crate) fn may_be_sent(&self) -> bool {
        matches!(self.state, IntentState::NotProcessed(_) | IntentState::Resolved { .. })
            && self.processed_as().is_none()
            && !self.is_found_processed()
    }
}

/// The base URL of a service, without the label of a merchant.
pub(crate) fn base_url(service: &str) -> &str {
    service.split_once('#').map_or(service, |(base_url, _)| base_url)
}

/// A service that is not known is stored as an empty text.
mod stored_service {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    #[expect(clippy::ref_option, reason = "serde passes a reference")]
    pub(super) fn serialize<S: Serializer>(
        service: &Option<String>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        service.as_deref().unwrap_or_default().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<String>, D::Error> {
        Ok(Some(String::deserialize(deserializer)?).filter(|service| !service.is_empty()))
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
    /// Why it was rejected, not processed or unknown.
    pub(crate) const fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Rejected(failure) | Self::NotProcessed(failure) | Self::Unknown(failure) => Some(failure),
            Self::Sending | Self::Processed { .. } | Self::Resolved { .. } => None,
        }
    }

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
    /// Why.
    pub kind: FailureKind,
    /// The HTTP status of the response, if there was one.
    pub http_status: Option<u16>,
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
    /// 401, 403 and 429) or the address (405, and 404 unless a void names a transaction that the service does not know), or something
    /// between here and the service said it. No other card helps there: once the cause is fixed, a person may
    /// [allow](crate::Journal::reopen) the request to be sent again.
    pub fn is_about_the_payment(&self, operation: Option<OperationName>) -> bool {
        ["rejected", "not_found", FailureKind::RESOLVED.as_str()].contains(&self.kind.as_str())
            && payments_core::Error::is_about_the_payment(self.http_status, operation)
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

    /// A failure of which only the kind is known, for the tests of this repository. Not part of the API.
    #[doc(hidden)]
    pub fn of_kind(kind: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: FailureKind(kind.into()), http_status: None, reason: None, transaction_id: None }
    }
}

impl From<&payments_core::Error> for Failure {
    fn from(error: &payments_core::Error) -> Self {
        Self {
            kind: FailureKind(Self::kind_of(error.failed_call()).into()),
            http_status: error.http_status().map(|status| status.as_u16()),
            reason: error.reason().map(str::to_owned),
            transaction_id: error.transaction_id().cloned(),
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

/// What a person found out about one attempt of an intent.
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
    /// The number of the attempt; `None` for the newest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The transaction was not looked up: only this person's word stands for it.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_unverified: bool,
    /// No person says so: the service's own response to an earlier attempt arrived after a person had decided about that attempt
    /// and another one had begun. It is final.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_reported: bool,
    /// The entry was lost, and it was a void. The [request](Intent::request) of the intent keeps that.
    #[serde(skip)]
    pub(crate) is_void: bool,
}

/// What happened to the money, as reported by a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::exhaustive_enums, reason = "complete: the three outcomes of a payment whose end is known")]
pub enum Verdict {
    /// It was processed, as this transaction. The key is never sent again.
    Processed(TransactionId),
    /// It was declined, or failed at the service, as this transaction if one is known. No money moved. A plain call never sends
    /// the key again; the caller may ask for a [new attempt](crate::JournaledClient::after_rejection).
    Rejected(Option<TransactionId>),
    /// It was not processed. **The key may be sent again**: if the person is wrong, somebody is charged twice.
    NotProcessed,
}

impl Verdict {
    /// The word in documents: `processed`, `rejected` or `not_processed`.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Processed(_) => "processed",
            Self::Rejected(_) => "rejected",
            Self::NotProcessed => "not_processed",
        }
    }

    /// The transaction that it was processed as.
    #[must_use]
    pub const fn processed_as(&self) -> Option<&TransactionId> {
        match self {
            Self::Processed(id) => Some(id),
            Self::Rejected(_) | Self::NotProcessed => None,
        }
    }

    /// The transaction that it names.
    #[must_use]
    pub const fn transaction_id(&self) -> Option<&TransactionId> {
        match self {
            Self::Processed(id) | Self::Rejected(Some(id)) => Some(id),
            Self::Rejected(None) | Self::NotProcessed => None,
        }
    }
}

impl Resolution {
    /// The longest note and the longest name of a person, in bytes.
    pub const MAX_TEXT_BYTES: usize = 4096;

    /// It was processed, as this transaction.
    pub fn processed(transaction_id: TransactionId, by: impl Into<String>) -> Self {
        Self::new(Verdict::Processed(transaction_id), by)
    }

    /// It was declined, or failed at the service. It is not sent again by a plain call.
    pub fn rejected(transaction_id: impl Into<Option<TransactionId>>, by: impl Into<String>) -> Self {
        Self::new(Verdict::Rejected(transaction_id.into()), by)
    }

    /// It was not processed, and may be sent again.
    pub fn not_processed(by: impl Into<String>) -> Self {
        Self::new(Verdict::NotProcessed, by)
    }

    /// The service has reported that it was processed.
    pub(crate) fn reported(transaction_id: TransactionId) -> Self {
        Self { is_reported: true, ..Self::processed(transaction_id, "the service") }
    }

    fn new(verdict: Verdict, by: impl Into<String>) -> Self {
        Self {
            verdict,
            by: by.into(),
            note: None,
            attempt: None,
            is_unverified: false,
            is_reported: false,
            is_void: false,
        }
    }

    /// Adds how the person knows.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.note = Some(text.into());
        self
    }

    /// It is about the attempt with this number, and not about the newest one. Only [`processed`](Self::processed) is accepted
    /// for an earlier attempt.
    pub const fn of_attempt(mut self, number: u32) -> Self {
        self.attempt = Some(number);
        self
    }

    /// The journal has [lost](Subject::Lost) what this key was, and it was a void, as this person knows. Its transaction may then
    /// be that of the payment, and must not be that of another void. Without this the key counts as a payment, whose transaction
    /// must not be that of another payment. Of a key that is not lost the journal knows what it is, and this says nothing.
    pub const fn of_a_void(mut self) -> Self {
        self.is_void = true;
        self
    }

    /// The transaction was not looked up, for example because the service refuses to look it up.
    pub const fn unverified(mut self) -> Self {
        self.is_unverified = true;
        self
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(value: &u32) -> bool {
    *value == 0
}
