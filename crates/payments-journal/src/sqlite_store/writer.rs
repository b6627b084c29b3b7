use std::error::Error;
use std::fmt::Display;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use futures_channel::oneshot;
use futures_util::FutureExt as _;
use futures_util::future::Shared;
use payments_model::TransactionId;
use rusqlite::{Connection, OptionalExtension, Statement};

use crate::milliseconds;
use crate::row::document;
use crate::service_change::{NAMED, ServiceChange, ServiceError};
use crate::sqlite_store::owners::Owner;
use crate::sqlite_store::place::Place;
use crate::sqlite_store::settings::Settings;
use crate::sqlite_store::witness::{Alarm, Witnesses};
use crate::sqlite_store::{connection, open_flag, problem, schema};
use crate::{Applied, Change, Intent, IntentKey, StoreError};

/// A thread that makes the changes, all waiting ones in one commit.
pub(super) struct Writer {
    /// A `None` in it ends the thread, and is the last that is sent.
    jobs: Mutex<Option<mpsc::Sender<Option<Job>>>>,
    /// Fails when the thread has ended.
    pub(super) running: Shared<oneshot::Receiver<()>>,
    place: Arc<Place>,
    pub(super) poison: Poison,
}

/// Why the store has stopped, after a failure.
pub(super) type Poison = Arc<OnceLock<StoreError>>;

/// One change or one batch of a purge, and who waits for it.
struct Job {
    work: Work,
    caller: Caller,
    /// Until when a transaction that changed nothing is repeated for it; `None` if it is not.
    retry_until: Option<Instant>,
    /// Whether something is sent once this has ended.
    is_begin: bool,
}

/// What a job does in the transaction. It is done again if the transaction is repeated.
type Work = Box<dyn FnMut(&mut Session<'_>) -> rusqlite::Result<()> + Send>;

/// Gets the result of the transaction when it has ended.
type Caller = oneshot::Sender<Result<(), StoreError>>;

impl Writer {
    /// The thread writes until [`end`](Self::end) is called or this is dropped. Then it closes the journal. Only `end` waits for
    /// that.
    pub(super) fn start(
        connection: Connection,
        moved: i64,
        place: Arc<Place>,
        settings: Settings,
        witnesses: Witnesses,
        owner: Arc<Owner>,
        reader: JoinHandle<()>,
    ) -> Result<Self, StoreError> {
        let (jobs, received) = mpsc::channel();
        let (until_ended, running) = oneshot::channel();
        let (poison, jobs) = (Poison::default(), Mutex::new(Some(jobs)));
        let this = Self { jobs, running: running.shared(), place: place.clone(), poison: poison.clone() };
        let work = move || {
            let (max_wait, mut jobs) = (settings.max_wait, Vec::new());
            let result = Session::new(&connection, moved, &place, settings, witnesses)
                .map_err(|error| Failure::poisoned(place.path(), error))
                .and_then(|mut session| session.serve(&received, &mut jobs));
            match result {
                Ok(()) => {
                    // The reader ends first, because the last connection to close removes the log, and only the writer may.
                    // If the reader panicked, its callers have got an error.
                    let _ = reader.join();
                    if !place.is_displaced() {
                        open_flag::close(&place, connection, &owner, max_wait);
                    }
                }
                Err(Failure { error, of_later }) => {
                    // Closing also releases the file if a transaction is open. The log stays: after a failed sync it is unknown
                    // how much of it is on the disk, and the next process that opens the file reads it again. Callers get the
                    // error only after the file is closed.
                    drop(connection);
                    let of_later = poison.get_or_init(|| of_later);
                    for job in jobs {
                        // Fails only if the caller has left.
                        let _ = job.caller.send(Err(error.clone()));
                    }
                    // Jobs received from now on were not started.
                    for job in received.into_iter().flatten() {
                        let _ = job.caller.send(Err(of_later.clone()));
                    }
                    let _ = reader.join();
                }
            }
            owner.release();
            drop(until_ended);
        };
        let thread = thread::Builder::new().name("payments-journal-writer".to_owned());
        thread.spawn(work).map_err(|error| problem::unavailable(this.place.path(), error))?;
        Ok(this)
    }

    /// Ends the thread after the jobs before this, and waits for it.
    pub(super) async fn end(&self) {
        if let Some(jobs) = self.jobs().take() {
            // Fails only if the thread has already ended.
            let _ = jobs.send(None);
        }
        // Nothing is ever sent on this channel, so this returns when the thread has ended.
        let _ = self.running.clone().await;
    }

    /// Returns once the work is durable. The inner error concerns only one row, which was then not changed. If another process
    /// has the file or the disk is full, the work is repeated until this time.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        retry_until: Option<Instant>,
        is_begin: bool,
        mut work: impl FnMut(&mut Session<'_>) -> rusqlite::Result<Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        const GONE: &str = "it was closed, or its writer thread has panicked";
        let path = self.place.path();
        let (caller, committed) = oneshot::channel();
        let (sender, results) = mpsc::channel();
        let work = Box::new(move |session: &mut Session<'_>| {
            // Fails only if the caller has left.
            let _ = sender.send(work(session)?);
            Ok(())
        });
        let job = Job { work, caller, retry_until, is_begin };
        if self.jobs().as_ref().is_none_or(|jobs| jobs.send(Some(job)).is_err()) {
            return Err(self.poison.get().cloned().unwrap_or_else(|| problem::poisoned(path, GONE)));
        }
        committed.await.unwrap_or_else(|_| Err(problem::in_doubt(path, GONE)))?;
        results.try_iter().last().expect("the work ran before the commit")
    }

    fn jobs(&self) -> MutexGuard<'_, Option<mpsc::Sender<Option<Job>>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why the store stops.
struct Failure {
    /// For the jobs of the failed transaction.
    error: StoreError,
    /// For all later jobs.
    of_later: StoreError,
}

impl Failure {
    /// The same error for all jobs.
    fn poisoned(path: &Path, reason: impl Display) -> Self {
        let error = problem::poisoned(path, reason);
        Self { of_later: error.clone(), error }
    }

    /// Nothing shows whether the jobs of the transaction were done.
    fn in_doubt(path: &Path, reason: impl Display) -> Self {
        Self { error: problem::in_doubt(path, &reason), of_later: problem::poisoned(path, &reason) }
    }
}

/// The connection, and every statement of a change, prepared once.
pub(super) struct Session<'a> {
    connection: &'a Connection,
    /// The number of a change up to which the database file has everything.
    moved: i64,
    place: &'a Place,
    settings: Settings,
    witnesses: Witnesses,
    find: Statement<'a>,
    insert: Statement<'a>,
    update: Statement<'a>,
    other_holder: Statement<'a>,
    stamp: Statement<'a>,
    /// The number of jobs in the transaction.
    jobs: usize,
    /// What the rows of the transaction are stored with. It is read with the first row.
    stamped: Option<Stamp>,
}

