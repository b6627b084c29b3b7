//! The choices that a payment makes: what kind it is, by which mode, and whether a fee applies.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use crate::ValidationError;
use crate::id::check_not_blank;
use crate::violation::Rule;

/// What a payment request asks for: money now, or a promise of money.
///
/// It is an argument of every payment builder and has no default, because the interface does not show what
/// the service does when the field is left out.
///
/// The enum is complete: the interface names two values, and leaving the field out is the third possibility.
///
/// By itself it is serialized as `sale`, `auth` or `gateway_default`; a request sends what is said at each value.
#[expect(
    clippy::exhaustive_enums,
    reason = "complete: the interface names two values, and the field may be left out"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransactionType {
    /// Charge the payer. Sent as `"1"`.
    Sale,
    /// Reserve the amount without charging it. Sent as `"2"`. The interface has no operation that captures it
    /// later; it can only be voided.
    Auth,
    /// Leave the choice to the service by sending no `TransactionType` at all. What it then does is not
    /// documented: it may charge.
    GatewayDefault,
}

impl TransactionType {
    /// The text on the wire, `None` if the field is left out.
    pub(crate) const fn wire(self) -> Option<&'static str> {
        match self {
            Self::Sale => Some("1"),
            Self::Auth => Some("2"),
            Self::GatewayDefault => None,
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(crate) const fn is_left_out(&self) -> bool {
        self.wire().is_none()
    }

    pub(crate) fn check(text: &str) -> Result<Self, Rule> {
        match text {
            "1" => Ok(Self::Sale),
            "2" => Ok(Self::Auth),
            _ => Err("must be 1 for a sale or 2 for an authorisation"),
        }
    }
}

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
        check_not_blank(&text)?;
        Ok(Self(text))
    }
}

impl fmt::Display for SuggestedMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Whether a convenience fee applies to a payment, sent as `ConvenienceFeeActive`.
///
/// It has no default, because it changes the total that the payer is charged. This SDK computes no fees.
///
/// The enum is complete: on the wire it is a boolean. By itself it is serialized as `active` or `inactive`.
#[expect(clippy::exhaustive_enums, reason = "complete: a boolean on the wire")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConvenienceFee {
    /// A fee applies. How much it is, the interface does not show.
    Active,
    /// No fee applies.
    Inactive,
}

impl ConvenienceFee {
    pub(crate) const fn from_flag(active: bool) -> Self {
        if active { Self::Active } else { Self::Inactive }
    }

    pub(crate) const fn is_active(self) -> bool {
        matches!(self, Self::Active)
    }
}

/// For the wire alone.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
pub(crate) fn wire_type<S: Serializer>(kind: &TransactionType, serializer: S) -> Result<S::Ok, S::Error> {
    kind.wire().serialize(serializer)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
pub(crate) fn wire_fee<S: Serializer>(fee: &ConvenienceFee, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(fee.is_active())
}
