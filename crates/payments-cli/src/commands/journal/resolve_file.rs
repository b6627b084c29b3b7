//! `payments journal resolve --from`: every row is checked and every transaction looked up before anything is written.

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

use super::CommandError;
use super::list::{Tally, for_each_page};
use super::resolve::{self, RESOLVED, ResolvedIntent, TOO_EARLY};
use crate::args::ClientOptions;
use crate::batch_report::{Problem, Problems};
use crate::call::{self, Prepared};
use crate::csv_file::{self, Table};
use crate::failure::{FailedOutcome, Failure, Purpose};
use crate::interrupt::Interrupt;
use crate::journal_place::{JournalPlace, store_failure};
use crate::output::Output;
use crate::report::Processed;
use crate::row_file::{Role, RowFile};
use crate::settings::Settings;

/// A row of the file: what a person found out.
struct Row {
    line: u64,
    key: IntentKey,
    /// The transaction, or `None` if the key was not processed.
    id: Option<TransactionId>,
    note: Option<String>,
    /// From an exported file, if the column is still there.
    amount: Option<Amount>,
}

/// A row and its intent, whose outcome is unknown.
struct CheckedRow {
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
) -> Result<(), CommandError> {
    if place.has(path) {
        return Err(Role::Resolutions.refused(" is the journal or belongs to it").into());
    }
    let file = RowFile::open(path, Role::Resolutions)?;
    let mut problems = Problems::of(file.name.clone(), Role::Resolutions);
    let mut rows = read(file, &mut problems)
        .map_err(|error| Role::Resolutions.refused(" cannot be read").with_cause(&error))?;
    let (client, settings, mut interrupt) = if rows.iter().any(|row| row.id.is_some()) {
        let prepared = Prepared::new(options, output, || Ok(())).await?;
        (Some(prepared.client.build()), Some(prepared.settings), prepared.interrupt)
    } else {
        // The settings are not needed, but if an API key is set, any cell may contain it.
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
    let journal = place.open_existing().await?;
    let checking = async {
        let mut rows = check(&journal, rows, is_secret, &mut problems).await?;
        check_transactions(&journal, &rows, &mut problems).await?;
        if let (Some(client), Some(settings)) = (&client, settings) {
            look_up(client, settings, &mut rows, &mut problems).await?;
        }
        Ok::<_, CommandError>(rows)
    };
    let rows = tokio::select! {
        biased;
        checked = checking => checked?,
        signal = interrupt.arrived() => {
            return Err(call::interrupted(signal, "; nothing was changed: it is safe to run it again").into());
        }
    };
    if !problems.is_empty() {
        problems.sort();
        return Err(CommandError::InvalidFile(Box::new(problems)));
    }
    write(&journal, rows, by, &mut interrupt).await.show(output)
}

/// The valid rows. A heading may be in any case and have underscores. Other columns are ignored, except for the amount in an
/// exported file, which shows if the cells of several rows were mixed up.
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
    // In a file that a person wrote, an apostrophe is part of the cell.
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
            table
                .cell(index)
                .map(|cell| if is_exported { csv_file::unescape_formulas(cell) } else { cell.to_owned() })
        };
        let key = cell(key).map_err(str::to_owned);
        let key = match key.and_then(|key| IntentKey::new(key).map_err(|error| error.rule().to_owned())) {
            Ok(key) => key,
            Err(rule) => {
                problems.push(Problem::new(line, "Key", rule));
                continue;
            }
        };
        let mut report = |field, rule: String| problems.push(Problem::new(line, field, rule).of(&key));
        let first = *lines.entry(key.clone()).or_insert(line);
        if first != line {
            report("Key", format!("is the same as in line {first}"));
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
            (Err(rule), _) => report("TransactionId", rule),
            (_, Err(rule)) => report("Note", rule.to_owned()),
            (Ok(None), Ok(None)) => {
                let rule = "is required where there is no TransactionId: say how you know that it was not processed, \
                            or remove the row from the file if you do not know";
                report("Note", rule.to_owned());
            }
            (Ok(id), Ok(note)) => rows.push(Row { line, key, id, note, amount }),
        }
    }
    if is_empty {
        problems.push(Problem::new(1, "file", "has no rows"));
    }
    Ok(rows)
}

/// Checks that each row's key is unknown now and that the row can resolve it.
async fn check(
    journal: &Journal,
    rows: Vec<Row>,
    is_secret: impl Fn(&str) -> bool,
    problems: &mut Problems,
) -> Result<Vec<CheckedRow>, Failure> {
    let mut checked = Vec::new();
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
                    let rule = "is not the amount of the key's payment: compare the row with `payments journal show KEY`";
                    problems.push(Problem::new(row.line, "amount", rule).of(&row.key));
                }
                checked.push(CheckedRow { row, intent, record: None });
                continue;
            }
            Some(Intent { state: IntentState::Resolved { resolution, .. }, .. }) => {
                let is_the_same = match &resolution.verdict {
                    Verdict::Processed(id) => row.id.as_ref() == Some(id),
                    Verdict::NotProcessed => row.id.is_none(),
                };
                let by = &resolution.by;
                if is_the_same {
                    format!("was already resolved the same way, by {by}: remove this row from the file")
                } else {
                    format!(
                        "was already resolved differently, by {by}: remove this row from the file, and correct the key alone \
                         with `payments journal resolve KEY`"
                    )
                }
            }
            Some(Intent { state: IntentState::Sending, .. }) => {
                "is being sent now: wait until it has ended".to_owned()
            }
            Some(intent) => {
                let state = super::list::state(&intent.state);
                format!("is not unknown but {state}: remove this row from the file")
            }
            None => "is not in the journal".to_owned(),
        };
        problems.push(Problem::new(row.line, "Key", rule).of(&row.key));
    }
    Ok(checked)
}

