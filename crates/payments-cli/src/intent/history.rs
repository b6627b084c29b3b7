//! What has happened to an intent, as lines of text and as JSON.

use std::collections::BTreeMap;

use payments_core::OperationName;
use payments_journal::{Ending, Failure, HistoryEvent, Intent, IntentRequest, Subject, Verdict};
use payments_model::{ConvenienceFee, TransactionId, TransactionType};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use crate::format::{Exact, counted, entry, in_words, timestamp};

/// The story of an intent: a line for each event. Only a person's or the service's words have commas, so that few cells of a CSV
/// file need quotes.
pub(crate) fn lines(intent: &Intent) -> Vec<String> {
    let dropped = Some(intent.dropped_events).filter(|count| *count > 0);
    let dropped = dropped.map(|count| format!("{} not kept", counted(count.into(), "older event")));
    let history = intent.history();
    let events = with_replaced(&history).filter(|(event, _)| !is_of_unknown_request(event));
    dropped.into_iter().chain(events.map(|(event, replaced)| line(event, replaced))).collect()
}

/// The attempt of a key that the journal lacked: who has named the key is another event.
fn is_of_unknown_request(event: &HistoryEvent) -> bool {
    matches!(event, HistoryEvent::Begun { request, .. } if request.subject == Subject::Lost)
}

/// Each event, and the verdict that it replaces if it is a resolution.
fn with_replaced(history: &[HistoryEvent]) -> impl Iterator<Item = (&HistoryEvent, Option<&Verdict>)> {
    let mut verdicts = BTreeMap::new();
    history.iter().map(move |event| match event {
        HistoryEvent::Resolved(said) => (event, verdicts.insert(said.attempt, &said.resolution.verdict)),
        _ => (event, None),
    })
}

fn line(event: &HistoryEvent, replaced: Option<&Verdict>) -> String {
    let at = timestamp(event.at());
    let noted = |note: &Option<String>| note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    match event {
        HistoryEvent::Begun { attempt, request, .. } => {
            format!("{at} attempt {attempt} began: {}", facts(request))
        }
        HistoryEvent::Ended { attempt, ending, .. } => {
            format!("{at} attempt {attempt} ended: {}", ended(ending))
        }
        HistoryEvent::Resolved(said) => {
            let resolution = &said.resolution;
            let unverified = if resolution.is_unverified { " (unverified)" } else { "" };
            let replaced =
                replaced.map(|verdict| format!(" instead of {}", shown(verdict))).unwrap_or_default();
            let (by, verdict, note) = (&resolution.by, shown(&resolution.verdict), noted(&resolution.note));
            format!("{at} {by}: attempt {} {verdict}{unverified}{replaced}{note}", said.attempt)
        }
        HistoryEvent::Reopened { by, note, .. } => format!("{at} {by}: may be sent again{}", noted(note)),
        HistoryEvent::Renamed { by, service, intents, .. } => {
            format!("{at} {by}: renamed from {service} with {}", counted(*intents, "intent"))
        }
        HistoryEvent::Lost { by, since, .. } => {
            let by = by.as_ref().map(|by| format!("{by}: ")).unwrap_or_default();
            format!("{at} {by}may have been sent in the lost time since {}", timestamp(*since))
        }
        _ => at,
    }
}

/// Operation, amount, subject and reference.
fn facts(request: &IntentRequest) -> String {
    let amount = request.amount.map(|amount| format!(" of {amount}"));
    let subject = match &request.subject {
        Subject::Card { last_four } => format!(" by card {last_four}"),
        Subject::Token(id) => format!(" by token {id}"),
        Subject::Transaction(id) => format!(" of transaction {id}"),
        _ => String::new(),
    };
    let reference = request.reference.as_ref().map(|reference| format!(" with reference {reference}"));
    let operation = request.operation().map_or("", OperationName::as_str);
    format!("{operation}{}{subject}{}", amount.unwrap_or_default(), reference.unwrap_or_default())
}

fn ended(ending: &Ending) -> String {
    let (word, failure) = parts(ending);
    let Some(failure) = failure else {
        let Ending::Processed(id) = ending else { return word.to_owned() };
        return format!("{word} as {id}");
    };
    let kind = Some(in_words(failure.kind.as_str())).filter(|kind| kind != word);
    let status = failure.http_status.map(|status| format!("HTTP {status}"));
    let details: Vec<_> = status.into_iter().chain(kind).collect();
    let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(" ")) };
    let reason = failure.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{word}{details}{reason}")
}

/// The word for an end, and its failure.
const fn parts(ending: &Ending) -> (&'static str, Option<&Failure>) {
    match ending {
        Ending::Processed(_) => ("processed", None),
        Ending::Rejected(failure) => ("rejected", Some(failure)),
        Ending::NotProcessed(failure) => ("not processed", Some(failure)),
        Ending::Unknown(failure) => ("unknown", Some(failure)),
    }
}

