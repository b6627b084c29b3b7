//! The status column of a report: which of its words mean that the money moved, as the person says.

use std::collections::BTreeMap;

use payments_journal::{ReportCell, RowStatus};
use payments_model::mask;

use crate::args::reconcile::ReconcileArguments;
use crate::commands::journal::status_words;
use crate::failure::Failure;
use crate::report::problems::Role;
use crate::style::for_terminal;

/// The words of `--charged-status` and `--declined-status`.
#[derive(Clone, Copy)]
pub(super) struct StatusWords<'a> {
    charged: &'a [String],
    declined: &'a [String],
}

impl<'a> StatusWords<'a> {
    /// Refuses a word that is in both lists, and one of a payment that was not made or not kept among the charged ones.
    pub(super) fn of(asked: &'a ReconcileArguments) -> Result<Self, Failure> {
        let this = Self { charged: &asked.charged_statuses, declined: &asked.declined_statuses };
        if let Some(word) = this.charged.iter().find(|word| status_words::is_no_charge(word)) {
            let word = for_terminal(&mask(word.trim(), &[]));
            let message = format!(
                "\"{word}\" of --charged-status says that no money moved, or was given back; nothing was changed: leave it out"
            );
            return Err(Failure::usage(message));
        }
        let mut declined = this.declined.iter().map(|word| word.trim());
        if let Some(word) = declined.find(|word| is_one_of(word, this.charged)) {
            let word = for_terminal(&mask(word, &[]));
            let message = format!(
                "\"{word}\" is a word of --charged-status and of --declined-status; nothing was changed"
            );
            return Err(Failure::usage(message));
        }
        Ok(this)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.charged.is_empty() && self.declined.is_empty()
    }

    /// The meaning of a cell. Every row of a report without such a column was charged.
    pub(super) fn status_of(&self, cell: &ReportCell<String>) -> RowStatus {
        match cell {
            ReportCell::Absent => RowStatus::Charged,
            ReportCell::Unreadable => RowStatus::Unreadable,
            ReportCell::Read(word) if is_one_of(word, self.charged) => RowStatus::Charged,
            ReportCell::Read(word) if is_one_of(word, self.declined) => RowStatus::Declined,
            ReportCell::Empty | ReportCell::Read(_) => RowStatus::Other,
        }
    }

    /// Refuses a report with a status column if the person has not said which words mean that the money moved. `seen` has the
    /// words of the column and how often each occurs.
    pub(super) fn require_charged(&self, seen: &BTreeMap<String, u64>) -> Result<(), Failure> {
        if !self.charged.is_empty() {
            return Ok(());
        }
        let shown = seen.iter().take(MOST_WORDS).map(|(word, count)| {
            let word = if word.is_empty() { "(empty)".to_owned() } else { for_terminal(&mask(word, &[])) };
            format!("{word} ({count})")
        });
        let shown = shown.collect::<Vec<_>>().join(", ");
        let why = format!(" has a status with the words {shown}");
        Err(Role::Report
            .refused_until(&why, "say with --charged-status which of them mean that the money moved"))
    }
}

/// More are not helpful, and are no status.
const MOST_WORDS: usize = 12;

fn is_one_of(word: &str, words: &[String]) -> bool {
    !word.is_empty() && words.iter().any(|other| other.trim().to_lowercase() == word.to_lowercase())
}
