//! Types, validation and exact money for a JSON-over-HTTP payment service.
//!
//! The service takes card and ACH payments, payments with a stored token, and voids. It looks up transactions and customers.
//! This crate has one type for each request and each record of the service. It does no I/O.
//!
//! To make payments, depend on `payments-core` instead: it re-exports this crate as `payments_core::model`. Use this crate
//! alone to build, store or read requests and records.
//!
//! # Getting started
//!
//! A builder takes the required fields, so none can be forgotten. [`build`](CardTransactionBuilder::build) validates all of them.
//! A payment that exists is valid.
//!
//! ```
//! use payments_model::{Amount, Card, CardTransaction, ConvenienceFee};
//! use payments_model::{Payer, TransactionType};
//!
//! let card = Card { number: "4242 4242 4242 4242", cvv: "123", expiry: "12/30" };
//! let payer = Payer {
//!     customer_name: "A. Payer",
//!     email: "payer@example.com",
//!     country_code: "+1",
//!     phone_number: "555-0100",
//!     country: "US",
//!     postal_code: "94105",
//!     ip_address: "203.0.113.7",
//! };
//! let amount = Amount::from_cents(10_50);
//! let fee = ConvenienceFee::Inactive;
//! let sale = CardTransaction::builder(amount, TransactionType::Sale, fee, card, payer)
//!     .billing_city("San Francisco")
//!     .build()?;
//! assert_eq!(sale.amount().to_string(), "10.50");
//! # Ok::<(), payments_model::ValidationError>(())
//! ```
//!
//! The four requests are [`CardTransaction`], [`AchTransaction`], [`TokenTransaction`] and [`Void`]. Each has `to_json`, the
//! JSON that is sent, and `from_json`, which applies the builder's rules to such a document. So a request can wait in a queue:
//!
//! ```
//! use payments_model::{Amount, ConvenienceFee, TokenTransaction};
//!
//! let amount = Amount::from_cents(10_50);
//! let payment = TokenTransaction::builder("tok_1", amount, ConvenienceFee::Inactive).build()?;
//! let queued = payment.to_json();
//! assert_eq!(TokenTransaction::from_json(queued.as_ref())?, payment);
//! # Ok::<(), payments_model::ValidationError>(())
//! ```
//!
//! This JSON holds the request's secrets. Never log it, and never store that of a card payment: it has the security code.
//!
//! # What can go wrong
//!
//! - **A request is invalid.** `build` and `from_json` return a [`ValidationError`] that lists every violation. Each one names
//!   the field and says what the field must be. Nothing was sent.
//! - **A field of a record is missing or has the wrong type.** The other fields are still read: see [Records](#records). Only a
//!   document that is no object, and a transaction without an identifier or with two, are errors, a [`RecordError`].
//! - **An amount cannot be kept exactly.** Parsing returns an [`AmountError`]. Nothing is ever rounded.
//! - **An identifier from a response cannot be looked up,** because it has a part such as `..`, which no URL path can hold:
//!   [`TransactionId::path_segment`] returns a [`ValidationError`].
//!
//! [`ValidationError`] and [`AmountError`] never contain a value of the input. A member that no request has is named, and a caller who
//! swaps names and values puts a secret there: names with as many digits as a card or account number are masked. So both are safe to
//! log:
//!
//! ```
//! use payments_model::{Amount, ConvenienceFee, TokenTransaction};
//!
//! let nothing = Amount::from_cents(0);
//! let payment = TokenTransaction::builder("", nothing, ConvenienceFee::Inactive);
//! let error = payment.build().unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "2 fields are invalid: TokenId: must not be blank; Amount: must be above zero",
//! );
//! ```
//!
//! # Records
//!
//! The service returns a [`TransactionRecord`], a [`TransactionReceipt`] or a [`CustomerRecord`]. Each field is a [`Field`]:
//! absent, `null`, a value, or [`RawJson`] if it could not be read. One unreadable field does not affect the others. Fields
//! that the interface does not define are kept in [`OtherFields`].
//!
//! `from_json` reads a record and `to_json` writes it, both in the interface's form. Records also implement
//! [`Serialize`](serde::Serialize), for use inside other JSON:
//!
//! ```
//! use payments_model::TransactionRecord;
//! use serde::Serialize;
//!
//! #[derive(Serialize)]
//! struct Order {
//!     number: u32,
//!     #[serde(flatten)]
//!     payment: TransactionRecord,
//! }
//!
//! let payment = TransactionRecord::from_json(br#"{"TransactionId":"txn_1","Amount":"10.50"}"#)?;
//! let stored = serde_json::to_string(&Order { number: 17, payment })?;
//! assert_eq!(stored, r#"{"number":17,"TransactionId":"txn_1","Amount":10.50}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Money
//!
//! An [`Amount`] is an exact decimal. This crate uses no binary floating point. The features that other crates enable in
//! `serde_json` do not change what is read.
//!
//! In your own types, an amount is a string such as `"10.50"`, in every serde format.
//!
//! # Secrets
//!
//! Card numbers, security codes, expiry dates and account fields are set to zero on drop. They have no `Display` and no
//! `Serialize`. `Debug` shows at most the brand and the last four digits. Zeroing is best effort: it does not reach copies
//! held by the caller or by a transport. [`mask`] removes secrets and card-like numbers from text that other parties wrote.
//!
//! # What it does not do
//!
//! No I/O, no HTTP, no clock, no global state. It does not decide whether a payment succeeded: that depends on the HTTP
//! status and on the transport's evidence, and `payments-core` decides it. It computes no fees, converts no currencies and
//! has no list of countries, states or status codes, because the interface documents none.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(clippy::float_arithmetic)]

mod amount;
mod card;
mod id;
mod json;
mod mask;
mod record;
mod request;
mod response;
mod secret;
mod spreadsheet;
mod violation;

pub use amount::{Amount, AmountError};
pub use card::{Brand, CardNumber, Cvv, Expiry, MaskedCard};
pub use id::{CustomerId, GatewayCustomerId, TokenId, TransactionId};
pub use json::RawJson;
pub use mask::mask;
pub use record::{
    CustomerRecord, Field, OtherFields, RecordError, TransactionReceipt, TransactionRecord,
    TransactionTypeCode,
};
pub use request::{
    AchTransaction, AchTransactionBuilder, Billing, Card, CardTransaction, CardTransactionBuilder,
    ConvenienceFee, DialPrefix, Email, Payer, Shipping, SuggestedMode, TokenTransaction,
    TokenTransactionBuilder, TransactionRequest, TransactionType, Void,
};
pub use secret::SecretBytes;
pub use violation::{ValidationError, Violation};

/// For the other crates of this project only: it may change in any version.
#[doc(hidden)]
pub mod unversioned {
    pub use crate::amount::as_number;
    pub use crate::id::{check_ends, is_blank, is_invisible};
    pub use crate::json::amount_in_json;
    pub use crate::mask::{contains_long_secret, contains_secret, redact, without_half_a_secret};
    pub use crate::request::{
        CARD_FIELDS, MAX_BODY_BYTES, PAYMENT_FIELDS, RequestMembers, TOKEN_FIELDS, VOID_FIELDS, request_field,
    };
    pub use crate::response::{
        BAD_REQUEST_PREFIX, Code, Envelope, Message, Status, begins_with_json_object, claims_success,
        is_truncated_json, salvage_transaction_id, salvaged_transaction_ids,
    };
    pub use crate::spreadsheet::check_no_spreadsheet_value;
    pub use crate::violation::printable_field_name;
}
