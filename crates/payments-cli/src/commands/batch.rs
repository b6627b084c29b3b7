//! `payments batch run`: a charge for every row of a file, each at most once.

mod csv_rows;
mod feed;
mod inspection;
mod pace;
mod progress;
mod results;
mod rows;
mod run;

use std::io;
use std::sync::Arc;

use payments_journal::{Intent, Journal, JournaledClient, StateName, StoreError};
use tokio::runtime::{self, Handle};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, timeout};

use self::inspection::{Inspected, Refusal, inspect};
use self::pace::Pace;
use self::progress::Progress;
use self::results::Results;
use self::rows::Row;
use self::run::{Run, Service};
use crate::args::GlobalOptions;
use crate::args::batch::{BatchArguments, Rate};
use crate::batch_report::{Stop, Summary};
use crate::call::Prepared;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Purpose};
use crate::interrupt::Interrupt;
use crate::journal_place::{JournalPlace, LONGEST_CLOSING};
use crate::output::{self, Output};
use crate::report::Report;
use crate::row_file::{Role, RowFile};
use crate::trace::Trace;

/// Runs the command to its end.
pub(super) fn run(options: GlobalOptions, arguments: BatchArguments) -> ExitCode {
    let output = Output::choose(options.output);
    let ended =
        runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| cannot_start(&error));
    let ended = ended.and_then(|runtime| {
        let ended = runtime.block_on(async {
            let place = JournalPlace::demand(arguments.journal.as_deref(), Purpose::MoveMoney)?;
            let ended = Box::pin(end(options, output, arguments, &place)).await;
            place.close().await;
            ended
        });
        // What was given up must not keep the command alive.
        runtime.shutdown_background();
        ended
    });
    output::finish(output, ended.unwrap_or_else(Report::from))
}

async fn end(
    options: GlobalOptions,
    output: Output,
    arguments: BatchArguments,
    place: &JournalPlace,
) -> Result<Report, Failure> {
    let (is_dry_run, is_verbose) = (options.client.dry_run, options.client.verbose);
    output.warn(&place.warnings());
    let path = arguments.file.clone();
    let prepared = Prepared::new(
        options.client,
        output,
        |client, _| client,
        move || RowFile::open(&path, Role::BillingRun),
    )
    .await?;
    let Prepared { settings, client, call: file, mut interrupt } = prepared;
    if is_verbose {
        Trace::to_stderr().journal(place);
    }
    if place.has(&arguments.file) {
        let message = "the file of the billing run is the journal or belongs to it; nothing was sent";
        return Err(Failure::invalid("batch_file", message.to_owned()));
    }
    // A file with an error must leave nothing behind, so a journal that is not there is made only for a good one.
    let journal = interrupt.unless_arrived(place.open_if_there()).await.map_err(with_earlier_runs)?;
    let known = match &journal {
        Some(journal) => interrupt.unless_arrived(known(journal)).await?,
        None => None,
    };
    let is_secret = {
        let client = client.clone();
        move |key: &str| client.is_api_key_in(key)
    };
    let inspected = inspected(file, known, is_secret, &mut interrupt).await?;
    let (file, inspected) = match inspected {
        Ok(inspected) => inspected,
        Err(Refusal::Problems(problems)) => return Ok(Report::Refused(Box::new(problems))),
        Err(Refusal::Failure(failure)) => return Err(*failure),
    };
    let (tallies, doubts) = (inspected.tallies, inspected.doubts.clone());
    let summary = Summary { tallies, doubts, is_dry_run, ..Summary::default() };
    if is_dry_run {
        return Ok(Report::Summed(Box::new(summary)));
    }
    let results = Results::open(&arguments, place)?;
    let journal = match journal {
        Some(journal) => journal,
        None => interrupt.unless_arrived(place.open()).await.map_err(with_earlier_runs)?,
    };
    if let Some(signal) = interrupt.has_arrived().await {
        return Err(crate::call::before_sending(signal));
    }
    let watch = file.try_clone().map_err(|error| cannot_be_watched(&error))?;
    let concurrency = usize::from(arguments.concurrency);
    let service = Service { client: JournaledClient::new(client, journal), settings: Arc::new(settings) };
    let run = Run {
        world: service.clone(),
        rows: inspected.feed(file),
        pace: Pace::new(concurrency, arguments.rate.map(Rate::interval), arguments.patience),
        max_rejected: arguments.max_rejected,
        results,
        progress: Progress::begin(&summary.tallies, Instant::now()),
        summary,
    };
    let mut summary = run.complete(async || interrupt.arrived().await).await;
    // What the journal could take, it has by now.
    drop(service);
    let closing = place.start_closing();
    if !summary.is_given_up() {
        tokio::select! {
            _ = timeout(LONGEST_CLOSING, closing) => {}
            _ = interrupt.arrived() => {}
        }
    }
    if summary.stop.is_none() {
        // What was added after the last row was read has not been charged.
        summary.stop = match watch.has_changed() {
            Ok(false) => None,
            Ok(true) => Some(Stop::Changed(None)),
            Err(error) => Some(Stop::Unreadable(error.to_string())),
        };
    }
    Ok(Report::Summed(Box::new(summary)))
}

