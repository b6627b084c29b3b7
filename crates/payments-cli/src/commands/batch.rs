//! `payments batch run`: a charge for every row of a file, each at most once.

mod billing_file;
mod charge_result;
mod counting;
mod earlier_charges;
mod hashes;
mod inspection;
mod newcomers;
mod progress;
mod results;
mod row_queue;
mod run;
mod stop_rules;
mod throttle;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use payments_journal::{Journal, JournaledClient, StateName};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

use self::billing_file::{BillingFile, BillingRow, refuse_ignored_fields};
use self::charge_result::FinishedCharge;
use self::counting::Counting;
use self::hashes::Hashes;
use self::inspection::{Inspected, Rules, inspect};
use self::newcomers::{Newcomers, RecentPages};
use self::progress::Progress;
use self::results::{Results, charged_keys};
use self::run::Run;
use self::throttle::Throttle;
use super::operations::of_receipt;
use crate::args::ClientOptions;
use crate::args::batch::BatchArguments;
use crate::call::admission::find_all;
use crate::call::journaled::LAST_WRITES;
use crate::call::same_payment::Fate;
use crate::call::{Prepared, journaled_failure, trace};
use crate::failure::{Abandoned, FailedOutcome, Failure, Purpose, Situation};
use crate::files;
use crate::output::Output;
use crate::process::Interrupt;
use crate::process::run_to_report::{self, catch_panic};
use crate::report::advice::{EARLIER_RUNS, run_lost};
use crate::report::run::{Phase, Stop, Summary};
use crate::report::{ExitCode, Processed, Report};
use crate::settings::{JournalPlace, OpenFor, PrintedCommands, Settings, warn_of_a_loss};
use crate::stderr;

/// Runs the command.
pub(super) fn run(options: ClientOptions, output: &Output, arguments: BatchArguments) -> ExitCode {
    let charge = async |interrupt: &mut Interrupt, has_begun: &Cell<bool>| {
        let place = JournalPlace::require(&arguments.place, Purpose::MoveMoney)?;
        let place = Arc::new(place.must_exist(arguments.existing_journal)?);
        let ended =
            Box::pin(charge_file(options, &output.commands, interrupt, arguments, &place, has_begun)).await;
        let ended = ended.map_err(|failure| match failure.situation {
            Situation::Journal | Situation::NoJournal => with_earlier_runs(failure),
            _ if failure.advice.is_interrupted => with_earlier_runs(failure),
            _ => failure,
        });
        // If it panics, the result of the run is still reported.
        let _ = catch_panic(place.close(true)).await;
        ended
    };
    let workers = thread::available_parallelism().map_or(1, Into::into);
    run_to_report::run(output, Purpose::MoveMoney, workers, charge, |has_begun| {
        if has_begun {
            // Without a summary.
            Failure::new(FailedOutcome::Unknown, "internal", run_lost(&output.commands))
        } else {
            with_earlier_runs(Abandoned::Panic.before_sending())
        }
    })
}

/// This run sent nothing, but only the journal knows what earlier runs have sent.
fn with_earlier_runs(failure: Failure) -> Failure {
    failure.reworded(|message| format!("{message}; {EARLIER_RUNS}"))
}

