use http::Uri;
use payments_model::{AchTransaction, Answer, CardTransaction, SecretBytes, TransactionRecord};

use super::sealed::Describe;
use crate::{Endpoint, Error, OperationName};

/// `POST /transaction`, for a card as for an account: the interface shows one address and one answer.
macro_rules! describe {
    ($($payment:ty)*) => {$(
        impl Describe for $payment {
            type Data = TransactionRecord;
            type Error = Error;
            const NAME: OperationName = OperationName::Transaction;

            fn uri(&self, endpoint: &Endpoint) -> Result<Uri, Error> {
                Ok(endpoint.transaction())
            }

            fn body(&self) -> Option<SecretBytes> {
                Some(self.encode())
            }

            fn secrets(&self) -> Vec<&str> {
                Self::secrets(self)
            }

            fn found_by(&self) -> &'static str {
                // The interface has no field for a reference here (Card transaction request body).
                "amount, last four digits, payer's name and time"
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
    )*};
}

describe!(CardTransaction AchTransaction);
