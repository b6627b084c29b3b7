//! `payments journal list`: in text a table with sums at the end.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::SystemTime;

use payments_journal::{Intent, StateName};

use super::sums::{OfState, Sums};
use super::{CommandError, READ, for_each_page, unwritten};
use crate::args::journal::ListArguments;
use crate::format::{in_words, money, timestamp};
use crate::intent::{IntentObject, state, tone};
use crate::output::Output;
use crate::settings::{JournalPlace, OpenFor, PrintedCommands};
use crate::stdout;
use crate::style::{Style, Tone, for_terminal};
use crate::wrap::wrapped;

/// Writes the intents as they are read, so that memory does not depend on their number.
pub(super) async fn run(
    place: &JournalPlace,
    output: &Output,
    asked: &ListArguments,
) -> Result<(), CommandError> {
    let journal = place.open(OpenFor::Reading).await?;
    let states = if asked.unresolved { StateName::UNRESOLVED } else { asked.states.asked() };
    let mut out = stdout::buffered();
    let end = if output.is_text() {
        let mut table = IntentTable::new(output, stdout::width());
        for_each_page(&journal, states, |intents| {
            out.write_all(table.page(intents).as_bytes())?;
            out.flush()
        })
        .await?;
        table.summary()
    } else {
        let mut separator = "[";
        for_each_page(&journal, states, |intents| {
            for intent in intents {
                out.write_all(separator.as_bytes())?;
                out.write_all(stdout::json(&IntentObject(intent))?.as_bytes())?;
                separator = ",\n";
            }
            Ok(())
        })
        .await?;
        if separator == "[" { "[]\n".to_owned() } else { "]\n".to_owned() }
    };
    out.write_all(end.as_bytes()).and_then(|()| out.flush()).map_err(|error| unwritten(READ, &error))
}

/// A table of intents, written page by page, with sums at the end.
struct IntentTable<'a> {
    style: Style,
    commands: &'a PrintedCommands,
    /// The widths of the columns so far, which never shrink.
    widths: [usize; COLUMNS.len()],
    /// Of the terminal, if it is one.
    width: Option<usize>,
    /// Which of the columns are shown: those that fit with the rows of the first page. `None` before the heading.
    shown: Option<[bool; COLUMNS.len()]>,
    /// Which of the columns say nothing, because they are empty, or their cells are those of the key.
    says_nothing: [bool; COLUMNS.len()],
    sums: Sums,
}

const COLUMNS: [&str; 7] = ["KEY", "STATE", "AMOUNT", "BEGUN AT", "TRANSACTION", "REFERENCE", "ATTEMPT"];

/// The column that is aligned to the right.
const AMOUNT: usize = 2;

/// What does not fit is left out in this order: a payment is searched by its amount, its reference and its time. The first three
/// columns are shown however narrow the terminal is.
const LEFT_OUT_FIRST: [usize; 4] = [6, 4, 3, 5];

impl<'a> IntentTable<'a> {
    /// `width` is that of the terminal.
    fn new(output: &'a Output, width: Option<usize>) -> Self {
        let Output { stdout: style, commands, .. } = output;
        let says_nothing = [true; COLUMNS.len()];
        let widths = COLUMNS.map(str::len);
        Self { style: *style, commands, widths, width, shown: None, says_nothing, sums: Sums::default() }
    }

    /// The columns that fit into the terminal, with two spaces between them. Those that say nothing are left out first.
    fn fitting(&self) -> [bool; COLUMNS.len()] {
        let mut shown = [true; COLUMNS.len()];
        let Some(width) = self.width else { return shown };
        let says_nothing = LEFT_OUT_FIRST.into_iter().filter(|column| self.says_nothing[*column]);
        for column in says_nothing.chain(LEFT_OUT_FIRST) {
            let widths = self.widths.iter().zip(shown).filter(|(_, is_shown)| *is_shown);
            if widths.map(|(width, _)| width + 2).sum::<usize>() <= width + 2 {
                break;
            }
            shown[column] = false;
        }
        shown
    }

