//! `payments batch run`: a charge for every row of a file, each at most once.

mod after_charge;
mod billing_file;
mod charge_result;
mod inspection;
mod known_intents;
mod place_in_summary;
mod progress;
mod results;
mod run;
mod throttle;

use std::cell::Cell;
use std::sync::Arc;

use payments_journal::JournaledClient;
use tokio::runtime;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

use self::billing_file::{BillingFile, Row, refuse_ignored_fields};
use self::charge_result::ChargeResult;
use self::inspection::{Inspected, inspect};
use self::known_intents::{KnownIntents, with_earlier_runs};
use self::progress::Progress;
use self::results::Results;
use self::run::Run;
use self::throttle::Throttle;
use super::calls::of_receipt;
use crate::args::GlobalOptions;
use crate::args::batch::BatchArguments;
use crate::call::{self, Prepared};
use crate::exit_code::ExitCode;
use crate::failure::{FailedOutcome, Failure, Purpose};
use crate::interrupt::Interrupt;
use crate::journal_place::{JournalPlace, LONGEST_CLOSING};
use crate::journaled_call;
use crate::output::Output;
use crate::report::batch::{Stop, Summary};
use crate::report::problems::Problems;
use crate::report::{Processed, Report};
use crate::trace::Trace;

/// Runs the command.
pub(super) fn run(options: GlobalOptions, arguments: BatchArguments) -> ExitCode {
    let output = Output::choose(options.output);
    let charge = async |has_begun: &Cell<bool>| {
        let place = Arc::new(JournalPlace::require(&arguments.place, Purpose::MoveMoney)?);
        let ended = Box::pin(end(options, output, arguments, &place, has_begun)).await;
        // If it panics, the result of the run is still reported.
        let _ = call::catch_panic(place.close()).await;
        ended
    };
    let runtime = runtime::Builder::new_multi_thread();
    call::run_to_report(output, Purpose::MoveMoney, runtime, charge, |has_begun| {
        if has_begun { lost() } else { with_earlier_runs(call::nothing_sent()) }
    })
}

/// The failure after a panic because of which the run has no summary.
fn lost() -> Failure {
    let message = "internal error after charges may have been sent; their outcomes may be unknown: do not pay them another \
                   way, see `payments journal list --unresolved`, then run the same command again";
    Failure::new(FailedOutcome::Unknown, "internal", message)
}

async fn end(
    options: GlobalOptions,
    output: Output,
    arguments: BatchArguments,
    place: &Arc<JournalPlace>,
    has_begun: &Cell<bool>,
) -> Result<Report, Failure> {
    let (is_dry_run, is_verbose) = (options.client.dry_run, options.client.verbose);
    output.warn(&place.warnings());
    refuse_ignored_fields(&arguments.ignore_columns)?;
    let (path, ignored) = (arguments.file.clone(), arguments.ignore_columns.clone());
    let read = {
        let place = Arc::clone(place);
        move || BillingFile::read(&path, ignored, &place)
    };
    let Prepared { settings, client, call: file, mut interrupt } =
        Prepared::new(options.client, output, read).await?;
    let client = client.build();
    if is_verbose {
        Trace::to_stderr().journal(place);
    }
    // A file with an error must leave nothing behind, so a missing journal is created only for a valid file.
    let opening =
        async { if is_dry_run { place.open_for_dry_run().await } else { place.open_if_exists().await } };
    let journal = interrupt.unless_arrived(opening).await.map_err(with_earlier_runs)?;
    let known = match &journal {
        Some(journal) => interrupt.unless_arrived(KnownIntents::of(journal)).await?,
        None => None,
    };
    let is_secret = {
        let client = client.clone();
        move |key: &str| client.is_api_key_in(key)
    };
    let options = (arguments.ids_are_not_cards, is_secret);
    let service = client.service().to_owned();
    let (file, inspected) = match inspected(file, known, options, service, &mut interrupt).await? {
        Ok(inspected) => inspected,
        Err(problems) => return Ok(Report::InvalidFile(Box::new(problems))),
    };
    if inspected.like_cards > 0 {
        let count = inspected.like_cards;
        output.warn(&[format!(
            "ids that look like card numbers: {count}; they are sent and stored as they are"
        )]);
    }
    let (tallies, unresolved) = (inspected.tallies, inspected.unresolved.clone());
    let summary = Summary { tallies, unresolved, is_dry_run, ..Summary::default() };
    if is_dry_run {
        return Ok(Report::Batch(Box::new(summary)));
    }
    let results = Results::open(&arguments, place)?;
    let journal = match journal {
        Some(journal) => journal,
        None => interrupt.unless_arrived(place.open()).await.map_err(with_earlier_runs)?,
    };
    let summary = Summary { created_journal: place.created().map(str::to_owned), ..summary };
    if let Some(signal) = interrupt.has_arrived().await {
        return Err(Failure::interrupted_before_sending(signal));
    }
    let concurrency = usize::from(arguments.concurrency);
    let client = JournaledClient::new(client, journal);
    let describe = |row: &Row, charged: &ChargeResult, at| {
        let report = match charged {
            Ok(journaled) => Report::Processed(Processed::journaled(journaled.clone(), &row.key, of_receipt)),
            Err(error) => journaled_call::failed(error, &row.payment, &settings, at).into(),
        };
        let reference = row.payment.reference_no().map(|text| settings.reference_without_key(text));
        (report, reference)
    };
    let run = Run {
        client: client.clone(),
        describe: Box::new(describe),
        rows: Box::new(file.unsettled(inspected.is_settled)),
        throttle: Throttle::new(concurrency, arguments.rate, arguments.patience),
        max_rejected: arguments.max_rejected,
        results,
        progress: Progress::begin(&summary.tallies, Instant::now()),
        summary,
    };
    has_begun.set(true);
    let mut summary = run.complete(async || interrupt.arrived().await).await;
    let is_given_up = summary.is_given_up();
    let closing = async {
        // The journal now has everything that it could record.
        drop(client);
        let closing = place.start_closing();
        if !is_given_up {
            tokio::select! {
                _ = timeout(LONGEST_CLOSING, closing) => {}
                _ = interrupt.arrived() => {}
            }
        }
    };
    if call::catch_panic(closing).await.is_none() {
        summary.stop(Stop::Internal);
    }
    Ok(Report::Batch(Box::new(summary)))
}

/// Checks the whole file on another thread, while signals are still handled.
async fn inspected(
    file: BillingFile,
    known: Option<KnownIntents>,
    (ids_are_not_cards, is_secret): (bool, impl Fn(&str) -> bool + Send + 'static),
    service: String,
    interrupt: &mut Interrupt,
) -> Result<Result<(BillingFile, Inspected), Problems>, Failure> {
    let inspecting = spawn_blocking(move || {
        let inspected = inspect(&file, &is_secret, ids_are_not_cards, &service, known)?;
        Ok(inspected.map(|inspected| (file, inspected)))
    });
    tokio::select! {
        biased;
        inspected = inspecting => {
            inspected.map_err(|_| call::nothing_sent())?
        }
        signal = interrupt.arrived() => Err(Failure::interrupted_before_sending(signal)),
    }
}