struct Stamp {
    stored_at: i64,
    position: i64,
    /// The number of the change.
    change: i64,
    /// Why nothing may begin.
    alarm: Option<Alarm>,
    /// Whether the journal has a witness that the caller has not named.
    is_unnamed: bool,
}

impl<'a> Session<'a> {
    fn new(
        connection: &'a Connection,
        moved: i64,
        place: &'a Place,
        settings: Settings,
        witnesses: Witnesses,
    ) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            moved,
            place,
            settings,
            witnesses,
            find: connection.prepare(schema::FIND)?,
            insert: connection.prepare(schema::INSERT)?,
            update: connection.prepare(schema::UPDATE)?,
            other_holder: connection.prepare(schema::OTHER_HOLDER)?,
            stamp: connection.prepare(schema::STAMP)?,
            jobs: 0,
            stamped: None,
        })
    }

    /// Runs jobs until the channel is closed or something fails. Then `jobs` has those of the failed transaction.
    fn serve(&mut self, received: &mpsc::Receiver<Option<Job>>, jobs: &mut Vec<Job>) -> Result<(), Failure> {
        let mut is_closing = false;
        loop {
            let mut next = if jobs.is_empty() {
                let Ok(first) = received.recv() else { return Ok(()) };
                Some(first)
            } else {
                received.try_recv().ok()
            };
            while let Some(message) = next {
                if let Some(job) = message {
                    jobs.push(job);
                } else {
                    is_closing = true;
                }
                if jobs.len() >= MAX_JOBS_PER_COMMIT {
                    break;
                }
                next = received.try_recv().ok();
                if next.is_none() {
                    // Let callers that are about to send a job share the commit, which costs much more than a yield.
                    thread::yield_now();
                    next = received.try_recv().ok();
                }
            }
            if jobs.is_empty() {
                continue;
            }
            if let Err(refusal) = self.transact(jobs)? {
                let now = Instant::now();
                let is_over = |job: &mut Job| is_closing || job.retry_until.is_none_or(|until| until <= now);
                for job in jobs.extract_if(.., is_over) {
                    let _ = job.caller.send(Err(refusal.clone()));
                }
                if !jobs.is_empty() {
                    thread::sleep(RETRY_PAUSE);
                }
                continue;
            }
            let witnessed = match &self.stamped {
                Some(Stamp { change, alarm: None, .. }) => self.witnesses.advance(*change),
                _ => Ok(()),
            };
            let witnessed = witnessed.map_err(|error| problem::not_witnessed(self.place.path(), &error));
            for job in jobs.drain(..) {
                // An end is recorded anyway.
                let result = if job.is_begin { witnessed.clone() } else { Ok(()) };
                let _ = job.caller.send(result);
            }
            // After every caller has got its result.
            self.checkpoint().map_err(|error| Failure::poisoned(self.place.path(), error))?;
        }
    }

    /// Runs all jobs in one transaction, which is durable when this returns. The inner error means that nothing was changed,
    /// and that the same transaction may succeed later.
    fn transact(&mut self, jobs: &mut [Job]) -> Result<Result<(), StoreError>, Failure> {
        let path = self.place.path();
        if !self.begin(jobs.len()).map_err(|error| Failure::poisoned(path, error))? {
            return Ok(Err(problem::busy(path)));
        }
        let worked = jobs.iter_mut().try_for_each(|job| (job.work)(self));
        let is_committing = worked.is_ok();
        match worked.and_then(|()| (self.settings.commit)(self.connection)) {
            // Checked again, because a commit to a removed file is lost.
            Ok(()) if self.place.is_displaced() => Err(Failure::in_doubt(path, problem::DISPLACED)),
            Ok(()) => Ok(Ok(())),
            // The write that failed was one to the log, before the sync. Without its last page the transaction does not count.
            Err(error) if problem::is_full(&error) && self.roll_back().is_ok() => {
                Ok(Err(problem::full(path)))
            }
            Err(error) if is_committing => Err(Failure::in_doubt(path, error)),
            Err(error) => Err(Failure::poisoned(path, error)),
        }
    }

    /// `false` if another process has the file.
    fn begin(&mut self, jobs: usize) -> Result<bool, Box<dyn Error>> {
        if self.place.is_displaced() {
            return Err(problem::DISPLACED.into());
        }
        if problem::unless_busy(self.connection.execute_batch("BEGIN IMMEDIATE"))?.is_none() {
            return Ok(false);
        }
        let version: i32 = self.connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version != schema::VERSION {
            return Err(format!("another process has changed its schema to version {version}").into());
        }
        (self.jobs, self.stamped) = (jobs, None);
        Ok(true)
    }

    /// SQLite may already have done it.
    fn roll_back(&self) -> rusqlite::Result<()> {
        if self.connection.is_autocommit() { Ok(()) } else { self.connection.execute_batch("ROLLBACK") }
    }

    /// Moves the log into the database when it has grown. Pages that others still read stay until the next time, and all pages
    /// if the disk is full.
    fn checkpoint(&mut self) -> rusqlite::Result<()> {
        if connection::checkpoint(self.connection, "NOOP")? >= MAX_LOG_PAGES {
            match connection::checkpoint(self.connection, "PASSIVE") {
                Ok(0) => self.moved = self.stamped.as_ref().map_or(self.moved, |stamp| stamp.change),
                Err(error) if !problem::is_full(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads the row, calls [`Change::decide_after_loss`] and writes the result.
    pub(super) fn apply(&mut self, change: &Change) -> rusqlite::Result<Result<Applied, StoreError>> {
        let (position, found) = match self.find.query_row([change.key().as_str()], schema::read).optional() {
            // Only this row cannot be read.
            Err(error) if error.sqlite_error_code().is_none() => {
                return Ok(Err(problem::unreadable(self.place.path(), &error)));
            }
            found => found?.unzip(),
        };
        let lost_since = match (position, &found) {
            (Some(position), Some(found)) if change.is_after_rejection(found) => self
                .connection
                .query_row(schema::LOST_SINCE, [position], |row| row.get(0))
                .optional()?
                .and_then(milliseconds::time),
            _ => None,
        };
        let Some(written) = change.decide_after_loss(found.as_ref(), lost_since) else {
            return Ok(Ok(Applied { found, written: None, same_transaction_as: None }));
        };
        let (key, is_void) = (written.key.as_str(), written.is_void());
        let also_held = |intent: &Intent| -> Vec<_> {
            intent.held_transactions().skip(1).map(|id| id.as_str().to_owned()).collect()
        };
        let (held_before, held) = (found.as_ref().map(also_held).unwrap_or_default(), also_held(&written));
        let processed_as = written.held_transactions().next().map(TransactionId::as_str);
        let other_holder = match change.transaction_to_search().map(TransactionId::as_str) {
            Some(id) => self
                .other_holder
                .query_row((id, key, is_void, &written.service), |row| row.get(0))
                .optional()?,
            None => None,
        };
        let same_transaction_as = other_holder.map(|key: String| IntentKey::from_kept(key));
        if same_transaction_as.is_some() && change.is_refused_if_taken() {
            return Ok(Ok(Applied { found, written: None, same_transaction_as }));
        }
        let path = self.place.path();
        let (stored_at, next_position, alarm) = self.stamp()?;
        // If a copy from before such a resolution were restored, no witness would know of it, and the key would be sent.
        let must_be_watched = change.resolution().is_some()
            && found.as_ref().is_some_and(Intent::moved_nothing)
            && !written.moved_nothing();
        if let Some(alarm) = alarm
            && (change.is_begin() || must_be_watched && matches!(alarm, Alarm::Unwatched(_)))
        {
            return Ok(Err(alarm.refusal(path)));
        }
        let statement = if found.is_some() { &mut self.update } else { &mut self.insert };
        let state = written.state.name().as_str();
        let position = position.unwrap_or(next_position);
        let (service, document) = (&written.service, document(&written));
        let list = (!held.is_empty()).then(|| serde_json::to_string(&held).expect("texts are JSON"));
        let row = (position, key, state, processed_as, is_void, service, document, stored_at, list);
        let changed = statement.execute(row)?;
        if changed != 1 {
            return Err(rusqlite::Error::StatementChangedRows(changed));
        }
        if held != held_before {
            for id in &held_before {
                self.connection.execute(schema::RELEASE, (id, position))?;
            }
            for id in &held {
                self.connection.execute(schema::HOLD, (id, position))?;
            }
        }
        Ok(Ok(Applied { found, written: Some(written), same_transaction_as }))
    }

    /// The time, the position of the next new row, and why nothing may begin.
    fn stamp(&mut self) -> rusqlite::Result<(i64, i64, Option<&Alarm>)> {
        let stamp = if let Some(stamp) = self.stamped.take() {
            stamp
        } else {
            let now = milliseconds::of((self.settings.clock)());
            let (stored_at, position, change, witnesses, is_lost): (_, _, i64, i64, bool) =
                self.stamp.query_row((now, self.jobs.cast_signed(), self.moved), |row| row.try_into())?;
            let is_unnamed = witnesses > self.witnesses.len();
            let unnamed = || {
                let why = "it has a witness elsewhere, which was not named";
                is_unnamed.then(|| Alarm::Unwatched(why.to_owned()))
            };
            let alarm = if is_lost {
                Some(Alarm::Lost("this was noticed earlier".to_owned()))
            } else {
                self.witnesses.alarm(change - 1).or_else(unnamed)
            };
            let change = match alarm {
                Some(Alarm::Lost(_)) if !is_lost => {
                    self.connection.execute(schema::SET_LOST, [])?;
                    change
                }
                Some(Alarm::Unwatched(_)) => {
                    self.connection.execute(schema::UNCOUNT, [])?;
                    change - 1
                }
                _ => change,
            };
            Stamp { stored_at, position, change, alarm, is_unnamed }
        };
        let (stored_at, position) = (stamp.stored_at, stamp.position);
        let stamp = self.stamped.insert(Stamp { position: position + 1, ..stamp });
        Ok((stored_at, position, stamp.alarm.as_ref()))
    }

    /// Since when entries are lost, or were lost if a person has accepted that already.
    pub(super) fn lost_since(&mut self) -> rusqlite::Result<SystemTime> {
        let (_, _, alarm) = self.stamp()?;
        let is_accepted = alarm.is_none();
        let time = |sql| self.connection.query_row(sql, [], |row| row.get(0)).optional();
        let accepted = if is_accepted { time(schema::ACCEPTED_SINCE)? } else { None };
        let since: Option<i64> = if accepted.is_some() { accepted } else { time(schema::NEWEST_CREATED_AT)? };
        Ok(since.and_then(milliseconds::time).unwrap_or(SystemTime::UNIX_EPOCH))
    }

    /// A person accepts that the database lacks entries: its witnesses are set to what it has.
    pub(super) fn accept(
        &mut self,
        by: &str,
        sent: Option<i64>,
        since: SystemTime,
    ) -> rusqlite::Result<Result<(), StoreError>> {
        let (stored_at, ..) = self.stamp()?;
        let Some(stamp) = &mut self.stamped else { return Ok(Ok(())) };
        if stamp.is_unnamed {
            let why = "has a second witness, which was not named: name it, or a new place for it, with --witness \
                       (PAYMENTS_JOURNAL_WITNESS, SqliteOptions::witness)";
            return Ok(Err(problem::refused(self.place.path(), why)));
        }
        let change = stamp.change.max(self.witnesses.newest()) + 1;
        // Before the commit: if that fails, the witnesses are ahead, and begins stay refused.
        if let Err(error) = self.witnesses.reset(change) {
            return Ok(Err(problem::not_witnessed(self.place.path(), &error)));
        }
        self.connection.execute(schema::FORGET_LOSS, (change, self.witnesses.len()))?;
        self.connection
            .execute(schema::ACCEPT, (stored_at, by, sent, milliseconds::of(since), None::<String>))?;
        (stamp.change, stamp.alarm, stamp.stored_at) = (change, None, stored_at + 1);
        Ok(Ok(()))
    }

    /// Renames or removes the intents of a service, or returns why not.
    pub(super) fn change_service(
        &mut self,
        change: &ServiceChange,
    ) -> rusqlite::Result<Result<Option<ServiceError>, StoreError>> {
        let (stored_at, ..) = self.stamp()?;
        self.connection.execute_batch("SAVEPOINT service")?;
        let changed = self.try_to_change_service(change, stored_at);
        // Other changes of the transaction are committed anyway.
        if !matches!(changed, Ok(None)) {
            self.connection.execute_batch("ROLLBACK TO service")?;
        }
        self.connection.execute_batch("RELEASE service")?;
        match changed {
            // Only one row cannot be read.
            Err(error) if error.sqlite_error_code().is_none() => {
                Ok(Err(problem::unreadable(self.place.path(), &error)))
            }
            changed => changed.map(Ok),
        }
    }

    fn try_to_change_service(
        &self,
        change: &ServiceChange,
        stored_at: i64,
    ) -> rusqlite::Result<Option<ServiceError>> {
        let (connection, service) = (self.connection, change.service());
        if let Some(refusal) = change.refusal(schema::summarize(connection, Some(service))?) {
            return Ok(Some(refusal));
        }
        if let Some(to) = change.new_name() {
            let mut same = connection.prepare(schema::SAME_TRANSACTIONS)?;
            let keys = same.query_map((service, to, NAMED), |row| row.get(0))?;
            let refusal = ServiceChange::same_transactions(keys.collect::<rusqlite::Result<Vec<_>>>()?);
            if refusal.is_some() {
                return Ok(refusal);
            }
            let mut page = connection.prepare(schema::OF_SERVICE)?;
            let mut rename = connection.prepare(schema::RENAME)?;
            let mut done = i64::MIN;
            loop {
                let rows = page.query_map((service, done, PURGE_BATCH), schema::read)?;
                let rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
                let Some((last, _)) = rows.last() else { break };
                done = *last;
                for (position, intent) in &rows {
                    rename.execute((position, to, document(&change.renamed(intent))))?;
                }
            }
        } else {
            connection.execute(schema::RELEASE_SERVICE, [service])?;
            connection.execute(schema::FORGET, [service])?;
        }
        let count = change.count().cast_signed();
        connection.execute(schema::ACCEPT, (stored_at, change.by(), count, None::<i64>, change.done()))?;
        Ok(None)
    }

    /// Removes rows that ended and were stored before that time, from a batch after this position. Returns the last position of
    /// the batch, and when each removed row was stored; or `None` at the end.
    pub(super) fn purge(
        &mut self,
        after: i64,
        stored_before: i64,
    ) -> rusqlite::Result<Option<(i64, Vec<i64>)>> {
        let first = self.connection.query_row(schema::POSITION_AFTER, [after], |row| row.get(0))?;
        let Some(first): Option<i64> = first else { return Ok(None) };
        let last = first.saturating_add(PURGE_BATCH);
        let mut purge = self.connection.prepare(&schema::purge())?;
        let purged = purge.query_map([first, last, stored_before], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?, schema::also_held(row, 2)?))
        })?;
        let mut times = Vec::new();
        for row in purged.collect::<rusqlite::Result<Vec<_>>>()? {
            let (stored_at, position, held) = row;
            times.push(stored_at);
            for id in held {
                self.connection.execute(schema::RELEASE, (id, position))?;
            }
        }
        Ok(Some((last, times)))
    }
}

/// Limits the memory of a commit, and the time for which others wait for it.
const MAX_JOBS_PER_COMMIT: usize = 1024;

/// Between two tries of a transaction.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Positions that a purge reads in one transaction.
const PURGE_BATCH: i64 = 2048;

/// The log is moved into the database when it has this many pages.
const MAX_LOG_PAGES: i64 = 3000;
