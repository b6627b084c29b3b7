//! The journal for programs without an async runtime: the same stores, rules and errors, without tokio.
//!
//! ```
//! use payments_core::Outcome;
//! use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
//! use payments_journal::blocking::{Journal, JournaledClient};
//! use payments_journal::{IntentKey, SqliteStore};
//!
//! # let gateway = payments_fake::FakeGateway::new();
//! # let client = gateway.blocking_client();
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("billing.db");
//! let journal = Journal::open(SqliteStore::open(&path)?)?;
//! let client = JournaledClient::new(client, journal); // payments_ureq::client(endpoint)?
//!
//! let amount = Amount::from_cents(10_50);
//! let payment = TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive).build()?;
//! let key = IntentKey::new("invoice-2026-0017")?; // from what is being paid
//! for _ in 0..3 {
//!     match client.process_token(&key, &payment) {
//!         Ok(charged) => println!("processed: transaction {}", charged.transaction_id),
//!         Err(error) => match error.outcome() {
//!             Outcome::NotProcessed => println!("fix it, then call it again: {error:#}"),
//!             _ => println!("a person has to look before it is paid another way: {error:#}"),
//!         },
//!     }
//! }
//! # gateway.ledger().assert_charged_once(amount);
//! for end in client.journal().flush()?.iter().filter(|end| !end.is_recorded) {
//!     println!("{} ended as {:?}: a person resolves the key", end.key, end.ending);
//! }
//! client.journal().close();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Without tokio in the program, add the crate without its default features:
//!
//! ```toml
//! payments-journal = { version = "0.1", default-features = false, features = ["sqlite"] }
//! ```
//!
//! # What differs
//!
//! A blocking call cannot be dropped, so it needs no task, and there is nothing to
//! [drain](crate::JournaledClient::drain): join the threads that charge, then [flush](Journal::flush) and
//! [close](Journal::close). If the transport panics, the call returns the same error as the asynchronous one, and the outcome is
//! recorded as unknown, kind `panic`. An outcome that could not be written is retried on a thread of the journal.
//!
//! # Forked processes
//!
//! In a process that was forked while a journal was open, that journal refuses everything as
//! [poisoned](StoreError::is_poisoned), and nothing is sent. Open it after the fork.
//!
//! # In an async program
//!
//! Every function blocks its thread until the journal has written, and a call until the service has responded. Use them in
//! `spawn_blocking`, or use [the asynchronous journal](crate::Journal).

use std::iter;
use std::time::Duration;

use payments_core::VoidReceipt;
use payments_core::blocking::Client;
use payments_core::transport::ProcessId;
use payments_model::{
    AchTransaction, CardTransaction, TokenTransaction, TransactionReceipt, TransactionRecord, Void,
};
use pollster::block_on;

use crate::attempt::{Call, CallResult};
use crate::client_calls::client_calls;
use crate::error::Cause;
use crate::store_error::forked;
use crate::unwritten::Background;
use crate::{
    Begin, FlushError, Intent, IntentKey, LateEnd, MemoryStore, MovesMoney, Purged, ReconcileOptions,
    Reconciliation, ReportRow, Resolution, ResolveError, SentSince, ServiceError, ServiceIntents, StateName,
    StoreError, Summary, events,
};

/// A [store](crate::Store) that needs no runtime: [`MemoryStore`], `SqliteStore` or `SqliteReader`.
pub trait Store: crate::Store {}

impl Store for MemoryStore {}

#[cfg(feature = "sqlite")]
impl Store for crate::SqliteStore {}

#[cfg(feature = "sqlite")]
impl Store for crate::SqliteReader {}

/// Every intent and its state: an opened [store](Store), as [`crate::Journal`].
///
/// Clones are cheap and share the store. Any number of threads may use it.
#[derive(Clone, Debug)]
pub struct Journal {
    journal: crate::Journal,
    /// The process that opened it.
    process: ProcessId,
}

impl Journal {
    /// See [`Journal::open`](crate::Journal::open).
    ///
    /// # Errors
    ///
    /// If the store cannot be read or written.
    pub fn open(store: impl Store) -> Result<Self, StoreError> {
        block_on(crate::Journal::open_with(store, Background::Thread))
            .map(|journal| Self { journal, process: ProcessId::current() })
    }

    /// See [`Journal::read_only`](crate::Journal::read_only).
    pub fn read_only(store: impl Store) -> Self {
        Self { journal: crate::Journal::read_only(store), process: ProcessId::current() }
    }

