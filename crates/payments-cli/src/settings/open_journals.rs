//! Opens the journal of a command, and closes it at the end.

use std::mem;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use payments_journal::{Journal, PostgresStore, SqliteOptions, SqliteStore, StoreError};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::journal_address::{Database, JournalAddress};
use crate::stderr;
use crate::style::for_terminal;

/// What a journal is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenFor {
    /// It is created if it does not exist. A journal that was created is announced, whatever the output is: in the wrong folder
    /// or database, all its keys are new.
    Charging,
    /// To change what it has.
    Changing,
    /// Nothing is written, so that a full or read-only disk does not matter, nor that a database is a standby or lets this user
    /// only read.
    Reading,
    /// The same, and what is damaged for a run is damaged here. The caller reports a loss.
    DryRun,
}

/// The journals that were opened at one address.
#[derive(Default)]
pub(crate) struct OpenJournals {
    opened: Mutex<Vec<Journal>>,
    /// The whole place, if this command created the journal.
    created: OnceLock<String>,
}

impl OpenJournals {
    /// Opens the journal; `None` if it is missing and not created.
    pub(super) async fn open(
        &self,
        address: &JournalAddress,
        open_for: OpenFor,
    ) -> Result<Option<Journal>, StoreError> {
        let announce = || {
            let (whole, source) = (address.whole(), address.source);
            let shown = for_terminal(&whole);
            stderr::write_last(format!(
                "created the journal {shown}, which {source} names: if there was one before, stop now and find it, because a \
                 new journal charges every key again\n"
            ));
            // Only one of them can have created it.
            let _ = self.created.set(whole);
        };
        let opened = match &address.database {
            Database::File(path) => {
                let options = address.witness.iter().fold(SqliteStore::options(), SqliteOptions::witness);
                open_file(options, path.clone(), open_for, announce).await?
            }
            Database::Server(url) => connect(url, open_for, announce).await?,
        };
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).extend(opened.clone());
        Ok(opened)
    }

    /// The whole place of the journal, if this command created it.
    pub(crate) fn created(&self) -> Option<&str> {
        self.created.get().map(String::as_str)
    }

    /// Closes the journals, so that a journal in a file is left as one file. Waits at most a second for a dead database or
    /// another process that has the file open, or not at all. After that the write-ahead log stays next to the file, and nothing is
    /// lost.
    pub(crate) async fn close(&self, is_waited_for: bool) {
        let opened = mem::take(&mut *self.opened.lock().unwrap_or_else(PoisonError::into_inner));
        let runtime = Handle::current();
        // On another thread, because dropping a store may also wait for its database.
        let closing = spawn_blocking(move || {
            runtime.block_on(async move {
                for journal in opened {
                    journal.close().await;
                }
            });
        });
        if is_waited_for {
            let _ = timeout(LONGEST_CLOSING, closing).await;
        }
    }
}

/// Chosen by this command. A journal that was not closed is recovered when it is next opened, and nothing is lost.
const LONGEST_CLOSING: Duration = Duration::from_secs(1);

async fn open_file(
    options: SqliteOptions,
    path: PathBuf,
    open_for: OpenFor,
    announce: impl FnOnce(),
) -> Result<Option<Journal>, StoreError> {
    let store = match open_for {
        OpenFor::Charging => Some(on_a_thread(move || options.open(path)).await?),
        OpenFor::Changing => on_a_thread(move || options.open_existing(path)).await?,
        OpenFor::Reading | OpenFor::DryRun => {
            let reader = on_a_thread(move || {
                let Some(reader) = options.open_to_read(path)? else { return Ok(None) };
                let is_dry_run = open_for == OpenFor::DryRun;
                if is_dry_run { reader.with_checked_indexes() } else { Ok(reader) }.map(Some)
            });
            return Ok(reader.await?.map(Journal::read_only));
        }
    };
    let Some(store) = store else { return Ok(None) };
    if store.was_created() {
        announce();
    }
    Journal::open(store).await.map(Some)
}

async fn connect(
    url: &str,
    open_for: OpenFor,
    announce: impl FnOnce(),
) -> Result<Option<Journal>, StoreError> {
    let store = match open_for {
        OpenFor::Charging => Some(PostgresStore::connect(url).await?),
        OpenFor::Changing => PostgresStore::options().connect_to_existing(url).await?,
        OpenFor::Reading | OpenFor::DryRun => {
            return Ok(PostgresStore::connect_to_read(url).await?.map(Journal::read_only));
        }
    };
    let Some(store) = store else { return Ok(None) };
    if store.was_created() {
        announce();
    }
    Journal::open(store).await.map(Some)
}

/// On another thread, because another process may hold the file for seconds.
async fn on_a_thread<T: Send + 'static>(
    open: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let opening = spawn_blocking(open).await;
    opening.map_err(|_| StoreError::unavailable("opening the journal failed by an internal error"))?
}