    /// The lines of a page, which are added to the sums.
    fn page(&mut self, intents: &[Intent]) -> String {
        let rows: Vec<_> = intents.iter().map(|intent| (cells(intent), tone(&intent.state))).collect();
        for intent in intents {
            self.sums.add(intent);
        }
        for (cells, _) in &rows {
            for (column, cell) in cells.iter().enumerate() {
                self.widths[column] = self.widths[column].max(cell.chars().count());
                self.says_nothing[column] &= cell.is_empty() || *cell == cells[0];
            }
        }
        let mut text = String::new();
        if !rows.is_empty() && self.shown.is_none() {
            self.shown = Some(self.fitting());
            self.write_line(&mut text, &COLUMNS.map(str::to_owned), |_| Some(Tone::Heading));
        }
        for (cells, tone) in &rows {
            self.write_line(&mut text, cells, |column| (column == 1).then_some(*tone));
        }
        text
    }

    /// The sums of each state and of each service.
    fn summary(&self) -> String {
        if self.sums.states().next().is_none() {
            return format!("{}\n", self.style.paint(Tone::Dim, "none"));
        }
        let mut text = "\n".to_owned();
        let is_left_out =
            |column: &usize| self.shown.is_some_and(|shown| !shown[*column]) && !self.says_nothing[*column];
        let left_out: Vec<_> = (0..COLUMNS.len()).filter(is_left_out).map(|column| COLUMNS[column]).collect();
        if !left_out.is_empty() {
            let left_out = left_out.join(", ");
            let show = self.commands.journal("show KEY");
            let note = format!("the terminal is too narrow for {left_out}: see `{show}`");
            let _ = writeln!(text, "{}\n", self.style.paint(Tone::Dim, &note));
        }
        for OfState { name, sum, .. } in self.sums.states() {
            let intents = sum.intents();
            let _ = writeln!(text, "{name:24}  {intents:>15}  {:>14}", sum.sum());
        }
        let charged = self.sums.charged();
        let separator = if charged.is_empty() { "" } else { "\n" };
        text.extend(["\n", &self.sums.of_services(), separator, &charged]);
        wrapped(&text, self.width)
    }

    fn write_line(
        &self,
        text: &mut String,
        cells: &[String; COLUMNS.len()],
        tone: impl Fn(usize) -> Option<Tone>,
    ) {
        let mut line = String::new();
        let shown = self.shown.unwrap_or([true; COLUMNS.len()]);
        let cells = cells.iter().zip(self.widths).enumerate();
        for (column, (cell, width)) in cells.filter(|(column, _)| shown[*column]) {
            let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
            let cell = tone(column).map_or_else(|| cell.clone(), |tone| self.style.paint(tone, cell));
            let separator = if column == 0 { "" } else { "  " };
            let (before, after) = if column == AMOUNT { (&*padding, "") } else { ("", &*padding) };
            line.extend([separator, before, &cell, after]);
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

fn cells(intent: &Intent) -> [String; COLUMNS.len()] {
    let amount = intent.request.amount.map(money);
    let id = intent.transaction_id().map(|id| for_terminal(id.as_str()));
    let reference = intent.request.reference.as_deref().map(for_terminal);
    [
        for_terminal(intent.key.as_str()),
        for_terminal(&in_words(&state(intent))),
        amount.unwrap_or_default(),
        minute(intent.begun_at),
        id.unwrap_or_default(),
        reference.unwrap_or_default(),
        intent.attempts.to_string(),
    ]
}

/// The time in UTC to the minute, in the form of RFC 3339: `2026-11-26T01:58Z`.
fn minute(time: SystemTime) -> String {
    format!("{}Z", &timestamp(time)[.."2026-11-26T01:58".len()])
}
