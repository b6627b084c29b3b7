//! Rows of CSV (RFC 4180): a header with the interface's names and `Key`, then a row for each charge.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, BufRead};

use csv_core::{ReadRecordResult, Reader};
use payments_model::{Amount, TokenTransaction, ValidationError, printable_field_name};

use super::json_rows::LONGEST_ROW;
use super::row::{Draft, KEY, REFERENCE, RowRead};
use crate::batch_report::Problem;

/// Reads the rows one by one, in the memory of one row.
pub(super) struct CsvRows<R> {
    records: Records<R>,
    columns: Vec<Column>,
}

/// What stands in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Key,
    Text(&'static str),
    /// A JSON number as it stands.
    Amount,
    /// `true` or `false`, as a spreadsheet may write them.
    Flag,
    /// Without a name, as a spreadsheet leaves them: nothing may stand in it.
    Nameless,
    /// Complained of already.
    Refused,
}

/// The interface's columns; a test compares them with what the model takes.
const COLUMNS: [(&str, Column); 7] = [
    (KEY, Column::Key),
    ("TokenId", Column::Text("TokenId")),
    ("GatewayCustomerId", Column::Text("GatewayCustomerId")),
    ("Amount", Column::Amount),
    ("ConvenienceFeeActive", Column::Flag),
    ("Description", Column::Text("Description")),
    (REFERENCE, Column::Text(REFERENCE)),
];

/// A header, judged.
pub(super) struct Header<R> {
    /// The rows after it, unless a column is missing that every row needs.
    pub(super) rows: Option<CsvRows<R>>,
    pub(super) problems: Vec<Problem>,
}

impl<R: BufRead> CsvRows<R> {
    /// Reads the header.
    pub(super) fn begin(source: R) -> io::Result<Header<R>> {
        let mut records = Records::new(source);
        let refused = |line: u64, field: &str, rule: &str| Header {
            rows: None,
            problems: vec![Problem::new(line, field.to_owned(), rule.to_owned())],
        };
        match records.next()? {
            None => return Ok(refused(1, "header", "is missing: the file is empty")),
            Some(Framed::Broken(rule)) => return Ok(refused(records.begun_at, "header", &rule)),
            Some(Framed::Whole) => {}
        }
        let line = records.begun_at;
        if records.len() == 1
            && let Some(rule) = other_separator(records.cell(0).unwrap_or_default())
        {
            return Ok(refused(line, "header", rule));
        }
        let mut problems = Vec::new();
        let mut columns = Vec::new();
        for index in 0..records.len() {
            let name = records.cell(index).unwrap_or("\0");
            let column = match COLUMNS.iter().find(|(known, _)| *known == name) {
                Some((_, column)) if columns.contains(column) => {
                    problems.push(Problem::new(line, name.to_owned(), "is a column more than once"));
                    Column::Refused
                }
                Some((_, column)) => *column,
                None if name.is_empty() => Column::Nameless,
                None => {
                    let rule = "is no column of a token transaction".to_owned();
                    problems.push(Problem::new(line, printable_field_name(name).to_owned(), rule));
                    Column::Refused
                }
            };
            columns.push(column);
        }
        let missing = missing(&columns);
        let is_complete = missing.is_empty();
        problems.extend(missing.into_iter().map(|name| Problem::new(line, name, "is missing in the header")));
        Ok(Header { rows: is_complete.then_some(Self { records, columns }), problems })
    }

    /// The next row, `None` at the end. Empty lines are no rows, nor is a row in which nothing stands.
    pub(super) fn next(&mut self) -> io::Result<Option<RowRead>> {
        loop {
            let Some(framed) = self.records.next()? else { return Ok(None) };
            let line = self.records.begun_at;
            if let Framed::Broken(rule) = framed {
                let content = Err(vec![Problem::new(line, "row", rule)]);
                return Ok(Some(RowRead { line, digest: 0, key: None, content }));
            }
            if !self.records.is_empty() {
                return Ok(Some(self.row(line)));
            }
        }
    }

