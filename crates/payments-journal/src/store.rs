use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use crate::{Change, Intent, IntentKey, OwnerId, StateName, StoreError};

/// Where intents are kept. The rules are in [`Change`]; a store makes one change of one row whole and durable.
///
/// # The contract
///
/// - [`apply`](Self::apply) reads the row of [`Change::key`], asks [`Change::decide`], and writes what that says, in one
///   step of which nobody ever sees a half, and between whose reading and writing nobody else writes that row: not
///   another call, not another process, not another machine.
/// - If the row to write is [processed as](Intent::processed_as) a transaction, `apply` looks, over an index, for another
///   intent that is processed as the same one: for a payment among the payments, for a void among the voids. A change that
///   [is refused if it is taken](Change::is_refused_if_taken) is then not made, and two such changes never both miss each
///   other. Every other change is made all the same. Either way the other intent is
///   [reported](Applied::same_transaction_as).
/// - When `apply` has returned `Ok`, the change survives the death of the process, of the operating system and of the
///   machine's power, as far as the disk keeps what it says it has kept.
/// - After an error of which nobody can say whether the change was kept, such as a failed sync, the store says
///   [`StoreError::in_doubt`], and never counts on anything of it without reading it again.
/// - A store is one owner, under one name from opening to closing, and live for as long as its process is.
///
/// One suite of tests is run over every store of this crate.
pub trait IntentStore: Send + Sync + 'static {
    /// The name under which this opened store sends.
    fn owner(&self) -> &OwnerId;

    /// Makes one change of one row, durable once this has returned.
    ///
    /// # Errors
    ///
    /// With [`StoreError::is_in_doubt`] if the change may have been made all the same. With any other error it was not.
    fn apply(&self, change: Change) -> impl Future<Output = Result<Applied, StoreError>> + Send;

    /// The intent with this key.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    fn find(&self, key: &IntentKey) -> impl Future<Output = Result<Option<Intent>, StoreError>> + Send;

    /// At most `limit` intents in these states, in the order in which they were first written down, from after `after` or
    /// from the first.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    fn list(
        &self,
        states: &[StateName],
        after: Option<Cursor>,
        limit: usize,
    ) -> impl Future<Output = Result<Page, StoreError>> + Send;

    /// Whether the owner still lives. It decides what a row that it left behind is called, and never whether anything is
    /// sent.
    ///
    /// # Errors
    ///
    /// If that cannot be found out.
    fn is_live(&self, owner: &OwnerId) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Removes what ended longer ago than this: processed, rejected, not processed and resolved intents. What is
    /// [unresolved](Intent::is_unresolved) stays, whatever its age, and so does what was written within the last
    /// [24 hours](crate::Journal::YOUNGEST_TO_PURGE), whatever `age` is.
    ///
    /// A key that is removed too early is charged once more, so no sender's clock counts, and none of an intent's times: the
    /// store itself notes when it writes a row, and how far a clock can be trusted for that.
    ///
    /// # Errors
    ///
    /// If they cannot be removed.
    fn purge(&self, age: Duration) -> impl Future<Output = Result<Purged, StoreError>> + Send;

    /// Closes the store in order and waits for it. Afterwards it changes nothing any more. Dropping it closes it too, and
    /// waits for nothing.
    fn close(&self) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// A row around a change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::exhaustive_structs,
    reason = "complete: stores make it, and there is nothing between before and after"
)]
pub struct Applied {
    /// As it was found.
    pub found: Option<Intent>,
    /// As it was written, if [`Change::decide`] wanted it written and no other intent was in the way.
    pub written: Option<Intent>,
    /// Another intent that is processed as the same transaction as the row to write. If nothing was written, this is why.
    pub same_transaction_as: Option<IntentKey>,
}

/// What a purge has removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "complete: stores make it")]
pub struct Purged {
    /// How many intents.
    pub intents: u64,
    /// When the newest of them was last written, by the store's time; `None` if there were none.
    pub newest: Option<SystemTime>,
}

/// Where a page of a list ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor(i64);

impl Cursor {
    /// The place of a row, in the order in which they were first written down.
    pub const fn new(position: i64) -> Self {
        Self(position)
    }

    /// The place.
    pub const fn position(self) -> i64 {
        self.0
    }

    /// Cuts rows down to a page of this length. If more were read, returns where the next page begins.
    pub(crate) fn after_page<R>(
        rows: &mut Vec<R>,
        limit: usize,
        position: impl FnOnce(&R) -> i64,
    ) -> Option<Self> {
        let is_last = rows.len() <= limit;
        rows.truncate(limit);
        rows.last().filter(|_| !is_last).map(|row| Self(position(row)))
    }
}

/// Some rows of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "complete: stores make it")]
pub struct Page {
    /// The rows.
    pub intents: Vec<Intent>,
    /// Where to go on, or `None` at the end.
    pub next: Option<Cursor>,
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The dyn-usable twin of [`IntentStore`], so that `Journal` has no type parameter.
pub(crate) trait ErasedStore: Send + Sync {
    fn owner(&self) -> &OwnerId;
    fn apply(&self, change: Change) -> Boxed<'_, Applied>;
    fn find<'a>(&'a self, key: &'a IntentKey) -> Boxed<'a, Option<Intent>>;
    fn list<'a>(&'a self, states: &'a [StateName], after: Option<Cursor>, limit: usize) -> Boxed<'a, Page>;
    fn is_live<'a>(&'a self, owner: &'a OwnerId) -> Boxed<'a, bool>;
    fn purge(&self, age: Duration) -> Boxed<'_, Purged>;
    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

impl<T: IntentStore> ErasedStore for T {
    fn owner(&self) -> &OwnerId {
        IntentStore::owner(self)
    }

    fn apply(&self, change: Change) -> Boxed<'_, Applied> {
        Box::pin(IntentStore::apply(self, change))
    }

    fn find<'a>(&'a self, key: &'a IntentKey) -> Boxed<'a, Option<Intent>> {
        Box::pin(IntentStore::find(self, key))
    }

    fn list<'a>(&'a self, states: &'a [StateName], after: Option<Cursor>, limit: usize) -> Boxed<'a, Page> {
        Box::pin(IntentStore::list(self, states, after, limit))
    }

    fn is_live<'a>(&'a self, owner: &'a OwnerId) -> Boxed<'a, bool> {
        Box::pin(IntentStore::is_live(self, owner))
    }

    fn purge(&self, age: Duration) -> Boxed<'_, Purged> {
        Box::pin(IntentStore::purge(self, age))
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(IntentStore::close(self))
    }
}

impl fmt::Debug for dyn ErasedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntentStore").field("owner", self.owner()).finish_non_exhaustive()
    }
}
