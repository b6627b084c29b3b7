//! The report of a processor: its columns and rows.

use std::collections::BTreeMap;
use std::fmt;

use payments_journal::{ReportCell, ReportRow, RowStatus};
use payments_model::unversioned::{check_no_spreadsheet_value, printable_field_name};
use payments_model::{TransactionId, mask};

use crate::args::TypedOption;
use crate::args::journal::{DateOrder, Field, ReconcileArguments};
use crate::commands::journal::cells::{self, Written};
use crate::commands::journal::status_words::{self, StatusWords, UnreadColumn, is_among, letters};
use crate::failure::Failure;
use crate::files;
use crate::rows::card_like_ids::{self, is_like_a_card};
use crate::rows::{Role, RowFile, Table};
use crate::settings::{JournalPlace, PrintedCommands, shell_word};
use crate::style::for_terminal;

/// A report, with what is shown of its rows.
#[derive(Default)]
pub(super) struct ProcessorReport {
    pub(super) name: Option<String>,
    pub(super) rows: Vec<ReportRow>,
    /// The word of the status in each line, if there are such words.
    pub(super) statuses: BTreeMap<u64, String>,
    /// The words that may mean a charge and that no option names, and how often each occurs.
    pub(super) unnamed_statuses: BTreeMap<String, u64>,
    /// The words that were named and that no row has.
    pub(super) missing_statuses: Vec<String>,
    /// Whether no row has a word that means a charge, although one may mean that which no option names.
    pub(super) is_status_misspelled: bool,
    /// The headings of columns that are not read, if none of them is known to be a status.
    pub(super) unread: Vec<String>,
    /// The column and the word that contradict the status of a charged row, by line.
    pub(super) against: BTreeMap<u64, String>,
    /// The text of each line, if `--out` or `--rest` was given.
    pub(super) texts: BTreeMap<u64, String>,
    /// Why a row cannot be read, by line.
    pub(super) unreadable: BTreeMap<u64, Unreadable>,
    /// The columns with cells that cannot be read.
    pub(super) unreadable_columns: BTreeMap<Field, UnreadableColumn>,
}

/// Why a row cannot be read.
pub(super) enum Unreadable {
    /// Because of cells that are counted with their columns.
    Cells(Vec<Field>),
    /// Because of the whole row, which breaks this rule.
    Row(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cells(fields) => {
                let parts: Vec<_> = fields.iter().map(|field| part(*field)).collect();
                write!(f, "cannot be read: {}", parts.join(", "))
            }
            Self::Row(rule) => write!(f, "the row {rule}"),
        }
    }
}

/// What a column shows of a payment, for people.
pub(super) const fn part(field: Field) -> &'static str {
    match field {
        Field::LastFour => "last four digits",
        _ => field.name(),
    }
}

/// A column with cells that cannot be read, for a person.
pub(super) struct UnreadableColumn {
    /// The heading, if there is such a column.
    pub(super) heading: String,
    pub(super) rows: u64,
    /// The first of them.
    pub(super) line: u64,
    /// What it has, masked; empty if it is a time that does not exist.
    pub(super) example: String,
}

/// Headings that are understood without `--column`, in lower case and without white space and signs. A status has many.
const KNOWN: [&str; 5] = [
    "transactionid transaction txnid paymentid id",
    "amount gross grossamount",
    "reference referenceno referencenumber merchantreference order orderid ordernumber",
    "card cardnumber last4 lastfour card4 cardending cardlast4 cardlastfour",
    "date time created createdat createdutc datetime timestamp transactiondate processed processedat",
];

/// Of a time after the payment was made, often days. A row would be outside of the time of its own key, so a person must name it.
const LATER_TIMES: &str =
    "posted postedat settled settledat settlement settlementdate settlementtime payoutdate";

/// In some reports the time of the payment and in others a later one, so only if no other column is known to be the time.
const PERHAPS_LATER: [&str; 2] = ["processed", "processedat"];

