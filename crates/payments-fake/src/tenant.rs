use std::fmt;

use payments_model::CustomerRecord;

use crate::store::Store;
use crate::{Change, DocumentError, Ledger, Responder, StoredToken, fixtures};

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
        self.with(|store| Ledger::new(store.documents().map(|kept| kept.read().into()).collect()))
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
