//! The text of a billing run's summary: a table, then what to do.

use std::fmt::Write as _;

use payments_core::{OperationName, Outcome};
use payments_journal::Failure;

use super::stop::{NextRun, Stop};
use super::{
    DuplicateTransaction, ListedRow, Phase, RejectedRow, RunOutcome, Summary, Tallies, Tally, UnresolvedRow,
};
use crate::format::{counted, money};
use crate::report::exit_code::ExitCode;
use crate::style::{Style, Tone, for_terminal};

impl Summary {
    /// The report for people: a table, then what to do.
    pub(crate) fn lines(&self, style: Style) -> String {
        let (tone, heading) = self.heading();
        let code = style.paint(Tone::Dim, &format!("(exit code {})", ExitCode::of_run(self).number()));
        let mut text = format!("{} {code}\n", style.paint(tone, &heading));
        text.extend(self.stop_message().map(|stop| line(&format!("stopped: {stop}"))));
        let why = self.incomplete_results.iter();
        text.extend(why.map(|why| line(&format!("the file of --results is incomplete: {why}"))));
        let place = self.created_journal.iter();
        text.extend(place.map(|place| line(&format!("this run created the journal {place}"))));
        text.extend(self.table().iter().map(|row| line(row)));
        text += &self.rejected_rows(style);
        text.extend(self.rejected_by_status().iter().map(|it| line(it)));
        text += &self.unresolved_rows(style);
        text.extend(self.second_charges.iter().map(|it| line(it)));
        if self.same_transaction_count > 0 {
            let heading =
                "the service returned one transaction for two keys: compare them with the service's records";
            text += &line(heading);
        }
        text.extend(self.same_transaction.iter().map(|it| {
            let DuplicateTransaction { line: at, key, transaction_id: id, same_transaction_as: other } = it;
            line(&format!("  line {at}: {key} and {other} are both processed as transaction {id}"))
        }));
        let rest = self.same_transaction_count.saturating_sub(self.same_transaction.len() as u64);
        text.extend((rest > 0).then(|| line(&format!("  and {rest} more"))));
        if self.phase != Phase::DryRun {
            text += &self.what_is_left();
        }
        text
    }

    fn next_run(&self) -> NextRun {
        self.stop.as_ref().map_or(NextRun::ANY_TIME, Stop::next_run)
    }

    fn what_is_left(&self) -> String {
        let Tallies { in_progress, not_processed, .. } = self.tallies;
        let mut text = String::new();
        if not_processed.plus(self.tallies.not_started()).count > 0 {
            let when = self.next_run().when;
            text += &line(&format!(
                "{when}run the same command again to send the rows that are not processed or not started"
            ));
        }
        if in_progress.count > 0 {
            text += &line(
                "another run is sending the rows in progress elsewhere: run the same command later to see how they ended",
            );
        }
        text
    }

