//! `payments journal`: the payments that were sent with a key, and their outcomes.

mod accept_history;
mod cells;
mod export;
mod list;
mod purge;
mod reconcile;
mod resolution;
mod resolve;
mod resolve_file;
mod retry;
mod services;
mod show;
mod status_words;
mod summary;
mod sums;

use std::io;

use payments_journal::{Intent, Journal, StateName, StoreError};
use serde::Serialize;

use crate::args::ClientOptions;
use crate::args::journal::{JournalArguments, JournalCommand};
use crate::call::trace;
use crate::failure::{Failure, Purpose};
use crate::output::Output;
use crate::process::run_to_report::block_on;
use crate::report::{ExitCode, Report};
use crate::service::Service;
use crate::settings::{JournalPlace, KnownKeys};
use crate::style::Style;
use crate::{stderr, stdout};

/// Runs one of the subcommands.
pub(super) fn run(
    options: ClientOptions,
    output: &Output,
    JournalArguments { place, command }: JournalArguments,
) -> ExitCode {
    let purpose = Purpose::KeepJournal;
    let place = check_services(&command).and_then(|()| JournalPlace::require(&place, purpose));
    let place = match place {
        Ok(place) => place,
        Err(failure) => return output.write(&Report::from(failure.for_purpose(purpose))),
    };
    trace::introduce(&place, options.verbose);
    let done = |ended: Result<(), CommandError>| ended.map(|()| ExitCode::Processed);
    let ended = block_on(async move {
        let ended = match command {
            JournalCommand::Resolve(asked) => resolve::run(options, &place, output, asked).await,
            JournalCommand::Reconcile(asked) => reconcile::run(&options, &place, output, &asked).await,
            JournalCommand::Retry(asked) => retry::run(&options, &place, output, &asked).await,
            JournalCommand::List(asked) => done(list::run(&place, output, &asked).await),
            JournalCommand::Show { key } => done(show::run(&place, output, &key).await),
            JournalCommand::Export(asked) => done(export::run(&place, &asked).await),
            JournalCommand::AcceptHistory(asked) => done(accept_history::run(&place, output, &asked).await),
            JournalCommand::Summary => done(summary::run(&place, output).await),
            JournalCommand::RenameService { old, new, confirmed } => {
                done(services::run(&place, output, &old, Some(new.as_str()), &confirmed).await)
            }
            JournalCommand::ForgetService { name, confirmed } => {
                done(services::run(&place, output, &name, None, &confirmed).await)
            }
            JournalCommand::Purge { older_than } => done(purge::run(&place, output, &older_than).await),
        };
        place.close(true).await;
        ended
    });
    match ended.map_err(CommandError::from).and_then(|ended| ended) {
        Ok(code) => code,
        Err(CommandError::Failed(failure)) => {
            output.write(&Report::from(KnownKeys::in_environment().hidden_in(for_the_journal(*failure))))
        }
        Err(CommandError::Partial(failure)) => output.write_partial(&for_the_journal(*failure)),
        Err(CommandError::Unwritten) => ExitCode::Other,
    }
}

/// Refuses what no service can be called. It is not repeated, because it may hold a password.
fn check_services(command: &JournalCommand) -> Result<(), Failure> {
    let named = match command {
        JournalCommand::Reconcile(asked) => [asked.service.as_ref().map(|name| ("--service", name)), None],
        JournalCommand::RenameService { old, new, .. } => [Some(("OLD", old)), Some(("NEW", new))],
        JournalCommand::ForgetService { name, .. } => [Some(("NAME", name)), None],
        _ => [None, None],
    };
    match named.into_iter().flatten().find(|(_, name)| !Service::of(name).is_valid()) {
        Some((argument, _)) => Err(Failure::usage(format!(
            "{argument} is not the name of a service; nothing was changed: write it as `payments journal list` prints it"
        ))),
        None => Ok(()),
    }
}

/// Why a subcommand did not succeed.
enum CommandError {
    /// Nothing was written to stdout.
    Failed(Box<Failure>),
    /// A part of the result was written to stdout.
    Partial(Box<Failure>),
    /// The result could not be written to stdout, as [`unwritten`] has reported.
    Unwritten,
}

impl CommandError {
    /// The same where nothing was written to stdout yet.
    fn before_output(self) -> Self {
        match self {
            Self::Partial(failure) => Self::Failed(failure),
            other => other,
        }
    }

    /// Without these API keys in the message.
    fn without(self, keys: &KnownKeys) -> Self {
        match self {
            Self::Failed(failure) => Self::Failed(Box::new(keys.hidden_in(*failure))),
            other => other,
        }
    }
}

/// What was done, for a command that changes nothing. If the reader of its output closes the pipe, it ends quietly.
const READ: &str = "read";

/// Reports the change although stdout has failed, even if the caller then ends with another result.
fn unwritten(what: &'static str, error: &io::Error) -> CommandError {
    if what != READ || !stdout::is_closed(error) {
        stderr::write_last(stdout::not_written(what, error));
    }
    CommandError::Unwritten
}

/// Writes what was done: `document`, or `text` for people. A change that cannot be written to stdout goes to stderr.
fn write(
    what: &'static str,
    output: &Output,
    document: &impl Serialize,
    text: impl Fn(Style) -> String,
) -> Result<(), CommandError> {
    output.print(document, &text).map_err(|error| {
        let unwritten = unwritten(what, &error);
        if what != READ {
            stderr::write_last(text(stderr::style()));
        }
        unwritten
    })
}

/// The exit code of a command that has written its result, or has not: what it found matters more than the result.
const fn code_of(written: &Result<(), CommandError>, code: ExitCode) -> ExitCode {
    if written.is_ok() { code } else { code.unwritten() }
}

/// Reads one page after another. A failure after the first page leaves a partial result.
async fn for_each_page(
    journal: &Journal,
    states: &[StateName],
    mut write: impl FnMut(&[Intent]) -> io::Result<()>,
) -> Result<(), CommandError> {
    let (mut pages, mut is_first) = (journal.pages(states), true);
    loop {
        let intents = match pages.next().await {
            Ok(Some(intents)) => intents,
            Ok(None) => return Ok(()),
            Err(error) if is_first => return Err(error.into()),
            Err(error) => return Err(CommandError::Partial(Box::new(Failure::of_store(&error)))),
        };
        write(&intents).map_err(|error| unwritten(READ, &error))?;
        is_first = false;
    }
}

/// Sets the purpose, except for a failed lookup.
fn for_the_journal(failure: Failure) -> Failure {
    match failure.advice.purpose {
        Purpose::FindTransaction => failure,
        _ => failure.for_purpose(Purpose::KeepJournal),
    }
}

impl From<Failure> for CommandError {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        Failure::of_store(&error).into()
    }
}
