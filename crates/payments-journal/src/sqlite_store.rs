//! The journal in one SQLite file.
//!
//! One thread, the writer, owns the connection that changes rows: it takes everything that waits, commits it in one
//! transaction and wakes who waited. While it syncs, the next changes gather, so that commits are grouped without any
//! clock. A second thread reads, so that nobody who lists a million rows keeps a charge from being written down.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use crate::row::milliseconds;
use crate::{
    Applied, Change, Cursor, Intent, IntentKey, IntentStore, Journal, OwnerId, Page, Purged, StateName,
    StoreError,
};

mod connection;
#[cfg(any(target_os = "linux", target_os = "android", test))]
mod file_system;
mod mark;
mod owners;
mod place;
mod problem;
mod reader;
mod rights;
mod schema;
#[cfg(test)]
mod tests;
mod writer;

use owners::{Owner, Turn};
use place::Place;
use reader::Reader;
use writer::{Commit, Workplace, Writer};

/// A journal in a SQLite file, for any number of processes of one machine.
///
/// A change is on the disk before it is answered: each commit is synced, and changes that wait at the same time share one.
/// Any number of stores, of this process or of others, may have the file open.
///
/// ```
/// use payments_journal::{Journal, SqliteStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("billing.db");
/// let journal = Journal::open(SqliteStore::open(&path)?).await?;
/// # Ok(())
/// # }
/// ```
///
/// # On the disk
///
/// - `PATH`: the database, mode 0600, made if it is not there. A directory that is not there is made, with mode 0700, if
///   the one above it is there.
/// - `PATH-wal` and `PATH-shm`: SQLite's log and its index. **They belong to the journal**: while the journal is open, and
///   after a crash, the newest rows are in the log alone. A database that was not closed and has no log beside it is
///   refused as [damaged](StoreError::is_damaged), whether the log was removed or the database was copied without it; so is a
///   copy that was made in use, and one whose log another program, such as `sqlite3`, has moved into it after a crash. Only
///   a person can say that nothing is missing, with an empty log of mode 0600 in its place. Copy the database with SQLite's own means, such as `.backup`, or
///   while nobody has it open; never put an old copy back, because what it does not know it charges again. Nothing else in
///   a process that has it open may open the database file: closing it would undo SQLite's locks, as POSIX has it.
/// - `PATH-owners/`: mode 0700, one locked file for each store that is open. It decides what a row that was left behind is
///   called, and nothing else.
///
/// # What is refused
///
/// Chosen by this SDK: a file that others may read or write, that belongs to another user or has a second name; a symbolic
/// link; a directory that others may write, unless it is sticky, as `/tmp` is, or the others are the user's own group; a
/// network file system, and FUSE, which can be one. What is refused is left as it was. Where there are no Unix permissions,
/// only the file's kind is looked at.
///
/// # Closing
///
/// Dropping the store waits for nothing: the thread that writes closes the journal behind it, at worst after some seconds
/// that another process has the file for. Every change that was answered is on the disk before. The file can be opened again
/// at once. A program that ends before it is closed leaves the log beside the database, as a crash does; before a program
/// ends, or the database is copied, [`Journal::close`] waits.
///
/// # Purging
///
/// [`Journal::purge_older_than`] counts age from the time at which a row was last written: the later of the machine's clock
/// and the newest time in the journal. It counts it by the newest time that the journal held when this store was opened, so
/// what a process has written itself is never purged by it, and a clock that jumps ahead while it runs purges nothing. While
/// the clock is behind that time, nothing is purged at all. A clock that ran ahead while rows were written by an earlier
/// process is not noticed.
///
/// # When it fails
///
/// | what failed | this change | the store |
/// |---|---|---|
/// | another process has the file for 10 seconds | [unavailable](StoreError::is_unavailable): not made | goes on |
/// | a write before the commit, or the file was removed or replaced | [poisoned](StoreError::is_poisoned): not made | ends |
/// | the commit or its sync | [in doubt](StoreError::is_in_doubt) | ends |
///
/// A store that has ended refuses everything as [poisoned](StoreError::is_poisoned), reading as well. The way on is to mend
/// the cause and to open the file again: what is in it is then read anew, and written and synced once more before anything
/// builds on it.
pub struct SqliteStore {
    reader: Reader,
    writer: Writer,
    owner: Arc<Owner>,
    poison: Poison,
    place: Arc<Place>,
    clock: Clock,
    /// The newest time in the journal when it was opened, in milliseconds since 1970.
    newest_before: i64,
}

