//! `payments journal list`.

mod table;

use std::io::Write as _;

use payments_journal::StateName;

use self::table::Table;
use super::{CommandError, READ, for_each_page, unwritten};
use crate::args::journal::ListArguments;
use crate::output::Output;
use crate::report::intent::IntentObject;
use crate::settings::{JournalPlace, OpenFor};
use crate::stdout;

/// Writes the intents as they are read, so that memory does not depend on their number.
pub(super) async fn run(
    place: &JournalPlace,
    output: Output,
    asked: &ListArguments,
) -> Result<(), CommandError> {
    let journal = place.open(OpenFor::Reading).await?;
    let states = if asked.unresolved { StateName::UNRESOLVED } else { asked.states.asked() };
    let mut out = stdout::buffered();
    let end = if output.is_text() {
        let mut table = Table::new(output.stdout, stdout::width());
        for_each_page(&journal, states, |intents| {
            out.write_all(table.page(intents).as_bytes())?;
            out.flush()
        })
        .await?;
        table.summary()
    } else {
        let mut separator = "[";
        for_each_page(&journal, states, |intents| {
            for intent in intents {
                out.write_all(separator.as_bytes())?;
                out.write_all(stdout::json(&IntentObject(intent))?.as_bytes())?;
                separator = ",\n";
            }
            Ok(())
        })
        .await?;
        if separator == "[" { "[]\n".to_owned() } else { "]\n".to_owned() }
    };
    out.write_all(end.as_bytes()).and_then(|()| out.flush()).map_err(|error| unwritten(READ, &error))
}
