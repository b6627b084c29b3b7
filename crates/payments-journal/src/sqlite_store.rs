//! The journal in one SQLite file.
//!
//! One thread, the writer, owns the connection that changes rows. It commits all waiting changes in one transaction and wakes
//! their callers. While it syncs, the next changes queue up, so that commits are grouped without a timer. A second thread
//! reads, so that listing a million rows does not delay the write of a charge.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use rusqlite::Connection;

use crate::milliseconds;
use crate::service_change::{ServiceChange, ServiceError};
use crate::summary::Tally;
use crate::{
    Applied, Change, Intent, IntentKey, IntentStore, Journal, OwnerId, Purged, Rows, StateName, StoreError,
};

mod address;
mod connection;
mod indexes;
mod open_flag;
mod owners;
mod place;
mod problem;
mod read_only;
mod reader;
mod safety;
mod session;
mod tables;
#[cfg(test)]
mod tests;
mod witness;
mod writer;

pub use read_only::SqliteReader;

use connection::Existing;
use owners::{Owner, OwnersLock};
use place::Place;
use problem::SqliteError;
use reader::Reader;
use session::{Clock, Session, Settings};
use witness::Witnesses;
use writer::{Purpose, Writer};

/// A journal in a SQLite file, for any number of processes of one machine.
///
/// A change is on the disk before its call returns: each commit is synced, and changes that wait at the same time share one.
/// Any number of stores, in this process or in others, may have the file open.
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
/// - `PATH`: the database, mode 0600, created if it does not exist. A missing directory is created with mode 0700, if its
///   parent exists.
/// - `PATH-wal` and `PATH-shm`: SQLite's log and its index. **They belong to the journal**: while the journal is open, and
///   after a crash, the newest rows are only in the log. A database that was not closed and has no log is refused as
///   [damaged](StoreError::is_damaged), whether the log was removed or the database was copied without it. So is a copy
///   that was made in use, and a database whose log another program, such as `sqlite3`, has moved into it after a crash. Only a
///   person can confirm that nothing is missing, with an empty log of mode 0600 in its place. Copy the database with SQLite's
///   own means, such as `.backup`, or while it is not open in any process. Never restore an old copy, because it charges again
///   every key that it does not know. Nothing else in a process that has the journal open may open the database file: closing it
///   would release SQLite's locks, as POSIX specifies.
/// - `PATH-owners/`: mode 0700, one locked file for each open store, which only decides the state of rows that a dead store left,
///   and the journal's witness.
///
/// # What it knows about lost entries
///
/// The witness has the number of the newest change. If it has seen more changes than the database has, the database is an older
/// copy, and would charge again what it does not know. **Then nothing begins**, and no call reports that its key has moved no
/// money ([`StoreError::is_history_lost`]); ends and reads go on, until a person [accepts](Journal::accept_history) the loss. So it
/// is while the witness is missing or damaged. If it cannot be written, a begin is withdrawn, and a person who resolves a key that
/// may be sent gets an error. A database that is missing beside its witness is not created anew.
///
/// It does not notice a restore of the witness together with the database, as of a snapshot of the disk, unless there is
/// [another witness](SqliteOptions::witness) on another disk; nor a snapshot of the machine's memory that is resumed twice.
///
/// # What is refused
///
/// These rules are chosen by this SDK. Refused are: a file that others may read or write, that belongs to another user or has
/// a second name, or is mounted without its directory; a symbolic link; a directory that others may write to, unless it is sticky, as `/tmp` is, or the others are
/// the user's own group; a network file system, and FUSE, which can be one. So is a path that is written [like the address of a
/// database or with a placeholder](Self::why_not_a_path). A refused file is left unchanged. Without Unix permissions, only the
/// file type is checked.
///
/// # Damaged indexes
///
/// SQLite does not find a row whose entry in an index is lost, so its key would be new. Opening compares the table with each
/// index and refuses a journal in which they differ as [damaged](StoreError::is_damaged). That reads the whole file once. A
/// million rows (690 MB) take 1.1 to 1.5 s in a release build if the file is in the system's cache. [`SqliteReader`] does not do
/// it.
///
/// # Closing
///
/// Dropping the store does not wait: the writer thread closes the journal afterwards, in the worst case after some seconds
/// during which another process has the file. Every change whose call returned is already on the disk. The file can be opened
/// again at once. A program that ends before the journal is closed leaves the log, as a crash does. Call [`Journal::close`],
/// which waits, before a program ends or the database is copied.
///
/// # Purging
///
/// [`Journal::purge_older_than`] counts age from the time at which a row was last written: the later of the machine's clock
/// and the newest time in the journal. It counts up to the newest time that the journal held when this store was opened. So
/// a process never purges rows that it has written itself, and a clock that jumps ahead while it runs purges nothing. While
/// the clock is behind that time, nothing is purged at all. A clock that ran ahead while an earlier process wrote rows is not
/// noticed.
///
/// # Forked processes
///
/// SQLite must not cross a `fork`. In a process that was forked while a store was open, that store refuses everything as
/// [poisoned](StoreError::is_poisoned), and no store can be opened. Open the journal after the fork, or start the process as a
/// program of its own, as [`Command`](std::process::Command) does.
///
/// # When it fails
///
/// | what failed | this change | the store |
/// |---|---|---|
/// | another process has the file for 10 seconds, or the disk is full | [unavailable](StoreError::is_unavailable): not made | continues |
/// | another write before the commit, or the file was removed or replaced | [poisoned](StoreError::is_poisoned): not made | stops |
/// | the commit or its sync | [in doubt](StoreError::is_in_doubt) | stops |
///
/// The write of an outcome, which cannot be obtained again, is retried for half a minute while another process has the file or
/// the disk is full, also if the caller leaves. Closing the store ends the retries.
///
/// A store that has stopped refuses everything as [poisoned](StoreError::is_poisoned), including reads. Fix the cause and open
/// the file again: its content is then read again, and written and synced once more before anything relies on it.
pub struct SqliteStore {
    reader: Reader,
    writer: Writer,
    owner: Arc<Owner>,
    place: Arc<Place>,
    clock: Clock,
    retry_time: Duration,
    /// The newest time in the journal when it was opened, in milliseconds since 1970.
    newest_before: i64,
    was_created: bool,
    /// The second witness, if it was named.
    witness: Option<PathBuf>,
}

