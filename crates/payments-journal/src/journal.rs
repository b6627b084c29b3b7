use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::events;
use crate::row::now;
use crate::store::ErasedStore;
use crate::{
    Applied, AttemptId, Change, Cursor, Ending, Intent, IntentKey, IntentRequest, IntentState, IntentStore,
    Page, Purged, Resolution, ResolveError, StateName, StoreError, Verdict,
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
    /// Held by whoever writes them, so that nobody takes them for written before they are. Holds why that failed last.
    writing: tokio::sync::Mutex<Option<StoreError>>,
    /// How often writing them has failed.
    failures: AtomicU64,
}

/// What became of the wish to begin.
#[derive(Debug)]
pub(crate) enum Begun {
    /// It is written down, and may be handed to the transport.
    Sending,
    /// Nothing was changed, and nothing may be sent: the row says why.
    Kept(Box<Intent>),
    /// A new attempt after a rejection was asked for, and there is no row.
    Missing,
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
    ///
    /// One error is other than these: in a PostgreSQL journal the service may give the same transaction to a charge that
    /// ends at the very moment of the resolution. Then both are written down, and the error's text says so.
    pub async fn resolve(&self, key: &IntentKey, resolution: Resolution) -> Result<Intent, ResolveError> {
        let verdict = resolution.verdict.clone();
        self.apply_resolution(verdict, Change::resolve(key.clone(), resolution, now())).await
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
        let verdict = resolution.verdict.clone();
        let change = Change::resolve_attempt(read.key.clone(), read.attempt.clone(), resolution, now());
        self.apply_resolution(verdict, change).await
    }

    async fn apply_resolution(&self, verdict: Verdict, change: Change) -> Result<Intent, ResolveError> {
        let key = change.key().clone();
        let Applied { found, written, same_transaction_as } = self.store.apply(change).await?;
        match (written, found, same_transaction_as, verdict) {
            (Some(_), _, Some(by), Verdict::Processed(id)) => {
                Err(ResolveError::taken_meanwhile(&key, id, by))
            }
            (None, _, Some(by), Verdict::Processed(id)) => Err(ResolveError::taken(id, by)),
            (Some(written), ..) => Ok(written),
            (None, Some(found), ..) => Err(ResolveError::not_unknown(&found)),
            (None, None, ..) => Err(ResolveError::no_such_intent(&key)),
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
        let change = Change::reopen(key.clone(), http_statuses.to_vec(), now());
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
        self.write_what_is_left().await
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

    /// Writes down that this attempt is about to be sent, if the key allows it.
    pub(crate) async fn begin(
        &self,
        key: &IntentKey,
        request: IntentRequest,
        attempt: &AttemptId,
        is_after_rejection: bool,
    ) -> Result<Begun, StoreError> {
        self.write_what_is_left().await?;
        let owner = self.store.owner().clone();
        let begin = if is_after_rejection { Change::begin_after_rejection } else { Change::begin };
        let change = begin(key.clone(), request, attempt.clone(), owner.clone(), now());
        let applied = match self.store.apply(change).await {
            Err(error) if error.is_in_doubt() => {
                // It may be written down as begun, and is not sent. Taken back at once, so that the key is free again.
                let (key, attempt) = (key.clone(), attempt.clone());
                let _ = self.end(Change::end(key, attempt, Ending::withdrawn(), now())).await;
                return Err(error);
            }
            applied => applied?,
        };
        if applied.written.is_some() {
            return Ok(Begun::Sending);
        }
        let Some(found) = applied.found else {
            if is_after_rejection {
                return Ok(Begun::Missing);
            }
            return Err(StoreError::damaged("the store has kept nothing of a new intent; nothing was sent"));
        };
        let is_abandoned = found.state == IntentState::Sending
            && found.owner != owner
            // Who cannot be asked counts as live.
            && !self.store.is_live(&found.owner).await.unwrap_or(true);
        if !is_abandoned {
            return Ok(Begun::Kept(Box::new(found)));
        }
        let given_up = self.give_up(&found).await.ok().and_then(|applied| applied.written.or(applied.found));
        Ok(Begun::Kept(Box::new(given_up.unwrap_or(found))))
    }

    /// Calls an attempt unknown whose owner is dead.
    async fn give_up(&self, sending: &Intent) -> Result<Applied, StoreError> {
        let change = Change::orphan(sending.key.clone(), sending.attempt.clone(), now());
        let applied = self.store.apply(change).await?;
        if let Some(Intent { state: IntentState::Unknown(failure), .. }) = &applied.written {
            events::unknown(&sending.key, failure);
        }
        Ok(applied)
    }

    /// Writes down how the attempt ended. What cannot be written now is written before anything new begins. Returns another
    /// intent that is processed as the same transaction.
    pub(crate) async fn end(&self, change: Change) -> Result<Option<IntentKey>, StoreError> {
        match self.store.apply(change.clone()).await {
            Ok(Applied { written: Some(_), same_transaction_as, .. }) => {
                if let Some(other) = &same_transaction_as {
                    events::same_transaction(change.key(), other);
                }
                Ok(same_transaction_as)
            }
            Ok(Applied { written: None, .. }) => Err(StoreError::in_doubt(
                "somebody else has changed the intent while it was being sent, so how it ended is not written down",
            )),
            Err(error) => {
                self.end_later(change);
                Err(error)
            }
        }
    }

    /// Has this end written down before anything new begins, for an attempt that cannot wait for it.
    pub(crate) fn end_later(&self, change: Change) {
        self.unwritten().push_back(change);
    }

    /// Each is removed only once it is written: whoever is cancelled here leaves it to the next. Those who wait for one who
    /// fails fail with it: a dead database may take half a minute to say so, which nobody is to wait for once per call.
    async fn write_what_is_left(&self) -> Result<(), StoreError> {
        let Unwritten { ends: _, writing, failures } = &*self.unwritten;
        let failed_before = failures.load(Ordering::Acquire);
        let mut failed = writing.lock().await;
        let has_failed = failures.load(Ordering::Acquire) != failed_before && !self.unwritten().is_empty();
        if let Some(error) = failed.as_ref().filter(|_| has_failed) {
            return Err(error.clone());
        }
        loop {
            let Some(change) = self.unwritten().front().cloned() else { return Ok(()) };
            match self.store.apply(change.clone()).await {
                // A row that says something else by now stays as it is.
                Ok(applied) => {
                    self.unwritten().pop_front();
                    if let Some(other) = &applied.same_transaction_as {
                        events::same_transaction(change.key(), other);
                    }
                }
                Err(error) => {
                    failures.fetch_add(1, Ordering::Release);
                    *failed = Some(error.clone());
                    return Err(error);
                }
            }
        }
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
