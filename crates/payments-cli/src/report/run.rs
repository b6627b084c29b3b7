//! How a billing run ended: its result with counts and sums of the rows, and the JSON document of it. [`text`] writes it for people.

mod stop;
mod text;

use std::collections::BTreeMap;

use payments_core::Outcome;
use payments_journal::IntentKey;
use payments_model::Amount;
use payments_model::unversioned::as_number;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

pub(crate) use self::stop::Stop;
use crate::format::entry;
use crate::settings::PrintedCommands;

/// The result of a run. Every row of the file is counted in exactly one place, with its amount.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) stop: Option<Stop>,
    /// The signal at which the charges in flight were abandoned, after the run had stopped.
    pub(crate) given_up: Option<&'static str>,
    pub(crate) tallies: Tallies,
    /// Rows whose outcome could not be recorded in the journal. They are also counted under that outcome.
    pub(crate) not_recorded: Tally,
    /// The first rows whose outcome is unknown, and all that are not recorded in the journal, in the order of the file.
    pub(crate) unresolved: Vec<UnresolvedRow>,
    /// The first rejected rows, for people. Programs read the file of `--results`, or an export.
    pub(crate) rejected: Vec<RejectedRow>,
    /// The first rows for which the service returned a transaction that another key already has.
    pub(crate) same_transaction: Vec<DuplicateTransaction>,
    /// How many there are.
    pub(crate) same_transaction_count: u64,
    /// The warnings about keys of which several attempts may have been charged.
    pub(crate) second_charges: Vec<String>,
    /// Why the file of `--results` is incomplete.
    pub(crate) incomplete_results: Option<String>,
    /// The whole place of the journal, if the run created it.
    pub(crate) created_journal: Option<String>,
    pub(crate) phase: Phase,
    /// Those that text and document name.
    pub(crate) commands: PrintedCommands,
}

/// How far a run got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// `--dry-run`: nothing is sent.
    DryRun,
    /// No charge was started.
    #[default]
    Checked,
    /// A charge was started.
    Charging,
}

/// How a run ended, whatever it may have charged twice: the member `outcome`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunOutcome {
    DryRun,
    /// Some outcomes are unknown or not recorded, or the counts may be wrong.
    Unknown,
    /// The API key was refused.
    #[serde(rename = "rejected")]
    Unauthorized,
    /// The same command would send more.
    Unfinished,
    Rejected,
    /// Every row is processed, and the file of `--results` lacks some.
    #[serde(rename = "processed")]
    WithoutResults,
    Processed,
}

impl Summary {
    /// Keeps the first reason, unless a later one decides the exit code: a panic, or else a refused API key. Returns whether this is
    /// the first.
    pub(crate) fn stop(&mut self, stop: Stop) -> bool {
        let decides = |first: &Stop| stop.is_internal() || (stop.is_unauthorized() && !first.is_internal());
        let is_first = self.stop.is_none();
        if self.stop.as_ref().is_none_or(decides) {
            self.stop = Some(stop);
        }
        is_first
    }

    /// Lists an unknown row, if there is room for it. One that is not recorded is always listed: nothing else has its transaction.
    pub(crate) fn list_unknown(&mut self, row: UnresolvedRow) {
        let is_unknown = |listed: &&UnresolvedRow| listed.outcome == Some(Outcome::Unknown);
        if self.unresolved.iter().filter(is_unknown).count() < MOST_LISTED {
            self.unresolved.push(row);
        }
    }

    /// The same of a rejected row.
    pub(crate) fn list_rejected(&mut self, row: RejectedRow) {
        if self.rejected.len() < MOST_LISTED {
            self.rejected.push(row);
        }
    }

    /// Why the run stopped, for people.
    pub(crate) fn stop_message(&self) -> Option<String> {
        let stop = self.stop.as_ref()?;
        let stopped = stop.message(&self.commands);
        let Some(signal) = self.given_up else { return Some(stopped) };
        let before = match stop {
            Stop::Interrupted(_) => String::new(),
            _ => format!("{stopped}; then "),
        };
        Some(format!(
            "{before}abandoned at {signal}; the charges in flight may have been processed: \
             the journal lists each as what it became, or as unknown, and none is sent again"
        ))
    }

    /// The first that applies. The order makes sure that nothing hides an unknown outcome.
    pub(crate) fn outcome(&self) -> RunOutcome {
        let tallies = &self.tallies;
        let is_internal = self.stop.as_ref().is_some_and(Stop::is_internal);
        // A panic may have damaged the counts.
        let is_in_doubt = is_internal && self.phase == Phase::Charging;
        if self.phase == Phase::DryRun {
            RunOutcome::DryRun
        } else if tallies.all_unknown().count > 0 || self.not_recorded.count > 0 || is_in_doubt {
            RunOutcome::Unknown
        } else if self.stop.as_ref().is_some_and(Stop::is_unauthorized) {
            RunOutcome::Unauthorized
        } else if tallies.unfinished().count > 0 || is_internal {
            RunOutcome::Unfinished
        } else if tallies.all_rejected().count > 0 {
            RunOutcome::Rejected
        } else if self.incomplete_results.is_some() {
            RunOutcome::WithoutResults
        } else {
            RunOutcome::Processed
        }
    }
}