/// The journal, if there is anything in it to be asked for.
async fn known(journal: &Journal) -> Result<Option<Journal>, Failure> {
    let page = journal.list(StateName::ALL, None, 1).await.map_err(|error| cannot_be_asked(&error))?;
    Ok((!page.intents.is_empty()).then(|| journal.clone()))
}

/// Reads the whole file in a thread of its own, while the signals stay heard.
async fn inspected(
    mut file: RowFile,
    known: Option<Journal>,
    is_secret: impl Fn(&str) -> bool + Send + 'static,
    interrupt: &mut Interrupt,
) -> Result<Result<(RowFile, Inspected), Refusal>, Failure> {
    let runtime = Handle::current();
    let inspecting = spawn_blocking(move || match known {
        None => inspect(&mut file, &is_secret, None).map(|inspected| (file, inspected)),
        Some(journal) => {
            let mut recall = |rows: &[Row]| runtime.block_on(recall(&journal, rows));
            inspect(&mut file, &is_secret, Some(&mut recall)).map(|inspected| (file, inspected))
        }
    });
    tokio::select! {
        biased;
        inspected = inspecting => {
            inspected.map_err(|_| Failure::not_processed("internal", "internal error; nothing was sent"))
        }
        signal = interrupt.arrived() => Err(crate::call::before_sending(signal)),
    }
}

/// What the journal has of each row.
async fn recall(journal: &Journal, rows: &[Row]) -> Result<Vec<Option<Intent>>, Failure> {
    let mut asked = JoinSet::new();
    for (place, row) in rows.iter().enumerate() {
        let (journal, key) = (journal.clone(), row.key.clone());
        asked.spawn(async move { (place, journal.find(&key).await) });
    }
    let mut found: Vec<_> = rows.iter().map(|_| None).collect();
    for (place, answer) in asked.join_all().await {
        found[place] = answer.map_err(|error| cannot_be_asked(&error))?;
    }
    Ok(found)
}

fn cannot_be_asked(error: &StoreError) -> Failure {
    with_earlier_runs(Failure::not_processed(
        "journal",
        format!("the journal cannot be read; nothing was sent: {error:#}"),
    ))
}

/// Nothing was sent by this run, and the journal alone knows what earlier ones have sent.
fn with_earlier_runs(failure: Failure) -> Failure {
    let message = format!(
        "{}; earlier runs may have paid rows of this file: do not pay them another way",
        failure.message
    );
    Failure { message, ..failure }
}

fn cannot_be_watched(error: &io::Error) -> Failure {
    Failure::not_processed("batch_file", "the file of the billing run cannot be watched; nothing was sent")
        .because(error)
}

fn cannot_start(error: &io::Error) -> Failure {
    Failure::not_processed("internal", "this process cannot wait for sockets and signals; nothing was sent")
        .because(error)
}
