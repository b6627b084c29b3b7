//! `payments journal reconcile`: a processor's report against the journal. It changes nothing and looks nothing up.

mod cells;
mod report;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

use payments_journal::{
    Cell, Proposal, ReconcileOptions, ReconciledAttempt, Reconciliation, ReportRow, Undecidable, Unexplained,
};
use payments_model::{Amount, TransactionId, mask};
use serde::Serialize;

use super::{CommandError, READ};
use crate::args::reconcile::ReconcileArguments;
use crate::csv_file;
use crate::failure::Failure;
use crate::files::{self, FileIdentity};
use crate::format::{counted, exact, timestamp};
use crate::journal_place::JournalPlace;
use crate::output::Output;
use crate::report::intent_history::in_words;
use crate::row_file::is_like_a_card;
use crate::style::{Style, Tone, for_terminal};
use report::{ProcessorReport, is_one_of};

pub(super) async fn run(
    place: &JournalPlace,
    output: Output,
    asked: &ReconcileArguments,
) -> Result<(), CommandError> {
    let complete = match (asked.complete_from, asked.complete_to) {
        (Some(from), Some(to)) if from < to => Some((from, to)),
        (None, None) => None,
        _ => {
            let message =
                "--complete-from and --complete-to belong together, in this order; nothing was changed";
            return Err(Failure::invalid("usage", message).into());
        }
    };
    let mut declined = asked.declined_statuses.iter().map(|word| word.trim());
    if let Some(word) = declined.find(|word| is_one_of(word, &asked.charged_statuses)) {
        let word = for_terminal(&mask(word, &[]));
        let message =
            format!("\"{word}\" is a word of --charged-status and of --declined-status; nothing was changed");
        return Err(Failure::invalid("usage", message).into());
    }
    let report = ProcessorReport::read(asked, place)?;
    let mut options = ReconcileOptions::default();
    options.service.clone_from(&asked.service);
    options.complete = complete;
    options.within = asked.within.unwrap_or(options.within);
    let journal = place.open_to_read().await?;
    let found = journal.reconcile(&report.rows, &options).await?;
    let out =
        asked.out.as_deref().map(|path| write_proposals(path, &found, &report, place, asked)).transpose()?;
    let document = Document::of(&found, &report, out);
    super::write(READ, output, &document, |style| document.lines(style))?;
    let is_unexplained =
        !found.unexplained.is_empty() || (asked.journal_is_complete && !found.foreign.is_empty());
    if found.leaves_unknown() {
        Err(CommandError::StaysUnknown)
    } else if is_unexplained {
        Err(CommandError::SecondCharge)
    } else {
        Ok(())
    }
}

/// The headings of the file of `--out`, which `resolve --from` reads.
pub(super) const HEADINGS: [&str; 6] = ["Key", "Attempt", "Revision", "TransactionId", "Verdict", "Note"];

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
        let mut bytes = csv_file::record(&HEADINGS.map(str::to_owned))?;
        for proposal in found.all_proposals() {
            let ReconciledAttempt { key, attempt, revision, .. } = &proposal.attempt;
            let name = report.name.as_deref().unwrap_or("the report");
            let note = format!("{name}, {}", lines_of(&proposal.lines));
            let cells = [
                key.to_string(),
                attempt.to_string(),
                revision.to_string(),
                proposal.verdict.transaction_id().map_or("", TransactionId::as_str).to_owned(),
                in_words(&proposal.verdict),
                note,
            ];
            bytes.extend(csv_file::record(&cells)?);
        }
        file.write_all(&bytes)?;
        file.sync_all()
    };
    write().map_err(|error| refused("could not be written completely").with_cause(&error))?;
    Ok(files::shown_name(path).unwrap_or_else(|| "the file of --out".to_owned()))
}

fn lines_of(lines: &[u64]) -> String {
    let numbers: Vec<_> = lines.iter().map(u64::to_string).collect();
    format!("line{} {}", if lines.len() == 1 { "" } else { "s" }, numbers.join(", "))
}

/// What was found, as JSON and as text.
#[derive(Serialize)]
struct Document<'a> {
    service: Option<&'a str>,
    rows: u64,
    proposals: Vec<Proposed<'a>>,
    undecided: Vec<Open<'a>>,
    missing: Vec<Key<'a>>,
    unexplained: Vec<Charged<'a>>,
    foreign: Vec<Row>,
    unreadable: Vec<Unreadable<'a>>,
    /// The file of `--out`.
    out: Option<String>,
}

/// A key as its attempt was compared.
#[derive(Serialize)]
#[allow(clippy::struct_field_names, reason = "the member of the document is called `key`")]
struct Key<'a> {
    key: &'a str,
    attempt: u32,
    revision: u64,
    state: &'static str,
    #[serde(serialize_with = "exact")]
    amount: Option<Amount>,
    begun_at: String,
}

