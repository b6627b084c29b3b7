//! `payments journal accept-history`: a person says what was sent in the time whose entries the journal has lost.

use std::path::Path;

use payments_journal::{IntentKey, LostTime};
use serde_json::json;

use super::CommandError;
use super::reconcile::HEADINGS as PROPOSALS;
use crate::args::journal::{AcceptHistoryArguments, LostOptions};
use crate::card_like_ids::{self, is_like_a_card};
use crate::csv_file;
use crate::format::counted;
use crate::output::Output;
use crate::report::problems::{Problem, Problems, Role};
use crate::row_file::{NO_API_KEY, RowFile};
use crate::settings::KnownKeys;
use crate::settings::{JournalPlace, OpenFor};

pub(super) async fn run(
    place: &JournalPlace,
    output: Output,
    asked: &AcceptHistoryArguments,
) -> Result<(), CommandError> {
    let AcceptHistoryArguments { lost, ids_are_not_cards, by } = asked;
    let LostOptions { sent, nothing_was_sent } = lost;
    let api_keys = &KnownKeys::in_environment();
    let by = &api_keys.mask(by);
    let mut keys = Vec::new();
    for path in sent {
        keys.extend(read(place, path, *ids_are_not_cards, api_keys)?);
    }
    keys.sort_unstable();
    keys.dedup();
    let journal = place.open(OpenFor::Changing).await?;
    let lost = if *nothing_was_sent { LostTime::NothingWasSent } else { LostTime::Sent(&keys) };
    let unknown = journal.accept_history(lost, by).await?;
    let next =
        "nothing was sent: charges begin again, and the unknown keys wait until a person resolves them";
    let document = json!({ "named": keys.len(), "unknown": unknown });
    super::write("accepted", output, &document, |_| {
        let (named, unknown) = (counted(keys.len() as u64, "key"), counted(unknown, "key"));
        format!("accepted by {by}: {named} named, {unknown} became unknown; {next}\n")
    })
}

/// The keys of a CSV file. Every row must have a valid one: a key that is left out may be charged again.
fn read(
    place: &JournalPlace,
    path: &Path,
    ids_are_not_cards: bool,
    api_keys: &KnownKeys,
) -> Result<Vec<IntentKey>, CommandError> {
    let file = RowFile::read(path, Role::Sent, place)?;
    let mut problems = Problems::of(file.name.clone(), Role::Sent);
    let keys = read_rows(&file, ids_are_not_cards, api_keys, &mut problems);
    if problems.is_empty() { Ok(keys) } else { Err(CommandError::InvalidFile(Box::new(problems))) }
}

fn read_rows(
    file: &RowFile,
    ids_are_not_cards: bool,
    api_keys: &KnownKeys,
    problems: &mut Problems,
) -> Vec<IntentKey> {
    let mut keys = Vec::new();
    let mut table = match file.table(file.separator()) {
        Ok(table) => table,
        Err(problem) => {
            problems.push(problem);
            return keys;
        }
    };
    let is_key = |heading: &String| heading.trim().eq_ignore_ascii_case("key");
    let columns: Vec<_> = (0..).zip(table.headings()).filter(|(_, heading)| is_key(heading)).collect();
    let &[(column, heading)] = &*columns else {
        problems.push(Problem::new(1, "header", "must have one column Key"));
        return keys;
    };
    // Only a file that this command wrote has escaped formulas.
    let is_escaped = heading == "key" || table.headings() == PROPOSALS;
    while let Some(read) = table.next() {
        let line = table.line();
        if let Err(problem) = read {
            problems.push(problem);
            continue;
        }
        let unescaped =
            |cell: &str| if is_escaped { csv_file::unescape_formulas(cell) } else { cell.to_owned() };
        let cell = table.cell(column).map(unescaped).map_err(str::to_owned);
        match cell.and_then(|key| IntentKey::new(key).map_err(|error| error.rule().to_owned())) {
            Ok(key) if api_keys.is_in(key.as_str()) => problems.push(Problem::new(line, "Key", NO_API_KEY)),
            Ok(key) if !ids_are_not_cards && is_like_a_card(key.as_str()) => {
                problems.push(Problem::new(line, "Key", card_like_ids::refusal("Key")));
            }
            Ok(key) => keys.push(key),
            Err(rule) => problems.push(Problem::new(line, "Key", rule)),
        }
    }
    if keys.is_empty() && problems.is_empty() {
        problems.push(Problem::new(1, "file", "has no rows"));
    }
    keys
}
