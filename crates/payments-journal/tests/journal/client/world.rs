//! A service, a journal, and the client that is tested.

use payments_core::OperationName;
use payments_core::model::{TransactionId, TransactionRecord};
use payments_fake::{FakeGateway, Fault};
use payments_journal::{
    Error, Intent, Journal, JournaledClient, MemoryStore, Resolution, ResolveError, Store,
};

use crate::client::support::{Result, TEN_FIFTY, key, payment_of};

/// A service, a journal and a client that uses both.
pub(crate) struct World {
    pub(crate) gateway: FakeGateway,
    pub(crate) client: JournaledClient,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::over(MemoryStore::new()).await
    }

    pub(crate) async fn over(store: impl Store) -> Self {
        let gateway = FakeGateway::new();
        let client = JournaledClient::new(gateway.client(), Journal::open(store).await.unwrap());
        Self { gateway, client }
    }

    pub(crate) async fn pay(&self) -> Result {
        self.client.process_token(&key(), &payment_of(TEN_FIFTY)).await
    }

    /// Pays, and gets an error because of this fault.
    pub(crate) async fn fail(&self, fault: Fault) -> Error {
        self.gateway.arm(fault);
        self.pay().await.unwrap_err()
    }

    pub(crate) async fn intent(&self) -> Intent {
        self.client.journal().find(&key()).await.unwrap().unwrap()
    }

    /// Resolves the intent as it is now.
    pub(crate) async fn resolve(&self, resolution: Resolution) -> std::result::Result<Intent, ResolveError> {
        self.client.journal().resolve(&self.intent().await, resolution).await
    }

    /// Looks up this transaction through this client, and resolves the intent as it is now as processed.
    pub(crate) async fn look_up(
        &self,
        client: &JournaledClient,
        id: &TransactionId,
    ) -> std::result::Result<(Intent, TransactionRecord), ResolveError> {
        let resolution = Resolution::processed(id.clone(), "ada");
        client.look_up_and_resolve(&self.intent().await, resolution).await
    }

    /// The number of payments that were sent to the service.
    pub(crate) fn sent(&self) -> usize {
        let moves_money = |operation: OperationName| operation.moves_money();
        self.gateway.requests().iter().filter(|request| request.operation.is_some_and(moves_money)).count()
    }
}
