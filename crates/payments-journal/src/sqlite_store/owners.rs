//! Which stores are open: each holds a lock on its own file, which the system releases when the process dies.
//!
//! Whether an owner is alive decides the state of a row that it left, and never whether anything is sent. So a failure here,
//! such as a removed directory, can only mark a row as unknown too early, and the row still gets its real outcome.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use payments_core::transport::ProcessId;

use crate::sqlite_store::connection::{unless_locked, until};
use crate::sqlite_store::place::{self, Place};
use crate::sqlite_store::{problem, safety};
use crate::{OwnerId, StoreError};

/// The id of an open store, live until it is released or dropped.
pub(super) struct Owner {
    id: OwnerId,
    path: PathBuf,
    /// Locked.
    file: File,
    /// The process that opened the store.
    process: ProcessId,
    /// In [`OPEN`].
    is_counted: AtomicBool,
}

impl Owner {
    /// Creates an owner in the directory of owners, and removes dead ones. The caller holds the [`OwnersLock`].
    pub(super) fn register(place: &Place) -> Result<Self, StoreError> {
        let directory = place.owners();
        Self::lock_a_file_in(&directory).map_err(|error| {
            let what = format_args!("cannot lock a file in {}: {error}", directory.display());
            problem::refused(place.path(), what)
        })
    }

    /// Fails in a process that was forked from the store's: its threads are not here, and SQLite's locks are not held.
    pub(super) fn check_process(&self, place: &Place) -> Result<(), StoreError> {
        if self.process.is_current() {
            Ok(())
        } else {
            Err(problem::forked(StoreError::poisoned, place.path()))
        }
    }

    /// From now on its rows belong to a dead owner. Its file stays locked, because its writer may still commit.
    pub(super) fn stop_sending(&self) {
        // If this fails, it counts as live until the writer has ended.
        let _ = self.file.set_len(1);
    }

    /// The writer has ended.
    pub(super) fn release(&self) {
        // If the file remains, the next store that opens the journal removes it.
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
        if self.is_counted.swap(false, Ordering::SeqCst) {
            OPEN.fetch_sub(1, Ordering::SeqCst);
        }
    }

    pub(super) const fn id(&self) -> &OwnerId {
        &self.id
    }

    fn lock_a_file_in(directory: &Path) -> io::Result<Self> {
        for (path, state) in all_owners(directory)? {
            if state == OwnerState::Dead {
                // Another store may remove it at the same time.
                let _ = fs::remove_file(path);
            }
        }
        let id = OwnerId::new();
        let path = directory.join(id.as_str());
        // It gets its name after it is locked, so that no store finds it unlocked.
        let file = tempfile::Builder::new().prefix(UNNAMED).tempfile_in(directory)?;
        file.as_file().lock()?;
        let file = file.persist(&path)?;
        let process = ProcessId::current();
        PROCESS.store(process.to_bits(), Ordering::SeqCst);
        OPEN.fetch_add(1, Ordering::SeqCst);
        Ok(Self { id, path, file, process, is_counted: AtomicBool::new(true) })
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.release();
    }
}

/// Fails in a process that was forked from one that had a store open. SQLite would take the locks of the parent for its own.
pub(super) fn check_process(path: &Path) -> Result<(), StoreError> {
    let is_ours = || ProcessId::from_bits(PROCESS.load(Ordering::SeqCst)).is_current();
    if OPEN.load(Ordering::SeqCst) > 0 && !is_ours() {
        Err(problem::forked(StoreError::refused, path))
    } else {
        Ok(())
    }
}

/// The [`ProcessId`] of the process that last opened a store.
static PROCESS: AtomicU64 = AtomicU64::new(0);

/// How many stores are open. A forked process never closes those of its parent, because it has not their threads.
static OPEN: AtomicUsize = AtomicUsize::new(0);

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
    // An id of another form is never used as a path.
    if !is_name(owner.as_str()) {
        return Ok(false);
    }
    let path = place.owners().join(owner.as_str());
    state_of(&path).map(|state| state == OwnerState::Live).map_err(|error| {
        problem::unavailable(place.path(), format_args!("{} cannot be read: {error}", path.display()))
    })
}

