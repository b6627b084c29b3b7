use std::collections::VecDeque;
use std::fmt::Display;
use std::mem;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use payments_core::OperationName;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Statement};
use tokio::sync::{oneshot, watch};

use crate::row::{IntentRow, milliseconds};
use crate::sqlite_store::owners::Owner;
use crate::sqlite_store::place::Place;
use crate::sqlite_store::schema::Kept;
use crate::sqlite_store::{Clock, Poison, connection, mark, problem, schema};
use crate::{Applied, Change, IntentKey, StoreError};

/// A thread that makes the changes, as many as wait in one commit.
pub(super) struct Writer {
    wishes: mpsc::Sender<Wish>,
    /// Until the thread has ended.
    pub(super) running: watch::Receiver<()>,
    place: Arc<Place>,
}

/// What the thread needs to write, and to close the journal when nobody asks any more.
pub(super) struct Workplace {
    pub(super) connection: Connection,
    pub(super) place: Arc<Place>,
    pub(super) poison: Poison,
    pub(super) commit: Commit,
    pub(super) clock: Clock,
    pub(super) owner: Arc<Owner>,
    /// It ends first: whoever closes the database last also removes its log, which a reader may not.
    pub(super) reader: JoinHandle<()>,
    /// How long to wait for another process.
    pub(super) patience: Duration,
}

/// Ends a transaction durably. Tests put failures here that no disk makes on demand.
pub(super) type Commit = Box<dyn FnMut(&Connection) -> rusqlite::Result<()> + Send>;

/// What every store uses outside of tests.
pub(super) fn commit() -> Commit {
    Box::new(|connection| connection.execute_batch("COMMIT"))
}

type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

enum Wish {
    Apply(Box<Change>, Reply<Applied>),
    Purge(Purge),
    End,
}

struct Purge {
    /// In milliseconds since 1970.
    stored_before: i64,
    /// The position up to which it is done.
    done: i64,
    removed: Removed,
    reply: Reply<Removed>,
}

/// What a purge has removed so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Removed {
    pub(super) rows: u64,
    /// In milliseconds since 1970.
    pub(super) newest: Option<i64>,
}

impl Writer {
    /// The thread ends once it is told to, or when this is dropped: nobody waits for it who does not ask to.
    pub(super) fn start(mut workplace: Workplace) -> Result<Self, StoreError> {
        let place = workplace.place.clone();
        let logged = Arc::new(AtomicU32::new(0));
        let count = logged.clone();
        let connection = &mut workplace.connection;
        connection
            .wal_hook(Some(move |_: &mut _, pages| {
                count.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
                Ok(())
            }))
            .map_err(|error| problem::at_open(place.path(), &error))?;
        let (wishes, asked) = mpsc::channel();
        let (until_ended, running) = watch::channel(());
        thread::Builder::new()
            .name("payments-journal-writer".to_owned())
            .spawn(move || {
                workplace.work(asked, &logged);
                drop(until_ended);
            })
            .map_err(|error| problem::unavailable(place.path(), error))?;
        Ok(Self { wishes, running, place })
    }

    /// Once what was asked before is done.
    pub(super) async fn end(&self) {
        // If it has ended already, so much the better.
        let _ = self.wishes.send(Wish::End);
        // Nothing is ever sent there: this is the end.
        let _ = self.running.clone().changed().await;
    }

    pub(super) async fn apply(&self, change: Change) -> Result<Applied, StoreError> {
        self.ask(|reply| Wish::Apply(Box::new(change), reply)).await
    }

    /// `stored_before` in milliseconds since 1970.
    pub(super) async fn purge(&self, stored_before: i64) -> Result<Removed, StoreError> {
        let removed = Removed::default();
        self.ask(|reply| Wish::Purge(Purge { stored_before, done: i64::MIN, removed, reply })).await
    }

    async fn ask<T>(&self, wish: impl FnOnce(Reply<T>) -> Wish) -> Result<T, StoreError> {
        const GONE: &str = "the thread that writes it has ended";
        let (reply, answer) = oneshot::channel();
        self.wishes.send(wish(reply)).map_err(|_| problem::poisoned(self.place.path(), GONE))?;
        answer.await.unwrap_or_else(|_| Err(problem::in_doubt(self.place.path(), GONE)))
    }
}

