//! A payments client that always knows whether the money can have moved.
//!
//! Every failed call that could move money answers that question in its type: [`Error::outcome`] is
//! [`Outcome::NotProcessed`] (send it again), [`Outcome::Rejected`] (correct it first) or [`Outcome::Unknown`] (never send it
//! again blindly). And nothing here sends a payment twice by itself: no retry, no redirect, no second connection. A lookup
//! fails with a [`LookupError`], which has no outcome, because it says nothing about a payment.
//!
#![doc = include_str!("../docs/outcome-table.md")]
//!
//! The rows are the SDK's reading of the interface, with the interface's gaps decided on the side of caution. The body
//! can demote an HTTP 2xx; it can never promote a 4xx or a 5xx. The text of a message decides nothing.
//!
//! # No I/O, no runtime
//!
//! This crate opens no socket and spawns no task. The HTTP stack comes from outside, in one of two ways:
//!
//! - **[`Transport`]**, one asynchronous function, under a [`Client`] with its deadlines, its repetition of look-ups
//!   and its [`Observer`]. `payments-hyper` is the one this project ships.
//! - **[`Operation`]**, for everything else. Each operation is a plain value that builds an `http::Request<Bytes>` and
//!   reads an `http::Response<Bytes>`. What happens between the two is yours.
//!
//! The public API shows types of `std`, `http`, `bytes` and `payments-model` (as [`model`]), and no others.
//!
//! # A payment over a bare socket
//!
//! The whole of what a blocking program needs, against a fake of the service on loopback:
//!
//! ```
#![doc = include_str!("../examples/blocking.rs")]
//! ```
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `tracing` | an [`Observer`] that reports every call to `tracing` |
//!
//! It is not on by default.
//!
//! # What it does not do
//!
//! It stores nothing, so it cannot know of a charge that an earlier process made. It computes no fee, maps no country
//! and gives no meaning to a record's `Status`, whose codes are not published.
//!
//! # To read on
//!
//! [Why these defaults](guide::defaults) gives the reason for every figure. [Bring your own HTTP
//! stack](guide::own_transport) makes a transport from nothing and has it judged.

// docs.rs builds with nightly, which writes on each item the feature that it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod client;
mod endpoint;
mod error;
pub mod guide;
mod observer;
mod operation;
mod response;
mod transport;

pub use payments_model as model;

pub use client::{Client, ClientBuilder, Jitter};
pub use endpoint::{ApiKey, Endpoint};
pub use error::{Error, ErrorKind, LookupError, Outcome};
#[cfg(feature = "tracing")]
pub use observer::TracingObserver;
pub use observer::{AttemptAbandoned, AttemptFailure, AttemptFinished, AttemptStarted, CallId, Observer};
pub use operation::{GetCustomer, GetTransaction, Operation, OperationName, VoidReceipt};
pub use response::{RetryAfter, Success};
pub use transport::{
    Deadlines, Delivery, Sleep, Timer, Transport, TransportError, TransportErrorKind, TransportRequest,
    TransportResponse,
};
