//! Results of any length, written as they are read.

use std::io::{self, BufWriter, StdoutLock, Write};

use serde::Serialize;

use crate::batch_report::Problems;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::stderr;
use crate::style;

/// How a command of the journal ended, other than well.
pub(super) enum Ended {
    /// Nothing stands on stdout.
    Failed(Box<Failure>),
    /// A file of which nothing was done.
    Refused(Box<Problems>),
    /// A part of the result stands on stdout.
    Torn(Box<Failure>),
    /// Stdout did not take the result; the text says what was done.
    Unwritten(&'static str, io::Error),
}

/// Stdout, flushed by whoever is done.
pub(super) fn buffered() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(64 * 1024, io::stdout().lock())
}

/// One JSON document in one line, without anything that a terminal could obey.
pub(super) fn write_json(out: &mut impl Write, document: &impl Serialize) -> io::Result<()> {
    out.write_all(style::in_json(&serde_json::to_string(document)?).as_bytes())
}

/// The whole result.
pub(super) fn write(what: &'static str, text: &str) -> Result<(), Ended> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Ended::Unwritten(what, error))
}

/// The whole result as one JSON document.
pub(super) fn write_document(what: &'static str, document: &impl Serialize) -> Result<(), Ended> {
    let mut text = Vec::new();
    write_json(&mut text, document)
        .and_then(|()| String::from_utf8(text).map_err(io::Error::other))
        .map_err(|error| Ended::Unwritten(what, error))
        .and_then(|text| write(what, &(text + "\n")))
}

/// Says what stdout did not.
pub(super) fn unwritten(what: &str, error: &io::Error) -> ExitCode {
    // The exit code says it too.
    stderr::write_last(format!("{what}, but the result could not be written to stdout ({error})\n"));
    ExitCode::Other
}
