//! What every command shows about an intent, and its JSON object.

use payments_journal::{Intent, IntentState, Subject};
use payments_model::{ConvenienceFee, TransactionId, TransactionType};
use serde::Serialize;
use serde::ser::{Error as _, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::exit_code::ExitCode;
use crate::format::timestamp;
use crate::report::intent_history::{self, History, type_word};

/// The names of [`values`]: the members of the JSON object and the columns of CSV.
pub(crate) const MEMBERS: [&str; 31] = [
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
    "attempt",
    "revision",
    "paid",
    "unverified",
    "also_processed_as",
    "service",
    "former_services",
    HISTORY,
    VERDICT,
];

/// A text in CSV, and an array in JSON.
const HISTORY: &str = "history";

/// Empty, for a person to fill in: `resolve --from` reads it.
const VERDICT: &str = "verdict";

/// The first members, which every object has, as null if they are not known.
const ALWAYS: usize = 11;

/// The members that are not strings. They are written to JSON unchanged, so no amount passes through a binary number.
const EXACT: [&str; 7] =
    ["amount", "attempts", "convenience_fee", "http_status", "attempt", "revision", "unverified"];

/// The known values, in the order of [`MEMBERS`].
pub(crate) fn values(intent: &Intent) -> [Option<String>; MEMBERS.len()] {
    let request = &intent.request;
    let (subject, [card_ending, token_id, voids]) = match &request.subject {
        Subject::Card { last_four } => ("card", [Some(last_four.clone()), None, None]),
        Subject::Token(id) => ("token", [None, Some(id.to_string()), None]),
        Subject::Transaction(id) => ("transaction", [None, None, Some(id.to_string())]),
        Subject::Lost => ("lost", [None, None, None]),
        _ => ("account", [None, None, None]),
    };
    let (failure, resolution) = match &intent.state {
        IntentState::Rejected(failure)
        | IntentState::NotProcessed(failure)
        | IntentState::Unknown(failure) => (Some(failure), None),
        IntentState::Resolved { resolution, before } => (Some(before), Some(resolution)),
        _ => (None, None),
    };
    let resolution = resolution.or_else(|| intent.decision_about(intent.attempts));
    let former_services: Vec<_> = intent.former_services().collect();
    let also_processed_as: Vec<_> = intent.second_charges().map(TransactionId::as_str).collect();
    [
        Some(intent.key.to_string()),
        Some(intent.state.name().as_str().to_owned()),
        Some(request.operation.to_string()).filter(|_| request.subject != Subject::Lost),
        request.amount.map(|amount| amount.to_string()),
        intent.transaction_id().map(|id| id.as_str().to_owned()),
        request.reference.clone(),
        Some(timestamp(intent.created_at)),
        Some(timestamp(intent.begun_at)),
        Some(timestamp(intent.changed_at)),
        Some(intent.attempts.to_string()),
        Some(subject.to_owned()),
        card_ending,
        token_id,
        voids,
        request.transaction_type.map(|kind| type_word(kind).to_owned()),
        failure.map(|failure| failure.kind.to_string()),
        failure.and_then(|failure| failure.reason.clone()),
        resolution.map(|resolution| resolution.verdict.as_str().to_owned()),
        resolution.map(|resolution| resolution.by.clone()),
        resolution.and_then(|resolution| resolution.note.clone()),
        request.convenience_fee.map(|fee| (fee == ConvenienceFee::Active).to_string()),
        failure.and_then(|failure| failure.http_status).map(|status| status.to_string()),
        Some(intent.attempts.to_string()),
        Some(intent.revision.to_string()),
        paid(intent).map(str::to_owned),
        resolution.filter(|resolution| resolution.is_unverified).map(|_| "true".to_owned()),
        Some(also_processed_as.join(" ")).filter(|ids| !ids.is_empty()),
        Some(intent.service.clone()).filter(|service| !service.is_empty()),
        Some(former_services.join(" ")).filter(|names| !names.is_empty()),
        Some(intent_history::lines(intent).join("; ")),
        None,
    ]
}

/// The transaction in the CSV of an export, which `resolve --from` reads. The id in a void's own request is none: it does not show
/// that the void was processed.
pub(crate) fn exported_transaction(intent: &Intent) -> Option<&TransactionId> {
    let is_own =
        |id: &TransactionId| matches!(&intent.request.subject, Subject::Transaction(own) if own == id);
    let is_processed = intent.processed_as().is_some();
    intent.transaction_id().filter(|id| is_processed || !is_own(id))
}

/// For accounting: whether the payment was made. A void pays nothing.
fn paid(intent: &Intent) -> Option<&'static str> {
    let is_processed = intent.processed_as().is_some();
    match (&intent.state, intent.request.transaction_type) {
        _ if intent.is_void() => None,
        (IntentState::Sending | IntentState::Unknown(_), _) => Some("unknown"),
        (_, Some(TransactionType::Auth)) if is_processed => Some("authorized"),
        // The service decided between sale and authorization.
        (_, Some(TransactionType::GatewayDefault)) if is_processed => Some("unknown"),
        _ if is_processed => Some("yes"),
        _ => Some("no"),
    }
}

/// The warning about an intent of which several attempts may have been charged.
pub(crate) fn second_charge(intent: &Intent) -> Option<String> {
    let others: Vec<_> = intent.second_charges().map(TransactionId::as_str).collect();
    let newest = match intent.processed_as() {
        Some(id) => format!("and also as {id}"),
        None => "and the outcome of its newest attempt is open".to_owned(),
    };
    (!others.is_empty()).then(|| {
        format!(
            "POSSIBLE SECOND CHARGE of {}: it was processed as {}, {newest} (exit code {}); the key is never sent again: \
             compare them with the service's records, and undo what was charged twice",
            intent.key,
            others.join(" and "),
            ExitCode::SecondCharge.number()
        )
    })
}

/// The JSON object: the members that are always present, the others if they are known, and the history.
pub(crate) struct IntentObject<'a>(pub(crate) &'a Intent);

impl Serialize for IntentObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for (index, (name, value)) in MEMBERS.into_iter().zip(values(self.0)).enumerate() {
            if value.is_none() && index >= ALWAYS {
                continue;
            }
            if name == HISTORY {
                object.serialize_entry(name, &History(self.0))?;
            } else if EXACT.contains(&name) {
                let value = value.map(RawValue::from_string).transpose().map_err(S::Error::custom)?;
                object.serialize_entry(name, &value)?;
            } else {
                object.serialize_entry(name, &value)?;
            }
        }
        if self.0.dropped_events > 0 {
            object.serialize_entry("older_events", &self.0.dropped_events)?;
        }
        object.end()
    }
}
