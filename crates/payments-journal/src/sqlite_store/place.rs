use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::StoreError;
use crate::sqlite_store::problem;
use crate::sqlite_store::safety::{self, FileId};

/// Where a journal is: a file in an existing directory, reached without a symbolic link, and the files next to it.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    /// The identity of the database before it was opened, and of the log and its index afterwards.
    files: Vec<(Option<FileId>, PathBuf)>,
    /// How long to wait for another process.
    pub(super) max_wait: Duration,
}

impl Place {
    pub(super) const MAX_WAIT: Duration = Duration::from_secs(10);

    /// Checks that the file is safe, or creates an empty one. None is created if the second witness is that of a journal.
    ///
    /// An existing file is inspected but never opened here: closing it would release the locks that this process holds on it,
    /// as POSIX specifies.
    pub(super) fn prepare(given: &Path, witness: Option<&Path>) -> Result<Self, StoreError> {
        let path = locate(given)?;
        let directory = path.parent().expect("the path has a directory");
        safety::check_directory(directory)?;
        safety::check_file_system(directory)?;

        let mut this = Self { path: path.clone(), files: Vec::new(), max_wait: Self::MAX_WAIT };
        let path = path.as_path();
        if this.length() == 0 {
            this.check_never_existed(witness)?;
            // Without its witness the new journal would be refused, and would stay.
            if let Some(witness) = witness
                && let Err(error) = fs::metadata(directory_and_name(witness)?.0)
            {
                return Err(problem::refused(witness, format_args!("cannot be created: {error}")));
            }
        }
        if this.check_files(safety::check_file)?.is_none() {
            create(path)
                .map_err(|error| problem::refused(path, format_args!("cannot be created: {error}")))?;
        }
        // The file may be on another file system than its directory.
        safety::check_file_system(path)?;
        safety::check_mount(path)?;
        this.identify("");
        Ok(this)
    }

    /// Checks an existing file that will only be read. `None` if there is none, or an empty one, in which a process may be about
    /// to create a journal, and no witness of one.
    pub(super) fn existing(given: &Path, witness: Option<&Path>) -> Result<Option<Self>, StoreError> {
        let (directory, name) = directory_and_name(given)?;
        let directory = match fs::canonicalize(directory) {
            Ok(directory) => directory,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(problem::refused(given, format_args!("cannot be read: {error}"))),
        };
        let mut this = Self { path: directory.join(name), files: Vec::new(), max_wait: Self::MAX_WAIT };
        // On a read-only file system nobody can replace a file or change its mode, not even to satisfy these checks.
        let check = if safety::is_on_a_read_only_file_system(&directory) {
            safety::check_kind
        } else {
            safety::check_directory(&directory)?;
            safety::check_file
        };
        if this.check_files(check)?.is_none_or(|length| length == 0) {
            this.check_never_existed(witness)?;
            return Ok(None);
        }
        safety::check_file_system(&this.path)?;
        this.identify("");
        Ok(Some(this))
    }

    /// Fails if a witness shows that there was a journal. It is created after its database, so the database is looked for again: another
    /// process may have created both meanwhile.
    fn check_never_existed(&self, witness: Option<&Path>) -> Result<(), StoreError> {
        let own = Some(self.witness()).filter(|own| own.exists());
        let has_content = |path: &&Path| fs::metadata(path).is_ok_and(|found| found.len() > 0);
        match own.as_deref().or_else(|| witness.filter(has_content)) {
            Some(witness) if self.length() == 0 => Err(problem::missing(&self.path, witness)),
            _ => Ok(()),
        }
    }

    /// Checks each file of the journal, and returns the length of the database if it exists.
    fn check_files(&self, check: CheckFile) -> Result<Option<u64>, StoreError> {
        let path = self.path();
        // The log first: a process that is creating a journal at this moment creates the database before the log.
        let log_length = self.check_file("-wal", check)?.unwrap_or(0);
        self.check_file("-shm", check)?;
        self.check_file("-journal", check)?;
        match self.check_file("", check)? {
            Some(0) | None if log_length > 0 => {
                let how =
                    "the database is missing or empty, but its log exists; put both back if they still exist";
                Err(problem::damaged(path, how))
            }
            Some(1..MIN_DATABASE_BYTES) => Err(problem::not_a_journal(path, "not a SQLite database")),
            length => Ok(length),
        }
    }

    /// The log and its index exist once the database is open.
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

    /// The directory with the locks of live owners.
    pub(super) fn owners(&self) -> PathBuf {
        self.with("-owners")
    }

    /// The file that notices an older copy of the database, if the caller names no other.
    pub(super) fn witness(&self) -> PathBuf {
        self.owners().join("witness")
    }

    /// Whether this path is a file of the journal, or will be.
    pub(super) fn is_own(&self, path: &Path) -> bool {
        let Ok((directory, name)) = directory_and_name(path) else { return false };
        let path = fs::canonicalize(directory).map_or_else(|_| path.to_owned(), |found| found.join(name));
        let id = fs::metadata(&path).ok().map(|found| FileId::of(&found));
        let is_at = |own: &Path| path == own || id.is_some() && FileId::at(own) == id;
        let files = ["", "-wal", "-shm", "-journal"].map(|suffix| self.with(suffix));
        files.iter().any(|own| is_at(own)) || path.starts_with(self.owners())
    }

