//! One transaction of the writer: what its jobs read and write.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use rusqlite::{Connection, OptionalExtension};

use crate::apply::{RowTransaction, ServiceTransaction};
use crate::intent::base_url;
use crate::milliseconds;
use crate::row::{Columns, also_held, document};
use crate::service_change::{NAMED, ServiceChange, ServiceError};
use crate::sqlite_store::place::Place;
use crate::sqlite_store::problem::SqliteError;
use crate::sqlite_store::witness::{Alarm, Remembered, Witnesses};
use crate::sqlite_store::{connection, problem, tables};
use crate::summary::Tally;
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
    /// Whether the change of the last job must have been seen by the witnesses before its caller relies on it.
    pub(super) is_watched: bool,
}

struct Stamp {
    stored_at: i64,
    /// Of the next new row.
    next_position: i64,
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

    /// Reads the row of the change and makes the change.
    pub(super) fn apply(&mut self, change: &Change) -> Result<Applied, SqliteError> {
        let mut find = self.connection.prepare_cached(tables::FIND)?;
        let (position, found) = match find.query_row([change.key().as_str()], tables::read).optional() {
            // Only this row cannot be read.
            Err(error) if error.sqlite_error_code().is_none() => {
                return Err(problem::unreadable(self.place.path(), &error).into());
            }
            found => found?.unzip(),
        };
        drop(find);
        let mut row = ChangedRow { session: self, change, position };
        change.apply_to(found, &mut row).now_or_never().expect("SQLite answers at once")
    }

    /// What the rows of this transaction are stored with.
    fn stamp(&mut self) -> rusqlite::Result<&mut Stamp> {
        if self.stamped.is_none() {
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
            self.stamped = Some(Stamp { stored_at, next_position: position, change, alarm, is_unnamed });
        }
        Ok(self.stamped.as_mut().expect("it has just been read"))
    }

    /// Why nothing may begin, without a write.
    fn alarm(&mut self) -> rusqlite::Result<Option<Alarm>> {
        if let Some(stamp) = &self.stamped {
            return Ok(stamp.alarm.clone());
        }
        let remembered = self.connection.query_row(tables::REMEMBERED, [], |row| row.try_into())?;
        let (journal, changes, witnesses, is_lost): Remembered = remembered;
        self.witnesses.reopen_as(journal);
        Ok(self.witnesses.ask().alarm(changes, witnesses > self.witnesses.len(), is_lost))
    }

    /// Since when entries are lost, or were lost if a person has accepted that already.
    pub(super) fn lost_since(&mut self) -> Result<SystemTime, SqliteError> {
        let is_accepted = self.stamp()?.alarm.is_none();
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
    ) -> Result<(), SqliteError> {
        let Stamp { stored_at, change, is_unnamed, .. } = *self.stamp()?;
        if is_unnamed {
            let why = "has a second witness, which was not named: name it, or a new place for it, with --witness \
                       (PAYMENTS_JOURNAL_WITNESS, SqliteOptions::witness)";
            return Err(problem::refused(self.place.path(), why).into());
        }
        let change = change.max(self.witnesses.ask().newest()) + 1;
        // Before the commit: if that fails, the witnesses are of another time, and begins stay refused.
        if let Err(error) = self.witnesses.reset(change) {
            return Err(problem::not_witnessed(self.place.path(), &error).into());
        }
        let journal = self.witnesses.journal();
        self.connection.execute(tables::FORGET_LOSS, (change, self.witnesses.len(), journal))?;
        self.connection.execute(
            tables::RECORD_DECISION,
            (stored_at, by, sent, milliseconds::of(since), None::<String>),
        )?;
        let stamp = self.stamp()?;
        (stamp.change, stamp.alarm) = (change, None);
        Ok(())
    }

    /// Renames or removes the intents of a service, or returns why not.
    pub(super) fn change_service(
        &mut self,
        change: &ServiceChange,
    ) -> Result<Option<ServiceError>, SqliteError> {
        let stored_at = self.stamp()?.stored_at;
        self.connection.execute_batch("SAVEPOINT service")?;
        let mut rows = ServiceRows { connection: &self.connection, stored_at };
        let changed = change.apply_to(&mut rows).now_or_never().expect("SQLite answers at once");
        // Other changes of the transaction are committed anyway.
        if !matches!(changed, Ok(None)) {
            self.connection.execute_batch("ROLLBACK TO service")?;
        }
        self.connection.execute_batch("RELEASE service")?;
        match changed {
            // Only one row cannot be read.
            Err(error) if error.sqlite_error_code().is_none() => {
                Err(problem::unreadable(self.place.path(), &error).into())
            }
            changed => Ok(changed?),
        }
    }

