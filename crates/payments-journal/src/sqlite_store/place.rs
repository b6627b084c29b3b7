use std::fmt::Write;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::StoreError;
#[cfg(any(target_os = "linux", target_os = "android"))]
use crate::sqlite_store::file_system;
use crate::sqlite_store::problem;
use crate::sqlite_store::rights::{self, FileId};

/// Where a journal is: a file in an existing directory, reached without any symbolic link, and what stands beside it.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    /// The database as it was before it was opened, and the log and its index as they were afterwards.
    files: Vec<(Option<FileId>, PathBuf)>,
}

impl Place {
    /// Finds the file safe, or makes it, empty.
    ///
    /// A file that is there is looked at and never opened here: closing it again would undo the locks that this process
    /// holds on it, as POSIX has it.
    pub(super) fn prepare(given: &Path) -> Result<Self, StoreError> {
        let path = locate(given)?;
        let directory = path.parent().expect("it was joined to one");
        rights::check_directory(directory)?;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        file_system::check(directory)?;

        let mut this = Self { path: path.clone(), files: Vec::new() };
        let path = path.as_path();
        // The log first: whoever is opening a new journal at this moment has made the database before it.
        let logged = this.look_at("-wal")?.unwrap_or(0);
        this.look_at("-shm")?;
        this.look_at("-journal")?;
        match this.look_at("")? {
            Some(0) | None if logged > 0 => {
                let how =
                    "the database is gone or empty, and its log is there; put both back if they still exist";
                return Err(problem::damaged(path, how));
            }
            Some(1..SMALLEST_DATABASE) => return Err(problem::no_journal(path, "no SQLite database")),
            Some(_) => {}
            None => {
                make(path)
                    .map_err(|error| problem::refused(path, format_args!("cannot be made: {error}")))?;
            }
        }
        // It may be on another file system than its directory.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        file_system::check(path)?;
        this.identify("");
        Ok(this)
    }

    /// Once the database is open, its log and the log's index are there.
    pub(super) fn opened(mut self) -> Self {
        self.identify("-wal");
        self.identify("-shm");
        self
    }

    fn identify(&mut self, suffix: &str) {
        let path = self.with(suffix);
        self.files.push((FileId::at(&path), path));
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
        // What means something to SQLite or to the system is written as its number, as is all the rest.
        let bytes = self.path.as_os_str().as_encoded_bytes();
        let mut uri = "file:".to_owned();
        for byte in bytes {
            write!(uri, "%{byte:02X}").expect("a string takes everything");
        }
        uri + "?immutable=1"
    }

    pub(super) fn log_is_empty(&self) -> bool {
        fs::metadata(self.with("-wal")).is_ok_and(|log| log.len() == 0)
    }

    /// Whether what is open is still what is here. A file that was removed can be written all the same, and would be for
    /// nobody; and beside a file, a log or an index that took its place, another process would take every key for new.
    pub(super) fn is_displaced(&self) -> bool {
        self.files.iter().any(|(id, path)| FileId::at(path) != *id)
    }

    /// The length of a file of the journal, if it is there, and if nobody else may touch it.
    fn look_at(&self, suffix: &str) -> Result<Option<u64>, StoreError> {
        let path = self.with(suffix);
        match fs::symlink_metadata(&path) {
            Ok(found) => rights::check_file(&path, &found).map(|()| Some(found.len())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(problem::refused(&path, format_args!("cannot be looked at: {error}"))),
        }
    }

    fn with(&self, suffix: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(suffix);
        path.into()
    }
}

/// One page of the smallest size; SQLite would take some of what is shorter for an empty database.
const SMALLEST_DATABASE: u64 = 512;

/// The file's path in its directory without links, which is made if the one above it is there.
fn locate(given: &Path) -> Result<PathBuf, StoreError> {
    let Some(name) = given.file_name() else {
        return Err(problem::refused(given, "has no name of a file: give the path of a file"));
    };
    let directory =
        given.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let made = if directory.exists() { Ok(()) } else { make_directory(directory) };
    let found = made.and_then(|()| fs::canonicalize(directory));
    found.map(|directory| directory.join(name)).map_err(|error| {
        let directory = directory.display();
        match error.kind() {
            ErrorKind::NotFound => problem::refused(
                given,
                format_args!("has no directory to be in, and neither has that: make {directory} first"),
            ),
            _ => problem::refused(given, format_args!("cannot be in its directory {directory}: {error}")),
        }
    })
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
