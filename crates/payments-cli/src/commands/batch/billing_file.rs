//! The file of a billing run: a header with the interface's names and `Key`, then a row for each charge. It is read once, into
//! memory: a run sends exactly the rows that it has checked.

use std::path::Path;

use payments_journal::IntentKey;
use payments_model::unversioned::{check_ends, printable_field_name};
use payments_model::{Amount, TokenTransaction, TransactionId, ValidationError, Violation};

use crate::call::same_payment::Fate;
use crate::failure::{Failure, Problem};
use crate::intent::why_rejected;
use crate::report::run::{ListedRow, RejectedRow, RowOutcome, UnresolvedRow};
use crate::rows::card_like_ids::is_like_a_card;
use crate::rows::{NO_API_KEY, Role, RowFile, Table};
use crate::settings::{JournalPlace, KnownKeys};

/// The whole file.
#[derive(Debug)]
pub(super) struct BillingFile {
    pub(super) csv: RowFile,
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
        Ok(Self { csv: file, ignored })
    }

    /// The rows from the start, and the problems of the header. No rows if those make the rows unreadable. A text that contains
    /// one of the keys is a problem.
    pub(super) fn rows<'a>(&'a self, api_keys: &'a KnownKeys) -> (Option<Rows<'a>>, Vec<Problem>) {
        let table = match self.csv.table(b',') {
            Ok(table) => table,
            Err(problem) => return (None, vec![problem]),
        };
        let (columns, problems) = columns(&table, &self.ignored, api_keys);
        (columns.map(|columns| Rows { table, columns, api_keys, count: 0 }), problems)
    }

    /// The rows to send, of a file whose rows were all checked.
    pub(super) fn to_send<'a>(
        &'a self,
        fates: Vec<Fate>,
        api_keys: &'a KnownKeys,
    ) -> impl Iterator<Item = BillingRow> + 'a {
        let mut rows = self.rows(api_keys).0.expect("the header was checked");
        fates.into_iter().filter_map(move |fate| {
            if fate != Fate::ToSend {
                rows.skip_one();
                return None;
            }
            let read = rows.next().expect("every row was counted");
            Some(read.content.expect("every row was checked"))
        })
    }
}

/// The columns of the table, and their problems. No columns if a required one is missing.
fn columns(
    table: &Table<'_>,
    ignored: &[String],
    api_keys: &KnownKeys,
) -> (Option<Vec<Column>>, Vec<Problem>) {
    let line = table.line();
    let mut problems = Vec::new();
    let mut columns = Vec::new();
    for name in table.headings() {
        let shown = || printable_field_name(name).into_owned();
        let column = match COLUMNS.iter().find(|known| **known == name.trim()) {
            Some(known) if columns.contains(&Column::Field(known)) => {
                problems.push(Problem::new(line, shown(), "is a column more than once"));
                Column::Invalid
            }
            Some(known) => {
                if known != name {
                    let rule = format!("has white space around the name {known}: remove it");
                    problems.push(Problem::new(line, shown(), rule));
                }
                Column::Field(known)
            }
            None if name.is_empty() => Column::Unnamed,
            None if api_keys.is_in(name) => {
                problems.push(Problem::new(line, "header", NO_API_KEY));
                Column::Invalid
            }
            None if ignored.iter().any(|ignored| ignored.trim() == name.trim()) => Column::Ignored,
            None => {
                let known = COLUMNS.join(", ");
                let rule = format!("is none of the columns {known}: fix the name, or give --ignore-columns");
                problems.push(Problem::new(line, shown(), rule));
                Column::Invalid
            }
        };
        columns.push(column);
    }
    let missing = missing(&columns, !ignored.is_empty());
    let is_complete = missing.is_empty();
    problems.extend(missing.into_iter().map(|(name, rule)| Problem::new(line, name, rule)));
    (is_complete.then_some(columns), problems)
}

