//! The report of a processor: its columns and rows.

use std::collections::BTreeMap;

use payments_journal::{ReportCell, ReportRow, RowStatus};
use payments_model::TransactionId;
use payments_model::unversioned::{check_no_spreadsheet_value, printable_field_name};

use super::cells::{self, Written};
use crate::args::reconcile::{DateOrder, FIELDS, ReconcileArguments};
use crate::card_like_ids::{self, is_like_a_card};
use crate::commands::journal::status_words::{self, StatusWords};
use crate::csv_file::Table;
use crate::failure::Failure;
use crate::report::problems::Role;
use crate::row_file::RowFile;
use crate::settings::JournalPlace;

/// A report, with what is shown of its rows.
#[derive(Default)]
pub(super) struct ProcessorReport {
    pub(super) name: Option<String>,
    pub(super) rows: Vec<ReportRow>,
    /// The word of the status in each line, if there are such words.
    pub(super) statuses: BTreeMap<u64, String>,
    /// The column and the word that contradict the status of a charged row, by line.
    pub(super) against: BTreeMap<u64, String>,
    /// Why a row cannot be read, by line.
    pub(super) unreadable: BTreeMap<u64, String>,
}

/// Headings that are understood without `--column`, in lower case and without white space and signs. A status has many.
const KNOWN: [&[&str]; 5] = [
    &["transactionid", "transaction", "txnid", "paymentid", "id"],
    &["amount", "gross", "grossamount"],
    &["reference", "referenceno", "referencenumber", "merchantreference", "order", "orderid", "ordernumber"],
    &["card", "cardnumber", "last4", "lastfour", "card4", "cardending", "cardlast4", "cardlastfour"],
    &["date", "time", "created", "createdat", "datetime", "timestamp", "transactiondate"],
];

impl ProcessorReport {
    pub(super) fn read(
        asked: &ReconcileArguments,
        words: StatusWords<'_>,
        place: &JournalPlace,
    ) -> Result<Self, Failure> {
        let file = RowFile::read(&asked.report, Role::Report, place)?;
        let table = file.table(file.separator());
        let mut table =
            table.map_err(|problem| Role::Report.refused(&format!(": the header {}", problem.rule)))?;
        let columns = columns(table.headings(), &asked.columns, words)?;
        let mut this = Self { name: file.name.clone(), ..Self::default() };
        let (mut seen_words, mut times) = (BTreeMap::<String, u64>::new(), Vec::new());
        while let Some(read) = table.next() {
            let line = table.line();
            let cells = columns.map(|column| match (column, &read) {
                (None, _) => ReportCell::Absent,
                (Some(index), Ok(())) => cell(&table, index),
                // Nothing of the row is known, so it may be any payment.
                (Some(_), Err(_)) => ReportCell::Unreadable,
            });
            let word = columns[STATUS].map(|_| read_text(&cells[STATUS]).unwrap_or_default().to_owned());
            let (mut row, time) = report_row(line, cells, words);
            if let Err(problem) = read {
                if table.may_hide_rows() {
                    return Err(Role::Report.refused(&format!(": line {line} {}", problem.rule)));
                }
                this.unreadable.insert(line, format!("the row {}", problem.rule));
                row.status = RowStatus::Unreadable;
            } else {
                if let Some(word) = word {
                    *seen_words.entry(word.clone()).or_default() += 1;
                    this.statuses.insert(line, word);
                }
                if row.status == RowStatus::Charged
                    && let Some(against) = word_against(&table, &columns)
                {
                    // Without a status, the type of a refund says what the row is.
                    if columns[STATUS].is_none() && against.is_whole_cell {
                        row.status = RowStatus::Other;
                    }
                    row.is_contradicted = true;
                    this.against.insert(line, format!("{}: {}", against.column, against.word));
                }
                if let ReportCell::Read(id) = &row.id
                    && is_like_a_card(id.as_str())
                    && !asked.ids_are_not_cards
                {
                    let rule = card_like_ids::refusal("TransactionId");
                    return Err(Role::Report.refused(&format!(" has an id in line {line} that {rule}")));
                }
                let unreadable = unreadable_parts(&row, time.as_ref());
                if !unreadable.is_empty() {
                    this.unreadable.insert(line, format!("cannot be read: {}", unreadable.join(", ")));
                }
            }
            this.rows.push(row);
            times.push(time);
        }
        if columns[STATUS].is_some() {
            words.require_charged(&seen_words)?;
        }
        let order = order(&times, asked.dates)?;
        for (row, time) in this.rows.iter_mut().zip(times) {
            if let Some(time) = time {
                row.time = time.between(order, asked.zone).map_or(ReportCell::Unreadable, ReportCell::Read);
            }
            if row.time == ReportCell::Unreadable {
                this.unreadable.entry(row.line).or_insert_with(|| "cannot be read: time".to_owned());
            }
        }
        Ok(this)
    }
}