impl SqliteStore {
    /// Opens the journal, and creates it if it does not exist. It blocks on the disk, and for at most some seconds on another
    /// process that has the file.
    ///
    /// # Errors
    ///
    /// If the location is [unsafe](StoreError::is_refused), if the file is not a journal or is
    /// [damaged](StoreError::is_damaged) or [of a newer version](StoreError::is_newer), or if it
    /// [cannot be reached](StoreError::is_unavailable) now. Nothing was charged, and a refused file is left unchanged.
    ///
    /// A journal of an older version is brought forward in one transaction. Older programs then refuse it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::options().open(path)
    }

    /// Options of the journal, with which it is opened.
    pub fn options() -> SqliteOptions {
        SqliteOptions { witness: None }
    }

    /// Whether this store created the journal. Tell a person where it is: a run that was expected to continue with an earlier
    /// journal knows none of its keys, and charges them again.
    pub fn was_created(&self) -> bool {
        self.was_created
    }

    /// Why a path is refused although a file could have that name: it is written like the address of a database, such as
    /// `postgres://db/pay`, `postgres:pay` or `host=db dbname=pay`; it begins with a placeholder that was not replaced, such as
    /// `~/billing.db` or `$HOME/billing.db`; or it has quotes or white space at its ends, or a control character. A file of that
    /// name, relative to the working directory, would be another journal in each directory, and its name could hold a password.
    /// The text says what to write instead and does not repeat the path. A path that begins with `/`, `./` or `../` is only
    /// refused if it begins with `//`, contains `://`, settings after a `?` or a password, or for its characters.
    pub fn why_not_a_path(path: &Path) -> Option<&'static str> {
        address::why_not_a_path(path)
    }

    fn open_with(path: &Path, settings: Settings, existing: Existing) -> Result<Option<Self>, StoreError> {
        address::check(path)?;
        owners::check_process(path)?;
        let witness = settings.witness.as_deref();
        if existing == Existing::Required && Place::existing(path, witness)?.is_none() {
            return Ok(None);
        }
        let mut place = Place::prepare(path, witness)?;
        place.max_wait = settings.max_wait;
        let path = place.path().to_owned();
        Self::open_at(place, settings, existing).map_err(|error| error.at(&path))
    }

    fn open_at(place: Place, settings: Settings, existing: Existing) -> Result<Option<Self>, SqliteError> {
        let lock = OwnersLock::acquire(&place)?;
        let opened = open_flag::check(&place).and_then(|()| connection::to_write(&place, existing));
        if !matches!(opened, Ok(Some(_))) {
            lock.remove_created_directory();
        }
        let Some((connection, was_created)) = opened? else { return Ok(None) };
        let place = Arc::new(place.opened());
        // Registered before any row can name it.
        let owner = Arc::new(Owner::register(&place)?);
        let newest_before = connection.query_row(tables::NEWEST_STORED_AT, [], |row| row.get(0))?;
        let moved = open_flag::set(&place, &connection)?;
        let reading = connection::to_read(&place)?;
        // Without the lock: with a million rows it takes seconds, and other stores must be able to open meanwhile.
        drop(lock);
        if let Err(damaged) = indexes::check(&place, &reading) {
            drop(reading);
            open_flag::close(&place, connection, &owner);
            return Err(damaged);
        }
        let witnesses = witnesses(&place, &connection, moved, &settings)?;
        let (clock, retry_time) = (settings.clock.clone(), settings.retry_time);
        let (reader, reading) = Reader::start(reading, place.clone())?;
        let witness = settings.witness.clone();
        let session = Session::new(connection, moved, place.clone(), settings, witnesses);
        let writer = Writer::start(session, owner.clone(), reading)?;
        Ok(Some(Self {
            reader,
            writer,
            owner,
            place,
            clock,
            retry_time,
            newest_before,
            was_created,
            witness,
        }))
    }

    fn check(&self) -> Result<(), StoreError> {
        self.owner.check_process(&self.place)?;
        self.writer.poison.get().map_or(Ok(()), |error| Err(error.clone()))
    }
}

