//! `payments journal accept-history`: a person says what was sent in the time whose entries the journal has lost.

use std::path::Path;

use payments_journal::{IntentKey, Journal, SentSince};
use serde_json::json;

use super::CommandError;
use super::reconcile::is_of_out;
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
    let rows = read_rows(&file, asked, api_keys, &mut problems).unwrap_or_else(|problem| {
        problems.push(problem);
        Vec::new()
    });
    let mut keys = Vec::with_capacity(rows.len());
    for (key, doubt) in rows {
        // A key that is in the journal was sent exactly so.
        if let Some(problem) = doubt
            && journal.find(&key).await?.is_none()
        {
            problems.push(problem);
        }
        keys.push(key);
    }
    problems.sort();
    if problems.is_empty() { Ok(keys) } else { Err(CommandError::InvalidFile(Box::new(problems))) }
}

/// The keys, each with the problem that it is if the journal does not have it. The error is a problem because of which no row can
/// be read.
fn read_rows(
    file: &RowFile,
    asked: &AcceptHistoryArguments,
    api_keys: &KnownKeys,
    problems: &mut Problems,
) -> Result<Vec<(IntentKey, Option<Problem>)>, Problem> {
    let mut table = file.table(file.separator())?;
    let is_key = |heading: &String| heading.trim().eq_ignore_ascii_case("key");
    let columns: Vec<_> = (0..).zip(table.headings()).filter(|(_, heading)| is_key(heading)).collect();
    let &[(column, heading)] = &*columns else {
        return Err(Problem::new(1, "header", "must have one column Key"));
    };
    table.is_escaped = heading == "key" || is_of_out(table.headings());
    let mut keys = Vec::new();
    let mut is_empty = true;
    while let Some(read) = table.next() {
        is_empty = false;
        let problem = |rule: String| Problem::new(table.line(), "Key", rule);
        let key = read.and_then(|()| match table.key(column) {
            Ok(key) if api_keys.is_in(key.as_str()) => Err(problem(NO_API_KEY.to_owned())),
            Ok(key) => Ok(key),
            Err(rule) => Err(problem(rule)),
        });
        match key {
            Ok(key) => {
                let rule = if !asked.ids_are_not_cards && is_like_a_card(key.as_str()) {
                    Some(card_like_ids::refusal("Key"))
                } else {
                    let change = change_by_others(key.as_str()).filter(|_| !asked.keys_are_exact);
                    change.map(|change| format!("{change}, {NOT_EXACT}"))
                };
                let doubt = rule.map(problem);
                keys.push((key, doubt));
            }
            Err(problem) => problems.push(problem),
        }
    }
    if is_empty { Err(Problem::new(1, "file", "has no rows")) } else { Ok(keys) }
}

/// What to do about a key that may not be written as it was sent.
const NOT_EXACT: &str = "and the key that was sent would be charged again: take the keys from where they were not changed; if all keys \
                         are exactly as they were sent, give --keys-are-exact";

/// How a spreadsheet or a program seems to have changed a key. A lost digit cannot be seen in each of them, only the zero in its
/// place.
fn change_by_others(key: &str) -> Option<&'static str> {
    const QUOTES: [char; 3] = ['\'', '"', '`'];
    if key.starts_with(QUOTES) {
        return Some("begins with a quotation mark");
    }
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let plain = key.strip_prefix(['+', '-']).unwrap_or(key);
    if is_number(plain) {
        let lost = plain.trim_start_matches('0').get(KEPT_DIGITS..).unwrap_or_default();
        let is_rounded = !lost.is_empty() && lost.bytes().all(|digit| digit == b'0');
        return is_rounded.then_some("is a number of which a spreadsheet keeps only 15 digits");
    }
    if let Some((mantissa, exponent)) = plain.split_once(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let is_shortened = is_number(exponent) && is_number(&mantissa.replacen(['.', ','], "", 1));
        return is_shortened.then_some("is a number with an exponent");
    }
    let (whole, decimals) = plain.rsplit_once(['.', ',']).unwrap_or((plain, ""));
    if is_number(decimals)
        && decimals.bytes().all(|digit| digit == b'0')
        && is_number(&whole.replace(SIGNS, ""))
    {
        return Some("is a number with decimals of zeros");
    }
    let groups: Vec<_> = plain.split(SIGNS).collect();
    let is_grouped = groups.len() > 1
        && groups.iter().all(|group| is_number(group))
        && groups[0].len() <= 3
        && groups[1..].iter().all(|group| group.len() == 3);
    is_grouped.then_some("is a number with signs between its thousands")
}

/// Spreadsheets keep so many digits of a number.
const KEPT_DIGITS: usize = 15;

/// What stands between the thousands of a number.
const SIGNS: [char; 4] = [',', '.', '\'', '_'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_keys_are_seen() {
        for key in [
            "'inv-5",
            "\"inv-5\"",
            "`a",
            "1234567890123450",
            "12345678901234500000",
            "-1234567890123450",
            "1e5",
            "1.23E+15",
            "1,5e3",
            "1843.0",
            "1,843.00",
            "1.843,0",
            "1,843",
            "1.843",
            "1'843'000",
            "12,345,678",
        ] {
            assert!(change_by_others(key).is_some(), "{key}");
        }
        for key in [
            "inv-5",
            "inv'5",
            "0017",
            "1234567890123456",
            "123456789012345",
            "0000001234567890",
            "100",
            "1e",
            "e5",
            "0x1e5a",
            "1e5a",
            "1.84",
            "2026.10",
            "2026.001",
            "1,84",
            "1-843",
            "12345678901234567a",
            "",
        ] {
            assert!(change_by_others(key).is_none(), "{key}");
        }
    }
}
