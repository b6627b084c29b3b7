//! `payments journal resolve --from`: every row is checked and every transaction looked up before one row is written.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use payments_core::{Client, LookupError};
use payments_journal::{Intent, IntentKey, IntentState, Journal, Resolution, StateName, Verdict};
use payments_model::{Amount, TransactionId, TransactionRecord};
use serde::{Serialize, Serializer};
use tokio::task::JoinSet;

use super::Ended;
use super::list::{Tally, for_each_page};
use super::resolve::{self, Matched, RESOLVED, TOO_EARLY};
use crate::args::ClientOptions;
use crate::batch_report::{Problem, Problems};
use crate::call::{self, Prepared};
use crate::csv_file::{self, Table};
use crate::failure::{FailedOutcome, Failure, Purpose};
use crate::interrupt::Interrupt;
use crate::journal_place::{JournalPlace, store_failure};
use crate::output::Output;
use crate::report::{FailedDocument, Processed};
use crate::row_file::{Role, RowFile};
use crate::settings::Settings;

/// One row of the file: what a person found out.
struct Row {
    line: u64,
    key: IntentKey,
    /// The transaction, or none if it was not processed.
    id: Option<TransactionId>,
    note: Option<String>,
    /// In an exported file that still has it.
    amount: Option<Amount>,
}

/// A row and the intent of unknown outcome that it speaks of.
struct Finding {
    row: Row,
    intent: Intent,
    record: Option<TransactionRecord>,
}

pub(super) async fn run(
    options: ClientOptions,
    place: &JournalPlace,
    output: Output,
    path: &Path,
    by: &str,
) -> Result<(), Ended> {
    if place.has(path) {
        return Err(Role::Resolutions.refused(" is the journal or belongs to it").into());
    }
    let file = RowFile::open(path, Role::Resolutions)?;
    let mut problems = Problems::of(file.name.clone(), Role::Resolutions);
    let mut rows = read(file, &mut problems)
        .map_err(|error| Role::Resolutions.refused(" cannot be read").because(&error))?;
    let (client, settings, mut interrupt) = if rows.iter().any(|row| row.id.is_some()) {
        let prepared = Prepared::new(options, output, |client, _| client, || Ok(())).await?;
        (Some(prepared.client), Some(prepared.settings), prepared.interrupt)
    } else {
        // None are needed, and a key that is set all the same may be in any cell.
        let settings = Settings::resolve(&options).ok();
        (None, settings, Interrupt::install().map_err(|error| call::cannot_start(&error))?)
    };
    let settings = settings.as_ref();
    let is_secret = |text: &str| settings.is_some_and(|settings| settings.is_key_in(text));
    problems.hide_keys(is_secret);
    for note in rows.iter_mut().filter_map(|row| row.note.as_mut()) {
        *note = resolve::without_key(settings, note);
    }
    let by = &resolve::without_key(settings, by);
    let journal = place.open_what_is_there().await?;
    let checking = async {
        let mut findings = unknown(&journal, rows, is_secret, &mut problems).await?;
        find_taken(&journal, &findings, &mut problems).await?;
        if let (Some(client), Some(settings)) = (&client, settings) {
            look_up(client, settings, &mut findings, &mut problems).await?;
        }
        Ok::<_, Ended>(findings)
    };
    let findings = tokio::select! {
        biased;
        checked = checking => checked?,
        signal = interrupt.arrived() => return Err(Failure::not_processed(
            "interrupted",
            format!("interrupted by {signal}; nothing was changed: it is safe to run it again"),
        ).into()),
    };
    if !problems.is_empty() {
        problems.sort();
        return Err(Ended::Refused(Box::new(problems)));
    }
    write(&journal, findings, by, &mut interrupt).await.show(output)
}