impl UnreadableColumn {
    fn new(heading: &str, line: u64, example: &str) -> Self {
        let heading = printable_field_name(heading).to_string();
        let example = mask(example, &[]).chars().take(LONGEST_EXAMPLE).collect();
        Self { heading, rows: 0, line, example }
    }
}

impl ProcessorReport {
    pub(super) fn read(
        again: &Again<'_>,
        words: StatusWords<'_>,
        place: &JournalPlace,
    ) -> Result<Self, Failure> {
        let asked = again.asked;
        let file = RowFile::read(&asked.report, Role::Report, place)?;
        let table = file.table(file.separator());
        let mut table =
            table.map_err(|problem| Role::Report.refused(&format!(": the header {}", problem.rule)))?;
        let (columns, mut unclear) = columns(&table, &asked.columns, words);
        if !unclear.is_empty() {
            unclear.add_status(&mut table, &columns, words);
            return Err(unclear.refused(table.headings(), again));
        }
        let mut this = Self { name: file.name.clone(), ..Self::default() };
        let mut unread =
            if columns[STATUS].is_none() { unread_columns(&table, &columns) } else { Vec::new() };
        this.unread = unread.iter().map(|column| shown_heading(&table, column)).collect();
        let (mut seen_words, mut times) = (BTreeMap::<String, u64>::new(), Vec::new());
        while let Some(read) = table.next() {
            let line = table.line();
            let cells = columns.map(|column| match (column, &read) {
                (None, _) => ReportCell::Absent,
                (Some(index), Ok(())) => cell(&table, index),
                // Nothing of the row is known, so it may be any payment.
                (Some(_), Err(_)) => ReportCell::Unreadable,
            });
            let word = columns[STATUS].map(|_| cells[STATUS].value().cloned().unwrap_or_default());
            let (mut row, time) = report_row(line, cells, words);
            if let Err(problem) = read {
                if table.may_hide_rows() {
                    return Err(Role::Report.refused(&format!(": line {line} {}", problem.rule)));
                }
                this.unreadable.insert(line, Unreadable::Row(problem.rule.into_owned()));
                row.status = RowStatus::Unreadable;
            } else {
                for column in &mut unread {
                    column.add(table.cell(column.index).unwrap_or_default());
                }
                if asked.out.is_some() || asked.rest.is_some() {
                    this.texts.insert(line, text_of(&table));
                }
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
                if let Some(id) = row.id.value()
                    && is_like_a_card(id.as_str())
                    && !asked.ids_are_not_cards
                {
                    let rule = card_like_ids::refusal("TransactionId");
                    return Err(Role::Report.refused(&format!(" has an id in line {line} that {rule}")));
                }
                let unreadable = unreadable_cells(&row, time.as_ref());
                for field in &unreadable {
                    this.add_unreadable(*field, &table, columns[*field as usize]);
                }
                if !unreadable.is_empty() {
                    this.unreadable.insert(line, Unreadable::Cells(unreadable));
                }
            }
            this.rows.push(row);
            times.push(time);
        }
        // An export of declined payments has no word of a charge. An empty cell may be one.
        let may_be_charge = |word: &String| word.is_empty() || words.is_unclear(word);
        let may_be_charged = words.is_empty() || seen_words.keys().any(may_be_charge);
        if columns[STATUS].is_some() && !words.has_charged() && may_be_charged {
            let why = format!(" has {}", status_words::shown(&seen_words));
            let what_helps = "say with --charged-status which of them mean that the money moved, and with --declined-status which mean that it did not";
            let command = again.with(&[words.wanted()]);
            let what_helps = format!("{what_helps}: {command}");
            return Err(Role::Report.refused_until(&why, &what_helps));
        }
        if !asked.columns.iter().any(|(field, _)| *field == Field::Status) {
            refuse_unread_status(&table, &unread, words, again)?;
        }
        let (missing, has_no_charged) = words.missing_in(&seen_words);
        let unnamed = seen_words.into_iter().filter(|(word, _)| words.is_unclear(word));
        let unnamed = unnamed.map(|(word, count)| (mask(&word, &[]).into_owned(), count));
        this.unnamed_statuses = unnamed.collect();
        this.missing_statuses = missing;
        this.is_status_misspelled = has_no_charged && !this.unnamed_statuses.is_empty();
        let order = order(&times, asked.dates)?;
        let time_heading = columns[TIME].map(|index| table.headings()[index].clone()).unwrap_or_default();
        for (row, time) in this.rows.iter_mut().zip(times) {
            if let Some(time) = time {
                row.time = time.between(order, asked.zone).map_or(ReportCell::Unreadable, ReportCell::Read);
            }
            if row.time == ReportCell::Unreadable && !this.unreadable.contains_key(&row.line) {
                this.unreadable.insert(row.line, Unreadable::Cells(vec![Field::Time]));
                let counted = this.unreadable_columns.entry(Field::Time);
                counted.or_insert_with(|| UnreadableColumn::new(&time_heading, row.line, "")).rows += 1;
            }
        }
        Ok(this)
    }