/// Reports transactions that are in the file twice, or that belong to another key. As in the journal, payments are compared
/// with payments and voids with voids.
async fn check_transactions(
    journal: &Journal,
    rows: &[CheckedRow],
    problems: &mut Problems,
) -> Result<(), CommandError> {
    let mut named: HashMap<(bool, &TransactionId), &Row> = HashMap::new();
    for CheckedRow { row, intent, .. } in rows {
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
        // Nothing was written to stdout.
        CommandError::Partial(failure) => CommandError::Failed(failure),
        other => other,
    })
}

/// Chosen by this command: fast enough for a person, and little load for the service.
const LOOKED_UP_AT_ONCE: usize = 4;

/// Looks up every transaction. A lookup that fails for any reason other than a missing transaction ends the command.
async fn look_up(
    client: &Client,
    settings: &Settings,
    rows: &mut [CheckedRow],
    problems: &mut Problems,
) -> Result<(), Failure> {
    let ids: Vec<_> = rows.iter().map(|checked| checked.row.id.clone()).collect();
    let mut waiting = ids.into_iter().enumerate().filter_map(|(index, id)| Some((index, id?)));
    let mut lookups = JoinSet::new();
    loop {
        for (index, id) in waiting.by_ref().take(LOOKED_UP_AT_ONCE - lookups.len()) {
            let client = client.clone();
            lookups.spawn(async move { (index, client.transaction(&id).await) });
        }
        let Some(ended) = lookups.join_next().await else { return Ok(()) };
        let (index, found) =
            ended.map_err(|_| Failure::not_processed("internal", "internal error; nothing was changed"))?;
        let CheckedRow { row, intent, record } = &mut rows[index];
        let rule = match found {
            // Another server's 404 says nothing about the transaction.
            Err(error) if error.is_not_found() && !error.is_intermediary() => {
                "is not known to the service (HTTP 404)".to_owned()
            }
            Err(error) => return Err(lookup_failure(row, &error, settings)),
            Ok(found) if row.id.as_ref() != Some(&found.transaction_id) => {
                "returns the record of another transaction: check it with `payments transaction get`"
                    .to_owned()
            }
            Ok(found) => {
                let contradictions = intent.request.contradictions(&found);
                *record = Some(found.into_data());
                if contradictions.is_empty() {
                    continue;
                }
                format!("cannot belong to this intent: {}", contradictions.join("; "))
            }
        };
        problems.push(Problem::new(row.line, "TransactionId", rule).of(&row.key));
    }
}

/// Whatever the response, the file is not the cause, and running it again is safe.
fn lookup_failure(row: &Row, error: &LookupError, settings: &Settings) -> Failure {
    let Row { line, key, .. } = row;
    let failure = call::failure_of(error, settings).for_purpose(Purpose::FindTransaction);
    let message =
        format!("line {line}, {key}: the transaction could not be looked up: {error}; nothing was changed");
    Failure { outcome: FailedOutcome::NotProcessed, message, ..failure }
}

/// The intents that were resolved, and the failure if not all of them were.
struct FileResult {
    resolved: Vec<ResolvedIntent>,
    failure: Option<Failure>,
}

/// Resolves one row after another. A key that has changed since it was checked stays unchanged, and the other rows are
/// resolved. If the journal fails, the rows after that are not resolved.
async fn write(journal: &Journal, rows: Vec<CheckedRow>, by: &str, interrupt: &mut Interrupt) -> FileResult {
    let (count, mut resolved, mut left) = (rows.len(), Vec::new(), Vec::new());
    let mut stop = None;
    for CheckedRow { row, intent, record } in rows {
        if let Some(signal) = interrupt.has_arrived().await {
            stop = Some(call::interrupted(signal, ""));
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
                let record = record.as_ref().map(Processed::found_record);
                resolved.push(ResolvedIntent { intent, record });
            }
            Err(error) => {
                let message = error.to_string();
                // True of this row only.
                let why = message.strip_suffix("; nothing was changed").unwrap_or(&message);
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
            "{} of {count} rows were resolved; {why}; remove the resolved rows from the file and run it again",
            resolved.len()
        );
        Failure { outcome: FailedOutcome::NotProcessed, message, ..stopped }
    });
    FileResult { resolved, failure }
}

impl FileResult {
    fn tallies(&self) -> [Tally; 2] {
        let mut tallies = [Tally::default(), Tally::default()];
        for ResolvedIntent { intent, record } in &self.resolved {
            tallies[usize::from(record.is_none())].add(intent);
        }
        tallies
    }

    fn show(self, output: Output) -> Result<(), CommandError> {
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
                "resolved as processed: {processed}; as not processed, may be sent again: {not_processed}\n\
                 compare each record with its intent, and its time and reference in the service's records: if it is not the payment of the key, resolve that key again"
            )
            .expect("a String takes every write");
            super::print(RESOLVED, &text)
        } else {
            super::print_json(RESOLVED, &self)
        };
        // The rows that were not resolved matter more than a failed write to stdout.
        self.failure.map_or(written, |failure| Err(CommandError::Partial(Box::new(failure))))
    }
}

/// The members of a failed command, if not all rows were resolved; then counts and sums, and each intent as in `resolve KEY`.
impl Serialize for FileResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            #[serde(flatten)]
            failed: Option<&'a Failure>,
            resolved: BTreeMap<&'static str, Tally>,
            intents: &'a [ResolvedIntent],
        }

        let [processed, not_processed] = self.tallies();
        let resolved = BTreeMap::from([("processed", processed), ("not_processed", not_processed)]);
        Document { failed: self.failure.as_ref(), resolved, intents: &self.resolved }.serialize(serializer)
    }
}
