//! Checks that no other user may access a file, and that its file system is a local one.

use std::fs::{self, File, Metadata};
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::StoreError;
use crate::sqlite_store::problem::refused;

/// Checks that it is a file, and not a link.
pub(super) fn check_kind(path: &Path, found: &Metadata) -> Result<(), StoreError> {
    if found.is_symlink() {
        return Err(refused(path, "is a symbolic link: use the path of the file itself"));
    }
    if !found.is_file() {
        return Err(refused(path, "is not a file: use the path of a file"));
    }
    Ok(())
}

/// Checks that only this user may access the file, and owns it.
pub(super) fn check_file(path: &Path, found: &Metadata) -> Result<(), StoreError> {
    check_kind(path, found)?;
    #[cfg(unix)]
    if found.nlink() > 1 {
        let why = "has a second name, under which it would have another log: remove the other hard link";
        return Err(refused(path, why));
    }
    check_owner(path, found)
}

/// Checks that only this user may access the directory, and owns it.
pub(super) fn check_private_directory(path: &Path, found: &Metadata) -> Result<(), StoreError> {
    if !found.is_dir() {
        return Err(refused(path, "is not a directory: move it away"));
    }
    check_owner(path, found)
}

/// Refuses a directory that others may write to, because they could replace its files, unless it is sticky.
pub(super) fn check_directory(path: &Path) -> Result<(), StoreError> {
    let found =
        fs::metadata(path).map_err(|error| refused(path, format_args!("cannot be checked: {error}")))?;
    if !found.is_dir() {
        return Err(refused(path, "is not a directory: use the path of a file in a directory"));
    }
    #[cfg(unix)]
    {
        let mode = found.mode() & 0o7777;
        // By convention a group with the user's number is that user's own; many systems let it write by default.
        let may_group_write = mode & 0o020 != 0 && found.gid() != found.uid();
        let is_sticky = mode & 0o1000 != 0;
        if (mode & 0o002 != 0 || may_group_write) && !is_sticky {
            let how = format_args!(
                "is in a directory that others may write to (mode {mode:04o}), so they could replace it: move the journal to \
                 its own directory, or chmod go-w {}",
                path.display()
            );
            return Err(refused(path, how));
        }
    }
    Ok(())
}

/// Whether the file system is mounted read-only. `false` if that is not known.
pub(super) fn is_on_a_read_only_file_system(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use rustix::fs::{StatVfsMountFlags, statvfs};

        statvfs(path).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

#[cfg(unix)]
fn check_owner(path: &Path, found: &Metadata) -> Result<(), StoreError> {
    let (user, mode) = (rustix::process::geteuid().as_raw(), found.mode() & 0o7777);
    if found.uid() != user {
        let why = format_args!("belongs to user {} and not to user {user}: run as that user", found.uid());
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

/// Identifies a file even if another takes its name. Without Unix numbers, it only shows whether there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId(u64, u64);

impl FileId {
    /// `None` if there is no file.
    pub(super) fn at(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(|found| Self::of(&found))
    }

    #[cfg(unix)]
    pub(super) fn of(found: &Metadata) -> Self {
        Self(found.dev(), found.ino())
    }

    #[cfg(not(unix))]
    pub(super) fn of(_: &Metadata) -> Self {
        Self(0, 0)
    }
}

/// Whether the open file is the one with this path.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    file.metadata().is_ok_and(|found| FileId::at(path) == Some(FileId::of(&found)))
}

/// Refuses file systems on which SQLite's log cannot be shared safely. Only on Linux.
///
/// The log's index is shared memory. It is not shared over a network, so two machines could both treat a key as new.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn check_file_system(path: &Path) -> Result<(), StoreError> {
    let found = rustix::fs::statfs(path)
        .map_err(|error| refused(path, format_args!("cannot be checked: {error}")))?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "32 bits in a field whose type differs between machines"
    )]
    let Some(name) = network(found.f_type as u32) else { return Ok(()) };
    let why = format_args!(
        "is on a network file system ({name}), where two machines could charge twice: use a local disk, or PostgreSQL \
         for several machines"
    );
    Err(refused(path, why))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn check_file_system(_: &Path) -> Result<(), StoreError> {
    Ok(())
}

/// Refuses a file that is mounted without its directory, if the kernel tells. The log would be beside the mount, so that another
/// container with the same file had another log, and each would treat the keys of the other as new.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn check_mount(path: &Path) -> Result<(), StoreError> {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};

    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty());
    if found.is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)) {
        let why = "is mounted without its directory, so it would have another log in each container: mount its directory";
        return Err(refused(path, why));
    }
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn check_mount(_: &Path) -> Result<(), StoreError> {
    Ok(())
}

/// The name of the network file system with this `statfs` magic number, or `None` for a local one.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn network(magic: u32) -> Option<&'static str> {
    NETWORK.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name)
}

/// From the kernel's `magic.h` and from the file systems' own sources.
#[cfg(any(target_os = "linux", target_os = "android"))]
const NETWORK: &[(u32, &str)] = &[
    (0x0000_6969, "NFS"),
    (0x0000_517B, "SMB"),
    (0xFE53_4D42, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x0000_564C, "NCP"),
    (0x0102_1997, "9p"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x1983_0326, "BeeGFS"),
    (0x2003_0528, "OrangeFS"),
    (0x7461_636F, "OCFS2"),
    (0x0116_1970, "GFS2"),
    (0xAAD7_AAEA, "PanFS"),
    (0xBEEF_DEAD, "StorNext"),
    (0xBACB_ACBC, "a folder of the virtual machine's host"),
    (0x786F_4256, "a folder of the virtual machine's host"),
    (0x7C7C_6673, "a folder of the virtual machine's host"),
    // sshfs, GlusterFS and object stores cannot be told from a local FUSE file system.
    (0x6573_5546, "FUSE, which can be a network file system"),
];

#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_recognized() {
        for (magic, name) in [
            (0x6969, "NFS"),
            (0xff53_4d42, "CIFS"),
            (0xfe53_4d42, "SMB"),
            (0x0102_1997, "9p"),
            (0x00c3_6400, "Ceph"),
        ] {
            assert_eq!(network(magic), Some(name));
        }
    }

    #[test]
    fn local_file_systems_are_accepted() {
        // ext4, XFS, Btrfs, ZFS, tmpfs, overlayfs
        for magic in [0xEF53, 0x5846_5342, 0x9123_683E, 0x2FC1_2FC1, 0x0102_1994, 0x794C_7630] {
            assert_eq!(network(magic), None, "{magic:#x}");
        }
    }
}
