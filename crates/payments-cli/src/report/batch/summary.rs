//! The result of a billing run.

use std::fmt::{self, Write as _};

use payments_core::Outcome;
use payments_model::Amount;
use payments_model::unversioned::as_number;
use serde::{Serialize, Serializer};

use super::Stop;
use super::stop::NextRun;
use crate::exit_code::ExitCode;
use crate::format::counted;
use crate::style::{Style, Tone, for_terminal};

/// The result of a run. Every row of the file is counted in exactly one place, with its amount.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) tallies: Tallies,
    /// The first rows whose outcome is unknown, or not recorded in the journal, in the order of the file.
    pub(crate) unresolved: Vec<UnresolvedRow>,
    /// Rows whose outcome could not be recorded in the journal. They are also counted under that outcome.
    pub(crate) not_recorded: Tally,
    /// The first rows for which the service returned a transaction that another key already has.
    pub(crate) same_transaction: Vec<DuplicateTransaction>,
    /// The warnings about keys of which several attempts may have been charged.
    pub(crate) second_charges: Vec<String>,
    pub(crate) stop: Option<Stop>,
    /// A charge was started.
    pub(crate) has_begun: bool,
    /// `--dry-run`: nothing was sent.
    pub(crate) is_dry_run: bool,
    /// Why the file of `--results` is incomplete.
    pub(crate) incomplete_results: Option<String>,
    /// The whole place of the journal, if the run created it.
    pub(crate) created_journal: Option<String>,
}

/// Counts and sums of the rows, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// A part of the rejected rows, of this run and of earlier ones.
    pub(crate) rejected_by_status: RejectedByStatus,
}

/// Outcomes that the journal had before the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Earlier {
    pub(crate) processed: Tally,
    pub(crate) rejected: Tally,
    pub(crate) unknown: Tally,
}

impl Tallies {
    /// Rows that were not started in this run, but could be.
    pub(crate) fn not_started(&self) -> Tally {
        self.counted().into_iter().fold(self.total, |left, (_, _, tally)| left.minus(tally))
    }

    fn all_unknown(&self) -> Tally {
        self.unknown.plus(self.earlier.unknown)
    }

    /// Rows that the same command would process.
    fn unfinished(&self) -> Tally {
        self.not_started().plus(self.not_processed).plus(self.in_progress)
    }

    /// Each tally with its JSON name and its label for people.
    fn named(&self) -> impl Iterator<Item = (&'static str, &'static str, Tally)> {
        self.counted().into_iter().chain([("not_started", "not started", self.not_started())])
    }

    /// The same without the rows that were not started.
    fn counted(&self) -> [(&'static str, &'static str, Tally); 8] {
        let Self {
            total: _,
            earlier,
            processed,
            rejected,
            unknown,
            in_progress,
            not_processed,
            rejected_by_status: _,
        } = *self;
        [
            ("processed", "processed", processed),
            ("processed_earlier", "processed earlier", earlier.processed),
            ("rejected", "rejected", rejected),
            ("rejected_earlier", "rejected earlier", earlier.rejected),
            ("unknown", "OUTCOME UNKNOWN", unknown),
            ("unknown_earlier", "OUTCOME UNKNOWN earlier", earlier.unknown),
            ("in_progress", "in progress elsewhere", in_progress),
            ("not_processed", "not processed", not_processed),
        ]
    }
}

impl Summary {
    /// Keeps the first reason, unless a later one decides the exit code. Returns whether this is the first.
    pub(crate) fn stop(&mut self, stop: Stop) -> bool {
        if let Some(first) = &mut self.stop {
            first.replace_first(stop);
            return false;
        }
        self.stop = Some(stop);
        true
    }

    /// Whether a panic, which may have damaged the counts, happened after the first charge began.
    fn is_in_doubt(&self) -> bool {
        self.has_begun && self.stop.as_ref().is_some_and(Stop::is_internal)
    }