impl Workplace {
    /// Writes until nobody asks any more, and closes the journal.
    fn work(self, asked: mpsc::Receiver<Wish>, logged: &AtomicU32) {
        let Self { connection, place, poison, commit, clock, owner, reader, patience } = self;
        let written = Statements::prepare(&connection)
            .map_err(|error| Ended::of_all(problem::poisoned(place.path(), error)))
            .map(|statements| Session {
                connection: &connection,
                place: &place,
                commit,
                clock: &clock,
                statements,
            })
            .and_then(|mut session| session.serve(&asked, logged));
        match written {
            Ok(()) => {
                drop(asked);
                // Whoever waited for a thread that panicked was told.
                let _ = reader.join();
                if !place.is_displaced(&connection) {
                    mark::close(&place, connection, &owner, patience);
                }
            }
            Err(Ended { poison: error, tell }) => {
                // Also lets others have the file, if a transaction is open. The log stays: after a failed sync nobody knows
                // what of it is on the disk, and whoever opens the file next reads it anew. So nobody hears of the failure
                // before the file is closed.
                drop(connection);
                poison.set(error.clone());
                tell();
                refuse(&asked, &error);
                let _ = reader.join();
            }
        }
        owner.release();
    }
}

/// Nothing that is asked now can have been done.
fn refuse(asked: &mpsc::Receiver<Wish>, error: &StoreError) {
    for wish in asked {
        match wish {
            Wish::Apply(_, reply) => drop(reply.send(Err(error.clone()))),
            Wish::Purge(purge) => drop(purge.reply.send(Err(error.clone()))),
            Wish::End => return,
        }
    }
}

/// The connection as long as nothing has failed.
struct Session<'a> {
    connection: &'a Connection,
    place: &'a Place,
    commit: Commit,
    clock: &'a Clock,
    statements: Statements<'a>,
}

/// Why nothing is written any more.
struct Ended {
    poison: StoreError,
    /// Tells those in the transaction that failed.
    tell: Box<dyn FnOnce()>,
}

impl Ended {
    fn of_all(poison: StoreError) -> Self {
        Self { poison, tell: Box::new(|| ()) }
    }
}

/// How a transaction failed.
enum Failed {
    /// Another process has the file. Nothing was begun.
    Busy,
    /// Nothing was changed, and nothing can be any more.
    Before(String),
    /// Whether it was committed is not known, and nothing can be any more.
    During(String),
}

