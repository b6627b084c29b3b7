//! Which stores are open: each holds the lock of a file of its own, which the system releases when the process dies.
//!
//! Whether an owner lives decides what a row that it left behind is called, and never whether anything is sent. So what
//! can go wrong here, such as a directory that somebody removed, can only make a row unknown too early, and then it still
//! learns how it ended.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::sqlite_store::connection::until;
use crate::sqlite_store::place::{self, Place};
use crate::sqlite_store::{problem, rights};
use crate::{OwnerId, StoreError};

/// The name of an open store, live until it is released or dropped.
pub(super) struct Owner {
    id: OwnerId,
    path: PathBuf,
    /// Locked.
    file: File,
}

impl Owner {
    /// A new one, in the directory of owners, from which the dead are removed. It is for who has the [`Turn`].
    pub(super) fn register(place: &Place) -> Result<Self, StoreError> {
        let directory = place.owners();
        Self::lock_a_file_in(&directory).map_err(|error| {
            let what = format_args!("cannot lock a file in {}: {error}", directory.display());
            problem::refused(place.path(), what)
        })
    }

    /// Its rows are those of a dead owner from now on. Its file stays locked, because its writer may still commit.
    pub(super) fn stop_sending(&self) {
        // If this fails, it counts as live until the writer has ended.
        let _ = self.file.set_len(1);
    }

    /// Nothing is written any more.
    pub(super) fn release(&self) {
        // If the file stays, the next to open the journal removes it.
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }

    pub(super) const fn id(&self) -> &OwnerId {
        &self.id
    }

    fn lock_a_file_in(directory: &Path) -> io::Result<Self> {
        for (path, state) in look_at_all(directory)? {
            if state == OwnerState::Dead {
                // Somebody else may remove it at the same time.
                let _ = fs::remove_file(path);
            }
        }
        let id = OwnerId::new();
        let path = directory.join(id.as_str());
        // It gets its name once it is locked, so that nobody finds it unlocked.
        let file = tempfile::Builder::new().prefix(UNNAMED).tempfile_in(directory)?;
        file.as_file().lock()?;
        let file = file.persist(&path)?;
        Ok(Self { id, path, file })
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.release();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OwnerState {
    /// Its file is locked and empty.
    Live,
    /// It was dropped, and its writer has not ended: its file is locked and not empty.
    Closing,
    Dead,
}

/// Whether the owner has the journal open and may send.
pub(super) fn is_live(place: &Place, owner: &OwnerId) -> Result<bool, StoreError> {
    // What was made up here is the name of a file and nothing else.
    if !is_name(owner.as_str()) {
        return Ok(false);
    }
    let path = place.owners().join(owner.as_str());
    state_of(&path).map(|state| state == OwnerState::Live).map_err(|error| {
        problem::unavailable(place.path(), format_args!("{} cannot be read: {error}", path.display()))
    })
}

/// Whether any store has the journal open, or was dropped and may still write. One that cannot be looked at counts.
pub(super) fn is_any_open(place: &Place) -> bool {
    look_at_all(&place.owners())
        .map_or(true, |owners| owners.iter().any(|(_, state)| *state != OwnerState::Dead))
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
        let file = until(patience, || {
            prepare(&directory)?;
            Self::try_take(&directory).map_err(|error| {
                problem::refused(place.path(), format_args!("cannot lock {}: {error}", directory.display()))
            })
        })?;
        Ok(Self { _file: file.ok_or_else(|| problem::busy(place.path()))?, made })
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

/// The directory, for this user alone.
fn prepare(directory: &Path) -> Result<(), StoreError> {
    let found = place::make_directory(directory)
        .and_then(|()| fs::symlink_metadata(directory))
        .map_err(|error| problem::refused(directory, format_args!("cannot be made: {error}")))?;
    rights::check_private_directory(directory, &found)
}

/// Every owner's file, for who has the [`Turn`].
fn look_at_all(directory: &Path) -> io::Result<Vec<(PathBuf, OwnerState)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        match entry.file_name().to_str() {
            Some(name) if is_name(name) => found.push((entry.path(), state_of(&entry.path())?)),
            // Whoever was about to become an owner had the turn, and died.
            Some(name) if name.starts_with(UNNAMED) => found.push((entry.path(), OwnerState::Dead)),
            _ => {}
        }
    }
    Ok(found)
}

/// Locked in shared mode, so that of two who look at once neither takes the other for the owner.
fn state_of(path: &Path) -> io::Result<OwnerState> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(OwnerState::Dead),
        file => file?,
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(OwnerState::Dead),
        Err(TryLockError::WouldBlock) if file.metadata()?.len() == 0 => Ok(OwnerState::Live),
        Err(TryLockError::WouldBlock) => Ok(OwnerState::Closing),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// What the name of an owner's file begins with until the file is locked.
const UNNAMED: &str = "new-";

fn is_name(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
