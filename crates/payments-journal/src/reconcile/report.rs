//! A report, by what its rows can be found by.

use std::collections::{HashMap, HashSet};
use std::mem::discriminant;
use std::time::SystemTime;

use payments_model::{Amount, TransactionId};

use super::attempts::{self, Attempt, Mark};
use super::intervals::Interval;
use crate::IntentRequest;

/// A row of a processor's report, such as a settlement file or an export of its back office.
///
/// ```
/// use payments_journal::{ReportCell, ReportRow, RowStatus};
///
/// let mut row = ReportRow::new(2, RowStatus::Charged);
/// row.amount = ReportCell::Read("10.50".parse()?);
/// row.reference = ReportCell::Empty;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportRow {
    /// Its line in the report, from 1.
    pub line: u64,
    /// The transaction.
    pub id: ReportCell<TransactionId>,
    /// The amount; negative for money that went back.
    pub amount: ReportCell<Amount>,
    /// The caller's reference, which the service shows for payments with a token.
    pub reference: ReportCell<String>,
    /// The last four digits of the card.
    pub last_four: ReportCell<String>,
    /// When the payment was made.
    pub time: ReportCell<RowTime>,
    /// What its status says about the money.
    pub status: RowStatus,
    /// Whether something else in the row says that the payment was not made, or was given back. It still counts as a charge that
    /// somebody must explain, and is never proposed as one.
    pub is_contradicted: bool,
}

/// A cell of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "complete: a value, none, no column, or one that cannot be read")]
pub enum ReportCell<T> {
    /// The value.
    Read(T),
    /// There is none.
    Empty,
    /// The report has no such column.
    Absent,
    /// There is one that cannot be read. It may be any value, so it counts against every payment that the rest of the row
    /// agrees with.
    Unreadable,
}

impl<T> ReportCell<T> {
    /// The value, if it was read.
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Read(value) => Some(value),
            Self::Empty | Self::Absent | Self::Unreadable => None,
        }
    }
}

/// The time of a row: it lies between these two, which are included. A date alone is its whole day, and a time of which the zone
/// is not known lies within 26 hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "complete: the two ends of a range")]
pub struct RowTime {
    /// The earliest time that the row can mean.
    pub earliest: SystemTime,
    /// The latest.
    pub latest: SystemTime,
}

/// What the status of a row says about the money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowStatus {
    /// The money moved.
    Charged,
    /// The payment was declined or failed: no money moved.
    Declined,
    /// Another word, which decides nothing.
    Other,
    /// It cannot be read.
    Unreadable,
}

/// The rows by what they can be found by. Rows with one id are one transaction.
#[derive(Default)]
pub(super) struct Report<'a> {
    pub(super) rows: &'a [ReportRow],
    pub(super) transactions: Vec<Transaction>,
    by_id: HashMap<TransactionId, usize>,
    /// The transaction of each row.
    pub(super) transaction_of: Vec<usize>,
    has_references: bool,
    has_last_four: bool,
    amounts: HashSet<Amount>,
    marks: HashSet<Mark>,
    /// The transactions with each reference, as [`folded`].
    references: HashMap<String, Vec<usize>>,
    /// Whether some amount, reference or last four digits cannot be read, so that they may be any.
    has_unreadable: [bool; 3],
}

pub(super) struct Transaction {
    rows: Vec<usize>,
    /// Whether every row can be read completely, and all say the same.
    is_clear: bool,
}

/// What a row and an attempt must have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Slot {
    pub(super) amount: Part<Amount>,
    pub(super) mark: Part<Mark>,
}