#[derive(Serialize)]
struct Proposed<'a> {
    #[serde(flatten)]
    key: Key<'a>,
    verdict: String,
    row: Row,
}

#[derive(Serialize)]
struct Open<'a> {
    #[serde(flatten)]
    key: Key<'a>,
    /// Of [`words`].
    why: &'static str,
    #[serde(skip)]
    explained: &'static str,
    candidates: Vec<CandidateRow<'a>>,
}

#[derive(Serialize)]
struct CandidateRow<'a> {
    #[serde(flatten)]
    row: Row,
    other_keys: Vec<&'a str>,
}

#[derive(Serialize)]
struct Charged<'a> {
    keys: Vec<Key<'a>>,
    rows: Vec<Row>,
    /// Whether the file of `--out` has it.
    is_proposed: bool,
}

/// A row of the report; of several with one id, the first.
#[derive(Serialize)]
struct Row {
    lines: Vec<u64>,
    transaction_id: Option<String>,
    #[serde(serialize_with = "exact")]
    amount: Option<Amount>,
    status: Option<String>,
}

#[derive(Serialize)]
struct Unreadable<'a> {
    line: u64,
    why: &'a str,
}

impl<'a> Key<'a> {
    fn of(attempt: &'a ReconciledAttempt) -> Self {
        Self {
            key: attempt.key.as_str(),
            attempt: attempt.attempt,
            revision: attempt.revision,
            state: attempt.state.as_str(),
            amount: attempt.request.amount,
            begun_at: timestamp(attempt.begun_at),
        }
    }

    fn shown(&self) -> String {
        let amount = self.amount.map(|amount| format!("  {amount}")).unwrap_or_default();
        format!("{}{amount}", for_terminal(self.key))
    }
}

impl Row {
    fn shown(&self) -> String {
        let id =
            self.transaction_id.as_deref().map(|id| format!("  {}", for_terminal(id))).unwrap_or_default();
        let amount = self.amount.map(|amount| format!("  {amount}")).unwrap_or_default();
        let status = self.status.as_deref().filter(|word| !word.is_empty());
        let status = status.map(|word| format!("  {}", for_terminal(word))).unwrap_or_default();
        format!("{}{id}{amount}{status}", lines_of(&self.lines))
    }
}

