//! The file of a billing run: a header with the interface's names and `Key`, then a row for each charge. It is read once, into
//! memory: a run sends exactly the rows that it has checked.

mod row;

use std::path::Path;

use payments_model::unversioned::printable_field_name;
use payments_model::{TokenTransaction, ValidationError, Violation};

pub(super) use self::row::{BillingRow, LikeCards, RowRead, Rows};
use crate::call::same_payment::Fate;
use crate::failure::{Failure, Problem};
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
        (columns.map(|columns| Rows::new(table, columns, api_keys)), problems)
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
