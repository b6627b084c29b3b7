//! What every command shows about an intent: its members, as a JSON object, as a record of CSV, and as rows for people; sums of
//! intents; and the journal's part of the result of a call.

pub(crate) mod history;

use std::borrow::Cow;
use std::fmt;

use payments_journal::{Failure, FailureKind, Intent, IntentKey, IntentState, Resolution, Subject};
use payments_model::{Amount, ConvenienceFee, TransactionId, TransactionType};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use self::history::{History, type_word};
use crate::format::{Exact, counted, exact, in_words, money, timestamp};
use crate::style::Tone;

/// A member of the JSON object, and a column of CSV.
struct Member {
    name: &'static str,
    /// Every object has a required member, as null if it is not known.
    is_required: bool,
    value: fn(&Intent) -> Option<Value<'_>>,
}

/// What a member holds. No amount passes through a binary number.
#[derive(Serialize)]
#[serde(untagged)]
enum Value<'a> {
    Text(Cow<'a, str>),
    Amount(Exact),
    Number(u64),
    Flag(bool),
    /// A text in CSV, and an array in JSON.
    History(History<'a>),
}

const fn required(name: &'static str, value: fn(&Intent) -> Option<Value<'_>>) -> Member {
    Member { name, is_required: true, value }
}

const fn optional(name: &'static str, value: fn(&Intent) -> Option<Value<'_>>) -> Member {
    Member { name, is_required: false, value }
}

#[allow(clippy::unnecessary_wraps, reason = "not every member is always known")]
fn text<'a>(text: impl Into<Cow<'a, str>>) -> Option<Value<'a>> {
    Some(Value::Text(text.into()))
}

/// One text of several, if there are any.
fn texts<'a>(texts: impl Iterator<Item = &'a str>) -> Option<Value<'a>> {
    let texts: Vec<_> = texts.collect();
    (!texts.is_empty()).then(|| Value::Text(texts.join(" ").into()))
}

#[allow(clippy::unnecessary_wraps, reason = "not every member is always known")]
fn number(number: impl Into<u64>) -> Option<Value<'static>> {
    Some(Value::Number(number.into()))
}

const TRANSACTION_ID: &str = "transaction_id";

/// Every member in its order.
const MEMBERS: [Member; 31] = [
    required("key", |it| text(it.key.as_str())),
    required("state", |it| text(it.state.name().as_str())),
    required("operation", |it| text(it.request.operation()?.as_str())),
    required("amount", |it| it.request.amount.map(Exact).map(Value::Amount)),
    required(TRANSACTION_ID, |it| text(it.transaction_id()?.as_str())),
    required("reference", |it| text(it.request.reference.as_deref()?)),
    required("created_at", |it| text(timestamp(it.created_at))),
    required("begun_at", |it| text(timestamp(it.begun_at))),
    required("changed_at", |it| text(timestamp(it.changed_at))),
    required("attempts", |it| number(it.attempts)),
    required("subject", |it| text(subject(it))),
    optional("card_ending", |it| subject_named(it, "card_ending")),
    optional("token_id", |it| subject_named(it, "token_id")),
    optional("voids", |it| subject_named(it, "voids")),
    optional("transaction_type", |it| text(type_word(it.request.transaction_type?))),
    optional("kind", |it| text(failure(it)?.kind.as_str())),
    optional("reason", |it| text(failure(it)?.reason.as_deref()?)),
    optional("resolved_as", |it| text(resolution(it)?.verdict.as_str())),
    optional("resolved_by", |it| text(&resolution(it)?.by)),
    optional("note", |it| text(resolution(it)?.note.as_deref()?)),
    optional("convenience_fee", |it| {
        Some(Value::Flag(it.request.convenience_fee? == ConvenienceFee::Active))
    }),
    optional("http_status", |it| number(failure(it)?.http_status?)),
    optional("attempt", |it| number(it.attempts)),
    optional("revision", |it| number(it.revision)),
    optional("paid", |it| text(paid(it)?)),
    optional("unverified", |it| resolution(it)?.is_unverified.then_some(Value::Flag(true))),
    optional("also_processed_as", |it| texts(it.second_charges().map(TransactionId::as_str))),
    optional("service", |it| text(it.service.as_deref()?)),
    optional("former_services", |it| texts(it.former_services())),
    required("history", |it| Some(Value::History(History(it)))),
    // Empty, for a person to fill in: `resolve --from` reads it.
    optional("verdict", |_| None),
];

