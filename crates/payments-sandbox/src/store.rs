//! What a gateway holds, kept in one SQLite file.
//!
//! [`DataFile`] takes the file and restores a gateway from it. From then on the gateway appends its changes to the log, and
//! one thread owns the connection: it takes everything that waits, commits it in one transaction and wakes who waited. While
//! it syncs, the next changes gather, so that commits are grouped without any timer.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;

use payments_fake::{Change, ChangeLog, Flushed, NotDurable};
use rusqlite::config::DbConfig;
use rusqlite::{Statement, params};
use tokio::sync::{oneshot, watch};

mod data_file;
mod error;
mod schema;

pub use data_file::DataFile;
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
struct Log {
    queue: Arc<Mutex<Queue>>,
    /// How the writer has ended, once it has.
    end: watch::Sender<Option<Result<(), StoreError>>>,
}

struct Queue {
    /// Until the store is closed.
    groups: Option<mpsc::Sender<Group>>,
    /// How many changes there were since the start.
    appended: u64,
    /// How many of them are in the file.
    durable: u64,
    /// Who waits until how many changes are in the file, in this order. One whose sender is dropped waits in vain.
    waiters: VecDeque<(u64, oneshot::Sender<()>)>,
}

/// Changes that must be in one commit, each with the place of its tenant in the order of the keys.
type Group = Vec<(usize, Change)>;

impl Store {
    /// Ends when something could not be written, and says what; never, if everything is kept.
    ///
    /// From that moment on nothing more is written and no payment is answered. What was answered before is in the file.
    /// An error of the disk is final: the only way on is to end the process, fix the cause and start again.
    pub fn failed(&self) -> impl Future<Output = StoreError> + Send + use<> {
        let mut end = self.log.end.subscribe();
        async move {
            let failed = end.wait_for(|end| matches!(end, Some(Err(_)))).await;
            match failed.ok().and_then(|end| end.clone()) {
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
        let mut end = self.log.end.subscribe();
        let ended = end.wait_for(Option::is_some).await;
        ended.ok().and_then(|end| end.clone()).unwrap_or(Ok(()))
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
        f.debug_struct("Store").field("end", &self.log.end.borrow()).finish_non_exhaustive()
    }
}

impl Log {
    fn new() -> (Self, mpsc::Receiver<Group>) {
        let (groups, taken) = mpsc::channel();
        let queue = Queue { groups: Some(groups), appended: 0, durable: 0, waiters: VecDeque::new() };
        (Self { queue: Arc::new(Mutex::new(queue)), end: watch::Sender::new(None) }, taken)
    }

    /// Takes no more changes; the writer writes what was taken, and ends.
    fn close(&self) {
        self.queue().groups = None;
    }

    /// So many more changes are in the file: whoever waited for them goes on.
    fn committed(&self, count: usize) {
        let released: Vec<_> = {
            let queue = &mut *self.queue();
            queue.durable += count as u64;
            let covered = queue.waiters.partition_point(|(needed, _)| *needed <= queue.durable);
            queue.waiters.drain(..covered).collect()
        };
        // Whoever is woken may call the gateway, which appends.
        for (_, waiter) in released {
            // An error means that the client went away.
            let _ = waiter.send(());
        }
    }

    fn ended(&self, end: Result<(), StoreError>) {
        self.end.send_replace(Some(end));
        let left = std::mem::take(&mut self.queue().waiters);
        drop(left);
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
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
        let (waiter, released) = oneshot::channel();
        let (mut queue, end) = (self.queue(), self.end.borrow());
        let needed = queue.appended;
        if !matches!(*end, Some(Err(_))) && queue.durable >= needed {
            let _ = waiter.send(());
        } else if end.is_none() {
            queue.waiters.push_back((needed, waiter));
        }
        Box::pin(async { released.await.map_err(|_| NotDurable::new()) })
    }
}

/// Owns the file and writes what is appended to the log until that is closed.
struct Writer {
    file: DataFile,
    groups: mpsc::Receiver<Group>,
    log: Log,
}

impl Writer {
    /// Returns when the file is closed.
    fn run(self) {
        let (log, path) = (self.log.clone(), self.file.path.clone());
        // Nobody may wait for a writer that is gone: a panic ends it as an error does.
        let ended = catch_unwind(AssertUnwindSafe(|| self.write_and_close()))
            .unwrap_or_else(|_| Err(Problem::CannotWrite("the thread that writes has panicked".to_owned())));
        log.ended(ended.map_err(|problem| StoreError::new(&path, problem)));
    }

    fn write_and_close(self) -> Result<(), Problem> {
        // After a failed sync nobody knows what of the log is on the disk: nothing may be built on it here. The next start
        // reads it anew and takes what is whole.
        self.file.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        self.write_all()?;
        // Closing writes the log into the file that is held, and removes whatever has the log's name.
        self.file.check_place()?;
        self.file.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        // Closing moves the write-ahead log into the file. If that does not work out, the log stays, is as durable, and is
        // read at the next start.
        drop(self);
        Ok(())
    }

    fn write_all(&self) -> Result<(), Problem> {
        let cannot_write = |error: rusqlite::Error| Problem::CannotWrite(error.to_string());
        let mut put = self.file.connection.prepare(schema::PUT_RECORD).map_err(cannot_write)?;
        while let Ok(mut batch) = self.groups.recv() {
            while batch.len() < MAX_BATCH
                && let Ok(group) = self.groups.try_recv()
            {
                batch.extend(group);
            }
            self.file.check_place()?;
            self.commit(&mut put, &batch).map_err(cannot_write)?;
            self.log.committed(batch.len());
        }
        Ok(())
    }

    fn commit(&self, put: &mut Statement<'_>, batch: &Group) -> rusqlite::Result<()> {
        let transaction = self.file.connection.unchecked_transaction()?;
        for (tenant, change) in batch {
            // A tenant that is none of this file's is row 0, which is never there, and SQLite refuses it.
            let tenant = self.file.tenants.get(*tenant).copied().unwrap_or_default();
            let (kind, id, document) = match change {
                Change::Transaction { id, document } => (schema::TRANSACTION, id.as_str(), document),
                Change::Token { id, document } => (schema::TOKEN, id.as_str(), document),
                Change::Customer { id, document } => (schema::CUSTOMER, id.as_str(), document),
                Change::Cleared => {
                    transaction.execute(schema::CLEAR_RECORDS, [tenant])?;
                    continue;
                }
                // A kind of change that a later fake has and this store does not: it must not be lost silently.
                _ => return Err(rusqlite::Error::InvalidQuery),
            };
            put.execute(params![tenant, kind, id, &**document])?;
        }
        transaction.commit()
    }
}

/// Bounds the memory of a commit and the time until the first waiter goes on. The group that reaches it is still taken.
const MAX_BATCH: usize = 4096;
