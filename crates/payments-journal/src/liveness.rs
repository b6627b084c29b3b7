use std::collections::HashMap;

use crate::{OwnerId, StoreError};

/// Whether owners are alive. Each is asked about once.
#[derive(Default)]
pub(crate) struct Liveness(HashMap<OwnerId, bool>);

impl Liveness {
    /// This owner is the one that asks.
    pub(crate) fn of(owner: &OwnerId) -> Self {
        Self(HashMap::from([(owner.clone(), true)]))
    }

    /// `false` if it is dead and was not known to be: before it died, it may have recorded how its attempt ended, so what was
    /// read before must be read again.
    pub(crate) async fn is_known(
        &mut self,
        owner: &OwnerId,
        is_live: impl Future<Output = Result<bool, StoreError>>,
    ) -> Result<bool, StoreError> {
        if self.0.contains_key(owner) {
            return Ok(true);
        }
        let is_live = is_live.await?;
        self.0.insert(owner.clone(), is_live);
        Ok(is_live)
    }

    /// Whether it is known to be dead.
    pub(crate) fn is_dead(&self, owner: &OwnerId) -> bool {
        self.0.get(owner) == Some(&false)
    }
}
