//! CSV (RFC 4180) as this command reads and writes it.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, BufRead};

use csv_core::{ReadRecordResult, Reader};

use crate::batch_report::Problem;
use crate::style::for_terminal;

/// One record, ready to be appended. Control characters are written out, and formulas are [defused].
pub(crate) fn record(cells: &[String]) -> io::Result<Vec<u8>> {
    let mut writer = csv::WriterBuilder::new().buffer_capacity(1024).from_writer(Vec::new());
    writer.write_record(cells.iter().map(|cell| defused(&for_terminal(cell))))?;
    writer.into_inner().map_err(|error| io::Error::other(error.to_string()))
}

/// The cell with an apostrophe before each part that a spreadsheet could take for a formula and run. Where a comma is the
/// decimal mark, spreadsheets separate cells by semicolons.
fn defused(cell: &str) -> String {
    parts(cell, |part| if is_formula(part) { Cow::Owned(format!("'{part}")) } else { Cow::Borrowed(part) })
}

/// The cell as it was before [`record`] defused it.
pub(crate) fn undone(cell: &str) -> String {
    parts(cell, |part| part.strip_prefix('\'').filter(|_| is_formula(part)).unwrap_or(part).into())
}

fn parts<'a>(cell: &'a str, change: impl Fn(&'a str) -> Cow<'a, str>) -> String {
    cell.split(';').map(change).collect::<Vec<_>>().join(";")
}

/// Whether it begins as a formula does, behind quotes, apostrophes and spaces. So a part that was defused is one still, and
/// [`undone`] removes exactly what was put before it.
fn is_formula(part: &str) -> bool {
    let part = part.trim_start_matches(|letter: char| matches!(letter, '\'' | '"') || letter.is_whitespace());
    part.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
}

/// The rows of a file with headings, read one by one in the memory of one row.
pub(crate) struct Table<R> {
    records: Records<R>,
    headings: Vec<String>,
}

impl<R: BufRead> Table<R> {
    /// Reads the headings. The inner error is what is wrong with them.
    pub(crate) fn begin(source: R) -> io::Result<Result<Self, Problem>> {
        let mut records = Records::new(source);
        let is_whole = match records.next()? {
            None => Err("is missing: the file is empty".to_owned()),
            Some(Framed::Broken(rule)) => Err(rule),
            Some(Framed::Whole) if records.count == 1 => other_separator(records.cell(0).unwrap_or_default())
                .map_or(Ok(()), |rule| Err(rule.to_owned())),
            Some(Framed::Whole) => Ok(()),
        };
        let headings =
            (0..records.count).map(|index| records.cell(index).unwrap_or("\0").to_owned()).collect();
        Ok(match is_whole {
            Ok(()) => Ok(Self { records, headings }),
            Err(rule) => Err(Problem::new(records.begun_at, "header", rule)),
        })
    }

    pub(crate) fn headings(&self) -> &[String] {
        &self.headings
    }

    /// Where the headings or the last row that was read begin.
    pub(crate) fn line(&self) -> u64 {
        self.records.begun_at
    }

    /// Reads the next row, `None` at the end. Empty lines are no rows, nor is a row in which nothing stands. The inner error
    /// is why nobody knows which cell is which.
    pub(crate) fn next(&mut self) -> io::Result<Option<Result<(), Problem>>> {
        let Self { records, headings } = self;
        let rule = loop {
            match records.next()? {
                None => return Ok(None),
                Some(Framed::Broken(rule)) => break rule,
                Some(Framed::Whole) if records.length == 0 => {}
                Some(Framed::Whole) => {
                    let extra = (headings.len()..records.count).any(|index| records.cell(index) != Some(""));
                    if records.count >= headings.len() && !extra {
                        return Ok(Some(Ok(())));
                    }
                    let hint = "; a comma inside a value, such as 12,50, needs quotes, and in an amount a point in its place";
                    let hint = if extra { hint } else { "" };
                    break format!(
                        "has {} cells, and the header has {}{hint}",
                        records.count,
                        headings.len()
                    );
                }
            }
        };
        Ok(Some(Err(Problem::new(records.begun_at, "row", rule))))
    }

    /// A cell of the last row that was read, or the rule that it breaks.
    pub(crate) fn cell(&self, index: usize) -> Result<&str, &'static str> {
        let cell = self.records.cell(index).ok_or("must be UTF-8")?;
        if cell.contains('\0') { Err("must not contain a NUL character") } else { Ok(cell) }
    }

    /// Of everything that the last row says.
    pub(crate) fn digest(&self) -> u64 {
        self.records.digest()
    }
}

/// What is wrong with a header that is one long name.
fn other_separator(name: &str) -> Option<&'static str> {
    match name {
        _ if name.contains(';') => Some("has its columns separated by semicolons; they must be by commas"),
        _ if name.contains('\t') => Some("has its columns separated by tabs; they must be by commas"),
        _ => None,
    }
}

/// Records of CSV in bounded memory, each with the line in which it begins.
struct Records<R> {
    source: R,
    reader: Reader,
    begun_at: u64,
    cells: Vec<u8>,
    length: usize,
    ends: Vec<usize>,
    count: usize,
}

