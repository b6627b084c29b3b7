//! The choices in a payment request: transaction type, payment mode and convenience fee.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::check_not_blank;
use crate::violation::Rule;

/// Whether a payment request charges the payer or only reserves the amount.
///
/// Every payment builder requires it. It has no default, because the interface does not document what the service does when
/// the field is absent.
///
/// The enum is complete: the interface names two values, and the field may be absent.
///
/// Its serde form is `sale`, `auth` or `gateway_default`. In a request it is sent as documented at each value.
#[expect(
    clippy::exhaustive_enums,
    reason = "complete: the interface names two values, and the field may be absent"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransactionType {
    /// Charge the payer. Sent as `"1"`.
    Sale,
    /// Reserve the amount without charging it. Sent as `"2"`. The interface has no operation to capture it later. It can only
    /// be voided.
    Auth,
    /// Let the service choose: no `TransactionType` is sent. What the service then does is not documented. It may charge.
    GatewayDefault,
}

impl TransactionType {
    /// The text that is sent. `None` if the field is not sent.
    pub(crate) const fn wire(self) -> Option<&'static str> {
        match self {
            Self::Sale => Some("1"),
            Self::Auth => Some("2"),
            Self::GatewayDefault => None,
        }
    }
}

/// The payment mode of a valid request.
///
/// The interface does not document the allowed values, so any text that is not blank is possible. This SDK infers `Card` and
/// `ACH` from the interface's words "card or ACH".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SuggestedMode(String);

impl SuggestedMode {
    /// The mode of a card payment, inferred.
    pub const CARD: &'static str = "Card";
    /// The mode of an ACH payment, inferred.
    pub const ACH: &'static str = "ACH";

    /// Whether the mode is `ACH`, ignoring case. Every other mode is a card payment.
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
/// The enum is complete: in a request it is a boolean. Its serde form is `active` or `inactive`.
#[expect(clippy::exhaustive_enums, reason = "complete: a boolean in the request")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConvenienceFee {
    /// A fee applies. The interface does not document its amount.
    Active,
    /// No fee applies.
    Inactive,
}

impl ConvenienceFee {
    pub(crate) const fn is_active(self) -> bool {
        matches!(self, Self::Active)
    }
}
