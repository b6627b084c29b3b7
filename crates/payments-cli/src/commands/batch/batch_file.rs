//! The file of a billing run: read twice through one open handle, and watched for changes between.

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read as _, Seek as _};
use std::path::Path;
use std::time::SystemTime;

use crate::failure::Failure;
use crate::path_name;

/// The open file.
#[derive(Debug)]
pub(super) struct BatchFile {
    file: File,
    format: Format,
    state: State,
    /// Where it may be shown.
    pub(super) name: Option<String>,
}

/// How the rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    JsonLines,
}

/// Tells whether somebody has written to the file, also after it was read.
#[derive(Debug)]
pub(super) struct Watch {
    file: File,
    state: State,
}

/// What tells whether somebody has written to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    length: u64,
    modified: Option<SystemTime>,
}

impl BatchFile {
    /// Opens the file. Its format is told by its name, else by its first byte.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let shown = path_name::in_brackets(path);
        let refused = |why: &str| {
            Failure::invalid(
                "batch_file",
                format!("the file of the billing run{shown} {why}; nothing was sent"),
            )
        };
        let cannot_be_read = |error: io::Error| refused("cannot be read").because(&error);
        if path == Path::new("-") {
            return Err(refused(REGULAR));
        }
        // Before it is opened: a named pipe would wait for somebody to write to it.
        let metadata = path.metadata().map_err(cannot_be_read)?;
        if metadata.is_dir() {
            return Err(refused("is a directory"));
        }
        if !metadata.is_file() {
            return Err(refused(REGULAR));
        }
        let mut file = File::open(path).map_err(cannot_be_read)?;
        let metadata = file.metadata().map_err(cannot_be_read)?;
        if !metadata.is_file() {
            return Err(refused(REGULAR));
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
        Ok(Self { file, format, state: State::of(&metadata), name: path_name::shown(path) })
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// The content from its beginning.
    pub(super) fn rewound(&mut self) -> io::Result<BufReader<File>> {
        self.file.rewind()?;
        Ok(BufReader::with_capacity(READ_AT_ONCE, self.file.try_clone()?))
    }

    /// Whether somebody has written to it since it was opened.
    pub(super) fn has_changed(&self) -> io::Result<bool> {
        Ok(State::of(&self.file.metadata()?) != self.state)
    }

    /// The same question, for whoever asks it later.
    pub(super) fn watch(&self) -> io::Result<Watch> {
        Ok(Watch { file: self.file.try_clone()?, state: self.state })
    }

    /// What tells this file from others, to notice that another path leads to it.
    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }
}

impl Watch {
    /// Whether somebody has written to it since it was opened.
    pub(super) fn has_changed(&self) -> io::Result<bool> {
        Ok(State::of(&self.file.metadata()?) != self.state)
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

const REGULAR: &str = "must be a regular file, because it is read twice: to check every row, then to send it";

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
