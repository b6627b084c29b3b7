//! Who lives: each open store holds the lock of a file of its own, which the system lets go when the process dies.
//!
//! Whether an owner lives decides what a row that it left behind is called, and never whether anything is sent. So what
//! can go wrong here, such as a directory that somebody removed, can only make a row unknown too early, and then it still
//! learns how it ended.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::sqlite_store::place::{self, Place};
use crate::sqlite_store::{problem, rights};
use crate::{OwnerId, StoreError};

/// The name of an open store, live until it is released or dropped.
pub(super) struct Owner {
    id: OwnerId,
    path: PathBuf,
    /// Locked, until it is released.
    file: Mutex<Option<File>>,
}

impl Owner {
    /// A new one, in the directory of owners, from which the dead are removed.
    pub(super) fn register(place: &Place) -> Result<Self, StoreError> {
        let directory = place.owners();
        prepare(&directory)?;
        let fail = |error: io::Error| {
            problem::refused(
                place.path(),
                format_args!("cannot lock a file in {}: {error}", directory.display()),
            )
        };
        remove_the_dead(&directory).map_err(fail)?;
        // Somebody who looks for the dead can have a file for a moment between its making and its locking.
        for _ in 0..ATTEMPTS {
            if let Some(owner) = Self::try_new(&directory).map_err(fail)? {
                return Ok(owner);
            }
        }
        Err(fail(ErrorKind::WouldBlock.into()))
    }

    /// It sends no more, and may still write: its name is dead, and its lock is kept under another one.
    pub(super) fn retire(&self) {
        // If it stays under its name, it is live until it is released.
        let _ = fs::rename(&self.path, closing(&self.path));
    }

    /// It writes no more.
    pub(super) fn release(&self) {
        let locked = self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(locked) = locked {
            // If it stays, the next to open the journal removes it.
            let _ = fs::remove_file(&self.path).or_else(|_| fs::remove_file(closing(&self.path)));
            drop(locked);
        }
    }

    pub(super) const fn id(&self) -> &OwnerId {
        &self.id
    }

    fn try_new(directory: &Path) -> io::Result<Option<Self>> {
        let id = OwnerId::new();
        let path = directory.join(id.as_str());
        let file = place::to_be_new().open(&path)?;
        match file.try_lock() {
            Ok(()) if rights::is_at(&file, &path) => {
                Ok(Some(Self { id, path, file: Mutex::new(Some(file)) }))
            }
            Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// A missing file is dead, as one is whose lock is let go right after this.
impl Drop for Owner {
    fn drop(&mut self) {
        self.release();
    }
}

/// While it is held, no other store opens or closes the journal. The system lets it go when the process dies.
pub(super) struct Turn {
    /// Locked.
    _file: File,
    /// The directory of owners, if it was made for this turn.
    made: Option<PathBuf>,
}

impl Turn {
    /// Makes the directory of owners if it is not there, and waits for whoever opens or closes the journal now.
    pub(super) fn take(place: &Place, patience: Duration) -> Result<Self, StoreError> {
        let directory = place.owners();
        let made = (!directory.exists()).then(|| directory.clone());
        let since = Instant::now();
        loop {
            prepare(&directory)?;
            match Self::try_take(&directory) {
                Ok(Some(file)) => return Ok(Self { _file: file, made }),
                Ok(None) if since.elapsed() < patience => thread::sleep(Duration::from_millis(1)),
                Ok(None) => return Err(problem::busy(place.path())),
                Err(error) => {
                    return Err(problem::refused(
                        place.path(),
                        format_args!("cannot lock {}: {error}", directory.display()),
                    ));
                }
            }
        }
    }

    /// What was not taken as a journal needs no owners.
    pub(super) fn leave_no_trace(&self) {
        if let Some(directory) = &self.made {
            // Others who wait for their turn make it again.
            let _ = fs::remove_dir(directory);
        }
    }

    /// `None` if another has it, or if the directory was removed meanwhile.
    fn try_take(directory: &Path) -> io::Result<Option<File>> {
        let (path, opened) = if cfg!(unix) {
            (directory.to_owned(), File::open(directory))
        } else {
            // Elsewhere a directory has no lock.
            let path = directory.join("turn");
            let opened = File::options().create(true).truncate(false).write(true).open(&path);
            (path, opened)
        };
        let file = match opened {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        match file.try_lock() {
            Ok(()) => Ok(rights::is_at(&file, &path).then_some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Whether any store has the journal open or is closing it. Who is not sure says so.
pub(super) fn is_any_live(place: &Place) -> bool {
    let look_at_all = || -> io::Result<bool> {
        for entry in fs::read_dir(place.owners())? {
            let entry = entry?;
            if entry.file_name().to_str().is_some_and(is_of_an_owner)
                && matches!(look(&entry.path())?, Found::Live)
            {
                return Ok(true);
            }
        }
        Ok(false)
    };
    look_at_all().unwrap_or(true)
}

const ATTEMPTS: usize = 16;

/// Whether somebody holds the owner's lock.
pub(super) fn is_live(place: &Place, owner: &OwnerId) -> Result<bool, StoreError> {
    // What was made up here is the name of a file and nothing else.
    if !is_name(owner.as_str()) {
        return Ok(false);
    }
    let path = place.owners().join(owner.as_str());
    look(&path).map(|found| matches!(found, Found::Live)).map_err(|error| {
        problem::unavailable(place.path(), format_args!("{} cannot be read: {error}", path.display()))
    })
}

/// The directory, for this user alone.
fn prepare(directory: &Path) -> Result<(), StoreError> {
    place::make_directory(directory)
        .and_then(|()| fs::symlink_metadata(directory))
        .map_err(|error| format!("cannot be made: {error}"))
        .and_then(|found| rights::check_private_directory(directory, &found))
        .map_err(|problem| problem::refused(directory, problem))
}

/// Nobody asks for a file that is not there.
fn remove_the_dead(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_of_an_owner)
            // Held while it is removed: whoever has just made it, and cannot lock it now, takes another name.
            && let Found::Dead(_locked) = look(&entry.path())?
        {
            // Somebody else may remove it at the same time.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

enum Found {
    Live,
    /// Its file, locked.
    Dead(File),
    Nothing,
}

fn look(path: &Path) -> io::Result<Found> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        file => file?,
    };
    match file.try_lock() {
        Ok(()) => Ok(Found::Dead(file)),
        Err(TryLockError::WouldBlock) => Ok(Found::Live),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The file of an owner who is closing.
fn closing(path: &Path) -> PathBuf {
    path.with_extension("closing")
}

fn is_of_an_owner(name: &str) -> bool {
    is_name(name.strip_suffix(".closing").unwrap_or(name))
}

fn is_name(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