async fn charge_file(
    options: ClientOptions,
    commands: &PrintedCommands,
    interrupt: &mut Interrupt,
    arguments: BatchArguments,
    place: &Arc<JournalPlace>,
    has_begun: &Cell<bool>,
) -> Result<Report, Failure> {
    let is_dry_run = options.dry_run;
    trace::introduce(place, options.verbose);
    refuse_ignored_fields(&arguments.ignore_columns)?;
    let (path, ignored) = (arguments.file.clone(), arguments.ignore_columns.clone());
    let read = {
        let place = Arc::clone(place);
        move || BillingFile::read(&path, ignored, &place)
    };
    let Prepared { settings, client, call: file } = Prepared::new(options, interrupt, read).await?;
    settings.require_one_key()?;
    // A file with an error must leave nothing behind, so a missing journal is created only for a valid file.
    let opening = place.open_if_exists(if is_dry_run { OpenFor::DryRun } else { OpenFor::Changing });
    let journal = interrupt.unless_arrived(opening).await?;
    let inspecting = inspected(file, &settings, commands, journal.as_ref(), arguments.ids_are_not_cards);
    let (file, Inspected { fates, summary, like_cards, warnings, keys, newer, watched }) =
        interrupt.unless_arrived(inspecting).await?;
    if like_cards > 0 {
        stderr::warn(&format!(
            "ids that look like card numbers: {like_cards}; they are sent and stored as they are"
        ));
    }
    if let Some(journal) = &journal {
        let checking = place.check_first_use(journal, settings.endpoint.service(), u32::MAX);
        interrupt.unless_arrived(checking).await?;
    }
    for warning in &warnings {
        stderr::warn(warning);
    }
    let open =
        |path: &Path| Results::open(path, &arguments.file, place, |row| described(row, &settings, commands));
    let results = arguments.results.as_deref().filter(|_| !is_dry_run).map(open).transpose()?;
    if let Some(path) = arguments.results.as_ref().filter(|path| !place.has(path)) {
        let rows = file.rows(&settings.keys).0.into_iter().flatten().zip(&fates);
        let keys = rows.filter(|(_, fate)| **fate == Fate::ToSend).filter_map(|(row, _)| row.key);
        let mut to_send = Hashes::default();
        keys.for_each(|key| to_send.add(&key));
        if !to_send.is_empty() {
            to_send.sort();
            let checking = check_results(path, to_send, place, journal.as_ref());
            interrupt.unless_arrived(checking).await?;
        }
    }
    if is_dry_run {
        let has_more = summary.tallies.not_started().count > 0;
        interrupt.unless_arrived(check_journal(place, journal.as_ref(), has_more)).await?;
        return Ok(Report::Batch(Box::new(Summary { phase: Phase::DryRun, ..summary })));
    }
    let journal = match journal {
        Some(journal) => journal,
        None => interrupt.unless_arrived(place.open(OpenFor::Charging)).await?,
    };
    // "Rejected" says that no money has moved, which is not known of a lost time.
    if summary.tallies.earlier.rejected.count > 0 {
        warn_of_a_loss(&journal).await;
    }
    let summary = Summary { created_journal: place.created().map(str::to_owned), ..summary };
    let progress = Progress::begin(&summary.tallies, Instant::now());
    if let Some(signal) = interrupt.has_arrived().await {
        return Err(Abandoned::Signal(signal).before_sending());
    }
    let newer = newer.unwrap_or_else(|| RecentPages::of(journal.pages(StateName::ALL)));
    let mut newcomers = Newcomers::new(journal.clone(), newer, keys, watched);
    let run = Run::new(
        JournaledClient::new(client.build(), journal),
        file.to_send(fates, &settings.keys),
        Throttle::new(arguments.concurrency.into(), arguments.rate, arguments.patience),
        Counting::new(summary, results, arguments.max_rejected),
        progress,
    );
    has_begun.set(true);
    let mut summary = run.compared_with(&mut newcomers).complete(async || interrupt.arrived().await).await;
    let rows = file.rows(&settings.keys).0.into_iter().flatten().filter_map(|row| row.content.ok());
    warn_of_twins(&mut newcomers, rows, &mut summary, interrupt).await;
    let closing = place.close(summary.given_up.is_none());
    if catch_panic(interrupt.or_signal(closing)).await.is_none() {
        summary.stop(Stop::Internal);
    }
    Ok(Report::Batch(Box::new(summary)))
}

/// Warns of rows that others have charged too: two charges at the same moment do not see each other.
async fn warn_of_twins(
    newcomers: &mut Newcomers,
    rows: impl Iterator<Item = BillingRow>,
    summary: &mut Summary,
    interrupt: &mut Interrupt,
) {
    // What cannot be found out now, the next run says.
    if summary.given_up.is_some() || matches!(summary.stop, Some(Stop::Journal(_))) {
        return;
    }
    let comparing = timeout(LAST_WRITES, catch_panic(newcomers.charged_twice(rows)));
    match interrupt.or_signal(comparing).await {
        Ok(Ok(Some(Ok(twins)))) => twins.warning().iter().for_each(|warning| stderr::warn(warning)),
        Ok(Ok(None)) => _ = summary.stop(Stop::Internal),
        Ok(Ok(Some(Err(_))) | Err(_)) | Err(_) => {}
    }
}

