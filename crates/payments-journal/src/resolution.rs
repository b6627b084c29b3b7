//! What a person found out about an attempt.

use std::ops::Not;
use std::time::SystemTime;

use payments_model::TransactionId;
use serde::{Deserialize, Serialize};

use crate::{Failure, milliseconds};

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
    #[serde(rename = "number", default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The transaction was not looked up: only this person's word stands for it.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_unverified: bool,
    /// No person says so: the service's own response to an earlier attempt arrived after a person had decided about that attempt
    /// and another one had begun. It is final.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_reported: bool,
    /// The entry was lost, and it was a void. The [request](crate::Intent::request) of the intent keeps that.
    #[serde(skip)]
    pub(crate) is_void: bool,
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

    /// The journal has [lost](crate::Subject::Lost) what this key was, and it was a void, as this person knows. Its transaction may then
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

/// What a person has said, or the service about an [earlier attempt](Resolution::is_reported), as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RecordedResolution {
    /// When.
    #[serde(with = "milliseconds")]
    pub at: SystemTime,
    /// The attempt that it is about.
    #[serde(rename = "number")]
    pub attempt: u32,
    /// What the person said.
    pub resolution: Resolution,
    /// The failure of the newest attempt before this, if it had one.
    pub before: Option<Failure>,
}
