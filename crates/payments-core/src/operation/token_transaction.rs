use http::Uri;
use payments_model::{Answer, SecretBytes, TokenTransaction, TransactionReceipt};

use super::sealed::Describe;
use crate::{Endpoint, Error, OperationName};

/// `POST /token-transaction`
impl Describe for TokenTransaction {
    type Data = TransactionReceipt;
    type Error = Error;
    const NAME: OperationName = OperationName::TokenTransaction;

    fn uri(&self, endpoint: &Endpoint) -> Result<Uri, Error> {
        Ok(endpoint.token_transaction())
    }

    fn body(&self) -> Option<SecretBytes> {
        Some(self.encode())
    }

    fn found_by(&self) -> &'static str {
        match self.reference_no() {
            Some(_) => "its reference, or by token, amount and time",
            None => "token, amount and time",
        }
    }

    fn data(&self, answer: &Answer<'_>) -> Option<TransactionReceipt> {
        answer.transaction_receipt()
    }

    fn redact_echoes(data: &mut TransactionReceipt, secrets: &[&str]) {
        data.other.redact_echoes(secrets);
    }

    fn transaction_id(data: &TransactionReceipt) -> Option<&str> {
        Some(data.transaction_id.as_str())
    }
}
