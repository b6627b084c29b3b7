//! CSV files (RFC 4180).

use std::borrow::Cow;
use std::{io, mem};

use payments_journal::IntentKey;
use zeroize::Zeroizing;

use crate::failure::Problem;
use crate::rows::own_files::{is_of_reconcile, is_own, note_is_cut};
use crate::rows::problems::Problems;
use crate::style::for_terminal;

/// A record to append. Control characters and formulas are escaped.
pub(crate) fn record(cells: &[impl AsRef<str>]) -> io::Result<Vec<u8>> {
    let mut writer = csv::WriterBuilder::new().buffer_capacity(1024).from_writer(Vec::new());
    writer.write_record(cells.iter().map(|cell| escape_formulas(&for_terminal(cell.as_ref()))))?;
    writer.into_inner().map_err(|error| io::Error::other(error.to_string()))
}

/// Puts an apostrophe before each part of a cell that a spreadsheet could run as a formula. In locales where the decimal
/// mark is a comma, spreadsheets separate cells with semicolons.
fn escape_formulas(cell: &str) -> String {
    parts(cell, |part| if is_formula(part) { Cow::Owned(format!("'{part}")) } else { Cow::Borrowed(part) })
}

/// The cell before [`record`] escaped its formulas.
pub(crate) fn unescape_formulas(cell: &str) -> String {
    parts(cell, |part| part.strip_prefix('\'').filter(|_| is_formula(part)).unwrap_or(part).into())
}

fn parts<'a>(cell: &'a str, change: impl Fn(&'a str) -> Cow<'a, str>) -> String {
    cell.split(';').map(change).collect::<Vec<_>>().join(";")
}

/// Whether the part starts like a formula, after quotes, apostrophes and spaces. This is also true of an escaped part, so
/// [`unescape_formulas`] removes exactly what was added.
fn is_formula(part: &str) -> bool {
    let part = part.trim_start_matches(|letter: char| matches!(letter, '\'' | '"') || letter.is_whitespace());
    part.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
}

/// Rows below headings.
pub(crate) struct Table<'a> {
    records: Records<'a>,
    headings: Vec<String>,
    text: &'a [u8],
    /// The fewest cells of a row, once a cell with several lines was met.
    narrowest: Option<usize>,
    has_rows: bool,
    may_hide_rows: bool,
    is_own: bool,
}

impl<'a> Table<'a> {
    /// Reads the headings.
    pub(crate) fn begin(text: &'a [u8], separator: u8) -> Result<Self, Problem> {
        let mut records = Records::new(text, separator);
        let is_whole = match records.next() {
            None => Err("is missing: the file is empty".to_owned()),
            Some(Ok(())) if is_separator_line(records.cell(0).unwrap_or_default()) => {
                Err("is preceded by a line sep=…, which is a note for a spreadsheet: remove that line"
                    .to_owned())
            }
            Some(Ok(())) if records.ends.len() == 1 => {
                let name = records.cell(0).unwrap_or_default();
                let others = [(';', "semicolons"), ('\t', "tabs")];
                let other = others.iter().find(|(separator, _)| name.contains(*separator));
                other.map_or(Ok(()), |(_, by)| {
                    Err(format!("has columns separated by {by}; they must be separated by commas"))
                })
            }
            Some(read) => read,
        };
        let cells = (0..records.ends.len()).map(|index| records.cell(index).unwrap_or("\u{fffd}"));
        let headings: Vec<_> = cells.map(str::to_owned).collect();
        let holds_a_row = |name: &String| name.contains(['\r', '\n']) && name.contains(char::from(separator));
        let is_whole = is_whole.and_then(|()| {
            if headings.iter().any(holds_a_row) { Err(HIDES_A_ROW.to_owned()) } else { Ok(()) }
        });
        is_whole.map_err(|rule| Problem::new(records.begun_at, "header", rule))?;
        let is_own = is_own(&headings);
        Ok(Self { records, headings, text, narrowest: None, has_rows: false, may_hide_rows: false, is_own })
    }

    pub(crate) fn headings(&self) -> &[String] {
        &self.headings
    }

