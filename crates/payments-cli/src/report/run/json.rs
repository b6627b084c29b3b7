//! The JSON document of a billing run.

use serde::{Serialize, Serializer};

use super::summary::{DuplicateTransaction, Summary, UnresolvedRow};
use super::tally::{RejectedByStatus, Tallies, Tally};
use crate::report::exit_code::ExitCode;

/// Other programs read this document: its member names are fixed.
impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            outcome: &'static str,
            stopped: Option<StopObject>,
            rows: &'a Tallies,
            rejected_by_status: &'a RejectedByStatus,
            not_recorded: Tally,
            unresolved: &'a [UnresolvedRow],
            same_transaction: &'a [DuplicateTransaction],
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            second_charges: &'a [String],
            results_incomplete: Option<&'a str>,
            journal_created: Option<&'a str>,
        }

        #[derive(Serialize)]
        struct StopObject {
            reason: &'static str,
            message: String,
        }

        let stopped =
            self.stop.as_ref().map(|stop| StopObject { reason: stop.reason(), message: stop.to_string() });
        Document {
            outcome: self.outcome(),
            stopped,
            rows: &self.tallies,
            rejected_by_status: &self.tallies.rejected_by_status,
            not_recorded: self.not_recorded,
            unresolved: &self.unresolved,
            same_transaction: &self.same_transaction,
            second_charges: &self.second_charges,
            results_incomplete: self.incomplete_results.as_deref(),
            journal_created: self.created_journal.as_deref(),
        }
        .serialize(serializer)
    }
}

impl Summary {
    /// The member `outcome`.
    pub(crate) fn outcome(&self) -> &'static str {
        match ExitCode::of_run_without_second_charges(self) {
            _ if self.is_dry_run => "dry_run",
            ExitCode::Unauthorized | ExitCode::Rejected => "rejected",
            ExitCode::Unknown => "unknown",
            ExitCode::NotProcessed => "unfinished",
            _ => "processed",
        }
    }
}
