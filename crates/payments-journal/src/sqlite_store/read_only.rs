//! Reads a journal without writing anything: not the database, its log or the log's index, and no file beside them.
//!
//! | beside the database | the journal | how it is read |
//! |---|---|---|
//! | a log and its index | is open, or its last store has died | `readonly_shm`: with the locks of the living, or with its own index in memory if there are none |
//! | a log alone | is a copy, or lost its log and a person accepted that: it is not open in any store | without locks, with its own index in memory |
//! | no log | was closed | `immutable`, which ignores a log: never used beside one |
//!
//! SQLite would create a log that is missing, and the next store would take it for the one that is lost (see `open_flag.rs`). So
//! the files are looked at, and the connection is opened, while no store can open or close the journal. In the last two cases
//! nothing locks the files while they are read. A store that opens the journal meanwhile changes them, and then the result is
//! dropped and read again.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_channel::oneshot;
use rusqlite::Connection;

use crate::sqlite_store::connection::Tables;
use crate::sqlite_store::place::{Mode, Place};
use crate::sqlite_store::problem::{self, SqliteError};
use crate::sqlite_store::witness;
use crate::sqlite_store::{address, connection, indexes, owners, tables};
use crate::store::only_read;
use crate::summary::Tally;
use crate::{Intent, IntentKey, IntentStore, OwnerId, Rows, StateName, StoreError};

/// A journal in a SQLite file that is only read: nothing is written, so it works on a full disk and on a read-only one.
///
/// ```
/// use payments_journal::{Journal, SqliteReader, StateName};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// if let Some(reader) = SqliteReader::open("billing.db")? {
///     let journal = Journal::read_only(reader);
///     let unresolved = journal.pages(StateName::UNRESOLVED).next().await?;
/// }
/// # Ok(())
/// # }
/// ```
///
/// Programs that send keep running meanwhile, and what they write is seen. The file is opened for each read and closed again.
/// The same file is not opened as a [`SqliteStore`](crate::SqliteStore) by this process at the same time: read that store.
///
/// What a store [refuses](crate::SqliteStore#what-is-refused) is refused here too, except for a file that is mounted without its
/// directory. On a file system that is mounted read-only, owners, modes and second names are not checked. No index is believed: lists
/// are read from the table, and so is a key that its index lacks. With a million rows that takes about a second each. To look up many
/// keys, [check the indexes](Self::with_checked_indexes) first.
pub struct SqliteReader {
    place: Arc<Place>,
    /// Whether a key that its index lacks is new.
    has_checked_indexes: bool,
    /// The second witness, if it was named.
    witness: Option<PathBuf>,
    /// It never sends.
    owner: OwnerId,
}

impl SqliteReader {
    /// Opens the journal. `None` if there is none at this path: none is created. It blocks on the disk.
    ///
    /// # Errors
    ///
    /// As [`SqliteStore::open`](crate::SqliteStore::open).
    pub fn open(path: impl AsRef<Path>) -> Result<Option<Self>, StoreError> {
        Self::open_with(path.as_ref(), None)
    }

    pub(super) fn open_with(path: &Path, witness: Option<PathBuf>) -> Result<Option<Self>, StoreError> {
        address::check(path)?;
        owners::check_process(path)?;
        let Some(place) = Place::existing(path, witness.as_deref())? else { return Ok(None) };
        let is_journal = read(&place, |_| Ok(()))?.is_some();
        let place = Arc::new(place);
        Ok(is_journal.then(|| Self { place, has_checked_indexes: false, witness, owner: OwnerId::new() }))
    }

    /// Compares the table with each index, as [`SqliteStore::open`](crate::SqliteStore::open) does, and believes the index of keys
    /// from then on. It blocks on the disk.
    ///
    /// # Errors
    ///
    /// [Damaged](StoreError::is_damaged) if they differ, and if the journal cannot be read.
    pub fn with_checked_indexes(self) -> Result<Self, StoreError> {
        match read(&self.place, indexes::first_damaged)?.flatten() {
            None => Ok(Self { has_checked_indexes: true, ..self }),
            Some(index) => Err(problem::damaged_index(self.place.path(), index)),
        }
    }

