//! The request of `--file`.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use payments_model::ValidationError;
use serde::de::IgnoredAny;
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::path_name;
use crate::secret_file;
use crate::stderr;

/// The request at `path`, or on stdin for `-`.
pub(crate) fn request<T>(
    path: &Path,
    parse: impl FnOnce(&[u8]) -> Result<T, ValidationError>,
) -> Result<T, Failure> {
    let bytes = read(path)?;
    parse(&bytes).map_err(|error| {
        let failure = Failure::from(error);
        match early_end(&bytes) {
            // The text shows the rules in the message's place, and the document no hints.
            Some(why) => Failure { message: format!("{} ({why})", failure.message), ..failure.hint(why) },
            None => failure,
        }
    })
}

/// Why there is no whole request, which the rule that it must be one object does not say.
fn early_end(bytes: &[u8]) -> Option<&'static str> {
    if bytes.trim_ascii().is_empty() {
        return Some("the request of --file is empty");
    }
    let error = serde_json::from_slice::<IgnoredAny>(bytes).err()?;
    error.is_eof().then_some("the request of --file ends too early: something at its end is missing")
}

/// Card data, so the bytes are wiped when dropped.
fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let bytes = if path == Path::new("-") {
        if io::stdin().is_terminal() {
            // Who does not read it sees a command that waits.
            stderr::write("reading the request from the terminal; end it with Ctrl-D\n");
        }
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
