//! Error messages: what happened and where, and what to do. They do not say whether a payment was sent: the same error can
//! meet the begin of a payment and the record of one that was made.

use std::fmt::Display;
use std::path::Path;

use rusqlite::{ErrorCode, ffi};

use crate::sqlite_store::tables::VERSION;
use crate::{StoreError, store_error};

/// SQLite has failed, or something is not done and the text says why.
#[derive(Debug, thiserror::Error)]
pub(super) enum SqliteError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SqliteError {
    /// The error of opening the journal with this path.
    pub(super) fn at(self, path: &Path) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sqlite(error) => match error.sqlite_error_code() {
                _ if is_busy(&error) => busy(path),
                Some(ErrorCode::NotADatabase) => not_a_journal(path, "not a SQLite database"),
                // No code means a value of the wrong type; an unknown code means a missing table.
                None | Some(ErrorCode::DatabaseCorrupt | ErrorCode::Unknown) => damaged(path, error),
                Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                    let how = "this user must be able to write the file and its directory";
                    refused(path, format_args!("cannot be opened ({error}): {how}"))
                }
                Some(_) => unavailable(path, error),
            },
        }
    }
}

/// Whether a log has no mark that a reader can lock without writing one, or its index is being made. A process that has the journal
/// open changes that with its next transaction.
pub(super) fn is_without_a_mark(error: &SqliteError) -> bool {
    use ffi::{SQLITE_READONLY_CANTINIT, SQLITE_READONLY_CANTLOCK, SQLITE_READONLY_RECOVERY};

    let SqliteError::Sqlite(error) = error else { return false };
    let codes = [SQLITE_READONLY_CANTINIT, SQLITE_READONLY_CANTLOCK, SQLITE_READONLY_RECOVERY];
    error.sqlite_error().is_some_and(|error| codes.contains(&error.extended_code))
}

/// The error for a journal that is only read.
pub(super) fn of_reader(error: SqliteError, path: &Path) -> StoreError {
    match error {
        SqliteError::Sqlite(error)
            if matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)
            ) =>
        {
            let how = "this user must be able to read the file, its -wal and its -shm";
            refused(path, format_args!("cannot be read ({error}): {how}"))
        }
        SqliteError::Sqlite(error) => unreadable(path, &error),
        SqliteError::Store(error) => error,
    }
}

/// `None` if another process has the file.
pub(super) fn unless_busy<T>(result: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
    match result {
        Err(error) if is_busy(&error) => Ok(None),
        result => result.map(Some),
    }
}

/// Whether another process has the file.
fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Whether the disk has no room for a write.
pub(super) fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

/// The location is unsafe or cannot be used. `why` follows the path: the reason, and what to do.
pub(super) fn refused(path: &Path, why: impl Display) -> StoreError {
    StoreError::refused(format!("the journal {} {why}", path.display()))
}

/// The file cannot be used as a journal.
pub(super) fn damaged(path: &Path, how: impl Display) -> StoreError {
    let path = path.display();
    StoreError::damaged(format!(
        "the journal {path} is damaged ({how}); keep it and {path}-wal unchanged, and recover their content before you \
         charge anything: a new journal charges again every key that it does not know"
    ))
}

/// The table and one of its indexes differ.
pub(super) fn damaged_index(path: &Path, index: &str) -> StoreError {
    let path = path.display();
    StoreError::damaged(format!(
        "the journal {path} is damaged: its table and its index {index} do not match, so a key that was charged could look \
         new; keep a copy of it, and do not run REINDEX yet, because the index may name charges that the table has lost: \
         see \"A damaged index\" in docs/journal-operations.md"
    ))
}

/// The database records that the newest rows may be in a log, and there is no log.
pub(super) fn log_missing(path: &Path) -> StoreError {
    let path = path.display();
    StoreError::damaged(format!(
        "the journal {path} was not closed and its log, {path}-wal, is missing, perhaps with the newest rows, which would be \
         charged again: put the log back, or use the original if this is a copy; if it is lost for good, reconcile \
         everything since the last run that ended normally, and only then accept the loss with an empty log: \
         (umask 077; touch '{path}-wal'), see \"A missing log\" in docs/journal-operations.md"
    ))
}

/// One of the two is an older copy.
pub(super) fn log_of_another_time(path: &Path) -> StoreError {
    let path = path.display();
    StoreError::damaged(format!(
        "the journal {path} and its log, {path}-wal, are not of the same time: one of them is from another copy, and together they \
         are no journal; put back both files as they were together, or, for an older copy that was closed, move {path}-wal away, \
         see \"A restored copy\" in docs/journal-operations.md"
    ))
}

