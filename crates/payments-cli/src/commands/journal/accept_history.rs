//! `payments journal accept-history`: a person says what was sent in the time whose entries the journal has lost.

use std::path::Path;

use payments_journal::{IntentKey, Journal, SentSince};
use serde_json::json;

use super::CommandError;
use crate::args::journal::{AcceptHistoryArguments, LostOptions};
use crate::failure::Problem;
use crate::format::counted;
use crate::output::Output;
use crate::rows::card_like_ids::{self, is_like_a_card};
use crate::rows::spreadsheet::apparent_change;
use crate::rows::{NO_API_KEY, Problems, Role, RowFile, Table};
use crate::settings::{JournalPlace, KnownKeys, OpenFor};

pub(super) async fn run(
    place: &JournalPlace,
    output: &Output,
    asked: &AcceptHistoryArguments,
) -> Result<(), CommandError> {
    let AcceptHistoryArguments { lost, by, .. } = asked;
    let LostOptions { sent, nothing_was_sent } = lost;
    let api_keys = &KnownKeys::in_environment();
    let by = &api_keys.mask(by);
    let journal = place.open(OpenFor::Changing).await?;
    let mut keys = Vec::new();
    for path in sent {
        keys.extend(read(&journal, place, path, asked, api_keys).await?);
    }
    keys.sort_unstable();
    keys.dedup();
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
async fn read(
    journal: &Journal,
    place: &JournalPlace,
    path: &Path,
    asked: &AcceptHistoryArguments,
    api_keys: &KnownKeys,
) -> Result<Vec<IntentKey>, CommandError> {
    let file = RowFile::read(path, Role::Sent, place)?;
    let mut problems = Problems::of(file.name.clone(), Role::Sent);
    let mut keys = Vec::new();
    match table_of_keys(&file) {
        Err(problem) => problems.push(problem),
        Ok((mut table, column)) => {
            while let Some(key) = table.next_key(column, &mut problems) {
                let rule = match doubt(&key, asked) {
                    _ if api_keys.is_in(key.as_str()) => Some(NO_API_KEY.to_owned()),
                    // A key that is in the journal was sent exactly so.
                    Some(rule) if journal.find(&key).await?.is_none() => Some(rule),
                    _ => None,
                };
                problems.extend(rule.map(|rule| Problem::new(table.line(), "Key", rule)));
                keys.push(key);
            }
            table.require_rows(&mut problems);
            if file.may_be_cut() {
                problems.push(Problem::new(table.line(), "file", MAY_BE_CUT));
            }
        }
    }
    problems.refuse()?;
    Ok(keys)
}

/// The table, and its column of keys.
fn table_of_keys(file: &RowFile) -> Result<(Table<'_>, usize), Problem> {
    let table = file.table(file.separator())?;
    match *table.columns(|heading| heading.trim().eq_ignore_ascii_case("key")) {
        [column] => Ok((table, column)),
        _ => Err(Problem::new(1, "header", "must have one column Key")),
    }
}

/// Why a key that the journal does not have may not be the one that was sent.
fn doubt(key: &IntentKey, asked: &AcceptHistoryArguments) -> Option<String> {
    if !asked.ids_are_not_cards && is_like_a_card(key.as_str()) {
        return Some(card_like_ids::refusal("Key"));
    }
    let change = apparent_change(key.as_str()).filter(|_| !asked.keys_are_exact)?;
    Some(format!("{change}, {NOT_EXACT}"))
}

const MAY_BE_CUT: &str = "has no end of its last line, as if it had been cut, and keys that are missing would be charged again: \
                          compare it with its source, then end that line";

/// What to do about a key that may be written in another way than it was sent.
const NOT_EXACT: &str = "and the key that was sent would be charged again: take the keys from where they were not changed; if all keys \
                         are exactly as they were sent, give --keys-are-exact";