/// The content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// The key, or a field of the interface.
    Field(&'static str),
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

/// A JSON number.
const AMOUNT: &str = "Amount";

/// `true` or `false`, as a spreadsheet may write them.
const FLAG: &str = "ConvenienceFeeActive";

/// The key and the interface's fields; a test compares them with the model.
const COLUMNS: [&str; 7] = [KEY, "TokenId", "GatewayCustomerId", AMOUNT, FLAG, DESCRIPTION, REFERENCE];

/// The required fields of a request, and the key, for which there is no column; each with the rule that it breaks.
fn missing(columns: &[Column], ignores_some: bool) -> Vec<(String, &'static str)> {
    const RULE: &str = "is missing in the header";
    let has =
        |name: &str| columns.iter().any(|column| matches!(column, Column::Field(field) if *field == name));
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

/// Refuses the name of a field in `--ignore-columns`, in any case, because a value would be lost.
pub(super) fn refuse_ignored_fields(ignored: &[String]) -> Result<(), Failure> {
    let field = |name: &&str| ignored.iter().any(|it| it.trim().eq_ignore_ascii_case(name));
    match COLUMNS.into_iter().find(|name| field(name)) {
        Some(name) => Err(Failure::usage(format!(
            "--ignore-columns names {name}, which is a column of the charge and cannot be ignored; nothing was sent"
        ))),
        None => Ok(()),
    }
}

/// A row that can be charged.
#[derive(Clone, Debug)]
pub(super) struct BillingRow {
    /// Its place among the rows, from 1: what tells it apart from the others.
    pub(super) number: u64,
    /// The line where it starts, from 1, for people.
    pub(super) line: u64,
    pub(super) key: IntentKey,
    pub(super) payment: TokenTransaction,
}

impl BillingRow {
    fn listed(&self) -> ListedRow {
        let (number, line, key) = (self.number, self.line, self.key.clone());
        ListedRow { number, line, key, amount: self.payment.amount() }
    }

    /// The row in a list of those that a person must look at, and why.
    pub(super) fn unresolved(
        &self,
        transaction_id: Option<&TransactionId>,
        outcome: RowOutcome,
        kind: &str,
    ) -> UnresolvedRow {
        let (transaction_id, kind) = (transaction_id.map(ToString::to_string), kind.to_owned());
        UnresolvedRow { row: self.listed(), transaction_id, outcome, kind }
    }

    /// The row in a list of those that were rejected, and why.
    pub(super) fn rejected(&self, failure: &payments_journal::Failure) -> RejectedRow {
        let reason = failure.reason.clone().unwrap_or_else(|| why_rejected(failure));
        RejectedRow { row: self.listed(), reason }
    }
}

/// The result of reading a row.
#[derive(Debug)]
pub(super) struct RowRead {
    pub(super) line: u64,
    /// The key, if it could be read, even if the row has other problems. It may be a duplicate.
    pub(super) key: Option<IntentKey>,
    /// The fields that look like card numbers.
    pub(super) like_cards: LikeCards,
    pub(super) content: Result<BillingRow, Vec<Problem>>,
}

/// The fields of a row that look like card numbers. That is an error unless the person says that they are none, because in a
/// file with mixed-up columns they are.
#[derive(Clone, Debug, Default)]
pub(super) struct LikeCards {
    /// The field that is the key, unless the journal has the key.
    pub(super) key: Option<&'static str>,
    pub(super) others: Vec<&'static str>,
}

/// Reads one row at a time, and counts them.
pub(super) struct Rows<'a> {
    table: Table<'a>,
    columns: Vec<Column>,
    api_keys: &'a KnownKeys,
    count: u64,
}

impl Rows<'_> {
    /// Skips the next row.
    fn skip_one(&mut self) {
        let _ = self.table.next();
        self.count += 1;
    }

    /// Validates the row that was read.
    fn row(&self) -> RowRead {
        let line = self.table.line();
        let (cells, mut problems) = self.cells();
        let cell = |name: &str| cells.iter().find(|(of, _)| *of == name).map(|(_, cell)| *cell);
        let [key, reference, description] = [KEY, REFERENCE, DESCRIPTION].map(cell);
        let description = description.map(|text| text.trim_end_matches(is_selector));
        for (field, text) in [(REFERENCE, reference), (DESCRIPTION, description)] {
            if let Some(Err(rule)) = text.map(check_ends) {
                problems.push(Problem::new(line, field, rule));
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
        let members = cells.iter().filter(|(name, _)| *name != KEY);
        let members = members.map(|(name, cell)| format!("\"{name}\":{}", json(name, cell)));
        let document = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
        let payment = TokenTransaction::from_json(document.as_bytes())
            .map_err(|error| {
                for violation in error.violations() {
                    let field = violation.field();
                    // A reference that is the key has its own rule.
                    if field != REFERENCE || problems.iter().all(|problem| problem.field != field) {
                        let better = cell(field).and_then(|cell| better_rule(field, cell));
                        let rule = better.unwrap_or_else(|| violation.rule().to_owned());
                        problems.push(Problem::new(line, field.to_owned(), rule));
                    }
                }
            })
            .ok();
        let token = payment.as_ref().map(|payment| payment.token_id().as_str());
        let others = [("TokenId", token), (REFERENCE, reference.filter(|_| key_field != REFERENCE))];
        let others = others.into_iter().filter(|(_, text)| text.is_some_and(is_like_a_card));
        let like_cards = LikeCards {
            key: key.as_ref().filter(|key| is_like_a_card(key.as_str())).map(|_| key_field),
            others: others.map(|(field, _)| field).collect(),
        };
        let content = match (&key, payment) {
            (Some(key), Some(payment)) if problems.is_empty() => {
                Ok(BillingRow { number: self.count, line, key: key.clone(), payment })
            }
            _ => Err(problems),
        };
        RowRead { line, key, like_cards, content }
    }

    /// The filled cells with the names of their columns, and the problems of those that cannot be read or have none.
    fn cells(&self) -> (Vec<(&'static str, &str)>, Vec<Problem>) {
        let line = self.table.line();
        let (mut cells, mut problems) = (Vec::new(), Vec::new());
        for (index, column) in self.columns.iter().enumerate() {
            let name = match column {
                Column::Field(name) => name,
                Column::Ignored => continue,
                Column::Unnamed | Column::Invalid => "row",
            };
            let cell = match self.table.cell(index) {
                Ok("") => continue,
                Ok(cell) => cell,
                Err(rule) => {
                    problems.push(Problem::new(line, name, rule));
                    continue;
                }
            };
            if self.api_keys.is_in(cell) {
                problems.push(Problem::new(line, name, NO_API_KEY));
            }
            match column {
                Column::Field(name) => cells.push((*name, cell)),
                Column::Unnamed => {
                    let rule = format!("has a value in column {}, which has no name", index + 1);
                    problems.push(Problem::new(line, name, rule));
                }
                Column::Ignored | Column::Invalid => {}
            }
        }
        (cells, problems)
    }
}

impl Iterator for Rows<'_> {
    type Item = RowRead;

    fn next(&mut self) -> Option<RowRead> {
        let read = self.table.next()?;
        self.count += 1;
        Some(match read {
            Ok(()) => self.row(),
            Err(problem) => RowRead {
                line: self.table.line(),
                key: None,
                like_cards: LikeCards::default(),
                content: Err(vec![problem]),
            },
        })
    }
}

/// The cell as a member of a request. An amount is a number there, and a flag may be in any case.
fn json(name: &str, cell: &str) -> String {
    let is_flag = || cell.eq_ignore_ascii_case("true") || cell.eq_ignore_ascii_case("false");
    match name {
        AMOUNT if amount_rule(cell).is_none() => cell.to_owned(),
        FLAG if is_flag() => cell.to_ascii_lowercase(),
        _ => serde_json::to_string(cell).expect("a string is valid JSON"),
    }
}

/// A better rule than that of the model, which does not see the cell.
fn better_rule(name: &str, cell: &str) -> Option<String> {
    match name {
        AMOUNT => amount_rule(cell),
        FLAG => check_ends(cell).err().map(str::to_owned),
        _ => None,
    }
}

/// The rule that an amount breaks. A number with an exponent comes from a spreadsheet, which shows `1.02E+02` for 101.55.
fn amount_rule(cell: &str) -> Option<String> {
    if let Err(rule) = check_ends(cell) {
        return Some(rule.to_owned());
    }
    // Too many decimals are refused with the whole request.
    let has_exponent = cell
        .split_once(['e', 'E'])
        .is_some_and(|(number, _)| number.split_once('.').is_none_or(|(_, decimals)| decimals.len() <= 2));
    match cell.parse::<Amount>() {
        Ok(_) if has_exponent => Some(
            "must be written without an exponent: a spreadsheet that writes one leaves digits out".to_owned(),
        ),
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    }
}

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

#[cfg(test)]
mod tests {
    use payments_model::unversioned::RequestMembers;

    use super::*;

    #[test]
    fn columns_are_the_fields_of_the_request_and_the_key() {
        let members: Vec<_> = COLUMNS
            .iter()
            .filter_map(|name| match *name {
                KEY => None,
                AMOUNT => Some(format!(r#""{name}":1.5"#)),
                FLAG => Some(format!(r#""{name}":true"#)),
                _ => Some(format!(r#""{name}":"x""#)),
            })
            .collect();
        let document = format!("{{{}}}", members.join(","));
        let payment = TokenTransaction::from_json(document.as_bytes()).expect("every field is taken");
        let written = payment.to_json();
        let written = RequestMembers::read(written.as_ref()).expect("an object");
        assert_eq!(written.iter().count(), COLUMNS.len() - 1);
    }
}
