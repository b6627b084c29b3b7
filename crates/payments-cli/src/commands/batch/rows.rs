//! The rows of a file in either format.

use std::borrow::Cow;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, BufRead, BufReader};

use payments_journal::IntentKey;
use payments_model::unversioned::{RequestMembers, check_ends};
use payments_model::{TokenTransaction, printable_field_name};

use super::csv_rows::CsvRows;
use crate::batch_report::Problem;
use crate::row_file::{Format, JsonLines, NO_API_KEY, NOT_CARDS, RowFile, is_like_a_card};

/// Whether a text contains the API key.
pub(super) type IsSecret<'a> = &'a dyn Fn(&str) -> bool;

/// Reads the rows and counts them.
pub(super) struct Rows<'a> {
    source: Source,
    is_secret: IsSecret<'a>,
    count: u64,
}

enum Source {
    Csv(Box<CsvRows<BufReader<File>>>),
    JsonLines(JsonRows<BufReader<File>>),
}

impl<'a> Rows<'a> {
    /// Starts at the first row. Returns the problems of the header, and no rows if they make the rows unreadable.
    pub(super) fn begin(
        file: &mut RowFile,
        is_secret: IsSecret<'a>,
    ) -> io::Result<(Option<Self>, Vec<Problem>)> {
        let source = file.rewound()?;
        let (source, problems) = match file.format() {
            Format::Csv => {
                let (rows, problems) = CsvRows::begin(source, is_secret)?;
                (rows.map(|rows| Source::Csv(Box::new(rows))), problems)
            }
            Format::JsonLines => (Some(Source::JsonLines(JsonRows::new(source))), Vec::new()),
        };
        Ok((source.map(|source| Self { source, is_secret, count: 0 }), problems))
    }

    pub(super) fn next(&mut self) -> io::Result<Option<RowRead>> {
        let read = match &mut self.source {
            Source::Csv(rows) => rows.next(self.is_secret),
            Source::JsonLines(rows) => rows.next(self.is_secret),
        }?;
        Ok(read.map(|mut read| {
            self.count += 1;
            read.number = self.count;
            if let Ok(row) = &mut read.content {
                row.number = self.count;
            }
            read
        }))
    }
}

/// The name of the key, in addition to the names of the interface.
pub(super) const KEY: &str = "Key";

/// The field that is the key of a row without `Key`.
pub(super) const REFERENCE: &str = "ReferenceNo";

const DESCRIPTION: &str = "Description";

/// A row that can be charged.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Its place among the rows, from 1: what tells it apart from the others.
    pub(super) number: u64,
    /// The line where it starts, from 1, for people.
    pub(super) line: u64,
    pub(super) key: IntentKey,
    pub(super) payment: TokenTransaction,
}

/// The result of reading a row.
#[derive(Debug)]
pub(super) struct RowRead {
    pub(super) number: u64,
    pub(super) line: u64,
    /// A digest of the row, to notice if it has changed when it is read again.
    pub(super) digest: u64,
    /// The key, if it could be read, even if the row has other problems. It may be a duplicate.
    pub(super) key: Option<IntentKey>,
    /// The fields that look like card numbers.
    pub(super) like_cards: LikeCards,
    pub(super) content: Result<Row, Vec<Problem>>,
}

impl RowRead {
    /// A row whose fields could not be read.
    pub(super) fn unreadable(line: u64, digest: u64, problems: Vec<Problem>) -> Self {
        let like_cards = LikeCards::default();
        Self { number: 0, line, digest, key: None, like_cards, content: Err(problems) }
    }
}

/// The fields of a row that look like card numbers. That is an error unless the person says that they are none, because in a
/// file with mixed-up columns they are.
#[derive(Clone, Debug, Default)]
pub(super) struct LikeCards {
    /// The field that is the key, unless the journal has the key.
    pub(super) key: Option<&'static str>,
    pub(super) others: Vec<&'static str>,
}

/// The problem of a field that looks like a card number.
pub(super) fn like_a_card(line: u64, field: &'static str) -> Problem {
    let rule = match field {
        "TokenId" => "must be a token of the service, never a card number",
        _ => "must not contain a card number",
    };
    Problem::new(line, field, format!("{rule}; {NOT_CARDS}"))
}

/// A row that is not checked yet.
#[derive(Debug, Default)]
pub(super) struct Draft<'a> {
    /// The text of `Key`, or the rule that it breaks if it is not a string.
    pub(super) key: Option<Result<Cow<'a, str>, &'static str>>,
    reference: Option<Cow<'a, str>>,
    description: Option<Cow<'a, str>>,
    /// The request as a JSON object, without the key.
    pub(super) document: String,
    /// Problems in addition to those that the model finds.
    pub(super) problems: Vec<Problem>,
}

impl<'a> Draft<'a> {
    /// Keeps the text of a field that the row's own rules need.
    pub(super) fn keep(&mut self, name: &str, text: Cow<'a, str>) {
        match name {
            REFERENCE => self.reference = Some(text),
            DESCRIPTION => self.description = Some(text),
            _ => {}
        }
    }

