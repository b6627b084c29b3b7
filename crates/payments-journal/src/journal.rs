use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;

use crate::error::Cause;
use crate::events;
use crate::resolve_error::Why;
use crate::store::ErasedStore;
use crate::{
    Applied, AttemptId, Change, Cursor, Ending, Error, Intent, IntentKey, IntentRequest, IntentState,
    IntentStore, Page, Purged, Resolution, ResolveError, StateName, StoreError,
};

/// Every intent, and what became of it: an opened [`IntentStore`].
///
/// Cloning is cheap and shares it. It is closed when the last clone is dropped; nothing is lost then, because everything
/// was durable before it was answered. Dropping it does not wait; [`close`](Self::close) does.
#[derive(Clone)]
pub struct Journal {
    store: Arc<dyn ErasedStore>,
    unwritten: Arc<Unwritten>,
}

/// How attempts ended whose end could not be written, the oldest first: it is, before anything new begins.
#[derive(Default)]
struct Unwritten {
    ends: Mutex<VecDeque<Change>>,
    /// Held by whoever writes them, so that nobody takes them for written before they are.
    writing: tokio::sync::Mutex<()>,
    /// Why that failed last.
    failed: watch::Sender<Option<StoreError>>,
}

impl Journal {
    /// Opens the journal over a store. What an owner that is dead has left [`Sending`](IntentState::Sending) becomes
    /// [`Unknown`](IntentState::Unknown) by a crash; nothing is sent again.
    ///
    /// # Errors
    ///
    /// If the store cannot be read or written.
    pub async fn open(store: impl IntentStore) -> Result<Self, StoreError> {
        let this = Self { store: Arc::new(store), unwritten: Arc::default() };
        this.give_up_the_dead().await?;
        Ok(this)
    }

