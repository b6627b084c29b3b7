use std::path::Path;
use std::thread;

use payments_fake::Change;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, FileControl, MAIN_DB, Statement, params};

use crate::StoreError;
use crate::store::data_file::log_of;
use crate::store::journal::{Entry, Journal};
use crate::store::schema::{self, Kind};

/// Owns the connection and writes what is appended to the journal until that is closed.
pub(crate) struct Writer {
    pub(crate) connection: Connection,
    /// The tenants' rows, in the order of the keys.
    pub(crate) tenants: Vec<i64>,
    pub(crate) journal: Journal,
}

impl Writer {
    /// Returns when the file is closed.
    pub(crate) fn run(self) {
        let Self { connection, tenants, journal } = self;
        let _fail_on_panic = FailOnPanic(&journal);
        let written = write_all(&connection, &tenants, &journal);
        // Closing writes the log into the file that is held, and removes whatever has the log's name.
        match written.and_then(|()| check_place(&connection, journal.path())) {
            Ok(()) => {
                // Closing moves the write-ahead log into the file. If that does not work out, the log stays, is as durable,
                // and is read at the next start.
                drop(connection);
                journal.closed();
            }
            Err(error) => {
                journal.fail(error);
                // After a failed sync nobody knows what of the log is on the disk: nothing may be built on it here. The next
                // start reads it anew and takes what is whole.
                let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
            }
        }
    }
}

/// Nobody may wait for a writer that is gone.
struct FailOnPanic<'a>(&'a Journal);

impl Drop for FailOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let Self(journal) = self;
            journal.fail(StoreError::cannot_write(
                journal.path(),
                "the thread that writes has panicked".to_owned(),
            ));
        }
    }
}

fn write_all(connection: &Connection, tenants: &[i64], journal: &Journal) -> Result<(), StoreError> {
    let mut transaction = Statements::prepare(connection).map_err(|error| failed(journal, &error))?;
    let mut batch = Vec::new();
    loop {
        journal.take(&mut batch);
        if batch.is_empty() {
            return Ok(());
        }
        check_place(connection, journal.path())?;
        transaction.write(tenants, &batch).map_err(|error| failed(journal, &error))?;
        journal.committed(batch.len());
        batch.clear();
    }
}

/// The next start reads what is in the path's place. A file that was removed can be written all the same, and would be for
/// nobody; beside a file that took its place, another sandbox may have the log.
fn check_place(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let mut has_moved = 0;
    // Where SQLite cannot tell, the system does not let go of a file that is open.
    let asked = connection.file_control(Some(MAIN_DB), FileControl::HasMoved(&mut has_moved));
    if (asked.is_ok() && has_moved != 0) || !log_of(path).exists() {
        return Err(StoreError::displaced(path));
    }
    Ok(())
}

fn failed(journal: &Journal, error: &rusqlite::Error) -> StoreError {
    StoreError::cannot_write(journal.path(), error.to_string())
}

/// Everything a commit needs, prepared once.
struct Statements<'a> {
    begin: Statement<'a>,
    add: Statement<'a>,
    put: Statement<'a>,
    clear: Statement<'a>,
    commit: Statement<'a>,
}

impl<'a> Statements<'a> {
    fn prepare(connection: &'a Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            begin: connection.prepare("BEGIN IMMEDIATE")?,
            add: connection.prepare(schema::ADD_TRANSACTION)?,
            put: connection.prepare(schema::PUT_RECORD)?,
            clear: connection.prepare(schema::CLEAR_RECORDS)?,
            commit: connection.prepare("COMMIT")?,
        })
    }

    /// Writes all of it or nothing. After an error the transaction stays open, and closing the connection undoes it.
    fn write(&mut self, tenants: &[i64], batch: &[Entry]) -> rusqlite::Result<()> {
        self.begin.execute([])?;
        for Entry { tenant, change, .. } in batch {
            // A tenant that is none of this file's is row 0, which is never there, and SQLite refuses it.
            let tenant = tenants.get(*tenant).copied().unwrap_or_default();
            match change {
                Change::Transaction { id, document } => {
                    self.add.execute(params![tenant, Kind::Transaction, id.as_str(), document.as_ref()])?
                }
                Change::Token { id, document } => {
                    self.put.execute(params![tenant, Kind::Token, id.as_str(), document.as_ref()])?
                }
                Change::Customer { id, document } => {
                    self.put.execute(params![tenant, Kind::Customer, id.as_str(), document.as_ref()])?
                }
                Change::Cleared => self.clear.execute([tenant])?,
                // A kind of change that a later fake has and this store does not: it must not be lost silently.
                _ => return Err(rusqlite::Error::InvalidQuery),
            };
        }
        self.commit.execute([])?;
        Ok(())
    }
}
