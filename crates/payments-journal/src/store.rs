//! What a store does: it makes one change of one row, atomically and durably.

use std::time::{Duration, SystemTime};

use async_trait::async_trait;

use crate::resolving::Refusal;
use crate::service_change::{ServiceChange, ServiceError};
use crate::summary::Tally;
use crate::{Change, Intent, IntentKey, OwnerId, StateName, StoreError};

/// A place that keeps a journal: [`MemoryStore`](crate::MemoryStore), `SqliteStore`, `PostgresStore`, or a `SqliteReader`.
/// It is sealed: how a store keeps its rows is this crate's own business, and may change.
pub trait Store: IntentStore {}

impl<S: IntentStore> Store for S {}

/// Stores intents. The rules are in [`Change`]; a store makes one change of one row atomic and durable.
///
/// # The contract
///
/// - [`apply`](Self::apply) reads the row of [`Change::key`] and makes the change by the steps of `apply.rs`, atomically. Between
///   the read and the write nothing else writes that row: no other call, process or machine.
/// - If there is a [transaction to search](Change::transaction_to_search), `apply` searches an index for another intent that
///   [holds](Intent::held_transactions) the same one: for a payment among the payments, for a void among the voids, and only
///   among those of its base URL, whatever the merchant's label in its [service](Intent::service), because the ids of two base
///   URLs are unrelated. If there is one, a change by which [a person names it](Change::taken_by) is not made, and two such
///   changes never miss each other. Every other change is still made. In both cases the other intent is reported.
/// - When `apply` has returned `Ok`, the change survives a crash of the process or the operating system and a loss of power, if
///   the disk keeps what it has confirmed.
/// - After an error that leaves open whether the change was written, such as a failed sync, the store returns
///   [`StoreError::in_doubt`], and reads the row again before it relies on either.
/// - A store is one owner, with one id from opening to closing, and live as long as its process.
///
/// A store that implements no change refuses every change. One test suite runs over every store of this crate.
#[async_trait]
pub trait IntentStore: Send + Sync + 'static {
    /// The id under which this opened store sends.
    fn owner(&self) -> &OwnerId;

    /// Fails if the store only reads.
    ///
    /// # Errors
    ///
    /// [`StoreError::is_refused`] then.
    fn check_writable(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Makes one change of one row. The change is durable when this returns.
    ///
    /// # Errors
    ///
    /// [`StoreError::is_in_doubt`] if the change may have been made. With any other error it was not made.
    async fn apply(&self, _change: Change) -> Result<Applied, StoreError> {
        Err(only_read())
    }

    /// The intent with this key.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError>;

    /// As [`find`](Self::find), with a key that contains a secret: it is not sent to a server, which may log what it is asked.
    async fn find_secret(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.find(key).await
    }

    /// At most `limit` intents in these states, in the order in which they were first written, from after this position, or from
    /// the first. If there are fewer, they are the last ones.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    async fn list(&self, states: &[StateName], after: Option<i64>, limit: usize) -> Result<Rows, StoreError>;

    /// Whether the owner is still alive. This decides the state of a row that it left, and never whether anything is sent.
    ///
    /// # Errors
    ///
    /// If that cannot be found out.
    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError>;

    /// Removes intents that ended longer ago than `age`: processed, rejected, not processed and resolved ones.
    /// [Unresolved](Intent::is_unresolved) intents stay, whatever their age. So do rows that were written within the last
    /// [24 hours](crate::Journal::YOUNGEST_TO_PURGE), whatever `age` is.
    ///
    /// A key that is removed too early can be charged again. So age does not depend on the clock of a sender or on the times in
    /// an intent: the store records when it writes a row, and decides how far a clock can be trusted.
    ///
    /// # Errors
    ///
    /// If they cannot be removed.
    async fn purge(&self, _age: Duration) -> Result<Purged, StoreError> {
        Err(only_read())
    }

    /// Adds up the intents of this service, or all, in one query.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    async fn summarize(&self, service: Option<&str>) -> Result<Vec<Tally>, StoreError> {
        let mut tallies = Vec::new();
        for (_, intent) in self.list(StateName::ALL, None, usize::MAX).await? {
            if service.is_none_or(|service| intent.service.as_deref() == Some(service)) {
                Tally::of_intent(&intent).add_to(&mut tallies);
            }
        }
        Ok(tallies)
    }

    /// Renames or removes every intent of a service in one transaction, by the steps of `apply.rs`, unless
    /// [`ServiceChange::refusal`] refuses it, or an intent that would be renamed [holds](Intent::held_transactions) a transaction
    /// that another one at the new base URL holds too, of a payment or of a void. Returns why it was refused. Keeps who has done it.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply).
    async fn change_service(&self, _change: ServiceChange) -> Result<Option<ServiceError>, StoreError> {
        Err(only_read())
    }

    /// Checks that no witness has seen later entries than the store has, as before something begins, and before a call reports that
    /// its key has moved no money.
    ///
    /// # Errors
    ///
    /// [`StoreError::is_history_lost`] if entries may be missing. Others if that cannot be found out.
    async fn check_history(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// The time after which entries may be missing, if the store knows it.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    async fn lost_since(&self) -> Result<Option<SystemTime>, StoreError> {
        Ok(None)
    }

    /// This person accepts that entries from this time on are missing, of which they named this many keys, or none because nothing
    /// was sent. What begins after this is allowed again.
    ///
    /// # Errors
    ///
    /// If it cannot be recorded. Nothing begins then.
    async fn accept_history(
        &self,
        _by: &str,
        _sent: Option<u64>,
        _since: SystemTime,
    ) -> Result<(), StoreError> {
        Err(only_read())
    }

    /// Closes the store and waits until it is closed. It changes nothing after that. Dropping it also closes it, without
    /// waiting.
    async fn close(&self) {}
}

/// Intents, each with its position in a store.
pub type Rows = Vec<(i64, Intent)>;

pub(crate) fn only_read() -> StoreError {
    StoreError::refused("the journal was opened only to be read").unchanged("")
}

pub(crate) fn closed() -> StoreError {
    StoreError::poisoned("the journal was closed by this program").unchanged("open it again")
}

/// What has become of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "complete: made, or why not")]
pub enum Applied {
    /// The rules have refused to change this row, or to make one.
    Refused(Refusal, Option<Intent>),
    /// It was made.
    Written {
        /// The row after it.
        row: Intent,
        /// Another intent that holds the same transaction.
        same_transaction_as: Option<IntentKey>,
    },
}

impl Applied {
    /// The row, if it was written.
    pub fn written(self) -> Option<Intent> {
        if let Self::Written { row, .. } = self { Some(row) } else { None }
    }
}

/// What a purge has removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Purged {
    /// The number of removed intents.
    pub intents: u64,
    /// When the newest of them was last written, by the store's time; `None` if there were none.
    pub newest: Option<SystemTime>,
}
