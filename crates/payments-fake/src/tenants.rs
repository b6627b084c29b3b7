//! The keys that the service takes, and what belongs to each.

use std::ops::Deref;
use std::sync::Arc;

use crate::store::Store;
use crate::{Change, ChangeLog, DocumentError};

/// Every tenant, in the order of the builder's keys; never none.
///
/// Books are changed through [`change`](Self::change) and [`change_all`](Self::change_all) alone, so that the log is told of
/// each deed, and of all of it at once.
pub(crate) struct Tenants {
    api_keys: Arc<[String]>,
    /// Each key's, in the same order.
    books: Vec<Store>,
    log: Option<Arc<dyn ChangeLog>>,
}

impl Tenants {
    pub(crate) fn new(api_keys: Arc<[String]>, log: Option<Arc<dyn ChangeLog>>) -> Self {
        let books = api_keys.iter().map(|_| {
            let mut store = Store::default();
            if log.is_some() {
                store.note_changes();
            }
            store
        });
        Self { books: books.collect(), api_keys, log }
    }

    /// Every key that is accepted.
    pub(crate) fn api_keys(&self) -> &[String] {
        &self.api_keys
    }

    /// Does one thing to one tenant's books.
    pub(crate) fn change(&mut self, tenant: usize, deed: impl FnOnce(&mut Store)) {
        let store = &mut self.books[tenant];
        deed(store);
        if let Some(log) = &self.log {
            let mut changes = store.take_changes().map(|change| (tenant, change));
            if changes.len() > 0 {
                log.append(&mut changes);
            }
        }
    }

    /// Does one thing to everybody's books.
    pub(crate) fn change_all(&mut self, mut deed: impl FnMut(&mut Store)) {
        for store in &mut self.books {
            deed(store);
        }
        if let Some(log) = &self.log {
            let of_each = self.books.iter_mut().enumerate();
            let changes =
                of_each.flat_map(|(tenant, store)| store.take_changes().map(move |change| (tenant, change)));
            let mut changes = changes.peekable();
            if changes.peek().is_some() {
                log.append(&mut changes);
            }
        }
    }

    /// Restores what the log has kept. It is not told again.
    pub(crate) fn replay(&mut self, tenant: usize, change: Change) -> Result<(), DocumentError> {
        self.books[tenant].replay(change)
    }

    /// Whose key this is. Every key is looked at to its end, so that the time says nothing of how much of one is right.
    pub(crate) fn with_key(&self, given: &[u8]) -> Option<usize> {
        let mut found = None;
        for (index, api_key) in self.api_keys.iter().enumerate() {
            if is_same_key(given, api_key.as_bytes()) {
                found = Some(index);
            }
        }
        found
    }
}

impl Deref for Tenants {
    type Target = [Store];

    fn deref(&self) -> &Self::Target {
        &self.books
    }
}

/// Whether the keys are the same, in a time that depends on the given key's length alone.
fn is_same_key(given: &[u8], expected: &[u8]) -> bool {
    let cycled = expected.iter().cycle().take(given.len());
    let difference =
        given.iter().zip(cycled).fold(0, |difference, (given, expected)| difference | (given ^ expected));
    given.len() == expected.len() && difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_same_only_to_the_last_letter() {
        assert!(is_same_key(b"key", b"key"));
        for other in ["", "k", "kez", "keyk", "keykey", "KEY"] {
            assert!(!is_same_key(other.as_bytes(), b"key"), "{other}");
        }
    }

    #[test]
    fn each_key_has_its_tenant() {
        let tenants = Tenants::new(["one".to_owned(), "two".to_owned()].into(), None);
        assert_eq!(tenants.with_key(b"one"), Some(0));
        assert_eq!(tenants.with_key(b"two"), Some(1));
        assert_eq!(tenants.with_key(b"three"), None);
    }
}
