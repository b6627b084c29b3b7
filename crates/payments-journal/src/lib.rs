//! A durable journal of intents to move money, for a service that has no idempotency key and no search.
//!
//! After a crash in the middle of a billing run, a business does not know whom it charged. [`JournaledClient`] wraps a
//! [`Client`](payments_core::Client), takes an [`IntentKey`] with every call that moves money, and records the outcome of each
//! key on disk.
//!
//! # The guarantee
//!
//! **For one intent key at most one transmission whose bytes may have reached the service, over crashes, restarts,
//! concurrent processes and machines, unless a person resolves or reopens the key, or the caller explicitly asks for a
//! [new attempt after a rejection](JournaledClient::after_rejection); every unresolved key stays listed.**
//!
//! It is not exactly-once. Whether the one transmission took effect can remain unknown: the key is then
//! [`Unknown`](IntentState::Unknown), and a person has to find out.
//!
//! ```
//! use payments_core::Outcome;
//! use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
//! use payments_fake::FakeGateway;
//! use payments_journal::{IntentKey, Journal, JournaledClient, MemoryStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let gateway = FakeGateway::new();
//! let store = MemoryStore::new(); // in production a file or a database
//! let journal = Journal::open(store).await?;
//! let client = JournaledClient::new(gateway.client(), journal);
//!
//! let amount = Amount::from_cents(10_50);
//! let payment = TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive);
//! let payment = payment.build()?;
//! let key = IntentKey::new("invoice-2026-0017")?; // from what is being paid
//!
//! for _ in 0..3 {
//!     match client.process_token(&key, &payment).await {
//!         Ok(charged) => println!("processed: transaction {}", charged.transaction_id),
//!         Err(error) => match error.outcome() {
//!             Outcome::NotProcessed => println!("fix it, then call it again: {error:#}"),
//!             _ => println!("a person has to look before it is paid another way: {error:#}"),
//!         },
//!     }
//! }
//! gateway.ledger().assert_charged_once(amount);
//! # Ok(())
//! # }
//! ```
//!
//! # Which key
//!
//! The journal identifies an intent by its key alone. So the key must name what is being paid, never the attempt to pay it.
//!
//! | | the key is | retries and reruns | another card after a decline |
//! |---|---|---|---|
//! | a checkout | the order or cart: `order-4711` | plain calls | [`after_rejection`](JournaledClient::after_rejection), once the customer has chosen it |
//! | a billing file | invoice and period: `invoice-1843-2026-11` | the same file again, plain calls | by hand, with the same call; a billing run never makes it |
//!
//! A plain call never sends a rejected intent again. The same request returns the recorded rejection; another request returns
//! [`KeyReused`](Cause::KeyReused). So no retry charges a declined card twice, and a customer who presses "pay" in two
//! windows pays once.
//!
//! # Stores
//!
//! | store | feature | for |
//! |---|---|---|
//! | `SqliteStore` | `sqlite`, on by default | one machine: a file shared by any number of processes |
//! | `PostgresStore` | `postgres` | several machines; `connect_to_read` also as a user who may only read, or of a standby |
//! | `SqliteReader` | `sqlite` | to read the file, also on a full or read-only disk |
//! | [`MemoryStore`] | | tests |
//!
//! [`Journal::open`] takes any of them; [`Journal::read_only`] writes nothing. `SqliteStore::open` blocks on the disk, and for some
//! seconds if another process holds the file: call it at the start, or where blocking is allowed. `PostgresStore::connect` is
//! asynchronous.
//!
//! # Durability
//!
//! - The intent is durable as [`Sending`](IntentState::Sending) before the transport is called. No row, no charge. If the row
//!   cannot be read or written, nothing is sent. The outcome is then [`Unknown`](payments_core::Outcome::Unknown), because an
//!   earlier call with the key may have paid: call again with the same key when the journal is back.
//! - The outcome is durable before the call returns. If it cannot be written, the call still returns its result,
//!   [reports the failure](Journaled::write_error), and the key stays unresolved. The journal keeps the outcome and writes it
//!   later: in the background, before anything new begins, and when it is [flushed](Journal::flush) or closed.
//! - After a failed write or sync of a file, nothing more is charged until the journal is opened again, unless the disk was full or
//!   another process had the file.
//! - A row that a dead process left as `Sending` becomes [`Unknown`](IntentState::Unknown). The death of a process has no
//!   other effect: no expiry, clock or process number ever permits a send.
//!
//! All rules about an intent are in one pure function. A store keeps each intent as one JSON document. It decides only what needs
//! more than one: whether its newest entries are lost, whether another intent has the same transaction, and what is old.
//!
//! # Logging and alerts
//!
//! With the feature `tracing`, a call runs in the span of its caller and in a span `intent` with its `key`, so events of the
//! client's `TracingObserver` and of the transport have both. The journal's own events have the target `payments` and the
//! field `key` too:
//!
//! | level | event | can it have been charged? |
//! |---|---|---|
//! | error | outcome unknown, also after the crash of another process (`kind` `crash`) | it may: a person reconciles the key |
//! | error | the outcome could not be written to the journal | as `outcome` says; the key stays listed until a person resolves it with `transaction_id` |
//! | error | possible second charge | yes, maybe twice: compare `transaction_id` and that of the key with the service |
//! | error | two intents are processed as one transaction | yes, maybe twice: compare `key` and `other_key` with the service |
//! | warn | processed after the caller left | yes, as `transaction_id`; the next call with the key returns it |
//! | warn | the caller left before it was sent | no; the next call with the key sends it |
//! | warn | the journal's database has a new timeline | if it has lost commits after all, they are charged again |
//! | warn | not observed: this user may not ask for the timeline, or not record it | after a failover that loses commits, they are charged again |
//!
//! A key that holds a secret is refused before anything is logged.
//!
//! With the feature `opentelemetry`, `unversioned::SummaryGauges` show how many intents are in each state, and how old the oldest is.
//!
//! # What is stored
//!
//! Amount, operation, token or last four digits, reference, outcome, transaction and times. Token and reference are stored
//! as they are sent. Never the card number of a card payment, a security code, an expiry, an account, the API key, or a hash
//! of one.
//!
//! # What it does not do
//!
//! It sends nothing on its own, not even a request that provably was not sent. It cannot see charges made through a second
//! journal or directly through a [`Client`](payments_core::Client). It keeps no copy of a request, so it cannot repeat one. A
//! [purged](Journal::purge_older_than) key is new again.

