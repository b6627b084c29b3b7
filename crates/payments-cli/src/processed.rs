//! A command that succeeded, as both output shapes need it.

use payments_core::Success;
use payments_model::{CustomerRecord, TransactionId, TransactionRecord};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// What the service did or found.
#[derive(Clone, Debug)]
pub(crate) struct Processed {
    pub(crate) http_status: u16,
    pub(crate) effect: Effect,
    /// The answer's `data` with the interface's names. Text, so that no amount passes through a binary number.
    pub(crate) data: Box<RawValue>,
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
    pub(crate) fn moved<T>(
        success: &Success<T>,
        data: &impl Serialize,
        transaction_id: &TransactionId,
    ) -> Self {
        let effect = Effect::Moved { transaction_id: transaction_id.to_string() };
        Self { http_status: success.http_status().as_u16(), effect, data: raw(data) }
    }

    pub(crate) fn found_transaction(success: &Success<TransactionRecord>, asked: &TransactionId) -> Self {
        let effect = Effect::FoundTransaction { asked: asked.clone(), found: success.transaction_id.clone() };
        Self { http_status: success.http_status().as_u16(), effect, data: raw(success.data()) }
    }

    pub(crate) fn found_customer(success: &Success<CustomerRecord>) -> Self {
        let http_status = success.http_status().as_u16();
        Self { http_status, effect: Effect::FoundCustomer, data: raw(success.data()) }
    }
}

/// Records are objects with text keys, which always serialise; were one not to, its `TransactionId` must still get out.
fn raw(data: &impl Serialize) -> Box<RawValue> {
    to_raw_value(data).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
