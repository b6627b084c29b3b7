use std::fmt::Write as _;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::{Doubt, Refused, Repeated, Stop, Tally};
use crate::escape::for_terminal;
use crate::exit_code::ExitCode;
use crate::style::{Style, Tone};

/// How a run stands at its end: every row of the file is counted in one place, with its amount.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) tallies: Tallies,
    /// What nobody knows the end of, in the order of the file: the first ones.
    pub(crate) doubts: Vec<Doubt>,
    /// What ended with a result that the journal could not write down. It is counted by its result.
    pub(crate) not_recorded: Tally,
    /// What the service answered with a transaction that another key has: the first ones.
    pub(crate) repeated: Vec<Repeated>,
    pub(crate) stop: Option<Stop>,
    /// Nothing was sent, as asked.
    pub(crate) is_dry_run: bool,
    /// Why the file of `--results` lacks some of them.
    pub(crate) incomplete_results: Option<String>,
}

/// Where every row of the file stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tallies {
    /// Every row.
    pub(crate) total: Tally,
    /// By earlier runs, as the journal has it.
    pub(crate) earlier: Earlier,
    pub(crate) processed: Tally,
    pub(crate) rejected: Tally,
    pub(crate) unknown: Tally,
    /// Another process is sending it.
    pub(crate) in_progress: Tally,
    /// Tried, and provably never acted upon.
    pub(crate) not_processed: Tally,
    /// Some of the rejected, of this run and of earlier ones.
    pub(crate) refused: Refused,
}

/// What the journal knows of before the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Earlier {
    pub(crate) processed: Tally,
    pub(crate) rejected: Tally,
    pub(crate) unknown: Tally,
}

impl Earlier {
    fn all(&self) -> Tally {
        let Self { processed, rejected, unknown } = *self;
        processed.plus(rejected).plus(unknown)
    }
}

impl Tallies {
    /// What was not begun in this run, and could be.
    pub(crate) fn not_started(&self) -> Tally {
        let Self { total, earlier, processed, rejected, unknown, in_progress, not_processed, refused: _ } =
            *self;
        let counted =
            earlier.all().plus(processed).plus(rejected).plus(unknown).plus(in_progress).plus(not_processed);
        total.minus(counted)
    }

    fn all_unknown(&self) -> Tally {
        self.unknown.plus(self.earlier.unknown)
    }

    /// What the same command would try again.
    fn unfinished(&self) -> Tally {
        self.not_started().plus(self.not_processed).plus(self.in_progress)
    }

    /// Each with its name in the document and its name for people.
    fn named(&self) -> [(&'static str, &'static str, Tally); 9] {
        let Self { total: _, earlier, processed, rejected, unknown, in_progress, not_processed, refused: _ } =
            *self;
        [
            ("processed", "processed", processed),
            ("processed_earlier", "processed earlier", earlier.processed),
            ("rejected", "rejected", rejected),
            ("rejected_earlier", "rejected earlier", earlier.rejected),
            ("unknown", "OUTCOME UNKNOWN", unknown),
            ("unknown_earlier", "OUTCOME UNKNOWN earlier", earlier.unknown),
            ("in_progress", "in progress elsewhere", in_progress),
            ("not_processed", "not processed", not_processed),
            ("not_started", "not started", self.not_started()),
        ]
    }
}

