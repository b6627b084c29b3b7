//! A durable journal of intents to move money, for a service that has no idempotency key and no search.
//!
//! A crash in the middle of a billing run leaves a business not knowing whom it charged. [`JournaledClient`] wraps a
//! [`Client`](payments_core::Client) and takes an [`IntentKey`] with every call that moves money.
//!
//! # The guarantee
//!
//! **For one intent key at most one transmission whose bytes may have reached the service, over crashes, restarts,
//! concurrent processes and machines, unless a person resolves or reopens the key, or the caller explicitly asks for a
//! [new attempt after a rejection](JournaledClient::after_rejection); every unresolved key stays listed.**
//!
//! It is at most one transmission, and nothing more than that: whether the one took effect is what an
//! [`Unknown`](IntentState::Unknown) leaves open, and then a person has to find out.
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
//! let journal = Journal::open(MemoryStore::new()).await?; // in production a file or a database
//! let client = JournaledClient::new(gateway.client(), journal);
//!
//! let amount = Amount::from_cents(10_50);
//! let payment = TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive).build()?;
//! let key = IntentKey::new("invoice-2026-0017")?; // from what is being paid
//!
//! for _ in 0..3 {
//!     match client.process_token(&key, &payment).await {
//!         Ok(charged) => println!("processed: transaction {}", charged.transaction_id),
//!         Err(error) if error.outcome() == Outcome::NotProcessed => println!("fix it, then call it again: {error:#}"),
//!         Err(error) => println!("do not pay it another way before a person has looked: {error:#}"),
//!     }
//! }
//! gateway.ledger().assert_charged_once(amount);
//! # Ok(())
//! # }
//! ```
//!
//! # Which key
//!
//! The journal knows an intent by its key alone, so the key names what is being paid, and never the attempt to pay it.
//!
//! | | the key is | retries and reruns | another card after a decline |
//! |---|---|---|---|
//! | a checkout | the order or cart: `order-4711` | plain calls | [`after_rejection`](JournaledClient::after_rejection), once the customer has chosen it |
//! | a billing file | invoice and period: `invoice-1843-2026-11` | the same file again, plain calls | by hand, by that same call; a billing run never makes it |
//!
//! A plain call never sends again what was rejected: the same request gets the recorded rejection, another request is
//! [`key_reused`](Error::is_key_reused). So nothing automatic charges a declined card twice, and a customer who presses
//! "pay" in two windows pays once.
//!
//! # Where it is kept
//!
//! | store | feature | for |
//! |---|---|---|
//! | `SqliteStore` | `sqlite`, on by default | one machine: a file that any number of processes share |
//! | `PostgresStore` | `postgres` | several machines |
//! | [`MemoryStore`] | | tests |
//!
//! Any of them is opened with [`Journal::open`]. `SqliteStore::open` blocks, on a disk and at worst some seconds on another
//! process: do it at the start, or where blocking is allowed. `PostgresStore::connect` is asynchronous.
//!
//! # How it is kept
//!
//! - The intent is durable as [`Sending`](IntentState::Sending) before the transport is called. No row, no charge. If
//!   the row cannot be read or written, nothing is sent and the call is [`Unknown`](payments_core::Outcome::Unknown), because
//!   an earlier call with the key may have paid: call again with the same key when the journal is back.
//! - How it ended is durable before the result is handed back. If that fails the result is handed back all the same,
//!   marked, and the key stays in doubt.
//! - After a write or a sync that failed, nothing more is charged until the journal is opened again.
//! - A row whose owner is dead becomes [`Unknown`](IntentState::Unknown). Nothing else follows from an owner's death: no
//!   expiry, clock or process number ever permits a send.
//!
//! The rules stand in one pure function, [`Change::decide`]. Stores keep rows and decide nothing.
//!
//! # What to be paged on
//!
//! With the feature `tracing`, a call runs within the span of its caller and a span `intent` with its `key`, so what the
//! client's `TracingObserver` and the transport log has both. The journal's own events have the target `payments` and the
//! field `key` too:
//!
//! | level | event | can it have been charged? |
//! |---|---|---|
//! | error | outcome unknown, also of what a dead process left behind (`kind` `crash`) | it may: a person reconciles the key |
//! | error | the outcome could not be written to the journal | as `outcome` says; the key stays listed until a person resolves it with `transaction_id` |
//! | warn | processed after the caller left | yes, as `transaction_id`; the next call with the key returns it |
//! | warn | the caller left before it was sent | no; the next call with the key sends it |
//!
//! A key that holds a secret is refused before anything is logged.
//!
//! # What it keeps
//!
//! Amount, operation, token or last four digits, reference, outcome, transaction and times. Never a card number, a
//! security code, an expiry, an account, the API key, or a hash of one.
//!
//! # What it does not do
//!
//! It never sends anything by itself, not even what provably was not sent. It cannot see what was charged without it: a
//! second journal, or a [`Client`](payments_core::Client) beside it, is another world. It keeps no copy of a request, so
//! it cannot repeat one. A key that was [purged](Journal::purge_older_than) is new again.

// docs.rs builds with nightly, which writes on each item the feature that it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod change;
mod error;
mod events;
mod evidence;
mod failure;
mod ids;
mod intent;
mod intent_key;
mod intent_request;
mod journal;
mod journaled;
mod journaled_client;
mod memory;
mod payment;
#[cfg(feature = "postgres")]
mod postgres_store;
mod resolution;
mod resolve_error;
mod row;
#[cfg(feature = "sqlite")]
mod sqlite_store;
mod store;
mod store_error;

pub use change::{Change, Ending};
pub use error::Error;
pub use failure::Failure;
pub use ids::{AttemptId, OwnerId};
pub use intent::{Intent, IntentState, StateName};
pub use intent_key::{IntentKey, InvalidIntentKey};
pub use intent_request::{IntentRequest, Subject};
pub use journal::Journal;
pub use journaled::Journaled;
pub use journaled_client::{AfterRejection, JournaledClient};
pub use memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use postgres_store::PostgresStore;
pub use resolution::{Resolution, Verdict};
pub use resolve_error::ResolveError;
#[cfg(feature = "postgres")]
use row::IntentRow;
#[cfg(feature = "sqlite")]
pub use sqlite_store::SqliteStore;
pub use store::{Applied, Cursor, IntentStore, Page, Purged};
pub use store_error::StoreError;