    fn heading(&self) -> (Tone, String) {
        match self.outcome() {
            RunOutcome::DryRun => (Tone::Heading, "DRY RUN, nothing was sent".to_owned()),
            RunOutcome::Unknown => (Tone::Warning, self.unknown_heading()),
            RunOutcome::Unauthorized => (Tone::Error, "STOPPED, the API key was refused".to_owned()),
            RunOutcome::Unfinished => (Tone::Error, format!("UNFINISHED, {}", self.next_run().headline)),
            RunOutcome::Rejected => (Tone::Error, "FINISHED, some were rejected".to_owned()),
            RunOutcome::WithoutResults | RunOutcome::Processed => (Tone::Success, "PROCESSED".to_owned()),
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

    fn table(&self) -> Vec<String> {
        let counted = self.tallies.named().filter(|(_, _, tally)| tally.count > 0);
        let counted = counted.map(|(name, label, tally)| match name {
            "not_started" if self.phase == Phase::DryRun => ("would be sent", tally),
            _ => (label, tally),
        });
        let rows = counted.chain([("total", self.tallies.total)]);
        let rows = rows.map(|(label, tally)| [label.to_owned(), tally.count.to_string(), money(tally.sum())]);
        let rows: Vec<_> = [["", "rows", "sum"].map(str::to_owned)].into_iter().chain(rows).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
        let widths = [0, 1, 2].map(width);
        let row = |[label, count, sum]: &[String; 3]| {
            let [label_width, count_width, sum_width] = widths;
            format!("{label:label_width$}  {count:>count_width$}  {sum:>sum_width$}")
        };
        rows.iter().map(row).collect()
    }

    fn rejected_rows(&self, style: Style) -> String {
        let count = self.tallies.all_rejected().count;
        if count == 0 {
            return String::new();
        }
        let mut text =
            format!("  {}\n", style.paint(Tone::Warning, "rejected, never sent again automatically:"));
        // What says the same of many rows, such as that the API key is wrong, must not hide what to do.
        let mut by_reason: Vec<(&str, Vec<&RejectedRow>)> = Vec::new();
        for row in &self.rejected {
            match by_reason.iter_mut().find(|(reason, _)| *reason == row.reason) {
                Some((_, rows)) => rows.push(row),
                None => by_reason.push((&row.reason, vec![row])),
            }
        }
        for (reason, rows) in &by_reason {
            let shown = if rows.len() > MOST_OF_ONE_REASON { 1 } else { rows.len() };
            text.extend(
                rows.iter().take(shown).map(|row| line(&format!("  {} ({reason})", listed(&row.row)))),
            );
            let more = format!("  and {} more ({reason})", rows.len() - shown);
            text.extend((rows.len() > shown).then(|| line(&more)));
        }
        let rest = count.saturating_sub(self.rejected.len() as u64);
        let more = if rest > 0 { format!("and {rest} more: ") } else { String::new() };
        let is_cut = rest > 0 || by_reason.iter().any(|(_, rows)| rows.len() > MOST_OF_ONE_REASON);
        let all = format!("  {more}`{}` lists them all", self.commands.journal("list --state rejected"));
        text.extend(is_cut.then(|| line(&all)));
        text
    }

    fn unresolved_rows(&self, style: Style) -> String {
        let (unrecorded, unknown): (Vec<_>, Vec<_>) =
            self.unresolved.iter().partition(|row| row.outcome != Some(Outcome::Unknown));
        let all_unknown = self.tallies.all_unknown();
        let mut text = String::new();
        for (heading, rows, all) in [
            ("outcome unknown, never sent again automatically:", unknown, all_unknown),
            (
                "outcome known, but not recorded in the journal, which lists it as unknown:",
                unrecorded,
                self.not_recorded,
            ),
        ] {
            if all.count == 0 {
                continue;
            }
            let _ = writeln!(text, "  {}", style.paint(Tone::Warning, heading));
            text.extend(rows.iter().map(|row| line(&unresolved(row))));
            let rest = all.count.saturating_sub(rows.len() as u64);
            text.extend((rest > 0).then(|| line(&format!("  and {rest} more"))));
        }
        if !text.is_empty() {
            let reconcile = "reconcile REPORT.csv --charged-status WORD,… --declined-status WORD,… --out found.csv --rest rest.csv";
            let steps = [
                format!(
                    "`{}` lists them all; this finds them in the processor's report, and prints what to run next:",
                    self.commands.journal("list --unresolved")
                ),
                format!("  {}{}", self.commands.journal(reconcile), self.commands.service_options()),
                "each WORD is one of its statuses: leave both options out if it has none".to_owned(),
            ];
            text.extend(steps.iter().map(|step| line(step)));
        }
        text
    }

    /// What to do about rows whose rejection is not about the payment. Empty if there are none.
    fn rejected_by_status(&self) -> Vec<String> {
        let rejected = &self.tallies.rejected_by_status;
        if rejected.is_empty() {
            return Vec::new();
        }
        let mut lines = vec!["rejected for a reason other than the payment itself:".to_owned()];
        let shown = |(status, tally): (&u16, &Tally)| {
            format!("  HTTP {status}: {}, {}", counted(tally.count, "row"), money(tally.sum()))
        };
        lines.extend(rejected.iter().map(shown));
        // With such a status the service itself may have declined other payments, which must not be sent again together.
        let (one_by_one, together): (Vec<_>, Vec<_>) = rejected.keys().partition(|status| {
            let mut by_the_service = Failure::of_kind("rejected");
            by_the_service.http_status = Some(**status);
            by_the_service.is_about_the_payment(Some(OperationName::TokenTransaction))
        });
        let listed =
            |statuses: Vec<&u16>| statuses.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        if !together.is_empty() {
            lines.push(format!(
                "fix the cause, then run `{}` so that the same command sends them again",
                self.commands.retry(&format!("--status {}", listed(together)))
            ));
        }
        if !one_by_one.is_empty() {
            lines.push(format!(
                "the service itself may have declined others with HTTP {}: fix the cause, look at `{}`, and let single ones be sent \
                 again with `{}`",
                listed(one_by_one),
                self.commands.journal("list --state rejected"),
                self.commands.retry("--key KEY")
            ));
        }
        lines
    }
}

/// Chosen by this command: so many rows that were rejected for one reason are listed, else only the first.
const MOST_OF_ONE_REASON: usize = 5;

fn listed(ListedRow { line, key, amount, .. }: &ListedRow) -> String {
    format!("line {line}: {key}, {}", money(*amount))
}

fn unresolved(UnresolvedRow { row, transaction_id, outcome, kind }: &UnresolvedRow) -> String {
    let word = match outcome {
        None => "PROCESSED",
        Some(Outcome::Rejected) => "rejected",
        Some(Outcome::NotProcessed) => "not processed",
        Some(Outcome::Unknown) => kind,
    };
    let id = transaction_id.as_ref().map(|id| format!(", TransactionId {id}")).unwrap_or_default();
    format!("  {} ({word}{id})", listed(row))
}

fn line(text: &str) -> String {
    format!("  {}\n", for_terminal(text))
}

#[cfg(test)]
mod tests {
    use payments_journal::IntentKey;
    use payments_model::Amount;

    use super::super::{ListedRow, Tally};
    use super::*;

    #[test]
    fn list_of_transactions_that_two_keys_have_is_cut_with_its_count() {
        let summary = Summary { same_transaction_count: 101, ..Summary::default() };
        let text = summary.lines(Style::Plain);
        assert!(text.contains("one transaction for two keys") && text.contains("  and 101 more\n"), "{text}");
    }

    #[test]
    fn rows_that_were_rejected_for_one_reason_are_one_line() {
        let row = |number: u64| RejectedRow {
            row: ListedRow {
                number,
                line: number + 1,
                key: IntentKey::new(format!("k{number}")).unwrap(),
                amount: Amount::from_cents(1),
            },
            reason: if number == 7 { "declined" } else { "Unauthorized" }.to_owned(),
        };
        let mut summary = Summary { rejected: (1..=40).map(row).collect(), ..Summary::default() };
        for _ in 1..=42 {
            summary.tallies.total.add(Amount::from_cents(1));
            summary.tallies.rejected.add(Amount::from_cents(1));
        }
        let text = summary.lines(Style::Plain);
        let lines = [
            "line 2: k1, 0.01 (Unauthorized)",
            "and 38 more (Unauthorized)",
            "line 8: k7, 0.01 (declined)",
            "and 2 more: `payments journal list --state rejected` lists them all",
        ];
        assert!(text.contains(&format!("    {}\n", lines.join("\n    "))), "{text}");
    }

    #[test]
    fn unfinished_rows_are_reported_by_what_the_same_command_does_with_them() {
        let [sent_again, waited_for] = ["to send the rows that are not processed", "another run is sending"];
        let text = |tallies: Tallies| Summary { tallies, ..Summary::default() }.lines(Style::Plain);
        let mut tallies = Tallies::default();
        tallies.total.add(Amount::from_cents(1));
        tallies.in_progress.add(Amount::from_cents(1));
        let elsewhere = text(tallies.clone());
        assert!(!elsewhere.contains(sent_again) && elsewhere.contains(waited_for), "{elsewhere}");
        tallies.total.add(Amount::from_cents(1));
        let both = text(tallies.clone());
        assert!(both.contains(sent_again) && both.contains(waited_for), "{both}");
        tallies.in_progress = Tally::default();
        let not_started = text(tallies);
        assert!(not_started.contains(sent_again) && !not_started.contains(waited_for), "{not_started}");
    }
}
