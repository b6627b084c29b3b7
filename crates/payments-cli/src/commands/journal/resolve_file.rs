//! `payments journal resolve --from`: every row is checked and every transaction looked up before anything is written.

mod check;
mod rows;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::mem;
use std::path::{Path, PathBuf};
use std::slice;

use payments_journal::{Intent, Journal, StateName};
use payments_model::{MaskedCard, TransactionRecord};
use serde::Serialize;

use self::check::{Check, Checked, CheckedRow, look_up};
use self::rows::{LeftAlone, ResolutionRow};
use super::resolution::{
    self, NOT_FOUND_BY_ANOTHER_KEY, RESOLVED, ResolvedIntent, TOO_EARLY, may_be_sent_too_early, needs_service,
};
use super::{CommandError, READ, code_of, for_each_page};
use crate::args::ClientOptions;
use crate::call::Prepared;
use crate::failure::{Abandoned, Done, FailedOutcome, Failure};
use crate::format::{counted, money};
use crate::intent::{IntentSum, history};
use crate::output::Output;
use crate::process::Interrupt;
use crate::process::run_to_report::cannot_start;
use crate::report::advice::second_charge;
use crate::report::{ExitCode, text};
use crate::rows::card_like_ids::is_like_a_card;
use crate::rows::own_files::is_of_reconcile;
use crate::rows::{Problems, Role, RowFile};
use crate::settings::{JournalPlace, OpenFor, PrintedCommands, ReadKeys, by_option, shell_word};
use crate::stderr;

pub(super) async fn run(
    mut options: ClientOptions,
    place: &JournalPlace,
    output: &Output,
    paths: &[PathBuf],
    ids_are_not_cards: bool,
    by: &str,
) -> Result<ExitCode, CommandError> {
    let is_dry_run = mem::take(&mut options.dry_run);
    let files = paths.iter().map(|path| RowFile::read(path, Role::Resolutions, place));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let name = if let [file] = &*files { file.name.clone() } else { None };
    let mut problems = Problems::of(name, Role::Resolutions);
    let (mut rows, mut left_alone) = rows::read(&files, &mut problems);
    let names: Vec<_> = files.iter().map(|file| file.name.clone()).collect();
    drop(files);
    let mut interrupt = Interrupt::install().map_err(|error| cannot_start(&error))?;
    let (called, keys) = if rows.iter().any(|row| row.id().is_some()) {
        let prepared = Prepared::new(options, &mut interrupt, || Ok(())).await?;
        prepared.settings.require_one_key()?;
        let keys = prepared.settings.keys.clone();
        (Some((prepared.client.build(), prepared.settings)), keys)
    } else {
        // The other settings are not needed, and any of them may be missing.
        (None, ReadKeys::of(&options).known)
    };
    problems.hide_keys(|key| keys.is_in(key) || (!ids_are_not_cards && is_like_a_card(key)));
    for note in rows.iter_mut().filter_map(|row| row.note.as_mut()) {
        *note = keys.mask(note);
    }
    let nothing_was_changed = |signal| {
        let why = "; nothing was changed: it is safe to run it again";
        CommandError::from(Abandoned::Signal(signal).harmless(why))
    };
    let opening =
        interrupt.or_signal(place.open(if is_dry_run { OpenFor::DryRun } else { OpenFor::Changing })).await;
    let journal = opening.map_err(nothing_was_changed)??;
    let service = called.as_ref().map(|(client, _)| client.service());
    let checking = async {
        let commands = &output.commands;
        let check = Check { journal: &journal, api_keys: &keys, ids_are_not_cards, service, commands };
        let mut checked = check.rows(rows, &mut problems).await?;
        check.spellings(&checked.rows, &mut problems).await?;
        check.transactions(&checked.rows, &mut problems).await?;
        let is_one_missing = match &called {
            Some((client, settings)) => look_up(client, settings, &mut checked.rows, &mut problems).await?,
            None => false,
        };
        Ok::<_, CommandError>((checked, is_one_missing))
    };
    let (checked, is_one_missing) = interrupt.or_signal(checking).await.map_err(nothing_was_changed)??;
    problems
        .refuse()
        .map_err(|failure| if is_one_missing { failure.hint(NOT_FOUND_BY_ANOTHER_KEY) } else { failure })?;
    let Checked { rows, left_alone: say_nothing, already_so } = checked;
    let mut result = if is_dry_run {
        FileResult { is_dry_run, resolved: rows, ..FileResult::default() }
    } else {
        write(&journal, rows, &keys.mask(by), service, &mut interrupt).await
    };
    left_alone.extend(say_nothing);
    result.left_alone = left_alone;
    result.already_so = already_so;
    result.still_unknown = still_unknown(&journal, &result, service, &names).await;
    result.show(output)
}

