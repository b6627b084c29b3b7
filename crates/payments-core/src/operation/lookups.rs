use payments_model::{CustomerId, TransactionId};

/// The lookup of one transaction, `GET /transaction/{id}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetTransaction {
    pub(super) id: TransactionId,
}

impl GetTransaction {
    /// Creates the lookup of this transaction.
    pub fn new(id: TransactionId) -> Self {
        Self { id }
    }
}

/// The lookup of one customer, `GET /customer/{id}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetCustomer {
    pub(super) id: CustomerId,
}

impl GetCustomer {
    /// Creates the lookup of this customer.
    pub fn new(id: CustomerId) -> Self {
        Self { id }
    }
}
