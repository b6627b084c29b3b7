//! The keys that the service takes, and what belongs to each.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::store::Store;

/// Every tenant, in the order of the builder's keys; never none.
pub(crate) struct Tenants {
    api_keys: Arc<[String]>,
    books: Vec<TenantBooks>,
}

/// One key and what belongs to it.
pub(crate) struct TenantBooks {
    pub(crate) api_key: String,
    pub(crate) store: Store,
}

impl Tenants {
    pub(crate) fn new(api_keys: Arc<[String]>) -> Self {
        let books = |api_key: &String| TenantBooks { api_key: api_key.clone(), store: Store::default() };
        Self { books: api_keys.iter().map(books).collect(), api_keys }
    }

    /// Every key that is accepted.
    pub(crate) fn api_keys(&self) -> &[String] {
        &self.api_keys
    }

    /// Whose key this is. Every key is looked at to its end, so that the time says nothing of how much of one is right.
    pub(crate) fn with_key(&self, given: &[u8]) -> Option<usize> {
        let mut found = None;
        for (index, tenant) in self.books.iter().enumerate() {
            if is_same_key(given, tenant.api_key.as_bytes()) {
                found = Some(index);
            }
        }
        found
    }
}

impl Deref for Tenants {
    type Target = [TenantBooks];

    fn deref(&self) -> &Self::Target {
        &self.books
    }
}

impl DerefMut for Tenants {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.books
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
        let tenants = Tenants::new(["one".to_owned(), "two".to_owned()].into());
        assert_eq!(tenants.with_key(b"one"), Some(0));
        assert_eq!(tenants.with_key(b"two"), Some(1));
        assert_eq!(tenants.with_key(b"three"), None);
    }
}
