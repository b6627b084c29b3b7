use std::fmt;
use std::sync::Arc;

use payments_model::{CustomerRecord, TransactionId};
use serde::Serialize;

use crate::document::to_json;
use crate::fixtures::{CustomerDocument, TokenDocument};
use crate::gateway_core::GatewayCore;
use crate::store::Store;
use crate::transaction::WrittenTransaction;
use crate::{DocumentError, Fixtures, Ledger, LedgerEntry, StoredToken, fixtures, test_values};

/// The ledger, tokens and customers of one API key, or of several that share them. See [`FakeGateway::tenant`](crate::FakeGateway::tenant).
///
/// Other keys cannot see them. Faults, gates and recorded requests belong to the gateway and are shared.
#[derive(Clone)]
pub struct Tenant {
    pub(crate) core: Arc<GatewayCore>,
    /// Its index among the tenants.
    pub(crate) index: usize,
}

impl Tenant {
    /// What the service did for this key so far.
    pub fn ledger(&self) -> Ledger {
        Ledger { entries: self.with(|store| store.entries().collect()) }
    }

    /// The entry of one transaction, without reading the whole ledger.
    pub fn entry(&self, id: &TransactionId) -> Option<LedgerEntry> {
        self.with(|store| store.transactions.get(id).map(|entry| LedgerEntry::clone(entry)))
    }

    /// How many transactions there are, declined and voided ones included.
    pub fn transaction_count(&self) -> usize {
        self.with(|store| store.transactions.len())
    }

    /// The tokens that payments or tests created, oldest first, without the named tokens of the test values.
    pub fn tokens(&self) -> Vec<StoredToken> {
        self.with(|store| store.tokens.values().cloned().collect())
    }

    /// Adds a customer that can be looked up, or replaces the one with the same id; JSON as in
    /// [`Fixtures::from_json`](crate::Fixtures::from_json). Returns the stored record.
    ///
    /// # Errors
    ///
    /// The first problem found.
    pub fn add_customer_json(&self, json: &str) -> Result<String, DocumentError> {
        let (id, customer) = fixtures::record::<CustomerDocument>(json)?;
        let stored = customer.to_json();
        self.core.state().stores[self.index].customers.insert(id, customer);
        Ok(stored)
    }

    /// Adds a token that can be charged, or replaces the one with the same id; JSON as in
    /// [`Fixtures::from_json`](crate::Fixtures::from_json). Returns the stored token.
    ///
    /// # Errors
    ///
    /// The first problem found.
    pub fn add_token_json(&self, json: &str) -> Result<String, DocumentError> {
        let (id, token) = fixtures::record::<TokenDocument>(json)?;
        let stored = to_json(&token);
        let mut state = self.core.state();
        state.randomness.reserve([id.as_str()].into_iter());
        state.stores[self.index].tokens.insert(id, token);
        Ok(stored)
    }

    /// Every record as JSON: `{"transactions": […], "tokens": […], "customers": […]}`, oldest first, including the seeded
    /// customer.
    ///
    /// A transaction has the fields of its record and `Operation`, `ReferenceNo`, `Description`, `TokenId`, `Voided`,
    /// `Declined`, `VoidReason` and `ProcessedAt`. [`Fixtures::from_json`](crate::Fixtures::from_json) reads this JSON.
    pub fn state_json(&self) -> String {
        #[derive(Serialize)]
        struct State<'a> {
            transactions: Vec<WrittenTransaction<'a>>,
            tokens: Vec<&'a StoredToken>,
            customers: Vec<&'a CustomerRecord>,
        }

        // Requests wait only for this.
        let (transactions, tokens, customers) = self.with(|store| {
            let transactions: Vec<_> = store.transactions.values().cloned().collect();
            (transactions, store.tokens.clone(), store.customers.clone())
        });
        let seeded = fixtures::seeded_customer();
        let is_replaced = customers.keys().any(|id| id.as_str() == test_values::CUSTOMER);
        let seeded = Some(&seeded).filter(|_| !is_replaced);
        to_json(&State {
            transactions: transactions.iter().map(|entry| WrittenTransaction::from(&**entry)).collect(),
            tokens: tokens.values().collect(),
            customers: seeded.into_iter().chain(customers.values()).collect(),
        })
    }

    /// Adds the records of the fixtures to this key, except those whose ids it already has, and arms their faults, which all
    /// keys share.
    pub fn load(&self, fixtures: &Fixtures) {
        self.core.state().load(self.index..self.index + 1, fixtures);
    }

    fn with<T>(&self, read: impl FnOnce(&Store) -> T) -> T {
        read(&self.core.state().stores[self.index])
    }
}

/// Records hold personal data, so only their number is shown.
impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tenant({} transactions)", self.transaction_count())
    }
}
