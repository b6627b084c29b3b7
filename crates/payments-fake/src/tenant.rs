use std::sync::Arc;

use payments_model::{CustomerId, CustomerRecord};

use crate::store::Store;
use crate::transaction::TransactionDocument;
use crate::{Change, ChangeLog, DocumentError, Ledger, Responder, StoredToken, fixtures, test_values};

/// What belongs to one API key: a ledger, tokens and customers of its own. See
/// [`FakeGateway::tenant`](crate::FakeGateway::tenant).
///
/// Another key sees none of it. Faults, gates and the record of requests are the server's and are shared.
#[derive(Clone, Debug)]
pub struct Tenant {
    pub(crate) responder: Responder,
    /// Its place among the builder's keys.
    pub(crate) index: usize,
}

impl Tenant {
    /// What the service did so far for this key.
    pub fn ledger(&self) -> Ledger {
        let entries =
            self.with(|store| store.transactions.values().map(TransactionDocument::entry).collect());
        Ledger { entries }
    }

    /// How many transactions there are, declined and voided ones included.
    pub fn transaction_count(&self) -> usize {
        self.with(|store| store.transactions.len())
    }

    /// The tokens that payments or tests made, oldest first; the named ones of the test values are not among them.
    pub fn tokens(&self) -> Vec<StoredToken> {
        self.with(|store| store.tokens.values().cloned().collect())
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
        self.change(|store| store.put_customer(id, customer.to_json().into()));
    }

    /// The same from JSON, as in [`Fixtures::from_json`](crate::Fixtures::from_json). Gives the record back as it is kept.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it.
    pub fn add_customer_json(&self, json: &str) -> Result<String, DocumentError> {
        let (id, kept) = fixtures::customer(json)?;
        self.change(|store| store.put_customer(id, Arc::clone(&kept)));
        Ok(kept.to_string())
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
            let transactions: Vec<&str> = store.transactions.values().map(|kept| &**kept.text()).collect();
            let tokens: Vec<_> = store.tokens.values().map(StoredToken::to_json).collect();
            let is_seeded = |id: &CustomerId| id.as_str() == test_values::CUSTOMER;
            let seeded = (!store.customers.keys().any(is_seeded)).then(fixtures::seeded_customer);
            let customers: Vec<&str> =
                seeded.as_deref().into_iter().chain(store.customers.values().map(|kept| &**kept)).collect();
            format!(
                r#"{{"transactions":[{}],"tokens":[{}],"customers":[{}]}}"#,
                transactions.join(","),
                tokens.join(","),
                customers.join(","),
            )
        })
    }

    /// Repeats a change that a [`ChangeLog`](crate::ChangeLog) has kept; the log is not told of it again.
    ///
    /// # Errors
    ///
    /// If its document is not one that this version wrote.
    pub fn replay(&self, change: Change) -> Result<(), DocumentError> {
        self.responder.service().tenants.books[self.index].replay(change)
    }

    /// Forgets everything of this key but the seeded customer.
    pub fn clear(&self) {
        self.change(Store::clear);
    }

    fn with<T>(&self, look: impl FnOnce(&Store) -> T) -> T {
        look(&self.responder.service().tenants.books[self.index])
    }

    fn change(&self, deed: impl FnOnce(&mut Store)) {
        self.responder.service().tenants.change(self.index, deed);
    }
}

/// Every tenant, in the order of the builder's keys; never none.
///
/// Whoever changes books [tells the log](Self::tell_log) afterwards, once for all that one deed changes.
pub(crate) struct Tenants {
    pub(crate) api_keys: Arc<[String]>,
    /// Each key's, in the same order.
    pub(crate) books: Vec<Store>,
    log: Option<Arc<dyn ChangeLog>>,
}

impl Tenants {
    pub(crate) fn new(api_keys: Arc<[String]>, log: Option<Arc<dyn ChangeLog>>) -> Self {
        let store = |_| Store { notes_changes: log.is_some(), ..Store::default() };
        Self { books: api_keys.iter().map(store).collect(), api_keys, log }
    }

    /// Does one thing to one tenant's books.
    pub(crate) fn change<T>(&mut self, tenant: usize, deed: impl FnOnce(&mut Store) -> T) -> T {
        let done = deed(&mut self.books[tenant]);
        self.tell_log();
        done
    }

    /// Tells the log what changed since the last time, as one group.
    pub(crate) fn tell_log(&mut self) {
        if let Some(log) = &self.log {
            let of_each = self.books.iter_mut().enumerate();
            let changes = of_each
                .flat_map(|(tenant, store)| store.changes.drain(..).map(move |change| (tenant, change)));
            let mut changes = changes.peekable();
            if changes.peek().is_some() {
                log.append(&mut changes);
            }
        }
    }

    /// Whose key this is. A key of the right length is looked at to its end, so that the time says nothing of how much of it
    /// is right.
    pub(crate) fn with_key(&self, given: &[u8]) -> Option<usize> {
        let is_same = |own: &String| {
            let difference =
                own.bytes().zip(given).fold(0, |difference, (own, given)| difference | (own ^ given));
            own.len() == given.len() && difference == 0
        };
        self.api_keys.iter().position(is_same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_same_only_to_the_last_letter() {
        let tenants = Tenants::new(["key".to_owned()].into(), None);
        assert_eq!(tenants.with_key(b"key"), Some(0));
        for other in ["", "k", "kez", "keyk", "keykey", "KEY"] {
            assert_eq!(tenants.with_key(other.as_bytes()), None, "{other}");
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
