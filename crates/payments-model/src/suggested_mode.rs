use std::fmt;

use crate::ValidationError;
use crate::check::Rule;

/// The payment mode that a request asks for.
///
/// The interface does not show the allowed values, so this is an open text. `Card` and `ACH` are inferred by
/// this SDK from the interface's words "card or ACH".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SuggestedMode(String);

impl SuggestedMode {
    pub(crate) const CARD: &'static str = "Card";
    pub(crate) const ACH: &'static str = "ACH";

    /// Any mode that the service is known to take.
    ///
    /// # Errors
    ///
    /// If the text is blank.
    pub fn new(text: impl Into<String>) -> Result<Self, ValidationError> {
        Self::check(text.into()).map_err(|rule| ValidationError::one("SuggestedMode", rule))
    }

    /// `Card`, inferred.
    pub fn card() -> Self {
        Self(Self::CARD.to_owned())
    }

    /// `ACH`, inferred.
    pub fn ach() -> Self {
        Self(Self::ACH.to_owned())
    }

    /// Whether the mode is `ACH` in any case; every other mode is taken for a card payment.
    pub fn is_ach(&self) -> bool {
        self.0.eq_ignore_ascii_case(Self::ACH)
    }

    /// The text that is sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn check(text: String) -> Result<Self, Rule> {
        if text.trim().is_empty() { Err("must not be blank") } else { Ok(Self(text)) }
    }
}

impl fmt::Display for SuggestedMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
