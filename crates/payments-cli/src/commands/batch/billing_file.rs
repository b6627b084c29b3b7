//! The file of a billing run: a header with the interface's names and `Key`, then a row for each charge. It is read once, into
//! memory, so that exactly what was checked is sent.

use std::path::Path;

use payments_journal::IntentKey;
use payments_model::unversioned::check_ends;
use payments_model::{Amount, TokenTransaction, ValidationError, Violation, printable_field_name};

use crate::csv_file::Table;
use crate::failure::Failure;
use crate::journal_place::JournalPlace;
use crate::report::problems::{Problem, Role};
use crate::row_file::{NO_API_KEY, NOT_CARDS, RowFile, is_like_a_card};

/// The whole file.
#[derive(Debug)]
pub(super) struct BillingFile {
    file: RowFile,
    /// Columns that are not read.
    ignored: Vec<String>,
}

impl BillingFile {
    /// Reads the file, without the columns to ignore.
    pub(super) fn read(path: &Path, ignored: Vec<String>, place: &JournalPlace) -> Result<Self, Failure> {
        let file = RowFile::read(path, Role::BillingRun, place)?;
        if file.is_json_lines {
            let why = " is JSON Lines by its name or its first letter, and must be CSV";
            return Err(Role::BillingRun.refused(why));
        }
        Ok(Self { file, ignored })
    }

    /// The file's name, if it may be shown.
    pub(super) fn name(&self) -> Option<&str> {
        self.file.name.as_deref()
    }

    /// The rows from the start, and the problems of the header. No rows if those make the rows unreadable.
    pub(super) fn rows(&self, is_secret: IsSecret<'_>) -> (Option<Rows<'_>>, Vec<Problem>) {
        Rows::begin(&self.file, &self.ignored, is_secret)
    }

    /// The rows that are not settled, of a file whose rows were all checked.
    pub(super) fn unsettled(&self, is_settled: Vec<bool>) -> impl Iterator<Item = Row> {
        let mut rows = self.rows(&|_| false).0.expect("the header was checked");
        is_settled.into_iter().filter_map(move |is_settled| {
            if is_settled {
                rows.skip();
                return None;
            }
            let read = rows.next(&|_| false).expect("every row was counted");
            Some(read.content.expect("every row was checked"))
        })
    }
}

/// Whether a text contains the API key.
pub(super) type IsSecret<'a> = &'a dyn Fn(&str) -> bool;

/// Reads one row at a time, and counts them.
pub(super) struct Rows<'a> {
    table: Table<'a>,
    columns: Vec<Column>,
    count: u64,
}

/// The content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Key,
    Text(&'static str),
    /// A JSON number.
    Amount,
    /// `true` or `false`, as a spreadsheet may write them.
    Flag,
    /// A column without a name, as spreadsheets leave them. It must be empty.
    Unnamed,
    /// A column of `--ignore-columns`.
    Ignored,
    /// A column whose problem is already reported.
    Invalid,
}

/// The name of the key, in addition to the names of the interface.
const KEY: &str = "Key";

/// The field that is the key of a row without `Key`.
const REFERENCE: &str = "ReferenceNo";

const DESCRIPTION: &str = "Description";

/// The interface's columns; a test compares them with the model.
const COLUMNS: [(&str, Column); 7] = [
    (KEY, Column::Key),
    ("TokenId", Column::Text("TokenId")),
    ("GatewayCustomerId", Column::Text("GatewayCustomerId")),
    ("Amount", Column::Amount),
    ("ConvenienceFeeActive", Column::Flag),
    (DESCRIPTION, Column::Text(DESCRIPTION)),
    (REFERENCE, Column::Text(REFERENCE)),
];

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
    pub(super) line: u64,
    /// The key, if it could be read, even if the row has other problems. It may be a duplicate.
    pub(super) key: Option<IntentKey>,
    /// The fields that look like card numbers.
    pub(super) like_cards: LikeCards,
    pub(super) content: Result<Row, Vec<Problem>>,
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

/// Refuses the name of a field in `--ignore-columns`, in any case, because a value would be lost.
pub(super) fn refuse_ignored_fields(ignored: &[String]) -> Result<(), Failure> {
    let field = |name: &&str| ignored.iter().any(|it| it.trim().eq_ignore_ascii_case(name));
    match COLUMNS.iter().map(|(name, _)| *name).find(|name| field(name)) {
        Some(name) => Err(Failure::invalid(
            "usage",
            format!(
                "--ignore-columns names {name}, which is a column of the charge and cannot be ignored; nothing was sent"
            ),
        )),
        None => Ok(()),
    }
}

