use std::ops::Deref;

use payments_model::unversioned::Envelope;
use payments_model::{
    AchTransaction, CardTransaction, SecretBytes, TokenTransaction, TransactionId, TransactionReceipt,
    TransactionRecord, Void,
};
use serde::Serialize;

use super::exchange::{Operation, Sealed, redact_transaction_id};
use super::facts::Facts;
use super::name::OperationName;
use crate::error::Error;

/// `POST /transaction`, for a card and for an account: the interface has one URL and one response for both.
macro_rules! describe_payment {
    ($payment:ty, $card_digits:expr, $last_four:expr) => {
        impl Sealed for $payment {}

        impl Operation for $payment {
            type Data = TransactionRecord;
            type Error = Error;
            const NAME: OperationName = OperationName::Transaction;

            fn body(&self) -> Option<SecretBytes> {
                Some(self.to_json())
            }

            fn secrets(&self) -> Vec<&str> {
                Self::secrets(self)
            }

            fn card_digits(&self) -> Option<&str> {
                let card_digits: fn(&Self) -> Option<&str> = $card_digits;
                card_digits(self)
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
                let last_four: fn(&Self) -> Option<&str> = $last_four;
                Facts {
                    amount: Some(self.amount()),
                    transaction_type: Some(self.transaction_type()),
                    convenience_fee: Some(self.convenience_fee()),
                    last_four: last_four(self),
                    ..Facts::new(Self::NAME)
                }
            }
        }
    };
}

describe_payment!(CardTransaction, |payment| Some(payment.card_number().expose_secret()), |payment| Some(
    payment.card_number().last_four()
));
describe_payment!(AchTransaction, |_| None, |_| None);

impl Sealed for TokenTransaction {}

/// `POST /token-transaction`
impl Operation for TokenTransaction {
    type Data = TransactionReceipt;
    type Error = Error;
    const NAME: OperationName = OperationName::TokenTransaction;

    fn body(&self) -> Option<SecretBytes> {
        Some(self.to_json())
    }

    fn data(&self, envelope: &Envelope<'_>) -> Option<TransactionReceipt> {
        envelope.transaction_receipt()
    }

    fn redact_ids(data: &mut TransactionReceipt, redacted: &dyn Fn(&str) -> Option<String>) {
        redact_transaction_id(&mut data.transaction_id, redacted);
    }

    fn transaction_id_of(data: &TransactionReceipt) -> Option<&TransactionId> {
        Some(&data.transaction_id)
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            amount: Some(self.amount()),
            convenience_fee: Some(self.convenience_fee()),
            token_id: Some(self.token_id()),
            reference: self.reference_no(),
            ..Facts::new(Self::NAME)
        }
    }
}

/// What the service returns for a void. It dereferences to the receipt in the response.
///
/// The response may have another `TransactionId` than the voided transaction, for the void itself. Both ids are kept. Whether they
/// are equal has no meaning.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VoidReceipt {
    /// The transaction to be voided, from the request.
    pub voided: TransactionId,
    receipt: TransactionReceipt,
}

impl Deref for VoidReceipt {
    type Target = TransactionReceipt;

    fn deref(&self) -> &TransactionReceipt {
        &self.receipt
    }
}

impl Sealed for Void {}

/// `POST /void`
impl Operation for Void {
    type Data = VoidReceipt;
    type Error = Error;
    const NAME: OperationName = OperationName::Void;

    fn body(&self) -> Option<SecretBytes> {
        Some(self.to_json())
    }

    fn data(&self, envelope: &Envelope<'_>) -> Option<VoidReceipt> {
        let receipt = envelope.transaction_receipt()?;
        Some(VoidReceipt { voided: self.transaction_id().clone(), receipt })
    }

    fn redact_ids(data: &mut VoidReceipt, redacted: &dyn Fn(&str) -> Option<String>) {
        redact_transaction_id(&mut data.receipt.transaction_id, redacted);
    }

    fn transaction_id_of(data: &VoidReceipt) -> Option<&TransactionId> {
        Some(&data.receipt.transaction_id)
    }

    fn facts(&self) -> Facts<'_> {
        Facts::of_transaction(Self::NAME, self.transaction_id())
    }
}
