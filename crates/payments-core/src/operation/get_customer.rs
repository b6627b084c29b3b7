use http::Uri;
use payments_model::{Answer, CustomerId, CustomerRecord};

use super::sealed::Describe;
use crate::{Endpoint, LookupError, OperationName};

/// The look-up of one customer, `GET /customer/{id}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetCustomer {
    id: CustomerId,
}

impl GetCustomer {
    /// Looks up this customer.
    pub fn new(id: CustomerId) -> Self {
        Self { id }
    }
}

impl Describe for GetCustomer {
    type Data = CustomerRecord;
    type Error = LookupError;
    const NAME: OperationName = OperationName::GetCustomer;

    fn uri(&self, endpoint: &Endpoint) -> Result<Uri, LookupError> {
        let segment = self.id.path_segment().map_err(|error| LookupError::invalid(Self::NAME, error))?;
        endpoint.record("customer", segment).map_err(LookupError::configuration)
    }

    fn data(&self, answer: &Answer<'_>) -> Option<CustomerRecord> {
        answer.customer_record()
    }

    fn redact_echoes(data: &mut CustomerRecord, secrets: &[&str]) {
        data.redact_echoes(secrets);
    }

    fn transaction_id(_data: &CustomerRecord) -> Option<&str> {
        None
    }
}
