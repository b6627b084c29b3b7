//! What a gateway holds, kept in one SQLite file.
//!
//! [`DataFile`] takes the file and restores a gateway from it. From then on the gateway appends its changes to the log, and
//! one thread owns the connection: it takes everything that waits, commits it in one transaction and wakes who waited. While
//! it syncs, the next changes gather, so that commits are grouped without any timer.

use std::collections::VecDeque;
use std::fmt;
use std::future::ready;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use payments_fake::{Change, ChangeLog, Flushed, NotDurable};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, FileControl, MAIN_DB, Statement, params};
use tokio::sync::{oneshot, watch};

mod data_file;
mod error;
mod schema;

pub use data_file::DataFile;
use data_file::log_of;
use error::Problem;
pub use error::StoreError;

/// Keeps every change of a gateway in its [`DataFile`], for as long as it lives.
///
/// [`close`](Self::close) it when the gateway is no longer served. Dropping it does the same, but waits on the current
/// thread and tells nobody what went wrong. Whoever still calls the gateway after that is
/// [told](payments_fake::NotDurable) that nothing is kept any more.
#[must_use = "dropped, it closes the file, and nothing is kept any more"]
pub struct Store {
    log: Log,
    writer: Option<JoinHandle<()>>,
}

/// The changes on their way from the gateway, which must not wait, to the writer.
#[derive(Clone)]
struct Log(Arc<Shared>);

struct Shared {
    queue: Mutex<Queue>,
    progress: watch::Sender<Progress>,
}

struct Queue {
    /// Until the store is closed.
    groups: Option<mpsc::Sender<Group>>,
    /// How many changes there were since the start.
    appended: u64,
    /// Who waits until how many changes are in the file, in this order. One whose sender is dropped waits in vain.
    waiters: VecDeque<(u64, oneshot::Sender<()>)>,
}

/// Changes that must be in one commit, each with the place of its tenant in the order of the keys.
type Group = Vec<(usize, Change)>;

struct Progress {
    /// How many of the changes are in the file.
    durable: u64,
    /// How the writer has ended, once it has.
    end: Option<Result<(), StoreError>>,
}

impl Store {
    /// Gives the connection to a writer of its own. `tenants` are their rows, in the order of the keys.
    fn start(writer: Writer, log: Log) -> std::io::Result<Self> {
        let thread = thread::Builder::new().name("payments-store".to_owned()).spawn(|| writer.run())?;
        Ok(Self { log, writer: Some(thread) })
    }

    /// Ends when something could not be written, and says what; never, if everything is kept.
    ///
    /// From that moment on nothing more is written and no payment is answered. What was answered before is in the file.
    /// An error of the disk is final: the only way on is to end the process, fix the cause and start again.
    pub fn failed(&self) -> impl Future<Output = StoreError> + Send + use<> {
        let mut progress = self.log.0.progress.subscribe();
        async move {
            let failed = progress.wait_for(|progress| matches!(progress.end, Some(Err(_)))).await;
            match failed.ok().and_then(|progress| progress.end.clone()) {
                Some(Err(error)) => error,
                // The log is gone, and nothing can fail any more.
                _ => std::future::pending().await,
            }
        }
    }

    /// Writes what is left, closes the file and lets others have it.
    ///
    /// # Errors
    ///
    /// If something could not be written, now or [before](Self::failed).
    pub async fn close(self) -> Result<(), StoreError> {
        self.log.close();
        let mut progress = self.log.0.progress.subscribe();
        let ended = progress.wait_for(|progress| progress.end.is_some()).await;
        ended.ok().and_then(|progress| progress.end.clone()).unwrap_or(Ok(()))
    }
}

/// Waits for the writer, at most for what is left to be written: whoever drops a store may open its file again at once.
impl Drop for Store {
    fn drop(&mut self) {
        self.log.close();
        if let Some(writer) = self.writer.take() {
            // A panic there was made a failure there.
            let _ = writer.join();
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("end", &self.log.0.progress.borrow().end).finish_non_exhaustive()
    }
}

impl Log {
    fn new() -> (Self, mpsc::Receiver<Group>) {
        let (groups, taken) = mpsc::channel();
        let progress = watch::Sender::new(Progress { durable: 0, end: None });
        let queue = Queue { groups: Some(groups), appended: 0, waiters: VecDeque::new() };
        (Self(Arc::new(Shared { queue: Mutex::new(queue), progress })), taken)
    }

    /// Takes no more changes; the writer writes what was taken, and ends.
    fn close(&self) {
        self.queue().groups = None;
    }

    /// So many more changes are in the file: whoever waited for them goes on.
    fn committed(&self, count: usize) {
        self.0.progress.send_modify(|progress| progress.durable += count as u64);
        let durable = self.0.progress.borrow().durable;
        let released: Vec<_> = {
            let waiters = &mut self.queue().waiters;
            let covered = waiters.partition_point(|(needed, _)| *needed <= durable);
            waiters.drain(..covered).collect()
        };
        // Whoever is woken may call the gateway, which appends.
        for (_, waiter) in released {
            // An error means that the client went away.
            let _ = waiter.send(());
        }
    }

