//! Who lives: each open store holds the lock of a file of its own, which the system lets go when the process dies.
//!
//! Whether an owner lives decides what a row that it left behind is called, and never whether anything is sent. So what
//! can go wrong here, such as a directory that somebody removed, can only make a row unknown too early, and then it still
//! learns how it ended.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::sqlite_store::place::{self, Place};
use crate::sqlite_store::{problem, rights};
use crate::{OwnerId, StoreError};

/// The name of an open store, live until it is dropped.
pub(super) struct Owner {
    id: OwnerId,
    path: PathBuf,
    /// Locked.
    _file: File,
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

    pub(super) const fn id(&self) -> &OwnerId {
        &self.id
    }

    fn try_new(directory: &Path) -> io::Result<Option<Self>> {
        let id = OwnerId::new();
        let path = directory.join(id.as_str());
        let file = place::to_be_new().open(&path)?;
        match file.try_lock() {
            Ok(()) if rights::is_at(&file, &path) => Ok(Some(Self { id, path, _file: file })),
            Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// A missing file is dead, as one is whose lock is let go right after this.
impl Drop for Owner {
    fn drop(&mut self) {
        // If it stays, the next to open the journal removes it.
        let _ = fs::remove_file(&self.path);
    }
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
        if entry.file_name().to_str().is_some_and(is_name)
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

fn is_name(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
