//! `payments journal resolve --from`: every row is checked and every transaction looked up before anything is written.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::path::Path;

use payments_core::{Client, ErrorKind, LookupError};
use payments_journal::{Intent, IntentKey, IntentState, Journal, StateName, Verdict};
use payments_model::{Amount, MaskedCard, TransactionId, TransactionRecord, printable_field_name};
use serde::{Serialize, Serializer};
use tokio::task::JoinSet;

use super::list::{Tally, for_each_page};
use super::reconcile::HEADINGS as PROPOSALS;
use super::resolve::{self, RESOLVED, ResolvedIntent, TOO_EARLY, TypedVerdict};
use super::{CommandError, READ};
use crate::args::ClientOptions;
use crate::call::{self, Prepared};
use crate::csv_file::{self, Table};
use crate::failure::{FailedOutcome, Failure, Purpose};
use crate::format::counted;
use crate::interrupt::Interrupt;
use crate::journal_place::{JournalPlace, store_failure};
use crate::output::Output;
use crate::report::intent_history;
use crate::report::intent_object::{MEMBERS, exported_transaction};
use crate::report::problems::{Problem, Problems, Role};
use crate::report::text;
use crate::row_file::{self, NO_API_KEY, NOT_CARDS, RowFile};
use crate::settings::Settings;

/// A row of the file: what a person found out.
struct Row {
    line: u64,
    key: IntentKey,
    verdict: TypedVerdict,
    /// Whether a person says so: in the column Verdict, or with an id in a file that a person wrote. An export has the ids that
    /// the journal knows.
    is_decided: bool,
    note: Option<String>,
    /// What the person saw, if the columns are there.
    attempt: Option<u32>,
    revision: Option<u64>,
    /// From an exported file, if the column is still there.
    amount: Option<Amount>,
}

impl Row {
    /// Whether its transaction is looked up.
    fn is_looked_up(&self) -> bool {
        matches!(self.verdict, TypedVerdict::Processed(_))
    }

    /// Whether it names a transaction of an attempt that moved no money, as far as the journal knows, or of an earlier one. The row
    /// must show that the person saw the intent as it is.
    fn is_late_finding(&self, intent: &Intent) -> bool {
        let may_give_way = match &intent.state {
            IntentState::Sending | IntentState::Processed { .. } => false,
            IntentState::Unknown(_) => self.attempt != Some(intent.attempts),
            _ => intent.processed_as().is_none(),
        };
        let is_earlier = self.attempt.is_some_and(|number| number < intent.attempts);
        matches!(self.verdict, TypedVerdict::Processed(_))
            && self.revision == Some(intent.revision)
            && self.attempt.is_some_and(|number| number <= intent.attempts)
            && (may_give_way || is_earlier)
    }

    /// Whether it only repeats what the journal exports about this intent: an id of a declined payment does not say that it was
    /// charged.
    fn says_nothing(&self, intent: &Intent) -> bool {
        let named = match &intent.state {
            IntentState::Unknown(_) => exported_transaction(intent),
            IntentState::Sending => None,
            _ if intent.processed_as().is_some() => None,
            _ => intent.transaction_id(),
        };
        let named = named.filter(|_| !self.is_decided);
        named.is_some_and(|named| self.verdict.id().is_some_and(|id| resolve::is_written_as(named, id)))
    }
}

/// The valid rows, and how many say nothing.
#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
    left_alone: u64,
}

/// A row and its intent, whose outcome is unknown, or which gives way to a found transaction.
struct CheckedRow {
    row: Row,
    verdict: Verdict,
    intent: Intent,
    record: Option<TransactionRecord>,
}

