use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use payments_journal::internals::{Applied, Change, IntentStore};
use payments_journal::{Intent, IntentKey, MemoryStore, OwnerId, Page, Purged, StateName, StoreError};

/// A fault in making a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreFault {
    /// The change is not made, and the caller knows it.
    Refused,
    /// The change is made, but the caller does not know.
    ReplyLost,
    /// The change is not made, but the caller does not know.
    RequestLost,
}

/// A store whose next changes fail as in the list, in order; `None` succeeds.
#[derive(Clone)]
pub(crate) struct FaultyStore {
    below: Arc<MemoryStore>,
    script: Arc<Mutex<Vec<Option<StoreFault>>>>,
}

impl FaultyStore {
    pub(crate) fn new(below: MemoryStore, script: impl IntoIterator<Item = Option<StoreFault>>) -> Self {
        let mut script: Vec<_> = script.into_iter().collect();
        script.reverse();
        Self { below: Arc::new(below), script: Arc::new(Mutex::new(script)) }
    }

    pub(crate) fn then(&self, fault: Option<StoreFault>) {
        self.script.lock().unwrap().insert(0, fault);
    }
}

impl payments_journal::blocking::Store for FaultyStore {}

impl IntentStore for FaultyStore {
    fn owner(&self) -> &OwnerId {
        self.below.owner()
    }

    async fn apply(&self, change: Change) -> Result<Applied, StoreError> {
        let fault = self.script.lock().unwrap().pop().flatten();
        match fault {
            None => self.below.apply(change).await,
            Some(StoreFault::Refused) => Err(StoreError::unavailable("the disk is full")),
            Some(StoreFault::ReplyLost) => {
                self.below.apply(change).await.unwrap();
                Err(StoreError::in_doubt("the connection broke"))
            }
            Some(StoreFault::RequestLost) => Err(StoreError::in_doubt("the connection broke")),
        }
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.below.find(key).await
    }

    async fn list(&self, states: &[StateName], after: Option<i64>, limit: usize) -> Result<Page, StoreError> {
        self.below.list(states, after, limit).await
    }

    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        self.below.is_live(owner).await
    }

    async fn purge(&self, age: Duration) -> Result<Purged, StoreError> {
        self.below.purge(age).await
    }
}
