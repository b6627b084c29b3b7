use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use payments_model::{Amount, TransactionType, TransactionTypeCode};

use crate::EntryState;
use crate::document::{DocumentError, must_be};

/// What the fake does where the interface says *not shown*. This is the complete list.
///
/// Every row is a choice of this SDK, not a promise of the service. A program that works only with the defaults relies on
/// undocumented behavior.
///
/// | the interface does not show | the fake's default | changed by |
/// |---|---|---|
/// | how a decline looks | HTTP 200, `status` `failed`, `status_code` 200, `message`, the record | [`decline_shape`](Self::decline_shape) |
/// | the decline reasons | those of the [test values](crate::test_values) | the card or the token |
/// | whether a card outside the test values is approved | yes | [`unlisted_cards`](Self::unlisted_cards) |
/// | the default of `TransactionType` when omitted | sale | [`omitted_transaction_type`](Self::omitted_transaction_type) |
/// | whether a token payment is a sale or an authorization | sale | [`token_transaction_type`](Self::token_transaction_type) |
/// | how `BaseAmount` relates to `Amount` | `BaseAmount` is the request's Amount; `Amount` adds the fee if `ConvenienceFeeActive` | – |
/// | how large the convenience fee is | no fee | [`convenience_fee`](Self::convenience_fee) |
/// | the `Status` codes | `1` sale, `2` authorized, `3` voided, `4` declined | [`status_codes`](Self::status_codes) |
/// | the numbers of countries | a number up to 4294967295 is used unchanged; any other text is `1` | – |
/// | the `TransactionId` in the response to a void | that of the voided transaction | [`void_response`](Self::void_response) |
/// | whether a token is returned after `PaymentTokenization` | no: the test reads [`FakeGateway::tokens`](crate::FakeGateway::tokens) | [`token_field`](Self::token_field) |
/// | which payments create a token | approved card payments; ACH payments do not | – |
/// | who owns a token created from a card | the seeded customer `gc_1` | – |
/// | a `GatewayCustomerId` that does not own the token | HTTP 400, invalid token | – |
/// | the payer in the record of a token payment | the seeded customer `cus_1` | – |
/// | the card number in the record of an ACH payment | absent | – |
/// | omitted billing fields in the record | `""`; `BillingState` is `null` | – |
/// | the record after a void | the same with the voided `Status`; it can still be looked up, and so can a declined one | – |
/// | voiding a sale, a declined payment, or twice | HTTP 400, invalid transaction id | – |
/// | values of `SuggestedMode` | `ACH` in any case is ACH, anything else a card | – |
/// | the fields of an ACH account | any fields; every account is accepted except those of the [test values](crate::test_values) | – |
/// | a past `ExpiryDate` | accepted: only the card number decides | – |
/// | required fields of token payments and voids | those that this SDK requires | – |
/// | a field that the interface does not have | HTTP 400 | [`unknown_fields`](Self::unknown_fields) |
/// | no `Authorization` header, or several | HTTP 401, as for a wrong key | – |
/// | the other reasons for HTTP 400 | those of this SDK's validation; `not a test card number`; `invalid amount` if the fee makes it too large | – |
/// | which of several problems is reported | the first of: path, method, key, content type, size, fields, token or card, postal code, amount | – |
/// | a `HEAD` request | the response to the `GET`, of which a server sends the head | – |
/// | unknown path, wrong method, wrong or no content type, body over 64 KiB | 404, 405, 415, 413 with the error body | – |
/// | the form of new ids | `txn_` or `tok_` and 16 hexadecimal digits | [`seed`](crate::FakeGatewayBuilder::seed) |
/// | a request id | every response of the fake has a header `x-request-id` | – |
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Choices {
    /// How a decline looks.
    pub decline_shape: DeclineShape,
    /// What happens to a valid card number that is not a test value.
    pub unlisted_cards: UnlistedCards,
    /// The type of a payment whose request omits it: `Sale` or `Auth`.
    pub omitted_transaction_type: TransactionType,
    /// The type of a token payment: `Sale` or `Auth`.
    pub token_transaction_type: TransactionType,
    /// The fee that is added to the amount of a payment with an active convenience fee: at least zero, and written with at
    /// most two decimal places.
    pub convenience_fee: Option<Amount>,
    /// The `Status` codes of records.
    pub status_codes: StatusCodes,
    /// Which `TransactionId` the response to a void has.
    pub void_response: VoidResponse,
    /// What happens to fields that the interface does not have.
    pub unknown_fields: UnknownFields,
    /// The name of an additional field of the record with the new token's id after a payment with `PaymentTokenization`;
    /// with `None` the response does not mention the token.
    pub token_field: Option<Cow<'static, str>>,
}

/// What happens to fields of a request that the interface does not have.
///
/// The enum is complete: they are refused or ignored.
#[expect(clippy::exhaustive_enums, reason = "complete: a field is refused or ignored")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownFields {
    /// The request is refused, as the SDK refuses it before it is sent.
    Refused,
    /// They are ignored, as a less strict service would. An ACH payment has no unknown fields: every field that the
    /// interface does not name is an account field.
    Ignored,
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
            void_response: VoidResponse::SameTransactionId,
            unknown_fields: UnknownFields::Refused,
            token_field: None,
        }
    }
}

/// What happens to a valid card number that is not a test value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnlistedCards {
    /// It is approved.
    Approved,
    /// It is declined, so that a test that uses another number fails.
    Declined,
    /// It is refused with HTTP 400, so that a person who enters a real card learns of it at once.
    Refused,
}

/// Which `TransactionId` the response to a void has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VoidResponse {
    /// That of the voided transaction.
    SameTransactionId,
    /// A new one, by which the void itself can be looked up.
    NewTransactionId,
}

/// The `Status` codes that the fake puts in records: numbers as strings, as in the interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatusCodes {
    /// For an approved sale.
    pub sale: Cow<'static, str>,
    /// For an approved authorization.
    pub authorized: Cow<'static, str>,
    /// For a voided authorization.
    pub voided: Cow<'static, str>,
    /// For a declined payment.
    pub declined: Cow<'static, str>,
}

impl StatusCodes {
    /// The code of a payment.
    pub(crate) fn of(&self, state: EntryState, transaction_type: TransactionTypeCode) -> String {
        let code = match state {
            EntryState::Declined => &self.declined,
            EntryState::Voided => &self.voided,
            EntryState::Approved if transaction_type == TransactionTypeCode::AUTH => &self.authorized,
            EntryState::Approved => &self.sale,
        };
        code.clone().into_owned()
    }
}

impl Default for StatusCodes {
    fn default() -> Self {
        Self {
            sale: Cow::Borrowed("1"),
            authorized: Cow::Borrowed("2"),
            voided: Cow::Borrowed("3"),
            declined: Cow::Borrowed("4"),
        }
    }
}

named! {
    /// How the fake reports that a card or a token was declined.
    ///
    /// The interface does not show it, so a program must handle all of them. The service promises none of them.
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
    pub const ALL: &'static [Self] =
        &[Self::OkFailed, Self::OkError, Self::BadRequest, Self::PaymentRequired];
}

impl fmt::Display for DeclineShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for DeclineShape {
    type Err = DocumentError;

    fn from_str(text: &str) -> Result<Self, DocumentError> {
        let shape = Self::ALL.iter().copied().find(|shape| shape.as_str() == text);
        shape.ok_or_else(|| DocumentError(must_be(Self::ALL.iter().map(|shape| shape.as_str()))))
    }
}
