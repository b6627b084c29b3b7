//! `payments journal resolve --from`: every row is checked and every transaction looked up before anything is written.

mod check;
mod rows;

use std::collections::{BTreeMap, HashSet};
use std::mem;
use std::path::PathBuf;

use payments_core::Client;
use payments_journal::{Journal, StateName};
use payments_model::{MaskedCard, TransactionRecord};
use serde::Serialize;

use self::check::{Check, CheckedRow, look_up};
use self::rows::ResolutionRow;
use super::resolution::{
    self, RESOLVED, ResolvedIntent, TOO_EARLY, by_option, may_be_sent_too_early, needs_service,
};
use super::{CommandError, READ, code_of, for_each_page};
use crate::args::ClientOptions;
use crate::call::Prepared;
use crate::failure::{Abandoned, Done, FailedOutcome, Failure};
use crate::format::counted;
use crate::intent::{IntentSum, history};
use crate::output::Output;
use crate::process::Interrupt;
use crate::process::run_to_report::cannot_start;
use crate::report::advice::second_charge;
use crate::report::{ExitCode, text};
use crate::rows::card_like_ids::is_like_a_card;
use crate::rows::{Problems, Role, RowFile};
use crate::settings::{JournalPlace, OpenFor, ReadKeys, of_journal, service_options};
use crate::stderr;

pub(super) async fn run(
    mut options: ClientOptions,
    place: &JournalPlace,
    output: Output,
    paths: &[PathBuf],
    ids_are_not_cards: bool,
    by: &str,
) -> Result<ExitCode, CommandError> {
    let is_dry_run = mem::take(&mut options.dry_run);
    let files = paths.iter().map(|path| RowFile::read(path, Role::Resolutions, place));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let name = if let [file] = &*files { file.name.clone() } else { None };
    let mut problems = Problems::of(name, Role::Resolutions);
    let (mut rows, left_alone) = rows::read(&files, &mut problems);
    drop(files);
    let mut interrupt = Interrupt::install().map_err(|error| cannot_start(&error))?;
    let (client, settings, keys) = if rows.iter().any(ResolutionRow::is_looked_up) {
        let prepared = Prepared::new(options, &mut interrupt, || Ok(())).await?;
        prepared.settings.require_one_key()?;
        let keys = prepared.settings.keys.clone();
        (Some(prepared.client.build()), Some(prepared.settings), keys)
    } else {
        // The other settings are not needed, and any of them may be missing.
        (None, None, ReadKeys::of(&options).known)
    };
    problems.hide_keys(|key| keys.is_in(key) || (!ids_are_not_cards && is_like_a_card(key)));
    for note in rows.iter_mut().filter_map(|row| row.note.as_mut()) {
        *note = keys.mask(note);
    }
    let nothing_was_changed = |signal| {
        let why = "; nothing was changed: it is safe to run it again";
        CommandError::from(Abandoned::Signal(signal).harmless(why))
    };
    let opening = interrupt.or_signal(place.open(OpenFor::Changing)).await;
    let journal = opening.map_err(nothing_was_changed)??;
    let service = client.as_ref().map(Client::service);
    let checking = async {
        let check = Check { journal: &journal, api_keys: &keys, ids_are_not_cards, service };
        let (mut rows, say_nothing) = check.rows(rows, &mut problems).await?;
        check.transactions(&rows, &mut problems).await?;
        if let (Some(client), Some(settings)) = (&client, &settings) {
            look_up(client, settings, &mut rows, &mut problems).await?;
        }
        Ok::<_, CommandError>((rows, say_nothing))
    };
    let (rows, say_nothing) = interrupt.or_signal(checking).await.map_err(nothing_was_changed)??;
    problems.refuse()?;
    let mut result = if is_dry_run {
        FileResult { is_dry_run, resolved: rows, left_alone: 0, still_unknown: None, failure: None }
    } else {
        write(&journal, rows, &keys.mask(by), service, &mut interrupt).await
    };
    result.left_alone = left_alone + say_nothing;
    result.still_unknown = still_unknown(&journal, &result).await;
    result.show(output)
}

/// The intents that were resolved, or would be, and the failure if not all of them were.
struct FileResult {
    is_dry_run: bool,
    /// Each with its intent after it was resolved, or in a dry run with its present state.
    resolved: Vec<CheckedRow>,
    left_alone: u64,
    /// The keys that are unknown afterwards; `None` if the journal could not be read again.
    still_unknown: Option<IntentSum>,
    failure: Option<Failure>,
}