    /// The text of these lines, as a person compares it with a payment.
    pub(super) fn text_of(&self, lines: &[u64]) -> String {
        lines.iter().filter_map(|line| self.texts.get(line).cloned()).collect::<Vec<_>>().join(" | ")
    }

    /// Counts a cell of the row that was read last.
    fn add_unreadable(&mut self, field: Field, table: &Table<'_>, column: Option<usize>) {
        let Some(index) = column else { return };
        let counted = self.unreadable_columns.entry(field).or_insert_with(|| {
            let cell = table.cell(index).map_or("(not UTF-8)", str::trim);
            let example = if cell.is_empty() { "(empty)" } else { cell };
            UnreadableColumn::new(&table.headings()[index], table.line(), example)
        });
        counted.rows += 1;
    }
}

/// Chosen by this command: no time and no amount is longer.
const LONGEST_EXAMPLE: usize = 40;

const TIME: usize = Field::Time as usize;
const STATUS: usize = Field::Status as usize;

fn cell(table: &Table<'_>, index: usize) -> ReportCell<String> {
    match table.cell(index).map(str::trim) {
        Ok("") => ReportCell::Empty,
        Ok(text) if check_no_spreadsheet_value(text).is_ok() => ReportCell::Read(text.to_owned()),
        Ok(_) | Err(_) => ReportCell::Unreadable,
    }
}

fn unread_columns(table: &Table<'_>, columns: &[Option<usize>; 6]) -> Vec<UnreadColumn> {
    let headings = table.headings().iter().enumerate();
    let others = headings.filter(|(index, _)| !columns.contains(&Some(*index)));
    others.map(|(index, heading)| UnreadColumn::new(index, heading)).collect()
}

fn shown_heading(table: &Table<'_>, column: &UnreadColumn) -> String {
    printable_field_name(&table.headings()[column.index]).to_string()
}

/// Refuses a report with a column that may be a status and that no option names: its declined rows would count as charged.
fn refuse_unread_status(
    table: &Table<'_>,
    unread: &[UnreadColumn],
    words: StatusWords<'_>,
    again: &Again<'_>,
) -> Result<(), Failure> {
    let found = unread.iter().filter_map(|column| Some((column, column.status_words()?)));
    let found: Vec<_> = found.map(|(column, seen)| (column, shown_heading(table, column), seen)).collect();
    let heading = match &*found {
        [] => return Ok(()),
        [(column, ..)] => for_terminal(&mask(table.headings()[column.index].trim(), &[])),
        _ => "HEADING".to_owned(),
    };
    let shown =
        found.iter().map(|(_, name, seen)| format!("the column {name} may be {}", status_words::shown(seen)));
    let shown: Vec<_> = shown.collect();
    let names: Vec<_> = found.iter().map(|(_, name, _)| name.as_str()).collect();
    let option = format!("--column {}", shell_word(&format!("status={heading}")));
    let command = again.with(&[option, words.wanted()]);
    let what_helps = format!(
        "which words of the column {} mean that the money moved? say it with {command}; only if no column says what became of a \
         payment, give --column status= instead",
        names.join(" or ")
    );
    Err(Role::Report.refused_until(&format!(": {}", shown.join("; ")), &what_helps))
}

