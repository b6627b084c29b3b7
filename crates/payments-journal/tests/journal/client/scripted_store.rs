//! A store that fails as a test says.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use payments_journal::internals::{Applied, Change, IntentStore, Rows, async_trait};
use payments_journal::{Intent, IntentKey, MemoryStore, OwnerId, Purged, StateName, StoreError};
use tokio::sync::Semaphore;

/// What happens to a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Made,
    /// Made in a journal that is then replaced by an older copy.
    MadeAndLost,
    /// Made, but the caller does not know.
    ReplyLost,
    /// Not made, and the caller knows it.
    Refused,
    /// Not made, and not because of the store.
    Damaged,
    Newer,
    NotAllowed,
    /// Not made, because of the store.
    Poisoned,
    /// Not made, but the caller does not know.
    RequestLost,
    /// Made after the test adds a permit to the gate.
    Held,
    /// Not made, after the test adds a permit to the gate.
    HeldAndRefused,
    /// Made just after a change of another process.
    Overtaken,
    /// Not made, because of a defect.
    Panicked,
}

/// A store that follows a script. After the script every change is made.
#[derive(Clone)]
pub(crate) struct ScriptedStore {
    pub(crate) below: Arc<MemoryStore>,
    lost: Arc<MemoryStore>,
    pub(crate) script: Arc<Mutex<VecDeque<Step>>>,
    /// A permit for each change that has arrived at the gate.
    arrived: Arc<Semaphore>,
    pub(crate) gate: Arc<Semaphore>,
    /// The keys of the changes that were made, in order.
    pub(crate) made: Arc<Mutex<Vec<String>>>,
    /// The changes of another process.
    overtaking: Arc<Mutex<VecDeque<Change>>>,
    /// How often it was closed.
    pub(crate) closed: Arc<Mutex<u32>>,
    /// Why no row can be read.
    unreadable: Arc<Mutex<Option<StoreError>>>,
    has_lost_entries: Arc<AtomicBool>,
}

impl ScriptedStore {
    pub(crate) fn new(script: impl IntoIterator<Item = Step>) -> Self {
        Self::over(MemoryStore::new(), script)
    }

    pub(crate) fn over(below: MemoryStore, script: impl IntoIterator<Item = Step>) -> Self {
        Self {
            below: Arc::new(below),
            lost: Arc::new(MemoryStore::new()),
            script: Arc::new(Mutex::new(script.into_iter().collect())),
            arrived: Arc::new(Semaphore::new(0)),
            gate: Arc::new(Semaphore::new(0)),
            made: Arc::default(),
            overtaking: Arc::default(),
            closed: Arc::default(),
            unreadable: Arc::default(),
            has_lost_entries: Arc::default(),
        }
    }

    /// Continues the script.
    pub(crate) fn then(&self, steps: impl IntoIterator<Item = Step>) {
        self.script.lock().unwrap().extend(steps);
    }

    /// The next change that is [overtaken](Step::Overtaken) is made after this one.
    pub(crate) fn overtake_with(&self, change: Change) {
        self.overtaking.lock().unwrap().push_back(change);
    }

    /// From now on no row is found.
    pub(crate) fn fail_reads(&self, error: StoreError) {
        *self.unreadable.lock().unwrap() = Some(error);
    }

    /// From now on it knows that entries are missing.
    pub(crate) fn lose_history(&self) {
        self.has_lost_entries.store(true, Ordering::Relaxed);
    }

    /// Waits until a change is held.
    pub(crate) async fn until_held(&self) {
        self.arrived.acquire().await.unwrap().forget();
    }
}

impl payments_journal::blocking::Store for ScriptedStore {}

#[async_trait]
impl IntentStore for ScriptedStore {
    fn owner(&self) -> &OwnerId {
        self.below.owner()
    }

    async fn apply(&self, change: Change) -> Result<Applied, StoreError> {
        let step = self.script.lock().unwrap().pop_front().unwrap_or(Step::Made);
        match step {
            Step::Made => {}
            Step::MadeAndLost => return self.lost.apply(change).await,
            Step::ReplyLost => {
                self.below.apply(change).await.unwrap();
                return Err(StoreError::in_doubt("the connection broke"));
            }
            Step::Refused => return Err(StoreError::unavailable("the disk is full")),
            Step::Damaged => return Err(StoreError::damaged("the row cannot be read")),
            Step::Newer => return Err(StoreError::newer("the row is newer")),
            Step::NotAllowed => return Err(StoreError::refused("the row may not be written")),
            Step::Poisoned => return Err(StoreError::poisoned("a sync failed")),
            Step::RequestLost => return Err(StoreError::in_doubt("the connection broke")),
            Step::Held | Step::HeldAndRefused => {
                self.arrived.add_permits(1);
                self.gate.acquire().await.unwrap().forget();
                if matches!(step, Step::HeldAndRefused) {
                    return Err(StoreError::unavailable("the disk is full"));
                }
            }
            Step::Panicked => panic!("a defect of the store"),
            Step::Overtaken => {
                let overtaking = self.overtaking.lock().unwrap().pop_front();
                self.below.apply(overtaking.expect("the test names the other change")).await?;
            }
        }
        self.made.lock().unwrap().push(change.key().to_string());
        self.below.apply(change).await
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        let unreadable = self.unreadable.lock().unwrap().clone();
        unreadable.map_or(Ok(()), Err)?;
        self.below.find(key).await
    }

    async fn list(&self, states: &[StateName], after: Option<i64>, limit: usize) -> Result<Rows, StoreError> {
        self.below.list(states, after, limit).await
    }

    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        self.below.is_live(owner).await
    }

    async fn purge(&self, age: Duration) -> Result<Purged, StoreError> {
        self.below.purge(age).await
    }

    async fn check_history(&self) -> Result<(), StoreError> {
        let lost = || StoreError::history_lost("an older copy was restored");
        if self.has_lost_entries.load(Ordering::Relaxed) { Err(lost()) } else { Ok(()) }
    }

    async fn close(&self) {
        *self.closed.lock().unwrap() += 1;
    }
}
