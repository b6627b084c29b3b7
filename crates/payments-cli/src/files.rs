//! Files that the user names: reading requests and secrets, and showing file names.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal as _, Read};
use std::path::{Component, Path, PathBuf};

use payments_model::ValidationError;
use serde::de::IgnoredAny;
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::stderr;

/// The request at `path`, or on stdin for `-`.
pub(crate) fn request<T>(
    path: &Path,
    parse: impl FnOnce(&[u8]) -> Result<T, ValidationError>,
) -> Result<T, Failure> {
    let bytes = read_request(path)?;
    parse(&bytes).map_err(|error| {
        let failure = Failure::from(error);
        match early_end(&bytes) {
            // The text shows the violations and not the message, and the document shows no hints.
            Some(why) => failure.reworded(|message| format!("{message} ({why})")).hint(why),
            None => failure,
        }
    })
}

/// Explains an empty or truncated request better than the rule that it must be one object.
fn early_end(bytes: &[u8]) -> Option<&'static str> {
    if bytes.trim_ascii().is_empty() {
        return Some("the request of --file is empty");
    }
    let error = serde_json::from_slice::<IgnoredAny>(bytes).err()?;
    error.is_eof().then_some("the request of --file is truncated: its end is missing")
}

/// Reads a request. It may contain card data, so the bytes are wiped when dropped.
fn read_request(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let bytes = if path == Path::new("-") {
        if io::stdin().is_terminal() {
            // Otherwise the command seems to hang.
            stderr::write("reading the request from the terminal; end it with Ctrl-D\n");
        }
        unbuffered_stdin().and_then(|stdin| read_up_to(stdin, LARGEST_REQUEST))
    } else {
        read(path, LARGEST_REQUEST)
    };
    let refused = |why: &str, or: &str| {
        let name = name_in_brackets(path);
        let message = format!("the request of --file{name} {why}; nothing was sent: {FIX_THE_FILE}{or}");
        Failure::invalid("input", message)
    };
    bytes
        .map_err(|error| refused("cannot be read", ", or - for stdin").with_cause(&error))?
        .ok_or_else(|| refused("is larger than 64 KiB", ""))
}

/// What to do about a file that is refused, for the end of a message.
pub(crate) const FIX_THE_FILE: &str = "fix the file or name another one";

/// The largest request that the SDK sends; a larger file is something else.
const LARGEST_REQUEST: usize = 64 * 1024;

/// The bytes of the file at `path`, or `None` if there are more than `limit`.
///
/// No error contains the path; [`shown_name`] decides whether a message may show it.
pub(crate) fn read(path: &Path, limit: usize) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    read_up_to(File::open(path)?, limit)
}

/// The rest of `source`, or `None` if there is more than `limit`.
pub(crate) fn read_up_to(source: impl Read, limit: usize) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    // Full capacity from the start: a growing vector leaves earlier copies in memory, unwiped.
    let mut bytes = Zeroizing::new(Vec::with_capacity(limit + 2));
    source.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= limit).then_some(bytes))
}

/// Stdin without the standard library's buffer, which is not wiped.
#[cfg(unix)]
fn unbuffered_stdin() -> io::Result<impl Read> {
    use std::os::fd::AsFd as _;

    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "one signature for every platform")]
fn unbuffered_stdin() -> io::Result<impl Read> {
    Ok(io::stdin())
}

/// Options of a file to write, which only its owner can read if it is created.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        options.mode(0o600);
    }
    options
}

/// ` (PATH)` for a message, or nothing if the path may hold a card number, a whole request or a password.
pub(crate) fn name_in_brackets(path: &Path) -> String {
    shown_name(path).map_or_else(String::new, |text| format!(" ({text})"))
}

/// The path, unless it may hold a card number, a whole request or a password.
pub(crate) fn shown_name(path: &Path) -> Option<String> {
    let text = path.to_string_lossy();
    (!may_be_a_secret(&text)).then(|| text.into_owned())
}

