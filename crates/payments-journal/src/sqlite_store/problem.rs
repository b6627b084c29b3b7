//! What is said when something fails: what happened where, what it means for the money, what to do.

use std::fmt::Display;
use std::path::Path;

use rusqlite::ErrorCode;

use crate::StoreError;
use crate::row::OLDER;
use crate::sqlite_store::schema::VERSION;

/// What can go wrong while the journal is opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OpenError {
    /// Of the journal with this path.
    pub(super) fn at(self, path: &Path) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sqlite(error) => match error.sqlite_error_code() {
                _ if is_busy(&error) => busy(path),
                Some(ErrorCode::NotADatabase) => no_journal(path, "no SQLite database"),
                // Without a code a value is not what its column holds, and an unknown code is a table that is not there.
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

/// Whether another process has the file.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn nothing_was_sent(kind: fn(String) -> StoreError, what: impl Display) -> StoreError {
    kind(format!("nothing was sent now, because {what}"))
}

/// The place is unsafe or impossible. `what_and_how` follows the path.
pub(super) fn refused(path: &Path, what_and_how: impl Display) -> StoreError {
    nothing_was_sent(StoreError::refused, format_args!("the journal {} {what_and_how}", path.display()))
}

/// What is there cannot be taken as a journal.
pub(super) fn damaged(path: &Path, how: impl Display) -> StoreError {
    let path = path.display();
    let what = format_args!(
        "the journal {path} is damaged ({how}); keep it and {path}-wal as they are, and recover what is in them before \
         anything is charged again: what a new journal does not know is charged again"
    );
    nothing_was_sent(StoreError::damaged, what)
}

/// The database says that the newest rows may be in a log, and there is none.
pub(super) fn log_missing(path: &Path) -> StoreError {
    let path = path.display();
    let what = format_args!(
        "the journal {path} was not closed and its log, {path}-wal, is missing, and with it perhaps the newest rows, \
         which would be charged again: put the log back, or use the original if this is a copy; if it is lost for good, \
         reconcile everything since the last run that ended well, and only then accept the loss with an empty log: \
         (umask 077; touch '{path}-wal'), as docs/reconciling.md says under \"A log that is missing\""
    );
    nothing_was_sent(StoreError::damaged, what)
}

pub(super) fn no_journal(path: &Path, what: &str) -> StoreError {
    let path = path.display();
    let what = format_args!("{path} is {what} and no journal; it was left as it is: give another path");
    nothing_was_sent(StoreError::damaged, what)
}

/// Only the version that has made the tables reads them.
pub(super) fn of_another_version(path: &Path, version: i32) -> StoreError {
    let (kind, age, verb, what_to_do): (fn(String) -> StoreError, _, _, _) = if version > VERSION {
        (StoreError::newer, "a newer", "knows", "use the newer version")
    } else {
        (StoreError::refused, "an older", "reads", OLDER)
    };
    let what = format_args!(
        "the journal {} is of {age} version (its schema is {version}, and this version {verb} {VERSION}); it was left as \
         it is: {what_to_do}",
        path.display()
    );
    nothing_was_sent(kind, what)
}

pub(super) fn busy(path: &Path) -> StoreError {
    StoreError::unavailable(format!(
        "database locked: another process has kept the journal {} busy for too long, and nothing was changed; \
         end whatever holds it open in a transaction, then call again",
        path.display()
    ))
}

/// The disk or the system has failed, and nothing was changed.
pub(super) fn unavailable(path: &Path, reason: impl Display) -> StoreError {
    let what = format_args!(
        "the journal {} cannot be used: {reason}; mend the cause, then start again",
        path.display()
    );
    nothing_was_sent(StoreError::unavailable, what)
}

/// A read failed.
pub(super) fn unreadable(path: &Path, error: &rusqlite::Error) -> StoreError {
    if let rusqlite::Error::FromSqlConversionFailure(_, _, source) = error
        && let Some(damaged) = source.downcast_ref::<StoreError>()
    {
        // It names the row.
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

/// From now on nothing is done.
pub(super) fn poisoned(path: &Path, reason: impl Display) -> StoreError {
    StoreError::poisoned(format!(
        "the journal {} has failed: {reason}; nothing more is charged through it: mend the cause, then open it again, \
         which reads it anew",
        path.display()
    ))
}

/// Whether the change is kept is what nobody knows.
pub(super) fn in_doubt(path: &Path, reason: impl Display) -> StoreError {
    StoreError::in_doubt(format!(
        "the journal {} has failed in the middle of a commit: {reason}; whether the change is kept shows when it is \
         opened again, and nothing more is charged through it before that",
        path.display()
    ))
}

pub(super) const DISPLACED: &str = "it, its -wal or its -shm was removed, moved or replaced while it was open \
     (put all three back if they still exist)";