impl<'a> Document<'a> {
    fn of(found: &'a Reconciliation, report: &'a ProcessorReport, out: Option<String>) -> Self {
        let by_line: HashMap<u64, &ReportRow> = report.rows.iter().map(|row| (row.line, row)).collect();
        let row = |lines: &[u64]| {
            let first = lines.first().and_then(|line| by_line.get(line));
            let masked = |text: &str| mask(text, &[]).into_owned();
            Row {
                lines: lines.to_vec(),
                transaction_id: first.and_then(|row| match &row.id {
                    // A person may have said that it is none.
                    Cell::Read(id) if is_like_a_card(id.as_str()) => Some(masked(id.as_str())),
                    Cell::Read(id) => Some(id.as_str().to_owned()),
                    _ => None,
                }),
                amount: first.and_then(|row| match row.amount {
                    Cell::Read(amount) => Some(amount),
                    _ => None,
                }),
                status: lines.first().and_then(|line| report.statuses.get(line)).map(|word| masked(word)),
            }
        };
        let proposed = |Proposal { attempt, lines, verdict, .. }: &'a Proposal| Proposed {
            key: Key::of(attempt),
            verdict: in_words(verdict),
            row: row(lines),
        };
        let charged = |Unexplained { attempts, rows, proposal, .. }: &'a Unexplained| Charged {
            keys: attempts.iter().map(Key::of).collect(),
            rows: rows.iter().map(|lines| row(lines)).collect(),
            is_proposed: proposal.is_some(),
        };
        let undecided = found.undecided.iter().map(|open| {
            let candidates = open.candidates.iter().map(|candidate| CandidateRow {
                row: row(&candidate.lines),
                other_keys: candidate.other_keys.iter().map(AsRef::as_ref).collect(),
            });
            let (why, explained) = words(open.why);
            Open { key: Key::of(&open.attempt), why, explained, candidates: candidates.collect() }
        });
        let unreadable = found.unreadable.iter().map(|line| Unreadable {
            line: *line,
            why: report.unreadable.get(line).map_or("cannot be read", String::as_str),
        });
        Self {
            service: found.service.as_deref(),
            rows: report.rows.len() as u64,
            proposals: found.proposals.iter().map(proposed).collect(),
            undecided: undecided.collect(),
            missing: found.missing.iter().map(Key::of).collect(),
            unexplained: found.unexplained.iter().map(charged).collect(),
            foreign: found.foreign.iter().map(|line| row(&[*line])).collect(),
            unreadable: unreadable.collect(),
            out,
        }
    }

    fn lines(&self, style: Style) -> String {
        let mut text = String::new();
        let mut section = |tone, heading: String, advice: &str, lines: Vec<String>| {
            if lines.is_empty() {
                return;
            }
            let _ = writeln!(text, "{}", style.paint(tone, &heading));
            for line in lines.iter().take(MOST_LINES) {
                let _ = writeln!(text, "  {line}");
            }
            if lines.len() > MOST_LINES {
                let _ = writeln!(text, "  and {} more: see --output json", lines.len() - MOST_LINES);
            }
            if !advice.is_empty() {
                let _ = writeln!(text, "  {advice}");
            }
        };
        let keys = |count: usize| counted(count as u64, "key");
        let proposals = self.proposals.iter();
        let proposals = proposals
            .map(|it| format!("{}  {}: {}", it.key.shown(), it.verdict, it.row.shown()))
            .collect::<Vec<_>>();
        section(Tone::Success, format!("FOUND: {}", keys(proposals.len())), "", proposals);
        let undecided = self.undecided.iter().flat_map(|open| {
            let candidates = open.candidates.iter().map(|candidate| {
                let others =
                    candidate.other_keys.iter().map(|key| for_terminal(key)).collect::<Vec<_>>().join(", ");
                let others = if others.is_empty() { others } else { format!("; or of {others}") };
                format!("  {}{others}", candidate.row.shown())
            });
            let heading = format!("{}  {}", open.key.shown(), open.explained);
            [heading].into_iter().chain(candidates).collect::<Vec<_>>()
        });
        let undecided: Vec<_> = undecided.collect();
        section(
            Tone::Warning,
            format!("STAYS UNKNOWN: {}", keys(self.undecided.len())),
            "look for them as docs/reconciling.md describes",
            undecided,
        );
        section(
            Tone::Warning,
            format!("NOT IN THE REPORT: {}", keys(self.missing.len())),
            "that is no proof: ask the service before you resolve them",
            self.missing.iter().map(Key::shown).collect(),
        );
        let unexplained = self.unexplained.iter().flat_map(|charged| {
            let keys = charged
                .keys
                .iter()
                .map(|key| format!("{}  the journal says {}", key.shown(), key.state.replace('_', " ")));
            let rows = charged.rows.iter().map(|row| format!("  {}", row.shown()));
            keys.chain(rows).collect::<Vec<_>>()
        });
        section(
            Tone::Error,
            format!("MONEY THAT NOBODY EXPLAINS: {}", counted(self.unexplained.len() as u64, "case")),
            "somebody may have paid twice, or for nothing: undo what is wrong",
            unexplained.collect(),
        );
        section(
            Tone::Dim,
            format!("CHARGED, AND OF NO KEY: {}", counted(self.foreign.len() as u64, "row")),
            "",
            self.foreign.iter().map(Row::shown).collect(),
        );
        section(
            Tone::Warning,
            format!("CANNOT BE READ: {}", counted(self.unreadable.len() as u64, "row")),
            "",
            self.unreadable
                .iter()
                .map(|row| format!("line {}  {}", row.line, for_terminal(row.why)))
                .collect(),
        );
        if text.is_empty() {
            text.push_str("nothing is unknown, and every charge is explained\n");
        }
        let proposed = self.proposals.len() + self.unexplained.iter().filter(|it| it.is_proposed).count();
        match &self.out {
            Some(out) if proposed > 0 => {
                let out = for_terminal(out);
                let _ = writeln!(text, "read {out}, then: payments journal resolve --from {out}");
            }
            None if proposed > 0 => {
                text.push_str("--out FILE.csv writes what was found for `resolve --from`\n");
            }
            _ => {}
        }
        text
    }
}

/// In one section; a terminal shows no more.
const MOST_LINES: usize = 100;

/// The word for programs and the words for people.
const fn words(why: Undecidable) -> (&'static str, &'static str) {
    match why {
        Undecidable::Sending => ("sending", "is being sent now: wait until it has ended"),
        Undecidable::Void => ("void", "is a void"),
        Undecidable::Ach => ("ach", "is an ACH payment"),
        Undecidable::Fee => ("fee", "has a fee, so its amount may differ"),
        Undecidable::MaskedId => ("masked_id", "has an id that is masked here"),
        Undecidable::Lost => ("lost", "was sent in the lost time, and its request is not known here"),
        Undecidable::AmountOnly => ("amount_only", "only its amount can be compared"),
        Undecidable::NoRow => ("no_row", "no row is like it"),
        Undecidable::UnreadableRow => {
            ("unreadable_row", "a row may be it that cannot be read or contradicts itself")
        }
        Undecidable::SeveralRows => ("several_rows", "several rows are like it"),
        Undecidable::SeveralKeys => ("several_keys", "the row may be another key's"),
        Undecidable::SeveralAttempts => ("several_attempts", "the row may be another attempt's"),
        Undecidable::Contradiction => ("contradiction", "the row with its id is another payment's"),
        Undecidable::Status => ("status", "the status of its row decides nothing"),
        _ => ("other", "nothing can be said"),
    }
}