/// The rows that can be read. A heading may be in any case and have underscores. Other columns are not looked at, but for the
/// amount of an exported file: it shows that the cells of several rows were mixed up.
fn read(mut file: RowFile, problems: &mut Problems) -> io::Result<Vec<Row>> {
    let mut table = match Table::begin(file.rewound()?)? {
        Ok(table) => table,
        Err(problem) => {
            problems.push(problem);
            return Ok(Vec::new());
        }
    };
    let names = ["Key", "TransactionId", "Note"];
    let columns = names.map(|name| {
        let is_it = |heading: &&String| heading.replace('_', "").eq_ignore_ascii_case(name);
        let rule = match table.headings().iter().filter(is_it).count() {
            0 => "is missing in the header",
            1 => return table.headings().iter().position(|heading| is_it(&heading)),
            _ => "is a column more than once",
        };
        problems.push(Problem::new(table.line(), name, rule));
        None
    });
    let [Some(key), Some(id), Some(note)] = columns else { return Ok(Vec::new()) };
    // An apostrophe in a file that a person wrote is part of the cell.
    let is_exported =
        ["key", "transaction_id", "note"].iter().all(|name| table.headings().iter().any(|it| it == name));
    let amount = table.headings().iter().position(|heading| is_exported && heading == "amount");
    let (mut rows, mut lines) = (Vec::new(), HashMap::new());
    let mut is_empty = true;
    while let Some(read) = table.next()? {
        is_empty = false;
        let line = table.line();
        if let Err(problem) = read {
            problems.push(problem);
            continue;
        }
        let cell = |index| {
            table.cell(index).map(|cell| if is_exported { csv_file::undone(cell) } else { cell.to_owned() })
        };
        let key = cell(key).map_err(str::to_owned);
        let key = match key.and_then(|key| IntentKey::new(key).map_err(|error| error.rule().to_owned())) {
            Ok(key) => key,
            Err(rule) => {
                problems.push(Problem::new(line, "Key", rule));
                continue;
            }
        };
        let mut complain = |field, rule: String| problems.push(Problem::new(line, field, rule).of(&key));
        let first = *lines.entry(key.clone()).or_insert(line);
        if first != line {
            complain("Key", format!("is the same as in line {first}"));
        }
        let id = match cell(id) {
            Ok(text) if text.is_empty() => Ok(None),
            Ok(text) => match TransactionId::new(text) {
                Ok(id) if id.path_segment().is_err() => Err("must be an id that can be looked up".to_owned()),
                Ok(id) => Ok(Some(id)),
                Err(error) => Err(error.violations().first().map_or("is invalid", |it| it.rule()).to_owned()),
            },
            Err(rule) => Err(rule.to_owned()),
        };
        let note = cell(note).map(|text| Some(text).filter(|text| !text.trim().is_empty()));
        let amount = amount.and_then(|index| cell(index).ok()?.trim().parse().ok());
        match (id, note) {
            (Err(rule), _) => complain("TransactionId", rule),
            (_, Err(rule)) => complain("Note", rule.to_owned()),
            (Ok(None), Ok(None)) => {
                let rule = "is required where there is no TransactionId: say how you know that it was not processed, \
                            or take the row out of the file if you do not know";
                complain("Note", rule.to_owned());
            }
            (Ok(id), Ok(note)) => rows.push(Row { line, key, id, note, amount }),
        }
    }
    if is_empty {
        problems.push(Problem::new(1, "file", "has no rows"));
    }
    Ok(rows)
}

/// The rows whose keys are unknown now.
async fn unknown(
    journal: &Journal,
    rows: Vec<Row>,
    is_secret: impl Fn(&str) -> bool,
    problems: &mut Problems,
) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for row in rows {
        if is_secret(row.key.as_str()) {
            problems.push(Problem::new(row.line, "Key", "must not hold the API key"));
            continue;
        }
        let found = journal.find(&row.key).await.map_err(|error| store_failure(&error))?;
        let rule = match found {
            Some(intent) if intent.state.name() == StateName::Unknown => {
                if intent.is_void() && row.note.is_none() {
                    let rule = "is required for a void: the record of its transaction does not show that it was voided";
                    problems.push(Problem::new(row.line, "Note", rule).of(&row.key));
                }
                if row.amount.is_some() && row.amount != intent.request.amount {
                    let rule =
                        "is not what the key was to pay: compare the row with `payments journal show KEY`";
                    problems.push(Problem::new(row.line, "amount", rule).of(&row.key));
                }
                findings.push(Finding { row, intent, record: None });
                continue;
            }
            Some(Intent { state: IntentState::Resolved { resolution, .. }, .. }) => {
                let says_the_same = match &resolution.verdict {
                    Verdict::Processed(id) => row.id.as_ref() == Some(id),
                    Verdict::NotProcessed => row.id.is_none(),
                };
                let by = &resolution.by;
                if says_the_same {
                    format!("was resolved the same way before, by {by}: take this row out of the file")
                } else {
                    format!(
                        "was resolved otherwise before, by {by}: take this row out of the file, and correct the key alone with \
                         `payments journal resolve KEY`"
                    )
                }
            }
            Some(Intent { state: IntentState::Sending, .. }) => {
                "is being sent at this moment: wait until it has ended".to_owned()
            }
            Some(intent) => {
                let state = super::list::state(&intent.state);
                format!("is not unknown but {state}: take this row out of the file")
            }
            None => "is not in the journal".to_owned(),
        };
        problems.push(Problem::new(row.line, "Key", rule).of(&row.key));
    }
    Ok(findings)
}

