//! The rows of a file in either format.

use std::borrow::Cow;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, BufRead, BufReader};

use payments_journal::IntentKey;
use payments_model::unversioned::RequestMembers;
use payments_model::{TokenTransaction, mask};

use super::csv_rows::CsvRows;
use crate::batch_report::Problem;
use crate::csv_file::LONGEST_ROW;
use crate::row_file::{Format, RowFile};

/// Reads the rows.
pub(super) enum Rows {
    Csv(Box<CsvRows<BufReader<File>>>),
    JsonLines(JsonRows<BufReader<File>>),
}

impl Rows {
    /// Starts at the first row. Returns the problems of the header, and no rows if they make the rows unreadable.
    pub(super) fn begin(file: &mut RowFile) -> io::Result<(Option<Self>, Vec<Problem>)> {
        let source = file.rewound()?;
        Ok(match file.format() {
            Format::Csv => {
                let (rows, problems) = CsvRows::begin(source)?;
                (rows.map(|rows| Self::Csv(Box::new(rows))), problems)
            }
            Format::JsonLines => (Some(Self::JsonLines(JsonRows::new(source))), Vec::new()),
        })
    }

    pub(super) fn next(&mut self) -> io::Result<Option<RowRead>> {
        match self {
            Self::Csv(rows) => rows.next(),
            Self::JsonLines(rows) => rows.next(),
        }
    }
}

/// The name of the key, in addition to the names of the interface.
pub(super) const KEY: &str = "Key";

/// The field that is the key of a row without `Key`.
pub(super) const REFERENCE: &str = "ReferenceNo";

/// A row that can be charged.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The line where it starts, from 1.
    pub(super) line: u64,
    pub(super) key: IntentKey,
    pub(super) payment: TokenTransaction,
}

/// The result of reading a row.
#[derive(Debug)]
pub(super) struct RowRead {
    pub(super) line: u64,
    /// A digest of the row, to notice if it has changed when it is read again.
    pub(super) digest: u64,
    /// The key, if it could be read, even if the row has other problems. It may be a duplicate.
    pub(super) key: Option<IntentKey>,
    pub(super) content: Result<Row, Vec<Problem>>,
}

/// A row that is not checked yet.
#[derive(Debug, Default)]
pub(super) struct Draft<'a> {
    /// The text of `Key`, or the rule that it breaks if it is not a string.
    pub(super) key: Option<Result<Cow<'a, str>, &'static str>>,
    pub(super) reference: Option<Cow<'a, str>>,
    /// The request as a JSON object, without the key.
    pub(super) document: String,
    /// Problems in addition to those that the model finds.
    pub(super) problems: Vec<Problem>,
}

impl Draft<'_> {
    /// Validates the row. `words` may replace the text of a violation's rule.
    pub(super) fn check(
        self,
        line: u64,
        digest: u64,
        words: impl Fn(&str, &str) -> Option<String>,
    ) -> RowRead {
        let Self { key, reference, document, mut problems } = self;
        let key = match key_of(key, reference) {
            Ok(key) => Some(key),
            Err((field, rule)) => {
                problems.push(Problem::new(line, field, rule));
                None
            }
        };
        let payment = match TokenTransaction::from_json(document.as_bytes()) {
            Ok(payment) => {
                // It would be sent to the service, and the journal could not distinguish it from card numbers with the
                // same last four digits.
                let token = payment.token_id().as_str();
                if mask(token, &[]) != token {
                    let rule = "must be a token of the service, never a card number";
                    problems.push(Problem::new(line, "TokenId", rule));
                }
                Some(payment)
            }
            Err(error) => {
                problems.extend(error.violations().iter().map(|violation| {
                    let (field, rule) = (violation.field(), violation.rule());
                    let rule = words(field, rule).unwrap_or_else(|| rule.to_owned());
                    Problem::new(line, field.to_owned(), rule)
                }));
                None
            }
        };
        let content = match (&key, payment) {
            (Some(key), Some(payment)) if problems.is_empty() => Ok(Row { line, key: key.clone(), payment }),
            _ => Err(problems),
        };
        RowRead { line, digest, key, content }
    }
}

