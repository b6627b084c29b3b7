//! `payments journal list`.

use std::io::{self, Write as _};

use payments_journal::{Cursor, Journal, Page, StateName};

use super::stdout::{self, Ended};
use super::table::Table;
use crate::intent_object::IntentObject;
use crate::journal_arguments::ListArguments;
use crate::journal_place::{JournalPlace, store_failure};
use crate::output::Output;

/// Rows that are held in memory together.
const PAGE: usize = 1000;

/// Writes the intents as they are read, so that any number of them needs the same memory.
pub(super) async fn run(place: &JournalPlace, output: Output, asked: &ListArguments) -> Result<(), Ended> {
    let journal = place.open_what_is_there().await?;
    let states = if asked.unresolved { StateName::UNRESOLVED } else { asked.states.asked() };
    let mut out = stdout::buffered();
    let unwritten = |error: io::Error| Ended::Unwritten("listed", error);
    if output.is_text() {
        let mut table = Table::new(output.style());
        for_each_page(&journal, states, |page| {
            out.write_all(table.page(&page.intents).as_bytes())?;
            out.flush()
        })
        .await?;
        out.write_all(table.summary().as_bytes()).and_then(|()| out.flush()).map_err(unwritten)
    } else {
        let mut separator = "[";
        for_each_page(&journal, states, |page| {
            for intent in &page.intents {
                out.write_all(separator.as_bytes())?;
                stdout::write_json(&mut out, &IntentObject(intent))?;
                separator = ",\n";
            }
            Ok(())
        })
        .await?;
        let end = if separator == "[" { "[]\n" } else { "]\n" };
        out.write_all(end.as_bytes()).and_then(|()| out.flush()).map_err(unwritten)
    }
}

/// Reads the pages one after the other. What cannot be read after the first of them leaves a torn result.
pub(super) async fn for_each_page(
    journal: &Journal,
    states: &[StateName],
    mut write: impl FnMut(&Page) -> io::Result<()>,
) -> Result<(), Ended> {
    let mut after: Option<Cursor> = None;
    loop {
        let page = match journal.list(states, after, PAGE).await {
            Ok(page) => page,
            Err(error) if after.is_none() => return Err(error.into()),
            Err(error) => return Err(Ended::Torn(Box::new(store_failure(&error)))),
        };
        write(&page).map_err(|error| Ended::Unwritten("read", error))?;
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}
