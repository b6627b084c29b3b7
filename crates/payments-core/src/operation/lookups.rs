use payments_model::{CustomerId, CustomerRecord, TransactionId, TransactionRecord, ValidationError};

use super::exchange::{Content, Operation, Sealed};
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

impl Operation for GetTransaction {
    type Data = TransactionRecord;
    type Error = LookupError;

    fn facts(&self) -> Facts<'_> {
        Facts::of_transaction(OperationName::GetTransaction, &self.id)
    }
}

impl Sealed for GetTransaction {
    fn content(&self) -> Result<Content<'_>, ValidationError> {
        self.id.path_segment().map(Content::PathId)
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

impl Operation for GetCustomer {
    type Data = CustomerRecord;
    type Error = LookupError;

    fn facts(&self) -> Facts<'_> {
        Facts::new(OperationName::GetCustomer)
    }
}

impl Sealed for GetCustomer {
    fn content(&self) -> Result<Content<'_>, ValidationError> {
        self.id.path_segment().map(Content::PathId)
    }
}
