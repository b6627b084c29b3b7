use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use payments_fake::unversioned::all_fixtures;
use payments_fake::{FakeGateway, Tenant};
use tempfile::{NamedTempFile, PersistError};

/// The file of a sandbox's state: the documents of `GET /_sandbox/state`, one for each API key in the order of the keys.
///
/// It is locked as long as this value exists, so that two sandboxes cannot overwrite each other's states.
#[derive(Debug)]
pub(crate) struct DataFile {
    path: PathBuf,
    /// The newest version of the file, which holds the lock.
    locked: Mutex<File>,
}

impl DataFile {
    /// Locks the file and loads it into the gateway, or creates it if it does not exist.
    pub(crate) fn open(path: &Path, gateway: &FakeGateway) -> io::Result<Self> {
        Self::open_or_create(path, gateway).map_err(|error| with_path(path, &error))
    }

    fn open_or_create(path: &Path, gateway: &FakeGateway) -> io::Result<Self> {
        let path = match path.canonicalize() {
            // A save replaces the file, not a link to it.
            Ok(path) => path,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let locked = write(path, &states(gateway), |file| file.persist_noclobber(path))?;
                sync_folder(path)?;
                return Ok(Self { path: std::path::absolute(path)?, locked: Mutex::new(locked) });
            }
            Err(error) => return Err(error),
        };
        // Opening a pipe would wait for its writer.
        if !path.metadata()?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "is not a file"));
        }
        let mut locked = File::open(&path)?;
        lock(&locked)?;
        let mut text = Vec::new();
        locked.read_to_end(&mut text)?;
        load(&text, &gateway.tenants().collect::<Vec<_>>()).map_err(|problem| {
            let message =
                format!("is not a state that this sandbox can load, and was not changed: {problem}");
            io::Error::new(ErrorKind::InvalidData, message)
        })?;
        // Rather now than after hours of work.
        NamedTempFile::new_in(folder(&path))?;
        Ok(Self { path, locked: Mutex::new(locked) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file by the present state of the gateway. After an error or a crash, the file is whole: what it was before, or
    /// the present state.
    pub(crate) fn save(&self, gateway: &FakeGateway) -> io::Result<()> {
        let mut locked = self.locked.lock().unwrap_or_else(PoisonError::into_inner);
        let replaced = write(&self.path, &states(gateway), |file| file.persist(&self.path));
        let synced = replaced.and_then(|file| {
            // The lock moves with the name, whatever happens to the folder.
            *locked = file;
            sync_folder(&self.path)
        });
        synced.map_err(|error| with_path(&self.path, &error))
    }
}

fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the data file {}: {error}", path.display()))
}

/// Fails if another sandbox has the lock, or has replaced the file since it was opened.
fn lock(file: &File) -> io::Result<()> {
    let in_use = || {
        let message = "is in use by another sandbox; stop that one first, or use another file";
        io::Error::new(ErrorKind::ResourceBusy, message)
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Err(in_use()),
        Err(TryLockError::Error(error)) => return Err(error),
        Ok(()) => {}
    }
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) == 0 {
        return Err(in_use());
    }
    Ok(())
}

/// Loads all states or none.
fn load(text: &[u8], tenants: &[Tenant]) -> Result<(), String> {
    let text = str::from_utf8(text).map_err(|_| "it is not UTF-8".to_owned())?;
    let states = all_fixtures(text).map_err(|error| error.to_string())?;
    if states.len() != tenants.len() {
        let (found, expected) = (states.len(), tenants.len());
        return Err(format!("states in the file: {found}, API keys of this sandbox: {expected}"));
    }
    tenants.iter().zip(states).for_each(|(tenant, state)| tenant.load(&state));
    Ok(())
}

fn states(gateway: &FakeGateway) -> String {
    gateway.tenants().map(|tenant| tenant.state_json() + "\n").collect()
}

/// Writes a file that only its owner may read, atomically. It is durable after [`sync_folder`]. Returns the new file, locked.
fn write(
    path: &Path,
    text: &str,
    persist: impl FnOnce(NamedTempFile) -> Result<File, PersistError>,
) -> io::Result<File> {
    let mut file = NamedTempFile::new_in(folder(path))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    lock(file.as_file())?;
    Ok(persist(file)?)
}

/// A new name is durable only after its folder is.
fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder(path)).and_then(|folder| folder.sync_all()).map_err(|error| {
        io::Error::new(error.kind(), format!("was written, but its folder was not: {error}"))
    })?;
    Ok(())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}