/// Finds the transactions that are in the file twice, or that another key has. As in the journal, a payment is compared with
/// payments and a void with voids.
async fn find_taken(journal: &Journal, findings: &[Finding], problems: &mut Problems) -> Result<(), Ended> {
    let mut named: HashMap<(bool, &TransactionId), &Row> = HashMap::new();
    for Finding { row, intent, .. } in findings {
        let Some(id) = &row.id else { continue };
        match named.entry((intent.is_void(), id)) {
            Entry::Vacant(entry) => {
                entry.insert(row);
            }
            Entry::Occupied(first) => {
                let rule = format!("is the same as in line {}", first.get().line);
                problems.push(Problem::new(row.line, "TransactionId", rule).of(&row.key));
            }
        }
    }
    if named.is_empty() {
        return Ok(());
    }
    let found = for_each_page(journal, &[StateName::Processed, StateName::Resolved], |page| {
        for other in &page.intents {
            let row = other.processed_as().and_then(|id| named.get(&(other.is_void(), id)));
            if let Some(row) = row {
                let rule = format!("already belongs to {}", other.key);
                problems.push(Problem::new(row.line, "TransactionId", rule).of(&row.key));
            }
        }
        Ok(())
    });
    found.await.map_err(|ended| match ended {
        // Nothing stands on stdout.
        Ended::Torn(failure) => Ended::Failed(failure),
        other => other,
    })
}

/// Chosen by this command: a handful of look-ups is quick enough for a person, and no load for the service.
const LOOKED_UP_AT_ONCE: usize = 4;

/// Looks every transaction up. One that cannot be looked up for another reason than that there is none ends all.
async fn look_up(
    client: &Client,
    settings: &Settings,
    findings: &mut [Finding],
    problems: &mut Problems,
) -> Result<(), Failure> {
    let ids: Vec<_> = findings.iter().map(|finding| finding.row.id.clone()).collect();
    let mut waiting = ids.into_iter().enumerate().filter_map(|(place, id)| Some((place, id?)));
    let mut asked = JoinSet::new();
    loop {
        for (place, id) in waiting.by_ref().take(LOOKED_UP_AT_ONCE - asked.len()) {
            let client = client.clone();
            asked.spawn(async move { (place, client.transaction(&id).await) });
        }
        let Some(ended) = asked.join_next().await else { return Ok(()) };
        let (place, found) =
            ended.map_err(|_| Failure::not_processed("internal", "internal error; nothing was changed"))?;
        let Finding { row, intent, record } = &mut findings[place];
        let rule = match found {
            // Another server's 404 says nothing of the transaction.
            Err(error) if error.is_not_found() && !error.is_intermediary() => {
                "is not known to the service (HTTP 404)".to_owned()
            }
            Err(error) => return Err(unclear(row, &error, settings)),
            Ok(found) if row.id.as_ref() != Some(&found.transaction_id) => {
                "leads to the record of another transaction: look at it with `payments transaction get`"
                    .to_owned()
            }
            Ok(found) => {
                let contradictions = intent.request.contradictions(&found);
                *record = Some(found.into_data());
                if contradictions.is_empty() {
                    continue;
                }
                format!("cannot be this intent's: {}", contradictions.join("; "))
            }
        };
        problems.push(Problem::new(row.line, "TransactionId", rule).of(&row.key));
    }
}

/// Whatever the service said, the file is not to blame, and running it again is safe.
fn unclear(row: &Row, error: &LookupError, settings: &Settings) -> Failure {
    let Row { line, key, .. } = row;
    let failure = call::refused(error, settings).of_a(Purpose::FindTransaction);
    let message =
        format!("line {line}, {key}: the transaction could not be looked up: {error}; nothing was changed");
    Failure { outcome: FailedOutcome::NotProcessed, message, ..failure }
}