/// Does not wait: the writer thread ends when it can get no more jobs, and closes the journal then. The owner counts as dead at
/// once, because the next process that opens the journal may check it.
impl Drop for SqliteStore {
    fn drop(&mut self) {
        if self.owner.check_process(&self.place).is_ok() {
            self.owner.stop_sending();
        }
    }
}

/// How a [`SqliteStore`] is opened.
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before `open` is called"]
pub struct SqliteOptions {
    witness: Option<PathBuf>,
}

impl SqliteOptions {
    /// A second witness, in a file on another disk, which is created if the journal has none there. It also notices a loss if the
    /// folder of the journal is restored as a whole. From then on the journal must be opened with it, or nothing begins. A file
    /// that exists and is no witness is refused and left as it is.
    pub fn witness(self, path: impl Into<PathBuf>) -> Self {
        Self { witness: Some(path.into()) }
    }

    /// As [`SqliteStore::open`].
    ///
    /// # Errors
    ///
    /// As [`SqliteStore::open`].
    #[expect(clippy::missing_panics_doc, reason = "a missing journal is created")]
    pub fn open(&self, path: impl AsRef<Path>) -> Result<SqliteStore, StoreError> {
        let opened = SqliteStore::open_with(path.as_ref(), self.settings(), Existing::OrCreated)?;
        Ok(opened.expect("a missing journal is created"))
    }

    /// Opens an existing journal. Returns `None` if there is none, or a database without tables, and does not create it.
    ///
    /// # Errors
    ///
    /// As [`SqliteStore::open`].
    pub fn open_existing(&self, path: impl AsRef<Path>) -> Result<Option<SqliteStore>, StoreError> {
        SqliteStore::open_with(path.as_ref(), self.settings(), Existing::Required)
    }

    /// As [`SqliteReader::open`].
    ///
    /// # Errors
    ///
    /// As [`SqliteReader::open`].
    pub fn open_to_read(&self, path: impl AsRef<Path>) -> Result<Option<SqliteReader>, StoreError> {
        SqliteReader::open_with(path.as_ref(), self.witness.clone())
    }

    fn settings(&self) -> Settings {
        Settings { witness: self.witness.clone(), ..Settings::default() }
    }
}