/// The names of the members: the columns of CSV.
pub(crate) fn names() -> [&'static str; MEMBERS.len()] {
    MEMBERS.each_ref().map(|member| member.name)
}

/// The value of a member, if it is known.
pub(crate) fn value(intent: &Intent, name: &str) -> Option<String> {
    let member = MEMBERS.iter().find(|member| member.name == name).expect("it is a member");
    Some((member.value)(intent)?.to_string())
}

/// The cells of CSV, which `resolve --from` reads: without an id that does not show what was processed.
pub(crate) fn cells(intent: &Intent) -> [String; MEMBERS.len()] {
    MEMBERS.each_ref().map(|member| match member.name {
        TRANSACTION_ID => exported_transaction(intent).map_or("", TransactionId::as_str).to_owned(),
        _ => (member.value)(intent).map_or_else(String::new, |value| value.to_string()),
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

/// The transaction that was charged or voided, in this member.
fn subject_named<'a>(intent: &'a Intent, name: &str) -> Option<Value<'a>> {
    let (member, subject) = history::subject(&intent.request.subject);
    text(subject.filter(|_| member == name)?)
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
    match (charged(intent), &intent.state) {
        _ if intent.is_void() => None,
        (_, IntentState::Sending | IntentState::Unknown(_)) => Some("unknown"),
        (Some(AUTHORIZED), _) => Some(AUTHORIZED),
        (Some(CHARGED), _) => Some("yes"),
        (Some(_), _) => Some("unknown"),
        (None, _) => Some("no"),
    }
}

const CHARGED: &str = "charged";
const AUTHORIZED: &str = "authorized";

/// What was done with the amount; `None` if nothing was, or if that is not known.
pub(crate) fn charged(intent: &Intent) -> Option<&'static str> {
    if intent.is_void() || matches!(intent.state, IntentState::Sending | IntentState::Unknown(_)) {
        return None;
    }
    intent.processed_as()?;
    Some(match intent.request.transaction_type {
        Some(TransactionType::Auth) => AUTHORIZED,
        // The service decided between sale and authorization.
        Some(TransactionType::GatewayDefault) => "charged or authorized",
        _ => CHARGED,
    })
}

/// The state's name with its most important details, such as `unknown (crash)`.
pub(crate) fn state(intent: &Intent) -> String {
    let name = intent.state.name().as_str();
    let mut details = match &intent.state {
        IntentState::Rejected(failure) => vec![why_rejected(failure)],
        IntentState::NotProcessed(failure) | IntentState::Unknown(failure) => vec![failure.kind.to_string()],
        IntentState::Resolved { resolution, .. } => {
            let mut details = vec![in_words(resolution.verdict.as_str())];
            details.extend(resolution.is_unverified.then(|| "unverified".to_owned()));
            details
        }
        _ => vec![],
    };
    if intent.second_charges().next().is_some() {
        details.push("possible second charge".to_owned());
    }
    if details.is_empty() { name.to_owned() } else { format!("{name} ({})", details.join(", ")) }
}

/// Chosen by this command: a column of a table is no place for a sentence.
const LONGEST_REASON: usize = 24;

/// Why a key is rejected, in a few words.
pub(crate) fn why_rejected(failure: &Failure) -> String {
    match failure.http_status {
        // The status of a success says nothing about a decline.
        Some(200..=299) => {
            let reason = failure.reason.as_deref().unwrap_or(failure.kind.as_str());
            reason.chars().take(LONGEST_REASON).collect()
        }
        Some(status) => format!("HTTP {status}"),
        None if failure.kind == FailureKind::RESOLVED => "as a person found out".to_owned(),
        None => failure.kind.to_string(),
    }
}

