//! The open journal: reading it, beginning and ending intents, and what a person decides about them.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, SystemTime};

use futures_channel::oneshot;
use futures_util::FutureExt as _;
use futures_util::future::{select, try_join_all};
use payments_model::mask;

use crate::error::Cause;
use crate::events;
use crate::liveness::Liveness;
use crate::read_only::ReadOnly;
use crate::resolve_error::Reason;
use crate::resolving::{Refusal, check_texts};
use crate::service_change::check_name;
use crate::unwritten::{Background, Unwritten};
use crate::{
    Applied, Change, Ending, Error, FlushError, Intent, IntentKey, IntentState, IntentStore, LateEnd,
    NewAttempt, Purged, Resolution, ResolveError, StateName, Store, StoreError,
};

/// Every intent and its state: an opened [store](Store).
///
/// Clones are cheap and share the store. It is closed when the last clone is dropped. Every outcome is durable then, except those whose
/// calls returned a [`write_error`](crate::Journaled::write_error) or were ended with their runtime: [flush](Self::flush) before.
/// Dropping does not wait; [`close`](Self::close) does.
#[derive(Clone)]
pub struct Journal {
    store: Arc<dyn IntentStore>,
    unwritten: Arc<Unwritten>,
}

impl Journal {
    /// Opens the journal on a store. An intent that a dead owner left [`Sending`](IntentState::Sending) becomes
    /// [`Unknown`](IntentState::Unknown), kind `crash`. Nothing is sent again.
    ///
    /// # Errors
    ///
    /// If the store cannot be read or written, or was opened only to be read: that is for [`read_only`](Self::read_only).
    pub async fn open(store: impl Store) -> Result<Self, StoreError> {
        Self::open_with(store, Background::default()).await
    }

    pub(crate) async fn open_with(store: impl Store, background: Background) -> Result<Self, StoreError> {
        store.check_writable()?;
        let this = Self { store: Arc::new(store), unwritten: Arc::new(Unwritten::new(background)) };
        this.mark_crashed().await?;
        Ok(this)
    }

    /// A journal that is only read, for a program that lists or exports: nothing is written, and every change and every call of a
    /// [client](crate::JournaledClient) is refused. An intent that a dead owner left [`Sending`](IntentState::Sending) is shown as
    /// [`Unknown`](IntentState::Unknown), kind `crash`, and stays as it is.
    pub fn read_only(store: impl Store) -> Self {
        Self { store: Arc::new(ReadOnly(store)), unwritten: Arc::default() }
    }

