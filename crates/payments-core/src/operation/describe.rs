use std::fmt::Debug;

use http::Uri;
use payments_model::unversioned::Envelope;
use payments_model::{SecretBytes, TransactionId};

use super::facts::Facts;
use super::name::OperationName;
use crate::Endpoint;
use crate::error::{CallError, Cause};

/// The differences between the operations.
#[allow(
    unnameable_types,
    unreachable_pub,
    reason = "other crates cannot name it, which seals `Operation`; Rust 1.91 reports the second lint"
)]
pub trait Describe {
    /// The data of a success.
    type Data: Debug;

    /// [`Error`](crate::Error) for a payment or a void, [`LookupError`](crate::LookupError) for a lookup.
    type Error: CallError;

    /// The operation's name.
    const NAME: OperationName;

    /// What identifies the request.
    fn describe(&self) -> Facts<'_>;

    /// The URL of the request.
    fn uri(&self, endpoint: &Endpoint) -> Result<Uri, Cause>;

    /// The body of a `POST`, or `None` for a `GET`.
    fn body(&self) -> Option<SecretBytes> {
        None
    }

    /// The request's secrets, to be masked in the texts that are kept of a response.
    fn secrets(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The card number of the request, if it has one.
    fn card_number(&self) -> Option<&str> {
        None
    }

    /// The data of a success, if the response has it.
    fn data(&self, envelope: &Envelope<'_>) -> Option<Self::Data>;

    /// Replaces each id of a success for which `redacted` returns another text.
    fn redact_ids(data: &mut Self::Data, redacted: &dyn Fn(&str) -> Option<String>);

    /// The transaction that a success is about.
    fn transaction_id(data: &Self::Data) -> Option<&TransactionId>;
}

/// Replaces the id if `redacted` returns another text.
pub(crate) fn redact_transaction_id(id: &mut TransactionId, redacted: &dyn Fn(&str) -> Option<String>) {
    if let Some(other) = redacted(id.as_str()).and_then(TransactionId::from_answer) {
        *id = other;
    }
}
