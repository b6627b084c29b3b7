use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::columns::Kept;
use crate::{Change, IntentKey};

/// The rows that this store has begun and not ended, as it has written them: a guess, which may be out of date.
#[derive(Debug, Default)]
pub(super) struct Begun(Mutex<HashMap<IntentKey, Kept>>);

impl Begun {
    pub(super) fn remember(&self, key: IntentKey, row: Kept) {
        self.lock().insert(key, row);
    }

    /// What may be there if the change is the end of what was begun. It is forgotten.
    pub(super) fn take(&self, change: &Change) -> Option<Kept> {
        if change.is_last_word() { self.lock().remove(change.key()) } else { None }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IntentKey, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