/// A witness has seen more than the database has. Ends and reads go on.
pub(super) fn history_lost(path: &Path, loss: &str) -> StoreError {
    StoreError::history_lost(format!(
        "the journal {} lacks its newest entries ({loss}), as after a restore of an older copy: what they charged would be \
         charged again; put the newest copy back, or find out which keys were sent since, and accept the loss with them: \
         payments journal accept-history, see \"A restored copy\" in docs/journal-operations.md",
        path.display()
    ))
}

/// Nobody knows whether the database is an older copy. Ends and reads go on.
pub(super) fn unwatched(path: &Path, why: &str) -> StoreError {
    StoreError::history_lost(format!(
        "the journal {} cannot be compared with its witness ({why}), so nothing begins, and no key that may be sent is resolved: \
         an older copy would charge again what it does not know; every program that uses the journal names the same witness \
         (--witness, PAYMENTS_JOURNAL_WITNESS): name it, or put it back; if it is gone for good, find out which keys may have been \
         sent since, and accept that: payments journal accept-history, see \"A restored copy\" in docs/journal-operations.md",
        path.display()
    ))
}

/// The database is missing, and its witness is not.
pub(super) fn missing(path: &Path, witness: &Path) -> StoreError {
    let (shown, witness) = (path.display(), witness.display());
    StoreError::history_lost(format!(
        "the journal {shown} is missing, and its witness {witness} shows that there was one: a new one would charge its keys again; \
         put it back or name its place, or remove {witness} if none of its keys is ever used again"
    ))
}

/// The change is in the database, and a later loss of it would not be noticed.
pub(super) fn not_witnessed(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::in_doubt(format!(
        "the journal {} cannot write its witness ({error}): make it writable, then call again",
        path.display()
    ))
}

pub(super) fn not_a_journal(path: &Path, what: &str) -> StoreError {
    let path = path.display();
    StoreError::damaged(format!("{path} is not a journal ({what}); it was left unchanged: use another path"))
}

pub(super) fn newer(path: &Path, version: i32) -> StoreError {
    StoreError::newer(format!(
        "the journal {} is of a newer version (its schema is {version}, and this version knows {VERSION}); it was left \
         unchanged: use the newer version",
        path.display()
    ))
}

/// Only a store that writes brings it forward.
pub(super) fn older(path: &Path, version: i32) -> StoreError {
    StoreError::refused(format!(
        "the journal {} is of an older version (its schema is {version}, and this version reads {VERSION}); it was left \
         unchanged: open it once with a program that charges, which brings it forward",
        path.display()
    ))
}

pub(super) fn unreleased(path: &Path) -> StoreError {
    StoreError::refused(format!(
        "the journal {} was written by a version that was never released, and no other version reads it; it was left unchanged",
        path.display()
    ))
}

pub(super) fn busy(path: &Path) -> StoreError {
    StoreError::unavailable(format!(
        "database locked: another process has kept the journal {} locked for too long",
        path.display()
    ))
    .unchanged("end the process that holds a transaction open, then call again")
}

pub(super) fn full(path: &Path) -> StoreError {
    StoreError::unavailable(format!("database or disk is full: the journal {} cannot grow", path.display()))
        .unchanged("make room on its disk, then call again")
}

/// The disk or the system has failed, and nothing was changed.
pub(super) fn unavailable(path: &Path, reason: impl Display) -> StoreError {
    StoreError::unavailable(format!(
        "the journal {} cannot be used: {reason}; fix the cause, then start again",
        path.display()
    ))
}

/// A read failed.
pub(super) fn unreadable(path: &Path, error: &rusqlite::Error) -> StoreError {
    if let rusqlite::Error::FromSqlConversionFailure(_, _, source) = error
        && let Some(damaged) = source.downcast_ref::<StoreError>()
    {
        // This error already names the row.
        return damaged.clone();
    }
    match error.sqlite_error_code() {
        _ if is_busy(error) => busy(path),
        None | Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown) => {
            damaged(path, error)
        }
        Some(_) => StoreError::unavailable(format!("the journal {} cannot be read: {error}", path.display())),
    }
}

/// This process was forked while the journal, or another one, was open.
pub(super) fn forked(kind: fn(String) -> StoreError, path: &Path) -> StoreError {
    kind(store_error::forked(format_args!("the journal {}", path.display())))
}

/// The store has stopped.
pub(super) fn poisoned(path: &Path, reason: impl Display) -> StoreError {
    StoreError::poisoned(format!(
        "the journal {} has failed: {reason}; nothing more is charged through it: fix the cause, then open it again",
        path.display()
    ))
}

/// Nothing shows whether the change was written.
pub(super) fn in_doubt(path: &Path, reason: impl Display) -> StoreError {
    StoreError::in_doubt(format!(
        "the journal {} has failed during a commit: {reason}; the change may have been written or not, and nothing more is \
         charged through it: fix the cause, then open it again, which shows the change if it was written",
        path.display()
    ))
}

pub(super) const DISPLACED: &str = "the file, its -wal or its -shm was removed, moved or replaced while it was open \
     (put all three back if they still exist)";
