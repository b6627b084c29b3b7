//! Stores the records of a gateway in one SQLite file.
//!
//! [`DataFile`] opens and locks the file and restores a gateway from it. From then on, the gateway appends its changes to the
//! log. One thread owns the connection: it takes all waiting changes, commits them in one transaction and wakes the waiters.
//! The next changes accumulate while it syncs, so commits are grouped without a timer.

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

/// Stores every change of a gateway in its [`DataFile`], until it is closed or dropped.
///
/// [`close`](Self::close) it when the gateway is no longer served. Dropping it does the same, but blocks the current thread
/// and discards an error. Later changes of the gateway fail with [`NotDurable`].
#[must_use = "dropping it closes the file, and later changes are not stored"]
pub struct Store {
    log: Log,
    writer: Option<JoinHandle<()>>,
}

/// The queue of changes from the gateway, which must not block, to the writer.
#[derive(Clone)]
struct Log {
    queue: Arc<Mutex<Queue>>,
    /// The result of the writer, once it has ended.
    end: watch::Sender<Option<Result<(), StoreError>>>,
}

struct Queue {
    /// `None` after the store is closed.
    groups: Option<mpsc::Sender<Group>>,
    /// How many changes were appended since the start.
    appended: u64,
    /// How many of them are in the file.
    durable: u64,
    /// The waiters, each with the number of changes that it waits for, in ascending order. Dropping a sender reports that
    /// the changes are not durable.
    waiters: VecDeque<(u64, oneshot::Sender<()>)>,
}

/// Changes that must be in one commit, each with the index of its tenant in the order of the keys.
type Group = Vec<(usize, Change)>;

impl Store {
    /// Ready with the error when a change could not be written; otherwise never.
    ///
    /// From then on, nothing more is written and no payment gets a response. Every payment that got one before is in the
    /// file. A disk error is final: stop the process, fix the cause and start again.
    pub fn failed(&self) -> impl Future<Output = StoreError> + Send + use<> {
        let mut end = self.log.end.subscribe();
        async move {
            let failed = end.wait_for(|end| matches!(end, Some(Err(_)))).await;
            match failed.ok().and_then(|end| end.clone()) {
                Some(Err(error)) => error,
                // The log was dropped, so nothing can fail any more.
                _ => std::future::pending().await,
            }
        }
    }

    /// Writes the remaining changes, closes the file and releases its lock.
    ///
    /// # Errors
    ///
    /// If a change could not be written, now or [before](Self::failed).
    pub async fn close(self) -> Result<(), StoreError> {
        self.log.close();
        let mut end = self.log.end.subscribe();
        let ended = end.wait_for(Option::is_some).await;
        ended.ok().and_then(|end| end.clone()).unwrap_or(Ok(()))
    }
}

/// Waits for the writer to write the remaining changes, so that the file can be opened again at once.
impl Drop for Store {
    fn drop(&mut self) {
        self.log.close();
        if let Some(writer) = self.writer.take() {
            // The writer reports a panic as a failure.
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

    /// Takes no more changes. The writer writes those that it has, and ends.
    fn close(&self) {
        self.queue().groups = None;
    }

    /// Records that `count` more changes are in the file, and wakes their waiters.
    fn committed(&self, count: usize) {
        let released: Vec<_> = {
            let queue = &mut *self.queue();
            queue.durable += count as u64;
            let covered = queue.waiters.partition_point(|(needed, _)| *needed <= queue.durable);
            queue.waiters.drain(..covered).collect()
        };
        // After the lock is released: a woken task may call the gateway, which appends.
        for (_, waiter) in released {
            // An error means that the client left.
            let _ = waiter.send(());
        }
    }

    fn ended(&self, end: Result<(), StoreError>) {
        self.end.send_replace(Some(end));
        let waiters = std::mem::take(&mut self.queue().waiters);
        drop(waiters);
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
            // If the writer has ended, the group is never durable, and `flushed` reports that.
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

/// Owns the file and writes the appended changes until the log is closed.
struct Writer {
    file: DataFile,
    groups: mpsc::Receiver<Group>,
    log: Log,
}

impl Writer {
    /// Returns when the file is closed.
    fn run(self) {
        let (log, path) = (self.log.clone(), self.file.path.clone());
        // A panic ends the writer like an error, so that no waiter waits for ever.
        let ended = catch_unwind(AssertUnwindSafe(|| self.write_and_close()))
            .unwrap_or_else(|_| Err(Problem::CannotWrite("the writer thread panicked".to_owned())));
        log.ended(ended.map_err(|problem| StoreError::new(&path, problem)));
    }

    fn write_and_close(self) -> Result<(), Problem> {
        // After a failed sync, it is unknown which part of the log is on the disk, so no checkpoint may use it. The next start
        // reads the log again and takes its complete commits.
        self.file.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        self.write_all()?;
        // Closing writes the log into the open file, and deletes any file with the log's name.
        self.file.check_not_moved()?;
        self.file.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        // Closing moves the write-ahead log into the file. If that fails, the log stays, is just as durable, and is read at
        // the next start.
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
            self.file.check_not_moved()?;
            self.commit(&mut put, &batch).map_err(cannot_write)?;
            self.log.committed(batch.len());
        }
        Ok(())
    }

    fn commit(&self, put: &mut Statement<'_>, batch: &Group) -> rusqlite::Result<()> {
        let transaction = self.file.connection.unchecked_transaction()?;
        for (tenant, change) in batch {
            // An unknown tenant becomes row 0, which never exists, so SQLite refuses it.
            let tenant = self.file.tenants.get(*tenant).copied().unwrap_or_default();
            let (kind, id, document) = match change {
                Change::Transaction { id, document } => (schema::TRANSACTION, id.as_str(), document),
                Change::Token { id, document } => (schema::TOKEN, id.as_str(), document),
                Change::Customer { id, document } => (schema::CUSTOMER, id.as_str(), document),
                Change::Cleared => {
                    transaction.execute(schema::CLEAR_RECORDS, [tenant])?;
                    continue;
                }
                // A kind of change that this store does not know must not be lost silently.
                _ => return Err(rusqlite::Error::InvalidQuery),
            };
            put.execute(params![tenant, kind, id, &**document])?;
        }
        transaction.commit()
    }
}

/// Limits the memory of a commit and the time until the first waiter is woken. The group that reaches it is still taken.
const MAX_BATCH: usize = 4096;
