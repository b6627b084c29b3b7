use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::store::schema;

/// A data file could not be opened, or can no longer be written.
///
/// The message names the file, what happened and what to do, and never shows its content. A refused file was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the data file {} {problem}", path.display())]
pub struct StoreError {
    path: PathBuf,
    problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Problem {
    #[error("cannot be created: its folder does not exist; create the folder first")]
    NoFolder,
    #[error("is not a file; use the path of a data file, or of a file that does not exist yet")]
    NotAFile,
    #[error("is a link to a file that does not exist; use the path of the file itself")]
    LinkToNothing,
    #[error("is not a data file of the sandbox, and was not changed; use another path")]
    NotADatabase,
    #[error("is a SQLite database of another program, and was not changed; use another path")]
    OfAnotherProgram,
    #[error(
        "is from a newer version of the sandbox (its schema is {0}, this version supports {known}), and was not changed; \
         start the newer version, or use another path", known = schema::VERSION
    )]
    Newer(i32),
    #[error("is in use by another sandbox; stop that one, or use another path")]
    InUse,
    #[error("is not writable; allow this user to write the file and its folder")]
    ReadOnly,
    #[error(
        "is damaged ({0}); restore a copy, or move it away together with the file of the same name and -wal to start \
         with an empty ledger"
    )]
    Damaged(String),
    #[error("cannot be opened: {0}; allow this user to read and write the file and its folder")]
    CannotOpen(String),
    #[error(
        "can no longer be written: {0}; it has every payment whose response was sent, and no further response is sent; fix \
         the cause and start again"
    )]
    CannotWrite(String),
    #[error(
        "was removed, moved or replaced while the sandbox used it; the original file and the one of the same name and -wal \
         have every payment whose response was sent, and no further response is sent; put both back if they still exist, \
         and start again"
    )]
    Displaced,
}

impl StoreError {
    /// Whether another sandbox, in this process or another, uses the file; it may be free later.
    pub fn is_in_use(&self) -> bool {
        self.problem == Problem::InUse
    }

    pub(crate) fn new(path: &Path, problem: Problem) -> Self {
        Self { path: path.to_owned(), problem }
    }
}

/// Errors that SQLite reports before the first change.
impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::InUse,
            Some(ErrorCode::NotADatabase) => Self::NotADatabase,
            Some(ErrorCode::ReadOnly) => Self::ReadOnly,
            // No code means a value of the wrong type, and an unknown code means a missing table.
            None | Some(ErrorCode::DatabaseCorrupt | ErrorCode::Unknown) => Self::Damaged(error.to_string()),
            Some(_) => Self::CannotOpen(error.to_string()),
        }
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self::CannotOpen(error.to_string())
    }
}
