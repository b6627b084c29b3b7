//! What every command shows about an intent, and its JSON object.

use payments_journal::{Intent, IntentState, Subject, Verdict};
use payments_model::{ConvenienceFee, TransactionType};
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::text::timestamp;

/// The names of [`values`]: the members of the JSON object and the columns of CSV.
pub(crate) const MEMBERS: [&str; 23] = [
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
    "service",
];

/// The first members, which every object has, as null if they are not known.
const ALWAYS: usize = 11;

/// The members that are not strings. They are written to JSON unchanged, so no amount passes through a binary number.
const EXACT: [&str; 4] = ["amount", "attempts", "convenience_fee", "http_status"];

/// The known values, in the order of [`MEMBERS`].
pub(crate) fn values(intent: &Intent) -> [Option<String>; MEMBERS.len()] {
    let request = &intent.request;
    let (subject, [card_ending, token_id, voids]) = match &request.subject {
        Subject::Card { last_four } => ("card", [Some(last_four.clone()), None, None]),
        Subject::Token(id) => ("token", [None, Some(id.to_string()), None]),
        Subject::Transaction(id) => ("transaction", [None, None, Some(id.to_string())]),
        _ => ("account", [None, None, None]),
    };
    let (failure, resolution) = match &intent.state {
        IntentState::Rejected(failure)
        | IntentState::NotProcessed(failure)
        | IntentState::Unknown(failure) => (Some(failure), None),
        IntentState::Resolved { resolution, before } => (Some(before), Some(resolution)),
        _ => (None, None),
    };
    let transaction_type = request.transaction_type.map(|kind| match kind {
        TransactionType::Sale => "sale",
        TransactionType::Auth => "auth",
        TransactionType::GatewayDefault => "gateway_default",
    });
    let resolved_as = resolution.map(|resolution| match resolution.verdict {
        Verdict::Processed(_) => "processed",
        Verdict::NotProcessed => "not_processed",
    });
    [
        Some(intent.key.to_string()),
        Some(intent.state.name().as_str().to_owned()),
        Some(request.operation.to_string()),
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
        transaction_type.map(str::to_owned),
        failure.map(|failure| failure.kind.to_string()),
        failure.and_then(|failure| failure.reason.clone()),
        resolved_as.map(str::to_owned),
        resolution.map(|resolution| resolution.by.clone()),
        resolution.and_then(|resolution| resolution.note.clone()),
        request.convenience_fee.map(|fee| (fee == ConvenienceFee::Active).to_string()),
        failure.and_then(|failure| failure.http_status).map(|status| status.to_string()),
        Some(intent.service.clone()),
    ]
}

/// The JSON object: the members that are always present, and the others if they are known.
pub(crate) struct IntentObject<'a>(pub(crate) &'a Intent);

impl Serialize for IntentObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for (index, (name, value)) in MEMBERS.into_iter().zip(values(self.0)).enumerate() {
            if value.is_none() && index >= ALWAYS {
                continue;
            }
            if EXACT.contains(&name) {
                let value = value.map(RawValue::from_string).transpose().map_err(S::Error::custom)?;
                object.serialize_entry(name, &value)?;
            } else {
                object.serialize_entry(name, &value)?;
            }
        }
        object.end()
    }
}
