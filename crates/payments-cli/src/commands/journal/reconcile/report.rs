//! Reading the report of a processor.

use std::collections::BTreeMap;

use payments_journal::{Cell, ReportRow, RowStatus};
use payments_model::unversioned::check_no_spreadsheet_value;
use payments_model::{TransactionId, mask, printable_field_name};

use super::cells::{self, Written};
use crate::args::reconcile::{DateOrder, FIELDS, ReconcileArguments};
use crate::csv_file::Table;
use crate::failure::Failure;
use crate::journal_place::JournalPlace;
use crate::report::problems::Role;
use crate::row_file::{self, NOT_CARDS, RowFile};
use crate::style::for_terminal;

/// A report, with what is shown of its rows.
pub(super) struct ProcessorReport {
    pub(super) name: Option<String>,
    pub(super) rows: Vec<ReportRow>,
    /// The word of the status in each line, if there are such words.
    pub(super) statuses: BTreeMap<u64, String>,
    /// Why a row cannot be read, by line.
    pub(super) unreadable: BTreeMap<u64, String>,
}

/// Headings that are understood without `--column`, in lower case and without white space and signs.
const KNOWN: [&[&str]; 6] = [
    &["transactionid", "transaction", "txnid", "paymentid", "id"],
    &["amount", "gross", "grossamount"],
    &["reference", "referenceno", "referencenumber", "merchantreference", "order", "orderid", "ordernumber"],
    &["card", "cardnumber", "last4", "lastfour", "card4", "cardending", "cardlast4", "cardlastfour"],
    &["date", "time", "created", "createdat", "datetime", "timestamp", "transactiondate"],
    &["status", "state", "result"],
];

impl ProcessorReport {
    pub(super) fn read(asked: &ReconcileArguments, place: &JournalPlace) -> Result<Self, Failure> {
        let file = RowFile::read(&asked.report, Role::Report, place)?;
        let table = file.table(file.separator());
        let table =
            table.map_err(|problem| Role::Report.refused(&format!(": the header {}", problem.rule)))?;
        Self::of(table, file.name.clone(), asked)
    }

    #[allow(clippy::too_many_lines, reason = "one step after the other, each with its own refusal")]
    fn of(mut table: Table<'_>, name: Option<String>, asked: &ReconcileArguments) -> Result<Self, Failure> {
        let refused = |why: String| Role::Report.refused(&why);
        let columns = columns(table.headings(), &asked.columns)?;
        let [id, amount, reference, last_four, time, status] = columns;
        for (field, column) in [("id", id), ("amount", amount), ("time", time)] {
            if column.is_none() {
                return Err(refused(format!(
                    " has no column that is known to be the {field}: name it with --column {field}=HEADING"
                )));
            }
        }
        if reference.is_none() && last_four.is_none() {
            let why = " has neither references nor last four digits: name them with --column reference=HEADING or \
                       --column last-four=HEADING";
            return Err(refused(why.to_owned()));
        }
        if status.is_none() && !(asked.charged_statuses.is_empty() && asked.declined_statuses.is_empty()) {
            return Err(refused(" has no status: name it with --column status=HEADING".to_owned()));
        }
        let mut read = Vec::new();
        let mut this =
            Self { name, rows: Vec::new(), statuses: BTreeMap::new(), unreadable: BTreeMap::new() };
        let mut words: BTreeMap<String, u64> = BTreeMap::new();
        while let Some(row) = table.next() {
            let line = table.line();
            if let Err(problem) = row {
                if table.may_hide_rows() {
                    return Err(refused(format!(": line {line} {}", problem.rule)));
                }
                this.unreadable.insert(line, format!("the row {}", problem.rule));
                read.push((unreadable_row(line, &columns), None));
                continue;
            }
            let mut why = Vec::new();
            let mut cell = |index: Option<usize>| match index.map(|index| table.cell(index)) {
                None => Cell::Absent,
                Some(Ok(text)) if text.trim().is_empty() => Cell::Empty,
                Some(Ok(text)) => match check_no_spreadsheet_value(text.trim()) {
                    Ok(()) => Cell::Read(text.trim().to_owned()),
                    Err(_) => Cell::Unreadable,
                },
                Some(Err(_)) => Cell::Unreadable,
            };
            let texts = [id, amount, reference, last_four, time, status].map(&mut cell);
            let [id_text, amount_text, reference, last_four_text, time_text, status_text] = texts;
            let id = parsed(&id_text, |text| TransactionId::new(text).map_or(Cell::Unreadable, Cell::Read));
            if let Cell::Read(id) = &id
                && row_file::is_like_a_card(id.as_str())
                && !asked.ids_are_not_cards
            {
                return Err(refused(format!(
                    " has an id in line {line} that must not be a card number; {NOT_CARDS}"
                )));
            }
            let time = match &time_text {
                Cell::Read(text) => Written::parse(text),
                _ => None,
            };
            let word = match &status_text {
                Cell::Read(word) => word.clone(),
                _ => String::new(),
            };
            let row = ReportRow {
                line,
                id,
                amount: parsed(&amount_text, cells::amount),
                reference,
                last_four: parsed(&last_four_text, cells::last_four),
                time: Cell::Unreadable,
                status: match &status_text {
                    Cell::Absent => RowStatus::Charged,
                    Cell::Unreadable => RowStatus::Unreadable,
                    Cell::Empty | Cell::Read(_) if is_one_of(&word, &asked.charged_statuses) => {
                        RowStatus::Charged
                    }
                    Cell::Empty | Cell::Read(_) if is_one_of(&word, &asked.declined_statuses) => {
                        RowStatus::Declined
                    }
                    Cell::Empty | Cell::Read(_) => RowStatus::Other,
                },
            };
            let parts = [
                ("id", matches!(row.id, Cell::Read(_))),
                ("amount", matches!(row.amount, Cell::Read(_))),
                ("time", time.is_some()),
                ("reference", row.reference != Cell::Unreadable),
                ("last four digits", row.last_four != Cell::Unreadable),
                ("status", row.status != RowStatus::Unreadable),
            ];
            why.extend(parts.into_iter().filter_map(|(part, is_read)| (!is_read).then_some(part)));
            if !why.is_empty() {
                this.unreadable.insert(line, format!("cannot be read: {}", why.join(", ")));
            }
            if status.is_some() {
                *words.entry(word.clone()).or_default() += 1;
                this.statuses.insert(line, word);
            }
            read.push((row, time));
        }
        if status.is_some() && asked.charged_statuses.is_empty() {
            let shown = words.iter().take(MOST_WORDS).map(|(word, count)| {
                let word =
                    if word.is_empty() { "(empty)".to_owned() } else { for_terminal(&mask(word, &[])) };
                format!("{word} ({count})")
            });
            let shown = shown.collect::<Vec<_>>().join(", ");
            return Err(refused(format!(
                " has a status: say with --charged-status which of its words mean that the money moved: {shown}"
            )));
        }
        let order = order(&read, asked.dates)?;
        for (mut row, time) in read {
            if let Some(time) = time {
                row.time = time.between(order, asked.zone).map_or(Cell::Unreadable, Cell::Read);
            }
            if row.time == Cell::Unreadable {
                this.unreadable.entry(row.line).or_insert_with(|| "cannot be read: time".to_owned());
            }
            this.rows.push(row);
        }
        Ok(this)
    }
}