    /// Validates the row. `words` may replace the text of a violation's rule.
    pub(super) fn check(
        self,
        line: u64,
        digest: u64,
        words: impl Fn(&str, &str) -> Option<String>,
    ) -> RowRead {
        let Self { key, reference, description, document, mut problems } = self;
        let key_field = if key.is_some() { KEY } else { REFERENCE };
        // In words, as after an emoji, these belong to the letter before them.
        let is_selector = |letter| matches!(letter, '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}');
        let description = description.as_deref().map(|text| text.trim_end_matches(is_selector));
        for (field, text) in [(REFERENCE, reference.as_deref()), (DESCRIPTION, description)] {
            if let Some(Err(rule)) = text.map(check_ends) {
                problems.push(Problem::new(line, field, rule));
            }
        }
        let key = match key_of(key, reference.as_deref()) {
            Ok(key) => Some(key),
            Err((field, rule)) => {
                if problems.iter().all(|problem| problem.field != field) {
                    problems.push(Problem::new(line, field, rule));
                }
                None
            }
        };
        let payment = match TokenTransaction::from_json(document.as_bytes()) {
            Ok(payment) => Some(payment),
            Err(error) => {
                for violation in error.violations() {
                    let (field, rule) = (violation.field(), violation.rule());
                    // A reference that is the key has its own rule.
                    if field != REFERENCE || problems.iter().all(|problem| problem.field != field) {
                        let rule = words(field, rule).unwrap_or_else(|| rule.to_owned());
                        problems.push(Problem::new(line, field.to_owned(), rule));
                    }
                }
                None
            }
        };
        let token = payment.as_ref().map(|payment| payment.token_id().as_str());
        let others =
            [("TokenId", token), (REFERENCE, reference.as_deref().filter(|_| key_field != REFERENCE))];
        let like_cards = LikeCards {
            key: key.as_ref().filter(|key| is_like_a_card(key.as_str())).map(|_| key_field),
            others: others
                .into_iter()
                .filter(|(_, text)| text.is_some_and(is_like_a_card))
                .map(|(field, _)| field)
                .collect(),
        };
        let content = match (&key, payment) {
            (Some(key), Some(payment)) if problems.is_empty() => {
                Ok(Row { number: 0, line, key: key.clone(), payment })
            }
            _ => Err(problems),
        };
        RowRead { number: 0, line, digest, key, like_cards, content }
    }
}

/// The key of the row, or the invalid field and the rule that it breaks.
fn key_of(
    key: Option<Result<Cow<'_, str>, &'static str>>,
    reference: Option<&str>,
) -> Result<IntentKey, (&'static str, String)> {
    let new = |text: &str| IntentKey::new(text).map_err(|error| error.rule());
    match (key, reference) {
        (Some(Ok(key)), _) => new(&key).map_err(|rule| (KEY, rule.to_owned())),
        (Some(Err(rule)), _) => Err((KEY, rule.to_owned())),
        (None, Some(reference)) => new(reference)
            .map_err(|rule| (REFERENCE, format!("{rule}, because it is the key of a row without Key"))),
        (None, None) => Err((KEY, "is required if there is no ReferenceNo".to_owned())),
    }
}

/// Reads one row at a time into memory.
pub(super) struct JsonRows<R>(JsonLines<R>);

impl<R: BufRead> JsonRows<R> {
    pub(super) fn new(source: R) -> Self {
        Self(JsonLines::new(source))
    }

    /// The next row; `None` at the end. Skips blank lines.
    pub(super) fn next(&mut self, is_secret: IsSecret<'_>) -> io::Result<Option<RowRead>> {
        let Some((line, text)) = self.0.next()? else { return Ok(None) };
        Ok(Some(match text {
            Ok(text) => read(text, line, digest(text), is_secret),
            Err(rule) => RowRead::unreadable(line, 0, vec![Problem::new(line, "row", rule)]),
        }))
    }
}

fn digest(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn read(text: &[u8], line: u64, digest: u64, is_secret: IsSecret<'_>) -> RowRead {
    let members = match RequestMembers::read(text) {
        Ok(members) => members,
        Err(error) => {
            let problem = |violation: &payments_model::Violation| {
                // The position within the row, whose line is already shown.
                let rule = violation.rule().replace("at line 1, column", "at column");
                Problem::new(line, "row", rule)
            };
            return RowRead::unreadable(line, digest, error.violations().iter().map(problem).collect());
        }
    };
    let mut draft = Draft::default();
    let mut written = Vec::new();
    for (name, value) in members.iter() {
        if is_secret(name) {
            draft.problems.push(Problem::new(line, "row", NO_API_KEY));
            continue;
        }
        let text: Option<String> = serde_json::from_str(value).ok();
        if text.as_deref().is_some_and(is_secret) {
            draft.problems.push(Problem::new(line, printable_field_name(name).into_owned(), NO_API_KEY));
        }
        if name == KEY {
            let is_first = draft.key.is_none();
            let key = text.map(Cow::Owned).ok_or("must be a string");
            draft.key = Some(if is_first { key } else { Err("appears more than once") });
            continue;
        }
        if name.trim() == KEY {
            let rule = "has white space around the name Key: remove it";
            draft.problems.push(Problem::new(line, printable_field_name(name).into_owned(), rule));
            continue;
        }
        // The model refuses a value that is not a string.
        if let Some(text) = text {
            draft.keep(name, Cow::Owned(text));
        }
        let name = serde_json::to_string(name).expect("a string is valid JSON");
        written.push(format!("{name}:{value}"));
    }
    draft.document = format!("{{{}}}", written.join(","));
    draft.check(line, digest, |_, _| None)
}