    /// The columns with such a heading.
    pub(crate) fn columns(&self, is_it: impl Fn(&str) -> bool) -> Vec<usize> {
        (0..self.headings.len()).filter(|index| is_it(&self.headings[*index])).collect()
    }

    /// The only one of them, if there is one. The error is the rule that the header breaks.
    pub(crate) fn column(&self, is_it: impl Fn(&str) -> bool) -> Result<Option<usize>, &'static str> {
        match *self.columns(is_it) {
            [] => Ok(None),
            [index] if self.headings[index].trim() == self.headings[index] => Ok(Some(index)),
            [_] => Err("has white space around the name in the header: remove it"),
            _ => Err("is a column more than once"),
        }
    }

    /// The line where the headings or the last row start.
    pub(crate) fn line(&self) -> u64 {
        self.records.begun_at
    }

    /// Reads the next row; `None` at the end. Skips empty lines and rows without content. Spreadsheets leave out empty last
    /// cells, so missing cells are empty. The error is a problem because of which the cells cannot be assigned to columns.
    pub(crate) fn next(&mut self) -> Option<Result<(), Problem>> {
        let Self { records, headings, text, narrowest, may_hide_rows, .. } = self;
        let rule = loop {
            match records.next()? {
                Err(rule) => break rule,
                Ok(())
                    if records.separators.most_later.is_some() && {
                        let columns = headings.len();
                        let find = || narrowest_row(text, records.separator, columns);
                        let narrowest = *narrowest.get_or_insert_with(find);
                        records.separators.may_hide_a_row(narrowest, records.ends.len() >= columns)
                    } =>
                {
                    break HIDES_A_ROW.to_owned();
                }
                Ok(()) if records.text.is_empty() => {}
                Ok(()) => {
                    let cells = |from: usize| (from..records.ends.len()).map(|index| records.cell(index));
                    let rule = if is_of_reconcile(headings) && note_is_cut(cells(0)) {
                        let by = if records.separator == b';' { "semicolon" } else { "comma" };
                        format!("has too many cells: a note with a {by} needs quotation marks")
                    } else if cells(headings.len()).any(|cell| cell != Some("")) {
                        format!(
                            "has {} cells, and the header has {}; a value with a comma needs quotes, and an amount needs a \
                             point and not a comma",
                            records.ends.len(),
                            headings.len()
                        )
                    } else {
                        return Some(Ok(()));
                    };
                    return Some(Err(Problem::new(records.begun_at, "row", rule)));
                }
            }
        };
        *may_hide_rows = true;
        Some(Err(Problem::new(records.begun_at, "row", rule)))
    }

    /// Whether a problem of a row may hide other rows, which leaves the file's content uncertain: a quotation mark too many or too
    /// few, or a row without an end.
    pub(crate) const fn may_hide_rows(&self) -> bool {
        self.may_hide_rows
    }

    /// A cell of the last row, or the rule that it breaks.
    pub(crate) fn cell(&self, index: usize) -> Result<&str, &'static str> {
        let cell = self.records.cell(index).ok_or("must be UTF-8")?;
        if cell.contains('\0') { Err("must not contain a NUL character") } else { Ok(cell) }
    }

    /// The same before this command escaped its formulas, if it wrote the file.
    pub(crate) fn text(&self, index: usize) -> Result<String, String> {
        let cell = self.cell(index)?;
        Ok(if self.is_own { unescape_formulas(cell) } else { cell.to_owned() })
    }

    /// A problem if [`Self::next_key`] has found no row, valid or not.
    pub(crate) fn require_rows(&self, problems: &mut Problems) {
        if !self.has_rows {
            problems.push(Problem::new(1, "file", "has no rows"));
        }
    }

    /// Reads the next row that has a valid key in this column. Every other row is a problem.
    pub(crate) fn next_key(&mut self, column: usize, problems: &mut Problems) -> Option<IntentKey> {
        while let Some(read) = self.next() {
            self.has_rows = true;
            let key = || IntentKey::new(self.text(column)?).map_err(|error| error.rule().to_owned());
            match read.and_then(|()| key().map_err(|rule| Problem::new(self.line(), "Key", rule))) {
                Ok(key) => return Some(key),
                Err(problem) => problems.push(problem),
            }
        }
        None
    }
}