/// The witnesses of the journal. Those that it has never had are created. The caller need not hold the lock: of two stores that
/// create one, the second leaves it as it is.
fn witnesses(
    place: &Place,
    connection: &Connection,
    moved: i64,
    settings: &Settings,
) -> Result<Witnesses, SqliteError> {
    let (journal, changes, witnessed): (String, i64, i64) =
        connection.query_row(tables::JOURNAL, [], |row| row.try_into())?;
    // Nothing else reads them, and a lost page must not stay unnoticed.
    connection.query_row(tables::COUNT_DECISIONS, [], |row| row.get::<_, i64>(0))?;
    if let Some(path) = settings.witness.as_ref().filter(|path| place.is_own(path)) {
        return Err(problem::refused(path, "cannot be the witness: it is a file of the journal").into());
    }
    let paths: Vec<_> = [place.witness()].into_iter().chain(settings.witness.clone()).collect();
    let mut opened = Witnesses::open(journal, paths);
    if witnessed < opened.len() {
        let created = opened.create_after(witnessed, changes);
        created.map_err(|error| {
            problem::refused(place.path(), format_args!("cannot create its witness: {error}"))
        })?;
        connection.execute(tables::SET_WITNESSED, [opened.len(), moved])?;
    }
    Ok(opened)
}

#[async_trait]
impl IntentStore for SqliteStore {
    fn owner(&self) -> &OwnerId {
        self.owner.id()
    }

    async fn apply(&self, change: Change) -> Result<Applied, StoreError> {
        self.owner.check_process(&self.place)?;
        let purpose = if change.is_final_outcome() {
            Purpose::Outcome(Instant::now() + self.retry_time)
        } else {
            Purpose::Other
        };
        self.writer.run(purpose, move |session| session.apply(&change)).await
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.check()?;
        let key = key.clone();
        self.reader.run(move |connection| tables::find(connection, tables::FIND, &key)).await
    }

    async fn list(&self, states: &[StateName], after: Option<i64>, limit: usize) -> Result<Rows, StoreError> {
        self.check()?;
        let sql = tables::list(states);
        self.reader.run(move |connection| tables::rows(connection, &sql, after, limit)).await
    }

    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        if owner == self.owner.id() {
            return Ok(true);
        }
        owners::is_live(&self.place, owner)
    }

    /// In batches, between which charges continue. After an error some rows may have been removed.
    async fn purge(&self, age: Duration) -> Result<Purged, StoreError> {
        self.check()?;
        if milliseconds::of((self.clock)()) < self.newest_before {
            return Ok(Purged::default());
        }
        // The clock is not behind that time, so rows that are old by that time are also old by the clock. Rows that this store
        // has written, by whatever clock, are younger.
        let age = i64::try_from(age.max(Journal::YOUNGEST_TO_PURGE).as_millis()).unwrap_or(i64::MAX);
        let stored_before = self.newest_before.saturating_sub(age);
        let (mut done, mut intents, mut newest) = (i64::MIN, 0, None);
        while let Some((last, removed)) =
            self.writer.run(Purpose::Other, move |session| session.purge(done, stored_before)).await?
        {
            done = last;
            intents += removed.len() as u64;
            newest = newest.max(removed.into_iter().max());
        }
        Ok(Purged { intents, newest: newest.and_then(milliseconds::time) })
    }

    async fn summarize(&self, service: Option<&str>) -> Result<Vec<Tally>, StoreError> {
        self.check()?;
        let service = service.map(str::to_owned);
        self.reader.run(move |connection| tables::summarize(connection, service.as_deref())).await
    }

    async fn change_service(&self, change: ServiceChange) -> Result<Option<ServiceError>, StoreError> {
        self.check()?;
        self.writer.run(Purpose::Other, move |session| session.change_service(&change)).await
    }

    async fn check_history(&self) -> Result<(), StoreError> {
        self.check()?;
        let (place, elsewhere) = (self.place.clone(), self.witness.clone());
        let asking = move |connection: &Connection| {
            let read = || {
                let remembered = connection.query_row(tables::REMEMBERED, [], |row| row.try_into());
                remembered.map_err(|error| problem::unreadable(place.path(), &error))
            };
            Ok(witness::check_history(&place, elsewhere.as_deref(), read))
        };
        self.reader.run(asking).await?
    }

    async fn lost_since(&self) -> Result<Option<SystemTime>, StoreError> {
        self.check()?;
        Ok(Some(self.writer.run(Purpose::Other, Session::lost_since).await?))
    }

    async fn accept_history(&self, by: &str, sent: Option<u64>, since: SystemTime) -> Result<(), StoreError> {
        self.owner.check_process(&self.place)?;
        let (by, sent) = (by.to_owned(), sent.map(u64::cast_signed));
        self.writer.run(Purpose::Other, move |session| session.accept(&by, sent, since)).await
    }

    async fn close(&self) {
        if self.owner.check_process(&self.place).is_err() {
            return;
        }
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
