use crate::{
    AchTransaction, CardTransaction, RequestMembers, SecretBytes, SuggestedMode, UnknownFields,
    ValidationError,
};

/// A request to `POST /transaction` of either kind, for those who learn the kind from the document itself.
///
/// The enum is complete: a request is ACH exactly when its `SuggestedMode` is `ACH` in any case, and a card
/// transaction otherwise.
#[expect(clippy::exhaustive_enums, reason = "complete: a request is ACH or it is not")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionRequest {
    /// A card transaction.
    Card(CardTransaction),
    /// An ACH transaction.
    Ach(AchTransaction),
}

impl TransactionRequest {
    /// Reads a request out of a JSON object with the interface's field names; `SuggestedMode` decides its
    /// kind.
    ///
    /// # Errors
    ///
    /// As [`CardTransaction::from_json`] or [`AchTransaction::from_json`].
    pub fn from_json(document: &[u8]) -> Result<Self, ValidationError> {
        Self::from_json_with(document, UnknownFields::Refused)
    }

    /// The same with another rule for fields that the interface does not have. An ACH payment has none of them.
    ///
    /// # Errors
    ///
    /// As [`from_json`](Self::from_json), but for unknown fields only if they are refused.
    pub fn from_json_with(document: &[u8], unknown: UnknownFields) -> Result<Self, ValidationError> {
        Self::from_members(&RequestMembers::read(document)?, unknown)
    }

    /// The same from members that were read already.
    ///
    /// # Errors
    ///
    /// As [`from_json_with`](Self::from_json_with).
    pub fn from_members(
        members: &RequestMembers<'_>,
        unknown: UnknownFields,
    ) -> Result<Self, ValidationError> {
        let mut modes = members.as_slice().iter().filter(|(name, _)| *name == "SuggestedMode");
        let is_ach = |mode: &str| mode.eq_ignore_ascii_case(SuggestedMode::ACH);
        if modes.any(|(_, mode)| mode.text().is_some_and(|mode| is_ach(&mode))) {
            AchTransaction::from_members(members).map(Self::Ach)
        } else {
            CardTransaction::from_members(members, unknown).map(Self::Card)
        }
    }

    /// The request as JSON.
    pub fn encode(&self) -> SecretBytes {
        match self {
            Self::Card(request) => request.encode(),
            Self::Ach(request) => request.encode(),
        }
    }

    /// Every secret of this request, for scrubbing an answer that may echo it with [`scrub`](crate::scrub).
    pub fn secrets(&self) -> Vec<&str> {
        match self {
            Self::Card(request) => request.secrets(),
            Self::Ach(request) => request.secrets(),
        }
    }
}
