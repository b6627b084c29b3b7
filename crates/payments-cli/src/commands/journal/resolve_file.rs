//! `payments journal resolve --from`: every row is checked and every transaction looked up before anything is written.

mod check;
mod result;
mod rows;

use std::mem;
use std::path::Path;

use payments_core::Client;

use self::check::{Check, look_up};
use self::result::{FileResult, write};
use self::rows::{Row, Rows};
use super::CommandError;
use crate::abandoned::Abandoned;
use crate::args::ClientOptions;
use crate::call::Prepared;
use crate::card_like_ids::is_like_a_card;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::report::exit_code::ExitCode;
use crate::report::problems::{Problems, Role};
use crate::row_file::RowFile;
use crate::run_to_report::cannot_start;
use crate::settings::{JournalPlace, OpenFor, Settings};

pub(super) async fn run(
    mut options: ClientOptions,
    place: &JournalPlace,
    output: Output,
    path: &Path,
    ids_are_not_cards: bool,
    by: &str,
) -> Result<ExitCode, CommandError> {
    let is_dry_run = mem::take(&mut options.dry_run);
    let file = RowFile::read(path, Role::Resolutions, place)?;
    let mut problems = Problems::of(file.name.clone(), Role::Resolutions);
    let Rows { mut rows, left_alone } = rows::read(&file, &mut problems);
    drop(file);
    let (client, settings, keys, mut interrupt) = if rows.iter().any(Row::is_looked_up) {
        let prepared = Prepared::new(options, output, || Ok(())).await?;
        prepared.settings.require_one_key()?;
        let keys = prepared.settings.keys.clone();
        (Some(prepared.client.build()), Some(prepared.settings), keys, prepared.interrupt)
    } else {
        // The other settings are not needed, and any of them may be missing.
        let keys = Settings::known_keys(&options);
        (None, None, keys, Interrupt::install().map_err(|error| cannot_start(&error))?)
    };
    problems.hide_keys(|key| keys.is_in(key) || (!ids_are_not_cards && is_like_a_card(key)));
    for note in rows.iter_mut().filter_map(|row| row.note.as_mut()) {
        *note = keys.mask(note);
    }
    let journal = place.open(OpenFor::Changing).await?;
    let service = client.as_ref().map(Client::service);
    let checking = async {
        let check = Check { journal: &journal, api_keys: &keys, ids_are_not_cards, service };
        let (mut rows, say_nothing) = check.rows(rows, &mut problems).await?;
        check.transactions(&rows, &mut problems).await?;
        if let (Some(client), Some(settings)) = (&client, &settings) {
            look_up(client, settings, &mut rows, &mut problems).await?;
        }
        Ok::<_, CommandError>((rows, say_nothing))
    };
    let (rows, say_nothing) = tokio::select! {
        biased;
        checked = checking => checked?,
        signal = interrupt.arrived() => {
            return Err(Abandoned::Signal(signal).harmless("; nothing was changed: it is safe to run it again").into());
        }
    };
    if !problems.is_empty() {
        problems.sort();
        return Err(CommandError::InvalidFile(Box::new(problems)));
    }
    let mut result = if is_dry_run {
        FileResult::of_dry_run(rows)
    } else {
        write(&journal, rows, &keys.mask(by), service, &mut interrupt).await
    };
    result.left_alone = left_alone + say_nothing;
    result.show(output)
}