impl Session<'_> {
    /// Until nobody asks any more, or until something fails.
    fn serve(&mut self, asked: &mpsc::Receiver<Wish>, logged: &AtomicU32) -> Result<(), Ended> {
        let (mut changes, mut purges) = (Vec::new(), VecDeque::new());
        let (mut checkpointed, mut is_last) = (0, false);
        loop {
            if purges.is_empty() {
                let Ok(first) = asked.recv() else { return Ok(()) };
                is_last |= sort(first, &mut changes, &mut purges);
            }
            for wish in asked.try_iter().take(MOST_IN_A_COMMIT) {
                is_last |= sort(wish, &mut changes, &mut purges);
            }
            if !changes.is_empty() {
                self.apply(&mut changes)?;
            }
            if let Some(purge) = purges.pop_front() {
                purges.extend(self.purge(purge)?);
            }
            self.checkpoint(logged.load(Ordering::Relaxed), &mut checkpointed)?;
            if is_last && purges.is_empty() {
                return Ok(());
            }
        }
    }

    /// Makes the changes in one transaction and wakes who waits for them.
    fn apply(&mut self, changes: &mut Vec<(Box<Change>, Reply<Applied>)>) -> Result<(), Ended> {
        let path = self.place.path();
        let clock = self.clock;
        let result = self.transact(|statements| {
            let mut time = Time { clock, told: None };
            changes
                .iter()
                .map(|(change, _)| statements.apply(change, &mut time, path))
                .collect::<rusqlite::Result<Vec<_>>>()
        });
        match result {
            Ok(applied) => {
                for ((_, reply), applied) in changes.drain(..).zip(applied) {
                    // Whoever asked may have gone away.
                    let _ = reply.send(applied);
                }
                Ok(())
            }
            Err(failed) => {
                let (error, poison) = told(path, failed);
                let changes = mem::take(changes);
                let tell = move || {
                    for (_, reply) in changes {
                        let _ = reply.send(Err(error.clone()));
                    }
                };
                end_or_go_on(poison, tell)
            }
        }
    }

    /// Removes a portion, and gives the rest back.
    fn purge(&mut self, mut purge: Purge) -> Result<Option<Purge>, Ended> {
        match self.transact(|statements| statements.purge(&mut purge)) {
            Ok(true) => Ok(Some(purge)),
            Ok(false) => {
                let _ = purge.reply.send(Ok(purge.removed));
                Ok(None)
            }
            Err(failed) => {
                let (error, poison) = told(self.place.path(), failed);
                let tell = move || drop(purge.reply.send(Err(error)));
                end_or_go_on(poison, tell).map(|()| None)
            }
        }
    }

    /// Does it all in one transaction, durable once this has returned.
    fn transact<T>(
        &mut self,
        work: impl FnOnce(&mut Statements<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Failed> {
        if self.place.is_displaced(self.connection) {
            return Err(Failed::Before(problem::DISPLACED.to_owned()));
        }
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(|error| {
            match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Failed::Busy,
                _ => Failed::before(error),
            }
        })?;
        let version = self.statements.version().map_err(Failed::before)?;
        if version != schema::VERSION {
            return Err(Failed::Before(format!(
                "another process has brought its schema to version {version}"
            )));
        }
        let done = work(&mut self.statements).map_err(Failed::before)?;
        (self.commit)(self.connection).map_err(|error| Failed::During(error.to_string()))?;
        // Asked again, because what was committed to a file that is gone is committed for nobody.
        if self.place.is_displaced(self.connection) {
            return Err(Failed::During(problem::DISPLACED.to_owned()));
        }
        Ok(done)
    }

    /// Moves the log into the database when it has grown, after everybody has been answered.
    fn checkpoint(&self, logged: u32, checkpointed: &mut u32) -> Result<(), Ended> {
        if logged < *checkpointed {
            // It was begun anew.
            *checkpointed = 0;
        }
        if logged - *checkpointed < PAGES_OF_A_LOG {
            return Ok(());
        }
        *checkpointed = logged;
        // What others still read stays for the next time.
        connection::checkpoint(self.connection, "PASSIVE")
            .map(|_| ())
            .map_err(|error| Ended::of_all(problem::poisoned(self.place.path(), error)))
    }
}

/// A failure that ends the store is told later.
fn end_or_go_on(poison: Option<StoreError>, tell: impl FnOnce() + 'static) -> Result<(), Ended> {
    if let Some(poison) = poison {
        return Err(Ended { poison, tell: Box::new(tell) });
    }
    tell();
    Ok(())
}

/// Bounds the memory of a commit, and the time for which others wait for it.
const MOST_IN_A_COMMIT: usize = 1024;

/// Positions that a purge looks at in one transaction.
const PORTION: i64 = 2048;

/// After so many pages the log is moved into the database.
const PAGES_OF_A_LOG: u32 = 1000;

impl Failed {
    fn before(error: impl Display) -> Self {
        Self::Before(error.to_string())
    }
}

/// What those in the transaction are told, and what everybody after them, if the store is at its end.
fn told(path: &Path, failed: Failed) -> (StoreError, Option<StoreError>) {
    match failed {
        Failed::Busy => (problem::busy(path), None),
        Failed::Before(reason) => {
            let error = problem::poisoned(path, reason);
            (error.clone(), Some(error))
        }
        Failed::During(reason) => (problem::in_doubt(path, &reason), Some(problem::poisoned(path, &reason))),
    }
}

/// Whether nothing is to follow.
fn sort(wish: Wish, changes: &mut Vec<(Box<Change>, Reply<Applied>)>, purges: &mut VecDeque<Purge>) -> bool {
    match wish {
        Wish::Apply(change, reply) => changes.push((change, reply)),
        Wish::Purge(purge) => purges.push_back(purge),
        Wish::End => return true,
    }
    false
}