/// The row as a person compares it with a payment.
fn text_of(table: &Table<'_>) -> String {
    let cells = table.headings().iter().enumerate();
    let cells = cells.filter_map(|(index, heading)| {
        let cell = table.cell(index).ok().map(str::trim).filter(|cell| !cell.is_empty())?;
        Some(mask(&format!("{}: {cell}", heading.trim()), &[]).into_owned())
    });
    for_terminal(&cells.collect::<Vec<_>>().join("; "))
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
    (row, time.value().and_then(|text| Written::parse(text)))
}

fn unreadable_cells(row: &ReportRow, time: Option<&Written>) -> Vec<Field> {
    let is_unreadable = |field: &Field| match field {
        Field::Id => row.id.value().is_none(),
        Field::Amount => row.amount.value().is_none(),
        Field::Time => time.is_none(),
        Field::Reference => row.reference == ReportCell::Unreadable,
        Field::LastFour => row.last_four == ReportCell::Unreadable,
        Field::Status => row.status == RowStatus::Unreadable,
    };
    Field::ALL.into_iter().filter(is_unreadable).collect()
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

/// Everything that a person must say about a report.
#[derive(Default)]
struct Unclear {
    why: Vec<String>,
    /// The columns that are known, as `--column` names them.
    recognized: Vec<String>,
    /// The columns that must be named.
    asked_for: Vec<Field>,
    /// The options that say what is unclear.
    options: Vec<String>,
    /// Whether a heading that is not asked for may be a status that is not known.
    may_have_status: bool,
}

impl Unclear {
    const fn is_empty(&self) -> bool {
        self.why.is_empty()
    }

    /// Adds the words of the status, if nobody has said what they mean. A row that cannot be read has none.
    fn add_status(&mut self, table: &mut Table<'_>, columns: &[Option<usize>; 6], words: StatusWords<'_>) {
        let left = unread_columns(table, columns).len();
        let is_asked_for = self.asked_for.contains(&Field::Status);
        self.may_have_status = columns[STATUS].is_none() && !is_asked_for && left > self.asked_for.len();
        let Some(status) = columns[STATUS].filter(|_| !words.has_charged()) else { return };
        let mut seen = BTreeMap::<String, u64>::new();
        while let Some(read) = table.next() {
            if let (Ok(()), ReportCell::Read(word)) = (read, cell(table, status)) {
                *seen.entry(word).or_default() += 1;
            }
        }
        self.why.push(status_words::shown(&seen));
        self.options.push(words.wanted());
    }

    fn refused(self, headings: &[String], again: &Again<'_>) -> Failure {
        let Self { why, recognized, options, may_have_status, .. } = self;
        let headings: Vec<_> =
            headings.iter().map(|heading| printable_field_name(heading).to_string()).collect();
        let recognized =
            if recognized.is_empty() { "none of them".to_owned() } else { recognized.join(", ") };
        let (why, headings) = (why.join("; "), headings.join(", "));
        let why = format!(" has {why}; its headings are {headings}; recognized: {recognized}");
        let command = again.with(&options);
        let status = if may_have_status {
            "; if another one says what became of a payment, with --column status=HEADING too"
        } else {
            ""
        };
        Role::Report.refused_until(&why, &format!("say which is which with {command}{status}"))
    }
}

/// How this command is run again.
pub(super) struct Again<'a> {
    pub(super) asked: &'a ReconcileArguments,
    pub(super) typed: &'a [TypedOption],
    pub(super) commands: &'a PrintedCommands,
}

