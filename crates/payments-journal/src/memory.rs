use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use payments_core::OperationName;
use payments_model::TransactionId;

use crate::{
    Applied, Change, Cursor, Intent, IntentKey, IntentStore, Journal, OwnerId, Page, Purged, StateName,
    StoreError,
};

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

#[derive(Debug)]
struct Shared {
    intents: BTreeMap<i64, Intent>,
    /// When each was last written.
    stored_at: HashMap<i64, SystemTime>,
    positions: HashMap<IntentKey, i64>,
    /// Who is processed as which transaction: of the payments, and of the voids.
    processed: HashMap<(bool, TransactionId), BTreeSet<IntentKey>>,
    last: i64,
    live: HashSet<OwnerId>,
    /// When it was made, by two clocks, of which the second never jumps.
    made: (SystemTime, Instant),
}

impl Shared {
    fn now(&self) -> SystemTime {
        let (time, since) = self.made;
        time + since.elapsed()
    }

    /// The intent no longer holds its transaction.
    fn release(&mut self, intent: &Intent) {
        let Some(held) = intent.processed_as().map(|id| holding(intent, id)) else { return };
        if let Some(holders) = self.processed.get_mut(&held) {
            holders.remove(&intent.key);
            if holders.is_empty() {
                self.processed.remove(&held);
            }
        }
    }
}

fn holding(intent: &Intent, id: &TransactionId) -> (bool, TransactionId) {
    (intent.request.operation == OperationName::Void, id.clone())
}

impl MemoryStore {
    /// A new one without intents.
    pub fn new() -> Self {
        let shared = Shared {
            intents: BTreeMap::new(),
            stored_at: HashMap::new(),
            positions: HashMap::new(),
            processed: HashMap::new(),
            last: 0,
            live: HashSet::new(),
            made: (SystemTime::now(), Instant::now()),
        };
        Self::of(Arc::new(Mutex::new(shared)))
    }

    /// Makes everything that is kept older by this, for a test of [purging](crate::Journal::purge_older_than). The times of
    /// the intents stay.
    pub fn make_older(&self, by: Duration) {
        for stored_at in self.lock().stored_at.values_mut() {
            *stored_at = stored_at.checked_sub(by).unwrap_or(SystemTime::UNIX_EPOCH);
        }
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
        let Some(written) = change.decide(found.as_ref()) else {
            return Ok(Applied { found, written: None, same_transaction_as: None });
        };
        let holders = written.processed_as().and_then(|id| shared.processed.get(&holding(&written, id)));
        let other_holder = holders.and_then(|keys| keys.iter().find(|key| **key != written.key)).cloned();
        if other_holder.is_some() && change.is_refused_if_taken() {
            return Ok(Applied { found, written: None, same_transaction_as: other_holder });
        }
        let position = position.unwrap_or_else(|| {
            shared.last += 1;
            let last = shared.last;
            shared.positions.insert(written.key.clone(), last);
            last
        });
        if let Some(found) = &found {
            shared.release(found);
        }
        if let Some(id) = written.processed_as() {
            let holders = shared.processed.entry(holding(&written, id)).or_default();
            holders.insert(written.key.clone());
        }
        let now = shared.now();
        shared.stored_at.insert(position, now);
        shared.intents.insert(position, written.clone());
        Ok(Applied { found, written: Some(written), same_transaction_as: other_holder })
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

    async fn purge(&self, age: Duration) -> Result<Purged, StoreError> {
        let mut shared = self.lock();
        let mut purged = Purged::default();
        let age = age.max(Journal::YOUNGEST_TO_PURGE);
        let Some(stored_before) = shared.now().checked_sub(age) else { return Ok(purged) };
        let Shared { intents, stored_at, .. } = &mut *shared;
        let is_old = |position: &i64, intent: &mut Intent| {
            !intent.is_unresolved() && stored_at[position] < stored_before
        };
        let old: Vec<_> = intents.extract_if(.., is_old).collect();
        for (position, intent) in &old {
            purged.intents += 1;
            purged.newest = purged.newest.max(shared.stored_at.remove(position));
            shared.positions.remove(&intent.key);
            shared.release(intent);
        }
        Ok(purged)
    }
}
