//! The nouns of a JSON-over-HTTP payment service: requests that are right before they are sent, answers read
//! without losing anything, and money that is exact.
//!
//! The service takes card and ACH payments, payments with a stored token and voids, and answers look-ups of
//! transactions and customers. This crate has one type for each thing that goes over its wire. It is strict
//! in what is sent, lenient in what is read, and never guesses about money.
//!
//! # Requests
//!
//! [`CardTransaction`], [`AchTransaction`], [`TokenTransaction`] and [`Void`] are the four bodies that are
//! sent. A builder takes the required fields first, so that none can be forgotten, and reports **all**
//! violations at once; `from_json` reads the same request out of a document with the interface's field names
//! and reports the same violations in the same words. `encode` writes it into bytes that are set to zero on
//! drop.
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
//! # Answers
//!
//! [`Body::read`] takes whatever bytes came and never fails: an empty, cut or foreign body is evidence about
//! a charge, not an error. An [`Answer`] gives the members of the interface's envelopes, and out of `data` a
//! [`TransactionRecord`], a [`TransactionReceipt`] or a [`CustomerRecord`]. Each field of a record is a
//! [`Field`]: absent, `null`, a value, or kept as [`RawJson`]; one odd field never costs the others. Fields
//! that the interface does not have stay reachable in [`OtherFields`].
//!
//! [`SuccessEnvelope`] and [`ErrorEnvelope`] write the same answers, for those who play the service.
//!
//! # Money
//!
//! An [`Amount`] is an exact decimal. No binary fraction is anywhere in this crate, nothing is rounded, and
//! what is read depends on no other crate's features.
//!
//! # Secrets
//!
//! Card number, security code, expiry and account fields are set to zero on drop, have no `Display` and no
//! serialization, and `Debug` shows at most a brand and the last four digits. Zeroing is best effort: what
//! the caller holds and what a transport copies is out of reach. No error
//! text of this crate holds input. [`scrub`] cleans the texts of others.
//!
//! # Features
//!
//! `serde`: records are read and written by `serde_json` too. It is off by default; `to_json` of each record needs it not.
//!
//! # What it does not do
//!
//! No I/O, no HTTP, no clock, no global state. It does not decide whether a payment went through: that takes
//! the HTTP status and the transport's evidence, and is the work of `payments-core`. It computes no fees,
//! converts no currencies and has no list of countries, states or status codes, because the interface shows
//! none.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(clippy::float_arithmetic)]

mod ach_transaction;
mod amount;
mod answer;
mod billing;
mod body;
mod brand;
mod card;
mod card_like;
mod card_number;
mod card_transaction;
mod check;
mod convenience_fee;
mod customer_id;
mod customer_record;
mod cvv;
mod dial_prefix;
mod document;
mod echoes;
mod email;
mod error_envelope;
mod expiry;
mod field;
mod gateway_customer_id;
mod ids;
mod json;
mod json_object;
mod json_scanner;
mod json_string;
mod json_tokens;
mod json_writer;
mod masked_card;
mod other_fields;
mod payer;
mod payment;
mod payment_draft;
mod raw_json;
mod record_fields;
mod redact;
mod redacted_members;
mod request_members;
mod routing_number;
mod scrub;
mod secret;
mod shipping;
mod success_envelope;
mod suggested_mode;
mod token_id;
mod token_transaction;
mod transaction_id;
mod transaction_receipt;
mod transaction_record;
mod transaction_request;
mod transaction_type;
mod unknown_fields;
mod validation_error;
mod violation;
mod void;
#[cfg(feature = "serde")]
mod with_serde;

pub use ach_transaction::{AchTransaction, AchTransactionBuilder};
pub use amount::{Amount, AmountError};
pub use answer::{Answer, Code, Data, Status};
pub use billing::Billing;
pub use body::{Body, salvage_transaction_id, salvaged_transaction_ids};
pub use brand::Brand;
pub use card::Card;
pub use card_like::{has_few_digits, without_card_numbers};
pub use card_number::CardNumber;
pub use card_transaction::{CardTransaction, CardTransactionBuilder};
pub use convenience_fee::ConvenienceFee;
pub use customer_id::CustomerId;
pub use customer_record::CustomerRecord;
pub use cvv::Cvv;
pub use dial_prefix::DialPrefix;
pub use email::Email;
pub use error_envelope::{BAD_REQUEST_PREFIX, ErrorEnvelope};
pub use expiry::Expiry;
pub use field::Field;
pub use gateway_customer_id::GatewayCustomerId;
pub use masked_card::MaskedCard;
pub use other_fields::OtherFields;
pub use payer::Payer;
pub use raw_json::RawJson;
pub use redacted_members::{redacted_members, shown_field};
pub use request_members::RequestMembers;
pub use routing_number::is_valid_routing_number;
pub use scrub::scrub;
pub use secret::SecretBytes;
pub use shipping::Shipping;
pub use success_envelope::SuccessEnvelope;
pub use suggested_mode::SuggestedMode;
pub use token_id::TokenId;
pub use token_transaction::{TokenTransaction, TokenTransactionBuilder};
pub use transaction_id::TransactionId;
pub use transaction_receipt::TransactionReceipt;
pub use transaction_record::TransactionRecord;
pub use transaction_request::TransactionRequest;
pub use transaction_type::{TransactionType, TransactionTypeCode};
pub use unknown_fields::UnknownFields;
pub use validation_error::ValidationError;
pub use violation::{Violation, printable_field_name};
pub use void::Void;
