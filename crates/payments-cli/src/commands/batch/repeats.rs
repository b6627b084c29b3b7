//! Rows to send with the token, amount and reference of another charge. They may be payments of their own, such as instalments, so
//! the run only warns.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use payments_journal::{Intent, IntentKey, IntentRequest, Subject};
use payments_model::{Amount, TokenId};

use super::billing_file::BillingRow;
use super::hashes::Hashes;
use crate::rows::problems::MOST_KEPT;
use crate::rows::spreadsheet::Forms;

/// What two rows that may be the same payment have in common. Of the reference that is its first form, whose spelling does not matter.
pub(super) type Payment = (TokenId, Amount, String);

/// `None` without a reference: nothing tells two equal payments apart.
pub(super) fn payment_of_row(row: &BillingRow) -> Option<Payment> {
    let reference = row.payment.reference_no().filter(|it| !it.trim().is_empty())?;
    Some((row.payment.token_id().clone(), row.payment.amount(), first_form(reference)?))
}

/// The same for a charge in the journal.
pub(super) fn payment_of_intent(intent: &Intent) -> Option<Payment> {
    let IntentRequest { subject: Subject::Token(token), amount, reference, .. } = &intent.request else {
        return None;
    };
    Some((token.clone(), (*amount)?, first_form(reference.as_deref()?)?))
}

fn first_form(reference: &str) -> Option<String> {
    Forms::of(reference).exact.into_iter().next()
}

/// Rows to send, each with the other charge.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    count: u64,
    /// The first of them, for people.
    first: Vec<String>,
}

impl Repeats {
    /// Chosen by this command: enough to see what they are.
    const MOST_SHOWN: usize = 3;

    /// Those of which an earlier row of the file is the other charge. The rows are read `again`, each with whether it is to be sent,
    /// only if there may be such rows.
    pub(super) fn in_file<I: Iterator<Item = (BillingRow, bool)>>(
        payments: Hashes,
        again: impl FnOnce() -> I,
    ) -> Self {
        let mut repeats = Self::default();
        let mut earlier = HashMap::new();
        let rows =
            || again().filter_map(|(row, is_to_send)| Some((payment_of_row(&row)?, (row, is_to_send))));
        for (payment, (row, is_to_send)) in payments.repeated(rows) {
            match earlier.entry(payment) {
                Entry::Vacant(entry) => {
                    entry.insert((row.line, row.key, is_to_send));
                }
                Entry::Occupied(entry) => {
                    let (line, key, is_other_to_send) = entry.get();
                    if is_to_send || *is_other_to_send {
                        repeats.add_row(&row, *line, key);
                    }
                }
            }
        }
        repeats
    }

    /// Adds a row that the journal has as processed under another key.
    pub(super) fn add_processed(&mut self, row: &BillingRow, key: &IntentKey) {
        self.add(row, &format!("{key} of an earlier run"));
    }

    /// Adds a row of which the one of that line is the other charge.
    pub(super) fn add_row(&mut self, row: &BillingRow, line: u64, key: &IntentKey) {
        self.add(row, &format!("{key} of line {line}"));
    }

    fn add(&mut self, row: &BillingRow, other: &str) {
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
        let Self { count, first } = self;
        let more = if *count > first.len() as u64 { "; …" } else { "" };
        let or_more = if *count >= MOST_KEPT as u64 { " or more" } else { "" };
        (*count > 0).then(|| format!("{rows}: {count}{or_more}; {advice} ({}{more})", first.join("; ")))
    }
}
