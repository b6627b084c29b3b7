//! The journal in one SQLite file.
//!
//! One thread, the writer, owns the connection that changes rows: it takes everything that waits, commits it in one
//! transaction and wakes who waited. While it syncs, the next changes gather, so that commits are grouped without any
//! clock. A second thread reads, so that nobody who lists a million rows keeps a charge from being written down.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension};

use crate::row::milliseconds;
use crate::{
    Applied, Change, Cursor, Intent, IntentKey, IntentStore, Journal, OwnerId, Page, Purged, StateName,
    StoreError,
};

mod connection;
#[cfg(any(target_os = "linux", target_os = "android"))]
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
use problem::OpenError;
use reader::Reader;
use writer::{Commit, Writer};

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
        let path = place.path().to_owned();
        Self::open_at(place, settings).map_err(|error| error.at(&path))
    }

    fn open_at(place: Place, settings: Settings) -> Result<Self, OpenError> {
        let patience = settings.patience;
        let turn = Turn::take(&place, patience)?;
        let connection = mark::check(&place)
            .and_then(|()| connection::to_write(&place, patience))
            .inspect_err(|_| turn.leave_no_trace())?;
        let place = Arc::new(place.opened());
        // Before any row can name it.
        let owner = Arc::new(Owner::register(&place)?);
        let newest_before = connection.query_row(schema::NEWEST_STORED_AT, [], |row| row.get(0))?;
        mark::set(&place, &connection, patience)?;
        drop(turn);
        let clock = settings.clock.clone();
        let (reader, reading) = Reader::start(connection::to_read(&place, patience)?, place.clone())?;
        let writer = Writer::start(connection, place.clone(), settings, owner.clone(), reading)?;
        Ok(Self { reader, writer, owner, place, clock, newest_before })
    }

    fn check(&self) -> Result<(), StoreError> {
        self.writer.poison.get().map_or(Ok(()), |error| Err(error.clone()))
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
        Self {
            patience: Duration::from_secs(10),
            commit: Box::new(|connection| connection.execute_batch("COMMIT")),
            clock: Arc::new(SystemTime::now),
        }
    }
}

impl IntentStore for SqliteStore {
    fn owner(&self) -> &OwnerId {
        self.owner.id()
    }

    async fn apply(&self, change: Change) -> Result<Applied, StoreError> {
        self.writer.ask(move |session| session.apply(&change)).await
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.check()?;
        let key = key.clone();
        let find = move |connection: &Connection| {
            connection.query_row(schema::FIND, [key.as_str()], schema::read).optional()
        };
        Ok(self.reader.ask(find).await?.map(|(_, intent)| intent))
    }

    async fn list(
        &self,
        states: &[StateName],
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        self.check()?;
        if states.is_empty() {
            return Ok(Page { intents: Vec::new(), next: None });
        }
        let (sql, after) = (schema::list(states), after.map_or(i64::MIN, Cursor::position));
        // One more, to know whether it is the last page.
        let most = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        let list = move |connection: &Connection| {
            let mut statement = connection.prepare(&sql)?;
            let rows = statement.query_map([after, most], schema::read)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let mut rows = self.reader.ask(list).await?;
        let next = Cursor::after_page(&mut rows, limit, |(position, _)| *position);
        Ok(Page { intents: rows.into_iter().map(|(_, intent)| intent).collect(), next })
    }

    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        if owner == self.owner.id() {
            return Ok(true);
        }
        owners::is_live(&self.place, owner)
    }

    /// In portions, between which charges go on. After an error some may have been removed.
    async fn purge(&self, age: Duration) -> Result<Purged, StoreError> {
        self.check()?;
        if milliseconds::of((self.clock)()) < self.newest_before {
            return Ok(Purged::default());
        }
        // What is old by that time is old by the clock too. What this store has written, by whatever clock, is younger.
        let age = i64::try_from(age.max(Journal::YOUNGEST_TO_PURGE).as_millis()).unwrap_or(i64::MAX);
        let stored_before = self.newest_before.saturating_sub(age);
        let (mut done, mut intents, mut newest) = (i64::MIN, 0, None);
        while let Some((last, removed)) =
            self.writer.ask(move |session| session.purge(done, stored_before).map(Ok)).await?
        {
            done = last;
            intents += removed.len() as u64;
            newest = newest.max(removed.into_iter().max());
        }
        Ok(Purged { intents, newest: newest.and_then(milliseconds::time) })
    }

    async fn close(&self) {
        self.reader.end();
        self.writer.end().await;
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { owner, writer, place, .. } = self;
        f.debug_struct("SqliteStore")
            .field("path", &place.path())
            .field("owner", owner.id())
            .field("poison", &writer.poison.get())
            .finish_non_exhaustive()
    }
}