impl Summary {
    /// The first that applies.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let tallies = &self.tallies;
        if self.is_dry_run {
            ExitCode::Processed
        } else if tallies.all_unknown().count > 0 || self.not_recorded.count > 0 {
            ExitCode::Unknown
        } else if self.stop.as_ref().is_some_and(Stop::is_unauthorized) {
            ExitCode::Unauthorized
        } else if tallies.unfinished().count > 0
            || self.stop.as_ref().is_some_and(Stop::leaves_rows_uncounted)
        {
            ExitCode::NotProcessed
        } else if tallies.rejected.plus(tallies.earlier.rejected).count > 0 {
            ExitCode::Rejected
        } else if self.incomplete_results.is_some() {
            ExitCode::Other
        } else {
            ExitCode::Processed
        }
    }

    /// Whether somebody did not wait for what was in flight.
    pub(crate) fn is_given_up(&self) -> bool {
        matches!(self.stop, Some(Stop::GivenUp { .. }))
    }

    /// One word for the whole.
    fn outcome(&self) -> &'static str {
        match self.exit_code() {
            _ if self.is_dry_run => "dry_run",
            ExitCode::Unauthorized | ExitCode::Rejected => "rejected",
            ExitCode::Unknown => "unknown",
            ExitCode::NotProcessed => "unfinished",
            _ => "processed",
        }
    }

    /// The table and what to do, for people.
    pub(crate) fn lines(&self, style: Style) -> String {
        let (tone, heading) = self.heading();
        let code = style.paint(Tone::Faint, &format!("(exit code {})", self.exit_code().number()));
        let mut text = format!("{} {code}\n", style.paint(tone, &heading));
        if let Some(stop) = &self.stop {
            line(&mut text, &format!("stopped: {stop}"));
        }
        if let Some(why) = &self.incomplete_results {
            line(&mut text, &format!("the file of --results lacks some of the results: {why}"));
        }
        self.write_table(&mut text);
        for refused in self.tallies.refused.lines() {
            line(&mut text, &refused);
        }
        self.write_doubts(&mut text, style);
        if !self.repeated.is_empty() {
            let heading =
                "one transaction for two keys, as the service says: compare them with its own records";
            line(&mut text, heading);
        }
        for repeated in &self.repeated {
            line(&mut text, &format!("  {repeated}"));
        }
        if !self.is_dry_run {
            self.write_what_is_left(&mut text);
        }
        text
    }

    fn write_what_is_left(&self, text: &mut String) {
        let Tallies { in_progress, not_processed, .. } = self.tallies;
        if not_processed.plus(self.tallies.not_started()).count > 0 {
            line(text, "the same command goes on with what is not processed and not started");
        }
        if in_progress.count > 0 {
            line(
                text,
                "what is in progress elsewhere, another run is sending: the same command later says how it ended",
            );
        }
    }

    fn heading(&self) -> (Tone, String) {
        if self.is_dry_run {
            return (Tone::Heading, "DRY RUN, nothing was sent".to_owned());
        }
        match self.exit_code() {
            ExitCode::Unauthorized => (Tone::Bad, "STOPPED, the API key was refused".to_owned()),
            ExitCode::Unknown => (Tone::Doubtful, self.doubtful_heading()),
            ExitCode::NotProcessed => {
                (Tone::Bad, "UNFINISHED, it is safe to run the same command again".to_owned())
            }
            ExitCode::Rejected => (Tone::Bad, "FINISHED, some were rejected".to_owned()),
            _ => (Tone::Good, "PROCESSED".to_owned()),
        }
    }

    /// Of what nobody knows, and apart from it of what the journal alone does not know.
    fn doubtful_heading(&self) -> String {
        let not_recorded = match self.not_recorded.count {
            0 => String::new(),
            1 => "1 answer NOT WRITTEN to the journal: keep this list".to_owned(),
            count => format!("{count} answers NOT WRITTEN to the journal: keep this list"),
        };
        let unknown = match self.tallies.all_unknown().count {
            0 => return not_recorded,
            1 => "OUTCOME UNKNOWN of 1 charge, which is not sent again: reconcile it".to_owned(),
            count => {
                format!("OUTCOME UNKNOWN of {count} charges, which are not sent again: reconcile them")
            }
        };
        if not_recorded.is_empty() { unknown } else { format!("{unknown}; {not_recorded}") }
    }

    fn write_table(&self, text: &mut String) {
        let tallies = &self.tallies;
        let mut rows: Vec<_> = tallies
            .named()
            .into_iter()
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

    fn write_doubts(&self, text: &mut String, style: Style) {
        let (unwritten, unknown): (Vec<_>, Vec<_>) =
            self.doubts.iter().partition(|it| it.unwritten.is_some());
        let all_unknown = self.tallies.all_unknown();
        if all_unknown.plus(self.not_recorded).count == 0 {
            return;
        }
        let mut write = |heading: &str, doubts: Vec<&Doubt>, all: Tally| {
            if all.count == 0 {
                return;
            }
            writeln!(text, "  {}", style.paint(Tone::Doubtful, heading)).expect("a String takes every write");
            for doubt in &doubts {
                line(text, &format!("  {doubt}"));
            }
            let rest = all.count.saturating_sub(doubts.len() as u64);
            if rest > 0 {
                line(text, &format!("  and {rest} more"));
            }
        };
        write("outcome unknown, never sent again by itself:", unknown, all_unknown);
        write(
            "answered, but not written to the journal, which has it as unknown:",
            unwritten,
            self.not_recorded,
        );
        line(
            text,
            "`payments journal list --unresolved` has them all, `payments journal resolve` ends each, with --from many at once",
        );
    }
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "  {}", for_terminal(line)).expect("a String takes every write");
}