impl Slot {
    fn of_each(amounts: &[Part<Amount>], marks: &[Part<Mark>]) -> impl Iterator<Item = Self> {
        let of = |amount: &Part<_>, mark: &Part<_>| Self { amount: amount.clone(), mark: mark.clone() };
        amounts.iter().flat_map(move |amount| marks.iter().map(move |mark| of(amount, mark)))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part<T> {
    Is(T),
    /// The row's cell cannot be read.
    Unreadable(Kind),
    /// It does not matter.
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Amount,
    Reference,
    LastFour,
}

impl<'a> Report<'a> {
    pub(super) fn of(rows: &'a [ReportRow]) -> Self {
        let mut report = Self {
            rows,
            has_references: rows.iter().any(|row| row.reference != ReportCell::Absent),
            has_last_four: rows.iter().any(|row| row.last_four != ReportCell::Absent),
            has_unreadable: [
                rows.iter().any(|row| row.amount == ReportCell::Unreadable),
                rows.iter().any(|row| row.reference == ReportCell::Unreadable),
                rows.iter().any(|row| row.last_four == ReportCell::Unreadable),
            ],
            ..Self::default()
        };
        for (index, row) in rows.iter().enumerate() {
            let new = report.transactions.len();
            let known = row.id.value().map(|id| *report.by_id.entry(id.clone()).or_insert(new));
            let transaction = known.unwrap_or(new);
            if transaction == new {
                report.transactions.push(Transaction { rows: vec![index], is_clear: row.is_readable() });
            } else {
                let known = &mut report.transactions[transaction];
                known.is_clear &= row.is_readable() && row.says_the_same(&rows[known.rows[0]]);
                known.rows.push(index);
            }
            report.transaction_of.push(transaction);
            report.amounts.extend(row.amount.value());
            report.marks.extend(row.marks().into_iter().flatten());
            if let Some(reference) = row.reference.value() {
                report.references.entry(folded(reference)).or_default().push(transaction);
            }
        }
        report
    }

    /// The transaction with this id.
    pub(super) fn transaction(&self, id: &TransactionId) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    pub(super) fn rows_of(&self, transaction: usize) -> impl Iterator<Item = &'a ReportRow> {
        self.transactions[transaction].rows.iter().map(move |row| &self.rows[*row])
    }

    pub(super) fn first_row(&self, transaction: usize) -> &'a ReportRow {
        &self.rows[self.transactions[transaction].rows[0]]
    }

    pub(super) fn lines(&self, transaction: usize) -> Vec<u64> {
        self.rows_of(transaction).map(|row| row.line).collect()
    }

    /// Whether every row of the transaction can be read completely, and all say the same.
    pub(super) fn is_clear(&self, transaction: usize) -> bool {
        self.transactions[transaction].is_clear
    }

    /// The status of a transaction whose rows can be read and say the same.
    pub(super) fn clear_status(&self, transaction: usize) -> Option<RowStatus> {
        self.is_clear(transaction).then(|| self.first_row(transaction).status)
    }

    /// Whether every row of the transaction says that it was charged.
    pub(super) fn is_charged(&self, transaction: usize) -> bool {
        self.clear_status(transaction) == Some(RowStatus::Charged)
    }

    pub(super) fn amount_of(&self, transaction: usize) -> Option<Amount> {
        self.first_row(transaction).amount.value().copied()
    }

    /// Whether no row can be this payment, and one would show it.
    pub(super) fn lacks(&self, attempt: &Attempt) -> bool {
        let [amounts, references, last_four] = self.has_unreadable;
        let is_amount_absent =
            !amounts && attempt.amount.is_some_and(|amount| !self.amounts.contains(&amount));
        let (is_shown, is_unreadable) = match &attempt.mark {
            Some(Mark::Reference(_)) => (self.has_references, references),
            Some(Mark::LastFour(_)) => (self.has_last_four, last_four),
            None => (false, false),
        };
        let is_mark_absent = !is_unreadable
            && attempt.mark.as_ref().is_none_or(|mark| match mark {
                Mark::Reference(reference) => self.with_reference_like(reference).is_empty(),
                Mark::LastFour(_) => !self.has_mark(mark),
            });
        // With a fee the amount may be another one.
        is_amount_absent && is_mark_absent && (is_shown || !attempt.has_fee)
    }

    /// Whether a row shows it.
    pub(super) fn has_mark(&self, mark: &Mark) -> bool {
        self.marks.contains(mark)
    }

    /// Whether no row of the transaction was charged, and one was declined.
    pub(super) fn is_declined(&self, transaction: usize) -> bool {
        let is = |status| self.rows_of(transaction).any(|row| row.status == status);
        is(RowStatus::Declined) && !is(RowStatus::Charged)
    }

    /// The amounts that were charged according to the rows of the transaction.
    pub(super) fn charged_amounts(&self, transaction: usize) -> impl Iterator<Item = Amount> {
        let charged = self.rows_of(transaction).filter(|row| row.status == RowStatus::Charged);
        charged.filter_map(|row| row.amount.value().copied()).filter(|amount| amount.is_positive())
    }

    /// The transactions with this reference, maybe written in another way.
    pub(super) fn with_reference_like(&self, reference: &str) -> &[usize] {
        self.references.get(&folded(reference)).map_or(&[], Vec::as_slice)
    }

    /// The references of the rows of the transaction, as [`folded`].
    pub(super) fn references(&self, transaction: usize) -> impl Iterator<Item = String> {
        self.rows_of(transaction).filter_map(|row| Some(folded(row.reference.value()?)))
    }

    /// The references of the rows of the transaction.
    pub(super) fn reference_marks(&self, transaction: usize) -> impl Iterator<Item = Mark> {
        let marks = self.rows_of(transaction).flat_map(|row| row.marks().into_iter().flatten());
        marks.filter(|mark| matches!(mark, Mark::Reference(_)))
    }

