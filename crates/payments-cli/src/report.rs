//! How a client command ended, and its one JSON document.

use payments_core::Success;
use payments_journal::{IntentKey, Journaled};
use payments_model::unversioned::as_number;
use payments_model::{
    Amount, CustomerRecord, TransactionId, TransactionReceipt, TransactionRecord, Violation,
};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::batch_report::{Problems, Summary};
use crate::commands::Checked;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Sent};
use crate::rehearsal::Rehearsal;

/// How a client command ended.
#[derive(Clone, Debug)]
pub(crate) enum Report {
    /// `"outcome":"processed"`
    Processed(Processed),
    /// `"outcome":"dry_run"`
    Rehearsed(Rehearsal),
    /// The steps of a check, with any outcome.
    Checked(Box<Checked>),
    /// A billing run, with any outcome.
    Summed(Box<Summary>),
    /// A file of which no row is sent.
    Refused(Box<Problems>),
    /// Any other outcome.
    Failed(Box<Failure>),
}

impl Report {
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Processed(_) | Self::Rehearsed(_) => ExitCode::Processed,
            Self::Checked(checked) => checked.exit_code(),
            Self::Summed(summary) => summary.exit_code(),
            Self::Refused(problems) => problems.exit_code(),
            Self::Failed(failure) => failure.exit_code(),
        }
    }

    /// What the journal says, if the call has a key.
    pub(crate) fn note(&self) -> Option<&IntentNote> {
        match self {
            Self::Processed(processed) => processed.note.as_ref(),
            Self::Failed(failure) => failure.advice.note.as_ref(),
            Self::Rehearsed(_) | Self::Checked(_) | Self::Summed(_) | Self::Refused(_) => None,
        }
    }
}

impl From<Failure> for Report {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

/// The document's member names are fixed: other programs read it.
#[derive(Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
enum Document<'a> {
    Processed {
        http_status: Option<u16>,
        data: &'a RawValue,
        #[serde(flatten)]
        note: Option<&'a IntentNote>,
    },
    DryRun {
        request: &'a Rehearsal,
    },
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Processed(Processed { http_status, data, note, .. }) => {
                Document::Processed { http_status: *http_status, data, note: note.as_ref() }
                    .serialize(serializer)
            }
            Self::Rehearsed(request) => Document::DryRun { request }.serialize(serializer),
            Self::Checked(checked) => checked.serialize(serializer),
            Self::Summed(summary) => summary.serialize(serializer),
            Self::Refused(problems) => problems.serialize(serializer),
            Self::Failed(failure) => FailedDocument::of(failure).serialize(serializer),
        }
    }
}

/// A failed command.
#[derive(Serialize)]
pub(crate) struct FailedDocument<'a> {
    outcome: &'static str,
    error: ErrorObject<'a>,
    #[serde(flatten)]
    note: Option<&'a IntentNote>,
}

impl<'a> FailedDocument<'a> {
    pub(crate) fn of(failure: &'a Failure) -> Self {
        let (outcome, note) = (failure.outcome.as_str(), failure.advice.note.as_ref());
        Self { outcome, error: ErrorObject::of(failure), note }
    }
}

/// `error` of a failed command: the documented members always, the further ones where known.
#[derive(Serialize)]
struct ErrorObject<'a> {
    kind: &'a str,
    message: &'a str,
    http_status: Option<u16>,
    status_code: Option<StatusCode<'a>>,
    transaction_id: Option<&'a str>,
    violations: Vec<ViolationObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "exact")]
    amount: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent_at: Option<String>,
}

impl<'a> ErrorObject<'a> {
    fn of(failure: &'a Failure) -> Self {
        let (answer, sent) = (failure.answer.as_deref(), failure.sent.as_deref());
        let answered = answer.and_then(|answer| answer.transaction_id.as_deref());
        let to_look_up = failure.advice.to_look_up.as_ref().map(TransactionId::as_str);
        Self {
            kind: &failure.kind,
            message: &failure.message,
            http_status: answer.map(|answer| answer.http_status),
            status_code: answer.and_then(|answer| answer.status_code.as_deref()).map(StatusCode::read),
            transaction_id: answered.or(to_look_up),
            violations: failure.violations.iter().map(ViolationObject::of).collect(),
            cause: failure.cause.as_deref(),
            reason: answer.and_then(|answer| answer.reason.as_deref()),
            request_id: answer.and_then(|answer| answer.request_id.as_deref()),
            retry_after_seconds: answer.and_then(|answer| answer.retry_after_seconds),
            amount: sent.and_then(|sent| sent.amount),
            reference: sent.and_then(|sent| sent.reference.as_deref()),
            sent_at: sent.map(Sent::timestamp),
        }
    }
}

/// The `status_code` of a response, which comes without its quotes: a number if it is one, else its text.
#[derive(Serialize)]
#[serde(untagged)]
enum StatusCode<'a> {
    Number(i64),
    Text(&'a str),
}

impl<'a> StatusCode<'a> {
    fn read(written: &'a str) -> Self {
        written.parse().map_or(Self::Text(written), Self::Number)
    }
}

#[derive(Serialize)]
struct ViolationObject<'a> {
    field: &'a str,
    rule: &'a str,
}