impl SqliteStore {
    /// Opens the journal, which is made if it is not there. It blocks on the disk, and for at most some seconds on another
    /// process that has the file.
    ///
    /// # Errors
    ///
    /// If the place is [unsafe](StoreError::is_refused), if the file is no journal, [damaged](StoreError::is_damaged) or
    /// [of a newer version](StoreError::is_newer), or if it [cannot be reached](StoreError::is_unavailable) now. Nothing was
    /// charged, and a file that is refused is left as it was. A journal of an older
    /// version is refused: export it with the version that wrote it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path.as_ref(), Settings::default())
    }

    fn open_with(path: &Path, settings: Settings) -> Result<Self, StoreError> {
        let place = Place::prepare(path)?;
        let turn = Turn::take(&place, settings.patience)?;
        let connection = mark::check(&place)
            .and_then(|()| connection::to_write(&place, settings.patience))
            .inspect_err(|_| turn.leave_no_trace())?;
        let place = Arc::new(place.opened());
        // Before any row can name it.
        let owner = Owner::register(&place)?;
        let newest_before = connection
            .query_row(schema::NEWEST_STORED_AT, [], |row| row.get(0))
            .map_err(|error| problem::at_open(place.path(), &error))?;
        mark::set(&place, &connection, settings.patience)?;
        drop(turn);
        let (poison, owner) = (Poison::default(), Arc::new(owner));
        let reader = connection::to_read(&place, settings.patience)?;
        let (reader, reading) = Reader::start(reader, place.clone())?;
        let writer = Writer::start(Workplace {
            connection,
            place: place.clone(),
            poison: poison.clone(),
            commit: settings.commit,
            clock: settings.clock.clone(),
            owner: owner.clone(),
            reader: reading,
            patience: settings.patience,
        })?;
        Ok(Self { reader, writer, owner, poison, place, clock: settings.clock, newest_before })
    }
}

/// Nothing is waited for: the writer's thread ends when nobody can ask it any more, and closes the journal then. The owner
/// counts as dead at once, because whoever opens the journal next may ask.
impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.owner.stop_sending();
    }
}

/// What differs in tests alone.
struct Settings {
    /// How long to wait for another process.
    patience: Duration,
    commit: Commit,
    clock: Clock,
}

/// The machine's clock.
type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

impl Default for Settings {
    fn default() -> Self {
        Self { patience: Duration::from_secs(10), commit: writer::commit(), clock: Arc::new(SystemTime::now) }
    }
}

/// Why nothing may be done any more, once something has failed.
#[derive(Clone, Default)]
struct Poison(Arc<OnceLock<StoreError>>);

impl Poison {
    fn set(&self, error: StoreError) {
        // The first failure is the one to mend.
        let _ = self.0.set(error);
    }

    fn check(&self) -> Result<(), StoreError> {
        self.0.get().map_or(Ok(()), |error| Err(error.clone()))
    }
}

impl IntentStore for SqliteStore {
    fn owner(&self) -> &OwnerId {
        self.owner.id()
    }

    async fn apply(&self, change: Change) -> Result<Applied, StoreError> {
        self.poison.check()?;
        self.writer.apply(change).await
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.poison.check()?;
        self.reader.find(key).await
    }

    async fn list(
        &self,
        states: &[StateName],
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        self.poison.check()?;
        self.reader.list(states, after, limit).await
    }

    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        if owner == self.owner.id() {
            return Ok(true);
        }
        owners::is_live(&self.place, owner)
    }

    /// In portions, between which charges go on. After an error some may have been removed.
    async fn purge(&self, age: Duration) -> Result<Purged, StoreError> {
        self.poison.check()?;
        if milliseconds::of((self.clock)()) < self.newest_before {
            return Ok(Purged::default());
        }
        // What is old by that time is old by the clock too. What this store has written, by whatever clock, is younger.
        let age = i64::try_from(age.max(Journal::YOUNGEST_TO_PURGE).as_millis()).unwrap_or(i64::MAX);
        let removed = self.writer.purge(self.newest_before.saturating_sub(age)).await?;
        Ok(Purged { intents: removed.rows, newest: removed.newest.and_then(milliseconds::time) })
    }

    async fn close(&self) {
        self.reader.end();
        self.writer.end().await;
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { owner, poison, place, .. } = self;
        f.debug_struct("SqliteStore")
            .field("path", &place.path())
            .field("owner", owner.id())
            .field("poison", &poison.check().err())
            .finish_non_exhaustive()
    }
}