/// When the rows of one transaction are stored, which is asked with the first of them.
struct Time<'a> {
    clock: &'a Clock,
    told: Option<i64>,
}

/// Everything a transaction needs, prepared once.
struct Statements<'a> {
    version: Statement<'a>,
    find: Statement<'a>,
    insert: Statement<'a>,
    update: Statement<'a>,
    other_holder: Statement<'a>,
    tell_time: Statement<'a>,
    position_after: Statement<'a>,
    raise_floor: Statement<'a>,
    purge: Statement<'a>,
}

impl<'a> Statements<'a> {
    fn prepare(connection: &'a Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            version: connection.prepare("PRAGMA user_version")?,
            find: connection.prepare(schema::FIND)?,
            insert: connection.prepare(&schema::insert())?,
            update: connection.prepare(&schema::update())?,
            other_holder: connection.prepare(&schema::other_holder())?,
            tell_time: connection.prepare(schema::TELL_TIME)?,
            position_after: connection.prepare(schema::POSITION_AFTER)?,
            raise_floor: connection.prepare(schema::RAISE_FLOOR)?,
            purge: connection.prepare(schema::PURGE)?,
        })
    }

    fn version(&mut self) -> rusqlite::Result<i32> {
        self.version.query_row([], |row| row.get(0))
    }

    /// Reads, asks and writes. The inner error is about this row alone, and then it was not changed.
    fn apply(
        &mut self,
        change: &Change,
        time: &mut Time<'_>,
        path: &Path,
    ) -> rusqlite::Result<Result<Applied, StoreError>> {
        let found = self.find.query_row([change.key().as_str()], Kept::read).optional();
        let found = match found {
            // What stands there is no text or no number.
            Err(error) if error.sqlite_error_code().is_none() => {
                return Ok(Err(problem::unreadable(path, &error)));
            }
            found => found?,
        };
        let found = match found.as_ref().map(Kept::intent).transpose() {
            Ok(found) => found,
            Err(damaged) => return Ok(Err(damaged)),
        };
        let Some(written) = change.decide(found.as_ref()) else {
            return Ok(Ok(Applied { found, written: None, same_transaction_as: None }));
        };
        let row = IntentRow::from(&written);
        let other_holder = self.other_holder(&row, written.request.operation == OperationName::Void)?;
        let same_transaction_as = other_holder.map(IntentKey::from_kept);
        if same_transaction_as.is_some() && change.is_refused_if_taken() {
            return Ok(Ok(Applied { found, written: None, same_transaction_as }));
        }
        let statement = if found.is_some() { &mut self.update } else { &mut self.insert };
        let stored_at = if let Some(told) = time.told {
            told
        } else {
            let clock = milliseconds::of((time.clock)());
            *time.told.insert(self.tell_time.query_row([clock], |row| row.get(0))?)
        };
        let mut values = schema::values(&row).to_vec();
        values.push(&stored_at);
        let changed = statement.execute(&values[..])?;
        if changed != 1 {
            return Err(rusqlite::Error::StatementChangedRows(changed));
        }
        Ok(Ok(Applied { found, written: Some(written), same_transaction_as }))
    }

    fn other_holder(&mut self, row: &IntentRow, is_void: bool) -> rusqlite::Result<Option<String>> {
        let Some(id) = row.processed_as.as_deref() else { return Ok(None) };
        self.other_holder.query_row((id, &row.key, is_void), |row| row.get(0)).optional()
    }

    /// Removes the next portion; `false` at the end.
    fn purge(&mut self, purge: &mut Purge) -> rusqlite::Result<bool> {
        let first = self.position_after.query_row([purge.done], |row| row.get::<_, Option<i64>>(0))?;
        let Some(first) = first else { return Ok(false) };
        let last = first.saturating_add(PORTION);
        self.raise_floor.execute([])?;
        let times = self.purge.query_map([first, last, purge.stored_before], |row| row.get::<_, i64>(0))?;
        let mut removed = purge.removed;
        for stored_at in times {
            removed.rows += 1;
            removed.newest = removed.newest.max(Some(stored_at?));
        }
        (purge.done, purge.removed) = (last, removed);
        Ok(true)
    }
}