/// The document's member names are fixed: other programs read it.
impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("Report", 8)?;
        document.serialize_field("outcome", self.outcome())?;
        let stopped = self.stop.as_ref().map(StopObject);
        document.serialize_field("stopped", &stopped)?;
        document.serialize_field("rows", &TalliesObject(&self.tallies))?;
        document.serialize_field("rejected_by_status", &self.tallies.refused)?;
        document.serialize_field("not_recorded", &self.not_recorded)?;
        document.serialize_field("unresolved", &self.doubts)?;
        document.serialize_field("same_transaction", &self.repeated)?;
        document.serialize_field("results_incomplete", &self.incomplete_results)?;
        document.end()
    }
}

struct StopObject<'a>(&'a Stop);

impl Serialize for StopObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Stop", 2)?;
        object.serialize_field("reason", self.0.reason())?;
        object.serialize_field("message", &self.0.to_string())?;
        object.end()
    }
}

struct TalliesObject<'a>(&'a Tallies);

impl Serialize for TalliesObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Rows", 10)?;
        for (name, _, tally) in self.0.named() {
            object.serialize_field(name, &tally)?;
        }
        object.serialize_field("total", &self.0.total)?;
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use payments_model::Amount;

    use super::*;

    #[test]
    fn the_exit_code_is_the_first_that_applies() {
        let one = || {
            let mut tally = Tally::default();
            tally.add(Amount::from_cents(1));
            tally
        };
        // Each set of rows and stops has everything that comes after it as well.
        let mut summary = Summary::default();
        let mut expects = |code: u8, outcome: &str, change: &dyn Fn(&mut Summary)| {
            change(&mut summary);
            assert_eq!((summary.exit_code().number(), summary.outcome()), (code, outcome), "{summary:?}");
            summary.clone()
        };
        expects(0, "processed", &|_| {});
        expects(1, "processed", &|it| it.incomplete_results = Some("full".to_owned()));
        expects(4, "rejected", &|it| (it.tallies.total, it.tallies.rejected) = (one(), one()));
        let rejected = expects(3, "unfinished", &|it| it.tallies.total.add(Amount::from_cents(1)));
        let unfinished = expects(6, "rejected", &|it| it.stop = Some(Stop::Unauthorized));
        for change in [
            (|it| it.tallies.unknown.add(Amount::from_cents(1))) as fn(&mut Summary),
            |it| it.tallies.earlier.unknown.add(Amount::from_cents(1)),
            |it| it.not_recorded.add(Amount::from_cents(1)),
        ] {
            for mut summary in [rejected.clone(), unfinished.clone()] {
                summary.tallies.total.add(Amount::from_cents(1));
                change(&mut summary);
                assert_eq!((summary.exit_code().number(), summary.outcome()), (5, "unknown"), "{summary:?}");
            }
        }
        let mut elsewhere = Summary::default();
        (elsewhere.tallies.total, elsewhere.tallies.in_progress) = (one(), one());
        assert_eq!(elsewhere.exit_code().number(), 3, "in flight elsewhere");
    }

    #[test]
    fn what_is_left_is_told_by_what_the_same_command_does_with_it() {
        let [sent_again, waited_for] = ["goes on with what is not processed", "another run is sending"];
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
}
