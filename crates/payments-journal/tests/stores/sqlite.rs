//! What holds for the file alone: who may open it, what is refused, what is noticed.

use std::path::PathBuf;

use payments_journal::SqliteStore;
use tempfile::TempDir;

use crate::contract::{self, Place};

/// A journal in a directory of its own, which goes with it.
pub(crate) struct InAFile {
    directory: TempDir,
}

impl InAFile {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("journal.db")
    }
}

impl Place for InAFile {
    type Store = SqliteStore;

    async fn open(&self) -> SqliteStore {
        SqliteStore::open(self.path()).unwrap()
    }
}

async fn place() -> InAFile {
    InAFile::new()
}

contract::tests!(place);
