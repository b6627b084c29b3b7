use std::borrow::Cow;

use http::Uri;
use payments_model::unversioned::Envelope;
use payments_model::{CustomerId, CustomerRecord, Field, TransactionId, TransactionRecord, ValidationError};

use super::sealed::{Describe, Facts, redact_transaction_id};
use crate::{Endpoint, LookupError, OperationName};

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

impl Describe for GetTransaction {
    type Data = TransactionRecord;
    type Error = LookupError;
    const NAME: OperationName = OperationName::GetTransaction;

    fn uri(&self, endpoint: &Endpoint) -> Result<Uri, LookupError> {
        record_uri(Self::NAME, endpoint, "transaction", self.id.path_segment())
    }

    fn data(&self, envelope: &Envelope<'_>) -> Option<TransactionRecord> {
        envelope.transaction_record()
    }

    fn redact_ids(data: &mut TransactionRecord, redacted: &dyn Fn(&str) -> Option<String>) {
        redact_transaction_id(&mut data.transaction_id, redacted);
    }

    fn transaction_id(data: &TransactionRecord) -> Option<&str> {
        Some(data.transaction_id.as_str())
    }

    fn facts(&self) -> Facts<'_> {
        Facts { transaction_id: Some(self.id.as_str()), ..Facts::default() }
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

impl Describe for GetCustomer {
    type Data = CustomerRecord;
    type Error = LookupError;
    const NAME: OperationName = OperationName::GetCustomer;

    fn uri(&self, endpoint: &Endpoint) -> Result<Uri, LookupError> {
        record_uri(Self::NAME, endpoint, "customer", self.id.path_segment())
    }

    fn data(&self, envelope: &Envelope<'_>) -> Option<CustomerRecord> {
        envelope.customer_record()
    }

    fn redact_ids(data: &mut CustomerRecord, redacted: &dyn Fn(&str) -> Option<String>) {
        let id =
            data.customer_id.value().and_then(|id| redacted(id.as_str())).and_then(CustomerId::from_answer);
        if let Some(other) = id {
            data.customer_id = Field::Value(other);
        }
    }

    fn transaction_id(_: &CustomerRecord) -> Option<&str> {
        None
    }

    fn facts(&self) -> Facts<'_> {
        Facts::default()
    }
}

/// The URL of one record, if its id can be a path segment.
fn record_uri(
    operation: OperationName,
    endpoint: &Endpoint,
    collection: &str,
    segment: Result<Cow<'_, str>, ValidationError>,
) -> Result<Uri, LookupError> {
    let segment = segment.map_err(|error| LookupError::before_sending(operation, error))?;
    endpoint.record(collection, &segment).map_err(|error| LookupError::before_sending(operation, error))
}
