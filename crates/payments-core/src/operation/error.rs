use http::StatusCode;
use payments_model::TransactionId;
use payments_model::unversioned::{Body, Status, salvage_transaction_id, salvaged_transaction_ids};

use super::sealed::Describe;
use crate::error::{Cause, Failure, Found};
use crate::response::{Meaning, Summary, meaning_for_lookup, meaning_for_payment};
use crate::{Delivery, Error, LookupError, Outcome};

/// How a failure becomes an operation's error.
#[expect(unnameable_types, reason = "only the two error types of this crate are it")]
pub trait OperationError: std::error::Error + Sized {
    /// What a response means, `changes` being the transaction that the request changes. `body` is what `bytes` are read as.
    fn meaning(
        http: StatusCode,
        summary: Summary,
        body: &Body<'_>,
        bytes: &[u8],
        changes: Option<&TransactionId>,
    ) -> Meaning;

    /// The error of `operation`. `body` and `bytes` are the response, as far as it was read.
    fn of<O: Describe + ?Sized>(operation: &O, failure: Failure, body: &Body<'_>, bytes: &[u8]) -> Self;

    /// The error, if it is a lookup's.
    fn as_lookup(&self) -> Option<&LookupError> {
        None
    }

    /// What went wrong.
    fn failure(&self) -> &Failure;

    /// For the observer: whether the money can have moved; nothing for a lookup.
    fn outcome_to_observe(&self) -> Option<Outcome> {
        None
    }

    /// For the observer: the transaction to look up.
    fn transaction_to_observe(&self) -> Option<&TransactionId> {
        None
    }
}

impl OperationError for Error {
    fn meaning(
        http: StatusCode,
        summary: Summary,
        body: &Body<'_>,
        bytes: &[u8],
        changes: Option<&TransactionId>,
    ) -> Meaning {
        let names_a_transaction = || transaction_ids(body, bytes, changes).next().is_some();
        meaning_for_payment(http, summary, http.is_client_error() && names_a_transaction())
    }

    fn of<O: Describe + ?Sized>(operation: &O, failure: Failure, body: &Body<'_>, bytes: &[u8]) -> Self {
        let outcome = match (&failure.cause, failure.meaning()) {
            (_, Some(Meaning::RefusedByService | Meaning::RefusedByIntermediary)) => Outcome::Rejected,
            (Cause::Transport(error), None) if error.delivery() == Delivery::NotProcessed => {
                Outcome::NotProcessed
            }
            _ => Outcome::Unknown,
        };
        let mut found = match body {
            Body::Object(said) => Found {
                transaction_id: said.transaction_id(),
                record_status: said.data_status(),
                record: said.transaction_record(),
            },
            _ => Found::default(),
        };
        if found.transaction_id.is_none() {
            found.transaction_id = salvage_transaction_id(bytes);
        }
        // A refusal in foreign words whose ids differ: nobody can say which of them is the payment's.
        let is_foreign = !matches!(
            body,
            Body::Object(said) if matches!(said.status(), Status::Success | Status::Failure | Status::Other)
        );
        let is_unclear_refusal = failure.meaning() == Some(Meaning::Unclear)
            && failure.http_status().is_some_and(|status| status.is_client_error());
        let is_another = |id: TransactionId| Some(&id) != found.transaction_id.as_ref();
        if is_foreign
            && is_unclear_refusal
            && transaction_ids(body, bytes, operation.changes()).any(is_another)
        {
            found.transaction_id = None;
        }
        // These are shown as they are, and no id and no code has a key or a card number in it.
        let is_safe = |text: &str| failure.metadata().is_none_or(|metadata| !metadata.secrets.are_in(text));
        found.transaction_id.take_if(|id| !is_safe(id.as_str()));
        found.record.take_if(|record| !is_safe(record.transaction_id.as_str()));
        found.record_status.take_if(|status| !is_safe(status));
        let to_look_up = operation.changes().filter(|id| is_safe(id.as_str())).cloned();
        Self::new(outcome, failure).with_found(found).found_by(operation.found_by()).of_a_void(to_look_up)
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
    fn meaning(
        http: StatusCode,
        summary: Summary,
        _: &Body<'_>,
        _: &[u8],
        _: Option<&TransactionId>,
    ) -> Meaning {
        meaning_for_lookup(http, summary)
    }

    fn of<O: Describe + ?Sized>(_: &O, failure: Failure, _: &Body<'_>, _: &[u8]) -> Self {
        Self::new(failure)
    }

    fn as_lookup(&self) -> Option<&LookupError> {
        Some(self)
    }

    fn failure(&self) -> &Failure {
        self.failure()
    }
}

/// Every transaction identifier that can be read out of a response, in its place or anywhere in the bytes, except the one that
/// the request `changes`: a response may repeat that.
fn transaction_ids(
    body: &Body<'_>,
    bytes: &[u8],
    changes: Option<&TransactionId>,
) -> impl Iterator<Item = TransactionId> {
    let read = match body {
        Body::Object(said) => said.transaction_id(),
        _ => None,
    };
    read.into_iter().chain(salvaged_transaction_ids(bytes)).filter(move |id| Some(id) != changes)
}
