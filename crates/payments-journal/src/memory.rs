use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::{Applied, Change, Cursor, Intent, IntentKey, IntentStore, OwnerId, Page, StateName, StoreError};

/// A journal in memory, **for tests alone**: it ends with the process, and with it the guarantee.
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
}

#[derive(Debug, Default)]
struct Shared {
    intents: BTreeMap<i64, Intent>,
    positions: HashMap<IntentKey, i64>,
    last: i64,
    live: HashSet<OwnerId>,
}

impl MemoryStore {
    /// A new one without intents.
    pub fn new() -> Self {
        Self::of(Arc::default())
    }

    /// The same intents, opened by somebody else, as another process opens the same file.
    #[must_use]
    pub fn another_owner(&self) -> Self {
        Self::of(self.shared.clone())
    }

    fn of(shared: Arc<Mutex<Shared>>) -> Self {
        let this = Self { shared, owner: OwnerId::new() };
        this.lock().live.insert(this.owner.clone());
        this
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
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

impl IntentStore for MemoryStore {
    fn owner(&self) -> &OwnerId {
        &self.owner
    }

    async fn apply(&self, change: Change) -> Result<Applied, StoreError> {
        let mut shared = self.lock();
        let position = shared.positions.get(change.key()).copied();
        let found = position.and_then(|position| shared.intents.get(&position)).cloned();
        let written = change.decide(found.as_ref());
        if let Some(intent) = &written {
            let position = position.unwrap_or_else(|| {
                shared.last += 1;
                let last = shared.last;
                shared.positions.insert(intent.key.clone(), last);
                last
            });
            shared.intents.insert(position, intent.clone());
        }
        Ok(Applied { found, written })
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        let shared = self.lock();
        Ok(shared.positions.get(key).and_then(|position| shared.intents.get(position)).cloned())
    }

    async fn list(
        &self,
        states: &[StateName],
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        let shared = self.lock();
        let from = after.map_or(i64::MIN, |cursor| cursor.position().saturating_add(1));
        let mut rest =
            shared.intents.range(from..).filter(|(_, intent)| states.contains(&intent.state.name()));
        let rows: Vec<_> = rest.by_ref().take(limit).collect();
        let next = rest.next().and_then(|_| rows.last()).map(|(position, _)| Cursor::new(**position));
        Ok(Page { intents: rows.into_iter().map(|(_, intent)| intent.clone()).collect(), next })
    }

    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        Ok(self.lock().live.contains(owner))
    }

    async fn purge(&self, ended_before: SystemTime) -> Result<u64, StoreError> {
        let mut shared = self.lock();
        let Shared { intents, positions, .. } = &mut *shared;
        let before = intents.len();
        intents.retain(|_, intent| intent.is_unresolved() || intent.changed_at >= ended_before);
        positions.retain(|_, position| intents.contains_key(position));
        Ok((before - intents.len()) as u64)
    }
}
