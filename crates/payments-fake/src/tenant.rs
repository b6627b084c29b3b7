use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use payments_model::CustomerRecord;

use crate::store::Store;
use crate::transaction::TransactionDocument;
use crate::{Change, ChangeLog, DocumentError, Ledger, Responder, StoredToken, fixtures};

/// What belongs to one API key: a ledger, tokens and customers of its own. See
/// [`FakeGateway::tenant`](crate::FakeGateway::tenant).
///
/// Another key sees none of it. Faults, gates and the record of requests are the server's and are shared.
#[derive(Clone)]
pub struct Tenant {
    responder: Responder,
    index: usize,
}

impl Tenant {
    pub(crate) fn new(responder: Responder, index: usize) -> Self {
        Self { responder, index }
    }

    /// What the service did so far for this key.
    pub fn ledger(&self) -> Ledger {
        self.with(|store| Ledger::new(store.documents().map(TransactionDocument::entry).collect()))
    }

    /// How many transactions there are, declined and voided ones included.
    pub fn transaction_count(&self) -> usize {
        self.with(|store| store.documents().len())
    }

    /// The tokens that payments or tests made, oldest first; the named ones of the test values are not among them.
    pub fn tokens(&self) -> Vec<StoredToken> {
        self.with(|store| store.tokens().cloned().collect())
    }

    /// Adds a customer that can be looked up, or replaces the one of the same id. A card number in one of its texts is
    /// masked.
    ///
    /// # Panics
    ///
    /// If the record has no `CustomerId`.
    #[track_caller]
    pub fn add_customer(&self, mut customer: CustomerRecord) {
        let id =
            customer.customer_id.value().cloned().expect("a customer needs a CustomerId to be looked up by");
        fixtures::mask_texts(&mut customer);
        self.change(|store| store.put_customer(id, customer));
    }

    /// The same from JSON, as in [`Fixtures::from_json`](crate::Fixtures::from_json). Gives the record back as it is kept.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it.
    pub fn add_customer_json(&self, json: &str) -> Result<String, DocumentError> {
        let (id, customer) = fixtures::customer(json)?;
        let kept = customer.to_json();
        self.change(|store| store.put_customer(id, customer));
        Ok(kept)
    }

    /// Adds a token that can be charged, or replaces the one of the same id; JSON as in
    /// [`Fixtures::from_json`](crate::Fixtures::from_json). Gives the token back as it is kept.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it.
    pub fn add_token_json(&self, json: &str) -> Result<String, DocumentError> {
        let token = StoredToken::from_json(json)?;
        let kept = token.to_json();
        self.change(|store| store.put_token(token));
        Ok(kept)
    }

    /// Everything as JSON: `{"transactions": […], "tokens": […], "customers": […]}`, oldest first, the seeded customer
    /// included.
    ///
    /// A transaction is its record's fields and `Operation`, `ReferenceNo`, `Description`, `TokenId`, `Voided`, `Declined`,
    /// `VoidReason` and `ProcessedAt`. [`Fixtures::from_json`](crate::Fixtures::from_json) reads it.
    pub fn state_json(&self) -> String {
        self.with(|store| {
            let seeded = fixtures::seeded_customer();
            let is_missing = store.customer(&fixtures::seeded_customer_id()).is_none();
            let seeded = is_missing.then_some(&seeded);
            let customers = seeded.into_iter().chain(store.customers()).map(CustomerRecord::to_json);
            format!(
                r#"{{"transactions":[{}],"tokens":[{}],"customers":[{}]}}"#,
                join(store.documents().map(|document| document.text().as_ref())),
                join(store.tokens().map(StoredToken::to_json)),
                join(customers),
            )
        })
    }

    /// Repeats a change that a [`ChangeLog`](crate::ChangeLog) has kept; the log is not told of it again.
    ///
    /// # Errors
    ///
    /// If its document is not one that this version wrote.
    pub fn replay(&self, change: Change) -> Result<(), DocumentError> {
        self.responder.service().tenants.replay(self.index, change)
    }

    /// Forgets everything of this key but the seeded customer.
    pub fn clear(&self) {
        self.change(Store::clear);
    }

    fn with<T>(&self, look: impl FnOnce(&Store) -> T) -> T {
        look(&self.responder.service().tenants[self.index])
    }

    fn change(&self, deed: impl FnOnce(&mut Store)) {
        self.responder.service().tenants.change(self.index, deed);
    }
}

fn join<T: AsRef<str>>(documents: impl Iterator<Item = T>) -> String {
    let mut joined = String::new();
    for document in documents {
        if !joined.is_empty() {
            joined.push(',');
        }
        joined.push_str(document.as_ref());
    }
    joined
}

impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { responder: _, index } = self;
        f.debug_tuple("Tenant").field(index).finish()
    }
}

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
