use std::fmt::Debug;
use std::ops::Deref;

use payments_model::unversioned::Envelope;
use payments_model::{
    CustomerId, CustomerRecord, Field, OtherFields, TransactionId, TransactionReceipt, TransactionRecord,
};
use serde::Serialize;

use super::facts::Facts;

/// What a successful response of an operation contains.
pub(crate) trait ResponseData: Debug + Sized {
    /// Reads it from the response to a request with these facts. `None` if the response does not contain it.
    fn read(envelope: &Envelope<'_>, facts: &Facts<'_>) -> Option<Self>;

    /// Replaces each id for which `redacted` returns another text.
    fn redact_ids(&mut self, redacted: &dyn Fn(&str) -> Option<String>);

    /// The fields that the interface does not have.
    fn other_fields(&mut self) -> &mut OtherFields;

    /// The transaction that it is about.
    fn transaction_id(&self) -> Option<&TransactionId>;
}

/// For what has one id, that of its transaction.
macro_rules! data_of_a_transaction {
    ($data:ident, $read:ident) => {
        impl ResponseData for $data {
            fn read(envelope: &Envelope<'_>, _: &Facts<'_>) -> Option<Self> {
                envelope.$read()
            }

            fn redact_ids(&mut self, redacted: &dyn Fn(&str) -> Option<String>) {
                let id = redacted(self.transaction_id.as_str());
                if let Some(other) = id.and_then(TransactionId::from_response) {
                    self.transaction_id = other;
                }
            }

            fn other_fields(&mut self) -> &mut OtherFields {
                &mut self.other
            }

            fn transaction_id(&self) -> Option<&TransactionId> {
                Some(&self.transaction_id)
            }
        }
    };
}

data_of_a_transaction!(TransactionRecord, transaction_record);
data_of_a_transaction!(TransactionReceipt, transaction_receipt);

/// What the service returns for a void. It dereferences to the receipt in the response.
///
/// The response may have another `TransactionId` than the voided transaction, for the void itself. Both ids are kept. Whether they
/// are equal has no meaning.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VoidReceipt {
    /// The transaction to be voided, from the request.
    pub voided: TransactionId,
    receipt: TransactionReceipt,
}

impl Deref for VoidReceipt {
    type Target = TransactionReceipt;

    fn deref(&self) -> &TransactionReceipt {
        &self.receipt
    }
}

impl ResponseData for VoidReceipt {
    fn read(envelope: &Envelope<'_>, facts: &Facts<'_>) -> Option<Self> {
        Some(Self { voided: facts.transaction_id?.clone(), receipt: envelope.transaction_receipt()? })
    }

    fn redact_ids(&mut self, redacted: &dyn Fn(&str) -> Option<String>) {
        self.receipt.redact_ids(redacted);
    }

    fn other_fields(&mut self) -> &mut OtherFields {
        &mut self.receipt.other
    }

    fn transaction_id(&self) -> Option<&TransactionId> {
        self.receipt.transaction_id()
    }
}

impl ResponseData for CustomerRecord {
    fn read(envelope: &Envelope<'_>, _: &Facts<'_>) -> Option<Self> {
        envelope.customer_record()
    }

    fn redact_ids(&mut self, redacted: &dyn Fn(&str) -> Option<String>) {
        let id = self.customer_id.value().and_then(|id| redacted(id.as_str()));
        if let Some(other) = id.and_then(CustomerId::from_response) {
            self.customer_id = Field::Value(other);
        }
    }

    fn other_fields(&mut self) -> &mut OtherFields {
        &mut self.other
    }

    fn transaction_id(&self) -> Option<&TransactionId> {
        None
    }
}