    fn next_run(&self) -> NextRun {
        self.stop.as_ref().map_or(NextRun::ANY_TIME, Stop::next_run)
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::of_run(|code| self.may_end_with(code))
    }

    fn code_without_second_charges(&self) -> ExitCode {
        ExitCode::of_run(|code| code != ExitCode::SecondCharge && self.may_end_with(code))
    }

    /// Whether the run has the result that this code is for.
    fn may_end_with(&self, code: ExitCode) -> bool {
        let (tallies, stop) = (&self.tallies, self.stop.as_ref());
        !self.is_dry_run
            && match code {
                ExitCode::Unknown => {
                    tallies.all_unknown().count > 0 || self.not_recorded.count > 0 || self.is_in_doubt()
                }
                ExitCode::SecondCharge => !self.second_charges.is_empty(),
                ExitCode::Unauthorized => stop.is_some_and(Stop::is_unauthorized),
                ExitCode::NotProcessed => {
                    tallies.unfinished().count > 0 || stop.is_some_and(Stop::is_internal)
                }
                ExitCode::Rejected => tallies.rejected.plus(tallies.earlier.rejected).count > 0,
                ExitCode::Other => self.incomplete_results.is_some(),
                ExitCode::Invalid | ExitCode::NotFound | ExitCode::Processed => false,
            }
    }

    /// Whether the run ended without waiting for the charges in flight.
    pub(crate) fn is_given_up(&self) -> bool {
        matches!(self.stop, Some(Stop::GivenUp { .. }))
    }