    fn ended(&self, end: Result<(), StoreError>) {
        self.0.progress.send_modify(|progress| progress.end = Some(end));
        let left = std::mem::take(&mut self.queue().waiters);
        drop(left);
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChangeLog for Log {
    fn append(&self, group: &mut dyn Iterator<Item = (usize, Change)>) {
        let group: Group = group.collect();
        let mut queue = self.queue();
        queue.appended += group.len() as u64;
        if let Some(groups) = &queue.groups {
            // If the writer is gone the group is never durable, and whoever asks is told.
            let _ = groups.send(group);
        }
    }

    fn flushed(&self) -> Flushed {
        let mut queue = self.queue();
        let needed = queue.appended;
        match &*self.0.progress.borrow() {
            Progress { end: Some(Err(_)), .. } => return Box::pin(ready(Err(NotDurable::new()))),
            Progress { durable, .. } if *durable >= needed => return Box::pin(ready(Ok(()))),
            Progress { end: Some(Ok(())), .. } => return Box::pin(ready(Err(NotDurable::new()))),
            Progress { end: None, .. } => {}
        }
        let (waiter, released) = oneshot::channel();
        queue.waiters.push_back((needed, waiter));
        Box::pin(async { released.await.map_err(|_| NotDurable::new()) })
    }
}

/// Owns the connection and writes what is appended to the log until that is closed.
struct Writer {
    path: PathBuf,
    connection: Connection,
    /// The tenants' rows, in the order of the keys.
    tenants: Vec<i64>,
    groups: mpsc::Receiver<Group>,
    log: Log,
}

impl Writer {
    /// Returns when the file is closed.
    fn run(self) {
        let Self { path, connection, tenants, groups, log } = self;
        let panicked = Problem::CannotWrite("the thread that writes has panicked".to_owned());
        let mut end = End { log, end: Err(StoreError::new(&path, panicked)) };
        let written = write_all(&connection, &path, &tenants, &groups, &end.log)
            // Closing writes the log into the file that is held, and removes whatever has the log's name.
            .and_then(|()| check_place(&connection, &path));
        if written.is_err() {
            // After a failed sync nobody knows what of the log is on the disk: nothing may be built on it here. The next
            // start reads it anew and takes what is whole.
            let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
        // Closing moves the write-ahead log into the file. If that does not work out, the log stays, is as durable, and is
        // read at the next start.
        drop(connection);
        end.end = written.map_err(|problem| StoreError::new(&path, problem));
    }
}

/// Tells how the writer has ended, even by a panic: nobody may wait for a writer that is gone.
struct End {
    log: Log,
    end: Result<(), StoreError>,
}

impl Drop for End {
    fn drop(&mut self) {
        let end = std::mem::replace(&mut self.end, Ok(()));
        self.log.ended(end);
    }
}

fn write_all(
    connection: &Connection,
    path: &Path,
    tenants: &[i64],
    groups: &mpsc::Receiver<Group>,
    log: &Log,
) -> Result<(), Problem> {
    let cannot_write = |error: rusqlite::Error| Problem::CannotWrite(error.to_string());
    let mut statements = Statements::prepare(connection).map_err(cannot_write)?;
    while let Ok(mut batch) = groups.recv() {
        while batch.len() < MAX_BATCH
            && let Ok(group) = groups.try_recv()
        {
            batch.extend(group);
        }
        check_place(connection, path)?;
        let transaction = connection.unchecked_transaction().map_err(cannot_write)?;
        statements.write(tenants, &batch).and_then(|()| transaction.commit()).map_err(cannot_write)?;
        log.committed(batch.len());
    }
    Ok(())
}

/// Bounds the memory of a commit and the time until the first waiter goes on. The group that reaches it is still taken.
const MAX_BATCH: usize = 4096;

/// The next start reads what is in the path's place. A file that was removed can be written all the same, and would be for
/// nobody; beside a file that took its place, another sandbox may have the log.
fn check_place(connection: &Connection, path: &Path) -> Result<(), Problem> {
    let mut has_moved = 0;
    // Where SQLite cannot tell, the system does not let go of a file that is open.
    let asked = connection.file_control(Some(MAIN_DB), FileControl::HasMoved(&mut has_moved));
    if (asked.is_ok() && has_moved != 0) || !log_of(path).exists() { Err(Problem::Displaced) } else { Ok(()) }
}

/// Everything a commit needs, prepared once.
struct Statements<'a> {
    add: Statement<'a>,
    put: Statement<'a>,
    clear: Statement<'a>,
}

impl<'a> Statements<'a> {
    fn prepare(connection: &'a Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            add: connection.prepare(schema::ADD_TRANSACTION)?,
            put: connection.prepare(schema::PUT_RECORD)?,
            clear: connection.prepare(schema::CLEAR_RECORDS)?,
        })
    }

    fn write(&mut self, tenants: &[i64], batch: &[(usize, Change)]) -> rusqlite::Result<()> {
        for (tenant, change) in batch {
            // A tenant that is none of this file's is row 0, which is never there, and SQLite refuses it.
            let tenant = tenants.get(*tenant).copied().unwrap_or_default();
            let (put, kind, id, document) = match change {
                Change::Transaction { id, document } => {
                    (&mut self.add, schema::TRANSACTION, id.as_str(), document)
                }
                Change::Token { id, document } => (&mut self.put, schema::TOKEN, id.as_str(), document),
                Change::Customer { id, document } => (&mut self.put, schema::CUSTOMER, id.as_str(), document),
                Change::Cleared => {
                    self.clear.execute([tenant])?;
                    continue;
                }
                // A kind of change that a later fake has and this store does not: it must not be lost silently.
                _ => return Err(rusqlite::Error::InvalidQuery),
            };
            put.execute(params![tenant, kind, id, &**document])?;
        }
        Ok(())
    }
}
