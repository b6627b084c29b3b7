//! Who else may touch a file. What is wrong is said so that it can follow the path.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// Tells one file from another that has taken its name.
pub(super) type FileId = (u64, u64);

#[cfg(unix)]
pub(super) use unix::{
    check_directory, check_file, check_private_directory, file_id, is_at, network_file_system,
};

#[cfg(not(unix))]
pub(super) use elsewhere::{
    check_directory, check_file, check_private_directory, file_id, is_at, network_file_system,
};

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::{File, FileId, Metadata, Path, io};

    /// The file with this metadata must be its owner's alone, and this user must be the owner.
    pub(in crate::sqlite_store) fn check_file(path: &Path, found: &Metadata) -> Result<(), String> {
        if !found.is_file() {
            return Err("is no file: give the path of a file".to_owned());
        }
        if found.nlink() > 1 {
            return Err("has a second name, under which it would have another log: remove its other hard \
                        links, or give it a name of its own with cp"
                .to_owned());
        }
        check_owner(path, found)
    }

    /// Whoever may write a directory may replace what is in it, unless it is sticky.
    pub(in crate::sqlite_store) fn check_directory(path: &Path) -> Result<(), String> {
        let found = fs::metadata(path).map_err(|error| format!("cannot be looked at: {error}"))?;
        if !found.is_dir() {
            return Err("is no directory".to_owned());
        }
        let mode = found.mode();
        // A group with its user's number is, by convention, that user's own; many systems let it write by default.
        let is_of_a_group = mode & 0o020 != 0 && found.gid() != found.uid();
        let is_sticky = mode & 0o1000 != 0;
        if (mode & 0o002 != 0 || is_of_a_group) && !is_sticky {
            return Err(format!(
                "is in a directory that others may write (mode {:04o}), who could replace it: give the journal a \
                 directory of its own, or chmod go-w {}",
                mode & 0o7777,
                path.display()
            ));
        }
        Ok(())
    }

    /// The directory with this metadata must be its owner's alone, and this user must be the owner.
    pub(in crate::sqlite_store) fn check_private_directory(
        path: &Path,
        found: &Metadata,
    ) -> Result<(), String> {
        if !found.is_dir() {
            return Err("is no directory: move it away".to_owned());
        }
        check_owner(path, found)
    }

    fn check_owner(path: &Path, found: &Metadata) -> Result<(), String> {
        let user = rustix::process::geteuid().as_raw();
        if found.uid() != user {
            return Err(format!("belongs to user {} and not to user {user}: run as that one", found.uid()));
        }
        let mode = found.mode();
        if mode & 0o077 != 0 {
            return Err(format!(
                "is open to other users (mode {:04o}): chmod go-rwx {}",
                mode & 0o7777,
                path.display()
            ));
        }
        Ok(())
    }

    /// `None` if it is not there.
    pub(in crate::sqlite_store) fn file_id(path: &Path) -> Option<FileId> {
        fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
    }

    /// Whether the open file is the one with this path.
    pub(in crate::sqlite_store) fn is_at(file: &File, path: &Path) -> bool {
        file.metadata().is_ok_and(|found| file_id(path) == Some((found.dev(), found.ino())))
    }

    /// Told on Linux alone.
    pub(in crate::sqlite_store) fn network_file_system(path: &Path) -> io::Result<Option<&'static str>> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            let found = rustix::fs::statfs(path)?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "32 bits in a field whose type differs between machines"
            )]
            let magic = found.f_type as u32;
            Ok(crate::sqlite_store::file_system::network(magic))
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        {
            let _ = path;
            Ok(None)
        }
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::fs;

    use super::{File, FileId, Metadata, Path, io};

    pub(in crate::sqlite_store) fn check_file(_: &Path, found: &Metadata) -> Result<(), String> {
        found.is_file().then_some(()).ok_or_else(|| "is no file: give the path of a file".to_owned())
    }

    pub(in crate::sqlite_store) fn check_directory(path: &Path) -> Result<(), String> {
        path.is_dir().then_some(()).ok_or_else(|| "is in no directory".to_owned())
    }

    /// The same for every file that is there.
    pub(in crate::sqlite_store) fn file_id(path: &Path) -> Option<FileId> {
        fs::symlink_metadata(path).ok().map(|_| (0, 0))
    }

    pub(in crate::sqlite_store) fn check_private_directory(_: &Path, found: &Metadata) -> Result<(), String> {
        found.is_dir().then_some(()).ok_or_else(|| "is no directory: move it away".to_owned())
    }

    pub(in crate::sqlite_store) fn is_at(_: &File, path: &Path) -> bool {
        path.is_file()
    }

    pub(in crate::sqlite_store) fn network_file_system(_: &Path) -> io::Result<Option<&'static str>> {
        Ok(None)
    }
}
