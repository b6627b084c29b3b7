use payments_core::Success;
use payments_model::TransactionId;

use crate::{IntentKey, StoreError};

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
    /// Another intent that the journal already holds as processed as this very transaction: a payment if this is a payment,
    /// a void if this is a void. The charge was processed and is written down like any other. But the service has given one
    /// id to two charges, or a person has resolved the other one with the wrong id: let a person compare both with the
    /// service before either is trusted.
    ///
    /// It is found when this call writes the end. It is `None` for an end that is written later (see
    /// [`not_recorded`](Self::not_recorded)), and if a PostgreSQL server goes away between the writing and the looking.
    pub same_transaction_as: Option<IntentKey>,
}

impl<T> Journaled<T> {
    /// Whether nothing was sent now, because an earlier call with the same key was processed.
    pub fn is_from_the_journal(&self) -> bool {
        self.answer.is_none()
    }
}
