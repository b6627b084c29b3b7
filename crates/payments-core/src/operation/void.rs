use http::Uri;
use payments_model::{Answer, SecretBytes, TransactionId, TransactionReceipt, Void};

use super::sealed::Describe;
use crate::{Endpoint, Error, OperationName};

/// What the service says of a void.
///
/// The answer may name another `TransactionId` than the one that was voided, one for the void itself; both are kept, and
/// nothing is concluded from their being equal or not.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct VoidReceipt {
    /// The transaction that was to be voided, as requested.
    pub voided: TransactionId,
    /// What the answer holds.
    pub receipt: TransactionReceipt,
}

/// `POST /void`
impl Describe for Void {
    type Data = VoidReceipt;
    type Error = Error;
    const NAME: OperationName = OperationName::Void;

    fn uri(&self, endpoint: &Endpoint) -> Result<Uri, Error> {
        Ok(endpoint.void())
    }

    fn body(&self) -> Option<SecretBytes> {
        Some(self.encode())
    }

    fn changes(&self) -> Option<&TransactionId> {
        Some(self.transaction_id())
    }

    fn data(&self, answer: &Answer<'_>) -> Option<VoidReceipt> {
        let receipt = answer.transaction_receipt()?;
        Some(VoidReceipt { voided: self.transaction_id().clone(), receipt })
    }

    fn redact_echoes(data: &mut VoidReceipt, secrets: &[&str]) {
        data.receipt.other.redact_echoes(secrets);
    }

    fn transaction_id(data: &VoidReceipt) -> Option<&str> {
        Some(data.receipt.transaction_id.as_str())
    }
}
