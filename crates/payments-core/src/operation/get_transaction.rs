use http::Uri;
use payments_model::{Answer, TransactionId, TransactionRecord};

use super::sealed::Describe;
use crate::{Endpoint, LookupError, OperationName};

/// The look-up of one transaction, `GET /transaction/{id}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetTransaction {
    id: TransactionId,
}

impl GetTransaction {
    /// Looks up this transaction.
    pub fn new(id: TransactionId) -> Self {
        Self { id }
    }
}

impl Describe for GetTransaction {
    type Data = TransactionRecord;
    type Error = LookupError;
    const NAME: OperationName = OperationName::GetTransaction;

    fn uri(&self, endpoint: &Endpoint) -> Result<Uri, LookupError> {
        let segment = self.id.path_segment().map_err(|error| LookupError::invalid(Self::NAME, error))?;
        endpoint.record("transaction", segment).map_err(LookupError::configuration)
    }

    fn data(&self, answer: &Answer<'_>) -> Option<TransactionRecord> {
        answer.transaction_record()
    }

    fn redact_echoes(data: &mut TransactionRecord, secrets: &[&str]) {
        data.redact_echoes(secrets);
    }

    fn transaction_id(data: &TransactionRecord) -> Option<&str> {
        Some(data.transaction_id.as_str())
    }
}