/// The fewest cells of a row below so many headings. A line with at most half as many cells, such as one with a sum, is no row.
fn narrowest_row(text: &[u8], separator: u8, columns: usize) -> usize {
    let (mut records, mut narrowest) = (Records::new(text, separator), columns);
    let mut is_row = false;
    while let Some(read) = records.next() {
        let has_one_line = records.separators.most_later.is_none();
        if is_row && read.is_ok() && has_one_line && records.ends.len() * 2 > columns {
            narrowest = narrowest.min(records.ends.len());
        }
        is_row = true;
    }
    narrowest
}

/// Whether a cell is the line that names the separator to a spreadsheet, such as `sep=,`. A separator that is not a comma
/// has an explanation of its own.
fn is_separator_line(cell: &str) -> bool {
    let separator = cell.get(..4).filter(|start| start.eq_ignore_ascii_case("sep=")).map(|_| &cell[4..]);
    separator.is_some_and(|separator| !separator.contains([';', '\t']))
}

/// The current line of a text, from 1. A line ends with CR, LF or CRLF: old spreadsheets for the Mac write CR.
#[derive(Debug)]
pub(crate) struct LineCounter {
    pub(crate) line: u64,
    is_after_cr: bool,
}

impl LineCounter {
    pub(crate) const fn new() -> Self {
        Self { line: 1, is_after_cr: false }
    }

    /// Counts the line ends in the next piece of the text.
    pub(crate) fn count(&mut self, piece: &[u8]) {
        for byte in piece {
            let is_second_half = *byte == b'\n' && self.is_after_cr;
            self.line += u64::from(matches!(byte, b'\r' | b'\n') && !is_second_half);
            self.is_after_cr = *byte == b'\r';
        }
    }
}

/// CSV records, each with its first line.
///
/// Not by the `csv` crate: this reader wipes the cells when it is dropped, and sees the places of the quotation marks. One that is
/// missing or too many lets a cell continue until the next one, and the rows between them vanish without a trace.
struct Records<'a> {
    rest: &'a [u8],
    separator: u8,
    lines: LineCounter,
    begun_at: u64,
    /// The text of the cells, without quotation marks around them.
    text: Zeroizing<Vec<u8>>,
    /// Where each cell ends.
    ends: Vec<usize>,
    separators: Separators,
}

/// How many separators the lines of one record have, also within quotation marks.
#[derive(Default)]
struct Separators {
    current: usize,
    first: Option<usize>,
    most_later: Option<usize>,
    /// Whether a later line has as many as the first.
    is_first_repeated: bool,
}

impl Separators {
    fn end_line(&mut self) {
        let count = Some(mem::take(&mut self.current));
        match self.first {
            None => self.first = count,
            Some(first) => {
                self.most_later = self.most_later.max(count);
                self.is_first_repeated |= count == Some(first) && first > 0;
            }
        }
    }

    /// Whether the first line has as many cells as a row of the file, which has at least so many, and so has a later one. If the row
    /// lacks its last cells, a line like its first one is enough.
    fn may_hide_a_row(&self, narrowest: usize, is_complete: bool) -> bool {
        let lines = self.first.zip(self.most_later);
        self.is_first_repeated && !is_complete
            || lines.is_some_and(|(first, later)| first.min(later) + 1 >= narrowest)
    }
}

/// What stands before the next byte of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    CellBegins,
    Unquoted,
    Quoted,
    /// The mark closes the cell, or is the first half of a doubled one.
    AfterMark,
}

const HIDES_A_ROW: &str = "has a line within quotation marks that looks like a row of its own, which would be left out: is a \
                           quotation mark missing, or one too many?";

/// Chosen by this command: twice the largest request that the SDK sends.
const LONGEST_ROW: usize = 128 * 1024;

/// Chosen by this command: an export has 31 columns, and a spreadsheet may add some without a name.
const MOST_CELLS: usize = 256;

