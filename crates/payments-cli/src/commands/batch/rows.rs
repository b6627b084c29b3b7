//! The rows of a file, of either format, one after the other.

use std::borrow::Cow;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, BufRead, BufReader};

use payments_journal::IntentKey;
use payments_model::unversioned::RequestMembers;
use payments_model::{TokenTransaction, mask};

use super::csv_rows::{CsvRows, Header};
use crate::batch_report::Problem;
use crate::csv_file::LONGEST_ROW;
use crate::row_file::{Format, RowFile};

/// Reads the rows.
pub(super) enum Rows {
    Csv(Box<CsvRows<BufReader<File>>>),
    JsonLines(JsonRows<BufReader<File>>),
}

impl Rows {
    /// From the first one. No rows if what is wrong with the header leaves none to be read; its problems in any case.
    pub(super) fn begin(file: &mut RowFile) -> io::Result<(Option<Self>, Vec<Problem>)> {
        let source = file.rewound()?;
        Ok(match file.format() {
            Format::Csv => {
                let Header { rows, problems } = CsvRows::begin(source)?;
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

/// The name of the key, beside the names of the interface.
pub(super) const KEY: &str = "Key";

/// What names a row that has no key of its own.
pub(super) const REFERENCE: &str = "ReferenceNo";

/// A row that can be charged.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Where it begins in the file, from 1.
    pub(super) line: u64,
    pub(super) key: IntentKey,
    pub(super) payment: TokenTransaction,
}

/// A row as it was read.
#[derive(Debug)]
pub(super) struct RowRead {
    pub(super) line: u64,
    /// Of everything that the row says, to notice that it says something else when it is read again.
    pub(super) digest: u64,
    /// As far as it could be read, whatever else is wrong with the row: two rows may share it.
    pub(super) key: Option<IntentKey>,
    pub(super) content: Result<Row, Vec<Problem>>,
}

/// What a row says, on its way to being checked.
#[derive(Debug, Default)]
pub(super) struct Draft<'a> {
    /// The text of `Key`, or the rule that it breaks by not being a text.
    pub(super) key: Option<Result<Cow<'a, str>, &'static str>>,
    pub(super) reference: Option<Cow<'a, str>>,
    /// The request as a JSON object, without the key.
    pub(super) document: String,
    /// What is wrong beside what the model finds.
    pub(super) problems: Vec<Problem>,
}

impl Draft<'_> {
    /// Lets the model judge. `words` may put a violation's rule in the words of the file's format.
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
                // The service would be sent it, and the journal could not tell it from others with the same last four.
                let token = payment.token_id().as_str();
                if mask(token, &[]) != token {
                    let rule = "must be a token of the service, and never a card number";
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

/// The key of the row, or the field to blame and the rule that it breaks.
fn key_of(
    key: Option<Result<Cow<'_, str>, &'static str>>,
    reference: Option<Cow<'_, str>>,
) -> Result<IntentKey, (&'static str, String)> {
    match (key, reference) {
        (Some(Ok(key)), _) => IntentKey::new(&*key).map_err(|error| (KEY, error.rule().to_owned())),
        (Some(Err(rule)), _) => Err((KEY, rule.to_owned())),
        (None, Some(reference)) => IntentKey::new(&*reference)
            .map_err(|error| (REFERENCE, format!("{}, because without a Key it is the key", error.rule()))),
        (None, None) => Err((KEY, "is required where there is no ReferenceNo".to_owned())),
    }
}

/// Reads the rows one by one, in the memory of one row.
pub(super) struct JsonRows<R> {
    source: R,
    /// The line that comes next.
    line: u64,
    text: Vec<u8>,
}

impl<R: BufRead> JsonRows<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, line: 1, text: Vec::new() }
    }

    /// The next row, `None` at the end. Blank lines are no rows.
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

    /// Reads a line, and says whether all of it was kept; `None` at the end of the file.
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
                // The place within the row, whose line is told already.
                let rule = violation.rule().replace("at line 1, column", "at column");
                Problem::new(line, "row", rule)
            };
            let content = Err(error.violations().iter().map(problem).collect());
            return RowRead { line, digest, key: None, content };
        }
    };
    let mut draft = Draft { document: String::with_capacity(text.len()), ..Draft::default() };
    draft.document.push('{');
    for (name, value) in members.iter() {
        if name == KEY {
            let is_first = draft.key.is_none();
            let key = serde_json::from_str(value).map(Cow::Owned).map_err(|_| "must be a string");
            draft.key = Some(if is_first { key } else { Err("appears more than once") });
            continue;
        }
        if name == REFERENCE {
            // What is no text the model refuses.
            draft.reference = serde_json::from_str(value).ok().map(Cow::Owned);
        }
        if draft.document.len() > 1 {
            draft.document.push(',');
        }
        draft.document.push_str(&serde_json::to_string(name).expect("a text is JSON"));
        draft.document.push(':');
        draft.document.push_str(value);
    }
    draft.document.push('}');
    draft.check(line, digest, |_, _| None)
}
