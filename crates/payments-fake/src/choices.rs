use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use payments_model::{Amount, TransactionType, UnknownFields};
use thiserror::Error;

/// What the fake does where the interface says *not shown*. This is the whole list.
///
/// Every row is a choice of this SDK and nothing that the service promises; a program that only works with the
/// defaults relies on something that nobody told it.
///
/// | the interface does not show | the fake's default | changed by |
/// |---|---|---|
/// | how a decline looks | HTTP 200, `status` `failed`, `status_code` 200, `message`, the record | [`decline_shape`](Self::decline_shape) |
/// | the reasons of a decline | the words of the [test values](crate::test_values) | the card or the token |
/// | what becomes of a card outside the test values | approved | [`unlisted_cards`](Self::unlisted_cards) |
/// | the default of `TransactionType` when omitted | sale | [`omitted_transaction_type`](Self::omitted_transaction_type) |
/// | whether a token payment is a sale or an authorisation | sale | [`token_transaction_type`](Self::token_transaction_type) |
/// | how `BaseAmount` relates to `Amount` | `BaseAmount` is the request's Amount; `Amount` adds the fee if `ConvenienceFeeActive` | – |
/// | how large the convenience fee is | nothing | [`convenience_fee`](Self::convenience_fee) |
/// | the `Status` codes | `1` sale, `2` authorised, `3` voided, `4` declined | [`status_codes`](Self::status_codes) |
/// | the numbers of countries | a number up to 4294967295 is its own; any other text has one of 1 to 999 that is always the same | – |
/// | the TransactionId that a void answers | the voided one's | [`void_answer`](Self::void_answer) |
/// | whether a token is returned after `PaymentTokenization` | no: the test asks [`FakeGateway::tokens`](crate::FakeGateway::tokens) | [`token_field`](Self::token_field) |
/// | which payments make a token | approved card payments; an ACH payment makes none | – |
/// | who owns a token made from a card | the seeded customer `gc_1` | – |
/// | a `GatewayCustomerId` that does not own the token | HTTP 400, invalid token | – |
/// | the card number in the record of an ACH payment | absent | – |
/// | omitted billing texts in the record | `""`; `BillingState` is `null` | – |
/// | the record after a void | the same with the voided `Status`; it can still be looked up, and so can a declined one | – |
/// | voiding a sale, a declined payment, or twice | HTTP 400, invalid transaction id | – |
/// | values of `SuggestedMode` | `ACH` in any case is ACH, anything else a card | – |
/// | the fields of an ACH account | any fields, and every account is good | – |
/// | a past `ExpiryDate` | accepted: the card number alone decides | – |
/// | required fields of token payments and voids | as this SDK requires them | – |
/// | a field that the interface does not have | HTTP 400 | [`unknown_fields`](Self::unknown_fields) |
/// | no `Authorization` header | as for a wrong key: HTTP 401 | – |
/// | unknown path, wrong method, wrong or no content type, body over 64 KiB | 404, 405, 415, 413 with the error body | – |
/// | a request id | every answer of the fake has a header `x-request-id` | – |
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Choices {
    /// How a decline looks.
    pub decline_shape: DeclineShape,
    /// What becomes of a valid card number that is no test value.
    pub unlisted_cards: UnlistedCards,
    /// What a payment is that says neither sale nor authorisation. `GatewayDefault` here means a sale.
    pub omitted_transaction_type: TransactionType,
    /// What a token payment is. `GatewayDefault` here means a sale.
    pub token_transaction_type: TransactionType,
    /// What is added to the amount of a payment with an active convenience fee.
    pub convenience_fee: Option<Amount>,
    /// The `Status` codes of records.
    pub status_codes: StatusCodes,
    /// Which `TransactionId` a void answers.
    pub void_answer: VoidAnswer,
    /// What becomes of fields that the interface does not have.
    pub unknown_fields: UnknownFields,
    /// The name of a further field of the record that gives the new token's id after a payment with
    /// `PaymentTokenization`; with `None` the answer says nothing of the token.
    pub token_field: Option<Cow<'static, str>>,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            decline_shape: DeclineShape::default(),
            unlisted_cards: UnlistedCards::Approved,
            omitted_transaction_type: TransactionType::Sale,
            token_transaction_type: TransactionType::Sale,
            convenience_fee: None,
            status_codes: StatusCodes::default(),
            void_answer: VoidAnswer::SameTransactionId,
            unknown_fields: UnknownFields::Refused,
            token_field: None,
        }
    }
}

/// What becomes of a valid card number that is no test value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnlistedCards {
    /// It is approved.
    Approved,
    /// It is declined, so that a test that uses a number of its own notices.
    Declined,
    /// It is refused with HTTP 400, so that whoever types a real card in is told at once.
    Refused,
}

/// Which `TransactionId` a void answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VoidAnswer {
    /// The voided transaction's own.
    SameTransactionId,
    /// A new one, under which the void itself can be looked up.
    NewTransactionId,
}

/// The `Status` codes that the fake puts in records: numbers as text, as the interface has them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatusCodes {
    /// Of an approved sale.
    pub sale: Cow<'static, str>,
    /// Of an approved authorisation.
    pub authorised: Cow<'static, str>,
    /// Of a voided authorisation.
    pub voided: Cow<'static, str>,
    /// Of a declined payment.
    pub declined: Cow<'static, str>,
}

impl Default for StatusCodes {
    fn default() -> Self {
        Self {
            sale: Cow::Borrowed("1"),
            authorised: Cow::Borrowed("2"),
            voided: Cow::Borrowed("3"),
            declined: Cow::Borrowed("4"),
        }
    }
}

named! {
    /// How the fake says that a card or a token was declined.
    ///
    /// The interface does not show it, so a program must survive every one of these. None is what the service promises.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum DeclineShape {
        /// HTTP 200 with `status` `failed`, `status_code` 200, a `message`, and the record with its `TransactionId`.
        #[default]
        OkFailed = "ok-failed",
        /// The same with `status` `error`.
        OkError = "ok-error",
        /// HTTP 400 with the error body, `msg` `bad request error: …`.
        BadRequest = "bad-request",
        /// HTTP 402 with the error body.
        PaymentRequired = "payment-required",
    }
}

impl DeclineShape {
    /// Every shape.
    pub const ALL: [Self; 4] = [Self::OkFailed, Self::OkError, Self::BadRequest, Self::PaymentRequired];
}

impl fmt::Display for DeclineShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is none of the [names](DeclineShape::as_str).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("must be ok-failed, ok-error, bad-request or payment-required")]
#[non_exhaustive]
pub struct UnknownDeclineShape;

impl FromStr for DeclineShape {
    type Err = UnknownDeclineShape;

    fn from_str(text: &str) -> Result<Self, UnknownDeclineShape> {
        Self::ALL.into_iter().find(|shape| shape.as_str() == text).ok_or(UnknownDeclineShape)
    }
}
