//! A row of a billing file, and how it is read.

use payments_journal::{Failure, IntentKey};
use payments_model::unversioned::check_ends;
use payments_model::{Amount, TokenTransaction, TransactionId};

use super::{AMOUNT, Column, DESCRIPTION, FLAG, KEY, REFERENCE};
use crate::failure::Problem;
use crate::intent::why_rejected;
use crate::report::run::{ListedRow, RejectedRow, RowOutcome, UnresolvedRow};
use crate::rows::card_like_ids::is_like_a_card;
use crate::rows::{NO_API_KEY, Table};
use crate::settings::KnownKeys;

/// A row that can be charged.
#[derive(Clone, Debug)]
pub(crate) struct BillingRow {
    /// Its place among the rows, from 1: what tells it apart from the others.
    pub(crate) number: u64,
    /// The line where it starts, from 1, for people.
    pub(crate) line: u64,
    pub(crate) key: IntentKey,
    pub(crate) payment: TokenTransaction,
}

impl BillingRow {
    fn listed(&self) -> ListedRow {
        let (number, line, key) = (self.number, self.line, self.key.clone());
        ListedRow { number, line, key, amount: self.payment.amount() }
    }

    /// The row in a list of those that a person must look at, and why.
    pub(crate) fn unresolved(
        &self,
        transaction_id: Option<&TransactionId>,
        outcome: RowOutcome,
        kind: &str,
    ) -> UnresolvedRow {
        let (transaction_id, kind) = (transaction_id.map(ToString::to_string), kind.to_owned());
        UnresolvedRow { row: self.listed(), transaction_id, outcome, kind }
    }

    /// The row in a list of those that were rejected, and why.
    pub(crate) fn rejected(&self, failure: &Failure) -> RejectedRow {
        let reason = failure.reason.clone().unwrap_or_else(|| why_rejected(failure));
        RejectedRow { row: self.listed(), reason }
    }
}

/// The result of reading a row.
#[derive(Debug)]
pub(crate) struct RowRead {
    pub(crate) line: u64,
    /// The key, if it could be read, even if the row has other problems. It may be a duplicate.
    pub(crate) key: Option<IntentKey>,
    /// The fields that look like card numbers.
    pub(crate) like_cards: LikeCards,
    pub(crate) content: Result<BillingRow, Vec<Problem>>,
}

/// The fields of a row that look like card numbers. That is an error unless the person says that they are none, because in a
/// file with mixed-up columns they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct LikeCards {
    /// The field that is the key, unless the journal has the key.
    pub(crate) key: Option<&'static str>,
    pub(crate) others: Vec<&'static str>,
}

/// Reads one row at a time, and counts them.
pub(crate) struct Rows<'a> {
    table: Table<'a>,
    columns: Vec<Column>,
    api_keys: &'a KnownKeys,
    count: u64,
}

impl<'a> Rows<'a> {
    pub(super) fn new(table: Table<'a>, columns: Vec<Column>, api_keys: &'a KnownKeys) -> Self {
        Self { table, columns, api_keys, count: 0 }
    }

    /// Skips the next row.
    pub(super) fn skip_one(&mut self) {
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
