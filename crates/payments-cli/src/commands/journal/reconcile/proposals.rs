//! The files of `--out` and `--rest`: what was found, and the unknown keys that were not.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use payments_journal::{Journal, Proposal, ReconciledAttempt, Reconciliation, StateName, Subject, Undecided};
use payments_model::TransactionId;

use super::super::resolve_file;
use super::document::lines_of;
use super::processor_report::ProcessorReport;
use crate::args::journal::ReconcileArguments;
use crate::failure::Failure;
use crate::files::{self, FileIdentity};
use crate::format::{in_words, timestamp};
use crate::intent::history;
use crate::rows::csv_file;
use crate::rows::own_files::{self, COMPARED_BY, PROPOSALS};
use crate::settings::JournalPlace;

/// Writes the files of `--out` and `--rest`, if they are asked for, and returns their names. Also without rows: a program gives them to
/// `resolve --from` whatever was found, and must not take older ones for them. After a failure neither is left.
pub(super) async fn write(
    found: &Reconciliation,
    report: &ProcessorReport,
    journal: &Journal,
    place: &JournalPlace,
    asked: &ReconcileArguments,
) -> Result<[Option<String>; 2], Failure> {
    let mut out = asked.out.as_deref().map(|path| NewFile {
        option: "out",
        path,
        is_done: false,
        headings: [&PROPOSALS[..], &COMPARED_BY].concat(),
        rows: found.all_proposals().map(|it| proposed(it, found, report)).collect(),
    });
    let mut rest = asked.rest.as_deref().map(|path| NewFile {
        option: "rest",
        path,
        is_done: false,
        headings: own_files::rest(),
        rows: still_unknown(found).map(|attempt| unfilled(attempt, found, report)).collect(),
    });
    for file in [&mut out, &mut rest].into_iter().flatten() {
        file.is_done = resolve_file::is_done(file.path, place, journal).await?;
    }
    let both = || [&out, &rest].into_iter().flatten();
    both().try_for_each(|file| file.check(place, asked))?;
    if let (Some(out), Some(rest)) = (&out, &rest)
        && FileIdentity::of(out.path) == FileIdentity::of(rest.path)
    {
        return Err(Failure::usage("--out and --rest name the same file; nothing was changed: name two"));
    }
    let mut created = Vec::new();
    if let Err(failure) = both().try_for_each(|new| new.write(&mut created)) {
        // What is left of it would keep the next run from writing it.
        for path in created {
            let _ = fs::remove_file(path);
        }
        return Err(failure);
    }
    Ok([&out, &rest].map(|new| new.as_ref().map(NewFile::name)))
}

/// The unknown keys of which nothing is proposed, each with the lines that may be its own. Proposals about earlier attempts are resolved
/// first: the key changes by them.
pub(super) fn still_unknown(found: &Reconciliation) -> impl Iterator<Item = (&ReconciledAttempt, Vec<u64>)> {
    let proposed: HashSet<_> = found.all_proposals().map(|proposal| &proposal.attempt.key).collect();
    let lines = |open: &Undecided| open.candidates.iter().flat_map(|it| &it.lines).copied().collect();
    let undecided = found.undecided.iter().map(move |open| (&open.attempt, lines(open)));
    let missing = found.missing.iter().map(|attempt| (attempt, Vec::new()));
    undecided
        .chain(missing)
        .filter(move |(attempt, _)| attempt.state == StateName::Unknown && !proposed.contains(&attempt.key))
}

fn proposed(proposal: &Proposal, found: &Reconciliation, report: &ProcessorReport) -> Vec<String> {
    let name = report.name.as_deref().unwrap_or("the report");
    let note = format!("{name}, {}", lines_of(&proposal.lines));
    let id = proposal.verdict.transaction_id().map_or("", TransactionId::as_str).to_owned();
    let own = cells(&proposal.attempt, found, [id, in_words(proposal.verdict.as_str()), note]);
    own.into_iter().chain([report.text_of(&proposal.lines)]).collect()
}