impl<'a> ViolationObject<'a> {
    fn of(violation: &'a Violation) -> Self {
        Self { field: violation.field(), rule: violation.rule() }
    }
}

/// An amount as a JSON number with all of its digits, or null.
#[allow(clippy::ref_option, reason = "serde passes a field by reference")]
pub(crate) fn exact<S: Serializer>(amount: &Option<Amount>, serializer: S) -> Result<S::Ok, S::Error> {
    match amount {
        Some(amount) => as_number(amount, serializer),
        None => serializer.serialize_none(),
    }
}

/// What the service did or found.
#[derive(Clone, Debug)]
pub(crate) struct Processed {
    /// None if the answer came to an earlier call.
    pub(crate) http_status: Option<u16>,
    pub(crate) effect: Effect,
    /// The answer's `data` with the interface's names. Text, so that no amount passes through a binary number.
    pub(crate) data: Box<RawValue>,
    /// What the journal says, if the call has a key.
    pub(crate) note: Option<IntentNote>,
}

/// What a success means for the money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// A payment or a void was processed under this `TransactionId`.
    Moved {
        /// What the answer calls it.
        transaction_id: String,
    },
    /// A look-up of a transaction: nothing changed.
    FoundTransaction {
        asked: TransactionId,
        /// The record's own id. A broken or hostile service may answer with the record of another transaction.
        found: TransactionId,
    },
    /// A look-up of a customer: nothing changed.
    FoundCustomer,
}

impl Processed {
    /// `data` as JSON.
    pub(crate) fn moved<T>(success: &Success<T>, data: String, transaction_id: &TransactionId) -> Self {
        let effect = Effect::Moved { transaction_id: transaction_id.to_string() };
        Self::of(success, effect, raw(data))
    }

    /// The result of a call with a key. Of an earlier answer the journal has kept the id alone.
    pub(crate) fn journaled<T>(
        journaled: Journaled<T>,
        key: &IntentKey,
        moved: impl FnOnce(&Success<T>) -> Self,
    ) -> Self {
        let note = IntentNote {
            key: Some(key.clone()),
            is_recorded: journaled.is_from_the_journal(),
            not_recorded: journaled.not_recorded.map(|error| format!("{error:#}")),
            same_transaction_as: journaled.same_transaction_as,
        };
        let id = &journaled.transaction_id;
        let processed = journaled.answer.as_ref().map_or_else(
            || Self {
                http_status: None,
                effect: Effect::Moved { transaction_id: id.to_string() },
                data: raw(TransactionReceipt::new(id.clone()).to_json()),
                note: None,
            },
            moved,
        );
        Self { note: Some(note), ..processed }
    }

    pub(crate) fn found_transaction(success: &Success<TransactionRecord>, asked: &TransactionId) -> Self {
        let effect = Effect::FoundTransaction { asked: asked.clone(), found: success.transaction_id.clone() };
        Self::of(success, effect, raw(success.to_json()))
    }

    /// The record that was asked for, looked up on the way to something else.
    pub(crate) fn found_on_the_way(record: &TransactionRecord) -> Self {
        let id = &record.transaction_id;
        let effect = Effect::FoundTransaction { asked: id.clone(), found: id.clone() };
        Self { http_status: None, effect, data: raw(record.to_json()), note: None }
    }

    pub(crate) fn found_customer(success: &Success<CustomerRecord>) -> Self {
        Self::of(success, Effect::FoundCustomer, raw(success.to_json()))
    }

    fn of<T>(success: &Success<T>, effect: Effect, data: Box<RawValue>) -> Self {
        Self { http_status: Some(success.http_status().as_u16()), effect, data, note: None }
    }
}

/// What `to_json` returns is JSON; were it not, the `TransactionId` must still get out.
fn raw(json: String) -> Box<RawValue> {
    RawValue::from_string(json).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// What the journal adds to the outcome of a call with a key.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct IntentNote {
    /// Unless it holds a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<IntentKey>,
    /// The outcome is that of an earlier call: nothing was sent now.
    #[serde(rename = "recorded", skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_recorded: bool,
    /// Why the outcome could not be written to the journal, if so.
    #[serde(rename = "journal", skip_serializing_if = "Option::is_none", serialize_with = "not_recorded")]
    pub(crate) not_recorded: Option<String>,
    /// Another intent that is processed as the same transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) same_transaction_as: Option<IntentKey>,
}

#[allow(clippy::ref_option, reason = "serde passes a field by reference")]
fn not_recorded<S: Serializer>(why: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    let why = why.as_deref().unwrap_or_default();
    serializer.collect_str(&format_args!("the outcome could not be written down: {why}"))
}

impl IntentNote {
    /// For people.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let Self { key, is_recorded, not_recorded, same_transaction_as } = self;
        let mut rows: Vec<_> = key.iter().map(|key| ("key", key.as_str().to_owned())).collect();
        if *is_recorded {
            rows.push(("recorded", "by an earlier call; nothing was sent now".to_owned()));
        }
        rows.extend(not_recorded.iter().map(|why| ("NOT WRITTEN", why.clone())));
        rows.extend(same_transaction_as.iter().map(|other| ("SAME AS", other.to_string())));
        rows
    }
}