    /// The intent with this key.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.store.find(key).await
    }

    /// All intents in these states, a thousand at a time, in the order in which they were first written.
    ///
    /// ```
    /// use payments_journal::{Journal, StateName};
    ///
    /// # async fn example(journal: Journal) -> Result<(), payments_journal::StoreError> {
    /// let mut pages = journal.pages(StateName::UNRESOLVED);
    /// while let Some(intents) = pages.next().await? {
    ///     for intent in intents {
    ///         println!("{}", intent.key);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn pages<'a>(&self, states: &'a [StateName]) -> Pages<'a> {
        Pages { journal: self.clone(), states, after: None, is_done: false }
    }

    /// Records what a person found out about this intent, without checking it:
    /// [`JournaledClient::look_up_and_resolve`](crate::JournaledClient::look_up_and_resolve) looks the transaction up first.
    ///
    /// `read` is the intent as the person saw it. If it has changed since then, nothing is written: the person decided about
    /// something else. Read it again, and let the person decide again. An attempt that was only marked as a crash meanwhile
    /// counts as unchanged.
    ///
    /// | the newest attempt is | accepted |
    /// |---|---|
    /// | unknown, or resolved by a person | processed, rejected, not processed |
    /// | rejected or not processed, in the words of the service or of the transport | processed |
    /// | processed as the service reports, or being sent | nothing |
    ///
    /// For an earlier attempt ([`Resolution::of_attempt`]) only *processed* is accepted. If no later attempt may have moved
    /// money, the key is then processed as that transaction. Otherwise the finding is recorded, the key is never sent again, and
    /// the transaction is one of its [possible second charges](Intent::second_charges).
    ///
    /// Every resolution and its note is kept in [`Intent::history`], also after another one has replaced it.
    ///
    /// If later entries than a rejected key's were [lost](Self::accept_history), it may have been sent since then. To say again that
    /// it moved no money makes it [`Unknown`](IntentState::Unknown), with the error that it [became
    /// unknown](ResolveError::became_unknown): find out about the lost time too, then resolve it.
    ///
    /// # Errors
    ///
    /// If the intent has changed, if the resolution is not accepted, if another intent already has that transaction (a payment
    /// and its void may have the same), or if the journal cannot be read or written. Nothing was changed, but for a key that became
    /// unknown. If two
    /// people name one transaction for two intents at the same time, one of them gets this error.
    pub async fn resolve(&self, read: &Intent, resolution: Resolution) -> Result<Intent, ResolveError> {
        self.decided(Change::resolve(read, resolution, SystemTime::now())).await
    }

    /// As [`resolve`](Self::resolve), by a person who asked this [service](payments_core::Client::service). A key whose entry was
    /// [lost](crate::Subject::Lost), so that its service is not known, then belongs to it. Otherwise no service gets an answer from
    /// it once it is resolved as processed or rejected.
    ///
    /// # Errors
    ///
    /// As [`resolve`](Self::resolve). If the intent belongs to [another service](ResolveError::is_other_service), or if no client
    /// would call this one.
    pub async fn resolve_of_service(
        &self,
        read: &Intent,
        resolution: Resolution,
        service: &str,
    ) -> Result<Intent, ResolveError> {
        read.check_service(service)?;
        check_name("the service", service).map_err(|why| ResolveError(Reason::InvalidService(why)))?;
        self.decided(Change::resolve(read, resolution, SystemTime::now()).of_service(service)).await
    }

    /// Makes a change that a person decides.
    async fn decided(&self, change: Change) -> Result<Intent, ResolveError> {
        Err(ResolveError(match self.store.apply(change.clone()).await? {
            // It may have been sent in a time whose entries are lost, of which this person does not know.
            Applied::Written { row, .. } if row.is_unknown_by_loss() && change.allows_another_attempt() => {
                Reason::Refused(Refusal::Changed(row.attempts), row.into())
            }
            Applied::Written { row, .. } => return Ok(row),
            Applied::Refused(_, None) => Reason::NoSuchIntent(change.key().clone()),
            Applied::Refused(why, Some(found)) => Reason::Refused(why, found.into()),
        }))
    }

    /// Allows a rejected intent to be sent again, by a person's decision. It becomes
    /// [`NotProcessed`](IntentState::NotProcessed) if it was rejected with one of these HTTP statuses, such as those that are not
    /// [about the payment](crate::Failure::is_about_the_payment). If later entries than its rejection were
    /// [lost](Self::accept_history), it becomes [`Unknown`](IntentState::Unknown), with the error that it
    /// [became unknown](ResolveError::became_unknown).
    ///
    /// Its next call may be a [corrected request](Intent::differences): the same payment with another token or card.
    ///
    /// `by` is the person who allows it, and `note` says why. Both are kept in [`Intent::history`].
    ///
    /// # Errors
    ///
    /// If the intent is [not rejected](ResolveError::is_not_rejected), or not with one of these statuses, if a text has more than
    /// [`Resolution::MAX_TEXT_BYTES`], if there is a note and the intent has 100 notes and resolutions already, or if the journal
    /// cannot be read or written. Nothing was changed, but for a key that became unknown.
    pub async fn reopen(
        &self,
        key: &IntentKey,
        http_statuses: &[u16],
        by: &str,
        note: Option<&str>,
    ) -> Result<Intent, ResolveError> {
        check_texts(by, note).map_err(StoreError::from)?;
        let change = Change::reopen(key.clone(), Some(http_statuses), by, note, SystemTime::now());
        self.decided(change).await
    }

    /// As [`reopen`](Self::reopen), whatever it was rejected with, for a person who names this one key. Its next call may be a
    /// [corrected request](Intent::differences) even without a reference. A key that was already reopened becomes one that was
    /// named.
    ///
    /// # Errors
    ///
    /// As [`reopen`](Self::reopen).
    pub async fn reopen_by_name(
        &self,
        key: &IntentKey,
        by: &str,
        note: Option<&str>,
    ) -> Result<Intent, ResolveError> {
        check_texts(by, note).map_err(StoreError::from)?;
        self.decided(Change::reopen(key.clone(), None, by, note, SystemTime::now())).await
    }

    /// Checks that the journal does not lack its newest entries, as far as that can be observed.
    ///
    /// Reads are not refused after a loss, and cannot show it: a key that was charged is then not found, or shown in its earlier state.
    /// A [reader](Self::read_only) sees nothing of it on a standby, in a copy of the file without the folder beside it, and as a
    /// user who may not ask PostgreSQL for its timeline. It does not know of
    /// [`fails_over_without_loss`](crate::PostgresOptions::fails_over_without_loss).
    ///
    /// # Errors
    ///
    /// The error with which everything that begins is refused ([`StoreError::is_history_lost`]); others if the journal cannot be
    /// read.
    pub async fn check_history(&self) -> Result<(), StoreError> {
        self.store.check_history().await
    }

    /// Accepts that the journal has lost its newest entries, as after a restore of an older copy or a failover to a server that
    /// lacks commits: what [is refused](StoreError::is_history_lost) since then may begin again.
    ///
    /// First make a list of every key that was sent in the lost time, from what the journal does not keep: the billing files of
    /// that time, or the orders in your own database. **A key that is not on the list may be charged a second time.** Each key on
    /// it that the journal lacks, each that a call could send, and each that is unknown already, becomes
    /// [`Unknown`](IntentState::Unknown), kind `lost_history`, so that a person resolves it; its time is the one at which the
    /// journal's entries end, or an earlier one at which it became unknown or of an earlier loss. What a person found out about it
    /// before the loss is refused, because the key has changed. Returns the number of keys that became unknown. All others stay as
    /// they are, but a key that was rejected before this may have been sent once more by an explicit call: the next call
    /// [after its rejection](crate::JournaledClient::after_rejection), its [reopening](Self::reopen), or
    /// another [resolution](Self::resolve) by which it moved no money, sends nothing and makes it unknown too. So does each key that
    /// is rejected when this is called again; one that is rejected later is one as any other.
    ///
    /// It may be called again with further keys, also while nothing is refused. `by` is the person who says so; the journal keeps
    /// it, also in the [history](Intent::history) of each key that became unknown.
    ///
    /// # Errors
    ///
    /// If `by` has more than [`Resolution::MAX_TEXT_BYTES`], or if the journal cannot be read or written: nothing begins until the
    /// call is repeated.
    pub async fn accept_history(&self, lost: SentSince<'_>, by: &str) -> Result<u64, StoreError> {
        check_texts(by, None)?;
        let by = &*mask(by, &[]);
        let (since, at) = (self.store.lost_since().await?, SystemTime::now());
        let (since, owner) = (since.unwrap_or(at), self.store.owner());
        let sent = match lost {
            SentSince::Keys(keys) => Some(keys),
            SentSince::Nothing => None,
        };
        let mut unknown = 0;
        if let Some(keys) = sent {
            for key in keys {
                let applied =
                    self.store.apply(Change::lost(key.clone(), since, owner.clone(), by, at)).await?;
                unknown += u64::from(applied.written().is_some());
            }
            let mut pages = self.pages(&[StateName::Rejected, StateName::NotProcessed]);
            while let Some(intents) = pages.next().await? {
                let rejected: Vec<_> = intents.into_iter().filter(Intent::is_rejected).collect();
                for some in rejected.chunks(MARKED_TOGETHER) {
                    let mark = |Intent { key, .. }: &Intent| Change::may_lack(key.clone(), since, at);
                    try_join_all(some.iter().map(|intent| self.store.apply(mark(intent)))).await?;
                }
            }
        }
        self.store.accept_history(by, sent.map(|keys| keys.len() as u64), since).await?;
        Ok(unknown)
    }

    /// Removes intents that ended longer ago than `age`. Unresolved intents are never removed.
    ///
    /// **A removed key is new again**: using it once more charges once more. So age does not depend only on the clock of the
    /// process that sends or purges. It counts from a time that the store records with each row:
    ///
    /// | store | a row is removed if it is old |
    /// |---|---|
    /// | `PostgresStore` | by the server's clock, which also recorded the time of the row |
    /// | `SqliteStore` | by the machine's clock *and* by the newest time that the journal held when it was opened |
    /// | [`MemoryStore`](crate::MemoryStore) | by a clock that never jumps, and by what a test has [added](crate::MemoryStore::make_older) |
    ///
    /// A SQLite journal records the later of the machine's clock and the newest time that it holds, and removes nothing while
    /// the clock is behind that time. It does not notice a clock that ran ahead while an earlier process wrote rows, nor one that
    /// was behind while it wrote the first rows of a new file: those rows look older than they are. Compare [`Purged::newest`] with
    /// what you expect. These rules are chosen by this SDK.
    ///
    /// # Errors
    ///
    /// If `age` is under 24 hours, in which a caller may still repeat a key; or if the store cannot be written.
    pub async fn purge_older_than(&self, age: Duration) -> Result<Purged, StoreError> {
        if age < Self::YOUNGEST_TO_PURGE {
            return Err(StoreError::refused(
                "the age must be at least 24 hours, because a younger key may still be repeated; nothing was removed",
            ));
        }
        self.store.purge(age).await
    }

    /// 24 hours. No store removes what is younger.
    pub const YOUNGEST_TO_PURGE: Duration = Duration::from_hours(24);

    /// Marks as unknown the intents that dead owners were sending, and returns their number.
    ///
    /// # Errors
    ///
    /// If the store cannot be read or written.
    pub async fn mark_crashed(&self) -> Result<u64, StoreError> {
        let (mut live, mut marked) = (Liveness::of(self.store()), 0);
        let mut pages = self.pages(&[StateName::Sending]);
        while let Some(intents) = pages.next().await? {
            live.are_known(intents.iter().map(|intent| &intent.owner).collect()).await?;
            for intent in intents {
                if live.is_dead(&intent.owner) {
                    marked += u64::from(self.mark_one_crashed(&intent).await?.written().is_some());
                }
            }
        }
        Ok(marked)
    }

    /// Writes the outcomes that [could not be written](crate::Journaled::write_error) when their charges ended. The journal also
    /// does this before anything new begins, and in the background as long as the tokio runtime of the charge runs, if that has a
    /// timer. Before a program ends, this is the last chance.
    ///
    /// After `Ok` no outcome is left to write. It returns those that this call has written, which a call with the key or a person
    /// may still have seen as unresolved, and those that were not recorded because somebody had decided about the key meanwhile.
    ///
    /// ```
    /// use payments_journal::{Ending, Journal};
    ///
    /// /// At the end of a program, after `drain`.
    /// async fn last_outcomes(journal: &Journal) {
    ///     let flushed = journal.flush().await;
    ///     let ends = flushed.as_ref().map_or_else(|error| error.late_ends(), |ends| ends.as_slice());
    ///     for end in ends.iter().filter(|end| !end.is_recorded) {
    ///         match &end.ending {
    ///             Ending::Processed(id) => eprintln!("{} is charged as {id}: resolve the key", end.key),
    ///             ending => eprintln!("{} is not recorded: {ending:?}", end.key),
    ///         }
    ///     }
    ///     if let Err(error) = &flushed {
    ///         eprintln!("some outcomes are not recorded: {error:#}");
    ///     }
    /// }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), payments_journal::StoreError> {
    /// # last_outcomes(&Journal::open(payments_journal::MemoryStore::new()).await?).await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It may be cancelled at any point: the next call writes the rest. If another call is already writing, it waits for that
    /// one, but not for longer than 2 seconds if that makes no progress.
    ///
    /// # Errors
    ///
    /// If the store still cannot be written, or does not accept one of the outcomes, for example because a newer version of this
    /// crate has rewritten its row. The error names the key, and [has](FlushError::late_ends) every outcome. In the second case every other outcome was written, and other keys
    /// can begin. What is not written becomes unknown the next time the journal is opened.
    pub async fn flush(&self) -> Result<Vec<LateEnd>, FlushError> {
        self.unwritten.write_all(&*self.store).await
    }

    /// [Flushes](Self::flush) for at most 5 seconds, closes the store for every clone of this journal, and waits until it is
    /// closed. If no other process has a SQLite journal open, it is then a single file, without its log. A program that ends
    /// without this may leave the log, as after a crash, and the next process that opens the journal reads it. No key or
    /// outcome is lost.
    ///
    /// A PostgreSQL journal also waits until what uses it has ended, such as a [`summary`](Self::summary) of many rows or a
    /// [`rename_service`](Self::rename_service): that takes minutes at most.
    ///
    /// Every call after this fails, and nothing is sent. [Drain](crate::JournaledClient::drain) the client first. Call
    /// [`flush`](Self::flush) first to find out whether every outcome is written.
    pub async fn close(&self) {
        if !self.unwritten.is_empty() {
            // A thread, because a timer of tokio panics in a runtime without timers and in one that is shutting down.
            let (running, time_is_up) = oneshot::channel::<()>();
            let (flushed, is_flushed) = mpsc::channel::<()>();
            let wait = move || {
                let _ = is_flushed.recv_timeout(LAST_WRITES);
                drop(running);
            };
            // Without a thread, the time is up at once.
            let _ = thread::Builder::new().name("payments-journal-close".to_owned()).spawn(wait);
            let flushing = pin!(AssertUnwindSafe(self.flush()).catch_unwind());
            let _ = select(flushing, time_is_up).await;
            drop(flushed);
        }
        self.unwritten.close();
        self.store.close().await;
    }

    /// Records that this attempt is about to be sent.
    pub(crate) async fn begin(&self, key: &IntentKey, new: &NewAttempt) -> Result<Begun, Error> {
        let failed = |cause| Error::new(key.clone(), cause);
        let flushed = self.unwritten.write_before(key, &*self.store).await;
        flushed.map_err(|error| failed(Cause::Store(error)))?;
        let change = Change::begin(key.clone(), new.clone(), SystemTime::now());
        let (why, found) = match self.store.apply(change).await {
            Ok(Applied::Written { row, .. }) if row.state == IntentState::Sending => {
                return Ok(Begun::Written(row));
            }
            // It may have been sent in a time whose entries are lost.
            Ok(Applied::Written { row, .. }) => return Ok(Begun::Refused(new.refused_by(&row), row)),
            Ok(Applied::Refused(why, Some(found))) => (why, found),
            Ok(_) => return Err(failed(Cause::NoSuchIntent)),
            Err(error) => {
                if error.is_in_doubt() {
                    // It may be recorded as begun, and is not sent. Withdraw it at once, so that the key is free again.
                    let (key, attempt_id) = (key.clone(), new.attempt_id.clone());
                    let _ =
                        self.end(Change::end(key, attempt_id, Ending::withdrawn(), SystemTime::now())).await;
                }
                return Err(failed(Cause::Store(error)));
            }
        };
        // An owner whose state cannot be read counts as live.
        if found.state == IntentState::Sending
            && found.owner != new.owner
            && let Ok(false) = self.store.is_live(&found.owner).await
            && let Ok(Applied::Written { row, .. } | Applied::Refused(_, Some(row))) =
                self.mark_one_crashed(&found).await
        {
            return Ok(Begun::Refused(new.refused_by(&row), row));
        }
        Ok(Begun::Refused(why, found))
    }

    /// The row of this key, if it may have moved money, for a call that does not begin. `is_secret` says that no text may show the key.
    pub(crate) async fn may_be_paid(
        &self,
        key: &IntentKey,
        is_secret: bool,
    ) -> Result<Option<Intent>, StoreError> {
        self.unwritten.write_before(key, &*self.store).await?;
        let found = if is_secret { self.store.find_secret(key) } else { self.store.find(key) };
        let paid = found.await?.filter(|row| !row.moved_nothing());
        if paid.is_none() {
            self.check_history().await?;
        }
        Ok(paid)
    }

    /// Marks an attempt as unknown, because its owner is dead.
    async fn mark_one_crashed(&self, sending: &Intent) -> Result<Applied, StoreError> {
        let change = Change::orphan(sending.key.clone(), sending.attempt_id.clone(), SystemTime::now());
        let applied = self.store.apply(change).await?;
        if let Applied::Written { row: Intent { state: IntentState::Unknown(failure), .. }, .. } = &applied {
            events::unknown(&sending.key, failure);
        }
        Ok(applied)
    }

    /// Records how the attempt ended. If it cannot be written now, it is written before anything new begins.
    pub(crate) async fn end(&self, change: Change) -> Result<Applied, StoreError> {
        let applied = self.store.apply(change.clone()).await;
        let applied = applied.inspect_err(|error| self.unwritten.add(&self.store, change, Some(error)))?;
        events::same_transaction(&applied);
        if let Applied::Written { row, .. } = &applied {
            events::second_charges(row);
        }
        Ok(applied)
    }

    pub(crate) fn store(&self) -> &dyn IntentStore {
        &*self.store
    }

    /// Queues this end to be written before anything new begins, for an attempt that cannot wait for it.
    pub(crate) fn end_later(&self, change: Change) {
        self.unwritten.add(&self.store, change, None);
    }
}

