use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::store::schema;

/// Why a data file could not be taken, or why nothing more can be written to it.
///
/// It names the file, what happened and what to do, and nothing of what is kept. A file that was refused was left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    path: PathBuf,
    problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Problem {
    NoFolder,
    NotAFile,
    LinkToNothing,
    NotADatabase,
    AnotherProgrammes,
    Newer { version: i32 },
    InUse,
    ReadOnly,
    Damaged(String),
    CannotOpen(String),
    CannotWrite(String),
    Displaced,
}

impl StoreError {
    /// Whether another sandbox, of this process or of another, has the file; it may be free later.
    pub fn is_in_use(&self) -> bool {
        self.problem == Problem::InUse
    }

    pub(crate) fn no_folder(path: &Path) -> Self {
        Self::new(path, Problem::NoFolder)
    }

    pub(crate) fn not_a_file(path: &Path) -> Self {
        Self::new(path, Problem::NotAFile)
    }

    pub(crate) fn link_to_nothing(path: &Path) -> Self {
        Self::new(path, Problem::LinkToNothing)
    }

    pub(crate) fn not_a_database(path: &Path) -> Self {
        Self::new(path, Problem::NotADatabase)
    }

    pub(crate) fn another_programmes(path: &Path) -> Self {
        Self::new(path, Problem::AnotherProgrammes)
    }

    pub(crate) fn newer(path: &Path, version: i32) -> Self {
        Self::new(path, Problem::Newer { version })
    }

    pub(crate) fn read_only(path: &Path) -> Self {
        Self::new(path, Problem::ReadOnly)
    }

    pub(crate) fn damaged(path: &Path, detail: String) -> Self {
        Self::new(path, Problem::Damaged(detail))
    }

    pub(crate) fn cannot_open(path: &Path, reason: &dyn fmt::Display) -> Self {
        Self::new(path, Problem::CannotOpen(reason.to_string()))
    }

    pub(crate) fn cannot_write(path: &Path, reason: String) -> Self {
        Self::new(path, Problem::CannotWrite(reason))
    }

    pub(crate) fn displaced(path: &Path) -> Self {
        Self::new(path, Problem::Displaced)
    }

    /// What SQLite said before the first change.
    pub(crate) fn at_start(path: &Path, error: &rusqlite::Error) -> Self {
        let problem = match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Problem::InUse,
            Some(ErrorCode::NotADatabase) => Problem::NotADatabase,
            Some(ErrorCode::ReadOnly) => Problem::ReadOnly,
            // Without a code a value is not what its column holds, and an unknown code is a table that is not there.
            None | Some(ErrorCode::DatabaseCorrupt | ErrorCode::Unknown) => {
                Problem::Damaged(error.to_string())
            }
            Some(_) => Problem::CannotOpen(error.to_string()),
        };
        Self::new(path, problem)
    }

    fn new(path: &Path, problem: Problem) -> Self {
        Self { path: path.to_owned(), problem }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, problem } = self;
        let path = path.display();
        match problem {
            Problem::NoFolder => {
                write!(
                    f,
                    "the data file {path} cannot be made: its folder is not there; make the folder first"
                )
            }
            Problem::NotAFile => {
                write!(f, "{path} is no file; give the path of a data file, or of one that is not there yet")
            }
            Problem::LinkToNothing => {
                write!(f, "{path} is a link to a file that is not there; give the path of the file itself")
            }
            Problem::NotADatabase => {
                write!(f, "{path} is no data file of the sandbox and was left as it is; give another path")
            }
            Problem::AnotherProgrammes => write!(
                f,
                "{path} is a SQLite database of another program and was left as it is; give another path"
            ),
            Problem::Newer { version } => write!(
                f,
                "the data file {path} is of a newer version of the sandbox (its schema is {version}, and this version \
                 knows {}) and was left as it is; start the newer version, or give another path",
                schema::VERSION
            ),
            Problem::InUse => write!(
                f,
                "the data file {path} is in use by another sandbox; stop that one, or give each a file of its own"
            ),
            Problem::ReadOnly => write!(
                f,
                "the data file {path} may not be written; allow this user to write the file and its folder"
            ),
            Problem::Damaged(detail) => write!(
                f,
                "the data file {path} is damaged ({detail}); put a copy back in its place, or move it away together \
                 with {path}-wal to start with nothing"
            ),
            Problem::CannotOpen(reason) => write!(
                f,
                "the data file {path} cannot be opened: {reason}; the file and its folder must be readable and \
                 writable for this user"
            ),
            Problem::CannotWrite(reason) => write!(
                f,
                "the data file {path} can no longer be written: {reason}; every payment that was answered is in it, and \
                 no further one is answered; mend the cause and start again"
            ),
            Problem::Displaced => write!(
                f,
                "the data file {path} was removed, moved or replaced while the sandbox kept its payments in it; those that \
                 were answered are in the file that was there and in its {path}-wal, and no further one is answered; put both \
                 back if they still exist, and start again"
            ),
        }
    }
}

impl Error for StoreError {}
