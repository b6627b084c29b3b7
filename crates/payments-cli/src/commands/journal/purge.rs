//! `payments journal purge`.

use serde_json::json;

use super::stdout::{self, Ended};
use crate::journal_arguments::Age;
use crate::journal_place::JournalPlace;
use crate::output::Output;

pub(super) async fn run(place: &JournalPlace, output: Output, age: &Age) -> Result<(), Ended> {
    let journal = place.open_what_is_there().await?;
    let purged = journal.purge_older_than(age.duration).await?;
    let warning = "a purged key is new again: whoever uses it once more charges once more";
    output.warn(&[warning.to_owned()]);
    if output.is_text() {
        let noun = if purged == 1 { "intent" } else { "intents" };
        let age = &age.given;
        stdout::write("purged", &format!("purged {purged} {noun} that ended more than {age} ago\n"))
    } else {
        stdout::write_document("purged", &json!({ "purged": purged, "warning": warning }))
    }
}