pub(super) async fn run(
    mut options: ClientOptions,
    place: &JournalPlace,
    output: Output,
    path: &Path,
    ids_are_not_cards: bool,
    by: &str,
) -> Result<(), CommandError> {
    let is_dry_run = mem::take(&mut options.dry_run);
    let file = RowFile::read(path, Role::Resolutions, place)?;
    let mut problems = Problems::of(file.name.clone(), Role::Resolutions);
    let Rows { mut rows, mut left_alone } = read(&file, &mut problems);
    drop(file);
    let (client, settings, keys, mut interrupt) = if rows.iter().any(Row::is_looked_up) {
        let prepared = Prepared::new(options, output, || Ok(())).await?;
        let keys = prepared.settings.keys().clone();
        (Some(prepared.client.build()), Some(prepared.settings), keys, prepared.interrupt)
    } else {
        // The other settings are not needed, and any of them may be missing.
        let keys = Settings::known_keys(&options);
        (None, None, keys, Interrupt::install().map_err(|error| call::cannot_start(&error))?)
    };
    let is_secret = |text: &str| keys.is_in(text);
    let is_like_a_card = |key: &str| !ids_are_not_cards && row_file::is_like_a_card(key);
    problems.hide_keys(|key| is_secret(key) || is_like_a_card(key));
    for note in rows.iter_mut().filter_map(|row| row.note.as_mut()) {
        *note = keys.mask(note);
    }
    let by = &keys.mask(by);
    let journal = place.open_existing().await?;
    let checking = async {
        let service = client.as_ref().map(Client::service);
        let is_new = |row: &Row, intent: &Intent| {
            let says_nothing = row.says_nothing(intent);
            left_alone += u64::from(says_nothing);
            !says_nothing
        };
        let mut rows =
            check(&journal, rows, is_new, is_secret, is_like_a_card, service, &mut problems).await?;
        check_transactions(&journal, &rows, service, &mut problems).await?;
        if let (Some(client), Some(settings)) = (&client, &settings) {
            look_up(client, settings, &mut rows, &mut problems).await?;
        }
        Ok::<_, CommandError>(rows)
    };
    let rows = tokio::select! {
        biased;
        checked = checking => checked?,
        signal = interrupt.arrived() => {
            return Err(Failure::interrupted(signal, "; nothing was changed: it is safe to run it again").into());
        }
    };
    if !problems.is_empty() {
        problems.sort();
        return Err(CommandError::InvalidFile(Box::new(problems)));
    }
    let result = if is_dry_run {
        FileResult::of_dry_run(rows)
    } else {
        write(&journal, rows, by, client.as_ref().map(Client::service), &mut interrupt).await
    };
    FileResult { left_alone, ..result }.show(output)
}

/// Reads the rows that say something.
fn read(file: &RowFile, problems: &mut Problems) -> Rows {
    let separator = file.separator();
    let mut table = match file.table(separator) {
        Ok(table) => table,
        Err(problem) => {
            problems.push(problem);
            return Rows::default();
        }
    };
    let Some(columns) = Columns::of(&table, separator, problems) else { return Rows::default() };
    let (mut found, mut lines) = (Rows::default(), HashMap::new());
    let mut is_empty = true;
    while let Some(read) = table.next() {
        is_empty = false;
        let line = table.line();
        if let Err(problem) = read {
            problems.push(problem);
            continue;
        }
        let key = columns.cell(&table, columns.key).map_err(str::to_owned);
        let key = match key.and_then(|key| IntentKey::new(key).map_err(|error| error.rule().to_owned())) {
            Ok(key) => key,
            Err(rule) => {
                problems.push(Problem::new(line, "Key", rule));
                continue;
            }
        };
        match lines.entry(key.clone()) {
            Entry::Vacant(entry) => {
                entry.insert(line);
            }
            Entry::Occupied(first) => {
                let rule = format!("is the same as in line {}", first.get());
                problems.push(Problem::new(line, "Key", rule).of(&key));
            }
        }
        match columns.row(&table, &key) {
            Ok(Some(row)) => found.rows.push(row),
            Ok(None) => found.left_alone += 1,
            Err((field, rule)) => problems.push(Problem::new(line, field, rule).of(&key)),
        }
    }
    if is_empty {
        problems.push(Problem::new(1, "file", "has no rows"));
    }
    found
}

