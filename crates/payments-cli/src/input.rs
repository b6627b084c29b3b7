//! The request of `--file`.

use std::path::Path;

use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::path_name;
use crate::secret_file;

/// The bytes of the request at `path`, or on stdin for `-`: card data, so they are wiped when dropped.
pub(crate) fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let bytes = if path == Path::new("-") {
        secret_file::read_stdin(LARGEST_REQUEST)
    } else {
        secret_file::read(path, LARGEST_REQUEST)
    };
    let file = format!("the request of --file{}", path_name::in_brackets(path));
    match bytes {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(Failure::invalid("input", format!("{file} is larger than 64 KiB; nothing was sent"))),
        Err(error) => Err(Failure::invalid(
            "input",
            format!("{file} cannot be read; nothing was sent: give a readable file, or - for stdin"),
        )
        .because(&error)),
    }
}

/// The largest request the SDK sends; a file that is larger holds something else.
const LARGEST_REQUEST: usize = 64 * 1024;
