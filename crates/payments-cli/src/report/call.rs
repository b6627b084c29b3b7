//! The result of one call, and its JSON document.

use payments_core::Success;
use payments_journal::{IntentKey, Journaled};
use payments_model::{Amount, CustomerRecord, TransactionId, TransactionReceipt, TransactionRecord};
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, Value};

use crate::failure::Failure;
use crate::format::{exact, timestamp};
use crate::report::advice::second_charge;
use crate::report::intent_note::IntentNote;

/// The document of a failed command.
#[derive(Serialize)]
pub(crate) struct FailedDocument<'a, V> {
    outcome: &'static str,
    error: ErrorObject<'a, V>,
    #[serde(flatten)]
    note: Option<&'a IntentNote>,
}

/// Its member `error`: the documented members always, the others where known.
#[derive(Serialize)]
struct ErrorObject<'a, V> {
    kind: &'a str,
    message: &'a str,
    http_status: Option<u16>,
    status_code: Option<Value>,
    transaction_id: Option<&'a str>,
    violations: Vec<V>,
    #[serde(skip_serializing_if = "Option::is_none")]
    violation_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_snippet: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "exact")]
    amount: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent_at: Option<String>,
}

impl<'a, V> FailedDocument<'a, V> {
    /// `count` is the number of violations, if not all of them are given.
    pub(crate) fn of(failure: &'a Failure, violations: Vec<V>, count: Option<u64>) -> Self {
        let (response, sent) = (failure.response.as_deref(), failure.sent.as_deref());
        let error = ErrorObject {
            kind: failure.kind.as_str(),
            message: &failure.message,
            http_status: response.map(|response| response.http_status),
            status_code: response.and_then(|response| response.status_code.as_deref()).map(status_code),
            transaction_id: failure.transaction_id(),
            violations,
            violation_count: count,
            cause: failure.cause.as_deref(),
            reason: response.and_then(|response| response.reason.as_deref()),
            request_id: response.and_then(|response| response.request_id.as_deref()),
            retry_after_seconds: response.and_then(|response| response.retry_after_seconds),
            body_snippet: response.and_then(|response| response.body.as_deref()),
            amount: sent.and_then(|sent| sent.amount),
            reference: sent.and_then(|sent| sent.reference.as_deref()),
            sent_at: sent.map(|sent| timestamp(sent.at)),
        };
        Self { outcome: failure.outcome.as_str(), error, note: failure.advice.note.as_ref() }
    }
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct ViolationObject<'a> {
            field: &'a str,
            rule: &'a str,
        }

        let objects = self.violations.iter().map(|it| ViolationObject { field: it.field(), rule: it.rule() });
        FailedDocument::of(self, objects.collect(), None).serialize(serializer)
    }
}

/// The `status_code` of a response, which is passed without quotes: a number if it is one, else a string.
fn status_code(written: &str) -> Value {
    written.parse::<i64>().map_or_else(|_| written.into(), Value::from)
}

/// A success.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename = "processed")]
pub(crate) struct Processed {
    /// `None` if an earlier call received the response.
    pub(crate) http_status: Option<u16>,
    #[serde(skip)]
    pub(crate) effect: Effect,
    /// The response's `data` with the interface's names. Text, so that no amount passes through a binary number.
    pub(crate) data: Box<RawValue>,
    /// The journal's part of the result, if the call has a key.
    #[serde(flatten)]
    pub(crate) note: Option<IntentNote>,
}

/// What a success means for the money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// A payment or a void was processed under this `TransactionId`.
    Moved {
        /// The id in the response.
        transaction_id: TransactionId,
    },
    /// A lookup of a transaction: nothing changed.
    FoundTransaction {
        asked: TransactionId,
        /// The record's own id. A broken or hostile service may return the record of another transaction.
        found: TransactionId,
    },
    /// A lookup of a customer: nothing changed.
    FoundCustomer,
}

impl Processed {
    /// A payment or a void; `data` is JSON.
    pub(crate) fn moved<T>(success: &Success<T>, data: String, transaction_id: &TransactionId) -> Self {
        let effect = Effect::Moved { transaction_id: transaction_id.clone() };
        Self::of(success, effect, raw(data))
    }

    /// The result of a call with a key. Of an earlier response the journal has kept only the id.
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
            second_charge: journaled.second_charge.as_deref().and_then(second_charge),
        };
        let id = &journaled.transaction_id;
        let processed = journaled.answer.as_ref().map_or_else(
            || Self {
                http_status: None,
                effect: Effect::Moved { transaction_id: id.clone() },
                data: raw(TransactionReceipt::new(id.clone()).to_json()),
                note: None,
            },
            moved,
        );
        Self { note: Some(note), ..processed }
    }

    /// Whether another attempt of the key may also have been charged.
    pub(super) fn is_second_charge(&self) -> bool {
        self.note.as_ref().is_some_and(|note| note.second_charge.is_some())
    }

    /// The same after the journal has recorded the outcome.
    pub(crate) fn settled(mut self) -> Self {
        if let Some(note) = &mut self.note {
            note.not_recorded = None;
        }
        self
    }

    pub(crate) fn found_transaction(success: &Success<TransactionRecord>, asked: &TransactionId) -> Self {
        let effect = Effect::FoundTransaction { asked: asked.clone(), found: success.transaction_id.clone() };
        Self::of(success, effect, raw(success.to_json()))
    }

    /// A record that a command looked up as one of its steps.
    pub(crate) fn found_record(record: &TransactionRecord) -> Self {
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

/// `to_json` returns JSON. If it ever did not, the `TransactionId` must still be reported.
fn raw(json: String) -> Box<RawValue> {
    RawValue::from_string(json).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::failure::FailedResponse;

    #[test]
    fn numbers_of_a_response_are_written_exactly_d07_d54() {
        for (written, given) in [("101", json!(101)), ("1e2x", json!("1e2x")), ("1.5", json!("1.5"))] {
            assert_eq!(status_code(written), given);
        }
        let mut failure = Failure::invalid("rejected", "text");
        let retry_after_seconds = Some(u64::MAX);
        failure.response =
            Some(Box::new(FailedResponse { retry_after_seconds, ..FailedResponse::default() }));
        let document = serde_json::to_value(&failure).expect("a document");
        assert_eq!(document["error"]["retry_after_seconds"], json!(u64::MAX));
    }
}
