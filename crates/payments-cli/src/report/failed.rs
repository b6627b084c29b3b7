//! The JSON document of a failed command.

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::value::Value;

use crate::failure::Failure;
use crate::format::{Exact, entry, timestamp};
use crate::report::intent_note::IntentNote;

/// The document. `V` is what it has for each violation.
#[derive(Serialize)]
pub(crate) struct FailedDocument<'a, V> {
    outcome: &'static str,
    error: ErrorObject<'a, V>,
    #[serde(flatten)]
    note: Option<&'a IntentNote>,
}

impl<'a, V> FailedDocument<'a, V> {
    /// `count` is the number of violations, if not all of them are given.
    pub(crate) fn of(failure: &'a Failure, violations: Vec<V>, count: Option<u64>) -> Self {
        let error = ErrorObject { failure, violations, count };
        Self { outcome: failure.outcome.as_str(), error, note: failure.advice.note.as_ref() }
    }
}

struct ErrorObject<'a, V> {
    failure: &'a Failure,
    violations: Vec<V>,
    count: Option<u64>,
}

/// The documented members always, the others where known.
impl<V: Serialize> Serialize for ErrorObject<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { failure, violations, count } = self;
        let (response, sent) = (failure.response.as_deref(), failure.sent.as_deref());
        let status = response.and_then(|response| response.status_code.as_deref()).map(status_code);
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("kind", failure.kind.as_str())?;
        object.serialize_entry("message", &failure.message)?;
        object.serialize_entry("http_status", &failure.http_status())?;
        object.serialize_entry("status_code", &status)?;
        object.serialize_entry("transaction_id", &failure.transaction_id())?;
        object.serialize_entry("violations", violations)?;
        entry(&mut object, "violation_count", *count)?;
        entry(&mut object, "cause", failure.cause.as_ref())?;
        entry(&mut object, "reason", response.and_then(|response| response.reason.as_ref()))?;
        entry(&mut object, "request_id", response.and_then(|response| response.request_id.as_ref()))?;
        let pause = response.and_then(|response| response.retry_after_seconds);
        entry(&mut object, "retry_after_seconds", pause)?;
        entry(&mut object, "body_snippet", response.and_then(|response| response.body.as_ref()))?;
        entry(&mut object, "amount", sent.and_then(|sent| sent.amount).map(Exact))?;
        entry(&mut object, "reference", sent.and_then(|sent| sent.reference.as_ref()))?;
        entry(&mut object, "sent_at", sent.map(|sent| timestamp(sent.at)))?;
        object.end()
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
