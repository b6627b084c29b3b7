//! Rows to send with the token, amount and reference of another charge. They may be payments of their own, such as instalments, so
//! the run only warns.

use super::billing_file::BillingRow;

/// Rows to send, each with the other charge.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    count: u64,
    /// The first of them, for people.
    first: Vec<String>,
    /// Whether there may be more, because not all charges were compared.
    pub(super) is_cut: bool,
}

impl Repeats {
    /// Chosen by this command: enough to see what they are.
    const MOST_SHOWN: usize = 3;

    /// Adds a row, of which the other charge is described.
    pub(super) fn add(&mut self, row: &BillingRow, other: &str) {
        self.count += 1;
        if self.first.len() < Self::MOST_SHOWN {
            self.first.push(format!("line {}: {} and {other}", row.line, row.key));
        }
    }

    /// The warning about rows to send, if there are any.
    pub(super) fn warning(&self, what: &str) -> Option<String> {
        self.warning_of(
            &format!("rows with the token, amount and ReferenceNo of {what}, under another key"),
            "unless they are payments of their own, such as instalments, somebody is charged twice: remove them",
        )
    }

    /// The warning about rows that were charged, as an earlier row was.
    pub(super) fn warning_of_charged(&self) -> Option<String> {
        self.warning_of(
            "rows whose keys are one key in two spellings, and which were both charged, or may have been, with the same token, amount \
             and ReferenceNo",
            "unless they are payments of their own, somebody was charged twice: undo one of the two",
        )
    }

    fn warning_of(&self, rows: &str, advice: &str) -> Option<String> {
        let Self { count, first, is_cut } = self;
        let more = if *count > first.len() as u64 { "; …" } else { "" };
        let or_more = if *is_cut { " or more" } else { "" };
        (*count > 0).then(|| format!("{rows}: {count}{or_more}; {advice} ({}{more})", first.join("; ")))
    }
}