/// Where the columns are. A heading may be in any case and have underscores. Of an export's other columns only the amount is
/// read.
struct Columns {
    key: usize,
    id: usize,
    note: usize,
    attempt: Option<usize>,
    revision: Option<usize>,
    /// An export has an empty one, and a person may add another. The one that is filled in counts.
    verdicts: Vec<usize>,
    /// Those that no export has. Under a misspelt heading could be the verdict that a payment was declined.
    foreign: Vec<usize>,
    /// In an exported file the amount shows if the cells of several rows were mixed up.
    amount: Option<usize>,
    /// In a file that a person wrote, an id without a verdict was found.
    is_exported: bool,
    /// Whether this command wrote the file, and so escaped its formulas. In a person's file an apostrophe is part of the cell.
    is_escaped: bool,
    /// Of amounts: a spreadsheet that separates cells with semicolons writes a comma.
    decimal_mark: char,
}

impl Columns {
    fn of(table: &Table<'_>, separator: u8, problems: &mut Problems) -> Option<Self> {
        let headings = table.headings();
        let plain = |heading: &str| heading.trim().replace('_', "").to_ascii_lowercase();
        let columns = |name: &str| {
            let is_it = |heading: &String| plain(heading) == plain(name);
            let found = headings.iter().enumerate().filter(|(_, heading)| is_it(heading));
            found.map(|(index, _)| index).collect::<Vec<_>>()
        };
        let mut column = |name: &'static str, is_required: bool| match &*columns(name) {
            [] if !is_required => None,
            [index] if headings[*index].trim() == headings[*index] => Some(*index),
            others => {
                let rule = match others.len() {
                    0 => "is missing in the header",
                    1 => "has white space around the name in the header: remove it",
                    _ => "is a column more than once",
                };
                problems.push(Problem::new(table.line(), name, rule));
                None
            }
        };
        let [key, id, note] = ["Key", "TransactionId", "Note"].map(|name| column(name, true));
        let [attempt, revision] = ["Attempt", "Revision"].map(|name| column(name, false));
        let has = |name: &str| headings.iter().any(|heading| heading == name);
        // A database client or a person may have changed the headings.
        let is_of_an_export = |heading: &String| {
            let is_in = |names: &[&str]| names.iter().any(|name| plain(name) == plain(heading));
            heading.trim().contains('_') && is_in(&MEMBERS) && !is_in(&PROPOSALS)
        };
        let is_exported =
            ["key", "transaction_id", "note"].into_iter().all(has) || headings.iter().any(is_of_an_export);
        let is_escaped = is_exported || headings == PROPOSALS;
        let amount = headings.iter().position(|heading| is_exported && plain(heading) == "amount");
        let verdicts = columns("Verdict");
        let (key, id, note) = (key?, id?, note?);
        let is_foreign = |name: &String| MEMBERS.iter().all(|member| plain(member) != plain(name));
        let foreign = headings.iter().enumerate().filter(|(_, name)| is_foreign(name));
        let foreign = foreign.map(|(index, _)| index).collect();
        let decimal_mark = if separator == b';' { ',' } else { '.' };
        Some(Self {
            key,
            id,
            note,
            attempt,
            revision,
            verdicts,
            foreign,
            amount,
            is_exported,
            is_escaped,
            decimal_mark,
        })
    }

    fn cell(&self, table: &Table<'_>, index: usize) -> Result<String, &'static str> {
        let cell = table.cell(index)?;
        Ok(if self.is_escaped { csv_file::unescape_formulas(cell) } else { cell.to_owned() })
    }

    /// The row, or `None` if it says nothing. Otherwise the field that breaks a rule, and the rule.
    fn row(&self, table: &Table<'_>, key: &IntentKey) -> Result<Option<Row>, (&'static str, String)> {
        let cell = |field, index| self.cell(table, index).map_err(|rule| (field, rule.to_owned()));
        for index in &self.foreign {
            if matches!(word_of(&[cell("row", *index)?]), Ok(Some(_))) {
                let name = printable_field_name(&table.headings()[*index]);
                let rule =
                    format!("has a verdict in the column {name}: name that column Verdict, or remove it");
                return Err(("row", rule));
            }
        }
        let id = Some(cell("TransactionId", self.id)?).filter(|id| !id.is_empty());
        let note = Some(cell("Note", self.note)?).filter(|text| !text.trim().is_empty());
        let verdicts =
            self.verdicts.iter().map(|index| cell("Verdict", *index)).collect::<Result<Vec<_>, _>>()?;
        let word = word_of(&verdicts).map_err(|rule| ("Verdict", rule.to_owned()))?;
        if word.is_none() && id.is_some() {
            for index in &self.foreign {
                if let Some(word) = word_against_a_charge(&cell("row", *index)?) {
                    let name = printable_field_name(&table.headings()[*index]);
                    let rule = format!(
                        "has the word {word} in the column {name}, and an id without a verdict is a payment that was made: add a \
                         column Verdict"
                    );
                    return Err(("row", rule));
                }
            }
        }
        let verdict = match (word, id) {
            (None, None) => return Ok(None),
            (None | Some(Word::Processed), Some(id)) => TypedVerdict::Processed(id),
            (Some(Word::Rejected), id) => TypedVerdict::Rejected(id),
            (Some(Word::NotProcessed), None) => TypedVerdict::NotProcessed,
            (Some(Word::Processed), None) => {
                return Err(("TransactionId", "is required where the verdict is processed".to_owned()));
            }
            (Some(Word::NotProcessed), Some(_)) => {
                return Err(("TransactionId", "must be empty where the verdict is not processed".to_owned()));
            }
        };
        if note.is_none() && !matches!(verdict, TypedVerdict::Processed(_)) {
            let what = if word == Some(Word::Rejected) { "rejected" } else { "not processed" };
            return Err(("Note", format!("is required where the verdict is {what}: say how you know")));
        }
        let number = |field, index: Option<usize>| {
            let Some(index) = index else { return Ok(None) };
            let text = cell(field, index)?;
            let text = Some(text.trim()).filter(|text| !text.is_empty());
            text.map(|text| text.parse::<u64>().map_err(|_| (field, "must be a number".to_owned())))
                .transpose()
        };
        let attempt =
            number("Attempt", self.attempt)?.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let revision = number("Revision", self.revision)?;
        let amount = self.amount.map(|index| cell("amount", index)).transpose()?;
        let amount = amount.filter(|text| !text.trim().is_empty()).map(|text| {
            let unreadable = |_| ("amount", "cannot be read: write it as it was exported".to_owned());
            text.trim().replace(self.decimal_mark, ".").parse().map_err(unreadable)
        });
        let amount = amount.transpose()?;
        let (line, key) = (table.line(), key.clone());
        let is_decided = word.is_some() || !self.is_exported;
        Ok(Some(Row { line, key, verdict, is_decided, note, attempt, revision, amount }))
    }
}

