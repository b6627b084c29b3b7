use http::StatusCode;
use payments_model::unversioned::{Body, Status, salvage_transaction_id, salvaged_transaction_ids};
use payments_model::{TransactionId, TransactionRecord};

use super::sealed::Describe;
use crate::error::{Cause, Failure, Found};
use crate::response::{IdSearch, Meaning, Secrets, Summary, meaning_for_lookup, meaning_for_payment};
use crate::{Delivery, Endpoint, Error, LookupError, Outcome};

/// A response, or the part of one that was read.
pub(crate) struct Received<'a> {
    pub(crate) http_status: StatusCode,
    pub(crate) body: Body<'a>,
    /// The bytes that `body` was read from.
    pub(crate) bytes: &'a [u8],
    /// Whether they are the whole body, not encoded.
    pub(crate) is_whole: bool,
}

/// Converts a failure into the error of an operation.
#[allow(
    unnameable_types,
    unreachable_pub,
    reason = "only the two error types of this crate implement it; Rust 1.91 reports the second lint"
)]
pub trait OperationError: std::error::Error + Sized {
    /// What a response means. `changes` is the transaction that the request changes.
    fn meaning(received: &Received<'_>, summary: Summary, changes: Option<&TransactionId>) -> Meaning;

    /// The error of `operation`. `record` is the response's `data`, if it was already read as a record.
    fn of<O: Describe + ?Sized>(
        operation: &O,
        failure: Failure,
        endpoint: Option<&Endpoint>,
        received: Option<&Received<'_>>,
        record: Option<TransactionRecord>,
    ) -> Self;

    /// This error, if it is a lookup's.
    fn as_lookup(&self) -> Option<&LookupError> {
        None
    }

    /// What went wrong.
    fn failure(&self) -> &Failure;

    /// For the observer: whether the money can have moved. `None` for a lookup.
    fn outcome_to_observe(&self) -> Option<Outcome> {
        None
    }

    /// For the observer: the transaction to look up.
    fn transaction_to_observe(&self) -> Option<&TransactionId> {
        None
    }
}

impl OperationError for Error {
    fn meaning(received: &Received<'_>, summary: Summary, changes: Option<&TransactionId>) -> Meaning {
        let http = received.http_status;
        let search = if !received.is_whole {
            IdSearch::Impossible
        } else if http.is_client_error() && transaction_ids(received, changes).next().is_some() {
            IdSearch::Found
        } else {
            IdSearch::NotFound
        };
        meaning_for_payment(http, summary, search)
    }

    fn of<O: Describe + ?Sized>(
        operation: &O,
        failure: Failure,
        endpoint: Option<&Endpoint>,
        received: Option<&Received<'_>>,
        record: Option<TransactionRecord>,
    ) -> Self {
        let outcome = match (&failure.cause, failure.meaning()) {
            (_, Some(Meaning::RefusedByService | Meaning::RefusedByIntermediary)) => Outcome::Rejected,
            (Cause::Configuration(_) | Cause::Validation(_), _) => Outcome::NotProcessed,
            (Cause::Transport(error), None) if error.delivery() == Delivery::NotProcessed => {
                Outcome::NotProcessed
            }
            _ => Outcome::Unknown,
        };
        let mut found = received.map(|received| found_in(received, record)).unwrap_or_default();
        // A refusal without the service's status that contains different ids: any of them may be the payment's.
        if let Some(received) = received
            && failure.meaning() == Some(Meaning::Unclear)
            && received.http_status.is_client_error()
            && has_no_service_status(&received.body)
            && transaction_ids(received, operation.changes())
                .any(|id| Some(&id) != found.transaction_id.as_ref())
        {
            found.transaction_id = None;
        }
        // These are shown unmasked, so an id or a code that contains a secret is dropped.
        let secrets = Secrets::new(&operation.secrets(), endpoint);
        let is_safe = |text: &str| !secrets.are_in(text);
        found.transaction_id.take_if(|id| !is_safe(id.as_str()));
        found.record.take_if(|record| !is_safe(record.transaction_id.as_str()));
        found.record_status.take_if(|status| !is_safe(status));
        let to_look_up = operation.changes().filter(|id| is_safe(id.as_str())).cloned();
        Self::new(outcome, failure)
            .with_found(found)
            .found_by(operation.found_by())
            .with_voided_transaction(to_look_up)
    }

    fn failure(&self) -> &Failure {
        self.failure()
    }

    fn outcome_to_observe(&self) -> Option<Outcome> {
        Some(self.outcome())
    }

    fn transaction_to_observe(&self) -> Option<&TransactionId> {
        self.transaction_id()
    }
}

impl OperationError for LookupError {
    fn meaning(received: &Received<'_>, summary: Summary, _: Option<&TransactionId>) -> Meaning {
        meaning_for_lookup(received.http_status, summary)
    }

    fn of<O: Describe + ?Sized>(
        _: &O,
        failure: Failure,
        _: Option<&Endpoint>,
        _: Option<&Received<'_>>,
        _: Option<TransactionRecord>,
    ) -> Self {
        Self::new(failure)
    }

    fn as_lookup(&self) -> Option<&LookupError> {
        Some(self)
    }

    fn failure(&self) -> &Failure {
        self.failure()
    }
}

/// What an unsuccessful response contains about the transaction.
fn found_in(received: &Received<'_>, record: Option<TransactionRecord>) -> Found {
    let mut found = match &received.body {
        Body::Object(envelope) => {
            let record = record.or_else(|| envelope.transaction_record());
            Found {
                transaction_id: record.as_ref().map(|record| record.transaction_id.clone()),
                record_status: match &record {
                    Some(record) => record.status.value().cloned(),
                    None => envelope.data_status(),
                },
                record,
            }
        }
        _ => Found::default(),
    };
    if found.transaction_id.is_none() {
        found.transaction_id = salvage_transaction_id(received.bytes);
    }
    found
}

/// Whether the body has no `status` that the service may have written.
fn has_no_service_status(body: &Body<'_>) -> bool {
    !matches!(
        body,
        Body::Object(envelope) if matches!(envelope.status(), Status::Success | Status::Failure | Status::Other)
    )
}

/// Every transaction id that can be read from a response, in its documented place or anywhere in the bytes. The id that the request
/// `changes` is left out, because a response may repeat it.
fn transaction_ids(
    received: &Received<'_>,
    changes: Option<&TransactionId>,
) -> impl Iterator<Item = TransactionId> {
    let read = match &received.body {
        Body::Object(envelope) => envelope.transaction_id(),
        _ => None,
    };
    read.into_iter().chain(salvaged_transaction_ids(received.bytes)).filter(move |id| Some(id) != changes)
}
