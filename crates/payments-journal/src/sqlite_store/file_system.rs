//! Refuses file systems on which SQLite's log cannot be shared safely. Only on Linux.

use std::path::Path;

use crate::StoreError;
use crate::sqlite_store::problem::refused;

/// The log's index is shared memory. It is not shared over a network, so two machines could both treat a key as new.
pub(super) fn check(path: &Path) -> Result<(), StoreError> {
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

/// The name of the network file system with this `statfs` magic number, or `None` for a local one.
fn network(magic: u32) -> Option<&'static str> {
    NETWORK.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name)
}

/// From the kernel's `magic.h` and from the file systems' own sources.
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

#[cfg(test)]
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
