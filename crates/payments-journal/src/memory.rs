use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use futures_util::FutureExt as _;

use crate::apply::{RowTransaction, ServiceTransaction};
use crate::service_change::{NAMED, ServiceChange, ServiceError};
use crate::store::closed;
use crate::summary::Tally;
use crate::{
    Applied, Change, Intent, IntentKey, IntentStore, Journal, OwnerId, Purged, Rows, StateName, StoreError,
};

/// A journal in memory, **only for tests**: it ends with the process, and with it the guarantee.
///
/// ```
/// use payments_journal::{Journal, MemoryStore};
///
/// # async fn example() -> Result<(), payments_journal::StoreError> {
/// let store = MemoryStore::new();
/// let another_process = Journal::open(store.another_owner()).await?;
/// let this_process = Journal::open(store).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct MemoryStore {
    shared: Arc<Mutex<Shared>>,
    owner: OwnerId,
    is_closed: AtomicBool,
}

#[derive(Debug, Default)]
struct Shared {
    rows: HashMap<IntentKey, Row>,
    /// The newest position.
    last: i64,
    live: HashSet<OwnerId>,
}

#[derive(Debug)]
struct Row {
    position: i64,
    intent: Intent,
    /// By a monotonic clock.
    written: Instant,
    /// The age that a test has added.
    older_by: Duration,
}

impl Row {
    fn age(&self) -> Duration {
        self.written.elapsed().saturating_add(self.older_by)
    }

    fn is_of(&self, service: &str) -> bool {
        self.intent.service.as_deref() == Some(service)
    }
}

impl MemoryStore {
    /// Creates an empty journal.
    pub fn new() -> Self {
        Self::of(Arc::default())
    }

    /// Makes all rows older by this, to test [purging](crate::Journal::purge_older_than). The times of the intents do not
    /// change.
    pub fn make_older(&self, by: Duration) {
        for row in self.lock().rows.values_mut() {
            row.older_by = row.older_by.saturating_add(by);
        }
    }

    /// The same intents, opened by another owner, as another process opens the same file.
    #[must_use]
    pub fn another_owner(&self) -> Self {
        Self::of(self.shared.clone())
    }

    fn of(shared: Arc<Mutex<Shared>>) -> Self {
        let this = Self { shared, owner: OwnerId::new(), is_closed: AtomicBool::new(false) };
        this.lock().live.insert(this.owner.clone());
        this
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn while_open(&self) -> Result<MutexGuard<'_, Shared>, StoreError> {
        if self.is_closed.load(Ordering::Relaxed) { Err(closed()) } else { Ok(self.lock()) }
    }
}

impl RowTransaction for Shared {
    type Error = StoreError;

    async fn holder(&mut self, change: &Change, row: &Intent) -> Result<Option<IntentKey>, StoreError> {
        let Some(id) = change.transaction_to_search() else { return Ok(None) };
        let is_other_holder = |other: &&Intent| {
            other.key != row.key
                && other.held_transactions().any(|held| held == id)
                && other.is_void() == row.is_void()
                && row.service.as_ref().is_none_or(|service| other.is_at_base_url_of(service))
        };
        let other = self.rows.values().map(|row| &row.intent).find(is_other_holder);
        Ok(other.map(|other| other.key.clone()))
    }

    async fn write(&mut self, _: Option<&Intent>, row: &Intent) -> Result<(), StoreError> {
        let position = self.rows.get(&row.key).map_or(self.last + 1, |row| row.position);
        self.last = self.last.max(position);
        let intent = row.clone();
        let row = Row { position, intent, written: Instant::now(), older_by: Duration::ZERO };
        self.rows.insert(row.intent.key.clone(), row);
        Ok(())
    }
}

impl ServiceTransaction for Shared {
    type Error = StoreError;

    async fn tallies(&mut self, service: &str) -> Result<Vec<Tally>, StoreError> {
        let mut tallies = Vec::new();
        for row in self.rows.values().filter(|row| row.is_of(service)) {
            Tally::of_intent(&row.intent).add_to(&mut tallies);
        }
        Ok(tallies)
    }

    async fn same_transactions(&mut self, service: &str, at: &str) -> Result<Vec<String>, StoreError> {
        let held = |intent: &Intent| -> Vec<_> {
            intent.held_transactions().map(|id| (id.clone(), intent.is_void())).collect()
        };
        let (own, others): (Vec<&Row>, Vec<&Row>) = self.rows.values().partition(|row| row.is_of(service));
        let is_there = |row: &&Row| row.intent.service.is_some() && row.intent.is_at_base_url_of(at);
        let others = others.into_iter().filter(is_there);
        let taken: HashSet<_> = others.flat_map(|row| held(&row.intent)).collect();
        let same = own.into_iter().filter(|row| held(&row.intent).iter().any(|id| taken.contains(id)));
        Ok(same.map(|row| row.intent.key.to_string()).take(NAMED as usize).collect())
    }

    async fn rename(&mut self, change: &ServiceChange, _: &str) -> Result<(), StoreError> {
        for Row { intent, .. } in self.rows.values_mut().filter(|row| row.is_of(change.service())) {
            *intent = change.renamed(intent);
        }
        Ok(())
    }

    async fn forget(&mut self, service: &str) -> Result<(), StoreError> {
        self.rows.retain(|_, row| !row.is_of(service));
        Ok(())
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.lock().live.remove(&self.owner);
    }
}

#[async_trait]
impl IntentStore for MemoryStore {
    fn owner(&self) -> &OwnerId {
        &self.owner
    }

    async fn apply(&self, change: Change) -> Result<Applied, StoreError> {
        let mut shared = self.while_open()?;
        let found = shared.rows.get(change.key()).map(|row| row.intent.clone());
        change.apply_to(found, &mut *shared).now_or_never().expect("memory answers at once")
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        Ok(self.while_open()?.rows.get(key).map(|row| row.intent.clone()))
    }

    async fn list(&self, states: &[StateName], after: Option<i64>, limit: usize) -> Result<Rows, StoreError> {
        let shared = self.while_open()?;
        let is_asked_for = |row: &&Row| {
            states.contains(&row.intent.state.name()) && after.is_none_or(|after| row.position > after)
        };
        let mut rows: Vec<_> = shared.rows.values().filter(is_asked_for).collect();
        rows.sort_unstable_by_key(|row| row.position);
        Ok(rows.into_iter().take(limit).map(|row| (row.position, row.intent.clone())).collect())
    }

    async fn change_service(&self, change: ServiceChange) -> Result<Option<ServiceError>, StoreError> {
        let mut shared = self.while_open()?;
        change.apply_to(&mut *shared).now_or_never().expect("memory answers at once")
    }

    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        Ok(self.while_open()?.live.contains(owner))
    }

    async fn purge(&self, age: Duration) -> Result<Purged, StoreError> {
        let (now, age) = (SystemTime::now(), age.max(Journal::YOUNGEST_TO_PURGE));
        let mut purged = Purged::default();
        self.while_open()?.rows.retain(|_, row| {
            let is_kept = row.intent.is_unresolved() || row.age() <= age;
            if !is_kept {
                purged.intents += 1;
                purged.newest = purged.newest.max(now.checked_sub(row.age()));
            }
            is_kept
        });
        Ok(purged)
    }

    async fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    async fn accept_history(&self, _: &str, _: Option<u64>, _: SystemTime) -> Result<(), StoreError> {
        self.while_open().map(drop)
    }
}
