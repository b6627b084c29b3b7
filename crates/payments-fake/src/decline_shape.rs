use std::fmt;
use std::str::FromStr;

/// How the fake says that a card or a token was declined.
///
/// The interface does not show it, so a program must survive every one of these. None is what the service promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeclineShape {
    /// HTTP 200 with `status` `failed`, `status_code` 200, a `message`, and the record with its `TransactionId`.
    #[default]
    OkFailed,
    /// The same with `status` `error`.
    OkError,
    /// HTTP 400 with the error body, `msg` `bad request error: …`.
    BadRequest,
    /// HTTP 402 with the error body.
    PaymentRequired,
}

impl DeclineShape {
    /// Every shape.
    pub const ALL: [Self; 4] = [Self::OkFailed, Self::OkError, Self::BadRequest, Self::PaymentRequired];

    /// The shape's name: `ok-failed`, `ok-error`, `bad-request` or `payment-required`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OkFailed => "ok-failed",
            Self::OkError => "ok-error",
            Self::BadRequest => "bad-request",
            Self::PaymentRequired => "payment-required",
        }
    }
}

impl fmt::Display for DeclineShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is none of the [names](DeclineShape::as_str).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownDeclineShape;

impl fmt::Display for UnknownDeclineShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be ok-failed, ok-error, bad-request or payment-required")
    }
}

impl std::error::Error for UnknownDeclineShape {}

impl FromStr for DeclineShape {
    type Err = UnknownDeclineShape;

    fn from_str(text: &str) -> Result<Self, UnknownDeclineShape> {
        Self::ALL.into_iter().find(|shape| shape.as_str() == text).ok_or(UnknownDeclineShape)
    }
}
