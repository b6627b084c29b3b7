use std::sync::Arc;
use std::time::SystemTime;

use payments_core::OperationName;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, TransactionReceipt};
use payments_fake::FakeGateway;
use payments_journal::internals::{Begin, Change, IntentStore};
use payments_journal::{
    AttemptId, Error, Intent, IntentKey, Journal, Journaled, JournaledClient, MemoryStore, Resolution,
    ResolveError,
};

pub(crate) const TEN_FIFTY: Amount = Amount::from_cents(10_50);

pub(crate) fn key() -> IntentKey {
    IntentKey::new("invoice-17").unwrap()
}

pub(crate) fn payment_of(amount: Amount) -> TokenTransaction {
    TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive).build().unwrap()
}

pub(crate) type Result = std::result::Result<Journaled<TransactionReceipt>, Error>;

/// A service, a journal and a client that uses both.
pub(crate) struct World {
    pub(crate) gateway: FakeGateway,
    pub(crate) client: JournaledClient,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::over(MemoryStore::new()).await
    }

    pub(crate) async fn over(store: impl IntentStore) -> Self {
        let gateway = FakeGateway::new();
        let client = JournaledClient::new(gateway.client(), Journal::open(store).await.unwrap());
        Self { gateway, client }
    }

    pub(crate) async fn pay(&self) -> Result {
        self.client.process_token(&key(), &payment_of(TEN_FIFTY)).await
    }

    pub(crate) async fn intent(&self) -> Intent {
        self.client.journal().find(&key()).await.unwrap().unwrap()
    }

    /// Resolves the intent as it is now.
    pub(crate) async fn resolve(&self, resolution: Resolution) -> std::result::Result<Intent, ResolveError> {
        self.client.journal().resolve(&self.intent().await, resolution).await
    }

    /// The number of payments that were sent to the service.
    pub(crate) fn sent(&self) -> usize {
        let moves_money = |operation: OperationName| operation.moves_money();
        self.gateway.requests().iter().filter(|request| request.operation().is_some_and(moves_money)).count()
    }
}

/// The begin of the payment that [`World::pay`] makes, by another process.
pub(crate) fn begin_for(other: &MemoryStore) -> Change {
    let (request, owner) = ((&payment_of(TEN_FIFTY)).into(), other.owner().clone());
    Change::begin(
        Begin::First,
        key(),
        FakeGateway::BASE_URL,
        request,
        AttemptId::new(),
        owner,
        SystemTime::now(),
    )
}

/// For futures that a test polls manually.
pub(crate) fn noop_waker() -> std::task::Waker {
    struct Noop;
    impl std::task::Wake for Noop {
        fn wake(self: Arc<Self>) {}
    }
    Arc::new(Noop).into()
}
