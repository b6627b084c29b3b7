//! One intent: what is paid under a key, and how its newest attempt ended.

use std::mem::discriminant;
use std::time::SystemTime;

use payments_core::{NextStep, OperationName};
use payments_model::TransactionId;
use serde::{Deserialize, Serialize};

use crate::ids::deserialize_kept_key;
use crate::milliseconds;
use crate::{
    AttemptId, Failure, FailureKind, HistoryEvent, IntentKey, IntentRequest, OwnerId, Resolution, Subject,
};

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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The request of the newest attempt, or of the one that the key was found processed as if the [history](Self::history) still
    /// has it.
    pub request: IntentRequest,
    /// The state of the newest attempt. If that one moved no money and an earlier one was found processed:
    /// [`Resolved`](IntentState::Resolved), as that one.
    pub state: IntentState,
    /// The newest attempt.
    pub attempt_id: AttemptId,
    /// The owner of that attempt.
    pub owner: OwnerId,
    /// The rejection that the newest attempt follows, until its end is known. If that attempt was not processed, the key is
    /// rejected again, so that no plain call sends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Failure>,
    /// The number of attempts, and so the number of the newest one. When the newest began, all others had provably moved nothing or
    /// were rejected, or a person had said so. Later findings are in the [history](Self::history): see
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
    /// the row before may still resolve it. Nor does [`lost_since`](Self::lost_since).
    pub revision: u64,
    /// Its [history](Self::history) as it is stored: empty if nothing has happened but its only attempt, because the other members
    /// say how that one began and ended.
    #[serde(rename = "history", default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<HistoryEvent>,
    /// How many older events its history no longer has.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped_events: u32,
    /// Since when the journal may lack later attempts of a rejected key: a person has
    /// [accepted](crate::Journal::accept_history) that entries are lost. What would allow another attempt makes it unknown.
    #[serde(
        default,
        serialize_with = "milliseconds::serialize_some",
        deserialize_with = "milliseconds::deserialize_some",
        skip_serializing_if = "Option::is_none"
    )]
    pub lost_since: Option<SystemTime>,
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
    pub(crate) fn is_at_base_url_of(&self, service: &str) -> bool {
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

    /// What a person does to find out what became of it.
    pub fn next_step(&self) -> NextStep {
        NextStep::new(self.to_look_up(), self.request.search_by())
    }

    /// The [transaction](Self::transaction_id), but after a void of unknown outcome the one to be voided: its record shows whether it
    /// was.
    pub(crate) fn to_look_up(&self) -> Option<&TransactionId> {
        match (&self.state, &self.request.subject) {
            (IntentState::Unknown(_), Subject::Transaction(to_be_voided)) => Some(to_be_voided),
            _ => self.transaction_id(),
        }
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

    /// Whether only an explicit call or a person sends it again.
    pub(crate) fn is_rejected(&self) -> bool {
        match &self.state {
            IntentState::Rejected(_) => true,
            IntentState::NotProcessed(failure) => failure.is_reopened(),
            _ => false,
        }
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(value: &u32) -> bool {
    *value == 0
}
