use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use indexmap::IndexMap;
use payments_model::{CustomerId, CustomerRecord, TokenId, TransactionId};
use thiserror::Error;

use crate::recorded_request::Decided;
use crate::test_values::{TEST_VALUES, TestEffect};
use crate::transaction::{Transaction, TransactionDocument};
use crate::{DocumentError, EntryState, Fixtures, RequestEffect, StoredToken};

/// What one tenant has: transactions, tokens and customers. It is changed by committing an [`Effect`] and by putting
/// records into it, so that whether a payment takes place can be decided apart from what the client is told.
///
/// It notes its changes until they are [taken](Self::take_changes), which its [`Tenants`](crate::tenant::Tenants) do after
/// each deed.
#[derive(Default)]
pub(crate) struct Store {
    transactions: IndexMap<TransactionId, TransactionDocument>,
    tokens: IndexMap<TokenId, StoredToken>,
    customers: IndexMap<CustomerId, CustomerRecord>,
    /// How often each token was charged whose charges the test values count.
    uses: HashMap<&'static str, u32>,
    /// What changed since somebody last asked, if anybody ever will.
    changes: Vec<Change>,
    notes_changes: bool,
}

/// A change that was decided and may be committed now, later or never.
#[derive(Debug)]
pub(crate) enum Effect {
    /// A payment, approved or declined.
    Payment {
        id: TransactionId,
        state: EntryState,
        document: TransactionDocument,
        /// The token it makes.
        new_token: Option<StoredToken>,
    },
    /// A void.
    Void {
        transaction_id: TransactionId,
        status: String,
        reason: Option<String>,
        /// The void's own entry, if it has one.
        entry: Option<(TransactionId, TransactionDocument)>,
    },
}

impl Effect {
    /// What it is to the record of requests.
    pub(crate) fn decided(&self) -> Decided {
        match self {
            Self::Payment { id, state: EntryState::Declined, .. } => {
                (RequestEffect::Declined, Some(id.clone()))
            }
            Self::Payment { id, .. } => (RequestEffect::Charged, Some(id.clone())),
            Self::Void { transaction_id, .. } => (RequestEffect::Voided, Some(transaction_id.clone())),
        }
    }
}

impl Store {
    /// Notes every change from now on.
    pub(crate) fn note_changes(&mut self) {
        self.notes_changes = true;
    }

    /// What changed since the last time, in the order in which it did.
    pub(crate) fn take_changes(&mut self) -> impl ExactSizeIterator<Item = Change> {
        // The room stays for the next deed.
        self.changes.drain(..)
    }

    /// Says whether it took effect: a late void may come after another one, and a transaction is voided once.
    pub(crate) fn commit(&mut self, effect: Effect) -> bool {
        match effect {
            Effect::Payment { id, state: _, document, new_token } => {
                self.put_document(id, document);
                if let Some(token) = new_token {
                    self.put_token(token);
                }
            }
            Effect::Void { transaction_id, status, reason, entry } => {
                let voided = self.document(&transaction_id).map(TransactionDocument::read);
                let Some(mut voided) = voided.filter(Transaction::is_charged) else { return false };
                voided.voided = true;
                voided.void_reason = reason.map(Cow::Owned);
                voided.status = Some(Cow::Owned(status));
                self.put_document(transaction_id, TransactionDocument::of(&voided));
                if let Some((id, document)) = entry {
                    self.put_document(id, document);
                }
            }
        }
        true
    }

    pub(crate) fn put_token(&mut self, token: StoredToken) {
        self.note(|| Change::Token { id: token.token_id.clone(), document: token.to_json().into() });
        self.tokens.insert(token.token_id.clone(), token);
    }

    pub(crate) fn put_customer(&mut self, id: CustomerId, customer: CustomerRecord) {
        self.note(|| Change::Customer { id: id.clone(), document: customer.to_json().into() });
        self.customers.insert(id, customer);
    }

    pub(crate) fn clear(&mut self) {
        self.transactions.clear();
        self.tokens.clear();
        self.customers.clear();
        self.uses.clear();
        self.note(|| Change::Cleared);
    }

    /// Adds the records of the fixtures whose ids are not there yet.
    pub(crate) fn add_missing(&mut self, fixtures: &Fixtures) {
        let Fixtures { customers, tokens, transactions, faults: _ } = fixtures;
        for (id, customer) in customers {
            if self.customer(id).is_none() {
                self.put_customer(id.clone(), customer.clone());
            }
        }
        for token in tokens {
            if self.token(&token.token_id).is_none() {
                self.put_token(token.clone());
            }
        }
        for (id, document) in transactions {
            if self.document(id).is_none() {
                self.put_document(id.clone(), document.clone());
            }
        }
    }

    /// Repeats a change that a log has kept, without noting it again. It says what is wrong with a document that this
    /// version did not write.
    pub(crate) fn replay(&mut self, change: Change) -> Result<(), DocumentError> {
        let notes_changes = std::mem::take(&mut self.notes_changes);
        let replayed = self.repeat(change);
        self.notes_changes = notes_changes;
        replayed
    }