/// The document of a run. Other programs read it, so its member names are fixed.
impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Stopped {
            reason: &'static str,
            message: String,
        }

        let stopped = self.stop.as_ref().zip(self.stop_message());
        let stopped = stopped.map(|(stop, message)| Stopped { reason: stop.reason(), message });
        let mut document = serializer.serialize_map(None)?;
        document.serialize_entry("outcome", &self.outcome())?;
        document.serialize_entry("stopped", &stopped)?;
        document.serialize_entry("rows", &self.tallies)?;
        document.serialize_entry("rejected_by_status", &self.tallies.rejected_by_status)?;
        document.serialize_entry("not_recorded", &self.not_recorded)?;
        document.serialize_entry("unresolved", &self.unresolved)?;
        document.serialize_entry("same_transaction", &self.same_transaction)?;
        let same_transaction_count = Some(self.same_transaction_count).filter(|count| *count > 0);
        entry(&mut document, "same_transaction_count", same_transaction_count)?;
        let second_charges = Some(&self.second_charges).filter(|texts| !texts.is_empty());
        entry(&mut document, "second_charges", second_charges)?;
        document.serialize_entry("results_incomplete", &self.incomplete_results)?;
        document.serialize_entry("journal_created", &self.created_journal)?;
        document.end()
    }
}

/// Counts and sums of the rows, by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tallies {
    /// Every row.
    pub(crate) total: Tally,
    /// Outcomes of earlier runs, from the journal.
    pub(crate) earlier: Earlier,
    pub(crate) processed: Tally,
    pub(crate) rejected: Tally,
    pub(crate) unknown: Tally,
    /// Another process is sending it.
    pub(crate) in_progress: Tally,
    /// Tried, and provably not acted upon.
    pub(crate) not_processed: Tally,
    /// A part of the rejected rows, of this run and of earlier ones: those whose rejection is not
    /// [about the payment](payments_journal::Failure::is_about_the_payment). A person may allow them to be sent again.
    rejected_by_status: BTreeMap<u16, Tally>,
}

/// Outcomes that the journal had before the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Earlier {
    pub(crate) processed: Tally,
    pub(crate) rejected: Tally,
    pub(crate) unknown: Tally,
}

impl Tallies {
    /// Counts a rejected row if it has an unrelated status and the sum fits.
    pub(crate) fn add_rejected(&mut self, status: Option<u16>, amount: Amount) {
        let Some(status) = status else { return };
        let tally = self.rejected_by_status.entry(status).or_default();
        *tally = tally.checked_with(amount).unwrap_or(*tally);
    }

    /// Rows that were not started in this run, but could be.
    pub(crate) fn not_started(&self) -> Tally {
        self.counted().into_iter().fold(self.total, |left, (_, _, tally)| left.minus(tally))
    }

    pub(crate) fn all_unknown(&self) -> Tally {
        self.unknown.plus(self.earlier.unknown)
    }

    pub(crate) fn all_processed(&self) -> Tally {
        self.processed.plus(self.earlier.processed)
    }

    pub(crate) fn all_rejected(&self) -> Tally {
        self.rejected.plus(self.earlier.rejected)
    }

    /// Rows that the same command would process.
    pub(crate) fn unfinished(&self) -> Tally {
        self.not_started().plus(self.not_processed).plus(self.in_progress)
    }

    /// Each tally with its JSON name and its label for people.
    fn named(&self) -> impl Iterator<Item = (&'static str, &'static str, Tally)> {
        self.counted().into_iter().chain([("not_started", "not started", self.not_started())])
    }

    /// The same without the rows that were not started.
    fn counted(&self) -> [(&'static str, &'static str, Tally); 8] {
        [
            ("processed", "processed", self.processed),
            ("processed_earlier", "processed earlier", self.earlier.processed),
            ("rejected", "rejected", self.rejected),
            ("rejected_earlier", "rejected earlier", self.earlier.rejected),
            ("unknown", "OUTCOME UNKNOWN", self.unknown),
            ("unknown_earlier", "OUTCOME UNKNOWN earlier", self.earlier.unknown),
            ("in_progress", "in progress elsewhere", self.in_progress),
            ("not_processed", "not processed", self.not_processed),
        ]
    }
}

