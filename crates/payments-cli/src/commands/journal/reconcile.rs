//! `payments journal reconcile`: a processor's report against the journal. It changes nothing and looks nothing up.

mod document;
mod processor_report;
mod proposals;

use std::collections::BTreeSet;
use std::time::SystemTime;

use payments_journal::{ReconcileOptions, StateName};

use self::document::Document;
use self::processor_report::{Again, ProcessorReport};
use super::status_words::StatusWords;
use super::{CommandError, READ, code_of};
use crate::args::ClientOptions;
use crate::args::journal::ReconcileArguments;
use crate::call::admission::find_all;
use crate::failure::Failure;
use crate::format::timestamp;
use crate::output::Output;
use crate::report::ExitCode;
use crate::settings::{JournalPlace, OpenFor, named_service};

pub(super) async fn run(
    options: &ClientOptions,
    place: &JournalPlace,
    output: &Output,
    asked: &ReconcileArguments,
) -> Result<ExitCode, CommandError> {
    let complete = asked.complete_from.zip(asked.complete_to);
    if complete.is_some_and(|(from, to)| from >= to) {
        let message = "--complete-from must be before --complete-to; nothing was changed";
        return Err(Failure::usage(message).into());
    }
    if let Some((_, to)) = complete
        && to > SystemTime::now()
    {
        let [until, now] = [to, SystemTime::now()].map(timestamp);
        let day = "2026-11-01".len();
        let (shown, today) =
            if until[..day] == now[..day] { (until.len(), "it is") } else { (day, "today is") };
        let (until, now) = (&until[..shown], &now[..shown]);
        let message = format!("no report can be complete until {until}: {today} {now}; nothing was changed");
        return Err(Failure::usage(message).into());
    }
    let words = StatusWords::of(asked)?;
    let report = ProcessorReport::read(
        &Again { asked, typed: &options.typed, commands: &output.commands },
        words,
        place,
    )?;
    let called = named_service(options)?;
    let mut options = ReconcileOptions::default();
    options.service = asked.service.clone().or(called);
    options.complete = complete;
    options.within = asked.within.unwrap_or(options.within);
    let journal = place.open(OpenFor::Reading).await?;
    let found = journal.reconcile(&report.rows, &options).await.map_err(|error| {
        let failure = Failure::of_store(&error);
        // Nothing else is refused here.
        let how = "name it with --service, or with --base-url and --merchant";
        if error.is_refused() { failure.hint(how.to_owned()) } else { failure }
    })?;
    let unexplained = found.unexplained.iter().flat_map(|case| &case.attempts);
    let resolved = unexplained.filter(|attempt| attempt.state == StateName::Resolved);
    let resolved: BTreeSet<_> = resolved.map(|attempt| attempt.key.clone()).collect();
    let resolved = find_all(&journal, resolved).await.map_err(|error| Failure::of_store(&error))?;
    let resolved = resolved.into_iter().flatten().map(|intent| (intent.key.clone(), intent)).collect();
    let written = proposals::write(&found, &report, &journal, place, asked).await?;
    let document = Document::of(&found, &report, &resolved, written);
    let written = super::write(READ, output, &document, |style| document.lines(style, &output.commands));
    let is_unexplained =
        !found.unexplained.is_empty() || (asked.journal_is_complete && !found.foreign.is_empty());
    Ok(code_of(
        &written,
        match ExitCode::of_keys(found.leaves_unknown(), is_unexplained) {
            ExitCode::Processed if report.is_status_misspelled => ExitCode::Invalid,
            code => code,
        },
    ))
}
