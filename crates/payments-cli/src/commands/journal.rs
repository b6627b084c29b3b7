//! `payments journal`: what was sent with a key, and what became of it.

mod export;
mod list;
mod purge;
mod resolve;
mod resolve_file;
mod retry;
mod show;

use std::io;

use payments_journal::StoreError;
use serde::Serialize;

use super::refuse_settings;
use crate::args::GlobalOptions;
use crate::args::journal::{JournalArguments, JournalCommand};
use crate::batch_report::Problems;
use crate::call::block_on;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Purpose};
use crate::journal_place::{JournalPlace, store_failure};
use crate::output::Output;
use crate::report::Report;
use crate::trace::Trace;
use crate::{stderr, stdout};

/// Runs one of them to its end.
pub(super) fn run(
    mut options: GlobalOptions,
    JournalArguments { journal, command }: JournalArguments,
) -> ExitCode {
    let talks_to_the_service = matches!(command, JournalCommand::Resolve(_));
    let purpose = Purpose::KeepJournal;
    // Which journal it is can be told of each of them.
    let is_verbose = options.client.verbose;
    options.client.verbose &= talks_to_the_service;
    if !talks_to_the_service && let Some(refused) = refuse_settings(&options, "talks to no service", purpose)
    {
        return refused;
    }
    let output = Output::choose(options.output);
    let place = match JournalPlace::demand(journal.as_deref(), purpose) {
        Ok(place) => place,
        Err(failure) => return output.write(&Report::from(failure.of_a(purpose))),
    };
    output.warn(&place.warnings());
    if is_verbose {
        Trace::to_stderr().journal(&place);
    }
    let ended = block_on(async move {
        let ended = match command {
            JournalCommand::List(asked) => list::run(&place, output, &asked).await,
            JournalCommand::Show(asked) => show::run(&place, output, &asked.key).await,
            JournalCommand::Export(asked) => export::run(&place, &asked).await,
            JournalCommand::Resolve(asked) => resolve::run(options.client, &place, output, asked).await,
            JournalCommand::Retry(asked) => retry::run(&place, output, &asked).await,
            JournalCommand::Purge(asked) => purge::run(&place, output, &asked.older_than).await,
        };
        place.close().await;
        ended
    });
    match ended.map_err(Ended::from).and_then(|ended| ended) {
        Ok(()) => ExitCode::Processed,
        Err(Ended::Failed(failure)) => output.write(&Report::from(for_the_journal(*failure))),
        Err(Ended::Refused(problems)) => output.write(&Report::Refused(problems)),
        Err(Ended::Torn(failure)) => output.torn(&for_the_journal(*failure)),
        Err(Ended::Unwritten(what, error)) => {
            // The exit code says it too.
            stderr::write_last(format!("{what}, but the result could not be written to stdout ({error})\n"));
            ExitCode::Other
        }
    }
}

/// How a command of the journal ended, other than well.
enum Ended {
    /// Nothing stands on stdout.
    Failed(Box<Failure>),
    /// A file of which nothing was done.
    Refused(Box<Problems>),
    /// A part of the result stands on stdout.
    Torn(Box<Failure>),
    /// Stdout did not take the result; the text says what was done.
    Unwritten(&'static str, io::Error),
}

fn print(what: &'static str, text: &str) -> Result<(), Ended> {
    stdout::print(text).map_err(|error| Ended::Unwritten(what, error))
}

fn print_json(what: &'static str, document: &impl Serialize) -> Result<(), Ended> {
    stdout::print_json(document).map_err(|error| Ended::Unwritten(what, error))
}

/// What was to be looked up says so itself.
fn for_the_journal(failure: Failure) -> Failure {
    match failure.advice.purpose {
        Purpose::FindTransaction => failure,
        _ => failure.of_a(Purpose::KeepJournal),
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

impl From<StoreError> for Ended {
    fn from(error: StoreError) -> Self {
        store_failure(&error).into()
    }
}