    fn row(&self, line: u64) -> RowRead {
        let Self { records, columns } = self;
        let digest = records.digest();
        let mut draft = Draft::default();
        let mut amount_rule = None;
        let mut complain = |field: &'static str, rule: String| {
            draft.problems.push(Problem::new(line, field, rule));
        };
        let extra = (columns.len()..records.len()).any(|index| records.cell(index) != Some(""));
        if records.len() < columns.len() || extra {
            // Nobody knows which cell is which.
            let hint = "; a comma inside a value, such as 12,50, needs quotes, and in an amount a point in its place";
            let hint = if extra { hint } else { "" };
            let rule = format!("has {} cells, and the header has {}{hint}", records.len(), columns.len());
            let content = Err(vec![Problem::new(line, "row", rule)]);
            return RowRead { line, digest, key: None, content };
        }
        let mut document = String::from("{");
        let mut write = |name: &str, value: &str| {
            if document.len() > 1 {
                document.push(',');
            }
            document.push('"');
            document.push_str(name);
            document.push_str("\":");
            document.push_str(value);
        };
        for (index, column) in columns.iter().enumerate().take(records.len()) {
            let Some(cell) = records.cell(index) else {
                complain(column.name(), "must be UTF-8".to_owned());
                continue;
            };
            if cell.is_empty() {
                continue;
            }
            if cell.contains('\0') {
                complain(column.name(), "must not contain a NUL character".to_owned());
                continue;
            }
            match *column {
                Column::Refused => {}
                Column::Nameless => {
                    complain("row", format!("has something in column {}, which has no name", index + 1));
                }
                Column::Key => draft.key = Some(Ok(Cow::Borrowed(cell))),
                Column::Text(name) => {
                    write(name, &text(cell));
                    if name == REFERENCE {
                        draft.reference = Some(Cow::Borrowed(cell));
                    }
                }
                Column::Amount => match cell.parse::<Amount>() {
                    Ok(_) => write("Amount", cell),
                    Err(error) => {
                        amount_rule = Some(error.to_string());
                        write("Amount", &text(cell));
                    }
                },
                Column::Flag if cell.eq_ignore_ascii_case("true") => write("ConvenienceFeeActive", "true"),
                Column::Flag if cell.eq_ignore_ascii_case("false") => write("ConvenienceFeeActive", "false"),
                Column::Flag => write("ConvenienceFeeActive", &text(cell)),
            }
        }
        document.push('}');
        draft.document = document;
        draft.check(line, digest, |field, _| amount_rule.clone().filter(|_| field == "Amount"))
    }
}

impl Column {
    const fn name(self) -> &'static str {
        match self {
            Self::Key => KEY,
            Self::Text(name) => name,
            Self::Amount => "Amount",
            Self::Flag => "ConvenienceFeeActive",
            Self::Nameless | Self::Refused => "row",
        }
    }
}

/// What the model demands of every request and no column gives, and the key.
fn missing(columns: &[Column]) -> Vec<String> {
    let has = |name: &str| columns.iter().any(|column| column.name() == name);
    let demanded = TokenTransaction::from_json(b"{}").err();
    let demanded = demanded.iter().flat_map(ValidationError::violations);
    let mut missing: Vec<_> = demanded.map(|it| it.field().to_owned()).filter(|name| !has(name)).collect();
    if !has(KEY) && !has(REFERENCE) {
        missing.push(format!("{KEY} or {REFERENCE}"));
    }
    missing
}

/// What is wrong with a header that is one long name.
fn other_separator(name: &str) -> Option<&'static str> {
    match name {
        _ if name.contains(';') => Some("has its columns separated by semicolons; they must be by commas"),
        _ if name.contains('\t') => Some("has its columns separated by tabs; they must be by commas"),
        _ => None,
    }
}

fn text(cell: &str) -> String {
    serde_json::to_string(cell).expect("a text is JSON")
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

/// Chosen by this command: the interface has six fields, a spreadsheet leaves a few columns without a name.
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

    fn len(&self) -> usize {
        self.count
    }

    /// Whether every cell is.
    fn is_empty(&self) -> bool {
        self.length == 0
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
    use payments_model::unversioned::RequestMembers;

    use super::*;

    /// The columns are the fields of the model, each of the type that the model takes.
    #[test]
    fn every_column_but_the_key_is_a_field_of_the_request() {
        let members: Vec<_> = COLUMNS
            .iter()
            .filter_map(|(name, column)| match column {
                Column::Text(_) => Some(format!(r#""{name}":"x""#)),
                Column::Amount => Some(format!(r#""{name}":1.5"#)),
                Column::Flag => Some(format!(r#""{name}":true"#)),
                Column::Key | Column::Nameless | Column::Refused => None,
            })
            .collect();
        let document = format!("{{{}}}", members.join(","));
        let payment = TokenTransaction::from_json(document.as_bytes()).expect("every field is taken");
        let written = payment.encode();
        let written = RequestMembers::read(written.as_ref()).expect("an object");
        assert_eq!(written.iter().count(), COLUMNS.len() - 1);
    }

    /// A file that comes in pieces of any size is read the same.
    #[test]
    fn rows_do_not_depend_on_how_the_file_is_read() {
        let text = "\u{feff}\r\n\r\nKey,TokenId,Amount,ConvenienceFeeActive,Description\r\n\r\n\r\n\
                    a,t,1,false,\"x\r\n\"\"y\"\"\n\"\r\n\n\nb,t,2.5,true,\nc,t,3,false,z";
        let expected = [(6, "a", Some("x\r\n\"y\"\n")), (11, "b", None), (12, "c", Some("z"))];
        for size in 3..=text.len() {
            let source = io::BufReader::with_capacity(size, text.as_bytes());
            let Header { rows, problems } = CsvRows::begin(source).expect("it can be read");
            assert_eq!(problems, [], "{size}");
            let mut rows = rows.expect("a good header");
            for (line, key, description) in expected {
                let row = rows.next().expect("it can be read").expect("a row").content.expect("a good row");
                let seen = (row.line, row.key.as_str(), row.payment.description());
                assert_eq!(seen, (line, key, description), "{size}");
            }
            assert!(rows.next().expect("it can be read").is_none());
        }
    }
}