    /// Whether a row of the transaction, which has the id of an attempt with this request, cannot be that attempt's.
    pub(super) fn contradicts(&self, transaction: usize, request: &IntentRequest) -> bool {
        self.rows_of(transaction).any(|row| {
            let is_other_mark = |asked: &Mark| {
                let mut shown = row.marks().into_iter().flatten();
                shown.any(|shown| discriminant(&shown) == discriminant(asked) && shown != *asked)
            };
            attempts::mark(request).as_ref().is_some_and(is_other_mark)
                || row.amount.value().zip(request.amount).is_some_and(|(shown, asked)| *shown != asked)
        })
    }

    /// What can be compared besides the amount.
    pub(super) fn mark_of<'m>(&self, mark: Option<&'m Mark>) -> Option<(&'m Mark, Kind)> {
        match mark? {
            mark @ Mark::Reference(_) => self.has_references.then_some((mark, Kind::Reference)),
            mark @ Mark::LastFour(_) => self.has_last_four.then_some((mark, Kind::LastFour)),
        }
    }

    /// Where rows for an attempt are found. The first is where a row that can be read completely finds the attempt.
    pub(super) fn slots_for(&self, attempt: &Attempt) -> Vec<Slot> {
        let Some(amount) = attempt.amount else { return Vec::new() };
        let (mark, kind) = match self.mark_of(attempt.mark.as_ref()) {
            Some(mark) => mark,
            // Nothing but the amount can be compared: it is never proposed, but may be the payment of any such row.
            None if attempt.is_open => return vec![Slot { amount: Part::Is(amount), mark: Part::Any }],
            None => return Vec::new(),
        };
        let marks = [Part::Is(mark.clone()), Part::Unreadable(kind)];
        let amounts = if attempt.has_fee {
            vec![Part::Any]
        } else {
            vec![Part::Is(amount), Part::Unreadable(Kind::Amount)]
        };
        Slot::of_each(&amounts, &marks).collect()
    }
}

/// A reference by what survives being written again: letters without their case, and digits.
pub(super) fn folded(reference: &str) -> String {
    reference.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

impl ReportRow {
    /// A row in this line of the report, of whose columns no other is known.
    pub const fn new(line: u64, status: RowStatus) -> Self {
        Self {
            line,
            id: ReportCell::Absent,
            amount: ReportCell::Absent,
            reference: ReportCell::Absent,
            last_four: ReportCell::Absent,
            time: ReportCell::Absent,
            status,
            is_contradicted: false,
        }
    }

    /// Whether nothing in it is missing or cannot be read.
    pub(super) fn is_readable(&self) -> bool {
        matches!(
            (&self.id, &self.amount, &self.time),
            (ReportCell::Read(_), ReportCell::Read(_), ReportCell::Read(_))
        ) && self.reference != ReportCell::Unreadable
            && self.last_four != ReportCell::Unreadable
            && self.status != RowStatus::Unreadable
    }

    /// Where it can be found.
    pub(super) fn slots(&self) -> Vec<Slot> {
        let amount = self.amount.value().map_or(Part::Unreadable(Kind::Amount), |amount| Part::Is(*amount));
        let amounts = [amount, Part::Any];
        let unreadable = [(&self.reference, Kind::Reference), (&self.last_four, Kind::LastFour)];
        let unreadable = unreadable.into_iter().filter(|(cell, _)| **cell == ReportCell::Unreadable);
        let marks = self.marks().into_iter().flatten().map(Part::Is);
        let marks: Vec<_> = marks.chain(unreadable.map(|(_, kind)| Part::Unreadable(kind))).collect();
        // A payment of which nothing but the amount can be compared has no reference.
        let by_amount = Slot { amount: amounts[0].clone(), mark: Part::Any };
        let has_reference = !matches!(self.reference, ReportCell::Empty | ReportCell::Absent);
        Slot::of_each(&amounts, &marks).chain((!has_reference).then_some(by_amount)).collect()
    }

    fn says_the_same(&self, other: &Self) -> bool {
        self.amount == other.amount && self.marks() == other.marks() && self.status == other.status
    }

    /// The reference and the last four digits.
    fn marks(&self) -> [Option<Mark>; 2] {
        let reference = self.reference.value().map(|text| text.split_whitespace().collect::<String>());
        let reference = reference.filter(|text| !text.is_empty());
        [reference.map(Mark::Reference), self.last_four.value().cloned().map(Mark::LastFour)]
    }

    pub(super) fn interval(&self) -> Interval {
        self.time.value().map_or(Interval::ALWAYS, |time| Interval::between(time.earliest, time.latest))
    }
}
