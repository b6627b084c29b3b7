//! The types of a JSON-over-HTTP payment service: requests that are valid before they are sent, responses read without losing
//! anything, and money that is exact.
//!
//! The service takes card and ACH payments, payments with a stored token and voids, and looks up transactions and customers.
//! This crate has one type for each thing that goes over its wire. It is strict in what is sent, lenient in what is read, and
//! never guesses about money.
//!
//! # Requests
//!
//! [`CardTransaction`], [`AchTransaction`], [`TokenTransaction`] and [`Void`] are the four bodies that are sent. A builder takes
//! the required fields first, so that none can be forgotten, and reports **all** violations at once. `from_json` reads the same
//! request out of a document with the interface's field names and reports the same violations in the same words. `encode` writes
//! it into bytes that are set to zero on drop.
//!
//! ```
//! use payments_model::{Amount, Card, CardTransaction, ConvenienceFee, Payer, TransactionType};
//!
//! let request = CardTransaction::builder(
//!     Amount::from_cents(10_50),
//!     TransactionType::Sale,
//!     ConvenienceFee::Inactive,
//!     Card { number: "4242 4242 4242 4242", cvv: "1234", expiry: "12/30" },
//!     Payer {
//!         customer_name: "A. Payer",
//!         email: "payer@example.com",
//!         country_code: "US",
//!         phone_number: "555-0100",
//!         country: "US",
//!         postal_code: "94105",
//!         ip_address: "203.0.113.7",
//!     },
//! );
//! let error = request.build().expect_err("two fields are wrong");
//! assert_eq!(
//!     error.to_string(),
//!     "2 fields are invalid: \
//!      BillingCountryCode: must be a dialling prefix such as +1, not a country code such as US; \
//!      Cvv: must be 3 digits for this card",
//! );
//! ```
//!
//! # Records
//!
//! A [`TransactionRecord`], a [`TransactionReceipt`] or a [`CustomerRecord`] is what the service returns. Each field is a
//! [`Field`]: absent, `null`, a value, or kept as [`RawJson`]; one odd field never costs the others. Fields that the interface
//! does not have stay reachable in [`OtherFields`].
//!
//! Records, identifiers and amounts implement serde's traits for every self-describing format, `flatten` included:
//!
//! ```
//! use payments_model::TransactionRecord;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Order {
//!     number: u32,
//!     #[serde(flatten)]
//!     payment: TransactionRecord,
//! }
//!
//! let order = Order { number: 17, payment: TransactionRecord::new("txn_1".parse()?) };
//! let kept = serde_json::to_string(&order)?;
//! assert_eq!(kept, r#"{"number":17,"TransactionId":"txn_1"}"#);
//! assert_eq!(serde_json::from_str::<Order>(&kept)?.payment, order.payment);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Money
//!
//! An [`Amount`] is an exact decimal. No binary fraction is anywhere in this crate, nothing is rounded, and what is read depends
//! on no other crate's features.
//!
//! # Secrets
//!
//! Card number, security code, expiry and account fields are set to zero on drop, have no `Display` and no serialization, and
//! `Debug` shows at most a brand and the last four digits. Zeroing is best effort: what the caller holds and what a transport
//! copies is out of reach. No error text of this crate holds input. [`mask`] makes the texts of others fit to be shown.
//!
//! # What it does not do
//!
//! No I/O, no HTTP, no clock, no global state. It does not decide whether a payment went through: that takes the HTTP status and
//! the transport's evidence, and is the work of `payments-core`. It computes no fees, converts no currencies and has no list of
//! countries, states or status codes, because the interface shows none.

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
mod violation;

pub use amount::{Amount, AmountError};
pub use card::{Brand, CardNumber, Cvv, Expiry, MaskedCard};
pub use id::{CustomerId, GatewayCustomerId, TokenId, TransactionId};
pub use json::RawJson;
pub use mask::mask;
pub use record::{
    CustomerRecord, Field, OtherFields, TransactionReceipt, TransactionRecord, TransactionTypeCode,
};
pub use request::{
    AchTransaction, AchTransactionBuilder, Billing, Card, CardInput, CardTransaction, CardTransactionBuilder,
    ConvenienceFee, DialPrefix, Email, Input, Payer, PayerInput, Payment, PaymentBuilder, Shipping,
    SuggestedMode, TokenTransaction, TokenTransactionBuilder, TransactionRequest, TransactionType,
    UnknownFields, Void, is_valid_routing_number,
};
pub use secret::SecretBytes;
pub use violation::{ValidationError, Violation, printable_field_name};

/// What the crates of this project need from each other. It may change with any version.
#[doc(hidden)]
pub mod unversioned {
    pub use crate::amount::as_number;
    pub use crate::request::{FieldName, RequestMembers};
    pub use crate::response::{
        BAD_REQUEST_PREFIX, Body, Code, Data, Envelope, ErrorEnvelope, Status, SuccessEnvelope,
        salvage_transaction_id, salvaged_transaction_ids,
    };
}
