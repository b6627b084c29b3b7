//! `payments journal purge`.

use std::fmt::Write as _;

use payments_journal::Purged;
use serde_json::json;

use super::CommandError;
use crate::args::journal::Age;
use crate::format::{counted, timestamp};
use crate::output::Output;
use crate::settings::{JournalPlace, OpenFor};
use crate::stderr;

pub(super) async fn run(place: &JournalPlace, output: &Output, age: &Age) -> Result<(), CommandError> {
    let journal = place.open(OpenFor::Changing).await?;
    let Purged { intents: purged, newest, .. } = journal.purge_older_than(age.duration).await?;
    let newest = newest.map(timestamp);
    let warning = "a purged key is new again: using it again charges again";
    // A program reads it in the document.
    if output.is_text() {
        stderr::warn(warning);
    }
    let document = json!({ "purged": purged, "newest_purged_at": newest, "warning": warning });
    super::write("purged", output, &document, |_| {
        let (count, age) = (counted(purged, "intent"), &age.text);
        let mut text = format!("purged {count} that ended more than {age} ago\n");
        if let Some(newest) = &newest {
            let _ = writeln!(text, "the newest of them last changed at {newest}, by the journal's own time");
        }
        text
    })
}
