use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use payments_model::TransactionId;
use rusqlite::{Connection, OptionalExtension, Statement};
use tokio::sync::{mpsc, oneshot, watch};

use crate::row::{document, milliseconds};
use crate::sqlite_store::owners::Owner;
use crate::sqlite_store::place::Place;
use crate::sqlite_store::{Settings, connection, mark, problem, schema};
use crate::{Applied, Change, IntentKey, StoreError};

/// A thread that makes the changes, as many as wait in one commit.
pub(super) struct Writer {
    /// `None` to end.
    jobs: mpsc::UnboundedSender<Option<Box<dyn Job>>>,
    /// Until the thread has ended.
    pub(super) running: watch::Receiver<()>,
    place: Arc<Place>,
    pub(super) poison: Poison,
}

/// Why nothing may be done any more, once something has failed.
pub(super) type Poison = Arc<OnceLock<StoreError>>;

/// Ends a transaction durably. Tests put failures here that no disk makes on demand.
pub(super) type Commit = Box<dyn FnMut(&Connection) -> rusqlite::Result<()> + Send>;

/// What is done in a transaction, and told when that has ended.
trait Job: Send {
    fn run(&mut self, session: &mut Session<'_>) -> rusqlite::Result<()>;
    fn tell(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Asked<W, T> {
    work: W,
    done: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<W, T: Send> Job for Asked<W, T>
where
    W: FnMut(&mut Session<'_>) -> rusqlite::Result<Result<T, StoreError>> + Send,
{
    fn run(&mut self, session: &mut Session<'_>) -> rusqlite::Result<()> {
        self.done = Some((self.work)(session)?);
        Ok(())
    }

    fn tell(self: Box<Self>, committed: Result<(), StoreError>) {
        let Self { done, reply, .. } = *self;
        // Whoever asked may have gone away.
        let _ = reply.send(committed.and_then(|()| done.expect("it was done before the commit")));
    }
}

impl Writer {
    /// The thread writes until it is told to end, or until this is dropped. Then it closes the journal; nobody waits for
    /// that who does not ask to.
    pub(super) fn start(
        connection: Connection,
        place: Arc<Place>,
        settings: Settings,
        owner: Arc<Owner>,
        reader: JoinHandle<()>,
    ) -> Result<Self, StoreError> {
        let (jobs, mut asked) = mpsc::unbounded_channel();
        let (until_ended, running) = watch::channel(());
        let poison = Poison::default();
        let this = Self { jobs, running, place: place.clone(), poison: poison.clone() };
        let work = move || {
            let (patience, mut jobs) = (settings.patience, Vec::new());
            let served = Session::new(&connection, &place, settings)
                .map_err(|error| Failure::of_all(problem::poisoned(place.path(), error)))
                .and_then(|mut session| session.serve(&mut asked, &mut jobs));
            match served {
                Ok(()) => {
                    // It ends first: whoever closes the database last also removes its log, which a reader may not.
                    // Whoever waited for a thread that panicked was told.
                    let _ = reader.join();
                    if !place.is_displaced() {
                        mark::close(&place, connection, &owner, patience);
                    }
                }
                Err(Failure { error, of_all }) => {
                    // Also lets others have the file, if a transaction is open. The log stays: after a failed sync nobody
                    // knows what of it is on the disk, and whoever opens the file next reads it anew. So nobody hears of
                    // the failure before the file is closed.
                    drop(connection);
                    let of_all = poison.get_or_init(|| of_all);
                    for job in jobs {
                        job.tell(Err(error.clone()));
                    }
                    // Nothing that is asked now can have been done.
                    while let Some(asked_for) = asked.blocking_recv() {
                        match asked_for {
                            Some(job) => job.tell(Err(of_all.clone())),
                            None => asked.close(),
                        }
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

    /// Once what was asked before is done.
    pub(super) async fn end(&self) {
        // If it has ended already, so much the better.
        let _ = self.jobs.send(None);
        // Nothing is ever sent there: this is the end.
        let _ = self.running.clone().changed().await;
    }

    /// Returns once the work is durable. Its inner error is about one row alone, and then that row was not changed.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Session<'_>) -> rusqlite::Result<Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        const GONE: &str = "it was closed, or the thread that writes it has panicked";
        let path = self.place.path();
        let (reply, answer) = oneshot::channel();
        self.jobs
            .send(Some(Box::new(Asked { work, done: None, reply })))
            .map_err(|_| self.poison.get().cloned().unwrap_or_else(|| problem::poisoned(path, GONE)))?;
        answer.await.unwrap_or_else(|_| Err(problem::in_doubt(path, GONE)))
    }
}

/// Why nothing is written any more.
struct Failure {
    /// For those in the transaction that failed.
    error: StoreError,
    /// For everybody after them.
    of_all: StoreError,
}

impl Failure {
    fn of_all(error: StoreError) -> Self {
        Self { of_all: error.clone(), error }
    }
}

/// The connection as long as nothing has failed, and every statement of a change, prepared once.
pub(super) struct Session<'a> {
    connection: &'a Connection,
    place: &'a Place,
    settings: Settings,
    find: Statement<'a>,
    insert: Statement<'a>,
    update: Statement<'a>,
    other_holder: Statement<'a>,
    stamp: Statement<'a>,
    /// How many jobs the transaction has.
    jobs: usize,
    /// When the rows of the transaction are stored, and the position of its next new row. It is asked with the first of them.
    stamped: Option<(i64, i64)>,
}

impl<'a> Session<'a> {
    fn new(connection: &'a Connection, place: &'a Place, settings: Settings) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            place,
            settings,
            find: connection.prepare(schema::FIND)?,
            insert: connection.prepare(schema::INSERT)?,
            update: connection.prepare(schema::UPDATE)?,
            other_holder: connection.prepare(schema::OTHER_HOLDER)?,
            stamp: connection.prepare(schema::STAMP)?,
            jobs: 0,
            stamped: None,
        })
    }

    /// Until nobody asks any more, or until something fails.
    fn serve(
        &mut self,
        asked: &mut mpsc::UnboundedReceiver<Option<Box<dyn Job>>>,
        jobs: &mut Vec<Box<dyn Job>>,
    ) -> Result<(), Failure> {
        while let Some(first) = asked.blocking_recv() {
            let mut next = Some(first);
            while let Some(asked_for) = next {
                match asked_for {
                    Some(job) => jobs.push(job),
                    None => asked.close(),
                }
                if jobs.len() == MOST_IN_A_COMMIT {
                    break;
                }
                next = asked.try_recv().ok();
                if next.is_none() {
                    // Whoever is about to ask shares the commit, which costs much more than to let them run first.
                    thread::yield_now();
                    next = asked.try_recv().ok();
                }
            }
            if !jobs.is_empty() {
                let committed = self.transact(jobs)?;
                for job in jobs.drain(..) {
                    job.tell(committed.clone());
                }
                // After everybody has been answered.
                self.checkpoint()
                    .map_err(|error| Failure::of_all(problem::poisoned(self.place.path(), error)))?;
            }
        }
        Ok(())
    }

    /// Does it all in one transaction, durable once this has returned. The inner error is that another process has the file.
    fn transact(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<Result<(), StoreError>, Failure> {
        let path = self.place.path();
        let before = |reason: Box<dyn Error>| Failure::of_all(problem::poisoned(path, reason));
        if !self.begin(jobs.len()).map_err(before)? {
            return Ok(Err(problem::busy(path)));
        }
        for job in jobs.iter_mut() {
            job.run(self).map_err(|error| before(error.into()))?;
        }
        self.commit().map(Ok).map_err(|reason| Failure {
            error: problem::in_doubt(path, &reason),
            of_all: problem::poisoned(path, &reason),
        })
    }

    /// `false` if another process has the file.
    fn begin(&mut self, jobs: usize) -> Result<bool, Box<dyn Error>> {
        if self.place.is_displaced() {
            return Err(problem::DISPLACED.into());
        }
        match self.connection.execute_batch("BEGIN IMMEDIATE") {
            Err(error) if problem::is_busy(&error) => return Ok(false),
            begun => begun?,
        }
        let version: i32 = self.connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version != schema::VERSION {
            return Err(format!("another process has brought its schema to version {version}").into());
        }
        (self.jobs, self.stamped) = (jobs, None);
        Ok(true)
    }

    fn commit(&mut self) -> Result<(), Box<dyn Error>> {
        (self.settings.commit)(self.connection)?;
        // Asked again, because what was committed to a file that is gone is committed for nobody.
        if self.place.is_displaced() {
            return Err(problem::DISPLACED.into());
        }
        Ok(())
    }

    /// Moves the log into the database when it has grown. What others still read stays for the next time.
    fn checkpoint(&self) -> rusqlite::Result<()> {
        if connection::checkpoint(self.connection, "NOOP")? >= MOST_PAGES_OF_A_LOG {
            connection::checkpoint(self.connection, "PASSIVE")?;
        }
        Ok(())
    }

    /// Reads the row, asks the change and writes.
    pub(super) fn apply(&mut self, change: &Change) -> rusqlite::Result<Result<Applied, StoreError>> {
        let (position, found) = match self.find.query_row([change.key().as_str()], schema::read).optional() {
            // This row cannot be read.
            Err(error) if error.sqlite_error_code().is_none() => {
                return Ok(Err(problem::unreadable(self.place.path(), &error)));
            }
            found => found?.unzip(),
        };
        let Some(written) = change.decide(found.as_ref()) else {
            return Ok(Ok(Applied { found, written: None, same_transaction_as: None }));
        };
        let (key, processed_as) = (written.key.as_str(), written.processed_as().map(TransactionId::as_str));
        let is_void = written.is_void();
        let other_holder = match processed_as {
            Some(id) => self.other_holder.query_row((id, key, is_void), |row| row.get(0)).optional()?,
            None => None,
        };
        let same_transaction_as = other_holder.map(|key: String| IntentKey::from_kept(key));
        if same_transaction_as.is_some() && change.is_refused_if_taken() {
            return Ok(Ok(Applied { found, written: None, same_transaction_as }));
        }
        let (stored_at, next_position) = self.stamp()?;
        let statement = if found.is_some() { &mut self.update } else { &mut self.insert };
        let state = written.state.name().as_str();
        let position = position.unwrap_or(next_position);
        let row = (position, key, state, processed_as, is_void, document(&written), stored_at);
        let changed = statement.execute(row)?;
        if changed != 1 {
            return Err(rusqlite::Error::StatementChangedRows(changed));
        }
        Ok(Ok(Applied { found, written: Some(written), same_transaction_as }))
    }

    fn stamp(&mut self) -> rusqlite::Result<(i64, i64)> {
        let (stored_at, position) = if let Some(stamped) = self.stamped {
            stamped
        } else {
            let now = milliseconds::of((self.settings.clock)());
            self.stamp.query_row((now, self.jobs.cast_signed()), |row| row.try_into())?
        };
        self.stamped = Some((stored_at, position + 1));
        Ok((stored_at, position))
    }

    /// Removes what ended and was stored before then from a portion of the rows after this position. Returns the last
    /// position of the portion, and when each row that was removed was stored; or `None` at the end.
    pub(super) fn purge(
        &mut self,
        after: i64,
        stored_before: i64,
    ) -> rusqlite::Result<Option<(i64, Vec<i64>)>> {
        let first = self.connection.query_row(schema::POSITION_AFTER, [after], |row| row.get(0))?;
        let Some(first): Option<i64> = first else { return Ok(None) };
        let last = first.saturating_add(PORTION);
        let mut purge = self.connection.prepare(&schema::purge())?;
        let times = purge.query_map([first, last, stored_before], |row| row.get(0))?;
        Ok(Some((last, times.collect::<rusqlite::Result<_>>()?)))
    }
}

/// Bounds the memory of a commit, and the time for which others wait for it.
const MOST_IN_A_COMMIT: usize = 1024;

/// Positions that a purge looks at in one transaction.
const PORTION: i64 = 2048;

/// With so many pages the log is moved into the database.
const MOST_PAGES_OF_A_LOG: i64 = 3000;
