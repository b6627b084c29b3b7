//! The contract, tested on a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use payments_journal::SqliteStore;
use payments_journal::internals::IntentStore as _;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::contract::{self, Place};
#[cfg(unix)]
use crate::process::Process;

/// A journal in its own temporary directory.
pub(crate) struct InAFile {
    directory: TempDir,
}

impl InAFile {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    /// With an open store.
    #[cfg(unix)]
    pub(crate) fn opened() -> (Self, SqliteStore) {
        let place = Self::new();
        let store = SqliteStore::open(place.path()).unwrap();
        (place, store)
    }

    /// A journal that was created and closed.
    #[cfg(unix)]
    pub(crate) fn closed() -> Self {
        let (place, store) = Self::opened();
        close(store);
        place
    }

    /// In memory, if the system has a directory for that: for tests that open a journal some thousand times and do not need
    /// durable syncs.
    #[cfg(unix)]
    pub(crate) fn in_memory() -> Self {
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self { directory: directory.unwrap() }
    }

    /// Runs statements that the store knows nothing of.
    pub(crate) fn run(&self, statements: &str) {
        Connection::open(self.path()).unwrap().execute_batch(statements).unwrap();
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("journal.db")
    }
}

/// Closes the store and waits, before a test reads its files.
pub(crate) fn close(store: SqliteStore) {
    payments_fake::block_on(store.close());
    drop(store);
}

/// A file next to the database.
#[cfg(unix)]
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

impl Place for InAFile {
    type Store = SqliteStore;

    async fn open(&self) -> SqliteStore {
        SqliteStore::open(self.path()).unwrap()
    }

    async fn make_older(&self, by: Duration) {
        self.run(&format!("UPDATE intent SET stored_at = stored_at - {}", by.as_millis()));
    }
}

#[cfg(unix)]
impl contract::Tables for InAFile {
    type Copy = Vec<u8>;

    const DAMAGE: &[&str] = &["document = CAST(X'FF' AS TEXT)"];

    async fn sql(&self, statement: &str) {
        self.run(statement);
    }

    fn processes(&self, count: usize) -> Vec<Process> {
        crate::sqlite_processes::start(count, self)
    }

    async fn copy(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }

    async fn restore(&self, copy: &Vec<u8>) {
        fs::write(self.path(), copy).unwrap();
    }
}

contract::tests!(Some(InAFile::new()));
#[cfg(unix)]
contract::tests_of_tables!(Some(InAFile::new()));
