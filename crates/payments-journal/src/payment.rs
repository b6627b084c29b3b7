use payments_core::{Error, Operation, VoidReceipt};
use payments_model::{
    AchTransaction, CardTransaction, TokenTransaction, TransactionId, TransactionReceipt, TransactionRecord,
    Void,
};

use crate::IntentRequest;

/// A request that moves money, as the journal sees it.
pub(crate) trait Payment:
    Operation<Error = Error, Data: Send + 'static> + Clone + Send + Sync + 'static
{
    /// What may be kept of it.
    fn intent_request(&self) -> IntentRequest;

    /// Card or account data, which no key may hold.
    fn card_data(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The token or id that is kept of it.
    fn kept_id(&self) -> Option<&str> {
        None
    }

    /// The transaction that the response names.
    fn processed_as(data: &Self::Data) -> &TransactionId;
}

impl Payment for CardTransaction {
    fn intent_request(&self) -> IntentRequest {
        self.into()
    }

    fn card_data(&self) -> Vec<&str> {
        self.secrets()
    }

    fn processed_as(data: &TransactionRecord) -> &TransactionId {
        &data.transaction_id
    }
}

impl Payment for AchTransaction {
    fn intent_request(&self) -> IntentRequest {
        self.into()
    }

    fn card_data(&self) -> Vec<&str> {
        self.secrets()
    }

    fn processed_as(data: &TransactionRecord) -> &TransactionId {
        &data.transaction_id
    }
}

impl Payment for TokenTransaction {
    fn intent_request(&self) -> IntentRequest {
        self.into()
    }

    fn kept_id(&self) -> Option<&str> {
        Some(self.token_id().as_str())
    }

    fn processed_as(data: &TransactionReceipt) -> &TransactionId {
        &data.transaction_id
    }
}

impl Payment for Void {
    fn intent_request(&self) -> IntentRequest {
        self.into()
    }

    fn kept_id(&self) -> Option<&str> {
        Some(self.transaction_id().as_str())
    }

    fn processed_as(data: &VoidReceipt) -> &TransactionId {
        &data.receipt.transaction_id
    }
}
