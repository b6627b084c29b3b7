//! A file with a row for each payment. That of a billing run is read twice through one open handle, and watched for changes
//! between.

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read as _, Seek as _};
use std::path::Path;
use std::time::SystemTime;

use crate::failure::{Failure, Purpose};
use crate::files;

/// The open file.
#[derive(Debug)]
pub(crate) struct RowFile {
    file: File,
    format: Format,
    state: State,
    /// Where it may be shown.
    pub(crate) name: Option<String>,
}

/// What a file is read for, which decides how a message calls it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// To be charged.
    #[default]
    BillingRun,
    /// `journal export --run`
    Run,
    /// `journal resolve --from`
    Resolutions,
}

/// How the rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Csv,
    JsonLines,
}

/// What tells whether somebody has written to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    length: u64,
    modified: Option<SystemTime>,
}

impl RowFile {
    /// Opens the file. Its format is told by its name, else by its first byte.
    pub(crate) fn open(path: &Path, role: Role) -> Result<Self, Failure> {
        let shown = files::name_in_brackets(path);
        let refused = |why: &str| role.refused(&format!("{shown} {why}"));
        let cannot_be_read = |error: io::Error| refused("cannot be read").because(&error);
        let irregular = || {
            refused(match role {
                Role::BillingRun => {
                    "must be a regular file, because it is read twice: to check every row, then to send it"
                }
                Role::Run | Role::Resolutions => "must be a regular file",
            })
        };
        if path == Path::new("-") {
            return Err(irregular());
        }
        // Before it is opened: a named pipe would wait for somebody to write to it.
        let metadata = path.metadata().map_err(cannot_be_read)?;
        if metadata.is_dir() {
            return Err(refused("is a directory"));
        }
        if !metadata.is_file() {
            return Err(irregular());
        }
        let mut file = File::open(path).map_err(cannot_be_read)?;
        let metadata = file.metadata().map_err(cannot_be_read)?;
        if !metadata.is_file() {
            return Err(irregular());
        }
        if metadata.len() == 0 {
            return Err(refused("is empty"));
        }
        let mut beginning = Vec::new();
        (&mut file).take(4).read_to_end(&mut beginning).map_err(cannot_be_read)?;
        if beginning.starts_with(b"\xff\xfe") || beginning.starts_with(b"\xfe\xff") {
            return Err(refused("is UTF-16, and must be UTF-8: save it as CSV UTF-8"));
        }
        let format = Format::of(path, &beginning);
        Ok(Self { file, format, state: State::of(&metadata), name: files::shown_name(path) })
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// The content from its beginning.
    pub(crate) fn rewound(&mut self) -> io::Result<BufReader<File>> {
        self.file.rewind()?;
        Ok(BufReader::with_capacity(READ_AT_ONCE, self.file.try_clone()?))
    }

    /// Whether somebody has written to it since it was opened.
    pub(crate) fn has_changed(&self) -> io::Result<bool> {
        Ok(State::of(&self.file.metadata()?) != self.state)
    }

    /// The same open file, to ask the same question later.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        let Self { file, format, state, name } = self;
        Ok(Self { file: file.try_clone()?, format: *format, state: *state, name: name.clone() })
    }
}

impl Role {
    /// The word for what is wrong with the file.
    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Self::BillingRun => "batch_file",
            Self::Run => "run_file",
            Self::Resolutions => "resolve_file",
        }
    }

    pub(crate) const fn nothing_done(self) -> &'static str {
        match self {
            Self::BillingRun => Purpose::MoveMoney.nothing_done(),
            Self::Run | Self::Resolutions => Purpose::KeepJournal.nothing_done(),
        }
    }

    /// `why` goes on after the file.
    pub(crate) fn refused(self, why: &str) -> Failure {
        let file = match self {
            Self::BillingRun => "the file of the billing run",
            Self::Run => "the file of --run",
            Self::Resolutions => "the file of --from",
        };
        Failure::invalid(self.kind(), format!("{file}{why}; {}", self.nothing_done()))
    }
}

impl Format {
    fn of(path: &Path, beginning: &[u8]) -> Self {
        let extension = path.extension().and_then(|it| it.to_str()).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            Some("csv") => Self::Csv,
            Some("jsonl" | "ndjson") => Self::JsonLines,
            _ => {
                let text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
                if text.starts_with(b"{") { Self::JsonLines } else { Self::Csv }
            }
        }
    }
}

impl State {
    fn of(metadata: &Metadata) -> Self {
        Self { length: metadata.len(), modified: metadata.modified().ok() }
    }
}

const READ_AT_ONCE: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_told_by_the_name_and_else_by_the_first_byte() {
        let format = |path: &str, beginning: &[u8]| Format::of(Path::new(path), beginning);
        assert_eq!(format("a.csv", b"{"), Format::Csv);
        assert_eq!(format("a.JSONL", b"Key,"), Format::JsonLines);
        assert_eq!(format("a.ndjson", b""), Format::JsonLines);
        assert_eq!(format("a.txt", b"{\"K"), Format::JsonLines);
        assert_eq!(format("a", b"\xef\xbb\xbf{"), Format::JsonLines);
        assert_eq!(format("a", b"Key,"), Format::Csv);
    }
}