    /// The member `outcome`.
    fn outcome(&self) -> &'static str {
        match self.code_without_second_charges() {
            _ if self.is_dry_run => "dry_run",
            ExitCode::Unauthorized | ExitCode::Rejected => "rejected",
            ExitCode::Unknown => "unknown",
            ExitCode::NotProcessed => "unfinished",
            _ => "processed",
        }
    }

    /// The report for people: a table, then what to do.
    pub(crate) fn lines(&self, style: Style) -> String {
        let (tone, heading) = self.heading();
        let code = style.paint(Tone::Dim, &format!("(exit code {})", self.exit_code().number()));
        let mut text = format!("{} {code}\n", style.paint(tone, &heading));
        if let Some(stop) = &self.stop {
            line(&mut text, &format!("stopped: {stop}"));
        }
        if let Some(why) = &self.incomplete_results {
            line(&mut text, &format!("the file of --results is incomplete: {why}"));
        }
        if let Some(place) = &self.created_journal {
            line(&mut text, &format!("this run created the journal {place}"));
        }
        self.write_table(&mut text);
        for rejected_by_status in self.tallies.rejected_by_status.lines() {
            line(&mut text, &rejected_by_status);
        }
        self.write_unresolved(&mut text, style);
        for second_charge in &self.second_charges {
            line(&mut text, second_charge);
        }
        if !self.same_transaction.is_empty() {
            let heading =
                "the service returned one transaction for two keys: compare them with the service's records";
            line(&mut text, heading);
        }
        for same_transaction in &self.same_transaction {
            line(&mut text, &format!("  {same_transaction}"));
        }
        if !self.is_dry_run {
            self.write_what_is_left(&mut text);
        }
        text
    }

    fn write_what_is_left(&self, text: &mut String) {
        let Tallies { in_progress, not_processed, .. } = self.tallies;
        if not_processed.plus(self.tallies.not_started()).count > 0 {
            let when = self.next_run().when;
            line(
                text,
                &format!(
                    "{when}run the same command again to send the rows that are not processed or not started"
                ),
            );
        }
        if in_progress.count > 0 {
            line(
                text,
                "another run is sending the rows in progress elsewhere: run the same command later to see how they ended",
            );
        }
    }

    fn heading(&self) -> (Tone, String) {
        if self.is_dry_run {
            return (Tone::Heading, "DRY RUN, nothing was sent".to_owned());
        }
        match self.code_without_second_charges() {
            ExitCode::Unauthorized => (Tone::Error, "STOPPED, the API key was refused".to_owned()),
            ExitCode::Unknown => (Tone::Warning, self.unknown_heading()),
            ExitCode::NotProcessed => (Tone::Error, format!("UNFINISHED, {}", self.next_run().headline)),
            ExitCode::Rejected => (Tone::Error, "FINISHED, some were rejected".to_owned()),
            _ => (Tone::Success, "PROCESSED".to_owned()),
        }
    }

    /// Reports unknown outcomes separately from outcomes that are known but not recorded in the journal.
    fn unknown_heading(&self) -> String {
        let not_recorded = match self.not_recorded.count {
            0 => String::new(),
            count => format!("{} NOT RECORDED in the journal: keep this list", counted(count, "outcome")),
        };
        let unknown = match self.tallies.all_unknown().count {
            0 if not_recorded.is_empty() => {
                "INTERNAL ERROR, more outcomes may be unknown than are listed".to_owned()
            }
            0 => return not_recorded,
            1 => "OUTCOME UNKNOWN for 1 charge, which is not sent again: reconcile it".to_owned(),
            count => {
                format!("OUTCOME UNKNOWN for {count} charges, which are not sent again: reconcile them")
            }
        };
        if not_recorded.is_empty() { unknown } else { format!("{unknown}; {not_recorded}") }
    }

    fn write_table(&self, text: &mut String) {
        let tallies = &self.tallies;
        let mut rows: Vec<_> = tallies
            .named()
            .filter(|(_, _, tally)| tally.count > 0)
            .map(|(name, label, tally)| match name {
                "not_started" if self.is_dry_run => ("would be sent", tally),
                _ => (label, tally),
            })
            .collect();
        rows.push(("total", tallies.total));
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(label, tally)| (label, tally.count.to_string(), tally.sum().to_string()))
            .collect();
        let width = |of: fn(&(&str, String, String)) -> usize| rows.iter().map(of).max().unwrap_or_default();
        let label_width = width(|row| row.0.len());
        let count_width = width(|row| row.1.len()).max("rows".len());
        let sum_width = width(|row| row.2.len()).max("sum".len());
        line(text, &format!("{:label_width$}  {:>count_width$}  {:>sum_width$}", "", "rows", "sum"));
        for (label, count, sum) in &rows {
            line(text, &format!("{label:label_width$}  {count:>count_width$}  {sum:>sum_width$}"));
        }
    }

    fn write_unresolved(&self, text: &mut String, style: Style) {
        let (unrecorded, unknown): (Vec<_>, Vec<_>) =
            self.unresolved.iter().partition(|row| row.unrecorded.is_some());
        let all_unknown = self.tallies.all_unknown();
        if all_unknown.plus(self.not_recorded).count == 0 {
            return;
        }
        let mut write = |heading: &str, rows: Vec<&UnresolvedRow>, all: Tally| {
            if all.count == 0 {
                return;
            }
            writeln!(text, "  {}", style.paint(Tone::Warning, heading)).expect("a String takes every write");
            for row in &rows {
                line(text, &format!("  {row}"));
            }
            let rest = all.count.saturating_sub(rows.len() as u64);
            if rest > 0 {
                line(text, &format!("  and {rest} more"));
            }
        };
        write("outcome unknown, never sent again automatically:", unknown, all_unknown);
        write(
            "outcome known, but not recorded in the journal, which lists it as unknown:",
            unrecorded,
            self.not_recorded,
        );
        line(
            text,
            "`payments journal list --unresolved` lists them all; `payments journal resolve` resolves one, or many with --from",
        );
    }
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "  {}", for_terminal(line)).expect("a String takes every write");
}

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

/// Rejected rows whose HTTP status is about the caller and not about the payment: 401, 403 and 429. A person may allow
/// them to be sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RejectedByStatus([Tally; STATUSES.len()]);