/// The place of the status among the columns.
const STATUS: usize = 5;

fn cell(table: &Table<'_>, index: usize) -> ReportCell<String> {
    match table.cell(index).map(str::trim) {
        Ok("") => ReportCell::Empty,
        Ok(text) if check_no_spreadsheet_value(text).is_ok() => ReportCell::Read(text.to_owned()),
        Ok(_) | Err(_) => ReportCell::Unreadable,
    }
}

/// A word of another column that says that the payment of a row was not made or was given back.
struct Against {
    column: String,
    word: &'static str,
    is_whole_cell: bool,
}

/// The one that is a whole cell, if there is one.
fn word_against(table: &Table<'_>, columns: &[Option<usize>; 6]) -> Option<Against> {
    let headings = table.headings();
    let others = (0..headings.len()).filter(|index| !columns.contains(&Some(*index)));
    let cells = others.filter_map(|index| Some((index, table.cell(index).ok()?)));
    let found = cells.filter_map(|(index, cell)| {
        let word = status_words::against_in_column(&headings[index], cell)?;
        let column = printable_field_name(&headings[index]).to_string();
        Some(Against { column, word, is_whole_cell: status_words::is_only_against(cell) })
    });
    found.max_by_key(|against| against.is_whole_cell)
}

fn read_text(cell: &ReportCell<String>) -> Option<&str> {
    match cell {
        ReportCell::Read(text) => Some(text),
        _ => None,
    }
}

/// The row, and its time as it is written: which order its dates have is known only after the last row.
fn report_row(
    line: u64,
    [id, amount, reference, last_four, time, status]: [ReportCell<String>; 6],
    words: StatusWords<'_>,
) -> (ReportRow, Option<Written>) {
    let mut row = ReportRow::new(line, words.status_of(&status));
    row.id = parsed(&id, |text| TransactionId::new(text).map_or(ReportCell::Unreadable, ReportCell::Read));
    row.amount = parsed(&amount, cells::amount);
    row.reference = reference;
    row.last_four = parsed(&last_four, cells::last_four);
    row.time = ReportCell::Unreadable;
    (row, read_text(&time).and_then(Written::parse))
}

fn unreadable_parts(row: &ReportRow, time: Option<&Written>) -> Vec<&'static str> {
    let parts = [
        ("id", matches!(row.id, ReportCell::Read(_))),
        ("amount", matches!(row.amount, ReportCell::Read(_))),
        ("time", time.is_some()),
        ("reference", row.reference != ReportCell::Unreadable),
        ("last four digits", row.last_four != ReportCell::Unreadable),
        ("status", row.status != RowStatus::Unreadable),
    ];
    parts.into_iter().filter_map(|(part, is_read)| (!is_read).then_some(part)).collect()
}

fn parsed<T>(cell: &ReportCell<String>, parse: impl FnOnce(&str) -> ReportCell<T>) -> ReportCell<T> {
    match cell {
        ReportCell::Read(text) => parse(text),
        ReportCell::Empty => ReportCell::Empty,
        ReportCell::Absent => ReportCell::Absent,
        ReportCell::Unreadable => ReportCell::Unreadable,
    }
}

