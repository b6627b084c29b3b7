use super::members::from_json;
use super::{AchTransaction, CardTransaction, RequestMembers, SuggestedMode};
use crate::{SecretBytes, ValidationError};

/// A request to `POST /transaction`, for callers that do not know in advance whether a document is a card or an ACH payment.
///
/// The enum is complete: a request is ACH if its `SuggestedMode` is `ACH` in any case, and a card transaction otherwise.
#[expect(clippy::exhaustive_enums, reason = "complete: a request is ACH or not")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionRequest {
    /// A card transaction.
    Card(CardTransaction),
    /// An ACH transaction.
    Ach(AchTransaction),
}

impl TransactionRequest {
    from_json! {
        /// See [`CardTransaction::from_json`] and [`AchTransaction::from_json`].
    }

    #[doc(hidden)]
    pub fn from_members(members: &RequestMembers<'_>) -> Result<Self, ValidationError> {
        if Self::is_ach(members) {
            AchTransaction::from_members(members).map(Self::Ach)
        } else {
            CardTransaction::from_members(members).map(Self::Card)
        }
    }

    /// Whether these are the members of an ACH payment.
    #[doc(hidden)]
    pub fn is_ach(members: &RequestMembers<'_>) -> bool {
        members.any_text("SuggestedMode", |mode| mode.eq_ignore_ascii_case(SuggestedMode::ACH))
    }

    /// The request as JSON, with its secrets: see [`CardTransaction::to_json`].
    pub fn to_json(&self) -> SecretBytes {
        match self {
            Self::Card(request) => request.to_json(),
            Self::Ach(request) => request.to_json(),
        }
    }
}
