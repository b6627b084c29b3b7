//! One transaction of the writer: what its jobs read and write.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use payments_model::TransactionId;
use rusqlite::{Connection, OptionalExtension};

use crate::intent::base_url;
use crate::milliseconds;
use crate::row::document;
use crate::service_change::{NAMED, ServiceChange, ServiceError};
use crate::sqlite_store::place::Place;
use crate::sqlite_store::witness::{Alarm, Remembered, Witnesses};
use crate::sqlite_store::{connection, problem, tables};
use crate::{Applied, Change, Intent, IntentKey, StoreError};

/// The connection that changes rows. Every statement of a change is prepared once.
pub(super) struct Session {
    pub(super) connection: Connection,
    /// The number of a change up to which the database file has everything.
    moved: i64,
    pub(super) place: Arc<Place>,
    settings: Settings,
    witnesses: Witnesses,
    /// The number of jobs in the transaction.
    jobs: usize,
    /// What the rows of the transaction are stored with. It is read with the first row.
    stamped: Option<Stamp>,
    /// Whether the last change must have been seen by the witnesses before its caller relies on it.
    is_watched: bool,
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

impl Session {
    pub(super) const fn new(
        connection: Connection,
        moved: i64,
        place: Arc<Place>,
        settings: Settings,
        witnesses: Witnesses,
    ) -> Self {
        Self { connection, moved, place, settings, witnesses, jobs: 0, stamped: None, is_watched: false }
    }

    /// `false` if another process has the file.
    pub(super) fn begin(&mut self, jobs: usize) -> Result<bool, Box<dyn Error>> {
        if self.place.is_displaced() {
            return Err(problem::DISPLACED.into());
        }
        if problem::unless_busy(self.connection.execute_batch("BEGIN IMMEDIATE"))?.is_none() {
            return Ok(false);
        }
        let version: i32 = self.connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version != tables::VERSION {
            return Err(format!("another process has changed its schema to version {version}").into());
        }
        (self.jobs, self.stamped) = (jobs, None);
        Ok(true)
    }

    pub(super) fn commit(&mut self) -> rusqlite::Result<()> {
        (self.settings.commit)(&self.connection)
    }

    /// SQLite may already have done it.
    pub(super) fn roll_back(&self) -> rusqlite::Result<()> {
        if self.connection.is_autocommit() { Ok(()) } else { self.connection.execute_batch("ROLLBACK") }
    }

    /// Records the committed change with the witnesses, unless one of them has raised an alarm.
    pub(super) fn witness(&self) -> Result<(), StoreError> {
        let Some(Stamp { change, alarm: None, .. }) = &self.stamped else { return Ok(()) };
        let witnessed = self.witnesses.advance(*change);
        witnessed.map_err(|error| problem::not_witnessed(self.place.path(), &error))
    }

    /// Whether the caller of the last job is told if the witnesses could not be written.
    pub(super) const fn take_is_watched(&mut self) -> bool {
        std::mem::replace(&mut self.is_watched, false)
    }

