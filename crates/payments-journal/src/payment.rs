use std::future::Future;

use payments_core::{Client, Error, Success, VoidReceipt};
use payments_model::{
    AchTransaction, CardTransaction, TokenTransaction, TransactionId, TransactionReceipt, TransactionRecord,
    Void,
};

use crate::IntentRequest;

/// A request that moves money, as the journal sees it.
pub(crate) trait Payment: Clone + Send + Sync + 'static {
    type Data: Send + 'static;

    /// What may be kept of it.
    fn intent_request(&self) -> IntentRequest;

    /// What no key may hold.
    fn secrets(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The token or id that is kept of it.
    fn kept_id(&self) -> Option<&str> {
        None
    }

    fn transaction_id(data: &Self::Data) -> &TransactionId;

    fn send(&self, client: &Client) -> impl Future<Output = Result<Success<Self::Data>, Error>> + Send;
}

impl Payment for CardTransaction {
    type Data = TransactionRecord;

    fn intent_request(&self) -> IntentRequest {
        self.into()
    }

    fn secrets(&self) -> Vec<&str> {
        Self::secrets(self)
    }

    fn transaction_id(data: &TransactionRecord) -> &TransactionId {
        &data.transaction_id
    }

    async fn send(&self, client: &Client) -> Result<Success<TransactionRecord>, Error> {
        client.process_card(self).await
    }
}

impl Payment for AchTransaction {
    type Data = TransactionRecord;

    fn intent_request(&self) -> IntentRequest {
        self.into()
    }

    fn secrets(&self) -> Vec<&str> {
        Self::secrets(self)
    }

    fn transaction_id(data: &TransactionRecord) -> &TransactionId {
        &data.transaction_id
    }

    async fn send(&self, client: &Client) -> Result<Success<TransactionRecord>, Error> {
        client.process_ach(self).await
    }
}

impl Payment for TokenTransaction {
    type Data = TransactionReceipt;

    fn kept_id(&self) -> Option<&str> {
        Some(self.token_id().as_str())
    }

    fn intent_request(&self) -> IntentRequest {
        self.into()
    }

    fn transaction_id(data: &TransactionReceipt) -> &TransactionId {
        &data.transaction_id
    }

    async fn send(&self, client: &Client) -> Result<Success<TransactionReceipt>, Error> {
        client.process_token(self).await
    }
}

impl Payment for Void {
    type Data = VoidReceipt;

    fn kept_id(&self) -> Option<&str> {
        Some(Self::transaction_id(self).as_str())
    }

    fn intent_request(&self) -> IntentRequest {
        self.into()
    }

    fn transaction_id(data: &VoidReceipt) -> &TransactionId {
        &data.receipt.transaction_id
    }

    async fn send(&self, client: &Client) -> Result<Success<VoidReceipt>, Error> {
        client.void(self).await
    }
}
