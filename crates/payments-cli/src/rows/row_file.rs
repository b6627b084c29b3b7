//! A file with a row for each payment, read once into memory.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use zeroize::Zeroizing;

use crate::failure::{Failure, Problem};
use crate::files;
use crate::rows::Table;
use crate::rows::csv_file::LineCounter;
use crate::rows::problems::Role;
use crate::settings::JournalPlace;

/// The whole file.
#[derive(Debug)]
pub(crate) struct RowFile {
    /// Wiped when they are dropped: a mixed-up file may have card numbers.
    bytes: Zeroizing<Vec<u8>>,
    pub(crate) is_json_lines: bool,
    /// The file's name, if it may be shown.
    pub(crate) name: Option<String>,
}

/// The rule for every text of a file.
pub(crate) const NO_API_KEY: &str = "must not hold the API key";

/// Chosen by this command: two or three million rows, in less memory than a small machine has.
const LARGEST_MIB: u64 = 256;

impl RowFile {
    /// Reads the file, which is not a file of the journal at `place`. Refuses one that is written to in the meantime.
    pub(crate) fn read(path: &Path, role: Role, place: &JournalPlace) -> Result<Self, Failure> {
        let shown = files::name_in_brackets(path);
        let refused = |why: &str| role.refused(&format!("{shown} {why}"));
        let cannot_be_read = |error: io::Error| refused("cannot be read").with_cause(&error);
        let regular = |metadata: io::Result<Metadata>| match metadata.map_err(cannot_be_read)? {
            metadata if metadata.is_dir() => Err(refused("is a directory")),
            metadata if !metadata.is_file() => Err(refused("must be a regular file")),
            metadata => Ok(metadata),
        };
        if path == Path::new("-") {
            return Err(refused("must be a regular file"));
        }
        if place.has(path) {
            return Err(role.refused(" is the journal or belongs to it"));
        }
        // Before it is opened: opening a named pipe would wait for a writer.
        regular(path.metadata())?;
        let file = File::open(path).map_err(cannot_be_read)?;
        let metadata = regular(file.metadata())?;
        if metadata.len() == 0 {
            return Err(refused("is empty"));
        }
        if metadata.len() > LARGEST_MIB << 20 {
            return Err(role.too_large(LARGEST_MIB));
        }
        let read = unchanged_bytes(&file, state(&metadata)).map_err(cannot_be_read)?;
        let bytes = read.ok_or_else(|| role.changed())?;
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            return Err(refused("is UTF-16 and must be UTF-8: save it as CSV UTF-8"));
        }
        Ok(Self { is_json_lines: is_json_lines(path, &bytes), bytes, name: files::shown_name(path) })
    }

    /// The rows of a CSV file.
    pub(crate) fn table(&self, separator: u8) -> Result<Table<'_>, Problem> {
        Table::begin(&self.bytes, separator)
    }

    /// Whether the file may have been cut in its last cell: nothing ends its last line, and the cell is neither quoted nor a flag,
    /// which is whole or invalid. What a row whose key or amount is cut pays, nobody has asked for.
    pub(crate) fn may_be_cut(&self) -> bool {
        let lower = self.bytes[self.bytes.len().saturating_sub(5)..].to_ascii_lowercase();
        !["\r", "\n", "\"", "true", "false"].iter().any(|end| lower.ends_with(end.as_bytes()))
    }

    /// What separates the cells of a CSV file: a comma or a semicolon, whichever the first line has more of. Spreadsheets write
    /// semicolons where the decimal mark is a comma.
    pub(crate) fn separator(&self) -> u8 {
        let header = self.bytes.split(|byte| matches!(byte, b'\r' | b'\n')).find(|line| !line.is_empty());
        let cells = |separator: u8| header.unwrap_or_default().split(|byte| *byte == separator).count();
        if cells(b';') > cells(b',') { b';' } else { b',' }
    }

    /// The lines that are not blank, with their numbers.
    pub(crate) fn json_lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut lines = LineCounter::new();
        let numbered = self.bytes.split_inclusive(|byte| matches!(byte, b'\r' | b'\n')).map(move |text| {
            let line = lines.line;
            lines.count(text);
            (line, text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii())
        });
        numbered.filter(|(_, text)| !text.is_empty())
    }
}

/// The bytes of a file that was opened in this state; `None` if it was written to since.
fn unchanged_bytes(file: &File, opened: (u64, Option<SystemTime>)) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let longest = usize::try_from(opened.0).unwrap_or(usize::MAX);
    let bytes = files::read_up_to(file, longest)?;
    Ok(bytes.filter(|_| file.metadata().is_ok_and(|metadata| state(&metadata) == opened)))
}

/// The name of the file, or else its first byte, decides.
fn is_json_lines(path: &Path, bytes: &[u8]) -> bool {
    let extension = path.extension().and_then(|it| it.to_str()).map(str::to_ascii_lowercase);
    match extension.as_deref() {
        Some("csv") => false,
        Some("jsonl" | "ndjson") => true,
        _ => bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).starts_with(b"{"),
    }
}

/// Length and time, which change when the file is written to: a file that is still being written may end in `10` of `10.50`.
fn state(metadata: &Metadata) -> (u64, Option<SystemTime>) {
    (metadata.len(), metadata.modified().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_is_written_to_while_it_is_read_is_refused_d53() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("found.csv");
        for change in ["Key,TransactionId,Note\na,,x\nb,,y\n", "Key\n", "Key,TransactionId,Note\nb,,x\n"] {
            std::fs::write(&path, "Key,TransactionId,Note\na,,x\n").unwrap();
            let opened = state(&path.metadata().unwrap());
            let read = || unchanged_bytes(&File::open(&path).unwrap(), opened).unwrap();
            assert_eq!(&**read().unwrap(), b"Key,TransactionId,Note\na,,x\n");
            std::fs::write(&path, change).unwrap();
            // The clock of a file system may be coarse.
            let later = SystemTime::now() + std::time::Duration::from_secs(9);
            File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
            assert_eq!(read(), None);
        }
        let refused = Role::Resolutions.changed();
        assert!(
            refused.message.contains("was written to while it was read; nothing was changed"),
            "{refused:?}"
        );
    }

    #[test]
    fn file_may_be_cut_unless_its_last_cell_is_ended() {
        for (end, may_be_cut) in [
            ("order-1", true),
            ("10", true),
            ("1,", true),
            ("order-1\n", false),
            ("order-1\r", false),
            ("\"order-1\"", false),
            ("1,FALSE", false),
        ] {
            let bytes = Zeroizing::new(format!("Key\n{end}").into_bytes());
            let file = RowFile { bytes, is_json_lines: false, name: None };
            assert_eq!(file.may_be_cut(), may_be_cut, "{end}");
        }
    }

    #[test]
    fn format_is_decided_by_name_then_first_byte() {
        for (path, beginning, is_json) in [
            ("a.csv", "{", false),
            ("a.JSONL", "Key,", true),
            ("a.ndjson", "", true),
            ("a.txt", "{\"K", true),
            ("a", "\u{feff}{", true),
            ("a", "Key,", false),
        ] {
            assert_eq!(is_json_lines(Path::new(path), beginning.as_bytes()), is_json, "{path}");
        }
    }
}