/// The words of the column Verdict.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Processed,
    Rejected,
    NotProcessed,
}

/// The word in the filled cells, in any case; `None` if all are empty.
fn word_of(cells: &[String]) -> Result<Option<Word>, &'static str> {
    let mut said = None;
    for cell in cells.iter().map(|cell| cell.trim()).filter(|cell| !cell.is_empty()) {
        let word = match &*cell.to_ascii_lowercase().replace(['_', '-'], " ") {
            "processed" => Word::Processed,
            "rejected" => Word::Rejected,
            "not processed" => Word::NotProcessed,
            _ => return Err("must be processed, rejected, not processed, or empty"),
        };
        if said.is_some_and(|said| said != word) {
            return Err("differs between its columns");
        }
        said = Some(word);
    }
    Ok(said)
}

/// A word of a cell that nobody writes beside a payment that was made and kept.
fn word_against_a_charge(cell: &str) -> Option<&'static str> {
    const WORDS: [&str; 14] = [
        "canceled",
        "cancelled",
        "chargeback",
        "declined",
        "denied",
        "error",
        "expired",
        "failed",
        "pending",
        "refunded",
        "refused",
        "rejected",
        "reversed",
        "voided",
    ];
    let cell = cell.to_lowercase();
    let words = cell.split(|letter: char| !letter.is_alphanumeric());
    WORDS.into_iter().find(|word| words.clone().any(|it| it == *word))
}