/// The pages of a list: see [`Journal::pages`].
#[derive(Clone, Debug)]
#[must_use = "nothing is read before `next` is called"]
pub struct Pages<'a> {
    journal: Journal,
    states: &'a [StateName],
    /// The last position that was read.
    after: Option<i64>,
    is_done: bool,
}

impl Pages<'_> {
    /// The next intents, at most a thousand and perhaps none; `None` at the end. After that, calling again continues with what
    /// was added since.
    ///
    /// # Errors
    ///
    /// If they cannot be read. Calling again tries the same page.
    pub async fn next(&mut self) -> Result<Option<Vec<Intent>>, StoreError> {
        if std::mem::take(&mut self.is_done) {
            return Ok(None);
        }
        let rows = self.journal.store.list(self.states, self.after, PAGE).await?;
        self.is_done = rows.len() < PAGE;
        self.after = rows.last().map(|(position, _)| *position).or(self.after);
        let intents = rows.into_iter().map(|(_, intent)| intent);
        Ok(Some(intents.filter(|intent| self.states.contains(&intent.state.name())).collect()))
    }
}

/// Whether an attempt may be sent.
pub(crate) enum Begun {
    /// It may: this is its row.
    Written(Intent),
    /// The key, of which this is the row, does not allow it.
    Refused(Refusal, Intent),
}

/// What was sent in the time whose entries a journal has lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "complete: something or nothing")]
pub enum SentSince<'a> {
    /// At most these keys.
    Keys(&'a [IntentKey]),
    /// Nothing, as in a planned switch-over.
    Nothing,
}

/// How long closing the journal tries to write outcomes.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// Rows that are read at once.
const PAGE: usize = 1000;

/// Rows that are marked at once: a store commits several together.
const MARKED_TOGETHER: usize = 64;

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { store, unwritten: _ } = self;
        f.debug_struct("Journal").field("owner", store.owner()).finish_non_exhaustive()
    }
}
