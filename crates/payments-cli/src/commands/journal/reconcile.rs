//! `payments journal reconcile`: a processor's report against the journal. It changes nothing and looks nothing up.

mod cells;
mod document;
mod processor_report;

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::SystemTime;

use payments_journal::{ReconcileOptions, ReconciledAttempt, Reconciliation};
use payments_model::TransactionId;

use self::document::{Document, lines_of};
use self::processor_report::ProcessorReport;
use super::status_words::StatusWords;
use super::{CommandError, READ};
use crate::args::reconcile::ReconcileArguments;
use crate::csv_file;
use crate::failure::Failure;
use crate::files::{self, FileIdentity};
use crate::format::timestamp;
use crate::output::Output;
use crate::own_files::PROPOSALS;
use crate::report::exit_code::ExitCode;
use crate::report::intent_history::in_words;
use crate::settings::{JournalPlace, OpenFor};

pub(super) async fn run(
    place: &JournalPlace,
    output: Output,
    asked: &ReconcileArguments,
) -> Result<ExitCode, CommandError> {
    let complete = match (asked.complete_from, asked.complete_to) {
        (Some(from), Some(to)) if from < to => Some((from, to)),
        (None, None) => None,
        _ => {
            let message =
                "--complete-from and --complete-to belong together, in this order; nothing was changed";
            return Err(Failure::usage(message).into());
        }
    };
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
    let report = ProcessorReport::read(asked, words, place)?;
    let mut options = ReconcileOptions::default();
    options.service.clone_from(&asked.service);
    options.complete = complete;
    options.within = asked.within.unwrap_or(options.within);
    let journal = place.open(OpenFor::Reading).await?;
    let found = journal.reconcile(&report.rows, &options).await?;
    let out =
        asked.out.as_deref().map(|path| write_proposals(path, &found, &report, place, asked)).transpose()?;
    let document = Document::of(&found, &report, out);
    super::write(READ, output, &document, |style| document.lines(style))?;
    let is_unexplained =
        !found.unexplained.is_empty() || (asked.journal_is_complete && !found.foreign.is_empty());
    Ok(ExitCode::of_keys(found.leaves_unknown(), is_unexplained))
}

/// Writes a new file with every proposal, and returns its name.
fn write_proposals(
    path: &Path,
    found: &Reconciliation,
    report: &ProcessorReport,
    place: &JournalPlace,
    asked: &ReconcileArguments,
) -> Result<String, Failure> {
    let refused = |why: &str| {
        let file = format!("the file of --out{}", files::name_in_brackets(path));
        Failure::invalid("out_file", format!("{file} {why}; nothing was changed: {}", files::FIX_THE_FILE))
    };
    if place.has(path) || FileIdentity::of(path) == FileIdentity::of(&asked.report) {
        return Err(refused("is the journal or the report"));
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            refused("exists, and somebody may have written into it")
        } else {
            refused("cannot be written").with_cause(&error)
        }
    })?;
    let mut write = || {
        let mut bytes = csv_file::record(&PROPOSALS)?;
        for proposal in found.all_proposals() {
            let ReconciledAttempt { key, attempt, revision, begun_at, .. } = &proposal.attempt;
            let name = report.name.as_deref().unwrap_or("the report");
            let note = format!("{name}, {}", lines_of(&proposal.lines));
            let cells = [
                key.to_string(),
                attempt.to_string(),
                revision.to_string(),
                proposal.verdict.transaction_id().map_or("", TransactionId::as_str).to_owned(),
                in_words(&proposal.verdict),
                note,
                found.service.clone().unwrap_or_default(),
                timestamp(*begun_at),
            ];
            bytes.extend(csv_file::record(&cells)?);
        }
        file.write_all(&bytes)?;
        file.sync_all()
    };
    write().map_err(|error| refused("could not be written completely").with_cause(&error))?;
    Ok(files::shown_name(path).unwrap_or_else(|| "the file of --out".to_owned()))
}
