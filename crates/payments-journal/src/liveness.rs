use std::collections::HashMap;

use crate::{IntentStore, OwnerId, StoreError};

/// Which owners are dead. Each is asked about once.
pub(crate) struct Liveness<'a> {
    store: &'a dyn IntentStore,
    is_live: HashMap<OwnerId, bool>,
}

impl<'a> Liveness<'a> {
    pub(crate) fn of(store: &'a dyn IntentStore) -> Self {
        Self { store, is_live: HashMap::from([(store.owner().clone(), true)]) }
    }

    /// Asks about these owners. `false` if one is dead and was not known to be: before it died, it may have recorded how its
    /// attempt ended, so what was read before must be read again.
    pub(crate) async fn are_known(&mut self, owners: Vec<&OwnerId>) -> Result<bool, StoreError> {
        let mut are_known = true;
        for owner in owners {
            if !self.is_live.contains_key(owner) {
                let is_live = self.store.is_live(owner).await?;
                self.is_live.insert(owner.clone(), is_live);
                are_known &= is_live;
            }
        }
        Ok(are_known)
    }

    /// Whether it is known to be dead.
    pub(crate) fn is_dead(&self, owner: &OwnerId) -> bool {
        self.is_live.get(owner) == Some(&false)
    }
}