    /// The length of the database file, without the log.
    pub(super) fn length(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |found| found.len())
    }

    pub(super) fn has_log(&self) -> bool {
        fs::symlink_metadata(self.with("-wal")).is_ok()
    }

    /// The files as they are now.
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot(["", "-wal", "-shm"].map(|suffix| FileState::at(&self.with(suffix))))
    }

    /// A URI by which SQLite opens the database with these parameters.
    pub(super) fn uri(&self, parameters: &str) -> String {
        // Every byte is percent-encoded, so no character has a special meaning.
        let bytes = self.path.as_os_str().as_encoded_bytes();
        let mut uri = "file:".to_owned();
        for byte in bytes {
            write!(uri, "%{byte:02X}").expect("writing to a string cannot fail");
        }
        uri + "?" + parameters
    }

    pub(super) fn log_is_empty(&self) -> bool {
        fs::metadata(self.with("-wal")).is_ok_and(|log| log.len() == 0)
    }

    /// Whether the open files are no longer the files at this path. A removed file can still be written, but its rows are lost.
    /// With a replaced file, log or index, another process would treat every key as new.
    pub(super) fn is_displaced(&self) -> bool {
        self.files.iter().any(|(id, path)| FileId::at(path) != *id)
    }

    /// The length of a file of the journal, if it exists. Fails if the check does.
    fn check_file(&self, suffix: &str, check: CheckFile) -> Result<Option<u64>, StoreError> {
        let path = self.with(suffix);
        match fs::symlink_metadata(&path) {
            Ok(found) => check(&path, &found).map(|()| Some(found.len())),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(problem::refused(&path, format_args!("cannot be checked: {error}"))),
        }
    }

    fn with(&self, suffix: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(suffix);
        path.into()
    }
}

/// A check of a file with this path.
type CheckFile = fn(&Path, &Metadata) -> Result<(), StoreError>;

/// The database, its log and the log's index at one moment.
#[derive(PartialEq, Eq)]
pub(super) struct Snapshot([Option<FileState>; 3]);

impl Snapshot {
    /// How the journal can be read as long as these files are there.
    pub(super) fn mode(&self) -> Mode {
        match self.0 {
            [_, None, _] => Mode::Closed,
            // If the writer died between the header of the log and its first change, SQLite waits for it in vain.
            [_, Some(_), None] | [_, Some(FileState(_, 0..=LOG_HEADER, _)), _] => Mode::LogAlone,
            [_, Some(_), Some(_)] => Mode::Shared,
        }
    }
}

/// The length of a log without a change (SQLite, "Database File Format", The WAL File).
const LOG_HEADER: u64 = 32;

/// See `read_only.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Closed,
    LogAlone,
    Shared,
}

/// What changes when a file is written or replaced.
#[derive(PartialEq, Eq)]
struct FileState(FileId, u64, Option<SystemTime>);

impl FileState {
    fn at(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(Self(FileId::of(&found), found.len(), found.modified().ok()))
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// One page of the smallest size. SQLite would treat some shorter files as empty databases.
const MIN_DATABASE_BYTES: u64 = 512;

/// The file's path in its directory, without links. The directory is created if its parent exists.
fn locate(given: &Path) -> Result<PathBuf, StoreError> {
    let (directory, name) = directory_and_name(given)?;
    let created = if directory.exists() { Ok(()) } else { create_directory(directory) };
    let found = created.and_then(|()| fs::canonicalize(directory));
    found.map(|directory| directory.join(name)).map_err(|error| {
        let directory = directory.display();
        let why = match error.kind() {
            ErrorKind::NotFound => {
                format!("has no directory, and the parent does not exist either: create {directory} first")
            }
            _ => format!("cannot use its directory {directory}: {error}"),
        };
        problem::refused(given, why)
    })
}

fn directory_and_name(given: &Path) -> Result<(&Path, &OsStr), StoreError> {
    let name = given
        .file_name()
        .ok_or_else(|| problem::refused(given, "has no file name: use the path of a file"))?;
    let directory = given.parent().filter(|path| !path.as_os_str().is_empty());
    Ok((directory.unwrap_or_else(|| Path::new(".")), name))
}

/// Creates a directory for its owner alone.
pub(super) fn create_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
        Ok(()) => sync_directory_of(path),
    }
}

/// Creates an empty file for its owner alone; SQLite then creates the log with the same mode. It gets its name after it is
/// closed, because closing it would release locks of this process.
fn create(path: &Path) -> io::Result<()> {
    let directory = path.parent().expect("the path has a directory");
    let file = tempfile::Builder::new().prefix(".payments-").tempfile_in(directory)?.into_temp_path();
    match file.persist_noclobber(path) {
        Ok(()) => sync_directory_of(path),
        // Another process has just created it in the same way.
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error),
    }
}

/// A file name is durable once its directory is synced.
pub(super) fn sync_directory_of(path: &Path) -> io::Result<()> {
    if cfg!(unix)
        && let Some(directory) = path.parent()
    {
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}