/// More are not helpful, and are no status.
const MOST_WORDS: usize = 12;

/// Nothing of it is known, so it may be any payment.
fn unreadable_row(line: u64, columns: &[Option<usize>; 6]) -> ReportRow {
    let text = |column: Option<usize>| if column.is_some() { Cell::Unreadable } else { Cell::Absent };
    ReportRow {
        line,
        id: Cell::Unreadable,
        amount: Cell::Unreadable,
        reference: text(columns[2]),
        last_four: text(columns[3]),
        time: Cell::Unreadable,
        status: RowStatus::Unreadable,
    }
}

fn parsed<T>(cell: &Cell<String>, parse: impl FnOnce(&str) -> Cell<T>) -> Cell<T> {
    match cell {
        Cell::Read(text) => parse(text),
        Cell::Empty => Cell::Empty,
        Cell::Absent => Cell::Absent,
        Cell::Unreadable => Cell::Unreadable,
    }
}

pub(super) fn is_one_of(word: &str, words: &[String]) -> bool {
    !word.is_empty() && words.iter().any(|other| other.trim().to_lowercase() == word.to_lowercase())
}

/// The order of the dates of which either of two numbers may be the day: as asked, or the only one that the whole file allows.
fn order(rows: &[(ReportRow, Option<Written>)], asked: Option<DateOrder>) -> Result<DateOrder, Failure> {
    if let Some(order) = asked {
        return Ok(order);
    }
    let times = || rows.iter().filter_map(|(_, time)| time.as_ref());
    let allows = |order: DateOrder| times().all(|time| time.order().is_none_or(|only| only == order));
    match (allows(DateOrder::Dmy), allows(DateOrder::Mdy)) {
        (true, false) => Ok(DateOrder::Dmy),
        (false, true) => Ok(DateOrder::Mdy),
        (true, true) if !times().any(Written::depends_on_order) => Ok(DateOrder::Dmy),
        (true, true) => {
            Err(Role::Report.refused(": the dates can be read in two ways: say --dates dmy or mdy"))
        }
        (false, false) => {
            Err(Role::Report.refused(": its dates are in two orders, day first and month first: say --dates dmy or mdy, and rows in the other order cannot be read"))
        }
    }
}

/// Where the columns are, in the order of [`FIELDS`].
fn columns(headings: &[String], named: &[(String, String)]) -> Result<[Option<usize>; 6], Failure> {
    let plain =
        |heading: &str| heading.chars().filter(|it| it.is_alphanumeric()).collect::<String>().to_lowercase();
    let mut columns = [None; 6];
    for ((field, known), column) in FIELDS.into_iter().zip(KNOWN).zip(&mut columns) {
        let asked = named.iter().find(|(name, _)| name == field).map(|(_, heading)| heading);
        let is_it = |heading: &String| match asked {
            Some(asked) => heading.trim().to_lowercase() == asked.trim().to_lowercase(),
            None => known.contains(&&*plain(heading)),
        };
        let found: Vec<_> = (0..headings.len()).filter(|index| is_it(&headings[*index])).collect();
        *column = match (&*found, asked) {
            ([index], _) => Some(*index),
            ([], None) => None,
            ([], Some(_)) => {
                let shown: Vec<_> = headings.iter().map(|it| printable_field_name(it)).collect();
                let why = format!(
                    " has no column of the name that --column {field} gives; it has {}",
                    shown.join(", ")
                );
                return Err(Role::Report.refused(&why));
            }
            _ => {
                let shown: Vec<_> =
                    found.iter().map(|index| printable_field_name(&headings[*index])).collect();
                let why = format!(
                    " has several columns that may be the {field}: {}; say which with --column {field}=HEADING",
                    shown.join(", ")
                );
                return Err(Role::Report.refused(&why));
            }
        };
    }
    Ok(columns)
}