/// Checks that each row's key is unknown now and that the row can resolve it. Of the rows about unknown keys only those that are
/// `is_new` are kept. `service` is where transactions are looked up.
async fn check(
    journal: &Journal,
    rows: Vec<Row>,
    mut is_new: impl FnMut(&Row, &Intent) -> bool,
    is_secret: impl Fn(&str) -> bool,
    is_like_a_card: impl Fn(&str) -> bool,
    service: Option<&str>,
    problems: &mut Problems,
) -> Result<Vec<CheckedRow>, Failure> {
    let mut checked = Vec::new();
    for row in rows {
        if is_secret(row.key.as_str()) {
            problems.push(Problem::new(row.line, "Key", NO_API_KEY));
            continue;
        }
        let found = journal.find(&row.key).await.map_err(|error| store_failure(&error))?;
        // A key that is in the journal was accepted before. No other problem may show the key of this row.
        if found.is_none() && is_like_a_card(row.key.as_str()) {
            let rule = format!("must not contain a card number; {NOT_CARDS}");
            problems.push(Problem::new(row.line, "Key", rule));
            continue;
        }
        let id = row.verdict.id();
        if let Some(rule) = id.and_then(|id| secret_rule(id, found.as_ref(), &is_secret, &is_like_a_card)) {
            problems.push(Problem::new(row.line, "TransactionId", rule).of(&row.key));
            continue;
        }
        if let Some(intent) = &found
            && !is_new(&row, intent)
        {
            continue;
        }
        let verdict = match row.verdict.about(found.as_ref()) {
            Ok(Verdict::Processed(id)) if id.path_segment().is_err() => {
                let rule = "cannot be looked up: remove this row from the file, and resolve the key alone with `payments journal \
                            resolve KEY --processed ID --unverified`";
                problems.push(Problem::new(row.line, "TransactionId", rule).of(&row.key));
                continue;
            }
            Ok(verdict) => verdict,
            Err(error) => {
                let rule = error.violations().first().map_or("is invalid", |it| it.rule());
                problems.push(Problem::new(row.line, "TransactionId", rule.to_owned()).of(&row.key));
                continue;
            }
        };
        let called = service.filter(|_| row.is_looked_up());
        let is_late = found.as_ref().is_some_and(|intent| row.is_late_finding(intent));
        let rule = match found {
            Some(intent) if called.is_some_and(|called| !intent.is_of(called)) => format!(
                "belongs to another service: it was first used for {}, and a lookup at {} proves nothing about it: \
                 check the base URL",
                intent.service,
                called.unwrap_or_default()
            ),
            Some(intent) if service.is_none() && resolve::needs_service(&intent, &verdict) => {
                format!("cannot be resolved from a file: {}", resolve::SERVICE_IS_LOST)
            }
            Some(intent) if is_late || intent.state.name() == StateName::Unknown => {
                if intent.is_void() && row.note.is_none() {
                    let rule = "is required for a void: the record of its transaction does not show that it was voided";
                    problems.push(Problem::new(row.line, "Note", rule).of(&row.key));
                }
                for (field, rule) in if is_late { Vec::new() } else { changes(&row, &intent) } {
                    problems.push(Problem::new(row.line, field, rule).of(&row.key));
                }
                if row.amount.is_some() && row.amount != intent.request.amount {
                    let rule = "is not the amount of the key's payment: compare the row with `payments journal show KEY`";
                    problems.push(Problem::new(row.line, "amount", rule).of(&row.key));
                }
                checked.push(CheckedRow { row, verdict, intent, record: None });
                continue;
            }
            Some(Intent { state: IntentState::Sending, .. }) => {
                "is being sent now: wait until it has ended".to_owned()
            }
            Some(intent) => {
                if let Some(decided) = intent.decision_about(intent.attempts) {
                    let is_the_same = match (&decided.verdict, &verdict) {
                        (Verdict::Rejected(_), Verdict::Rejected(_)) => true,
                        (one, other) => one == other,
                    };
                    let by = &decided.by;
                    if is_the_same {
                        format!("was already resolved the same way, by {by}: remove this row from the file")
                    } else {
                        let was = intent_history::in_words(&decided.verdict);
                        format!(
                            "was already resolved differently, by {by}: as {was}; remove this row from the file, and correct the \
                         key alone with `payments journal resolve KEY`"
                        )
                    }
                } else {
                    let state = super::list::state(&intent);
                    format!("is not unknown but {state}: remove this row from the file")
                }
            }
            None => "is not in the journal".to_owned(),
        };
        problems.push(Problem::new(row.line, "Key", rule).of(&row.key));
    }
    Ok(checked)
}