    /// Reads on another thread, because the disk may be slow.
    async fn read<T: Send + 'static>(
        &self,
        mut query: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.on_a_thread(move |place| read_tables(place, &mut query)).await
    }

    async fn on_a_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Place) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (place, (sender, received)) = (self.place.clone(), oneshot::channel());
        // Sending fails only if the caller has left.
        let working = move || drop(sender.send(work(&place)));
        thread::Builder::new()
            .name("payments-journal-read".to_owned())
            .spawn(working)
            .map_err(|error| problem::unavailable(self.place.path(), error))?;
        received.await.unwrap_or_else(|_| {
            Err(problem::unavailable(self.place.path(), "reading it failed by an internal error"))
        })
    }
}

fn read_tables<T>(
    place: &Place,
    query: impl FnMut(&Connection) -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    read(place, query)?.ok_or_else(|| problem::poisoned(place.path(), "its tables are missing"))
}

/// `None` if the database is empty.
fn read<T>(
    place: &Place,
    mut query: impl FnMut(&Connection) -> rusqlite::Result<T>,
) -> Result<Option<T>, StoreError> {
    let since = Instant::now();
    loop {
        if place.is_displaced() {
            return Err(problem::poisoned(
                place.path(),
                "the file was removed, moved or replaced while it was read",
            ));
        }
        let held_off = owners::hold_off(place)?;
        let files = place.snapshot();
        let mode = files.mode();
        let opened = connection::to_only_read(place, mode);
        drop(held_off);
        let result = opened
            .map_err(SqliteError::from)
            .and_then(|connection| read_with(place, mode, &connection, &mut query));
        if since.elapsed() < place.max_wait && result.as_ref().is_err_and(problem::is_without_a_mark) {
            thread::sleep(Duration::from_millis(1));
            continue;
        }
        let result = result.map_err(|error| problem::of_reader(error, place.path()));
        let now = place.snapshot();
        let is_certain =
            if mode == Mode::Shared { result.is_ok() || now.mode() == mode } else { now == files };
        if is_certain {
            return result;
        }
        if since.elapsed() > place.max_wait {
            return Err(problem::busy(place.path()));
        }
    }
}

fn read_with<T>(
    place: &Place,
    mode: Mode,
    connection: &Connection,
    query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Result<Option<T>, SqliteError> {
    // One transaction, so that the query sees the tables that were checked.
    let transaction = connection.unchecked_transaction()?;
    match connection::found_tables(place, &transaction)? {
        Tables::None => return Ok(None),
        Tables::Older(version) => return Err(problem::older(place.path(), version).into()),
        Tables::Current => {}
    }
    if mode == Mode::Closed {
        if transaction.query_row(tables::IS_OPEN, [], |row| row.get(0))? {
            return Err(problem::log_missing(place.path()).into());
        }
        if connection::is_truncated(place, &transaction)? {
            return Err(problem::damaged(place.path(), connection::ITS_END_IS_MISSING).into());
        }
    } else {
        connection::check_log(place, &transaction)?;
    }
    Ok(Some(query(&transaction)?))
}

#[async_trait]
impl IntentStore for SqliteReader {
    fn owner(&self) -> &OwnerId {
        &self.owner
    }

    fn check_writable(&self) -> Result<(), StoreError> {
        Err(only_read())
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        let key = key.clone();
        let has_checked_indexes = self.has_checked_indexes;
        self.read(move |connection| match tables::find(connection, tables::FIND, &key)? {
            // Nobody may take a charged key for one that was never sent.
            None if !has_checked_indexes => tables::find(connection, tables::FIND_IN_TABLE, &key),
            found => Ok(found),
        })
        .await
    }

    async fn list(&self, states: &[StateName], after: Option<i64>, limit: usize) -> Result<Rows, StoreError> {
        let sql = tables::list_in_table(states);
        self.read(move |connection| tables::rows(connection, &sql, after, limit)).await
    }

    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        owners::is_live(&self.place, owner)
    }

    async fn summarize(&self, service: Option<&str>) -> Result<Vec<Tally>, StoreError> {
        let service = service.map(str::to_owned);
        self.read(move |connection| tables::summarize(connection, service.as_deref())).await
    }

    async fn check_history(&self) -> Result<(), StoreError> {
        let elsewhere = self.witness.clone();
        self.on_a_thread(move |place| {
            let read = || {
                read_tables(place, |connection| {
                    connection.query_row(tables::REMEMBERED, [], |row| row.try_into())
                })
            };
            witness::check_history(place, elsewhere.as_deref(), read)
        })
        .await
    }
}

impl fmt::Debug for SqliteReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, has_checked_indexes: _, witness: _, owner: _ } = self;
        f.debug_struct("SqliteReader").field("path", &place.path()).finish_non_exhaustive()
    }
}
