use std::borrow::Cow;

use payments_model::unversioned::Envelope;
use payments_model::{CustomerId, CustomerRecord, Field, TransactionId, TransactionRecord, ValidationError};

use super::exchange::{Operation, Sealed, redact_transaction_id};
use super::facts::Facts;
use super::name::OperationName;
use crate::error::LookupError;

/// The lookup of one transaction, `GET /transaction/{id}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetTransaction {
    id: TransactionId,
}

impl GetTransaction {
    /// Creates the lookup of this transaction.
    pub fn new(id: TransactionId) -> Self {
        Self { id }
    }
}

impl Sealed for GetTransaction {}

impl Operation for GetTransaction {
    type Data = TransactionRecord;
    type Error = LookupError;
    const NAME: OperationName = OperationName::GetTransaction;

    fn path_id(&self) -> Result<Cow<'_, str>, ValidationError> {
        self.id.path_segment()
    }

    fn data(&self, envelope: &Envelope<'_>) -> Option<TransactionRecord> {
        envelope.transaction_record()
    }

    fn redact_ids(data: &mut TransactionRecord, redacted: &dyn Fn(&str) -> Option<String>) {
        redact_transaction_id(&mut data.transaction_id, redacted);
    }

    fn transaction_id_of(data: &TransactionRecord) -> Option<&TransactionId> {
        Some(&data.transaction_id)
    }

    fn facts(&self) -> Facts<'_> {
        Facts::of_transaction(Self::NAME, &self.id)
    }
}

/// The lookup of one customer, `GET /customer/{id}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetCustomer {
    id: CustomerId,
}

impl GetCustomer {
    /// Creates the lookup of this customer.
    pub fn new(id: CustomerId) -> Self {
        Self { id }
    }
}

impl Sealed for GetCustomer {}

impl Operation for GetCustomer {
    type Data = CustomerRecord;
    type Error = LookupError;
    const NAME: OperationName = OperationName::GetCustomer;

    fn path_id(&self) -> Result<Cow<'_, str>, ValidationError> {
        self.id.path_segment()
    }

    fn data(&self, envelope: &Envelope<'_>) -> Option<CustomerRecord> {
        envelope.customer_record()
    }

    fn redact_ids(data: &mut CustomerRecord, redacted: &dyn Fn(&str) -> Option<String>) {
        let id =
            data.customer_id.value().and_then(|id| redacted(id.as_str())).and_then(CustomerId::from_response);
        if let Some(other) = id {
            data.customer_id = Field::Value(other);
        }
    }

    fn transaction_id_of(_: &CustomerRecord) -> Option<&TransactionId> {
        None
    }

    fn facts(&self) -> Facts<'_> {
        Facts::new(Self::NAME)
    }
}
