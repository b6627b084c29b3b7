//! Stdout: the result of a command, and nothing else.

use std::io::{self, BufWriter, StdoutLock, Write};

use serde::Serialize;

use crate::{stderr, style};

/// Writes a whole result.
pub(crate) fn print(text: &str) -> io::Result<()> {
    stderr::finish_before_stdout();
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes a whole result as one JSON document.
pub(crate) fn print_json(document: &impl Serialize) -> io::Result<()> {
    print(&(json(document)? + "\n"))
}

/// The message for a person. `what` says what was done nevertheless.
pub(crate) fn not_written(what: &str, error: &io::Error) -> String {
    format!("{what}, but the result could not be written to stdout ({error})\n")
}

/// Whether the reader has closed the pipe, as `head` does when it has seen enough.
pub(crate) fn is_closed(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// The width of the terminal, if stdout is one.
pub(crate) fn width() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0))
}

/// For a result of any length, written as it is read. The caller flushes it.
pub(crate) fn buffered() -> BufWriter<StdoutLock<'static>> {
    stderr::finish_before_stdout();
    BufWriter::with_capacity(64 * 1024, io::stdout().lock())
}

/// JSON on one line, without control characters that a terminal would interpret.
pub(crate) fn json(document: &impl Serialize) -> io::Result<String> {
    Ok(style::in_json(&serde_json::to_string(document)?))
}
