//! Who may read and write a file that decides where money goes.

use std::fs::Metadata;

/// Why the file may not be used as a key's: whoever can write it decides whose books the next charge is in.
#[cfg(unix)]
pub(super) fn refusal_of_key_file(metadata: &Metadata) -> Option<&'static str> {
    use std::os::unix::fs::FileTypeExt as _;

    // A terminal is writable by its group, and keeps nothing that somebody could have put there before.
    if metadata.file_type().is_char_device() { None } else { refusal(metadata) }
}

/// What to say of a key's file that others may read. No refusal: where containers mount their secrets, often everybody
/// in the container may read them.
#[cfg(unix)]
pub(super) fn warning_of_key_file(metadata: &Metadata) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt as _;

    (metadata.is_file() && metadata.mode() & 0o044 != 0)
        .then_some("can be read by others: unless they are meant to have the key, run chmod 600 on it and replace the key")
}

/// Why the file may not be used whatever it holds: whoever can write it decides where the next charge goes.
#[cfg(unix)]
pub(super) fn refusal(metadata: &Metadata) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt as _;

    let user = rustix::process::geteuid().as_raw();
    refusal_of(metadata.uid(), user, metadata.mode())
}

/// Why the file may not hold this secret.
#[cfg(unix)]
pub(super) fn refusal_of_secret(metadata: &Metadata, secret: &str) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;

    (metadata.mode() & 0o077 != 0).then(|| {
        format!(
            "holds a {secret} and can be opened by others: run chmod 600 on it, and replace the {secret} if they may \
             know it"
        )
    })
}

#[cfg(unix)]
fn refusal_of(owner: u32, user: u32, mode: u32) -> Option<&'static str> {
    if owner != user && owner != ROOT {
        Some("belongs to another user: make it your own")
    } else if mode & 0o022 != 0 {
        Some(
            "can be written by others: run chmod 600 on it, and look whether what stands in it is still right",
        )
    } else {
        None
    }
}

#[cfg(unix)]
const ROOT: u32 = 0;

/// There are no permission bits to ask.
#[cfg(not(unix))]
pub(super) fn refusal_of_key_file(_: &Metadata) -> Option<&'static str> {
    None
}

/// There are no permission bits to ask.
#[cfg(not(unix))]
pub(super) fn warning_of_key_file(_: &Metadata) -> Option<&'static str> {
    None
}

/// There are no permission bits to ask.
#[cfg(not(unix))]
pub(super) fn refusal(_: &Metadata) -> Option<&'static str> {
    None
}

/// There are no permission bits to ask.
#[cfg(not(unix))]
pub(super) fn refusal_of_secret(_: &Metadata, _: &str) -> Option<String> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_users_own_or_roots_and_nobody_elses_to_write() {
        for (owner, user, mode, may_be_used) in [
            (1000, 1000, 0o100_600, true),
            (1000, 1000, 0o100_644, true),
            (0, 1000, 0o100_644, true),
            (1001, 1000, 0o100_600, false),
            // Not even for root: the file's owner would decide where root's charges go.
            (1000, 0, 0o100_600, false),
            (1000, 1000, 0o100_620, false),
            (1000, 1000, 0o100_602, false),
        ] {
            assert_eq!(refusal_of(owner, user, mode).is_none(), may_be_used, "{owner} {user} {mode:o}");
        }
    }
}