/// A verdict as it is shown: `processed as txn_1`, `rejected`, `not processed`.
pub(crate) fn shown(verdict: &Verdict) -> String {
    let id = verdict.transaction_id().map(|id| format!(" as {id}")).unwrap_or_default();
    format!("{}{id}", in_words(verdict.as_str()))
}

/// How documents name the type.
pub(crate) const fn type_word(transaction_type: TransactionType) -> &'static str {
    match transaction_type {
        TransactionType::Sale => "sale",
        TransactionType::Auth => "auth",
        TransactionType::GatewayDefault => "gateway_default",
    }
}

/// What has happened to an intent, as an array of JSON objects. A member that an event does not have is left out.
pub(crate) struct History<'a>(pub(crate) &'a Intent);

impl Serialize for History<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let history = self.0.history();
        serializer.collect_seq(with_replaced(&history).map(|(event, replaced)| Event { event, replaced }))
    }
}

struct Event<'a> {
    event: &'a HistoryEvent,
    replaced: Option<&'a Verdict>,
}

impl Serialize for Event<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("at", &timestamp(self.event.at()))?;
        match self.event {
            HistoryEvent::Begun { attempt, request, .. } => {
                object.serialize_entry("event", "begun")?;
                object.serialize_entry("attempt", attempt)?;
                entry(&mut object, "operation", request.operation().map(OperationName::as_str))?;
                entry(&mut object, "amount", request.amount.map(Exact))?;
                let (member, subject) = subject(&request.subject);
                entry(&mut object, member, subject)?;
                entry(&mut object, "transaction_type", request.transaction_type.map(type_word))?;
                let fee = request.convenience_fee.map(|fee| fee == ConvenienceFee::Active);
                entry(&mut object, "convenience_fee", fee)?;
                entry(&mut object, "reference", request.reference.as_ref())?;
            }
            HistoryEvent::Ended { attempt, ending, .. } => {
                let (outcome, failure) = parts(ending);
                object.serialize_entry("event", "ended")?;
                object.serialize_entry("attempt", attempt)?;
                object.serialize_entry("outcome", &outcome.replace(' ', "_"))?;
                let id = match ending {
                    Ending::Processed(id) => Some(id),
                    _ => failure.and_then(|failure| failure.transaction_id.as_ref()),
                };
                entry(&mut object, "transaction_id", id.map(TransactionId::as_str))?;
                entry(&mut object, "kind", failure.map(|failure| &failure.kind))?;
                entry(&mut object, "http_status", failure.and_then(|failure| failure.http_status))?;
                entry(&mut object, "reason", failure.and_then(|failure| failure.reason.as_ref()))?;
            }
            HistoryEvent::Resolved(said) => {
                let resolution = &said.resolution;
                object.serialize_entry("event", "resolved")?;
                object.serialize_entry("attempt", &said.attempt)?;
                object.serialize_entry("resolved_as", resolution.verdict.as_str())?;
                let id = resolution.verdict.transaction_id();
                entry(&mut object, "transaction_id", id.map(TransactionId::as_str))?;
                object.serialize_entry("unverified", &resolution.is_unverified)?;
                entry(&mut object, "instead_of", self.replaced.map(shown))?;
                object.serialize_entry("by", &resolution.by)?;
                entry(&mut object, "note", resolution.note.as_ref())?;
            }
            HistoryEvent::Reopened { by, note, .. } => {
                object.serialize_entry("event", "reopened")?;
                object.serialize_entry("by", by)?;
                entry(&mut object, "note", note.as_ref())?;
            }
            HistoryEvent::Renamed { by, service, intents, .. } => {
                object.serialize_entry("event", "renamed")?;
                object.serialize_entry("service", service)?;
                object.serialize_entry("intents", intents)?;
                object.serialize_entry("by", by)?;
            }
            HistoryEvent::Lost { attempt, by, since, .. } => {
                object.serialize_entry("event", "lost")?;
                object.serialize_entry("attempt", attempt)?;
                object.serialize_entry("since", &timestamp(*since))?;
                entry(&mut object, "by", by.as_ref())?;
            }
            _ => {}
        }
        object.end()
    }
}

/// The member that says what was charged or voided.
pub(crate) fn subject(subject: &Subject) -> (&'static str, Option<&str>) {
    match subject {
        Subject::Card { last_four } => ("card_ending", Some(last_four)),
        Subject::Token(id) => ("token_id", Some(id.as_str())),
        Subject::Transaction(id) => ("voids", Some(id.as_str())),
        _ => ("", None),
    }
}
