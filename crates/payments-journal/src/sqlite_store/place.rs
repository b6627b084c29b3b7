use std::fmt::Write;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::StoreError;
use crate::sqlite_store::problem;
use crate::sqlite_store::rights::{self, FileId};

/// Where a journal is: a file in an existing directory, reached without any symbolic link, and what stands beside it.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    /// The log and its index, as they were when the database was opened.
    beside: Vec<(PathBuf, Option<FileId>)>,
}

impl Place {
    /// Finds the file safe, or makes it, empty.
    ///
    /// A file that is there is looked at and never opened here: closing it again would undo the locks that this process
    /// holds on it, as POSIX has it.
    pub(super) fn prepare(given: &Path) -> Result<Self, StoreError> {
        let path = locate(given)?;
        let directory = path.parent().expect("it was joined to one");
        rights::check_directory(directory).map_err(|problem| problem::refused(directory, problem))?;
        check_file_system(directory)?;

        let this = Self { path, beside: Vec::new() };
        // The log first: whoever is opening a new journal at this moment has made the database before it.
        let logged = this.look_at("-wal")?.unwrap_or(0);
        this.look_at("-shm")?;
        this.look_at("-journal")?;
        match this.look_at("")? {
            Some(0) | None if logged > 0 => Err(problem::damaged(
                &this.path,
                "the database is gone or empty, and its log is there; put both back if they still exist",
            )),
            Some(length) if (1..SMALLEST_DATABASE).contains(&length) => {
                Err(problem::no_journal(&this.path, "no SQLite database"))
            }
            Some(_) => {
                check_file_system(&this.path)?;
                Ok(this)
            }
            None => {
                make(&this.path)
                    .map_err(|error| problem::refused(&this.path, format_args!("cannot be made: {error}")))?;
                Ok(this)
            }
        }
    }

    /// Once the database is open, its log and the log's index are there.
    pub(super) fn opened(self) -> Self {
        let identified = |suffix| {
            let path = self.with(suffix);
            let id = rights::file_id(&path);
            (path, id)
        };
        Self { beside: vec![identified("-wal"), identified("-shm")], path: self.path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the locks of those who live are.
    pub(super) fn owners(&self) -> PathBuf {
        self.with("-owners")
    }

    /// Of the database, as far as it is out of the log.
    pub(super) fn length(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |found| found.len())
    }

    pub(super) fn has_log(&self) -> bool {
        fs::symlink_metadata(self.with("-wal")).is_ok()
    }

    /// For SQLite to read the database alone.
    pub(super) fn immutable_uri(&self) -> String {
        let mut uri = "file:".to_owned();
        for &byte in self.path.as_os_str().as_encoded_bytes() {
            // Whatever else means something to SQLite or to the system is written as its number.
            if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
                uri.push(char::from(byte));
            } else {
                write!(uri, "%{byte:02X}").expect("a string takes everything");
            }
        }
        uri.push_str("?immutable=1");
        uri
    }

    pub(super) fn log_is_empty(&self) -> bool {
        fs::metadata(self.with("-wal")).is_ok_and(|log| log.len() == 0)
    }

    /// Whether what is open is still what is here. A file that was removed can be written all the same, and would be for
    /// nobody; and beside a file, a log or an index that took its place, another process would take every key for new.
    pub(super) fn is_displaced(&self, connection: &Connection) -> bool {
        has_moved(connection) || self.beside.iter().any(|(path, id)| rights::file_id(path) != *id)
    }

    /// The length of a file of the journal, if it is there, and if nobody else may touch it.
    fn look_at(&self, suffix: &str) -> Result<Option<u64>, StoreError> {
        let path = self.with(suffix);
        match fs::symlink_metadata(&path) {
            Ok(found) => {
                let checked =
                    if found.is_symlink() { Err(LINK.to_owned()) } else { rights::check_file(&path, &found) };
                checked.map_err(|problem| problem::refused(&path, problem))?;
                Ok(Some(found.len()))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(cannot_see(&path, &error)),
        }
    }

    fn with(&self, suffix: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(suffix);
        path.into()
    }
}

const LINK: &str = "is a symbolic link: give the path of the file itself";

/// One page of the smallest size; SQLite would take some of what is shorter for an empty database.
const SMALLEST_DATABASE: u64 = 512;

/// The file's path in its directory without links, which is made if the one above it is there.
fn locate(given: &Path) -> Result<PathBuf, StoreError> {
    let Some(name) = given.file_name() else {
        return Err(problem::refused(given, "has no name of a file: give the path of a file"));
    };
    let directory =
        given.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let found = match fs::canonicalize(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            make_directory(directory).and_then(|()| fs::canonicalize(directory))
        }
        found => found,
    };
    match found {
        Ok(directory) => Ok(directory.join(name)),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(problem::refused(
            given,
            format_args!(
                "has no directory to be in, and neither has that: make {} first",
                directory.display()
            ),
        )),
        Err(error) => Err(problem::refused(
            given,
            format_args!("cannot be in its directory {}: {error}", directory.display()),
        )),
    }
}

/// For its owner alone.
pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
        Ok(()) => sync_directory_of(path),
    }
}

/// Makes an empty file for its owner alone, as SQLite then makes the log beside it. It gets its name when it is closed,
/// for the reason above.
fn make(path: &Path) -> io::Result<()> {
    let directory = path.parent().expect("it was joined to one");
    let file = tempfile::Builder::new().prefix(".payments-").tempfile_in(directory)?.into_temp_path();
    match file.persist_noclobber(path) {
        Ok(()) => sync_directory_of(path),
        // Another process has just made it in the same way.
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error),
    }
}

/// How to make a file that is not there, for its owner alone; nothing that is there is opened, and no link followed.
pub(super) fn to_be_new() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A name is durable once its directory is.
pub(super) fn sync_directory_of(path: &Path) -> io::Result<()> {
    if cfg!(unix)
        && let Some(directory) = path.parent()
    {
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

fn check_file_system(path: &Path) -> Result<(), StoreError> {
    match rights::network_file_system(path) {
        Ok(None) => Ok(()),
        Ok(Some(name)) => Err(problem::refused(
            path,
            format_args!(
                "is on a network file system ({name}), where two machines could charge twice: use a local disk, or \
                 PostgreSQL for several machines"
            ),
        )),
        Err(error) => Err(cannot_see(path, &error)),
    }
}

fn cannot_see(path: &Path, error: &io::Error) -> StoreError {
    problem::refused(path, format_args!("cannot be looked at: {error}"))
}

#[cfg(unix)]
fn has_moved(connection: &Connection) -> bool {
    use rusqlite::{FileControl, MAIN_DB};

    let mut has_moved = 0;
    let asked = connection.file_control(Some(MAIN_DB), FileControl::HasMoved(&mut has_moved));
    asked.is_err() || has_moved != 0
}

/// The system does not let go of a file that is open.
#[cfg(not(unix))]
fn has_moved(_: &Connection) -> bool {
    false
}