    /// Removes rows that ended and were stored before that time, from a batch after this position. Returns the last position of
    /// the batch, and when each removed row was stored; or `None` at the end.
    pub(super) fn purge(
        &mut self,
        after: i64,
        stored_before: i64,
    ) -> Result<Option<(i64, Vec<i64>)>, SqliteError> {
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

/// The row of one change, in the transaction of the session.
struct ChangedRow<'a> {
    session: &'a mut Session,
    change: &'a Change,
    position: Option<i64>,
}

impl RowTransaction for ChangedRow<'_> {
    type Error = SqliteError;

    async fn check_history(&mut self) -> Result<(), SqliteError> {
        let alarm = self.session.alarm()?;
        alarm.map_or(Ok(()), |alarm| Err(alarm.refusal(self.session.place.path()).into()))
    }

    async fn holder(&mut self, change: &Change, row: &Intent) -> Result<Option<IntentKey>, SqliteError> {
        let Some(id) = change.transaction_to_search() else { return Ok(None) };
        let asked = (id.as_str(), row.key.as_str(), row.is_void(), base_url(row.stored_service()));
        let mut other_holder = self.session.connection.prepare_cached(tables::OTHER_HOLDER)?;
        let key = other_holder.query_row(asked, |row| row.get::<_, String>(0)).optional()?;
        Ok(key.map(IntentKey::from_kept))
    }

    async fn write(&mut self, found: Option<&Intent>, row: &Intent) -> Result<(), SqliteError> {
        let Self { session, change, position } = self;
        let place = session.place.clone();
        let stamp = session.stamp()?;
        let must_be_watched = change.must_be_watched(found, row);
        if let Some(alarm) = &stamp.alarm
            && (change.is_begin() || must_be_watched && !matches!(alarm, Alarm::Lost(_)))
        {
            return Err(alarm.refusal(place.path()).into());
        }
        let (stored_at, position) = (stamp.stored_at, position.unwrap_or(stamp.next_position));
        stamp.next_position += 1;
        session.is_watched = change.is_begin() || must_be_watched;
        let connection = &session.connection;
        let held_before = found.map(also_held).unwrap_or_default();
        let Columns { key, state, processed_as, also_held: held, is_void, service, document } =
            Columns::of(row);
        let list = (!held.is_empty()).then(|| serde_json::to_string(&held).expect("texts are JSON"));
        let values = (position, key, state, processed_as, is_void, service, document, stored_at, list);
        let sql = if found.is_some() { tables::UPDATE } else { tables::INSERT };
        let changed = connection.prepare_cached(sql)?.execute(values)?;
        if changed != 1 {
            return Err(rusqlite::Error::StatementChangedRows(changed).into());
        }
        if held != held_before {
            for id in &held_before {
                connection.execute(tables::RELEASE, (id, position))?;
            }
            for id in &held {
                connection.execute(tables::HOLD, (id, position))?;
            }
        }
        Ok(())
    }
}

/// The rows of a service, in the transaction of the session.
struct ServiceRows<'a> {
    connection: &'a Connection,
    stored_at: i64,
}

impl ServiceTransaction for ServiceRows<'_> {
    type Error = rusqlite::Error;

    async fn tallies(&mut self, service: &str) -> rusqlite::Result<Vec<Tally>> {
        tables::summarize(self.connection, Some(service))
    }

    async fn same_transactions(&mut self, service: &str, at: &str) -> rusqlite::Result<Vec<String>> {
        let mut same = self.connection.prepare(tables::SAME_TRANSACTIONS)?;
        same.query_map((service, at, NAMED), |row| row.get(0))?.collect()
    }

    async fn rename(&mut self, change: &ServiceChange, to: &str) -> rusqlite::Result<()> {
        let mut page = self.connection.prepare(tables::OF_SERVICE)?;
        let mut rename = self.connection.prepare(tables::RENAME)?;
        let mut done = i64::MIN;
        loop {
            let rows = page.query_map((change.service(), done, PURGE_BATCH), tables::read)?;
            let rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
            let Some((last, _)) = rows.last() else { return Ok(()) };
            done = *last;
            for (position, intent) in &rows {
                rename.execute((position, to, document(&change.renamed(intent))))?;
            }
        }
    }

    async fn forget(&mut self, service: &str) -> rusqlite::Result<()> {
        self.connection.execute(tables::RELEASE_SERVICE, [service])?;
        self.connection.execute(tables::FORGET, [service]).map(drop)
    }

    async fn record(&mut self, change: &ServiceChange) -> rusqlite::Result<()> {
        let count = change.count().cast_signed();
        let values = (self.stored_at, change.by(), count, None::<i64>, change.done());
        self.connection.execute(tables::RECORD_DECISION, values).map(drop)
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
