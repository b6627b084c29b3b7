use std::io::{self, Write as _};

use crate::exit_code::ExitCode;

/// The document as it is, so that it can be redirected into a file.
pub(super) fn print() -> ExitCode {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(payments_sandbox::OPENAPI.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => ExitCode::Processed,
        Err(_) => ExitCode::Other,
    }
}
