//! Outcomes that could not be written at first, and are written later.

use std::collections::VecDeque;
use std::future::Future as _;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use payments_journal::{
    Applied, Change, Cursor, Intent, IntentKey, IntentStore, MemoryStore, OwnerId, Page, Purged, StateName,
    StoreError,
};
use tokio::sync::Semaphore;

use crate::support::{TEN_FIFTY, World, noop_waker, payment_of};

/// What happens to a change.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    Made,
    /// Not made.
    Refused,
    /// Made after the test adds a permit to the gate.
    Held,
    /// Not made, after the test adds a permit to the gate.
    HeldAndRefused,
}

/// A store that follows a script. After the script every change is made.
#[derive(Clone)]
pub(crate) struct ScriptedStore {
    below: Arc<MemoryStore>,
    script: Arc<Mutex<VecDeque<Step>>>,
    /// A permit for each change that has arrived at the gate.
    arrived: Arc<Semaphore>,
    pub(crate) gate: Arc<Semaphore>,
    /// The keys of the changes that were made, in order.
    made: Arc<Mutex<Vec<String>>>,
}

impl ScriptedStore {
    pub(crate) fn new(script: impl IntoIterator<Item = Step>) -> Self {
        Self {
            below: Arc::new(MemoryStore::new()),
            script: Arc::new(Mutex::new(script.into_iter().collect())),
            arrived: Arc::new(Semaphore::new(0)),
            gate: Arc::new(Semaphore::new(0)),
            made: Arc::default(),
        }
    }

    /// Waits until a change is held.
    pub(crate) async fn until_held(&self) {
        self.arrived.acquire().await.unwrap().forget();
    }
}

impl IntentStore for ScriptedStore {
    fn owner(&self) -> &OwnerId {
        self.below.owner()
    }

    async fn apply(&self, change: Change) -> Result<Applied, StoreError> {
        let step = self.script.lock().unwrap().pop_front().unwrap_or(Step::Made);
        match step {
            Step::Made => {}
            Step::Refused => return Err(StoreError::unavailable("the disk is full")),
            Step::Held | Step::HeldAndRefused => {
                self.arrived.add_permits(1);
                self.gate.acquire().await.unwrap().forget();
                if matches!(step, Step::HeldAndRefused) {
                    return Err(StoreError::unavailable("the disk is full"));
                }
            }
        }
        self.made.lock().unwrap().push(change.key().to_string());
        self.below.apply(change).await
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.below.find(key).await
    }

    async fn list(
        &self,
        states: &[StateName],
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        self.below.list(states, after, limit).await
    }

    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        self.below.is_live(owner).await
    }

    async fn purge(&self, age: Duration) -> Result<Purged, StoreError> {
        self.below.purge(age).await
    }
}

/// A payment was made whose outcome could not be written, and the next change is held.
async fn charged_and_unwritten() -> (World, ScriptedStore) {
    charged_and_unwritten_then([Step::Held]).await
}

async fn charged_and_unwritten_then(steps: impl IntoIterator<Item = Step>) -> (World, ScriptedStore) {
    let store = ScriptedStore::new([Step::Made, Step::Refused].into_iter().chain(steps));
    let world = World::over(store.clone()).await;
    assert!(world.pay().await.unwrap().not_recorded.is_some());
    (world, store)
}

#[tokio::test]
async fn cancelled_settle_leaves_the_outcome_for_the_next() {
    let (world, store) = charged_and_unwritten().await;
    let journal = world.client.journal();
    tokio::select! {
        settled = journal.settle() => panic!("{settled:?}"),
        () = store.until_held() => {}
    }
    assert_eq!(world.intent().await.state.name(), StateName::Sending);
    journal.settle().await.unwrap();
    assert_eq!(world.intent().await.state.name(), StateName::Processed);
}

#[tokio::test]
async fn settle_waits_for_another_settle() {
    let (world, store) = charged_and_unwritten().await;
    let first = tokio::spawn({
        let journal = world.client.journal().clone();
        async move { journal.settle().await }
    });
    store.until_held().await;
    {
        let mut second = pin!(world.client.journal().settle());
        let polled = second.as_mut().poll(&mut Context::from_waker(&noop_waker()));
        assert!(matches!(polled, Poll::Pending), "{polled:?}, while the end is not written");
        store.gate.add_permits(1);
        second.await.unwrap();
    }
    assert_eq!(world.intent().await.state.name(), StateName::Processed);
    first.await.unwrap().unwrap();
}

/// A dead database takes long to fail. Calls that wait meanwhile do not start that wait again.
#[tokio::test]
async fn calls_that_wait_for_a_failing_write_fail_with_it() {
    let (world, store) = charged_and_unwritten_then([Step::HeldAndRefused, Step::Held]).await;
    let settle = || {
        let journal = world.client.journal().clone();
        tokio::spawn(async move { journal.settle().await })
    };
    let settling = [settle(), settle(), settle()];
    store.until_held().await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    store.gate.add_permits(1);
    for settled in settling {
        let settled = tokio::time::timeout(Duration::from_secs(30), settled).await;
        settled.expect("they do not try again").unwrap().unwrap_err();
    }
    store.gate.add_permits(1);
    world.client.journal().settle().await.unwrap();
    assert_eq!(world.intent().await.state.name(), StateName::Processed);
}

#[tokio::test]
async fn nothing_begins_while_an_earlier_outcome_is_written() {
    let (world, store) = charged_and_unwritten().await;
    let settling = tokio::spawn({
        let journal = world.client.journal().clone();
        async move { journal.settle().await }
    });
    store.until_held().await;
    let next = tokio::spawn({
        let client = world.client.clone();
        let key = IntentKey::new("invoice-18").unwrap();
        async move { client.process_token(&key, &payment_of(TEN_FIFTY)).await }
    });
    // All tasks run on this thread: the call has run as far as it can.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.sent(), 1, "the second was sent before the first was written");
    store.gate.add_permits(1);
    settling.await.unwrap().unwrap();
    next.await.unwrap().unwrap();
    assert_eq!(*store.made.lock().unwrap(), ["invoice-17", "invoice-17", "invoice-18", "invoice-18"]);
}

#[tokio::test]
async fn unwritten_outcomes_are_written_in_order() {
    // The second begins before the first has ended, so that both outcomes are unwritten at once.
    let store = ScriptedStore::new([Step::Held, Step::Made, Step::Refused, Step::Refused]);
    let world = World::over(store.clone()).await;
    let second = tokio::spawn({
        let client = world.client.clone();
        let key = IntentKey::new("invoice-18").unwrap();
        async move { client.process_token(&key, &payment_of(TEN_FIFTY)).await }
    });
    store.until_held().await;
    assert!(world.pay().await.unwrap().not_recorded.is_some());
    store.gate.add_permits(1);
    assert!(second.await.unwrap().unwrap().not_recorded.is_some());
    world.client.journal().settle().await.unwrap();
    assert_eq!(*store.made.lock().unwrap(), ["invoice-17", "invoice-18", "invoice-17", "invoice-18"]);
}
