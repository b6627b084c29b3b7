//! A file with a row for each payment, which must not change while it is read.

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read as _, Seek as _};
use std::path::Path;
use std::time::SystemTime;

use payments_model::mask;
use zeroize::Zeroizing;

use crate::csv_file::{LONGEST_ROW, LineCounter};
use crate::failure::Failure;
use crate::files;
use crate::report::problems::Role;

/// The open file.
#[derive(Debug)]
pub(crate) struct RowFile {
    file: File,
    format: Format,
    state: State,
    /// The file's name, if it may be shown.
    pub(crate) name: Option<String>,
}

/// Whether a token, a key or a reference looks like a card number. So do one in twenty random numbers of 16 digits, which is
/// why a person may say that they are none.
pub(crate) fn is_like_a_card(id: &str) -> bool {
    mask(id, &[]) != id
}

/// The rule for every text of a file.
pub(crate) const NO_API_KEY: &str = "must not hold the API key";

/// What to do about an id that looks like a card number and is none.
pub(crate) const NOT_CARDS: &str = "if it only looks like one, give --ids-are-not-cards";

/// The format of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Csv,
    JsonLines,
}

/// Changes when the file is written to: a file that is still being written may end in `10` of `10.50`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    length: u64,
    modified: Option<SystemTime>,
}

impl RowFile {
    /// Opens the file. Its name, or else its first byte, decides the format.
    pub(crate) fn open(path: &Path, role: Role) -> Result<Self, Failure> {
        let shown = files::name_in_brackets(path);
        let refused = |why: &str| role.refused(&format!("{shown} {why}"));
        let cannot_be_read = |error: io::Error| refused("cannot be read").with_cause(&error);
        let irregular = || refused("must be a regular file");
        if path == Path::new("-") {
            return Err(irregular());
        }
        // Before it is opened: opening a named pipe would wait for a writer.
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
            return Err(refused("is UTF-16 and must be UTF-8: save it as CSV UTF-8"));
        }
        let format = Format::of(path, &beginning);
        Ok(Self { file, format, state: State::of(&metadata), name: files::shown_name(path) })
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// A reader from the start of the file.
    pub(crate) fn rewound(&mut self) -> io::Result<BufReader<File>> {
        self.file.rewind()?;
        Ok(BufReader::with_capacity(READ_AT_ONCE, self.file.try_clone()?))
    }

    /// The size of the file in bytes when it was opened.
    pub(crate) fn length(&self) -> u64 {
        self.state.length
    }

    /// All bytes of the file, which are wiped when they are dropped. `None` if the file was written to since it was opened.
    pub(crate) fn bytes(&mut self) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
        self.file.rewind()?;
        let longest = usize::try_from(self.length()).unwrap_or(usize::MAX);
        let bytes = files::read_up_to(&self.file, longest)?;
        Ok(if self.has_changed()? { None } else { bytes })
    }

    /// Refuses a file that was written to since it was opened, because what was read may be half of each version.
    pub(crate) fn refuse_if_changed(&self, role: Role) -> Result<(), Failure> {
        match self.has_changed() {
            Ok(false) => Ok(()),
            Ok(true) => Err(role.refused(CHANGED)),
            Err(error) => Err(role.refused(" cannot be read").with_cause(&error)),
        }
    }

    /// Whether the file was written to since it was opened.
    fn has_changed(&self) -> io::Result<bool> {
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

/// The lines of a JSON Lines file, one at a time in memory. A line ends with CR, LF or CRLF.
pub(crate) struct JsonLines<R> {
    source: R,
    lines: LineCounter,
    text: Vec<u8>,
}

/// The number of a line, and its text or the rule that it breaks.
type NumberedLine<'a> = (u64, Result<&'a [u8], String>);

impl<R: BufRead> JsonLines<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, lines: LineCounter::new(), text: Vec::new() }
    }

    /// The next line that is not blank; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<NumberedLine<'_>>> {
        loop {
            let Some((line, is_whole)) = self.next_line()? else { return Ok(None) };
            if !is_whole {
                return Ok(Some((line, Err(format!("must be at most {} KiB", LONGEST_ROW / 1024)))));
            }
            if !self.text.trim_ascii().is_empty() {
                return Ok(Some((line, Ok(self.text.trim_ascii()))));
            }
        }
    }

    /// Reads a line, and returns its number and whether it was short enough to keep; `None` at the end of the file.
    fn next_line(&mut self) -> io::Result<Option<(u64, bool)>> {
        self.text.clear();
        let (mut is_whole, mut has_begun, line) = (true, false, self.lines.line);
        loop {
            let piece = self.source.fill_buf()?;
            if piece.is_empty() {
                return Ok(has_begun.then_some((line, is_whole)));
            }
            has_begun = true;
            let end = piece.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let part = &piece[..end.unwrap_or(piece.len())];
            is_whole &= self.text.len() + part.len() <= LONGEST_ROW;
            if is_whole {
                self.text.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.lines.count(&piece[..used]);
            self.source.consume(used);
            if end.is_some() {
                return Ok(Some((line, is_whole)));
            }
        }
    }
}

impl State {
    fn of(metadata: &Metadata) -> Self {
        Self { length: metadata.len(), modified: metadata.modified().ok() }
    }
}

/// Continues a sentence that starts with the file.
pub(crate) const CHANGED: &str = " was written to while it was read";

const READ_AT_ONCE: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_is_written_to_while_it_is_read_is_refused_d53() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("found.csv");
        for change in ["Key,TransactionId,Note\na,,x\nb,,y\n", "Key\n", "Key,TransactionId,Note\nb,,x\n"] {
            std::fs::write(&path, "Key,TransactionId,Note\na,,x\n").unwrap();
            let mut file = RowFile::open(&path, Role::Resolutions).unwrap();
            assert!(file.refuse_if_changed(Role::Resolutions).is_ok());
            assert_eq!(&**file.bytes().unwrap().unwrap(), b"Key,TransactionId,Note\na,,x\n");
            std::fs::write(&path, change).unwrap();
            // The clock of a file system may be coarse.
            let later = SystemTime::now() + std::time::Duration::from_secs(9);
            File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
            assert_eq!(file.bytes().unwrap(), None);
            let refused = file.refuse_if_changed(Role::Resolutions).unwrap_err();
            assert!(
                refused.message.contains("was written to while it was read; nothing was changed"),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn format_is_decided_by_name_then_first_byte() {
        let format = |path: &str, beginning: &[u8]| Format::of(Path::new(path), beginning);
        assert_eq!(format("a.csv", b"{"), Format::Csv);
        assert_eq!(format("a.JSONL", b"Key,"), Format::JsonLines);
        assert_eq!(format("a.ndjson", b""), Format::JsonLines);
        assert_eq!(format("a.txt", b"{\"K"), Format::JsonLines);
        assert_eq!(format("a", b"\xef\xbb\xbf{"), Format::JsonLines);
        assert_eq!(format("a", b"Key,"), Format::Csv);
    }
}