/// The order of the dates of which either of two numbers may be the day: as asked, or the only one that the whole file allows.
fn order(times: &[Option<Written>], asked: Option<DateOrder>) -> Result<DateOrder, Failure> {
    if let Some(order) = asked {
        return Ok(order);
    }
    let times = || times.iter().flatten();
    let allows = |order: DateOrder| times().all(|time| time.order().is_none_or(|only| only == order));
    match (allows(DateOrder::Dmy), allows(DateOrder::Mdy)) {
        (true, false) => Ok(DateOrder::Dmy),
        (false, true) => Ok(DateOrder::Mdy),
        (true, true) if !times().any(Written::depends_on_order) => Ok(DateOrder::Dmy),
        (true, true) => {
            Err(Role::Report.refused_until(": the dates can be read in two ways", "say --dates dmy or mdy"))
        }
        (false, false) => Err(Role::Report.refused_until(
            ": its dates are in two orders, day first and month first",
            "say --dates dmy or mdy, and rows in the other order cannot be read",
        )),
    }
}

/// Where the columns are, in the order of [`FIELDS`]. A report without one that is needed, or with several that may be one, is
/// refused with everything that is unclear about it.
fn columns(
    headings: &[String],
    named: &[(String, String)],
    words: StatusWords<'_>,
) -> Result<[Option<usize>; 6], Failure> {
    let plain =
        |heading: &str| heading.chars().filter(|it| it.is_alphanumeric()).collect::<String>().to_lowercase();
    let shown = |index: usize| printable_field_name(&headings[index]).to_string();
    let (mut columns, mut unclear, mut recognized, mut to_name) =
        ([None; 6], Vec::new(), Vec::new(), Vec::new());
    for (number, (field, column)) in FIELDS.into_iter().zip(&mut columns).enumerate() {
        let asked = named.iter().find(|(name, _)| name == field).map(|(_, heading)| heading);
        let is_it = |heading: &String| match asked {
            Some(asked) => heading.trim().to_lowercase() == asked.trim().to_lowercase(),
            None => match KNOWN.get(number) {
                Some(known) => known.contains(&&*plain(heading)),
                None => status_words::is_status_column(heading),
            },
        };
        let found: Vec<_> = (0..headings.len()).filter(|index| is_it(&headings[*index])).collect();
        let is_needed = match field {
            "status" => !words.is_empty(),
            _ => ["id", "amount", "time"].contains(&field),
        };
        unclear.push(match (&*found, asked) {
            ([index], _) => {
                *column = Some(*index);
                recognized.push(format!("{field}={}", shown(*index)));
                continue;
            }
            ([], None) if !is_needed => continue,
            ([], None) => format!("no column that is known to be the {field}"),
            ([], Some(_)) => format!("no column of the name that --column {field} gives"),
            _ => {
                let found = found.iter().map(|index| shown(*index)).collect::<Vec<_>>().join(", ");
                format!("several columns that may be the {field}: {found}")
            }
        });
        to_name.push(format!("--column {field}=HEADING"));
    }
    let [_, _, reference, last_four, ..] = columns;
    let is_asked_for = |field: &str| to_name.iter().any(|it| it.contains(field));
    if reference.or(last_four).is_none() && !is_asked_for("reference") && !is_asked_for("last-four") {
        unclear.push("neither references nor last four digits".to_owned());
        to_name.push("--column reference=HEADING or --column last-four=HEADING".to_owned());
    }
    if unclear.is_empty() {
        return Ok(columns);
    }
    let headings = (0..headings.len()).map(shown).collect::<Vec<_>>().join(", ");
    let recognized = if recognized.is_empty() { "none of them".to_owned() } else { recognized.join(", ") };
    let why = format!(" has {}; its headings are {headings}; recognized: {recognized}", unclear.join("; "));
    Err(Role::Report.refused_until(&why, &format!("say which is which with {}", to_name.join(", "))))
}