/// The key of the row, or the invalid field and the rule that it breaks.
fn key_of(
    key: Option<Result<Cow<'_, str>, &'static str>>,
    reference: Option<Cow<'_, str>>,
) -> Result<IntentKey, (&'static str, String)> {
    match (key, reference) {
        (Some(Ok(key)), _) => IntentKey::new(&*key).map_err(|error| (KEY, error.rule().to_owned())),
        (Some(Err(rule)), _) => Err((KEY, rule.to_owned())),
        (None, Some(reference)) => IntentKey::new(&*reference).map_err(|error| {
            (REFERENCE, format!("{}, because it is the key of a row without Key", error.rule()))
        }),
        (None, None) => Err((KEY, "is required if there is no ReferenceNo".to_owned())),
    }
}

/// Reads one row at a time into memory.
pub(super) struct JsonRows<R> {
    source: R,
    /// The number of the next line.
    line: u64,
    text: Vec<u8>,
}

impl<R: BufRead> JsonRows<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, line: 1, text: Vec::new() }
    }

    /// The next row; `None` at the end. Skips blank lines.
    pub(super) fn next(&mut self) -> io::Result<Option<RowRead>> {
        loop {
            let line = self.line;
            let Some(is_whole) = self.next_line()? else { return Ok(None) };
            let digest = digest(&self.text);
            if !is_whole {
                let rule = format!("must be at most {} KiB", LONGEST_ROW / 1024);
                let content = Err(vec![Problem::new(line, "row", rule)]);
                return Ok(Some(RowRead { line, digest, key: None, content }));
            }
            let text = self.text.trim_ascii();
            if !text.is_empty() {
                return Ok(Some(read(text, line, digest)));
            }
        }
    }

    /// Reads a line, and returns whether it was short enough to keep; `None` at the end of the file.
    fn next_line(&mut self) -> io::Result<Option<bool>> {
        self.text.clear();
        let (mut is_whole, mut has_begun) = (true, false);
        loop {
            let piece = self.source.fill_buf()?;
            if piece.is_empty() {
                return Ok(has_begun.then_some(is_whole));
            }
            has_begun = true;
            let end = piece.iter().position(|byte| *byte == b'\n');
            let part = &piece[..end.unwrap_or(piece.len())];
            is_whole &= self.text.len() + part.len() <= LONGEST_ROW;
            if is_whole {
                self.text.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.source.consume(used);
            if end.is_some() {
                self.line += 1;
                return Ok(Some(is_whole));
            }
        }
    }
}

fn digest(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn read(text: &[u8], line: u64, digest: u64) -> RowRead {
    let members = match RequestMembers::read(text) {
        Ok(members) => members,
        Err(error) => {
            let problem = |violation: &payments_model::Violation| {
                // The position within the row, whose line is already shown.
                let rule = violation.rule().replace("at line 1, column", "at column");
                Problem::new(line, "row", rule)
            };
            let content = Err(error.violations().iter().map(problem).collect());
            return RowRead { line, digest, key: None, content };
        }
    };
    let mut draft = Draft::default();
    let mut written = Vec::new();
    for (name, value) in members.iter() {
        if name == KEY {
            let is_first = draft.key.is_none();
            let key = serde_json::from_str(value).map(Cow::Owned).map_err(|_| "must be a string");
            draft.key = Some(if is_first { key } else { Err("appears more than once") });
            continue;
        }
        if name == REFERENCE {
            // The model refuses a value that is not a string.
            draft.reference = serde_json::from_str(value).ok().map(Cow::Owned);
        }
        let name = serde_json::to_string(name).expect("a string is valid JSON");
        written.push(format!("{name}:{value}"));
    }
    draft.document = format!("{{{}}}", written.join(","));
    draft.check(line, digest, |_, _| None)
}