/// Whether any store has the journal open, or was dropped and may still write. A store whose state cannot be read counts.
pub(super) fn is_any_open(place: &Place) -> bool {
    all_owners(&place.owners())
        .map_or(true, |owners| owners.iter().any(|(_, state)| *state != OwnerState::Dead))
}

/// While it is held, no other store opens or closes the journal. The system releases it when the process dies.
pub(super) struct OwnersLock {
    /// Locked.
    _file: File,
    /// The directory of owners, if it was created for this lock.
    created: Option<PathBuf>,
}

impl OwnersLock {
    /// Creates the directory of owners if it does not exist, and waits while another store opens or closes the journal.
    pub(super) fn acquire(place: &Place) -> Result<Self, StoreError> {
        let directory = place.owners();
        let created = (!directory.exists()).then(|| directory.clone());
        let file = until(place.max_wait, || {
            prepare(&directory)?;
            Self::try_acquire(&directory).map_err(|error| {
                problem::refused(place.path(), format_args!("cannot lock {}: {error}", directory.display()))
            })
        })?;
        Ok(Self { _file: file.ok_or_else(|| problem::busy(place.path()))?, created })
    }

    /// After the database was refused as a journal.
    pub(super) fn remove_created_directory(&self) {
        if let Some(directory) = &self.created {
            // Stores that wait for the lock create it again.
            let _ = fs::remove_dir(directory);
        }
    }

    /// `None` if another store holds it, or if the directory was removed meanwhile.
    fn try_acquire(directory: &Path) -> io::Result<Option<File>> {
        // Systems other than Unix cannot lock a directory.
        let path = if cfg!(unix) { directory.to_owned() } else { directory.join("turn") };
        let opened = if cfg!(unix) {
            File::open(&path)
        } else {
            File::options().create(true).truncate(false).write(true).open(&path)
        };
        let file = match opened {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let locked = unless_locked(file.try_lock())?;
        Ok(locked.filter(|()| safety::is_at(&file, &path)).map(|()| file))
    }
}

/// While the file is held, no store opens or closes the journal. `None` if there is no directory of owners, so that no store has
/// the journal open, or if the system cannot lock it.
pub(super) fn hold_off(place: &Place) -> Result<Option<File>, StoreError> {
    let Ok(file) = File::open(place.owners()) else { return Ok(None) };
    match until(place.max_wait, || unless_locked(file.try_lock_shared())) {
        Ok(Some(())) => Ok(Some(file)),
        Ok(None) => Err(problem::busy(place.path())),
        Err(_) => Ok(None),
    }
}

/// Creates the directory, for this user alone, and checks it.
fn prepare(directory: &Path) -> Result<(), StoreError> {
    let found = place::create_directory(directory)
        .and_then(|()| fs::symlink_metadata(directory))
        .map_err(|error| problem::refused(directory, format_args!("cannot be created: {error}")))?;
    safety::check_private_directory(directory, &found)
}

/// Every owner's file. The caller holds the [`OwnersLock`].
fn all_owners(directory: &Path) -> io::Result<Vec<(PathBuf, OwnerState)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        match entry.file_name().to_str() {
            Some(name) if is_name(name) => found.push((entry.path(), state_of(&entry.path())?)),
            // A store that was about to become an owner died while it held the lock.
            Some(name) if name.starts_with(UNNAMED) => found.push((entry.path(), OwnerState::Dead)),
            _ => {}
        }
    }
    Ok(found)
}

/// Tries the lock in shared mode, so that of two checks at once neither takes the other for the owner.
fn state_of(path: &Path) -> io::Result<OwnerState> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(OwnerState::Dead),
        file => file?,
    };
    Ok(match unless_locked(file.try_lock_shared())? {
        Some(()) => OwnerState::Dead,
        None if file.metadata()?.len() == 0 => OwnerState::Live,
        None => OwnerState::Closing,
    })
}

/// What the name of an owner's file begins with until the file is locked.
const UNNAMED: &str = "new-";

fn is_name(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