impl<'a> Records<'a> {
    fn new(text: &'a [u8], separator: u8) -> Self {
        Self {
            rest: text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text),
            separator,
            lines: LineCounter::new(),
            begun_at: 1,
            // Full capacity from the start: a growing vector leaves earlier copies in memory, unwiped.
            text: Zeroizing::new(Vec::with_capacity(LONGEST_ROW)),
            ends: Vec::with_capacity(MOST_CELLS),
            separators: Separators::default(),
        }
    }

    /// Reads the next record; `None` at the end. The error is the rule that the record breaks, whose rest was skipped.
    fn next(&mut self) -> Option<Result<(), String>> {
        use Place::{AfterMark, CellBegins, Quoted, Unquoted};

        let is_break = |byte: u8| matches!(byte, b'\r' | b'\n');
        let breaks = self.rest.iter().take_while(|byte| is_break(**byte)).count();
        self.skip(breaks);
        if self.rest.is_empty() {
            return None;
        }
        self.begun_at = self.lines.line;
        self.separators = Separators::default();
        self.text.clear();
        self.ends.clear();
        let (rest, mut place, mut fits, mut has_text_after) = (self.rest, CellBegins, true, false);
        let mut length = rest.len();
        for (index, &byte) in rest.iter().enumerate() {
            let is_separator = byte == self.separator;
            self.separators.current += usize::from(is_separator);
            place = match (place, byte) {
                (Quoted, b'"') => AfterMark,
                (CellBegins, b'"') => Quoted,
                (Quoted, _) | (AfterMark, b'"') => {
                    if is_break(byte) {
                        self.separators.end_line();
                    }
                    fits &= self.push(byte);
                    Quoted
                }
                _ if is_break(byte) => {
                    length = index;
                    break;
                }
                _ if is_separator => {
                    fits &= self.end_cell();
                    CellBegins
                }
                (before, _) => {
                    has_text_after |= before == AfterMark;
                    fits &= self.push(byte);
                    Unquoted
                }
            };
        }
        self.skip(length);
        self.separators.end_line();
        fits &= self.end_cell();
        Some(if place == Quoted {
            Err("has a quotation mark that is not closed before the end of the file".to_owned())
        } else if !fits {
            Err(format!("must be at most {} KiB in {MOST_CELLS} cells", LONGEST_ROW / 1024))
        } else if has_text_after {
            Err("has text after a closing quotation mark: is one missing, or not doubled?".to_owned())
        } else {
            Ok(())
        })
    }

    fn skip(&mut self, length: usize) {
        let (skipped, rest) = self.rest.split_at(length);
        self.lines.count(skipped);
        self.rest = rest;
    }

    /// Returns whether there was room for it.
    fn push(&mut self, byte: u8) -> bool {
        let fits = self.text.len() < LONGEST_ROW;
        if fits {
            self.text.push(byte);
        }
        fits
    }

    /// The same for a cell.
    fn end_cell(&mut self) -> bool {
        let fits = self.ends.len() < MOST_CELLS;
        if fits {
            self.ends.push(self.text.len());
        }
        fits
    }

    /// The cell, if it is valid UTF-8. A missing cell is empty.
    fn cell(&self, index: usize) -> Option<&str> {
        let Some(end) = self.ends.get(index) else { return Some("") };
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        str::from_utf8(&self.text[start..*end]).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text of up to five of these characters, which include all that are special in CSV or in formulas.
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
    fn escaped_cell_is_not_a_formula_and_is_unescaped_exactly() {
        for text in texts() {
            let escaped = escape_formulas(&text);
            // In some locales a semicolon separates cells.
            for cell in escaped.split(';') {
                let cell = cell.trim_start_matches([' ', '"']);
                assert!(!cell.starts_with(['=', '+', '-', '@', '＠']), "{text} {escaped}");
            }
            assert_eq!(unescape_formulas(&escaped), text);
        }
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "＝1", "'=1"] {
            assert_eq!(escape_formulas(formula), format!("'{formula}"));
        }
        assert_eq!(escape_formulas("a; b;=1;\"@a"), "a; b;'=1;'\"@a");
        for harmless in ["", "'", "a=1", "'a", "invoice-17", "45.00", "2026-11-21T20:48:53.899Z", "\\u{1b}"] {
            assert_eq!(escape_formulas(harmless), harmless);
        }
    }

    #[test]
    fn line_ends_are_counted_in_pieces_of_any_size() {
        for (text, line) in
            [("", 1), ("a", 1), ("\n", 2), ("\r", 2), ("\r\n", 2), ("\n\r", 3), ("a\r\rb\n\nc\r\n\r\n", 7)]
        {
            for size in 1..=text.len().max(1) {
                let mut lines = LineCounter::new();
                text.as_bytes().chunks(size).for_each(|piece| lines.count(piece));
                assert_eq!(lines.line, line, "{text:?} {size}");
            }
        }
    }

    #[test]
    fn written_cells_are_read_back() {
        let texts = texts();
        for cells in texts.chunks(250) {
            let file: Vec<_> = [cells, cells].iter().flat_map(|cells| record(cells).unwrap()).collect();
            let mut table = Table::begin(&file, b',').unwrap();
            table.next().expect("a row").expect("as wide as the header");
            for (index, cell) in cells.iter().enumerate() {
                assert_eq!(unescape_formulas(table.cell(index).unwrap()), *cell);
            }
        }
    }

    #[test]
    fn rows_know_where_they_begin() {
        let text = "\u{feff}\r\n\r\nKey,Text\r\n\r\n\r\na,\"x\r\n\"\"y\"\"\n.\"\r\n\n\nb\nc,z\r\rd,w";
        let mut table = Table::begin(text.as_bytes(), b',').expect("a good header");
        assert_eq!(table.headings(), ["Key", "Text"]);
        for (line, cells) in
            [(6, ["a", "x\r\n\"y\"\n."]), (11, ["b", ""]), (12, ["c", "z"]), (14, ["d", "w"])]
        {
            table.next().expect("a row").expect("a good row");
            let seen = [0, 1].map(|index| table.cell(index).unwrap());
            assert_eq!((table.line(), seen), (line, cells));
        }
        assert!(table.next().is_none());
    }

    #[test]
    fn quotation_mark_that_hides_rows_is_found() {
        let hides = |text: &str| {
            let Ok(mut table) = Table::begin(text.as_bytes(), b',') else { return true };
            while let Some(row) = table.next() {
                if let Err(problem) = row {
                    assert!(table.may_hide_rows(), "{text:?}: {problem:?}");
                    return true;
                }
            }
            false
        };
        for text in [
            "Key,Text\na,\"Monitor 12\nb,Cable\nc,\"Monitor 14\n",
            "Key,Text\na,\"Monitor 12\nb,Monitor 14\"\n",
            "Key,Text\na,\"Monitor 12\r\nb,Cable\r\nc,Monitor 14\"\r\n",
            "Key,Text\na,\"Monitor 12\"\"\nb,Monitor 14\"\n",
            "Text,Key\n\"Monitor 12,a\nMonitor 14\",b\nx,\"12,c\ny,14\"\n",
            "Key,Text,Amount\na,\"Monitor 12,1\nb,Monitor 14\",2\n",
            "Key\n\"a\nb\"\n",
            "Key,Amount\n\"a\"5,1\n",
            "Key,Amount\na,\"1\"0\n",
            "Key,Text\na,\"x\" \n",
            "Key,Text\na,\"x\nb,y\n",
            // Rows without their last cells.
            "Key,Amount,Text,Date\na,5,\"x\nb,6,y\"\n",
            "Key,Amount,Text,Date\na,5,\"x, y\nb,6,y\"\nc,7,z\n",
            "Text,Key,Amount,Date\n\"x,a,5\ny\",b,6\n",
            "Key,\"Customer\na,Smith\"\nb,Jones\n",
        ] {
            assert!(hides(text), "{text:?}");
        }
        for text in [
            "Key,Text\na,\"Monitor 12\"\"\"\nb,5\" pipe\nc,\"x, y\"\n",
            "Key,Text\na,\"two\nlines\"\nb,\"\"\n",
            "Key,Text,Amount,Date\na,\"Street 5, left\r\nParis, France\",5,\n",
            "Key,Text,Amount,Date\na,\"Street 5, left\nParis\",5\nb,x,5\nSum,10\n",
            "Key,\"Amount\n(EUR)\",Text\na,5,x\n",
            "Key,Name,Address,Amount,Ref\na,Ada,\"12, Main St\nParis, FR\",5,R\n",
        ] {
            assert!(!hides(text), "{text:?}");
        }
    }
}