/// Refuses keys to send that were charged as the file of `--results` says, and that the journal does not have: it is another one.
async fn check_results(
    path: &Path,
    to_send: Hashes,
    place: &JournalPlace,
    journal: Option<&Journal>,
) -> Result<(), Failure> {
    if let Some(journal) = journal {
        match journal.check_history().await {
            Ok(()) => {}
            // Nothing begins, and the journal says better what helps.
            Err(error) if error.is_history_lost() => return Ok(()),
            Err(error) => return Err(Failure::of_store(&error)),
        }
    }
    let file = format!("the file of --results{}", files::name_in_brackets(path));
    // It may be long, and signals are still handled.
    let reading = spawn_blocking({
        let path = path.to_owned();
        move || charged_keys(&path, |key| to_send.have(key))
    });
    let charged = reading.await.map_err(|_| Abandoned::Panic.before_sending())?.map_err(|error| {
        let message = format!("{file} cannot be read; nothing was sent: {}", files::FIX_THE_FILE);
        Failure::invalid("results", message).with_cause(&error)
    })?;
    let known = match journal {
        Some(journal) => {
            let known = find_all(journal, charged.iter().cloned()).await;
            known.map_err(|error| Failure::of_store(&error))?.into_iter().flatten().map(|it| it.key).collect()
        }
        None => BTreeSet::new(),
    };
    let missing: Vec<_> = charged.difference(&known).collect();
    let [first, ..] = *missing else { return Ok(()) };
    Err(Failure::invalid(
        "results",
        format!(
            "{file} says that rows to send were charged, or may have been: {}, the first is {first}; the journal {place} does not have \
             their keys, so it is not the journal of that run, or has lost or forgotten them, and they would be charged again; nothing was \
             sent: name that journal, or another file of --results if this one is of something else, such as a rehearsal or another \
             merchant",
            missing.len()
        ),
    ))
}

/// Checks the file on another thread, while signals are still handled.
async fn inspected(
    file: BillingFile,
    settings: &Settings,
    commands: &PrintedCommands,
    journal: Option<&Journal>,
    ids_are_not_cards: bool,
) -> Result<(BillingFile, Inspected), Failure> {
    let (api_keys, commands) = (settings.keys.clone(), commands.clone());
    let rules =
        Rules { api_keys, ids_are_not_cards, service: settings.endpoint.service().to_owned(), commands };
    let (journal, runtime) = (journal.cloned(), Handle::current());
    let inspecting = spawn_blocking(move || {
        runtime.block_on(inspect(&file, &rules, journal.as_ref())).map(|inspected| (file, inspected))
    });
    inspecting.await.map_err(|_| Abandoned::Panic.before_sending())?
}

/// What a dry run says about the journal; `has_more` if rows would be sent.
async fn check_journal(
    place: &JournalPlace,
    journal: Option<&Journal>,
    has_more: bool,
) -> Result<(), Failure> {
    match journal {
        // The run would be refused its first row.
        Some(journal) if has_more => return place.check_history(journal).await,
        Some(journal) => warn_of_a_loss(journal).await,
        None => stderr::warn(&format!(
            "there is no journal at {place}: the run would create it, and every key is new to it"
        )),
    }
    Ok(())
}

/// The report of a row's charge, and the row's reference.
fn described(
    ended: &FinishedCharge,
    settings: &Settings,
    commands: &PrintedCommands,
) -> (Report, Option<String>) {
    let FinishedCharge { row, charged, at, .. } = ended;
    let report = match charged {
        Ok(journaled) => Report::Processed(Processed::journaled(journaled.clone(), &row.key, of_receipt)),
        Err(error) => journaled_failure::failed(error, &row.payment, settings, commands, *at).into(),
    };
    (report, row.payment.reference_no().map(|text| settings.reference_without_key(text)))
}
