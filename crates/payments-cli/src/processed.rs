//! A command that succeeded, as both output shapes need it.

use payments_core::Success;
use payments_journal::{IntentKey, Journaled};
use payments_model::{CustomerRecord, TransactionId, TransactionReceipt, TransactionRecord};
use serde_json::value::RawValue;

use crate::intent_note::IntentNote;

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