/// Why this id is not looked up: a lookup would send it, in a path that servers log.
fn secret_rule(
    id: &str,
    found: Option<&Intent>,
    is_secret: impl Fn(&str) -> bool,
    is_like_a_card: impl Fn(&str) -> bool,
) -> Option<String> {
    let known = found.and_then(Intent::transaction_id);
    if is_secret(id) {
        Some(NO_API_KEY.to_owned())
    } else if is_like_a_card(id) && !known.is_some_and(|known| resolve::is_written_as(known, id)) {
        Some(format!("must not be a card number; {NOT_CARDS}"))
    } else {
        None
    }
}

/// What has changed about the key since the person saw it.
fn changes(row: &Row, intent: &Intent) -> Vec<(&'static str, String)> {
    let Intent { key, attempts, revision, .. } = intent;
    let mut changes = Vec::new();
    match row.attempt {
        Some(number) if number != *attempts => changes.push((
            "Attempt",
            format!(
                "is {number}, and the newest is {attempts}: if the row is about attempt {number}, resolve it alone with \
                 `payments journal resolve {key} --attempt {number}`"
            ),
        )),
        None if *attempts > 1 => changes.push((
            "Attempt",
            format!("is required, because the key has {attempts} attempts: see `payments journal show {key}`"),
        )),
        _ => {}
    }
    if row.revision.is_some_and(|seen| seen != *revision) {
        let rule =
            format!("is not {revision}: the key has changed since this file was exported, export it again");
        changes.push(("Revision", rule));
    }
    changes
}

