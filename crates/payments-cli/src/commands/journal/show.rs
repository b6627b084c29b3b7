//! `payments journal show`.

use payments_journal::{Intent, IntentKey};
use payments_model::{ConvenienceFee, mask};

use super::{CommandError, READ};
use crate::failure::Failure;
use crate::format::{in_words, money};
use crate::intent::{self, IntentObject, history};
use crate::output::Output;
use crate::report::{advice, text};
use crate::settings::{JournalPlace, OpenFor, PrintedCommands};
use crate::style::Style;

pub(super) async fn run(place: &JournalPlace, output: &Output, key: &IntentKey) -> Result<(), CommandError> {
    let journal = place.open(OpenFor::Reading).await?;
    let intent = journal.find(key).await?.ok_or_else(|| no_such_key(key))?;
    super::write(READ, output, &IntentObject(&intent), |style| lines(&intent, style, &output.commands))
}

/// The failure for a key that was never sent through this journal, or was purged.
pub(super) fn no_such_key(key: &IntentKey) -> Failure {
    Failure::invalid(
        "no_such_key",
        format!(
            "the journal has no key {}; nothing was changed: check the key, and that this is its journal",
            // It may be a card number in the wrong place.
            mask(key.as_str(), &[])
        ),
    )
}

/// The state, then the known values, then what has happened, then the next step.
pub(super) fn lines(intent: &Intent, style: Style, commands: &PrintedCommands) -> String {
    let heading = crate::style::for_terminal(&in_words(&intent::state(intent)).to_uppercase());
    let mut text = format!("{}\n", style.paint(intent::tone(&intent.state), &heading));
    let known = |name| {
        let value = match name {
            "amount" => money(intent.request.amount?),
            "convenience_fee" => {
                let is_active = intent.request.convenience_fee? == ConvenienceFee::Active;
                if is_active { "yes" } else { "no" }.to_owned()
            }
            "kind" | "resolved_as" | "transaction_type" => in_words(&intent::value(intent, name)?),
            _ => intent::value(intent, name)?,
        };
        Some((in_words(name), value))
    };
    let mut rows: Vec<_> = SHOWN.split(' ').filter_map(known).collect();
    rows.extend(history::lines(intent).into_iter().map(|line| ("history".to_owned(), line)));
    rows.extend(advice::about(intent, commands).map(|step| ("next".to_owned(), step)));
    let rows = rows.iter().map(|(name, value)| (&**name, value.clone()));
    text::write_rows(&mut text, rows);
    text
}

/// The values that are not in the heading, with the times last.
const SHOWN: &str = "key operation amount transaction_id reference service card_ending token_id voids transaction_type convenience_fee kind \
    http_status reason resolved_as resolved_by unverified note also_processed_as created_at begun_at changed_at attempts \
    attempt";
