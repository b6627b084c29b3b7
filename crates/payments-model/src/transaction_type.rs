use std::fmt;

use crate::check::Rule;

/// What a payment request asks for: money now, or a promise of money.
///
/// It is an argument of every payment builder and has no default, because the interface does not show what
/// the service does when the field is left out.
///
/// The enum is complete: the interface names two values, and leaving the field out is the third possibility.
#[expect(
    clippy::exhaustive_enums,
    reason = "complete: the interface names two values, and the field may be left out"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

    pub(crate) fn check(text: &str) -> Result<Self, Rule> {
        match text {
            "1" => Ok(Self::Sale),
            "2" => Ok(Self::Auth),
            _ => Err("must be 1 for a sale or 2 for an authorisation"),
        }
    }
}

/// The transaction type that a record carries: a number, open because other values than the documented two
/// may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionTypeCode(i64);

impl TransactionTypeCode {
    /// A sale.
    pub const SALE: Self = Self(1);
    /// An authorisation.
    pub const AUTH: Self = Self(2);

    /// The type with this number.
    pub const fn new(value: i64) -> Self {
        Self(value)
    }

    /// The number.
    pub const fn value(self) -> i64 {
        self.0
    }
}

impl fmt::Display for TransactionTypeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
