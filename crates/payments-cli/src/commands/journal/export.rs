//! `payments journal export`.

use std::io::{self, Write as _};

use payments_journal::{Intent, IntentRow, StateName};

use super::list::for_each_page;
use super::stdout::{self, Ended};
use crate::escape::for_terminal;
use crate::intent_object::IntentObject;
use crate::journal_arguments::ExportFormat;
use crate::journal_place::JournalPlace;
use crate::timestamp::timestamp;

/// Writes every intent as it is read.
pub(super) async fn run(place: &JournalPlace, format: ExportFormat) -> Result<(), Ended> {
    let journal = place.open_what_is_there().await?;
    let unwritten = |error: io::Error| Ended::Unwritten("read", error);
    match format {
        ExportFormat::Jsonl => {
            let mut out = stdout::buffered();
            for_each_page(&journal, StateName::ALL, |page| {
                page.intents.iter().try_for_each(|intent| {
                    stdout::write_json(&mut out, &IntentObject(intent))?;
                    out.write_all(b"\n")
                })
            })
            .await?;
            out.flush().map_err(unwritten)
        }
        ExportFormat::Csv => {
            let mut out = csv::Writer::from_writer(io::stdout().lock());
            let mut heading = Some(COLUMNS);
            for_each_page(&journal, StateName::ALL, |page| {
                if let Some(names) = heading.take() {
                    out.write_record(names)?;
                }
                page.intents.iter().try_for_each(|intent| out.write_record(fields(intent)))?;
                Ok(())
            })
            .await?;
            out.flush().map_err(unwritten)
        }
    }
}

/// The members of the JSON object; what a row has not is empty.
const COLUMNS: [&str; 22] = [
    "key",
    "state",
    "operation",
    "amount",
    "transaction_id",
    "reference",
    "created_at",
    "begun_at",
    "changed_at",
    "attempts",
    "subject",
    "card_ending",
    "token_id",
    "voids",
    "transaction_type",
    "kind",
    "reason",
    "resolved_as",
    "resolved_by",
    "note",
    "convenience_fee",
    "http_status",
];

fn fields(intent: &Intent) -> [String; COLUMNS.len()] {
    let row = IntentRow::from(intent);
    let subject_if =
        |kind: &str| row.subject.clone().filter(|_| row.subject_kind == kind).unwrap_or_default();
    let fields = [
        row.key.clone(),
        row.state.clone(),
        row.operation.clone(),
        row.amount.clone().unwrap_or_default(),
        intent.transaction_id().map(|id| id.as_str().to_owned()).unwrap_or_default(),
        row.reference.clone().unwrap_or_default(),
        timestamp(intent.created_at),
        timestamp(intent.begun_at),
        timestamp(intent.changed_at),
        row.attempts.to_string(),
        row.subject_kind.clone(),
        subject_if("card"),
        subject_if("token"),
        subject_if("transaction"),
        row.transaction_type.clone().unwrap_or_default(),
        row.kind.clone().unwrap_or_default(),
        row.reason.clone().unwrap_or_default(),
        row.verdict.clone().unwrap_or_default(),
        row.resolved_by.clone().unwrap_or_default(),
        row.note.clone().unwrap_or_default(),
        row.convenience_fee.map(|is_active| is_active.to_string()).unwrap_or_default(),
        row.http_status.map(|status| status.to_string()).unwrap_or_default(),
    ];
    fields.map(|field| for_terminal(&field))
}
