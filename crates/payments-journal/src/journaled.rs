use payments_core::Success;
use payments_model::TransactionId;

use crate::StoreError;

/// A payment or void that was processed: by this call, or by an earlier one with the same key.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Journaled<T> {
    /// The transaction. Of a void, the one that the answer names.
    pub transaction_id: TransactionId,
    /// The service's answer, if this call got it. `None` if an earlier call did, or if a person said so: then nothing was
    /// sent now, and the journal holds the id alone.
    pub answer: Option<Success<T>>,
    /// Why it could not be written down, if so: the payment **was** processed, and its key stays in doubt. The journal writes
    /// it down before it lets anything new begin, if it can do so again in this process. If it cannot, a later call with the
    /// same key sends nothing and is told that the outcome is unknown, until a person
    /// [resolves](crate::Journal::resolve) it with this transaction's id. Keep the id.
    pub not_recorded: Option<StoreError>,
}

impl<T> Journaled<T> {
    /// Whether nothing was sent now, because an earlier call with the same key was processed.
    pub fn is_from_the_journal(&self) -> bool {
        self.answer.is_none()
    }
}