// docs.rs builds with nightly, which shows the feature that each item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

// A call: `client` or `blocking`, then `attempt`, which begins and ends the intent with a `change` that the `store` makes:
// `Change::decide` is the entry to the rules. `unwritten` keeps an end that could not be written. `resolving` is what a person says
// about an intent, `lost` what holds after a restore, `reconcile` the comparison with a processor's report.
mod apply;
mod attempt;
pub mod blocking;
mod change;
#[cfg(feature = "tokio")]
mod client;
mod client_calls;
mod error;
mod events;
mod failure;
#[cfg(feature = "opentelemetry")]
mod gauges;
mod history;
mod ids;
mod intent;
mod intent_request;
mod journal;
mod late_end;
mod liveness;
mod look_up;
mod lost;
mod memory;
mod milliseconds;
#[cfg(feature = "postgres")]
mod postgres_store;
mod read_only;
mod reconcile;
mod resolution;
mod resolve_error;
mod resolving;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod row;
mod service_change;
mod services;
#[cfg(feature = "sqlite")]
mod sqlite_store;
mod store;
mod store_error;
mod summary;
#[cfg(feature = "opentelemetry")]
pub mod unversioned;
mod unwritten;

pub use attempt::{Journaled, MovesMoney};
#[cfg(feature = "tokio")]
pub use client::{AfterRejection, JournaledClient};
pub use error::{Cause, Error};
pub use failure::{Failure, FailureKind};
pub use history::{Ending, HistoryEvent};
pub use ids::{AttemptId, IntentKey, InvalidIntentKey, OwnerId};
pub use intent::{Intent, IntentState, StateName};
pub use intent_request::{IntentRequest, Subject};
pub use journal::{Journal, Pages, SentSince};
pub use late_end::{FlushError, LateEnd};
pub use memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use postgres_store::{PostgresOptions, PostgresStore};
pub use reconcile::{
    Candidate, OfAnotherMerchant, Proposal, ReconcileOptions, ReconciledAttempt, Reconciliation, ReportCell,
    ReportRow, RowStatus, RowTime, Undecided, UndecidedReason, Unexplained,
};
pub use resolution::{RecordedResolution, Resolution, Verdict};
pub use resolve_error::ResolveError;
pub use service_change::{ServiceError, ServiceIntents};
#[cfg(feature = "sqlite")]
pub use sqlite_store::{SqliteOptions, SqliteReader, SqliteStore};
pub use store::{Purged, Store};
pub use store_error::StoreError;
pub use summary::{StateSummary, Summary};

use change::{Begin, Change, NewAttempt};
use store::{Applied, IntentStore, Rows};

/// How a store changes a row, for the tests of this repository. Not part of the API: it changes without notice.
#[doc(hidden)]
pub mod internals {
    pub use async_trait::async_trait;

    pub use crate::change::{Begin, Change, NewAttempt};
    pub use crate::history::Ending;
    pub use crate::resolving::Refusal;
    pub use crate::service_change::ServiceChange;
    pub use crate::store::{Applied, IntentStore, Rows};
    pub use crate::summary::Tally;
}