/// The colour of the state.
pub(crate) fn tone(state: &IntentState) -> Tone {
    match state {
        IntentState::Processed { .. } => Tone::Success,
        IntentState::Rejected(_) => Tone::Error,
        IntentState::Sending | IntentState::Unknown(_) => Tone::Warning,
        _ => Tone::Dim,
    }
}

/// As CSV and people get it.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Amount(Exact(amount)) => amount.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
            Self::History(History(intent)) => f.write_str(&history::lines(intent).join("; ")),
        }
    }
}

/// The JSON object: the members that are always present, the others if they are known, and the history.
pub(crate) struct IntentObject<'a>(pub(crate) &'a Intent);

impl Serialize for IntentObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for Member { name, is_required, value } in &MEMBERS {
            match value(self.0) {
                None if !is_required => {}
                value => object.serialize_entry(name, &value)?,
            }
        }
        if self.0.dropped_events > 0 {
            object.serialize_entry("older_events", &self.0.dropped_events)?;
        }
        object.end()
    }
}

/// A count and an exact sum. A void has no amount and only adds to the count.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct IntentSum {
    pub(crate) count: u64,
    /// `None` if it is too large to be exact.
    #[serde(serialize_with = "exact")]
    sum: Option<Amount>,
    /// How many are not in the sum because the journal has lost what was sent.
    #[serde(skip_serializing_if = "is_zero")]
    lost: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a field by reference")]
pub(crate) const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl IntentSum {
    pub(crate) fn add(&mut self, intent: &Intent) {
        self.count += 1;
        self.lost += u64::from(intent.request.has_lost_amount());
        if let Some(amount) = intent.request.amount {
            self.sum = self.sum.and_then(|sum| sum.checked_add(amount));
        }
    }

    /// The sum for people.
    pub(crate) fn sum(&self) -> String {
        sum_for_people(self.sum, self.lost)
    }

    /// Count and sum for people.
    pub(crate) fn shown(&self) -> String {
        format!("{}, {}", self.intents(), self.sum())
    }

    /// `1 intent`, `2 intents`.
    pub(crate) fn intents(&self) -> String {
        counted(self.count, "intent")
    }
}

/// A sum of amounts; `None` if it is too large to be exact. The journal does not know how much the `lost` ones are.
pub(crate) fn sum_for_people(sum: Option<Amount>, lost: u64) -> String {
    let sum = sum.map_or_else(|| "a sum too large to be exact".to_owned(), money);
    if lost > 0 { format!("{sum} and {}", counted(lost, "unknown amount")) } else { sum }
}

impl Default for IntentSum {
    fn default() -> Self {
        Self { count: 0, sum: Some(Amount::from_cents(0)), lost: 0 }
    }
}

/// The journal's part of the result of a call with a key.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct IntentNote {
    /// `None` if it contains a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<IntentKey>,
    /// The outcome is from another call with the key.
    #[serde(rename = "recorded", skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_recorded: bool,
    /// Whether this call may have been sent too, and moved no money: the other call has ended meanwhile.
    #[serde(skip)]
    pub(crate) may_have_been_sent: bool,
    /// Why the outcome could not be recorded in the journal.
    #[serde(rename = "journal", skip_serializing_if = "Option::is_none", serialize_with = "not_recorded")]
    pub(crate) not_recorded: Option<String>,
    /// Another key that was processed as the same transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) same_transaction_as: Option<IntentKey>,
    /// The warning that several attempts with the key may have been charged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) second_charge: Option<String>,
}

impl IntentNote {
    /// What this call did, if another one with the key decides.
    pub(crate) const fn now(&self) -> &'static str {
        if self.may_have_been_sent { "this call moved no money" } else { "nothing was sent now" }
    }
}

#[allow(clippy::ref_option, reason = "serde passes a field by reference")]
fn not_recorded<S: Serializer>(why: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    let why = why.as_deref().unwrap_or_default();
    serializer.collect_str(&format_args!("the outcome could not be recorded: {why}"))
}
