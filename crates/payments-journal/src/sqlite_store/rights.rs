//! Who else may touch a file.

use std::fs::{self, File, Metadata};
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::StoreError;
use crate::sqlite_store::problem::refused;

/// The file with this metadata must be its owner's alone, and this user must be the owner.
pub(super) fn check_file(path: &Path, found: &Metadata) -> Result<(), StoreError> {
    if found.is_symlink() {
        return Err(refused(path, "is a symbolic link: give the path of the file itself"));
    }
    if !found.is_file() {
        return Err(refused(path, "is no file: give the path of a file"));
    }
    #[cfg(unix)]
    if found.nlink() > 1 {
        let why = "has a second name, under which it would have another log: remove its other hard links, or give it a \
                   name of its own with cp";
        return Err(refused(path, why));
    }
    check_owner(path, found)
}

/// The directory with this metadata must be its owner's alone, and this user must be the owner.
pub(super) fn check_private_directory(path: &Path, found: &Metadata) -> Result<(), StoreError> {
    if !found.is_dir() {
        return Err(refused(path, "is no directory: move it away"));
    }
    check_owner(path, found)
}

/// Whoever may write a directory may replace what is in it, unless it is sticky.
pub(super) fn check_directory(path: &Path) -> Result<(), StoreError> {
    let found =
        fs::metadata(path).map_err(|error| refused(path, format_args!("cannot be looked at: {error}")))?;
    if !found.is_dir() {
        return Err(refused(path, "is no directory"));
    }
    #[cfg(unix)]
    {
        let mode = found.mode() & 0o7777;
        // A group with its user's number is, by convention, that user's own; many systems let it write by default.
        let is_of_a_group = mode & 0o020 != 0 && found.gid() != found.uid();
        let is_sticky = mode & 0o1000 != 0;
        if (mode & 0o002 != 0 || is_of_a_group) && !is_sticky {
            let how = format_args!(
                "is in a directory that others may write (mode {mode:04o}), who could replace it: give the journal a \
                 directory of its own, or chmod go-w {}",
                path.display()
            );
            return Err(refused(path, how));
        }
    }
    Ok(())
}

#[cfg(unix)]
fn check_owner(path: &Path, found: &Metadata) -> Result<(), StoreError> {
    let (user, mode) = (rustix::process::geteuid().as_raw(), found.mode() & 0o7777);
    if found.uid() != user {
        let why = format_args!("belongs to user {} and not to user {user}: run as that one", found.uid());
        return Err(refused(path, why));
    }
    if mode & 0o077 != 0 {
        let why = format_args!("is open to other users (mode {mode:04o}): chmod go-rwx {}", path.display());
        return Err(refused(path, why));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_: &Path, _: &Metadata) -> Result<(), StoreError> {
    Ok(())
}

/// Tells one file from another that has taken its name; without Unix' numbers, whether it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId(u64, u64);

impl FileId {
    /// `None` if it is not there.
    pub(super) fn at(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(|found| Self::of(&found))
    }

    #[cfg(unix)]
    fn of(found: &Metadata) -> Self {
        Self(found.dev(), found.ino())
    }

    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Self {
        Self(0, 0)
    }
}

/// Whether the open file is the one with this path.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    file.metadata().is_ok_and(|found| FileId::at(path) == Some(FileId::of(&found)))
}