    /// See [`Journal::pages`](crate::Journal::pages). The iterator ends after an error.
    pub fn pages<'a>(
        &'a self,
        states: &'a [StateName],
    ) -> impl Iterator<Item = Result<Vec<Intent>, StoreError>> + 'a {
        let mut pages = Some(self.journal.pages(states));
        iter::from_fn(move || {
            let next = pages.as_mut()?;
            let read = self.check_process().and_then(|()| block_on(next.next()));
            if read.is_err() {
                pages = None;
            }
            read.transpose()
        })
    }

    /// See [`Journal::close`](crate::Journal::close). In a forked process it does nothing.
    pub fn close(&self) {
        if self.check_process().is_ok() {
            block_on(self.journal.close());
        }
    }

    /// Fails in a process that was forked from the journal's: its threads are not here, and its locks may be held for ever.
    fn check_process(&self) -> Result<(), StoreError> {
        if self.process.is_current() { Ok(()) } else { Err(StoreError::poisoned(forked("the journal"))) }
    }
}

macro_rules! as_asynchronous {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl Journal {$(
            #[doc = concat!("See [`Journal::", stringify!($name), "`](crate::Journal::", stringify!($name), ").")]
            ///
            /// # Errors
            ///
            /// As there, and in a forked process.
            pub fn $name(&self, $($argument: $type),*) -> $result {
                self.check_process()?;
                block_on(self.journal.$name($($argument),*))
            }
        )*}
    };
}

as_asynchronous! {
    find(key: &IntentKey) -> Result<Option<Intent>, StoreError>;
    resolve(read: &Intent, resolution: Resolution) -> Result<Intent, ResolveError>;
    resolve_of_service(read: &Intent, resolution: Resolution, service: &str) -> Result<Intent, ResolveError>;
    reopen(key: &IntentKey, http_statuses: &[u16], by: &str, note: Option<&str>) -> Result<Intent, ResolveError>;
    reopen_by_name(key: &IntentKey, by: &str, note: Option<&str>) -> Result<Intent, ResolveError>;
    check_history() -> Result<(), StoreError>;
    accept_history(lost: SentSince<'_>, by: &str) -> Result<u64, StoreError>;
    purge_older_than(age: Duration) -> Result<Purged, StoreError>;
    mark_crashed() -> Result<u64, StoreError>;
    flush() -> Result<Vec<LateEnd>, FlushError>;
    summary() -> Result<Summary, StoreError>;
    intents_of_service(service: &str) -> Result<ServiceIntents, ServiceError>;
    rename_service(read: &ServiceIntents, to: &str, by: &str) -> Result<(), ServiceError>;
    forget_service(read: &ServiceIntents, by: &str) -> Result<(), ServiceError>;
    reconcile(rows: &[ReportRow], options: &ReconcileOptions) -> Result<Reconciliation, StoreError>;
}

/// A blocking [`Client`] that sends at most once for each [`IntentKey`], over crashes, restarts, processes and threads.
///
/// A call does what [the table](crate::JournaledClient) of the asynchronous client says: both are the same code. Clones are
/// cheap; any number of threads may call at once.
#[derive(Clone, Debug)]
pub struct JournaledClient {
    client: Client,
    journal: Journal,
}

impl JournaledClient {
    /// Sends through this client what this journal allows to be sent.
    pub const fn new(client: Client, journal: Journal) -> Self {
        Self { client, journal }
    }

    /// See [`JournaledClient::after_rejection`](crate::JournaledClient::after_rejection).
    pub const fn after_rejection<'a>(&'a self, key: &'a IntentKey) -> AfterRejection<'a> {
        AfterRejection { client: self, key }
    }

    /// See [`JournaledClient::look_up_and_resolve`](crate::JournaledClient::look_up_and_resolve).
    ///
    /// # Errors
    ///
    /// As there, and in a forked process.
    pub fn look_up_and_resolve(
        &self,
        read: &Intent,
        resolution: Resolution,
    ) -> Result<(Intent, TransactionRecord), ResolveError> {
        self.journal.check_process()?;
        block_on(self.journal.journal.look_up_and_resolve(self.client.polled(), read, resolution))
    }

    fn begin<P: MovesMoney>(&self, key: &IntentKey, payment: &P, begin: Begin) -> CallResult<P::Data> {
        let call = Call::new(self.client.polled(), &self.journal.journal, key, payment);
        self.journal.check_process().map_err(|error| call.failed(Cause::Store(error)))?;
        block_on(events::in_span(call.shown_key(), call.attempt(payment, begin, || true)))
    }
}

client_calls!("nothing is sent before `call` is called");
