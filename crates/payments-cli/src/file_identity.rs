//! Whether two paths lead to one file, however they are spelled.

use std::fs;
use std::path::{Path, PathBuf};

/// What a path leads to, or would lead to once something is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileIdentity {
    /// Device and inode.
    #[cfg(unix)]
    Numbers(u64, u64),
    /// The path without links, where there is nothing yet, and where files have no numbers.
    Path(PathBuf),
}

impl FileIdentity {
    pub(crate) fn of(path: &Path) -> Self {
        #[cfg(unix)]
        if let Ok(metadata) = path.metadata() {
            use std::os::unix::fs::MetadataExt as _;

            return Self::Numbers(metadata.dev(), metadata.ino());
        }
        Self::Path(without_links(path))
    }
}

/// Of what is not there, its folder without links.
fn without_links(path: &Path) -> PathBuf {
    let folder = path.parent().map(|folder| if folder == Path::new("") { Path::new(".") } else { folder });
    let there = fs::canonicalize(path).ok();
    there
        .or_else(|| Some(fs::canonicalize(folder?).ok()?.join(path.file_name()?)))
        .unwrap_or_else(|| path.to_owned())
}
