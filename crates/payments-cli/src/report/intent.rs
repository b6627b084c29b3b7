//! What every command shows about an intent: its members, as a JSON object, as a record of CSV, and as rows for people.

use payments_journal::{Failure, Intent, IntentState, Resolution, Subject};
use payments_model::{ConvenienceFee, TransactionId, TransactionType};
use serde::Serialize;
use serde::ser::{Error as _, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::format::timestamp;
use crate::report::intent_history::{self, History, type_word};

/// A member of the JSON object, and a column of CSV.
struct Member {
    name: &'static str,
    kind: Kind,
    value: fn(&Intent) -> Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A string that every object has, as null if it is not known.
    Always,
    /// The same for a number.
    AlwaysNumber,
    /// A string that is left out if it is not known.
    Text,
    /// The same for a number or a boolean, written unchanged, so that no amount passes through a binary number.
    Exact,
    /// A text in CSV, and an array in JSON.
    History,
}

const fn member(name: &'static str, kind: Kind, value: fn(&Intent) -> Option<String>) -> Member {
    Member { name, kind, value }
}

/// Every member in its order.
const MEMBERS: [Member; 31] = [
    member("key", Kind::Always, |it| Some(it.key.to_string())),
    member("state", Kind::Always, |it| Some(it.state.name().as_str().to_owned())),
    member("operation", Kind::Always, |it| {
        Some(it.request.operation.to_string()).filter(|_| it.request.subject != Subject::Lost)
    }),
    member("amount", Kind::AlwaysNumber, |it| it.request.amount.map(|amount| amount.to_string())),
    member("transaction_id", Kind::Always, |it| it.transaction_id().map(|id| id.as_str().to_owned())),
    member("reference", Kind::Always, |it| it.request.reference.clone()),
    member("created_at", Kind::Always, |it| Some(timestamp(it.created_at))),
    member("begun_at", Kind::Always, |it| Some(timestamp(it.begun_at))),
    member("changed_at", Kind::Always, |it| Some(timestamp(it.changed_at))),
    member("attempts", Kind::AlwaysNumber, |it| Some(it.attempts.to_string())),
    member("subject", Kind::Always, |it| Some(subject(it).to_owned())),
    member("card_ending", Kind::Text, |it| match &it.request.subject {
        Subject::Card { last_four } => Some(last_four.clone()),
        _ => None,
    }),
    member("token_id", Kind::Text, |it| match &it.request.subject {
        Subject::Token(id) => Some(id.to_string()),
        _ => None,
    }),
    member("voids", Kind::Text, |it| match &it.request.subject {
        Subject::Transaction(id) => Some(id.to_string()),
        _ => None,
    }),
    member("transaction_type", Kind::Text, |it| {
        it.request.transaction_type.map(|kind| type_word(kind).to_owned())
    }),
    member("kind", Kind::Text, |it| failure(it).map(|failure| failure.kind.to_string())),
    member("reason", Kind::Text, |it| failure(it)?.reason.clone()),
    member("resolved_as", Kind::Text, |it| Some(resolution(it)?.verdict.as_str().to_owned())),
    member("resolved_by", Kind::Text, |it| Some(resolution(it)?.by.clone())),
    member("note", Kind::Text, |it| resolution(it)?.note.clone()),
    member("convenience_fee", Kind::Exact, |it| {
        it.request.convenience_fee.map(|fee| (fee == ConvenienceFee::Active).to_string())
    }),
    member("http_status", Kind::Exact, |it| Some(failure(it)?.http_status?.to_string())),
    member("attempt", Kind::Exact, |it| Some(it.attempts.to_string())),
    member("revision", Kind::Exact, |it| Some(it.revision.to_string())),
    member("paid", Kind::Text, |it| paid(it).map(str::to_owned)),
    member("unverified", Kind::Exact, |it| resolution(it)?.is_unverified.then(|| "true".to_owned())),
    member("also_processed_as", Kind::Text, |it| {
        let ids: Vec<_> = it.second_charges().map(TransactionId::as_str).collect();
        Some(ids.join(" ")).filter(|ids| !ids.is_empty())
    }),
    member("service", Kind::Text, |it| Some(it.service.clone()).filter(|service| !service.is_empty())),
    member("former_services", Kind::Text, |it| {
        let names: Vec<_> = it.former_services().collect();
        Some(names.join(" ")).filter(|names| !names.is_empty())
    }),
    member("history", Kind::History, |it| Some(intent_history::lines(it).join("; "))),
    // Empty, for a person to fill in: `resolve --from` reads it.
    member("verdict", Kind::Text, |_| None),
];

/// The names of the members: the columns of CSV.
pub(crate) fn names() -> [&'static str; MEMBERS.len()] {
    MEMBERS.each_ref().map(|member| member.name)
}

/// The value of a member, if it is known.
pub(crate) fn value(intent: &Intent, name: &str) -> Option<String> {
    let member = MEMBERS.iter().find(|member| member.name == name)?;
    (member.value)(intent)
}

/// The cells of CSV, which `resolve --from` reads: without an id that does not show what was processed.
pub(crate) fn cells(intent: &Intent) -> [String; MEMBERS.len()] {
    MEMBERS.each_ref().map(|member| match member.name {
        "transaction_id" => {
            exported_transaction(intent).map_or_else(String::new, |id| id.as_str().to_owned())
        }
        _ => (member.value)(intent).unwrap_or_default(),
    })
}

const fn subject(intent: &Intent) -> &'static str {
    match &intent.request.subject {
        Subject::Card { .. } => "card",
        Subject::Token(_) => "token",
        Subject::Transaction(_) => "transaction",
        Subject::Lost => "lost",
        _ => "account",
    }
}

const fn failure(intent: &Intent) -> Option<&Failure> {
    match &intent.state {
        IntentState::Rejected(failure)
        | IntentState::NotProcessed(failure)
        | IntentState::Unknown(failure)
        | IntentState::Resolved { before: failure, .. } => Some(failure),
        _ => None,
    }
}

fn resolution(intent: &Intent) -> Option<&Resolution> {
    match &intent.state {
        IntentState::Resolved { resolution, .. } => Some(resolution),
        _ => intent.decision_about(intent.attempts),
    }
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

/// The JSON object: the members that are always present, the others if they are known, and the history.
pub(crate) struct IntentObject<'a>(pub(crate) &'a Intent);

impl Serialize for IntentObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for Member { name, kind, value } in &MEMBERS {
            let value = if *kind == Kind::History { None } else { value(self.0) };
            match kind {
                Kind::History => object.serialize_entry(name, &History(self.0))?,
                Kind::Text | Kind::Exact if value.is_none() => {}
                Kind::Always | Kind::Text => object.serialize_entry(name, &value)?,
                Kind::AlwaysNumber | Kind::Exact => {
                    let value = value.map(RawValue::from_string).transpose().map_err(S::Error::custom)?;
                    object.serialize_entry(name, &value)?;
                }
            }
        }
        if self.0.dropped_events > 0 {
            object.serialize_entry("older_events", &self.0.dropped_events)?;
        }
        object.end()
    }
}
