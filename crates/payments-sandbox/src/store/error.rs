use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::store::schema;

/// Why a data file could not be taken, or why nothing more can be written to it.
///
/// It names the file, what happened and what to do, and nothing of what is kept. A file that was refused was left as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the data file {} {problem}", path.display())]
pub struct StoreError {
    path: PathBuf,
    problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Problem {
    #[error("cannot be made: its folder is not there; make the folder first")]
    NoFolder,
    #[error("is no file; give the path of a data file, or of one that is not there yet")]
    NotAFile,
    #[error("is a link to a file that is not there; give the path of the file itself")]
    LinkToNothing,
    #[error("is no data file of the sandbox and was left as it is; give another path")]
    NotADatabase,
    #[error("is a SQLite database of another program and was left as it is; give another path")]
    OfAnotherProgram,
    #[error(
        "is of a newer version of the sandbox (its schema is {0}, and this version knows {known}) and was left as it is; \
         start the newer version, or give another path", known = schema::VERSION
    )]
    Newer(i32),
    #[error("is in use by another sandbox; stop that one, or give each a file of its own")]
    InUse,
    #[error("may not be written; allow this user to write the file and its folder")]
    ReadOnly,
    #[error(
        "is damaged ({0}); put a copy back in its place, or move it away together with the file of the same name and \
         -wal to start with nothing"
    )]
    Damaged(String),
    #[error("cannot be opened: {0}; the file and its folder must be readable and writable for this user")]
    CannotOpen(String),
    #[error(
        "can no longer be written: {0}; every payment that was answered is in it, and no further one is answered; fix the \
         cause and start again"
    )]
    CannotWrite(String),
    #[error(
        "was removed, moved or replaced while the sandbox kept its payments in it; those that were answered are in the file \
         that was there and in the one of the same name and -wal, and no further one is answered; put both back if they \
         still exist, and start again"
    )]
    Displaced,
}

impl StoreError {
    /// Whether another sandbox, of this process or of another, has the file; it may be free later.
    pub fn is_in_use(&self) -> bool {
        self.problem == Problem::InUse
    }

    pub(crate) fn new(path: &Path, problem: Problem) -> Self {
        Self { path: path.to_owned(), problem }
    }
}

/// What SQLite reports before the first change.
impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::InUse,
            Some(ErrorCode::NotADatabase) => Self::NotADatabase,
            Some(ErrorCode::ReadOnly) => Self::ReadOnly,
            // Without a code a value is not what its column holds, and an unknown code is a table that is not there.
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
