//! A payments client that always knows whether the money can have moved.
//!
//! The crate makes card payments, ACH payments, token payments, voids and lookups. The HTTP stack is a separate crate:
//! `payments-hyper` on tokio, `payments-reqwest` over reqwest, `payments-ureq` without a runtime, or your own.
//!
//! ```console
//! $ cargo add payments-core payments-hyper
//! $ cargo add tokio --features macros,rt-multi-thread
//! ```
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # payments_fake::block_on(charge())
//! # }
//! # async fn charge() -> Result<(), Box<dyn std::error::Error>> {
//! use payments_core::Outcome;
//! use payments_core::model::{Amount, Card, CardTransaction, ConvenienceFee};
//! use payments_core::model::{Payer, TransactionType};
//!
//! // let client = payments_hyper::client(endpoint)?;
//! # let client = payments_fake::FakeGateway::new().client();
//! let card = Card { number: "4242 4242 4242 4242", cvv: "123", expiry: "12/30" };
//! let payer = Payer {
//!     customer_name: "Ada Lovelace",
//!     email: "ada@example.com",
//!     country_code: "+1",
//!     phone_number: "415-555-0100",
//!     country: "US",
//!     postal_code: "94107",
//!     ip_address: "203.0.113.7",
//! };
//! let amount = Amount::from_cents(10_50);
//! let fee = ConvenienceFee::Inactive;
//! let sale = CardTransaction::builder(amount, TransactionType::Sale, fee, card, payer).build()?;
//!
//! match client.process_card(&sale).await {
//!     Ok(charged) => println!("processed: transaction {}", charged.transaction_id),
//!     Err(error) => match error.outcome() {
//!         Outcome::NotProcessed => println!("you were not charged ({error:#})"),
//!         Outcome::Rejected => println!("the payment was refused ({error:#})"),
//!         Outcome::Unknown => println!("we are checking your payment ({error:#})"), // never send it again
//!     },
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A blocking program uses [`blocking::Client`] in the same way. [`Client::call`] runs any [`Operation`].
//!
//! # What can go wrong
//!
//! Every failed call that could move money returns an [`Error`]. [`Error::outcome`] says whether it can have moved:
//!
//! | outcome | meaning | what to do |
//! |---|---|---|
//! | [`Outcome::NotProcessed`] | the request provably was not processed | fix the cause, then send it again |
//! | [`Outcome::Rejected`] | the service, or something in front of it, refused the request | change it, then send it as a new one |
//! | [`Outcome::Unknown`] | the money can have moved: no response proves either | never send it again; look it up or reconcile it |
//!
//! The client never sends a payment twice: it does not retry it and follows no redirect. A transport takes another connection
//! only for a request of which no byte was written. A failed lookup is a [`LookupError`], which has no outcome, because it says
//! nothing about a payment.
//!
//! This is the full table:
//!
#![doc = include_str!("../docs/outcome-table.md")]
//!
//! The rows are how the SDK reads the interface. Where the interface is silent, the SDK decides on the side of caution. A body
//! can make the outcome of an HTTP 2xx worse, never that of a 4xx or 5xx better. The text of a message decides nothing.
//!
//! # No I/O, no runtime
//!
//! This crate opens no socket and spawns no task; only [`SystemTimer`] has a thread of its own, and looks for a fork in
//! `/proc/self/stat`. There are three ways to connect it to an HTTP stack:
//!
//! - **[`Transport`]**, one asynchronous function. A [`Client`] adds deadlines, retries of lookups and an [`Observer`].
//!   `payments-hyper` and `payments-reqwest` are ready to use.
//! - **[`blocking::Transport`]**, the same for programs without a runtime, used by a [`blocking::Client`]. `payments-ureq` has one.
//! - **[`Operation`]**, for everything else. Each operation is a plain value that builds an `http::Request<Bytes>` and reads an
//!   `http::Response<Bytes>`. How you send the request is up to you.
//!
//! The public API uses types of `std`, `http`, `bytes`, `payments-model` (as [`model`]) and serde's traits only, except in the module
//! `unversioned`, which exists with the feature `opentelemetry`.
//!
//! # Testing your own code
//!
//! [`Operation::read`] creates a success or an error from any HTTP response. [`Operation::error_from_transport`] creates the
//! error of a call that got no response. `payments-fake` is the whole service, in process.
//!
//! # A payment over a bare socket
//!
//! Operations need no client and no transport. This example has neither TLS nor deadlines.
//!
//! ```
#![doc = include_str!("../examples/blocking.rs")]
//! ```
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `tracing` | a span for each call and each attempt, by OpenTelemetry's conventions for HTTP clients, and an [`Observer`] that reports every attempt as an event |
//! | `opentelemetry` | an [`Observer`] that records to a meter (in `unversioned`), and the headers of the current trace on every request |
//!
//! Neither is on by default. With `tracing`, the installed subscriber records the spans. The span of a call is named after its
//! operation and has `payment.call_id`, `payment.operation`, `payment.outcome`, `payment.amount` and `payment.reference`. Each attempt is
//! a client span such as `POST /api/v1/public/transaction` with `http.request.method`, `server.address`, `server.port`,
//! `url.template`, `http.response.status_code`, `error.type` and `http.request.resend_count`. With both features, and with
//! tracing-opentelemetry and a global propagator installed, `traceparent` is that of the attempt's span. No span holds a secret.
//!
//! # What it does not do
//!
//! It stores nothing, so it cannot know of a charge by an earlier process; `payments-journal` adds that. It computes no fee, maps
//! no country, and does not interpret a record's `Status`, whose codes are not published.
//!
//! # Further reading
//!
//! [Why these defaults](guide::defaults) gives the reason for every figure. [Bring your own HTTP stack](guide::own_transport)
//! builds a transport from scratch and tests it against the contract.

// docs.rs builds with nightly, which writes on each item the feature that it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod blocking;
mod call_id;
mod caller_headers;
mod client;
mod endpoint;
mod error;
pub mod guide;
mod observer;
mod operation;
mod response;
pub mod transport;
#[cfg(feature = "opentelemetry")]
pub mod unversioned;

pub use payments_model as model;

pub use call_id::CallId;
pub use caller_headers::CallerHeaders;
pub use client::{Client, ClientBuilder, RandomSource};
pub use endpoint::{ApiKey, Endpoint};
pub use error::{CallError, Error, ErrorKind, FailedCall, LookupError, Outcome};
#[cfg(feature = "tracing")]
pub use observer::TracingObserver;
pub use observer::{
    AttemptAbandoned, AttemptFailure, AttemptFinished, AttemptStarted, BodySnippet, Observer,
};
pub use operation::{Facts, GetCustomer, GetTransaction, NextStep, Operation, OperationName, VoidReceipt};
pub use response::{RefusedBy, Success};
pub use transport::deadlines::Deadlines;
pub use transport::error::{Delivery, TransportError, TransportErrorKind};
pub use transport::request::TransportRequest;
pub use transport::response::TransportResponse;
pub use transport::timer::{Sleep, SystemTimer, Timer};
pub use transport::transport_trait::Transport;
