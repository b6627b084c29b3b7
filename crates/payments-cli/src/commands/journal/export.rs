//! `payments journal export`.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;

use payments_journal::{Intent, IntentKey, StateName};
use serde::Deserialize;

use super::{CommandError, READ, for_each_page, unwritten};
use crate::args::journal::{ExportArguments, ExportFormat};
use crate::failure::{Failure, Problem};
use crate::format::counted;
use crate::intent::{self, IntentObject};
use crate::rows::card_like_ids::{self, is_like_a_card};
use crate::rows::{Role, RowFile, csv_file};
use crate::settings::{JournalPlace, OpenFor};
use crate::{stderr, stdout};

/// Writes every selected intent as it is read.
pub(super) async fn run(place: &JournalPlace, asked: &ExportArguments) -> Result<(), CommandError> {
    let keys = asked.run.as_deref().map(|path| keys_of(path, place)).transpose()?;
    let states = asked.states.asked();
    let is_selected = |intent: &&Intent| {
        states.contains(&intent.state.name())
            && asked.since.is_none_or(|since| intent.begun_at >= since)
            && keys.as_ref().is_none_or(|keys| keys.contains_key(&intent.key))
    };
    let journal = place.open(OpenFor::Reading).await?;
    // A key that is in the journal was accepted before.
    let mut like_cards: Vec<_> =
        keys.iter().flatten().filter(|(key, _)| is_like_a_card(key.as_str())).collect();
    like_cards.sort_by_key(|(_, line)| **line);
    for (key, line) in like_cards.into_iter().filter(|_| !asked.ids_are_not_cards) {
        if journal.find(key).await?.is_none() {
            let why = format!(" has a key in line {line} that {}", card_like_ids::refusal("Key"));
            return Err(Role::Run.refused(&why).into());
        }
    }
    let mut out = stdout::buffered();
    let mut heading = (asked.format == ExportFormat::Csv).then(intent::names);
    // A key of the file is in the journal, whatever its state.
    let mut lacking = keys.clone().unwrap_or_default();
    for_each_page(&journal, if keys.is_some() { StateName::ALL } else { states }, |intents| {
        for intent in intents {
            lacking.remove(&intent.key);
        }
        if let Some(names) = heading.take() {
            out.write_all(&csv_file::record(&names)?)?;
        }
        intents.iter().filter(is_selected).try_for_each(|intent| match asked.format {
            ExportFormat::Csv => out.write_all(&csv_file::record(&intent::cells(intent))?),
            ExportFormat::Jsonl => {
                out.write_all(stdout::json(&IntentObject(intent))?.as_bytes())?;
                out.write_all(b"\n")
            }
        })
    })
    .await?;
    out.flush().map_err(|error| unwritten(READ, &error))?;
    if let Some(first) = lacking.values().min() {
        let (count, are) = (lacking.len() as u64, if lacking.len() == 1 { "is" } else { "are" });
        stderr::write_last(format!(
            "{} of the file {are} not in the journal, such as that in line {first}: a spreadsheet may have changed the file, or nothing \
             was sent with {}\n",
            counted(count, "key"),
            if count == 1 { "it" } else { "them" }
        ));
    }
    Ok(())
}

/// The keys of a billing run with their lines, from its file or from the file of its results.
fn keys_of(path: &Path, place: &JournalPlace) -> Result<HashMap<IntentKey, u64>, Failure> {
    let file = RowFile::read(path, Role::Run, place)?;
    let refused = |line: u64, why: &str| Role::Run.refused(&format!(" has no key in line {line}: {why}"));
    let mut keys = HashMap::new();
    let mut keep = |line: u64, key: Option<&str>, reference: Option<&str>| {
        let text = key.filter(|text| !text.is_empty()).or(reference).unwrap_or_default();
        let key = IntentKey::new(text).map_err(|error| refused(line, error.rule()))?;
        keys.entry(key).or_insert(line);
        Ok::<_, Failure>(())
    };
    if file.is_json_lines {
        for (number, line) in file.json_lines() {
            let row: Keyed = serde_json::from_slice(line)
                .map_err(|_| refused(number, "it is not a JSON object with a Key or ReferenceNo"))?;
            keep(number, row.key.as_deref(), row.reference.as_deref())?;
        }
        return Ok(keys);
    }
    let wrong = |problem: Problem| refused(problem.line.unwrap_or(1), &problem.rule);
    let mut table = file.table(b',').map_err(wrong)?;
    let column = |name: &str| {
        let is_it = |heading: &str| heading.trim() == name;
        table.column(is_it).map_err(|rule| {
            let heading = table.headings().iter().find(|heading| is_it(heading)).map_or(name, String::as_str);
            refused(table.line(), &format!("the heading {heading:?} {rule}"))
        })
    };
    let (theirs, reference, ours) = (column("Key")?, column("ReferenceNo")?, column("key")?);
    let Some(key) = theirs.or(ours).or(reference) else {
        return Err(refused(table.line(), "the header has no column Key, ReferenceNo or key"));
    };
    while let Some(row) = table.next() {
        row.map_err(wrong)?;
        let text = table.text(key).map_err(|rule| refused(table.line(), &rule))?;
        let reference = reference.map(|index| table.cell(index).map_err(|rule| refused(table.line(), rule)));
        keep(table.line(), Some(&text), reference.transpose()?)?;
    }
    Ok(keys)
}

/// A row of a billing run or of its results.
#[derive(Deserialize)]
struct Keyed {
    #[serde(rename = "Key", alias = "key")]
    key: Option<String>,
    #[serde(rename = "ReferenceNo")]
    reference: Option<String>,
}