impl<'a> Rows<'a> {
    /// Reads the header. Returns its problems, and no rows if a required column is missing.
    pub(super) fn begin(
        file: &'a RowFile,
        ignored: &[String],
        is_secret: IsSecret<'_>,
    ) -> (Option<Self>, Vec<Problem>) {
        let table = match file.table(b',') {
            Ok(table) => table,
            Err(problem) => return (None, vec![problem]),
        };
        let line = table.line();
        let mut problems = Vec::new();
        let mut columns = Vec::new();
        for name in table.headings() {
            let shown = || printable_field_name(name).into_owned();
            let column = match COLUMNS.iter().find(|(known, _)| *known == name.trim()) {
                Some((_, column)) if columns.contains(column) => {
                    problems.push(Problem::new(line, shown(), "is a column more than once"));
                    Column::Invalid
                }
                Some((known, column)) => {
                    if known != name {
                        let rule = format!("has white space around the name {known}: remove it");
                        problems.push(Problem::new(line, shown(), rule));
                    }
                    *column
                }
                None if name.is_empty() => Column::Unnamed,
                None if is_secret(name) => {
                    problems.push(Problem::new(line, "header", NO_API_KEY));
                    Column::Invalid
                }
                None if ignored.iter().any(|ignored| ignored.trim() == name.trim()) => Column::Ignored,
                None => {
                    let known = COLUMNS.map(|(name, _)| name).join(", ");
                    let rule =
                        format!("is none of the columns {known}: fix the name, or give --ignore-columns");
                    problems.push(Problem::new(line, shown(), rule));
                    Column::Invalid
                }
            };
            columns.push(column);
        }
        let missing = missing(&columns, !ignored.is_empty());
        let is_complete = missing.is_empty();
        problems.extend(missing.into_iter().map(|(name, rule)| Problem::new(line, name, rule)));
        (is_complete.then_some(Self { table, columns, count: 0 }), problems)
    }

    /// The next row; `None` at the end.
    pub(super) fn next(&mut self, is_secret: IsSecret<'_>) -> Option<RowRead> {
        let read = self.table.next()?;
        self.count += 1;
        Some(match read {
            Ok(()) => self.row(is_secret),
            Err(problem) => RowRead {
                line: self.table.line(),
                key: None,
                like_cards: LikeCards::default(),
                content: Err(vec![problem]),
            },
        })
    }

    /// Skips the next row.
    pub(super) fn skip(&mut self) {
        let _ = self.table.next();
        self.count += 1;
    }

    /// Validates the row that was read.
    fn row(&self, is_secret: IsSecret<'_>) -> RowRead {
        let line = self.table.line();
        let (mut key, mut reference, mut description) = (None, None, None);
        // Better rules than those of the model, which does not see the cell.
        let mut rules = Vec::new();
        let mut problems = Vec::new();
        let mut report = |field: &'static str, rule: &str| {
            problems.push(Problem::new(line, field, rule.to_owned()));
        };
        // The request as JSON.
        let mut members = Vec::new();
        let mut write = |name: &str, value: &str| members.push(format!("\"{name}\":{value}"));
        let columns = self.columns.iter().enumerate().filter(|(_, column)| **column != Column::Ignored);
        for (index, column) in columns {
            let cell = match self.table.cell(index) {
                Ok("") => continue,
                Ok(cell) => cell,
                Err(rule) => {
                    report(column.name(), rule);
                    continue;
                }
            };
            if is_secret(cell) {
                report(column.name(), NO_API_KEY);
            }
            match *column {
                Column::Ignored | Column::Invalid => {}
                Column::Unnamed => {
                    report("row", &format!("has a value in column {}, which has no name", index + 1));
                }
                Column::Key => key = Some(cell),
                Column::Text(name) => {
                    write(name, &text(cell));
                    match name {
                        REFERENCE => reference = Some(cell),
                        DESCRIPTION => description = Some(cell),
                        _ => {}
                    }
                }
                Column::Amount => match cell.parse::<Amount>() {
                    Ok(_) => write("Amount", cell),
                    Err(error) => {
                        let rule = check_ends(cell).map_or_else(str::to_owned, |()| error.to_string());
                        rules.push(("Amount", rule));
                        write("Amount", &text(cell));
                    }
                },
                Column::Flag if cell.eq_ignore_ascii_case("true") => write("ConvenienceFeeActive", "true"),
                Column::Flag if cell.eq_ignore_ascii_case("false") => write("ConvenienceFeeActive", "false"),
                Column::Flag => {
                    rules
                        .extend(check_ends(cell).err().map(|rule| ("ConvenienceFeeActive", rule.to_owned())));
                    write("ConvenienceFeeActive", &text(cell));
                }
            }
        }
        let description = description.map(|text: &str| text.trim_end_matches(is_selector));
        for (field, text) in [(REFERENCE, reference), (DESCRIPTION, description)] {
            if let Some(Err(rule)) = text.map(check_ends) {
                report(field, rule);
            }
        }
        let key_field = if key.is_some() { KEY } else { REFERENCE };
        // The ignored column may be that of the keys, with a mistyped name.
        let is_key_required = self.columns.contains(&Column::Ignored);
        let key = match key_of(key, reference, is_key_required) {
            Ok(key) => Some(key),
            Err((field, rule)) => {
                if problems.iter().all(|problem| problem.field != field) {
                    problems.push(Problem::new(line, field, rule));
                }
                None
            }
        };
        let document = format!("{{{}}}", members.join(","));
        let payment = TokenTransaction::from_json(document.as_bytes())
            .map_err(|error| {
                for violation in error.violations() {
                    let field = violation.field();
                    // A reference that is the key has its own rule.
                    if field != REFERENCE || problems.iter().all(|problem| problem.field != field) {
                        let better = rules.iter().find(|(of, _)| *of == field);
                        let rule = better.map_or_else(|| violation.rule(), |(_, rule)| rule);
                        problems.push(Problem::new(line, field.to_owned(), rule.to_owned()));
                    }
                }
            })
            .ok();
        let token = payment.as_ref().map(|payment| payment.token_id().as_str());
        let others = [("TokenId", token), (REFERENCE, reference.filter(|_| key_field != REFERENCE))];
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
                Ok(Row { number: self.count, line, key: key.clone(), payment })
            }
            _ => Err(problems),
        };
        RowRead { line, key, like_cards, content }
    }
}