/// A person fills in the verdict, the id and the note. Beside rows of the report that may be its own, *not processed* is refused.
fn unfilled(
    (attempt, lines): (&ReconciledAttempt, Vec<u64>),
    found: &Reconciliation,
    report: &ProcessorReport,
) -> Vec<String> {
    let request = &attempt.request;
    let (member, subject) = history::subject(&request.subject);
    let subject = |name| subject.filter(|_| member == name).unwrap_or_default().to_owned();
    let [card_ending, token_id, voids] = ["card_ending", "token_id", "voids"].map(subject);
    let amount = request.amount.map(|amount| amount.to_string()).unwrap_or_default();
    let searched_by = [amount, request.reference.clone().unwrap_or_default(), card_ending, token_id, voids];
    let own = cells(attempt, found, [const { String::new() }; 3]);
    own.into_iter().chain(searched_by).chain([report.text_of(&lines)]).collect()
}

/// In the order of [`PROPOSALS`].
fn cells(
    attempt: &ReconciledAttempt,
    found: &Reconciliation,
    [id, verdict, note]: [String; 3],
) -> [String; 8] {
    let ReconciledAttempt { key, attempt: number, revision, begun_at, request, .. } = attempt;
    // The service of a key whose entry was lost is not known.
    let service = found.service.clone().filter(|_| request.subject != Subject::Lost).unwrap_or_default();
    let [number, revision] = [number.to_string(), revision.to_string()];
    [key.to_string(), number, revision, id, verdict, note, service, timestamp(*begun_at)]
}

/// A file that does not exist yet, or that an earlier run has written and of which nothing is left to be done.
struct NewFile<'a> {
    option: &'static str,
    path: &'a Path,
    /// Whether the journal has everything that the file says.
    is_done: bool,
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl NewFile<'_> {
    fn name(&self) -> String {
        files::shown_name(self.path).unwrap_or_else(|| format!("the file of --{}", self.option))
    }

    fn refused(&self, why: &str, what_to_do: &str) -> Failure {
        let Self { option, path, .. } = self;
        let file = format!("the file of --{option}{}", files::name_in_brackets(path));
        Failure::invalid(format!("{option}_file"), format!("{file} {why}; nothing was changed: {what_to_do}"))
    }

    fn check(&self, place: &JournalPlace, asked: &ReconcileArguments) -> Result<(), Failure> {
        if place.has(self.path) || FileIdentity::of(self.path) == FileIdentity::of(&asked.report) {
            return Err(self.refused("is the journal or the report", "name another one"));
        }
        if self.path.symlink_metadata().is_ok() && !self.may_be_replaced() {
            return Err(self.exists());
        }
        Ok(())
    }

    fn exists(&self) -> Failure {
        self.refused(
            "exists, and has what the journal does not know",
            "if the report or the options are different now, remove it, or name another; else resolve from it",
        )
    }

    /// Whether the file is as an earlier run wrote it that found nothing or the same, or is done. Nobody's edits are lost with it.
    fn may_be_replaced(&self) -> bool {
        // Before it is opened: opening a named pipe would wait for a writer.
        if !self.path.symlink_metadata().is_ok_and(|found| found.is_file()) {
            return false;
        }
        let (Ok(header), Ok(all)) = (csv_file::record(&self.headings), self.content()) else { return false };
        let read = files::read(self.path, all.len()).ok().flatten();
        self.is_done || read.is_some_and(|read| *read == header || *read == all)
    }

    fn content(&self) -> io::Result<Vec<u8>> {
        let mut bytes = csv_file::record(&self.headings)?;
        for row in &self.rows {
            bytes.extend(csv_file::record(row)?);
        }
        Ok(bytes)
    }

    /// Adds the path once the file is there.
    fn write<'s>(&'s self, created: &mut Vec<&'s Path>) -> Result<(), Failure> {
        let is_replaced = self.may_be_replaced();
        let mut options = files::private();
        options.create_new(!is_replaced).truncate(is_replaced);
        let mut file = options.open(self.path).map_err(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                self.exists()
            } else {
                self.refused("cannot be written", files::FIX_THE_FILE).with_cause(&error)
            }
        })?;
        created.push(self.path);
        let written = self.content().and_then(|bytes| file.write_all(&bytes)).and_then(|()| file.sync_all());
        written.map_err(|error| {
            self.refused("could not be written completely", files::FIX_THE_FILE).with_cause(&error)
        })
    }
}