    /// Moves the log into the database when it has grown. Pages that others still read stay until the next time, and all pages
    /// if the disk is full.
    pub(super) fn checkpoint(&mut self) -> rusqlite::Result<()> {
        if connection::checkpoint(&self.connection, "NOOP")? >= MAX_LOG_PAGES {
            match connection::checkpoint(&self.connection, "PASSIVE") {
                Ok(0) => self.moved = self.stamped.as_ref().map_or(self.moved, |stamp| stamp.change),
                Err(error) if !problem::is_full(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads the row, calls [`Change::decide_after_loss`] and writes the result.
    pub(super) fn apply(&mut self, change: &Change) -> rusqlite::Result<Result<Applied, StoreError>> {
        let mut find = self.connection.prepare_cached(tables::FIND)?;
        let (position, found) = match find.query_row([change.key().as_str()], tables::read).optional() {
            // Only this row cannot be read.
            Err(error) if error.sqlite_error_code().is_none() => {
                return Ok(Err(problem::unreadable(self.place.path(), &error)));
            }
            found => found?.unzip(),
        };
        drop(find);
        let lost_since = match (position, &found) {
            (Some(position), Some(found)) if change.needs_later_entries(found) => self
                .connection
                .query_row(tables::LOST_SINCE, [position], |row| row.get(0))
                .optional()?
                .and_then(milliseconds::time),
            _ => None,
        };
        let Some(written) = change.decide_after_loss(found.as_ref(), lost_since) else {
            if change.reports_that_nothing_moved(found.as_ref())
                && let Some(alarm) = self.alarm()?
            {
                return Ok(Err(alarm.refusal(self.place.path())));
            }
            return Ok(Ok(Applied::Unchanged(found)));
        };
        let same_transaction_as = self.other_holder(change, &written)?;
        if let Some(taken) = change.taken_by(same_transaction_as.as_ref()) {
            return Ok(Ok(taken));
        }
        let place = self.place.clone();
        let (stored_at, next_position, alarm) = self.stamp()?;
        let must_be_watched = change.must_be_watched(found.as_ref(), &written);
        if let Some(alarm) = alarm
            && (change.is_begin() || must_be_watched && !matches!(alarm, Alarm::Lost(_)))
        {
            return Ok(Err(alarm.refusal(place.path())));
        }
        self.is_watched = change.is_begin() || must_be_watched;
        self.write(position.unwrap_or(next_position), stored_at, found.as_ref(), &written)?;
        Ok(Ok(Applied::Written { row: written, same_transaction_as }))
    }

    /// Another intent that holds the transaction of the change.
    fn other_holder(&self, change: &Change, written: &Intent) -> rusqlite::Result<Option<IntentKey>> {
        let Some(id) = change.transaction_to_search() else { return Ok(None) };
        let asked =
            (id.as_str(), written.key.as_str(), written.is_void(), base_url(written.stored_service()));
        let mut other_holder = self.connection.prepare_cached(tables::OTHER_HOLDER)?;
        let key = other_holder.query_row(asked, |row| row.get::<_, String>(0)).optional()?;
        Ok(key.map(IntentKey::from_kept))
    }

    /// Writes the row at this position, in place of `found`.
    fn write(
        &self,
        position: i64,
        stored_at: i64,
        found: Option<&Intent>,
        written: &Intent,
    ) -> rusqlite::Result<()> {
        let also_held = |intent: &Intent| -> Vec<_> {
            intent.held_transactions().skip(1).map(|id| id.as_str().to_owned()).collect()
        };
        let (held_before, held) = (found.map(also_held).unwrap_or_default(), also_held(written));
        let (key, state) = (written.key.as_str(), written.state.name().as_str());
        let processed_as = written.held_transactions().next().map(TransactionId::as_str);
        let (service, document) = (written.stored_service(), document(written));
        let list = (!held.is_empty()).then(|| serde_json::to_string(&held).expect("texts are JSON"));
        let is_void = written.is_void();
        let row = (position, key, state, processed_as, is_void, service, document, stored_at, list);
        let sql = if found.is_some() { tables::UPDATE } else { tables::INSERT };
        let changed = self.connection.prepare_cached(sql)?.execute(row)?;
        if changed != 1 {
            return Err(rusqlite::Error::StatementChangedRows(changed));
        }
        if held != held_before {
            for id in &held_before {
                self.connection.execute(tables::RELEASE, (id, position))?;
            }
            for id in &held {
                self.connection.execute(tables::HOLD, (id, position))?;
            }
        }
        Ok(())
    }

    /// The time, the position of the next new row, and why nothing may begin.
    fn stamp(&mut self) -> rusqlite::Result<(i64, i64, Option<&Alarm>)> {
        let stamp = if let Some(stamp) = self.stamped.take() {
            stamp
        } else {
            let now = milliseconds::of((self.settings.clock)());
            let mut stamp = self.connection.prepare_cached(tables::STAMP)?;
            let (stored_at, position, change, witnesses, is_lost, journal): (_, _, i64, i64, bool, String) =
                stamp.query_row((now, self.jobs.cast_signed(), self.moved), |row| row.try_into())?;
            self.witnesses.reopen_as(journal);
            let is_unnamed = witnesses > self.witnesses.len();
            let alarm = self.witnesses.ask().alarm(change - 1, is_unnamed, is_lost);
            let change = match alarm {
                Some(Alarm::Lost(_)) if !is_lost => {
                    self.connection.execute(tables::SET_LOST, [])?;
                    change
                }
                Some(Alarm::Unwatched(_) | Alarm::OfAnotherTime(_)) => {
                    self.connection.execute(tables::UNCOUNT, [])?;
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

    /// Why nothing may begin, without a write.
    fn alarm(&mut self) -> rusqlite::Result<Option<Alarm>> {
        if let Some(stamp) = &self.stamped {
            return Ok(stamp.alarm.clone());
        }
        let remembered = self.connection.query_row(tables::HISTORY, [], |row| row.try_into())?;
        let (journal, changes, witnesses, is_lost): Remembered = remembered;
        self.witnesses.reopen_as(journal);
        Ok(self.witnesses.ask().alarm(changes, witnesses > self.witnesses.len(), is_lost))
    }

    /// Since when entries are lost, or were lost if a person has accepted that already.
    pub(super) fn lost_since(&mut self) -> rusqlite::Result<SystemTime> {
        let (_, _, alarm) = self.stamp()?;
        let is_accepted = alarm.is_none();
        let time = |sql| self.connection.query_row(sql, [], |row| row.get(0)).optional();
        let accepted = if is_accepted { time(tables::ACCEPTED_SINCE)? } else { None };
        let since: Option<i64> = if accepted.is_some() { accepted } else { time(tables::NEWEST_CREATED_AT)? };
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
        let change = stamp.change.max(self.witnesses.ask().newest()) + 1;
        // Before the commit: if that fails, the witnesses are of another time, and begins stay refused.
        if let Err(error) = self.witnesses.reset(change) {
            return Ok(Err(problem::not_witnessed(self.place.path(), &error)));
        }
        let journal = self.witnesses.journal();
        self.connection.execute(tables::FORGET_LOSS, (change, self.witnesses.len(), journal))?;
        self.connection
            .execute(tables::ACCEPT, (stored_at, by, sent, milliseconds::of(since), None::<String>))?;
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
        let (connection, service) = (&self.connection, change.service());
        if let Some(refusal) = change.refusal(tables::summarize(connection, Some(service))?) {
            return Ok(Some(refusal));
        }
        if let Some(to) = change.new_name() {
            let mut same = connection.prepare(tables::SAME_TRANSACTIONS)?;
            let keys = same.query_map((service, base_url(to), NAMED), |row| row.get(0))?;
            let refusal = ServiceChange::same_transactions(keys.collect::<rusqlite::Result<Vec<_>>>()?);
            if refusal.is_some() {
                return Ok(refusal);
            }
            let mut page = connection.prepare(tables::OF_SERVICE)?;
            let mut rename = connection.prepare(tables::RENAME)?;
            let mut done = i64::MIN;
            loop {
                let rows = page.query_map((service, done, PURGE_BATCH), tables::read)?;
                let rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
                let Some((last, _)) = rows.last() else { break };
                done = *last;
                for (position, intent) in &rows {
                    rename.execute((position, to, document(&change.renamed(intent))))?;
                }
            }
        } else {
            connection.execute(tables::RELEASE_SERVICE, [service])?;
            connection.execute(tables::FORGET, [service])?;
        }
        let count = change.count().cast_signed();
        connection.execute(tables::ACCEPT, (stored_at, change.by(), count, None::<i64>, change.done()))?;
        Ok(None)
    }

    /// Removes rows that ended and were stored before that time, from a batch after this position. Returns the last position of
    /// the batch, and when each removed row was stored; or `None` at the end.
    pub(super) fn purge(
        &mut self,
        after: i64,
        stored_before: i64,
    ) -> rusqlite::Result<Option<(i64, Vec<i64>)>> {
        let first = self.connection.query_row(tables::POSITION_AFTER, [after], |row| row.get(0))?;
        let Some(first): Option<i64> = first else { return Ok(None) };
        let last = first.saturating_add(PURGE_BATCH);
        let mut purge = self.connection.prepare(&tables::purge())?;
        let purged = purge.query_map([first, last, stored_before], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?, tables::also_held(row, 2)?))
        })?;
        let mut times = Vec::new();
        for row in purged.collect::<rusqlite::Result<Vec<_>>>()? {
            let (stored_at, position, held) = row;
            times.push(stored_at);
            for id in held {
                self.connection.execute(tables::RELEASE, (id, position))?;
            }
        }
        Ok(Some((last, times)))
    }
}

/// Positions that a purge reads in one transaction.
const PURGE_BATCH: i64 = 2048;

/// The log is moved into the database when it has this many pages.
const MAX_LOG_PAGES: i64 = 3000;

/// Settings that only tests change.
pub(super) struct Settings {
    /// How long to wait for another process.
    pub(super) max_wait: Duration,
    /// How long the write of an outcome is retried.
    pub(super) retry_time: Duration,
    /// A second witness.
    pub(super) witness: Option<PathBuf>,
    pub(super) commit: Commit,
    pub(super) clock: Clock,
}

/// The machine's clock.
pub(super) type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_wait: Place::MAX_WAIT,
            retry_time: Duration::from_secs(30),
            witness: None,
            commit: Box::new(|connection| connection.execute_batch("COMMIT")),
            clock: Arc::new(SystemTime::now),
        }
    }
}

/// Ends a transaction durably. Tests inject failures here that no disk produces on demand.
pub(super) type Commit = Box<dyn FnMut(&Connection) -> rusqlite::Result<()> + Send>;
