//! Files that hold secrets: read once, up to a limit, into memory that is wiped.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use zeroize::Zeroizing;

/// The bytes of the file at `path`, or `None` if there are more than `limit`.
///
/// No error text holds the path; [`path_name`](crate::path_name) decides whether a message may.
pub(crate) fn read(path: &Path, limit: usize) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    read_up_to(File::open(path)?, limit)
}

/// The bytes of stdin, or `None` if there are more than `limit`.
pub(crate) fn read_stdin(limit: usize) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    read_up_to(unbuffered_stdin()?, limit)
}

/// The rest of `source`, or `None` if there is more than `limit`.
pub(crate) fn read_up_to(source: impl Read, limit: usize) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    // All the room at once: a vector that grows leaves its earlier copies behind, unwiped.
    let mut bytes = Zeroizing::new(Vec::with_capacity(limit + 2));
    source.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= limit).then_some(bytes))
}

/// Stdin without the standard library's buffer, which nobody wipes.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_largest_size_that_is_read() {
        let read = |length| read_up_to(io::repeat(b'x').take(length), 10).unwrap();
        assert_eq!(read(10).expect("10 bytes fit").len(), 10);
        assert!(read(11).is_none());
        assert!(read_up_to(io::repeat(b'x'), 10).unwrap().is_none(), "an endless file ends at the limit");
    }

    #[test]
    fn reading_never_moves_the_bytes() {
        let bytes = read_up_to(io::repeat(b'x').take(10), 10).unwrap().unwrap();
        assert_eq!(bytes.capacity(), 12);
    }
}