impl Again<'_> {
    /// This command with more options. What was typed for the journal may hold the password of a database.
    fn with(&self, options: &[String]) -> String {
        let Self { asked, typed, commands } = self;
        let shown = |text: &str| shell_word(&for_terminal(&mask(text, &[]))).into_owned();
        let report =
            files::shown_name(&asked.report).map_or_else(|| "REPORT".to_owned(), |name| shown(&name));
        let others = ["journal", "witness", "base-url", "merchant", "output", "verbose"];
        let given = typed.iter().filter(|it| !others.contains(&&*it.name));
        let given = given.map(|TypedOption { name, value }| match value {
            Some(value) => format!(" --{name} {}", shown(value)),
            None => format!(" --{name}"),
        });
        let more = options.iter().map(|option| format!(" {option}"));
        let given = given.chain(more).collect::<String>();
        // The option names it already.
        let service = if asked.service.is_some() { String::new() } else { commands.service_options() };
        commands.journal(&format!("reconcile {report}{given}{service}"))
    }
}

/// Where the columns are, in the order of [`Field::ALL`], and why they are unclear: one that is needed may be missing, and several
/// may be one.
fn columns(
    table: &Table<'_>,
    named: &[(Field, String)],
    words: StatusWords<'_>,
) -> ([Option<usize>; 6], Unclear) {
    let headings = table.headings();
    let shown = |index: usize| printable_field_name(&headings[index]).to_string();
    let (mut columns, mut unclear) = ([None; 6], Unclear::default());
    let later = headings.iter().position(|heading| is_among(LATER_TIMES, &letters(heading)));
    for (field, column) in Field::ALL.into_iter().zip(&mut columns) {
        let name = field.name();
        let asked = named.iter().rev().find(|(named, _)| *named == field).map(|(_, heading)| heading);
        // An empty one says that no column is a status.
        let asked = asked.filter(|heading| !heading.trim().is_empty());
        let is_it = |heading: &str| match asked {
            Some(asked) => heading.trim().to_lowercase() == asked.trim().to_lowercase(),
            None => match KNOWN.get(field as usize) {
                Some(known) => is_among(known, &letters(heading)),
                None => status_words::is_status_column(heading),
            },
        };
        let mut found = table.columns(is_it);
        let is_surer = |index: &usize| !PERHAPS_LATER.contains(&&*letters(&headings[*index]));
        if asked.is_none() && found.iter().any(is_surer) {
            found.retain(is_surer);
        }
        let is_needed = match field {
            Field::Id | Field::Amount | Field::Time => true,
            Field::Reference | Field::LastFour => false,
            Field::Status => !words.is_empty(),
        };
        let mut option = format!("--column {name}=HEADING");
        unclear.why.push(match (&*found, asked) {
            ([index], _) => {
                *column = Some(*index);
                unclear.recognized.push(format!("{name}={}", shown(*index)));
                continue;
            }
            ([], None) if !is_needed => continue,
            ([], None) => {
                let later = later.filter(|_| field == Field::Time);
                if let Some(index) = later {
                    let heading = for_terminal(&mask(headings[index].trim(), &[]));
                    option = format!("--column {}", shell_word(&format!("time={heading}")));
                }
                let later = later.map(|index| {
                    let heading = shown(index);
                    format!(" ({heading} may be days later: if it is the only one, give --within too)")
                });
                format!("no column that is known to be the {name}{}", later.unwrap_or_default())
            }
            ([], Some(_)) => format!("no column of the name that --column {name} gives"),
            _ => {
                let found = found.iter().map(|index| shown(*index)).collect::<Vec<_>>().join(", ");
                format!("several columns that may be the {name}: {found}")
            }
        });
        // In a command that was given with the wrong name, the last one counts.
        unclear.options.push(option);
        unclear.asked_for.push(field);
    }
    let [_, _, reference, last_four, ..] = columns;
    let is_asked_for =
        [Field::Reference, Field::LastFour].iter().any(|field| unclear.asked_for.contains(field));
    if reference.or(last_four).is_none() && !is_asked_for {
        unclear.why.push("neither references nor last four digits, of which it needs one".to_owned());
        unclear.options.push("--column reference=HEADING".to_owned());
        unclear.asked_for.push(Field::Reference);
    }
    (columns, unclear)
}