/// In a dry run, those that would be unknown afterwards.
async fn still_unknown(journal: &Journal, result: &FileResult) -> Option<IntentSum> {
    let about_newest = result.resolved.iter().filter(|CheckedRow { row, intent, .. }| {
        result.is_dry_run && row.attempt.is_none_or(|number| number == intent.attempts)
    });
    let would_be_resolved: HashSet<_> = about_newest.map(|row| &row.intent.key).collect();
    let mut sum = IntentSum::default();
    let counted = for_each_page(journal, &[StateName::Unknown], |intents| {
        let left = intents.iter().filter(|intent| !would_be_resolved.contains(&intent.key));
        left.for_each(|intent| sum.add(intent));
        Ok(())
    });
    counted.await.is_ok().then_some(sum)
}

/// What the file says about the key, and what the service's record shows, for a person who compares them.
fn said(CheckedRow { row, verdict, intent, record }: &CheckedRow) -> String {
    let amount = intent.request.amount.map(|amount| format!("{amount} ")).unwrap_or_default();
    let record = record.as_ref().map(|record| format!("; found: {}", facts(record))).unwrap_or_default();
    let note = row.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    format!("{amount}{}{record}{note}", history::shown(verdict))
}

/// What a record shows of the payment. Its amount and card were compared with the intent.
fn facts(record: &TransactionRecord) -> String {
    let amount = record.amount.value().map(ToString::to_string);
    let card = record.card_number.value().and_then(MaskedCard::last_four).map(|last| format!("card {last}"));
    let status = record.status.value().map(|status| format!("Status {status}"));
    let name = record.billing_customer_name.value().cloned();
    [amount, card, status, name].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Resolves one row after another. A key that has changed since it was checked stays unchanged, and the other rows are
/// resolved. If the journal fails, the rows after that are not resolved.
async fn write(
    journal: &Journal,
    rows: Vec<CheckedRow>,
    by: &str,
    service: Option<&str>,
    interrupt: &mut Interrupt,
) -> FileResult {
    let (count, mut resolved, mut left) = (rows.len(), Vec::new(), Vec::new());
    let mut stop = None;
    for mut checked in rows {
        if let Some(signal) = interrupt.has_arrived().await {
            stop = Some(Abandoned::Signal(signal).harmless(""));
            break;
        }
        let CheckedRow { row, verdict, intent, .. } = &checked;
        let ResolutionRow { place, key, note, attempt, .. } = row;
        let resolution = resolution::resolution(verdict.clone(), by, note.clone());
        let resolution = match attempt {
            Some(number) if *number != intent.attempts => resolution.of_attempt(*number),
            _ => resolution,
        };
        // As if the row were resolved alone.
        let service = service.filter(|_| row.is_looked_up() || needs_service(intent, verdict));
        let writing = async {
            match service {
                Some(service) => journal.resolve_of_service(intent, resolution, service).await,
                None => journal.resolve(intent, resolution).await,
            }
        };
        let written = match interrupt.or_signal(writing).await {
            Ok(written) => written,
            Err(signal) => {
                left.push(format!("{place}, {key}: it may have been resolved or not when {signal} arrived"));
                let mut interrupted = Abandoned::Signal(signal).harmless("");
                interrupted.advice.done = Done::InDoubt;
                stop = Some(interrupted);
                break;
            }
        };
        match written {
            Ok(intent) => {
                checked.intent = intent;
                resolved.push(checked);
            }
            Err(error) => {
                let message = error.to_string();
                // True of this row only.
                let why = message.strip_suffix("; nothing was changed").unwrap_or(&message);
                left.push(format!("{place}, {key}: {why}"));
                if let Some(error) = error.store_error() {
                    stop = Some(Failure::of_store(error));
                    break;
                }
            }
        }
    }
    let not_done = stop.is_some() || !left.is_empty();
    let failure = not_done.then(|| {
        let mut stopped = stop.unwrap_or_else(|| Failure::not_processed("changed_meanwhile", ""));
        if stopped.advice.done == Done::Nothing && !resolved.is_empty() {
            stopped.advice.done = Done::Partly;
        }
        let why = if left.is_empty() { stopped.message } else { left.join("; ") };
        let message = format!(
            "{} of {count} rows were resolved; {why}; remove the resolved rows from the file and run it again",
            resolved.len()
        );
        Failure { outcome: FailedOutcome::NotProcessed, message, ..stopped }
    });
    FileResult { is_dry_run: false, resolved, left_alone: 0, still_unknown: None, failure }
}

impl FileResult {
    /// By what the file says.
    fn sums(&self) -> BTreeMap<&'static str, IntentSum> {
        let mut sums =
            BTreeMap::from(["processed", "not_processed"].map(|name| (name, IntentSum::default())));
        for CheckedRow { verdict, intent, .. } in &self.resolved {
            sums.entry(verdict.as_str()).or_default().add(intent);
        }
        sums
    }

    fn show(self, output: Output) -> Result<ExitCode, CommandError> {
        let what = if self.is_dry_run { READ } else { RESOLVED };
        let second_charges = self.resolved.iter().filter_map(|row| second_charge(&row.intent));
        let second_charges: Vec<_> = second_charges.collect();
        for CheckedRow { intent, .. } in
            self.resolved.iter().filter(|row| may_be_sent_too_early(&row.intent, &row.verdict))
        {
            stderr::warn(&format!("{} {TOO_EARLY} before it is sent again", intent.key));
        }
        let rows = self.resolved.iter();
        let document = Document {
            failed: self.failure.as_ref(),
            dry_run: self.is_dry_run.then_some(true),
            resolved: self.sums(),
            left_alone: self.left_alone,
            still_unknown: self.still_unknown,
            intents: rows.map(|row| ResolvedIntent::new(&row.intent, row.record.as_ref())).collect(),
        };
        let written = super::write(what, output, &document, |_| self.lines());
        for warning in &second_charges {
            stderr::warn(warning);
        }
        let is_second_charge = !self.is_dry_run && !second_charges.is_empty();
        // The rows that were not resolved matter more than a failed write to stdout.
        match self.failure {
            Some(mut failure) => {
                if is_second_charge {
                    failure.advice.done = Done::SecondCharge;
                }
                Err(CommandError::Partial(Box::new(failure)))
            }
            None => Ok(code_of(&written, ExitCode::of_success(is_second_charge))),
        }
    }

    /// A line for each key, then the sums, and what to do next.
    fn lines(&self) -> String {
        let mut text =
            if self.is_dry_run { "DRY RUN, nothing was changed\n".to_owned() } else { String::new() };
        text::write_rows(&mut text, self.resolved.iter().map(|row| (row.intent.key.as_str(), said(row))));
        let sums = self.sums();
        let rejected = sums.get("rejected").map(|sum| format!("as rejected: {}; ", sum.shown()));
        let (done, processed) =
            (if self.is_dry_run { "would be resolved" } else { "resolved" }, sums["processed"].shown());
        let (rejected, not_processed) = (rejected.unwrap_or_default(), sums["not_processed"].shown());
        text.extend([
            format!("{done} as processed: {processed}; {rejected}"),
            format!("as not processed, may be sent again: {not_processed}\n"),
        ]);
        if self.left_alone > 0 {
            let rows = counted(self.left_alone, "row");
            text.extend([format!("left alone, without a Verdict or a new TransactionId: {rows}\n")]);
        }
        let stays = self.still_unknown.filter(|sum| self.is_dry_run && sum.count > 0);
        text.extend(stays.map(|sum| format!("would stay unknown: {}\n", sum.shown())));
        let has_records = self.resolved.iter().any(|row| row.record.is_some());
        text += match (has_records, self.is_dry_run) {
            (true, true) => COMPARE_FIRST,
            (true, false) => COMPARE,
            (false, true) => "run it without --dry-run\n",
            (false, false) => "",
        };
        match self.still_unknown.filter(|_| !self.is_dry_run) {
            None => {}
            Some(IntentSum { count: 0, .. }) => text.push_str("still unknown: no key\n"),
            Some(sum) => {
                let (export, resolve) = (
                    of_journal("export --state unknown --format csv"),
                    of_journal("resolve --from unknown.csv"),
                );
                text.extend([
                    format!(
                        "still unknown: {}; write what you find out about them into this file:\n",
                        sum.shown()
                    ),
                    format!(
                        "  {export} > unknown.csv\n  {resolve}{}{}\n",
                        service_options(None),
                        by_option()
                    ),
                ]);
            }
        }
        text
    }
}

const COMPARE: &str = "compare each record with its intent, and its time and reference in the service's records: if it is not the payment of the key, resolve that key again with --replace\n";

const COMPARE_FIRST: &str = "compare each record with its intent, and its time and reference in the service's records, then run it without --dry-run\n";

/// The members of a failed command, if not all rows were resolved; then counts and sums, and each intent as in `resolve KEY`.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    failed: Option<&'a Failure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
    resolved: BTreeMap<&'static str, IntentSum>,
    left_alone: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    still_unknown: Option<IntentSum>,
    intents: Vec<ResolvedIntent<'a>>,
}