/// Whether nothing in this file of `journal reconcile` is still to be done: the journal has what each row says, and nobody has
/// written into the other rows.
pub(super) async fn is_done(path: &Path, place: &JournalPlace, journal: &Journal) -> Result<bool, Failure> {
    let Ok(file) = RowFile::read(path, Role::Resolutions, place) else { return Ok(false) };
    if !file.table(file.separator()).is_ok_and(|table| is_of_reconcile(table.headings())) {
        return Ok(false);
    }
    let mut problems = Problems::of(None, Role::Resolutions);
    let (rows, left_alone) = rows::read(slice::from_ref(&file), &mut problems);
    if !problems.is_empty() || left_alone.iter().any(|row| row.has_note) {
        return Ok(false);
    }
    for row in rows {
        let found = journal.find(&row.key).await.map_err(|error| Failure::of_store(&error))?;
        let said = row.verdict.as_ref().and_then(|verdict| verdict.about(found.as_ref()).ok());
        if !found.zip(said).is_some_and(|(intent, verdict)| row.is_recorded(&intent, &verdict)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The intents that were resolved, or would be, and the failure if not all of them were.
#[derive(Default)]
struct FileResult {
    is_dry_run: bool,
    /// Each with its intent after it was resolved, or in a dry run with its present state.
    resolved: Vec<CheckedRow>,
    left_alone: Vec<LeftAlone>,
    already_so: Vec<Intent>,
    /// `None` if the journal could not be read again.
    still_unknown: Option<StillUnknown>,
    failure: Option<Failure>,
}

/// The keys that are unknown afterwards, of the services that the files are about. A key whose entry was lost may be of any.
struct StillUnknown {
    sum: IntentSum,
    /// Those of other services, of which these files say nothing; `None` if there are none.
    elsewhere: Option<IntentSum>,
    /// The files that have an unfilled row for each of these keys; empty if they have not.
    files: Vec<String>,
}

/// In a dry run, those that would be unknown afterwards.
async fn still_unknown(
    journal: &Journal,
    result: &FileResult,
    service: Option<&str>,
    names: &[Option<String>],
) -> Option<StillUnknown> {
    let about_newest = result.resolved.iter().filter(|CheckedRow { row, intent, .. }| {
        result.is_dry_run && row.attempt.is_none_or(|number| number == intent.attempts)
    });
    let would_be_resolved: HashSet<_> = about_newest.map(|row| &row.intent.key).collect();
    let resolved = result.resolved.iter().map(|row| &row.intent).chain(&result.already_so);
    let services: HashSet<_> = resolved.filter_map(|it| it.service.as_deref()).chain(service).collect();
    let is_elsewhere = |intent: &Intent| {
        !services.is_empty() && intent.service.as_deref().is_some_and(|service| !services.contains(service))
    };
    let unfilled: HashMap<_, _> = result.left_alone.iter().map(|row| (&row.key, row.place.number)).collect();
    let (mut sum, mut elsewhere) = (IntentSum::default(), None::<IntentSum>);
    let mut files = Some(BTreeSet::new());
    let counted = for_each_page(journal, &[StateName::Unknown], |intents| {
        for intent in intents.iter().filter(|intent| !would_be_resolved.contains(&intent.key)) {
            if is_elsewhere(intent) {
                elsewhere.get_or_insert_default().add(intent);
                continue;
            }
            sum.add(intent);
            let file = unfilled.get(&intent.key).copied();
            files = files.take().zip(file).map(|(files, file)| files.into_iter().chain([file]).collect());
        }
        Ok(())
    });
    counted.await.ok()?;
    let files: Option<Vec<_>> = files.into_iter().flatten().map(|number| names[number].clone()).collect();
    Some(StillUnknown { sum, elsewhere, files: files.unwrap_or_default() })
}

/// What the file says about the key, and what the service's record shows, for a person who compares them.
fn said(CheckedRow { row, verdict, intent, record }: &CheckedRow) -> String {
    let amount = intent.request.amount.map(|amount| format!("{} ", money(amount))).unwrap_or_default();
    let record = record.as_ref().map(|record| format!("; found: {}", facts(record))).unwrap_or_default();
    let note = row.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    format!("{amount}{}{record}{note}", history::shown(verdict))
}

/// What a record shows of the payment. Its amount and card were compared with the intent.
fn facts(record: &TransactionRecord) -> String {
    let amount = record.amount.value().copied().map(money);
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
        let service = service.filter(|_| row.id().is_some() || needs_service(intent, verdict));
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
                // That nothing was changed is true of this row only.
                left.push(format!("{place}, {key}: {}", error.why()));
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
            "{} of {count} rows were resolved; {why}; the same file may be given again: a resolved row changes nothing",
            resolved.len()
        );
        Failure { outcome: FailedOutcome::NotProcessed, message, ..stopped }
    });
    FileResult { resolved, failure, ..FileResult::default() }
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

    fn show(self, output: &Output) -> Result<ExitCode, CommandError> {
        let what = if self.is_dry_run { READ } else { RESOLVED };
        let resolved = self.resolved.iter().map(|row| &row.intent).chain(&self.already_so);
        let second_charges = resolved.filter_map(second_charge);
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
            left_alone: self.left_alone.len(),
            already_so: (!self.already_so.is_empty()).then_some(self.already_so.len()),
            still_unknown: self.still_unknown.as_ref().map(|left| left.sum),
            unknown_at_other_services: self.still_unknown.as_ref().and_then(|left| left.elsewhere),
            intents: rows.map(|row| ResolvedIntent::new(&row.intent, row.record.as_ref())).collect(),
        };
        let written = super::write(what, output, &document, |_| self.lines(&output.commands));
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
    fn lines(&self, commands: &PrintedCommands) -> String {
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
        if !self.already_so.is_empty() {
            let rows = counted(self.already_so.len() as u64, "row");
            text.extend([format!("already resolved the same way, and left as they are: {rows}\n")]);
        }
        if !self.left_alone.is_empty() {
            let rows = counted(self.left_alone.len() as u64, "row");
            text.extend([format!("left alone, without a Verdict or a new TransactionId: {rows}\n")]);
        }
        let stays = self.still_unknown.as_ref().map(|left| left.sum);
        let stays = stays.filter(|sum| self.is_dry_run && sum.count > 0);
        text.extend(stays.map(|sum| format!("would stay unknown: {}\n", sum.shown())));
        let has_records = self.resolved.iter().any(|row| row.record.is_some());
        text += match (has_records, self.is_dry_run) {
            (true, true) => COMPARE_FIRST,
            (true, false) => COMPARE,
            (false, true) => "run it without --dry-run\n",
            (false, false) => "",
        };
        let list = || commands.journal("list --unresolved");
        match &self.still_unknown {
            Some(_) if self.is_dry_run => {}
            None => {
                text.extend([format!(
                    "still unknown: the journal could not be read again; see `{}`\n",
                    list()
                )]);
            }
            Some(StillUnknown { sum: IntentSum { count: 0, .. }, .. }) => {
                text.push_str("still unknown: no key\n");
            }
            Some(StillUnknown { sum, files, .. }) => text += &what_is_left(sum, files, commands),
        }
        let elsewhere = self.still_unknown.as_ref().and_then(|left| left.elsewhere);
        text.extend(elsewhere.map(|sum| {
            format!("unknown at other services, and not counted above: {}; see `{}`\n", sum.shown(), list())
        }));
        text
    }
}

/// Where a person writes what they find out later: into the unfilled rows of these files, or else into a new one.
fn what_is_left(sum: &IntentSum, files: &[String], commands: &PrintedCommands) -> String {
    let (what, export, from) = if files.is_empty() {
        let export = commands.journal("export --state unknown --format csv");
        let export = format!("  {export} > unknown.csv\n");
        ("write what you find out about them into this file", export, " --from unknown.csv".to_owned())
    } else {
        let from: Vec<_> = files.iter().map(|name| format!(" --from {}", shell_word(name))).collect();
        ("fill in their rows once you find something out, then run", String::new(), from.concat())
    };
    let (resolve, sum) = (commands.journal(&format!("resolve{from}")), sum.shown());
    format!(
        "still unknown: {sum}; {what}:\n{export}  {resolve}{}{}\n",
        commands.service_options(),
        by_option()
    )
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
    left_alone: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    already_so: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    still_unknown: Option<IntentSum>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown_at_other_services: Option<IntentSum>,
    intents: Vec<ResolvedIntent<'a>>,
}