/// Whether a record could be kept.
enum Framed {
    Whole,
    /// The rule that it breaks. The rest of it was skipped.
    Broken(String),
}

/// Chosen by this command: twice the largest request that the SDK sends.
pub(crate) const LONGEST_ROW: usize = 128 * 1024;

/// Chosen by this command: an export has 22 columns, and a spreadsheet leaves a few without a name.
const MOST_CELLS: usize = 256;

impl<R: BufRead> Records<R> {
    fn new(source: R) -> Self {
        let (cells, ends) = (vec![0; LONGEST_ROW], vec![0; MOST_CELLS]);
        Self { source, reader: Reader::new(), begun_at: 1, cells, length: 0, ends, count: 0 }
    }

    fn next(&mut self) -> io::Result<Option<Framed>> {
        if self.skip_line_breaks()? {
            return Ok(None);
        }
        self.begun_at = self.reader.line();
        (self.length, self.count) = (0, 0);
        let mut is_too_large = false;
        loop {
            let piece = self.source.fill_buf()?;
            let is_at_the_end = piece.is_empty();
            // A quoted cell goes on after a line break, so what ends by one more is a whole record.
            let input = if is_at_the_end { b"\n" } else { piece };
            let (cells, ends) = (&mut self.cells[self.length..], &mut self.ends[self.count..]);
            let (result, read, written, ended) = self.reader.read_record(input, cells, ends);
            if !is_at_the_end {
                self.source.consume(read);
            }
            self.length += written;
            self.count += ended;
            match result {
                ReadRecordResult::Record if is_too_large => {
                    let rule = format!("must be at most {} KiB in {MOST_CELLS} cells", LONGEST_ROW / 1024);
                    return Ok(Some(Framed::Broken(rule)));
                }
                ReadRecordResult::Record => return Ok(Some(Framed::Whole)),
                ReadRecordResult::InputEmpty if is_at_the_end => {
                    let rule =
                        "has a quotation mark that nothing closes before the end of the file".to_owned();
                    // Nothing comes after it.
                    self.reader.reset();
                    return Ok(Some(Framed::Broken(rule)));
                }
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    is_too_large = true;
                    (self.length, self.count) = (0, 0);
                }
                ReadRecordResult::InputEmpty | ReadRecordResult::End => {}
            }
        }
    }

    /// Says whether the file ends with them.
    fn skip_line_breaks(&mut self) -> io::Result<bool> {
        loop {
            let piece = self.source.fill_buf()?;
            let breaks = piece.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let lines: u64 = piece[..breaks].iter().map(|byte| u64::from(*byte == b'\n')).sum();
            let is_over = breaks < piece.len();
            let is_at_the_end = piece.is_empty();
            self.reader.set_line(self.reader.line() + lines);
            self.source.consume(breaks);
            if is_over || is_at_the_end {
                return Ok(is_at_the_end);
            }
        }
    }

    /// The cell, unless it is no text.
    fn cell(&self, index: usize) -> Option<&str> {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        str::from_utf8(&self.cells[start..self.ends[index]]).ok()
    }

    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.cells[..self.length].hash(&mut hasher);
        self.ends[..self.count].hash(&mut hasher);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text of up to five of these letters, which are all that defusing and CSV treat in a way of their own.
    fn texts() -> Vec<String> {
        let mut texts = vec![String::new()];
        let mut begun = 0;
        for _ in 0..5 {
            let end = texts.len();
            for index in begun..end {
                texts.extend(
                    ['\'', '=', '-', '＠', ' ', '"', ',', ';', 'a']
                        .map(|letter| format!("{}{letter}", texts[index])),
                );
            }
            begun = end;
        }
        texts
    }

    #[test]
    fn what_is_defused_begins_as_no_formula_does_and_is_undone_exactly() {
        for text in texts() {
            let defused = defused(&text);
            // Where a comma is the decimal mark, a semicolon separates cells.
            for cell in defused.split(';') {
                let cell = cell.trim_start_matches([' ', '"']);
                assert!(!cell.starts_with(['=', '+', '-', '@', '＠']), "{text} {defused}");
            }
            assert_eq!(undone(&defused), text);
        }
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "＝1", "'=1"] {
            assert_eq!(defused(formula), format!("'{formula}"));
        }
        assert_eq!(defused("a; b;=1;\"@a"), "a; b;'=1;'\"@a");
        for harmless in ["", "'", "a=1", "'a", "invoice-17", "45.00", "2026-11-21T20:48:53.899Z", "\\u{1b}"] {
            assert_eq!(defused(harmless), harmless);
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let texts = texts();
        for cells in texts.chunks(250) {
            let file: Vec<_> = [cells, cells].iter().flat_map(|cells| record(cells).unwrap()).collect();
            let mut table = Table::begin(&*file).unwrap().unwrap();
            table.next().unwrap().expect("a row").expect("as wide as the header");
            for (index, cell) in cells.iter().enumerate() {
                assert_eq!(undone(table.cell(index).unwrap()), *cell);
            }
        }
    }
}