impl Column {
    const fn name(self) -> &'static str {
        match self {
            Self::Key => KEY,
            Self::Text(name) => name,
            Self::Amount => "Amount",
            Self::Flag => "ConvenienceFeeActive",
            Self::Unnamed | Self::Ignored | Self::Invalid => "row",
        }
    }
}

/// The required fields of a request, and the key, for which there is no column; each with the rule that it breaks.
fn missing(columns: &[Column], ignores_some: bool) -> Vec<(String, &'static str)> {
    const RULE: &str = "is missing in the header";
    let has = |name: &str| columns.iter().any(|column| column.name() == name);
    let error = TokenTransaction::from_json(b"{}").err();
    let required = error.iter().flat_map(ValidationError::violations);
    let fields = required.map(Violation::field).filter(|name| !has(name));
    let mut missing: Vec<_> = fields.map(|name| (name.to_owned(), RULE)).collect();
    if !has(KEY) && ignores_some {
        missing.push((KEY.to_owned(), KEY_IS_REQUIRED));
    } else if !has(KEY) && !has(REFERENCE) {
        missing.push((format!("{KEY} or {REFERENCE}"), RULE));
    }
    missing
}

const KEY_IS_REQUIRED: &str = "is missing in the header, and --ignore-columns requires it: if the column of the keys were ignored \
    because its name is mistyped, every key would change, and everybody would be charged again";

/// The key of the row, or the invalid field and the rule that it breaks.
fn key_of(
    key: Option<&str>,
    reference: Option<&str>,
    is_key_required: bool,
) -> Result<IntentKey, (&'static str, String)> {
    let new = |text: &str| IntentKey::new(text).map_err(|error| error.rule());
    match (key, reference) {
        (Some(key), _) => new(key).map_err(|rule| (KEY, rule.to_owned())),
        (None, _) if is_key_required => Err((KEY, "is required with --ignore-columns".to_owned())),
        (None, Some(reference)) => new(reference)
            .map_err(|rule| (REFERENCE, format!("{rule}, because it is the key of a row without Key"))),
        (None, None) => Err((KEY, "is required if there is no ReferenceNo".to_owned())),
    }
}

/// In words, as after an emoji, these belong to the letter before them.
fn is_selector(letter: char) -> bool {
    matches!(letter, '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}')
}

fn text(cell: &str) -> String {
    serde_json::to_string(cell).expect("a string is valid JSON")
}

#[cfg(test)]
mod tests {
    use payments_model::unversioned::RequestMembers;

    use super::*;

    #[test]
    fn columns_are_the_fields_of_the_request_and_the_key() {
        let members: Vec<_> = COLUMNS
            .iter()
            .filter_map(|(name, column)| match column {
                Column::Text(_) => Some(format!(r#""{name}":"x""#)),
                Column::Amount => Some(format!(r#""{name}":1.5"#)),
                Column::Flag => Some(format!(r#""{name}":true"#)),
                Column::Key | Column::Unnamed | Column::Ignored | Column::Invalid => None,
            })
            .collect();
        let document = format!("{{{}}}", members.join(","));
        let payment = TokenTransaction::from_json(document.as_bytes()).expect("every field is taken");
        let written = payment.to_json();
        let written = RequestMembers::read(written.as_ref()).expect("an object");
        assert_eq!(written.iter().count(), COLUMNS.len() - 1);
    }
}
