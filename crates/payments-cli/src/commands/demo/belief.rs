//! What a client believes after a call.

use payments_model::TransactionId;

use crate::call_error::CallError;
use crate::failure::FailedOutcome;
use crate::next_step;

/// What the client's answer says about one call. Made from the SDK's answer alone, never from the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Belief {
    /// The payment was processed under this id.
    Paid(TransactionId),
    /// This transaction was voided.
    Voided(TransactionId),
    /// The record was found.
    Found {
        /// Some of what it says, for people.
        shows: String,
        /// Whether it says what the sandbox has on record.
        is_true: bool,
    },
    /// Answered no.
    Rejected {
        http_status: Option<u16>,
        reason: String,
        /// A declined payment has an id all the same.
        transaction_id: Option<TransactionId>,
    },
    /// Nothing happened.
    NotProcessed(String),
    /// Nobody can know.
    Unknown { why: String, to_look_up: Option<TransactionId>, search_by: &'static str },
}

impl Belief {
    pub(super) fn of_error(error: &impl CallError) -> Self {
        match error.failed_outcome() {
            FailedOutcome::Invalid | FailedOutcome::NotProcessed => Self::NotProcessed(error.to_string()),
            FailedOutcome::Rejected => Self::Rejected {
                http_status: error.http_status().map(|status| status.as_u16()),
                reason: error.reason().unwrap_or("no reason given").to_owned(),
                transaction_id: error.transaction_id().cloned(),
            },
            FailedOutcome::Unknown => Self::Unknown {
                why: match error.transport_error() {
                    Some(error) => error.kind().description().to_owned(),
                    None => error.to_string(),
                },
                to_look_up: next_step::to_look_up(error),
                search_by: error.search_by().unwrap_or("time"),
            },
        }
    }

    /// The outcome in the words of the exit codes.
    pub(super) const fn outcome(&self) -> &'static str {
        match self {
            Self::Paid(_) | Self::Voided(_) => "processed",
            Self::Found { .. } => "found",
            Self::Rejected { .. } => "rejected",
            Self::NotProcessed(_) => "not processed",
            Self::Unknown { .. } => "UNKNOWN",
        }
    }

    /// What is known beside the outcome.
    pub(super) fn details(&self) -> String {
        match self {
            Self::Paid(id) | Self::Voided(id) => id.to_string(),
            Self::Found { shows, .. } => shows.clone(),
            Self::Rejected { http_status, reason, transaction_id } => {
                let status = http_status.map(|status| format!("HTTP {status}: ")).unwrap_or_default();
                let id = transaction_id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
                format!("{status}{reason}{id}")
            }
            Self::NotProcessed(why) | Self::Unknown { why, .. } => why.clone(),
        }
    }
}
