//! `payments journal accept-history`: a person says what was sent in the time whose entries the journal has lost.

use std::path::Path;

use payments_journal::{IntentKey, SentSince};
use serde_json::json;

use super::CommandError;
use super::reconcile::HEADINGS as PROPOSALS;
use crate::args::journal::{AcceptHistoryArguments, LostOptions};
use crate::card_like_ids::{self, is_like_a_card};
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
    let lost = if *nothing_was_sent { SentSince::Nothing } else { SentSince::Keys(&keys) };
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
    let keys = read_rows(&file, ids_are_not_cards, api_keys, &mut problems).unwrap_or_else(|problem| {
        problems.push(problem);
        Vec::new()
    });
    if problems.is_empty() { Ok(keys) } else { Err(CommandError::InvalidFile(Box::new(problems))) }
}

/// The error is a problem because of which no row can be read.
fn read_rows(
    file: &RowFile,
    ids_are_not_cards: bool,
    api_keys: &KnownKeys,
    problems: &mut Problems,
) -> Result<Vec<IntentKey>, Problem> {
    let mut table = file.table(file.separator())?;
    let is_key = |heading: &String| heading.trim().eq_ignore_ascii_case("key");
    let columns: Vec<_> = (0..).zip(table.headings()).filter(|(_, heading)| is_key(heading)).collect();
    let &[(column, heading)] = &*columns else {
        return Err(Problem::new(1, "header", "must have one column Key"));
    };
    table.is_escaped = heading == "key" || table.headings() == PROPOSALS;
    let mut keys = Vec::new();
    let mut is_empty = true;
    while let Some(read) = table.next() {
        is_empty = false;
        let key = read.and_then(|()| {
            let rule = match table.key(column) {
                Ok(key) if api_keys.is_in(key.as_str()) => NO_API_KEY.to_owned(),
                Ok(key) if !ids_are_not_cards && is_like_a_card(key.as_str()) => {
                    card_like_ids::refusal("Key")
                }
                Ok(key) => return Ok(key),
                Err(rule) => rule,
            };
            Err(Problem::new(table.line(), "Key", rule))
        });
        match key {
            Ok(key) => keys.push(key),
            Err(problem) => problems.push(problem),
        }
    }
    if is_empty { Err(Problem::new(1, "file", "has no rows")) } else { Ok(keys) }
}