const STATUSES: [u16; 3] = [401, 403, 429];

impl RejectedByStatus {
    /// Counts a rejected row if it has one of these statuses and the sum fits.
    pub(crate) fn add(&mut self, status: Option<u16>, amount: Amount) {
        let Some(place) = STATUSES.iter().position(|it| Some(*it) == status) else { return };
        let tally = &mut self.0[place];
        *tally = tally.checked_with(amount).unwrap_or(*tally);
    }

    fn each(&self) -> impl Iterator<Item = (u16, Tally)> {
        STATUSES.into_iter().zip(self.0).filter(|(_, tally)| tally.count > 0)
    }

    /// What to do about them, for people. Empty if there are none.
    pub(crate) fn lines(&self) -> Vec<String> {
        let statuses: Vec<_> = self.each().map(|(status, _)| status.to_string()).collect();
        if statuses.is_empty() {
            return Vec::new();
        }
        let mut lines = vec!["rejected for a reason other than the payment itself:".to_owned()];
        lines.extend(self.each().map(|(status, tally)| {
            format!("  HTTP {status}: {}, {}", counted(tally.count, "row"), tally.sum())
        }));
        let statuses = statuses.join(",");
        lines.push(format!(
            "fix the cause, then run `payments journal retry --status {statuses}` so that the same command sends them again"
        ));
        lines
    }
}

/// Only the statuses that occur.
impl Serialize for RejectedByStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.each())
    }
}

/// A row whose outcome is unknown, or known and not recorded in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct UnresolvedRow {
    /// The row's place in the file, from 1: its line is for people.
    #[serde(skip)]
    pub(crate) number: u64,
    pub(crate) line: u64,
    pub(crate) key: String,
    #[serde(serialize_with = "as_number")]
    pub(crate) amount: Amount,
    /// The transaction to look up, if one is known.
    pub(crate) transaction_id: Option<String>,
    /// The outcome, if it is known and could not be recorded in the journal, which will list it as unknown.
    #[serde(rename = "outcome", serialize_with = "outcome")]
    pub(crate) unrecorded: Option<KnownOutcome>,
    /// The reason as one word.
    pub(crate) kind: String,
}

/// A row for which the service returned the transaction of another intent in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DuplicateTransaction {
    pub(crate) line: u64,
    pub(crate) key: String,
    pub(crate) transaction_id: String,
    /// The key of the other intent.
    pub(crate) same_transaction_as: String,
}

/// An outcome that is not unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KnownOutcome {
    Processed,
    Rejected,
    NotProcessed,
}

impl KnownOutcome {
    /// The outcome of the failed call, or `None` for a success.
    pub(crate) const fn of_failure(self) -> Option<Outcome> {
        match self {
            Self::Processed => None,
            Self::Rejected => Some(Outcome::Rejected),
            Self::NotProcessed => Some(Outcome::NotProcessed),
        }
    }
}

impl UnresolvedRow {
    /// Chosen by this command: how many are listed with a known outcome, and how many without one.
    /// `payments journal list --unresolved` lists them all.
    pub(crate) const MOST_LISTED: usize = 100;
}

#[allow(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde passes a field by reference")]
fn outcome<S: Serializer>(ended: &Option<KnownOutcome>, serializer: S) -> Result<S::Ok, S::Error> {
    match ended {
        Some(ended) => ended.serialize(serializer),
        None => serializer.serialize_str("unknown"),
    }
}

impl fmt::Display for UnresolvedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number: _, line, key, amount, transaction_id, unrecorded, kind } = self;
        let word = match unrecorded {
            Some(KnownOutcome::Processed) => "PROCESSED",
            Some(KnownOutcome::Rejected) => "rejected",
            Some(KnownOutcome::NotProcessed) => "not processed",
            None => kind,
        };
        write!(f, "line {line}: {key}, {amount} ({word}")?;
        if let Some(id) = transaction_id {
            write!(f, ", TransactionId {id}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for DuplicateTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, key, transaction_id, same_transaction_as } = self;
        write!(
            f,
            "line {line}: {key} and {same_transaction_as} are both processed as transaction {transaction_id}"
        )
    }
}