/// The same for a key file. A key in place of the path cannot be recognized, so only a path that starts unlike any key is
/// shown.
pub(crate) fn key_name_in_brackets(path: &Path) -> String {
    match path.components().next() {
        None | Some(Component::Normal(_)) => String::new(),
        Some(_) => name_in_brackets(path),
    }
}

/// A card or account number has 12 digits or more, with or without separators; a request has a brace, and an address, which may hold a
/// password, its scheme. A time has as many digits, and names of files often have one.
fn may_be_a_secret(text: &str) -> bool {
    let digits_or_ends = text.chars().filter(|letter| ![' ', '-'].contains(letter));
    let digits_or_ends = digits_or_ends.map(|letter| if letter.is_numeric() { letter } else { '/' });
    let runs: String = digits_or_ends.collect();
    text.contains('{')
        || text.contains("://")
        || runs.split('/').any(|run| run.chars().count() >= 12 && !is_time(run))
}

/// Whether these are the digits of a time of this century, as in `20261128-142233`.
fn is_time(digits: &str) -> bool {
    let is_below = |at: usize, first: u8, limit: u8| {
        let part = digits.get(at..at + 2).and_then(|part| part.parse::<u8>().ok());
        part.is_some_and(|part| (first..limit).contains(&part))
    };
    let is_minute = digits.starts_with("20")
        && is_below(4, 1, 13)
        && is_below(6, 1, 32)
        && is_below(8, 0, 24)
        && is_below(10, 0, 60);
    is_minute && (digits.len() == 12 || (digits.len() == 14 && is_below(12, 0, 60)))
}

/// The file at a path, or the place where it would be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileIdentity {
    /// Device and inode.
    #[cfg(unix)]
    Numbers(u64, u64),
    /// The path without links, if there is no file yet or files have no numbers.
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

/// The path without links; of a missing file, the path with its folder's links resolved.
fn without_links(path: &Path) -> PathBuf {
    let folder = path.parent().map(|folder| if folder == Path::new("") { Path::new(".") } else { folder });
    let there = fs::canonicalize(path).ok();
    there
        .or_else(|| Some(fs::canonicalize(folder?).ok()?.join(path.file_name()?)))
        .unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_larger_than_the_limit_is_not_read() {
        let read = |length| read_up_to(io::repeat(b'x').take(length), 10).unwrap();
        assert_eq!(read(10).expect("10 bytes fit").len(), 10);
        assert!(read(11).is_none());
        assert!(
            read_up_to(io::repeat(b'x'), 10).unwrap().is_none(),
            "an endless file is read up to the limit"
        );
    }

    #[test]
    fn reading_does_not_reallocate() {
        let bytes = read_up_to(io::repeat(b'x').take(10), 10).unwrap().unwrap();
        assert_eq!(bytes.capacity(), 12);
    }

    #[test]
    fn path_is_shown_unless_it_may_be_card_data() {
        for path in [
            "sale.json",
            "/srv/2033-12-31/sale_12345678901.json",
            "C:\\sale.json",
            "run-20261128-1422/found 20261128-142233.csv",
        ] {
            assert_eq!(name_in_brackets(Path::new(path)), format!(" ({path})"));
        }
        let others = "https://u:secret@pay.example.com | /srv/4111111111111111 | 4111 1111-1111 1111 | {\"Cvv\":\"123\"} | ٤١١١١١١١١١١١١١١١ | 202611281422 4111 | \
                      202661281422";
        for path in others.split(" | ") {
            assert_eq!(name_in_brackets(Path::new(path)), "", "{path}");
        }
    }

    #[test]
    fn key_path_is_shown_only_if_it_cannot_be_the_key() {
        for path in ["/run/secrets/key", "./key", "../key"] {
            assert_eq!(key_name_in_brackets(Path::new(path)), format!(" ({path})"));
        }
        for path in ["", "sk_live_51H", "key.txt", "c2s/bGl2ZQ=="] {
            assert_eq!(key_name_in_brackets(Path::new(path)), "", "{path}");
        }
    }
}
