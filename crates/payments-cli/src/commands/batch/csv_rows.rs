//! The rows of a CSV file: a header with the interface's names and `Key`, then a row for each charge.

use std::borrow::Cow;
use std::io::{self, BufRead};

use payments_model::unversioned::check_ends;
use payments_model::{Amount, TokenTransaction, ValidationError, printable_field_name};

use super::rows::{Draft, IsSecret, KEY, REFERENCE, RowRead};
use crate::batch_report::Problem;
use crate::csv_file::Table;
use crate::row_file::NO_API_KEY;

/// Reads one row at a time into memory.
pub(super) struct CsvRows<R> {
    table: Table<R>,
    columns: Vec<Column>,
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
    /// A column whose problem is already reported.
    Invalid,
}

/// The interface's columns; a test compares them with the model.
const COLUMNS: [(&str, Column); 7] = [
    (KEY, Column::Key),
    ("TokenId", Column::Text("TokenId")),
    ("GatewayCustomerId", Column::Text("GatewayCustomerId")),
    ("Amount", Column::Amount),
    ("ConvenienceFeeActive", Column::Flag),
    ("Description", Column::Text("Description")),
    (REFERENCE, Column::Text(REFERENCE)),
];

impl<R: BufRead> CsvRows<R> {
    /// Reads the header. Returns its problems, and no rows if a required column is missing.
    pub(super) fn begin(source: R, is_secret: IsSecret<'_>) -> io::Result<(Option<Self>, Vec<Problem>)> {
        let table = match Table::begin(source)? {
            Ok(table) => table,
            Err(problem) => return Ok((None, vec![problem])),
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
                None => {
                    problems.push(Problem::new(line, shown(), "is not a column of a token transaction"));
                    Column::Invalid
                }
            };
            columns.push(column);
        }
        let missing = missing(&columns);
        let is_complete = missing.is_empty();
        problems.extend(missing.into_iter().map(|name| Problem::new(line, name, "is missing in the header")));
        Ok((is_complete.then_some(Self { table, columns }), problems))
    }

    /// The next row; `None` at the end.
    pub(super) fn next(&mut self, is_secret: IsSecret<'_>) -> io::Result<Option<RowRead>> {
        let Some(read) = self.table.next()? else { return Ok(None) };
        let (line, digest) = (self.table.line(), self.table.digest());
        Ok(Some(match read {
            Ok(()) => self.row(line, digest, is_secret),
            Err(problem) => RowRead::unreadable(line, digest, vec![problem]),
        }))
    }

    fn row(&self, line: u64, digest: u64, is_secret: IsSecret<'_>) -> RowRead {
        let mut draft = Draft::default();
        // Better rules than those of the model, which does not see the cell.
        let mut rules = Vec::new();
        let mut problems = Vec::new();
        let mut report = |field: &'static str, rule: String| problems.push(Problem::new(line, field, rule));
        let mut members = Vec::new();
        let mut write = |name: &str, value: &str| members.push(format!("\"{name}\":{value}"));
        for (index, column) in self.columns.iter().enumerate() {
            let cell = match self.table.cell(index) {
                Ok("") => continue,
                Ok(cell) => cell,
                Err(rule) => {
                    report(column.name(), rule.to_owned());
                    continue;
                }
            };
            if is_secret(cell) {
                report(column.name(), NO_API_KEY.to_owned());
            }
            match *column {
                Column::Invalid => {}
                Column::Unnamed => {
                    report("row", format!("has a value in column {}, which has no name", index + 1));
                }
                Column::Key => draft.key = Some(Ok(Cow::Borrowed(cell))),
                Column::Text(name) => {
                    write(name, &text(cell));
                    draft.keep(name, Cow::Borrowed(cell));
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
        draft.problems = problems;
        draft.document = format!("{{{}}}", members.join(","));
        draft.check(line, digest, |of, _| {
            rules.iter().find(|(field, _)| *field == of).map(|(_, rule)| rule.clone())
        })
    }
}

impl Column {
    const fn name(self) -> &'static str {
        match self {
            Self::Key => KEY,
            Self::Text(name) => name,
            Self::Amount => "Amount",
            Self::Flag => "ConvenienceFeeActive",
            Self::Unnamed | Self::Invalid => "row",
        }
    }
}

/// The required fields of a request, and the key, for which there is no column.
fn missing(columns: &[Column]) -> Vec<String> {
    let has = |name: &str| columns.iter().any(|column| column.name() == name);
    let error = TokenTransaction::from_json(b"{}").err();
    let required = error.iter().flat_map(ValidationError::violations);
    let mut missing: Vec<_> = required.map(|it| it.field().to_owned()).filter(|name| !has(name)).collect();
    if !has(KEY) && !has(REFERENCE) {
        missing.push(format!("{KEY} or {REFERENCE}"));
    }
    missing
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
                Column::Key | Column::Unnamed | Column::Invalid => None,
            })
            .collect();
        let document = format!("{{{}}}", members.join(","));
        let payment = TokenTransaction::from_json(document.as_bytes()).expect("every field is taken");
        let written = payment.to_json();
        let written = RequestMembers::read(written.as_ref()).expect("an object");
        assert_eq!(written.iter().count(), COLUMNS.len() - 1);
    }

    #[test]
    fn rows_do_not_depend_on_the_size_of_the_buffer() {
        let text = "\u{feff}\r\n\r\nKey,TokenId,Amount,ConvenienceFeeActive,Description\r\n\r\n\r\n\
                    a,t,1,false,\"x\r\n\"\"y\"\"\n.\"\r\n\n\nb,t,2.5,true,\nc,t,3,false,z";
        let expected = [(6, "a", Some("x\r\n\"y\"\n.")), (11, "b", None), (12, "c", Some("z"))];
        for size in 3..=text.len() {
            let source = io::BufReader::with_capacity(size, text.as_bytes());
            let (rows, problems) = CsvRows::begin(source, &|_| false).expect("it can be read");
            assert_eq!(problems, [], "{size}");
            let mut rows = rows.expect("a good header");
            for (line, key, description) in expected {
                let row = rows
                    .next(&|_| false)
                    .expect("it can be read")
                    .expect("a row")
                    .content
                    .expect("a good row");
                let seen = (row.line, row.key.as_str(), row.payment.description());
                assert_eq!(seen, (line, key, description), "{size}");
            }
            assert!(rows.next(&|_| false).expect("it can be read").is_none());
        }
    }
}
