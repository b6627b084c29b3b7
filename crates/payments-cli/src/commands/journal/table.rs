//! Intents as a table for people. Tokens are no part of it.

use std::fmt::Write as _;

use payments_journal::{Intent, IntentState, Verdict};

use super::tally::Tally;
use crate::escape::for_terminal;
use crate::style::{Style, Tone};
use crate::timestamp::timestamp;

/// The lines of some intents after the others, and at the end what they come to.
pub(super) struct Table {
    style: Style,
    /// Of the columns so far: each page is as wide as the widest before it.
    widths: [usize; COLUMNS.len()],
    has_heading: bool,
    tallies: [(&'static str, Tally); SUMS.len()],
}

const COLUMNS: [&str; 6] = ["KEY", "STATE", "AMOUNT", "BEGUN AT", "TRANSACTION", "REFERENCE"];

/// What is summed apart: the states, and of what a person has resolved whether the money moved.
const SUMS: [&str; 7] = [
    "sending",
    "processed",
    "rejected",
    "not_processed",
    "unknown",
    "resolved (processed)",
    "resolved (not processed)",
];

/// The one that is aligned at its end.
const AMOUNT: usize = 2;

impl Table {
    pub(super) fn new(style: Style) -> Self {
        let tallies = SUMS.map(|name| (name, Tally::default()));
        Self { style, widths: COLUMNS.map(str::len), has_heading: false, tallies }
    }

    /// The lines of these, which are counted.
    pub(super) fn page(&mut self, intents: &[Intent]) -> String {
        let rows: Vec<_> = intents.iter().map(|intent| (cells(intent), tone(&intent.state))).collect();
        for intent in intents {
            let name = match &intent.state {
                resolved @ IntentState::Resolved { .. } => state(resolved),
                other => other.name().as_str().to_owned(),
            };
            if let Some((_, tally)) = self.tallies.iter_mut().find(|(sum, _)| *sum == name) {
                tally.add(intent);
            }
        }
        for (cells, _) in &rows {
            for (width, cell) in self.widths.iter_mut().zip(cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut text = String::new();
        if !rows.is_empty() && !self.has_heading {
            self.has_heading = true;
            self.write_line(&mut text, &COLUMNS.map(str::to_owned), |_| Some(Tone::Heading));
        }
        for (cells, tone) in &rows {
            self.write_line(&mut text, cells, |column| (column == 1).then_some(*tone));
        }
        text
    }

    /// What all of them come to, by state.
    pub(super) fn summary(&self) -> String {
        let rows: Vec<_> = self.tallies.iter().filter(|(_, tally)| tally.count > 0).collect();
        if rows.is_empty() {
            return format!("{}\n", self.style.paint(Tone::Faint, "none"));
        }
        let mut text = "\n".to_owned();
        for (name, tally) in rows {
            let intents = tally.intents();
            writeln!(text, "{name:24}  {intents:>15}  {:>14}", tally.sum())
                .expect("a String takes every write");
        }
        text
    }

    fn write_line(
        &self,
        text: &mut String,
        cells: &[String; COLUMNS.len()],
        tone: impl Fn(usize) -> Option<Tone>,
    ) {
        let mut line = String::new();
        for (column, (cell, width)) in cells.iter().zip(self.widths).enumerate() {
            let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
            let cell = tone(column).map_or_else(|| cell.clone(), |tone| self.style.paint(tone, cell));
            let separator = if column == 0 { "" } else { "  " };
            let (before, after) = if column == AMOUNT { (&*padding, "") } else { ("", &*padding) };
            line.extend([separator, before, &cell, after]);
        }
        writeln!(text, "{}", line.trim_end()).expect("a String takes every write");
    }
}

fn cells(intent: &Intent) -> [String; COLUMNS.len()] {
    let amount = intent.request.amount.map(|amount| amount.to_string());
    let id = intent.transaction_id().map(|id| for_terminal(id.as_str()));
    let reference = intent.request.reference.as_deref().map(for_terminal);
    [
        for_terminal(intent.key.as_str()),
        for_terminal(&state(&intent.state)),
        amount.unwrap_or_default(),
        timestamp(intent.begun_at),
        id.unwrap_or_default(),
        reference.unwrap_or_default(),
    ]
}

/// The state's name with what says the most about it, such as `unknown (crash)`.
pub(super) fn state(state: &IntentState) -> String {
    let name = state.name().as_str();
    let more = match state {
        IntentState::Rejected(failure) => match failure.http_status {
            Some(status) => format!("HTTP {status}"),
            None => failure.kind.to_string(),
        },
        IntentState::NotProcessed(failure) | IntentState::Unknown(failure) => failure.kind.to_string(),
        IntentState::Resolved { resolution, .. } => match &resolution.verdict {
            Verdict::Processed(_) => "processed".to_owned(),
            Verdict::NotProcessed => "not processed".to_owned(),
        },
        _ => return name.to_owned(),
    };
    format!("{name} ({more})")
}

/// How the state looks.
pub(super) fn tone(state: &IntentState) -> Tone {
    match state {
        IntentState::Processed { .. } => Tone::Good,
        IntentState::Rejected(_) => Tone::Bad,
        IntentState::Sending | IntentState::Unknown(_) => Tone::Doubtful,
        _ => Tone::Faint,
    }
}