    /// The intent with this key.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.store.find(key).await
    }

    /// At most `limit` intents in these states, in the order in which they were first written down: the first ones, or
    /// those after an earlier page.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub async fn list(
        &self,
        states: &[StateName],
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        self.store.list(states, after, limit).await
    }

    /// Writes down what a person found out about an intent of unknown outcome, whose word is taken:
    /// [`JournaledClient::resolve_processed`](crate::JournaledClient::resolve_processed) looks the transaction up first. A
    /// person may also correct what a person said.
    ///
    /// # Errors
    ///
    /// If there is no such intent, if its outcome is not unknown, if another intent already has that transaction (a payment
    /// and its void may have the same), or if the journal cannot be read or written. Nothing was changed. Of two people who
    /// name one transaction for two intents at the same time, one gets this error.
    pub async fn resolve(&self, key: &IntentKey, resolution: Resolution) -> Result<Intent, ResolveError> {
        self.apply_resolution(Change::resolve(key.clone(), resolution, SystemTime::now())).await
    }

    /// The same for an intent that was read before, for who resolves many at once: it is resolved only if the outcome of the
    /// attempt that was read is still unknown. So what another person has said meanwhile stays.
    ///
    /// # Errors
    ///
    /// As [`resolve`](Self::resolve), and if the intent was resolved, ended or sent again since it was read.
    pub async fn resolve_unknown(
        &self,
        read: &Intent,
        resolution: Resolution,
    ) -> Result<Intent, ResolveError> {
        let (key, attempt) = (read.key.clone(), read.attempt.clone());
        self.apply_resolution(Change::resolve_attempt(key, attempt, resolution, SystemTime::now())).await
    }

    async fn apply_resolution(&self, change: Change) -> Result<Intent, ResolveError> {
        let applied = self.store.apply(change.clone()).await?;
        match (applied.written, applied.found) {
            (Some(written), _) => Ok(written),
            (None, None) => Err(ResolveError(Why::NoSuchIntent(change.key().clone()))),
            (None, Some(found)) => match change.resolved_as().cloned().zip(applied.same_transaction_as) {
                Some((id, by)) => Err(ResolveError(Why::Taken { id, by })),
                None => Err(ResolveError(Why::NotUnknown(found.key, found.state.name()))),
            },
        }
    }

    /// Lets a rejected intent be sent again, by a person's decision: it becomes
    /// [`NotProcessed`](IntentState::NotProcessed), if it was rejected with one of these HTTP statuses. 401, 403 and 429
    /// say something about the caller and nothing about the payment. `None` if the intent is not there, or is none of
    /// these.
    ///
    /// # Errors
    ///
    /// If the journal cannot be read or written.
    pub async fn reopen(&self, key: &IntentKey, http_statuses: &[u16]) -> Result<Option<Intent>, StoreError> {
        let change = Change::reopen(key.clone(), http_statuses.to_vec(), SystemTime::now());
        Ok(self.store.apply(change).await?.written)
    }

    /// Removes what ended longer ago. What is unresolved is never removed.
    ///
    /// **A key that is removed is new again**: whoever uses it once more charges once more. So age is not counted by the
    /// clock of whoever sent or purges alone, but from a time that the store notes with each row:
    ///
    /// | store | a row is removed if it is old |
    /// |---|---|
    /// | `PostgresStore` | by the server's clock, which has noted the time of the row too |
    /// | `SqliteStore` | by the machine's clock *and* by the newest time that the journal held when it was opened |
    /// | [`MemoryStore`](crate::MemoryStore) | by a clock that never jumps, and by what a test has [added](crate::MemoryStore::make_older) |
    ///
    /// A SQLite journal notes the later of the machine's clock and the newest time that it holds, and removes nothing while
    /// the clock is behind that time. What it does not notice: a clock that ran ahead while an earlier process wrote rows.
    /// Compare [`Purged::newest`] with what you expect. All of this is chosen by this SDK.
    ///
    /// # Errors
    ///
    /// If `age` is under 24 hours, in which a caller may still repeat a key; or if the store cannot be written.
    pub async fn purge_older_than(&self, age: Duration) -> Result<Purged, StoreError> {
        if age < Self::YOUNGEST_TO_PURGE {
            return Err(StoreError::refused(
                "what is younger than 24 hours is not purged: its key may still be repeated; nothing was removed",
            ));
        }
        self.store.purge(age).await
    }

    /// 24 hours. No store removes what is younger.
    pub const YOUNGEST_TO_PURGE: Duration = Duration::from_hours(24);

    /// Gives what owners that are dead have left behind its name, and says how many intents that were.
    ///
    /// # Errors
    ///
    /// If the store cannot be read or written.
    pub async fn give_up_the_dead(&self) -> Result<u64, StoreError> {
        let mut live = HashMap::from([(self.store.owner().clone(), true)]);
        let (mut after, mut given_up) = (None, 0);
        loop {
            let page = self.store.list(&[StateName::Sending], after, PAGE).await?;
            for intent in page.intents {
                if !live.contains_key(&intent.owner) {
                    let is_live = self.store.is_live(&intent.owner).await?;
                    live.insert(intent.owner.clone(), is_live);
                }
                if !live[&intent.owner] {
                    given_up += u64::from(self.give_up(&intent).await?.written.is_some());
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(given_up);
            }
        }
    }

    /// Writes down how charges ended whose end [could not be written](crate::Journaled::not_recorded) when they ended. It is
    /// also done before anything new begins; before a program ends, this is the last chance.
    ///
    /// It may be cancelled at any point: what is not written then is written by the next call. Where another call is
    /// already writing, it waits for that one.
    ///
    /// # Errors
    ///
    /// If the store still cannot be written. What is left then becomes unknown when the journal is opened the next time.
    pub async fn settle(&self) -> Result<(), StoreError> {
        let Unwritten { ends: _, writing, failed } = &*self.unwritten;
        let failed_meanwhile = failed.subscribe();
        let _writing = writing.lock().await;
        loop {
            let Some(change) = self.unwritten().front().cloned() else { return Ok(()) };
            // Those who waited for one who failed fail with it: a dead database may take half a minute to say so, which nobody
            // is to wait for once per call.
            if failed_meanwhile.has_changed().is_ok_and(|has_failed| has_failed)
                && let Some(error) = failed_meanwhile.borrow().clone()
            {
                return Err(error);
            }
            // Each is removed only once it is written: whoever is cancelled here leaves it to the next. A row that says something
            // else by now stays as it is.
            let applied = self.store.apply(change).await.inspect_err(|error| {
                failed.send_replace(Some(error.clone()));
            })?;
            self.unwritten().pop_front();
            events::same_transaction(&applied);
        }
    }

    /// Closes the store for every clone of this journal, and waits until it is closed. If nobody else has a SQLite journal
    /// open, it is then a single file, without its log. A program that ends without this may leave the log, as after a crash,
    /// and the next to open the journal reads it. No key and no end of a charge depends on it.
    ///
    /// What is asked of the journal afterwards fails, and nothing is sent. [Drain](crate::JournaledClient::drain) the client
    /// and [`settle`](Self::settle) first.
    pub async fn close(&self) {
        self.store.close().await;
    }

    /// Writes down that this attempt is about to be sent. If the key does not allow it, returns its row: nothing was changed.
    pub(crate) async fn begin(
        &self,
        key: &IntentKey,
        request: &IntentRequest,
        attempt: &AttemptId,
        is_after_rejection: bool,
    ) -> Result<Option<Intent>, Error> {
        let failed = |cause| Error::new(key.clone(), cause);
        self.settle().await.map_err(|error| failed(Cause::Store(error)))?;
        let owner = self.store.owner();
        let begin = if is_after_rejection { Change::begin_after_rejection } else { Change::begin };
        let change = begin(key.clone(), request.clone(), attempt.clone(), owner.clone(), SystemTime::now());
        let found = match self.store.apply(change).await {
            Ok(Applied { written: Some(_), .. }) => return Ok(None),
            Ok(Applied { found: Some(found), .. }) => found,
            Ok(_) if is_after_rejection => return Err(failed(Cause::NoSuchIntent)),
            Ok(_) => {
                let lost = "the store has kept nothing of a new intent; nothing was sent";
                return Err(failed(Cause::Store(StoreError::damaged(lost))));
            }
            Err(error) => {
                if error.is_in_doubt() {
                    // It may be written down as begun, and is not sent. Taken back at once, so that the key is free again.
                    let (key, attempt) = (key.clone(), attempt.clone());
                    let _ = self.end(Change::end(key, attempt, Ending::withdrawn(), SystemTime::now())).await;
                }
                return Err(failed(Cause::Store(error)));
            }
        };
        // Who cannot be asked counts as live.
        if found.state == IntentState::Sending
            && found.owner != *owner
            && let Ok(false) = self.store.is_live(&found.owner).await
            && let Ok(given_up) = self.give_up(&found).await
        {
            return Ok(Some(given_up.written.or(given_up.found).unwrap_or(found)));
        }
        Ok(Some(found))
    }

    /// Calls an attempt unknown whose owner is dead.
    async fn give_up(&self, sending: &Intent) -> Result<Applied, StoreError> {
        let change = Change::orphan(sending.key.clone(), sending.attempt.clone(), SystemTime::now());
        let applied = self.store.apply(change).await?;
        if let Some(Intent { state: IntentState::Unknown(failure), .. }) = &applied.written {
            events::unknown(&sending.key, failure);
        }
        Ok(applied)
    }

    /// Writes down how the attempt ended. What cannot be written now is written before anything new begins. Returns another
    /// intent that is processed as the same transaction.
    pub(crate) async fn end(&self, change: Change) -> Result<Option<IntentKey>, StoreError> {
        let applied = self.store.apply(change.clone()).await.inspect_err(|_| self.end_later(change))?;
        if applied.written.is_none() {
            return Err(StoreError::in_doubt(
                "somebody else has changed the intent while it was being sent, so how it ended is not written down",
            ));
        }
        events::same_transaction(&applied);
        Ok(applied.same_transaction_as)
    }

    /// Has this end written down before anything new begins, for an attempt that cannot wait for it.
    pub(crate) fn end_later(&self, change: Change) {
        self.unwritten().push_back(change);
    }

    fn unwritten(&self) -> MutexGuard<'_, VecDeque<Change>> {
        self.unwritten.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rows that are looked at together.
const PAGE: usize = 1000;

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { store, unwritten: _ } = self;
        f.debug_struct("Journal").field("store", store).finish_non_exhaustive()
    }
}