/// Reports transactions that are in the file twice, or that belong to another key. As in the journal, payments are compared
/// with payments and voids with voids, of one service.
async fn check_transactions(
    journal: &Journal,
    rows: &[CheckedRow],
    service: Option<&str>,
    problems: &mut Problems,
) -> Result<(), CommandError> {
    let mut named: HashMap<(bool, &TransactionId), Vec<(&str, &Row)>> = HashMap::new();
    // A key whose entry was lost may be of any service, and becomes one of the service that is asked.
    let may_be_one = |one: &str, other: &str| one == other || one.is_empty() || other.is_empty();
    for CheckedRow { row, verdict, intent, .. } in rows {
        let Some(id) = verdict.transaction_id() else { continue };
        let service = if intent.service.is_empty() { service.unwrap_or_default() } else { &intent.service };
        let named = named.entry((intent.is_void(), id)).or_default();
        if let Some((_, first)) = named.iter().find(|(first, _)| may_be_one(first, service)) {
            let rule = format!("is the same as in line {}", first.line);
            problems.push(Problem::new(row.line, "TransactionId", rule).of(&row.key));
        }
        named.push((service, row));
    }
    if named.is_empty() {
        return Ok(());
    }
    let found = for_each_page(journal, StateName::ALL, |intents| {
        for other in intents {
            let rows = other.held_transactions().filter_map(|id| named.get(&(other.is_void(), id)));
            if let Some((_, row)) = rows.flatten().find(|(service, _)| may_be_one(service, &other.service)) {
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
    let processed_as = |checked: &CheckedRow| match &checked.verdict {
        Verdict::Processed(id) => Some(id.clone()),
        Verdict::Rejected(_) | Verdict::NotProcessed => None,
    };
    let ids: Vec<_> = rows.iter().map(processed_as).collect();
    let mut waiting = ids.into_iter().enumerate().filter_map(|(index, id)| Some((index, id?)));
    let mut lookups = JoinSet::new();
    loop {
        for (index, id) in waiting.by_ref().take(LOOKED_UP_AT_ONCE - lookups.len()) {
            let client = client.clone();
            lookups.spawn(async move { (index, client.transaction(&id).await, id) });
        }
        let Some(ended) = lookups.join_next().await else { return Ok(()) };
        let (index, found, id) =
            ended.map_err(|_| Failure::not_processed("internal", "internal error; nothing was changed"))?;
        let CheckedRow { row, intent, record, .. } = &mut rows[index];
        let rule = match found {
            // Another server's 404 says nothing about the transaction.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                "is not known to the service (HTTP 404)".to_owned()
            }
            Err(error) => return Err(lookup_failure(row, &error, settings)),
            Ok(found) if found.transaction_id != id => {
                "returns the record of another transaction: check it with `payments transaction get`"
                    .to_owned()
            }
            Ok(found) => {
                let request = row.attempt.and_then(|number| intent.request_of(number));
                let contradictions = request.unwrap_or(&intent.request).contradictions(&found);
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

/// The intents that were resolved, or would be, and the failure if not all of them were.
struct FileResult {
    is_dry_run: bool,
    resolved: Vec<ResolvedRow>,
    left_alone: u64,
    failure: Option<Failure>,
}

/// A row, and its intent: as it was resolved, or in a dry run as it is now.
struct ResolvedRow {
    verdict: Verdict,
    note: Option<String>,
    resolved: ResolvedIntent,
}

impl ResolvedRow {
    /// What the file says about the key, and what the service's record shows, for a person who compares them.
    fn said(&self) -> String {
        let Self { verdict, note, resolved: ResolvedIntent { intent, record } } = self;
        let amount = intent.request.amount.map(|amount| format!("{amount} ")).unwrap_or_default();
        let record = record.as_ref().map(|record| format!("; found: {}", facts(record)));
        let note = note.as_ref().map(|note| format!(": {note}"));
        format!(
            "{amount}{}{}{}",
            intent_history::shown(verdict),
            record.unwrap_or_default(),
            note.unwrap_or_default()
        )
    }
}

/// What a record shows of the payment. Its amount and card were compared with the intent.
fn facts(record: &TransactionRecord) -> String {
    let amount = record.amount.value().map(ToString::to_string);
    let card = record.card_number.value().and_then(MaskedCard::last_four).map(|last| format!("card {last}"));
    let status = record.status.value().map(|status| format!("Status {status}"));
    let name = record.billing_customer_name.value().cloned();
    [amount, card, status, name].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Resolves one row after another. A key that has changed since it was checked stays unchanged, and the other rows are
/// resolved. If the journal fails, the rows after that are not resolved.
async fn write(
    journal: &Journal,
    rows: Vec<CheckedRow>,
    by: &str,
    service: Option<&str>,
    interrupt: &mut Interrupt,
) -> FileResult {
    let (count, mut resolved, mut left) = (rows.len(), Vec::new(), Vec::new());
    let mut stop = None;
    for CheckedRow { row, verdict, intent, record } in rows {
        if let Some(signal) = interrupt.has_arrived().await {
            stop = Some(Failure::interrupted(signal, ""));
            break;
        }
        let Row { line, key, note, attempt, .. } = row;
        let resolution = resolve::resolution(verdict.clone(), by, note.clone());
        let resolution = match attempt.filter(|number| *number != intent.attempts) {
            Some(number) => resolution.of_attempt(number),
            None => resolution,
        };
        let written = match service {
            Some(service) => journal.resolve_of_service(&intent, resolution, service).await,
            None => journal.resolve(&intent, resolution).await,
        };
        match written {
            Ok(intent) => {
                resolved.push(ResolvedRow { verdict, note, resolved: ResolvedIntent { intent, record } });
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
    FileResult { is_dry_run: false, resolved, left_alone: 0, failure }
}

impl FileResult {
    fn of_dry_run(rows: Vec<CheckedRow>) -> Self {
        let resolved = rows.into_iter().map(|CheckedRow { row, verdict, intent, record }| ResolvedRow {
            verdict,
            note: row.note,
            resolved: ResolvedIntent { intent, record },
        });
        Self { is_dry_run: true, resolved: resolved.collect(), left_alone: 0, failure: None }
    }

    /// By what the file says.
    fn tallies(&self) -> BTreeMap<&'static str, Tally> {
        let mut tallies = BTreeMap::from(["processed", "not_processed"].map(|name| (name, Tally::default())));
        for ResolvedRow { verdict, resolved, .. } in &self.resolved {
            tallies.entry(verdict.as_str()).or_default().add(&resolved.intent);
        }
        tallies
    }

    fn show(self, output: Output) -> Result<(), CommandError> {
        let what = if self.is_dry_run { READ } else { RESOLVED };
        let intents = || self.resolved.iter().map(|row| &row.resolved.intent);
        let second_charges: Vec<_> = intents().filter_map(resolve::second_charge).collect();
        if output.is_text() {
            let is_early =
                |row: &&ResolvedRow| resolve::may_be_sent_too_early(&row.resolved.intent, &row.verdict);
            let early = self.resolved.iter().filter(is_early);
            let early =
                early.map(|row| format!("{} {TOO_EARLY} before it is sent again", row.resolved.intent.key));
            output.warn(&early.collect::<Vec<_>>());
        }
        let written = super::write(what, output, &self, |_| self.lines());
        output.warn(&second_charges);
        // The rows that were not resolved matter more than a failed write to stdout.
        match self.failure {
            Some(failure) => Err(CommandError::Partial(Box::new(failure))),
            None if !self.is_dry_run && !second_charges.is_empty() => Err(CommandError::SecondCharge),
            None => written,
        }
    }

    /// A line for each key, then the sums.
    fn lines(&self) -> String {
        let mut text =
            if self.is_dry_run { "DRY RUN, nothing was changed\n".to_owned() } else { String::new() };
        text::write_rows(
            &mut text,
            self.resolved.iter().map(|row| (row.resolved.intent.key.as_str(), row.said())),
        );
        let tallies = self.tallies();
        let rejected = tallies.get("rejected").map(|tally| format!("as rejected: {}; ", tally.shown()));
        let (done, processed) =
            (if self.is_dry_run { "would be resolved" } else { "resolved" }, tallies["processed"].shown());
        let (rejected, not_processed) = (rejected.unwrap_or_default(), tallies["not_processed"].shown());
        text.extend([
            format!("{done} as processed: {processed}; {rejected}"),
            format!("as not processed, may be sent again: {not_processed}\n"),
        ]);
        if self.left_alone > 0 {
            let rows = counted(self.left_alone, "row");
            text.extend([format!("left alone, without a Verdict or a new TransactionId: {rows}\n")]);
        }
        text + if self.is_dry_run { COMPARE_FIRST } else { COMPARE }
    }
}

const COMPARE: &str = "compare each record with its intent, and its time and reference in the service's records: if it is not the payment of the key, resolve that key again with --replace\n";

const COMPARE_FIRST: &str = "compare each record with its intent, and its time and reference in the service's records, then run it without --dry-run\n";

/// The members of a failed command, if not all rows were resolved; then counts and sums, and each intent as in `resolve KEY`.
impl Serialize for FileResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            #[serde(flatten)]
            failed: Option<&'a Failure>,
            #[serde(skip_serializing_if = "Option::is_none")]
            dry_run: Option<bool>,
            resolved: BTreeMap<&'static str, Tally>,
            left_alone: u64,
            intents: Vec<&'a ResolvedIntent>,
        }

        let Self { is_dry_run, resolved: rows, left_alone, failure } = self;
        Document {
            failed: failure.as_ref(),
            dry_run: is_dry_run.then_some(true),
            resolved: self.tallies(),
            left_alone: *left_alone,
            intents: rows.iter().map(|row| &row.resolved).collect(),
        }
        .serialize(serializer)
    }
}
