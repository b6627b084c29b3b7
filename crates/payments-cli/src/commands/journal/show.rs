//! `payments journal show`.

use payments_journal::{Intent, IntentKey, IntentState, Verdict};

use super::stdout::{self, Ended};
use super::table;
use crate::failure::Failure;
use crate::intent_object::{IntentObject, name_of_subject};
use crate::intent_row::IntentRow;
use crate::journal_place::JournalPlace;
use crate::next_step;
use crate::output::Output;
use crate::style::Style;
use crate::text;
use crate::timestamp::timestamp;

pub(super) async fn run(place: &JournalPlace, output: Output, key: &IntentKey) -> Result<(), Ended> {
    let journal = place.open_what_is_there().await?;
    let intent = journal.find(key).await?.ok_or_else(|| no_such_key(key))?;
    write(&intent, "found", output)
}

/// Nothing was ever sent with this key through this journal, or it was purged.
pub(super) fn no_such_key(key: &IntentKey) -> Failure {
    Failure::invalid("no_such_key", format!("the journal has no intent {key}; nothing was changed"))
}

/// Shows one intent.
pub(super) fn write(intent: &Intent, what: &'static str, output: Output) -> Result<(), Ended> {
    if output.is_text() {
        stdout::write(what, &lines(intent, output.style()))
    } else {
        stdout::write_document(what, &IntentObject(intent))
    }
}

/// The state first, then what is known, then what to do.
pub(super) fn lines(intent: &Intent, style: Style) -> String {
    let row = IntentRow::from(intent);
    let heading = crate::escape::for_terminal(&table::state(&intent.state).to_uppercase());
    let mut text = format!("{}\n", style.paint(table::tone(&intent.state), &heading));
    let mut rows = vec![("key", row.key), ("operation", row.operation)];
    let subject_name = name_of_subject(&row.subject_kind);
    let facts = [
        ("amount", row.amount),
        ("transaction_id", intent.transaction_id().map(|id| id.as_str().to_owned())),
        ("reference", row.reference),
        (subject_name, row.subject),
        ("transaction_type", row.transaction_type),
        ("convenience_fee", row.convenience_fee.map(|is_active| is_active.to_string())),
        ("kind", row.kind),
        ("http_status", row.http_status.map(|status| status.to_string())),
        ("reason", row.reason),
        ("resolved_as", row.verdict),
        ("resolved_by", row.resolved_by),
        ("note", row.note),
    ];
    rows.extend(facts.into_iter().filter_map(|(name, value)| Some((name, value?))));
    rows.extend([
        ("created_at", timestamp(intent.created_at)),
        ("begun_at", timestamp(intent.begun_at)),
        ("changed_at", timestamp(intent.changed_at)),
        ("attempts", row.attempts.to_string()),
    ]);
    rows.extend(next(intent).map(|step| ("next", step)));
    text::write_rows(&mut text, rows);
    text
}

/// What to do about it, or what may happen to it.
fn next(intent: &Intent) -> Option<String> {
    match &intent.state {
        IntentState::Sending => Some("wait until it ends: its sender is alive".to_owned()),
        IntentState::Unknown(_) => {
            let id = intent.transaction_id().filter(|id| id.path_segment().is_ok());
            Some(format!(
                "{}, then resolve the key",
                next_step::after_unknown(id, intent.request.search_by())
            ))
        }
        IntentState::NotProcessed(_) => Some("the key may be sent again".to_owned()),
        IntentState::Resolved { resolution, .. } if resolution.verdict == Verdict::NotProcessed => Some(
            "the key may be sent again: if it was processed after all, somebody then pays twice".to_owned(),
        ),
        _ => None,
    }
}