/// The member `rows` of the document of a run.
impl Serialize for Tallies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.named().map(|(name, _, tally)| (name, tally));
        serializer.collect_map(rows.chain([("total", self.total)]))
    }
}

/// A number of rows and the sum of their amounts.
///
/// The sum is exact: a request has at most two decimals, and a file whose sum would not fit in 64 bits of cents is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    #[serde(rename = "sum", serialize_with = "cents_as_amount")]
    cents: i64,
}

impl Tally {
    /// The tally with one more row, or `None` if the sum would be too large.
    pub(crate) fn checked_with(self, amount: Amount) -> Option<Self> {
        let cents = self.cents.checked_add(amount.to_cents()?)?;
        Some(Self { count: self.count + 1, cents })
    }

    /// Adds a row of a file whose sum is known to fit.
    pub(crate) fn add(&mut self, amount: Amount) {
        *self = self.checked_with(amount).expect("the sum of the whole file fits");
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { count: self.count + other.count, cents: self.cents + other.cents }
    }

    /// The tally without `part`, which must be a part of it.
    pub(crate) fn minus(self, part: Self) -> Self {
        // After a panic the counts may be wrong, and must still be shown.
        Self { count: self.count.saturating_sub(part.count), cents: self.cents.saturating_sub(part.cents) }
    }

    pub(crate) fn sum(self) -> Amount {
        Amount::from_cents(self.cents)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a field by reference")]
fn cents_as_amount<S: Serializer>(cents: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    as_number(&Amount::from_cents(*cents), serializer)
}

/// A row of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ListedRow {
    /// The row's place in the file, from 1: its line is for people.
    #[serde(skip)]
    pub(crate) number: u64,
    pub(crate) line: u64,
    pub(crate) key: IntentKey,
    #[serde(serialize_with = "as_number")]
    pub(crate) amount: Amount,
}

/// A row whose outcome is unknown, or known and not recorded in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct UnresolvedRow {
    #[serde(flatten)]
    pub(crate) row: ListedRow,
    /// The transaction to look up, if one is known.
    pub(crate) transaction_id: Option<String>,
    /// One that is known could not be recorded in the journal, which will list it as unknown.
    #[serde(serialize_with = "row_outcome")]
    pub(crate) outcome: RowOutcome,
    /// The reason as one word.
    pub(crate) kind: String,
}

/// A row for which the service returned the transaction of another intent in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DuplicateTransaction {
    pub(crate) line: u64,
    pub(crate) key: IntentKey,
    pub(crate) transaction_id: String,
    /// The key of the other intent.
    pub(crate) same_transaction_as: IntentKey,
}

/// What became of a row: the outcome of the failed charge, or `None` for a success.
pub(crate) type RowOutcome = Option<Outcome>;

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a field by reference")]
fn row_outcome<S: Serializer>(outcome: &RowOutcome, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(outcome.map_or("processed", Outcome::as_str))
}

/// A row that was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RejectedRow {
    pub(crate) row: ListedRow,
    pub(crate) reason: String,
}

/// Chosen by this command: how many rows are listed without a known outcome, and how many that were rejected.
/// `payments journal list --unresolved` lists them all.
pub(crate) const MOST_LISTED: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(text: &str) -> Amount {
        text.parse().expect("an amount")
    }

    #[test]
    fn sum_is_exact_or_absent() {
        let mut tally = Tally::default();
        for text in ["0.1", "0.20", "1e2", "92233720368547657.77"] {
            tally = tally.checked_with(amount(text)).expect(text);
        }
        assert_eq!((tally.count, tally.sum().to_string()), (4, "92233720368547758.07".to_owned()));
        assert_eq!(tally.checked_with(amount("0.01")), None);
        assert_eq!(Tally::default().checked_with(amount("1e17")), None);
        assert_eq!(serde_json::to_string(&tally).expect("JSON"), r#"{"count":4,"sum":92233720368547758.07}"#);
    }

    #[test]
    fn panic_and_refused_key_replace_the_reason_of_a_stop() {
        let mut summary = Summary::default();
        assert!(summary.stop(Stop::Interrupted("SIGINT")));
        for (stop, reason) in [
            (Stop::TooManyRejected(1), "interrupted"),
            (Stop::Unauthorized(Outcome::Rejected), "unauthorized"),
            (Stop::Internal, "internal"),
            (Stop::Unauthorized(Outcome::Rejected), "internal"),
        ] {
            assert!(!summary.stop(stop));
            assert_eq!(summary.stop.as_ref().map(Stop::reason), Some(reason));
        }
        let stop = Some(Stop::Outage(String::new()));
        let mut summary = Summary { stop, given_up: Some("SIGINT"), ..Summary::default() };
        summary.stop(Stop::Internal);
        assert!(summary.given_up.is_some() && summary.stop.as_ref().is_some_and(Stop::is_internal));
    }
}