#[cfg(test)]
mod tests {
    use payments_core::Outcome;
    use payments_model::Amount;

    use super::*;

    #[test]
    fn exit_code_is_the_first_that_applies() {
        let one = || {
            let mut tally = Tally::default();
            tally.add(Amount::from_cents(1));
            tally
        };
        // Each summary also has everything that the summaries with a lower priority have.
        let mut summary = Summary::default();
        let mut expects = |code: u8, outcome: &str, change: &dyn Fn(&mut Summary)| {
            change(&mut summary);
            assert_eq!((summary.exit_code().number(), summary.outcome()), (code, outcome), "{summary:?}");
            summary.clone()
        };
        expects(0, "processed", &|_| {});
        let mut panicked = Summary { stop: Some(Stop::Internal), ..Summary::default() };
        assert_eq!((panicked.exit_code().number(), panicked.outcome()), (3, "unfinished"));
        panicked.has_begun = true;
        assert_eq!((panicked.exit_code().number(), panicked.outcome()), (5, "unknown"));
        expects(1, "processed", &|it| it.incomplete_results = Some("full".to_owned()));
        expects(4, "rejected", &|it| (it.tallies.total, it.tallies.rejected) = (one(), one()));
        let rejected = expects(3, "unfinished", &|it| it.tallies.total.add(Amount::from_cents(1)));
        let unfinished = expects(6, "rejected", &|it| it.stop = Some(Stop::Unauthorized(Outcome::Rejected)));
        let second_charge = expects(8, "rejected", &|it| it.second_charges = vec!["POSSIBLE".to_owned()]);
        for change in [
            (|it| it.tallies.unknown.add(Amount::from_cents(1))) as fn(&mut Summary),
            |it| it.tallies.earlier.unknown.add(Amount::from_cents(1)),
            |it| it.not_recorded.add(Amount::from_cents(1)),
        ] {
            for mut summary in [rejected.clone(), unfinished.clone(), second_charge.clone()] {
                summary.tallies.total.add(Amount::from_cents(1));
                change(&mut summary);
                assert_eq!((summary.exit_code().number(), summary.outcome()), (5, "unknown"), "{summary:?}");
            }
        }
        let mut elsewhere = Summary::default();
        (elsewhere.tallies.total, elsewhere.tallies.in_progress) = (one(), one());
        assert_eq!(elsewhere.exit_code().number(), 3, "in progress elsewhere");
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
        let after = Box::new(Stop::Outage(String::new()));
        let mut summary =
            Summary { stop: Some(Stop::GivenUp { signal: "SIGINT", after }), ..Summary::default() };
        summary.stop(Stop::Internal);
        assert!(summary.is_given_up() && summary.stop.as_ref().is_some_and(Stop::is_internal));
    }

    #[test]
    fn unfinished_rows_are_reported_by_what_the_same_command_does_with_them() {
        let [sent_again, waited_for] = ["to send the rows that are not processed", "another run is sending"];
        let text = |tallies: Tallies| Summary { tallies, ..Summary::default() }.lines(Style::Plain);
        let mut tallies = Tallies::default();
        tallies.total.add(Amount::from_cents(1));
        tallies.in_progress.add(Amount::from_cents(1));
        let elsewhere = text(tallies);
        assert!(!elsewhere.contains(sent_again) && elsewhere.contains(waited_for), "{elsewhere}");
        tallies.total.add(Amount::from_cents(1));
        let both = text(tallies);
        assert!(both.contains(sent_again) && both.contains(waited_for), "{both}");
        tallies.in_progress = Tally::default();
        let not_started = text(tallies);
        assert!(not_started.contains(sent_again) && !not_started.contains(waited_for), "{not_started}");
    }

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
}