    fn repeat(&mut self, change: Change) -> Result<(), DocumentError> {
        match change {
            Change::Transaction { id, document } => {
                let kept = TransactionDocument::kept(document);
                self.put_document(id, kept.ok_or_else(|| not_kept("a transaction"))?);
            }
            Change::Token { id: _, document } => self.put_token(StoredToken::from_json(&document)?),
            Change::Customer { id, document } => {
                // A test may have made it odder than a fixture may be.
                let kept = serde_json::from_str(&document);
                self.put_customer(id, kept.map_err(|_| not_kept("a customer"))?);
            }
            Change::Cleared => self.clear(),
        }
        Ok(())
    }

    fn put_document(&mut self, id: TransactionId, document: TransactionDocument) {
        self.note(|| Change::Transaction { id: id.clone(), document: Arc::clone(document.text()) });
        let counted = TEST_VALUES.iter().filter(|row| row.effect == TestEffect::ApprovesTwice);
        let used = counted.map(|row| row.value).find(|token| document.is_charge_of(token));
        let replaced = self.transactions.insert(id, document);
        if let (Some(token), None) = (used, replaced) {
            *self.uses.entry(token).or_default() += 1;
        }
    }

    /// The change is made only if somebody will ask for it.
    fn note(&mut self, change: impl FnOnce() -> Change) {
        if self.notes_changes {
            self.changes.push(change());
        }
    }

    pub(crate) fn document(&self, id: &TransactionId) -> Option<&TransactionDocument> {
        self.transactions.get(id)
    }

    /// In the order in which they were committed.
    pub(crate) fn documents(&self) -> impl ExactSizeIterator<Item = &TransactionDocument> {
        self.transactions.values()
    }

    pub(crate) fn token(&self, id: &TokenId) -> Option<&StoredToken> {
        self.tokens.get(id)
    }

    pub(crate) fn tokens(&self) -> impl Iterator<Item = &StoredToken> {
        self.tokens.values()
    }

    /// How often a test token was charged; only those count whose charges the test values limit.
    pub(crate) fn uses(&self, id: &TokenId) -> u32 {
        self.uses.get(id.as_str()).copied().unwrap_or_default()
    }

    pub(crate) fn customer(&self, id: &CustomerId) -> Option<&CustomerRecord> {
        self.customers.get(id)
    }

    pub(crate) fn customers(&self) -> impl Iterator<Item = &CustomerRecord> {
        self.customers.values()
    }
}

fn not_kept(what: &str) -> DocumentError {
    DocumentError::new(format!("it is not {what} as this version keeps it"))
}

/// One change of what a tenant holds, small enough to be written down and enough to be replayed.
///
/// The documents are JSON, and the same as in [`Tenant::state_json`](crate::Tenant::state_json). They hold masked cards and
/// personal data, never a card number.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A transaction is new, or takes the place of the one with the same id, as after a void.
    Transaction {
        /// The id it is looked up by.
        id: TransactionId,
        /// Its record and what the ledger knows beyond it.
        document: Arc<str>,
    },
    /// A token is new, or takes the place of the one with the same id.
    Token {
        /// The id it is charged by.
        id: TokenId,
        /// The token.
        document: Arc<str>,
    },
    /// A customer is new, or takes the place of the one with the same id.
    Customer {
        /// The id it is looked up by.
        id: CustomerId,
        /// The record.
        document: Arc<str>,
    },
    /// Everything is gone.
    Cleared,
}

/// The documents hold personal data: only ids are shown.
impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transaction { id, document: _ } => write!(f, "Transaction({id})"),
            Self::Token { id, document: _ } => write!(f, "Token({id})"),
            Self::Customer { id, document: _ } => write!(f, "Customer({id})"),
            Self::Cleared => f.write_str("Cleared"),
        }
    }
}

/// What writes the changes of a gateway down, so that they outlive it.
///
/// Changes come in groups, each of which is one deed: a payment with the token that it makes, a void with its own entry, all
/// that a load adds, a reset of every tenant. A group must become durable as a whole or not at all, or the next start would
/// know half of a deed.
///
/// [`Responder::respond`](crate::Responder::respond) hands out no reply before everything that the reply can speak of is
/// [flushed](Self::flushed), so that an answered payment is a kept one.
pub trait ChangeLog: Send + Sync + 'static {
    /// Takes the changes of one group, at least one, each with its tenant's place in the builder's order of keys.
    ///
    /// Called in the order in which the changes took effect and under the gateway's lock: it must not block, and must not
    /// call the gateway.
    fn append(&self, group: &mut dyn Iterator<Item = (usize, Change)>);

    /// Ready when everything that was appended before this call is durable.
    fn flushed(&self) -> Flushed;
}

/// See [`ChangeLog::flushed`].
pub type Flushed = Pin<Box<dyn Future<Output = Result<(), NotDurable>> + Send>>;

/// Changes could not be made durable. Whoever waits for them must not be told that they took place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Error)]
#[error("the change could not be made durable")]
#[non_exhaustive]
pub struct NotDurable;

impl NotDurable {
    /// Says no more than that; the log tells elsewhere why.
    pub const fn new() -> Self {
        Self
    }
}
