//! The journal against the report of a processor.

mod attempts;
mod intervals;
mod matching;
mod reconciliation;
mod report;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::SystemTime;

use crate::{Journal, StateName, StoreError};
use matching::Matching;

pub use reconciliation::{
    Candidate, OfAnotherMerchant, Proposal, ReconcileOptions, ReconciledAttempt, Reconciliation, Undecided,
    UndecidedReason, Unexplained,
};
pub use report::{ReportCell, ReportRow, RowStatus, RowTime};

impl Journal {
    /// Compares the journal with the report of a processor, and says what a person can resolve. It changes nothing and looks
    /// nothing up.
    ///
    /// Every attempt without a known transaction that the [history](crate::Intent::history) has takes part, also of rejected and
    /// not processed intents. A row may be an
    /// attempt's payment if the amount agrees, and the reference or, for a card, the last four digits, and if its time lies
    /// between 5 minutes before the attempt began and [`within`](ReconcileOptions::within) after it ended. An unknown intent
    /// with a transaction's id can only be the row of that id. Something is proposed only if the intent has exactly one such row
    /// and the row exactly one such intent, in any state. Rows of any status count, and so do rows that agree in what can be
    /// read. Rows with one id are one row.
    ///
    /// Of a key whose entry was [lost](crate::Journal::accept_history) only the time is known: it may be any row of that time, so
    /// nothing is proposed from these rows until the key is resolved.
    ///
    /// A row whose transaction an intent of another merchant at the same base URL has is
    /// [listed with that intent](Reconciliation::other_merchants), and is nobody else's.
    ///
    /// A payment of a stranger that agrees in everything cannot be told apart if the key's own row is not in the report. So a
    /// person reads each proposal, and [`resolve`](Self::resolve) or a lookup checks it.
    ///
    /// # Errors
    ///
    /// If the journal cannot be read, if it has payments at several services and the options name none, or if the report is said to
    /// be complete until a time in the future.
    pub async fn reconcile(
        &self,
        rows: &[ReportRow],
        options: &ReconcileOptions,
    ) -> Result<Reconciliation, StoreError> {
        // A payment that the report cannot show yet would be missing.
        if options.complete.is_some_and(|(_, to)| to > SystemTime::now()) {
            return Err(StoreError::refused("no report can be complete until a time in the future"));
        }
        let mut matching = Matching::of(rows, options);
        let mut services = BTreeSet::new();
        let mut pages = self.pages(StateName::ALL);
        while let Some(intents) = pages.next().await? {
            for intent in &intents {
                // Of a key whose entry was lost the service is not known: it may be any.
                services.extend(intent.service.clone());
                matching.add(intent);
            }
        }
        let names = || services.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let service = match &options.service {
            Some(asked) if services.contains(asked) || services.is_empty() => Some(asked.clone()),
            Some(asked) => {
                let message = format!("the journal has no payment at {asked}, only at {}", names());
                return Err(StoreError::refused(message));
            }
            None if services.len() > 1 => {
                let message = format!(
                    "the journal has payments at several services: say which one's report it is: {}",
                    names()
                );
                return Err(StoreError::refused(message));
            }
            None => services.pop_first(),
        };
        Ok(Reconciliation { service, ..matching.finish() })
    }
}

/// Compares these intents with a report.
#[cfg(test)]
fn reconcile(intents: &[crate::Intent], rows: &[ReportRow], options: &ReconcileOptions) -> Reconciliation {
    let mut matching = Matching::of(rows, options);
    for intent in intents {
        matching.add(intent);
    }
    matching.finish()
}