/// What was written, and why not all of it, if so.
struct Written {
    resolved: Vec<Matched>,
    failure: Option<Failure>,
}

/// Writes the rows one after the other. One whose key somebody else has changed since it was checked stays as it is, and the
/// others are written; where the journal fails, those after it are not.
async fn write(journal: &Journal, findings: Vec<Finding>, by: &str, interrupt: &mut Interrupt) -> Written {
    let (count, mut resolved, mut left) = (findings.len(), Vec::new(), Vec::new());
    let mut stop = None;
    for Finding { row, intent, record } in findings {
        if let Some(signal) = interrupt.has_arrived().await {
            stop = Some(Failure::not_processed("interrupted", format!("interrupted by {signal}")));
            break;
        }
        let Row { line, key, id, note, .. } = row;
        let resolution = match id {
            Some(id) => Resolution::processed(id, by),
            None => Resolution::not_processed(by),
        };
        let resolution = note.into_iter().fold(resolution, Resolution::note);
        match journal.resolve_unknown(&intent, resolution).await {
            Ok(intent) => {
                let record = record.as_ref().map(Processed::found_on_the_way);
                resolved.push(Matched { intent, record });
            }
            Err(error) => {
                let error_text = error.to_string();
                // Of this row alone.
                let why = error_text.strip_suffix("; nothing was changed").unwrap_or(&error_text);
                left.push(format!("line {line}, {key}: {why}"));
                if let Some(error) = error.store_error() {
                    stop = Some(store_failure(error));
                    break;
                }
            }
        }
    }
    let not_done = stop.is_some() || !left.is_empty();
    let failure = not_done.then(|| {
        let mut stopped = stop.unwrap_or_else(|| Failure::not_processed("changed_meanwhile", ""));
        stopped.advice.is_partly_done = !resolved.is_empty();
        let why = if left.is_empty() { stopped.message } else { left.join("; ") };
        let message = format!(
            "{} of {count} rows were resolved; {why}; take the resolved rows out of the file and run it again",
            resolved.len()
        );
        Failure { outcome: FailedOutcome::NotProcessed, message, ..stopped }
    });
    Written { resolved, failure }
}

impl Written {
    fn tallies(&self) -> [Tally; 2] {
        let mut tallies = [Tally::default(), Tally::default()];
        for Matched { intent, record } in &self.resolved {
            tallies[usize::from(record.is_none())].add(intent);
        }
        tallies
    }

    fn show(self, output: Output) -> Result<(), Ended> {
        let written = if output.is_text() {
            let early =
                self.resolved.iter().filter(|it| it.record.is_none() && resolve::is_too_early(&it.intent));
            let early = early.map(|it| format!("{} {TOO_EARLY} before it is sent again", it.intent.key));
            output.warn(&early.collect::<Vec<_>>());
            let mut text: String = self.resolved.iter().map(|it| it.lines(output.style())).collect();
            let [processed, not_processed] =
                self.tallies().map(|it| format!("{}, {}", it.intents(), it.sum()));
            writeln!(
                text,
                "resolved as processed: {processed}; as not processed, to be sent again: {not_processed}\n\
                 compare each record with its intent: if it is not what the key was to pay, resolve that key anew"
            )
            .expect("a String takes every write");
            super::print(RESOLVED, &text)
        } else {
            super::print_json(RESOLVED, &self)
        };
        // What was not resolved matters more than that nobody reads stdout.
        self.failure.map_or(written, |failure| Err(Ended::Torn(Box::new(failure))))
    }
}

/// The members of every failed command, if not all was written; then counts and sums, and each intent as the single
/// `resolve` shows it.
impl Serialize for Written {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            #[serde(flatten)]
            failed: Option<FailedDocument<'a>>,
            resolved: BTreeMap<&'static str, Tally>,
            intents: &'a [Matched],
        }

        let [processed, not_processed] = self.tallies();
        let resolved = BTreeMap::from([("processed", processed), ("not_processed", not_processed)]);
        let failed = self.failure.as_ref().map(FailedDocument::of);
        Document { failed, resolved, intents: &self.resolved }.serialize(serializer)
    }
}
