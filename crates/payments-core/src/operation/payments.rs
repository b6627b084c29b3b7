use payments_model::{
    AchTransaction, CardNumber, CardTransaction, TokenTransaction, TransactionReceipt, TransactionRecord,
    ValidationError, Void,
};

use super::data::VoidReceipt;
use super::exchange::{Content, Operation, Sealed};
use super::facts::Facts;
use super::name::OperationName;
use crate::error::Error;

/// `POST /transaction`
impl Operation for CardTransaction {
    type Data = TransactionRecord;
    type Error = Error;

    fn facts(&self) -> Facts<'_> {
        Facts {
            amount: Some(self.amount()),
            transaction_type: Some(self.transaction_type()),
            convenience_fee: Some(self.convenience_fee()),
            last_four: Some(self.card_number().last_four()),
            ..Facts::new(OperationName::Transaction)
        }
    }
}

impl Sealed for CardTransaction {
    fn content(&self) -> Result<Content<'_>, ValidationError> {
        Ok(Content::Body(self.to_json()))
    }

    fn card_number(&self) -> Option<&CardNumber> {
        Some(Self::card_number(self))
    }

    fn other_secrets(&self) -> Vec<&str> {
        vec![self.cvv().expose_secret(), self.expiry().expose_secret()]
    }
}

/// `POST /transaction`: the interface has one URL and one response for a card and for an account.
impl Operation for AchTransaction {
    type Data = TransactionRecord;
    type Error = Error;

    fn facts(&self) -> Facts<'_> {
        Facts {
            amount: Some(self.amount()),
            transaction_type: Some(self.transaction_type()),
            convenience_fee: Some(self.convenience_fee()),
            ..Facts::new(OperationName::Transaction)
        }
    }
}

impl Sealed for AchTransaction {
    fn content(&self) -> Result<Content<'_>, ValidationError> {
        Ok(Content::Body(self.to_json()))
    }

    fn other_secrets(&self) -> Vec<&str> {
        self.secrets()
    }
}

/// `POST /token-transaction`
impl Operation for TokenTransaction {
    type Data = TransactionReceipt;
    type Error = Error;

    fn facts(&self) -> Facts<'_> {
        Facts {
            amount: Some(self.amount()),
            convenience_fee: Some(self.convenience_fee()),
            token_id: Some(self.token_id()),
            reference: self.reference_no(),
            ..Facts::new(OperationName::TokenTransaction)
        }
    }
}

impl Sealed for TokenTransaction {
    fn content(&self) -> Result<Content<'_>, ValidationError> {
        Ok(Content::Body(self.to_json()))
    }
}

/// `POST /void`
impl Operation for Void {
    type Data = VoidReceipt;
    type Error = Error;

    fn facts(&self) -> Facts<'_> {
        Facts::of_transaction(OperationName::Void, self.transaction_id())
    }
}

impl Sealed for Void {
    fn content(&self) -> Result<Content<'_>, ValidationError> {
        Ok(Content::Body(self.to_json()))
    }
}
