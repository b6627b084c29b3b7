use http::Uri;
use payments_model::unversioned::Envelope;
use payments_model::{
    AchTransaction, CardTransaction, SecretBytes, TokenTransaction, TransactionId, TransactionReceipt,
    TransactionRecord, Void,
};
use serde::Serialize;

use super::sealed::{Describe, Facts, redact_transaction_id};
use crate::{Endpoint, Error, OperationName};

/// `POST /transaction`, for a card and for an account: the interface has one URL and one response for both.
macro_rules! describe_payment {
    ($payment:ty, $card_number:expr, $last_four:expr) => {
        impl Describe for $payment {
            type Data = TransactionRecord;
            type Error = Error;
            const NAME: OperationName = OperationName::Transaction;

            fn uri(&self, endpoint: &Endpoint) -> Result<Uri, Error> {
                Ok(endpoint.transaction())
            }

            fn body(&self) -> Option<SecretBytes> {
                Some(self.to_json())
            }

            fn secrets(&self) -> Vec<&str> {
                Self::secrets(self)
            }

            fn card_number(&self) -> Option<&str> {
                let card_number: fn(&Self) -> Option<&str> = $card_number;
                card_number(self)
            }

            fn found_by(&self) -> &'static str {
                // The interface has no field for a reference here (Card transaction request body).
                "amount, last four digits, payer's name and time"
            }

            fn data(&self, envelope: &Envelope<'_>) -> Option<TransactionRecord> {
                envelope.transaction_record()
            }

            fn redact_ids(data: &mut TransactionRecord, redacted: &dyn Fn(&str) -> Option<String>) {
                redact_transaction_id(&mut data.transaction_id, redacted);
            }

            fn into_record(data: TransactionRecord) -> Option<TransactionRecord> {
                Some(data)
            }

            fn transaction_id(data: &TransactionRecord) -> Option<&str> {
                Some(data.transaction_id.as_str())
            }

            fn facts(&self) -> Facts<'_> {
                let last_four: fn(&Self) -> Option<&str> = $last_four;
                Facts { amount: Some(self.amount()), last_four: last_four(self), ..Facts::default() }
            }
        }
    };
}

describe_payment!(CardTransaction, |payment| Some(payment.card_number().expose_secret()), |payment| Some(
    payment.card_number().last_four()
));
describe_payment!(AchTransaction, |_| None, |_| None);

/// `POST /token-transaction`
impl Describe for TokenTransaction {
    type Data = TransactionReceipt;
    type Error = Error;
    const NAME: OperationName = OperationName::TokenTransaction;

    fn uri(&self, endpoint: &Endpoint) -> Result<Uri, Error> {
        Ok(endpoint.token_transaction())
    }

    fn body(&self) -> Option<SecretBytes> {
        Some(self.to_json())
    }

    fn found_by(&self) -> &'static str {
        match self.reference_no() {
            Some(_) => "its reference, or by token, amount and time",
            None => "token, amount and time",
        }
    }

    fn data(&self, envelope: &Envelope<'_>) -> Option<TransactionReceipt> {
        envelope.transaction_receipt()
    }

    fn redact_ids(data: &mut TransactionReceipt, redacted: &dyn Fn(&str) -> Option<String>) {
        redact_transaction_id(&mut data.transaction_id, redacted);
    }

    fn transaction_id(data: &TransactionReceipt) -> Option<&str> {
        Some(data.transaction_id.as_str())
    }

    fn facts(&self) -> Facts<'_> {
        Facts { amount: Some(self.amount()), reference: self.reference_no(), ..Facts::default() }
    }
}

/// What the service returns for a void.
///
/// The response may have another `TransactionId` than the voided transaction, for the void itself. Both ids are kept. Whether they
/// are equal has no meaning.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VoidReceipt {
    /// The transaction to be voided, from the request.
    pub voided: TransactionId,
    /// The receipt in the response.
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
        Some(self.to_json())
    }

    fn changes(&self) -> Option<&TransactionId> {
        Some(self.transaction_id())
    }

    fn data(&self, envelope: &Envelope<'_>) -> Option<VoidReceipt> {
        let receipt = envelope.transaction_receipt()?;
        Some(VoidReceipt { voided: self.transaction_id().clone(), receipt })
    }

    fn redact_ids(data: &mut VoidReceipt, redacted: &dyn Fn(&str) -> Option<String>) {
        redact_transaction_id(&mut data.receipt.transaction_id, redacted);
    }

    fn transaction_id(data: &VoidReceipt) -> Option<&str> {
        Some(data.receipt.transaction_id.as_str())
    }

    fn facts(&self) -> Facts<'_> {
        Facts { transaction_id: Some(self.transaction_id().as_str()), ..Facts::default() }
    }
}
