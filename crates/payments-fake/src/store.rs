use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use payments_model::{CustomerId, CustomerRecord, TokenId, TransactionId};

use crate::recorded_request::Decided;
use crate::test_values::{TEST_VALUES, TestEffect};
use crate::transaction::{Transaction, TransactionDocument};
use crate::{Change, DocumentError, EntryState, Fixtures, RequestEffect, StoredToken};

/// What one tenant has: transactions, tokens and customers. It is changed by committing an [`Effect`] and by putting
/// records into it, so that whether a payment takes place can be decided apart from what the client is told.
///
/// It notes its changes until they are [taken](Self::take_changes), which its [`Tenants`](crate::tenants::Tenants) do after
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
