//! Permissions of the file with the API key.

use std::fs::Metadata;

/// A warning about a key file that others can read. The error is why it is refused: anyone who can write to it decides which account
/// the next charge goes to. One that can be read is not refused, because in containers, mounted secrets are often readable by
/// everyone.
#[cfg(unix)]
pub(super) fn check_key_file(metadata: &Metadata) -> Result<Option<&'static str>, &'static str> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

    let user = rustix::process::geteuid().as_raw();
    // A terminal is writable by its group, but stores nothing.
    let stores_nothing = metadata.file_type().is_char_device();
    if let Some(why) = refusal_of(metadata.uid(), user, metadata.mode()).filter(|_| !stores_nothing) {
        return Err(why);
    }
    Ok((metadata.is_file() && metadata.mode() & 0o044 != 0).then_some(
        "can be read by others: unless they may have the key, run chmod 600 on it and replace the key",
    ))
}

#[cfg(unix)]
fn refusal_of(owner: u32, user: u32, mode: u32) -> Option<&'static str> {
    if owner != user && owner != ROOT {
        Some("belongs to another user: make it your own")
    } else if mode & 0o022 != 0 {
        Some("can be written by others: run chmod 600 on it, and check that its content is still right")
    } else {
        None
    }
}

#[cfg(unix)]
const ROOT: u32 = 0;

/// There are no permission bits to check.
#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "one signature for every platform")]
pub(super) fn check_key_file(_: &Metadata) -> Result<Option<&'static str>, &'static str> {
    Ok(None)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn file_must_belong_to_the_user_or_root_and_be_writable_by_no_one_else() {
        for (owner, user, mode, may_be_used) in [
            (1000, 1000, 0o100_600, true),
            (1000, 1000, 0o100_644, true),
            (0, 1000, 0o100_644, true),
            (1001, 1000, 0o100_600, false),
            // Also refused for root: the file's owner would decide where root's charges go.
            (1000, 0, 0o100_600, false),
            (1000, 1000, 0o100_620, false),
            (1000, 1000, 0o100_602, false),
        ] {
            assert_eq!(refusal_of(owner, user, mode).is_none(), may_be_used, "{owner} {user} {mode:o}");
        }
    }
}
