use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use payments_model::{CustomerId, CustomerRecord, TokenId, TransactionId};

use crate::test_values::{TEST_VALUES, TestEffect};
use crate::transaction_document::TransactionDocument;
use crate::{Change, ChangeLog, EntryState, LedgerEntry, StoredToken, customer_document, token_document};

/// What one tenant has: transactions, tokens and customers. It is changed by committing an [`Effect`] and by putting
/// records into it, so that whether a payment takes place can be decided apart from what the client is told.
#[derive(Default)]
pub(crate) struct Store {
    transactions: IndexMap<TransactionId, TransactionDocument>,
    tokens: IndexMap<TokenId, StoredToken>,
    customers: IndexMap<CustomerId, CustomerRecord>,
    /// How often each token was charged whose charges the test values count.
    uses: HashMap<&'static str, u32>,
    /// Who is told of every change.
    log: Option<TenantLog>,
}

/// A change log and the tenant that writes to it.
struct TenantLog {
    log: Arc<dyn ChangeLog>,
    tenant: usize,
}

/// A change that was decided and may be committed now, later or never.
#[derive(Debug)]
pub(crate) enum Effect {
    /// A payment, approved or declined.
    Payment {
        id: TransactionId,
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
        entry: Option<Box<LedgerEntry>>,
    },
}

impl Store {
    /// Tells the log of every change from now on.
    pub(crate) fn log_to(&mut self, log: Arc<dyn ChangeLog>, tenant: usize) {
        self.log = Some(TenantLog { log, tenant });
    }

    pub(crate) fn commit(&mut self, effect: Effect) {
        match effect {
            Effect::Payment { id, document, new_token } => {
                self.put_document(id, document);
                if let Some(token) = new_token {
                    self.put_token(token);
                }
            }
            Effect::Void { transaction_id, status, reason, entry } => {
                // A late void may come after another one; a transaction is voided once.
                let voided = self.transaction(&transaction_id).filter(LedgerEntry::is_charged);
                let Some(mut voided) = voided else { return };
                voided.state = EntryState::Voided;
                voided.void_reason = reason;
                voided.record.status = status.into();
                self.put_transaction(&voided);
                if let Some(entry) = entry {
                    self.put_transaction(&entry);
                }
            }
        }
    }

    /// Adds a transaction, or replaces the one with the same id in its place.
    pub(crate) fn put_transaction(&mut self, entry: &LedgerEntry) {
        self.put_document(entry.transaction_id().clone(), TransactionDocument::of(entry));
    }

    pub(crate) fn put_token(&mut self, token: StoredToken) {
        if self.log.is_some() {
            let document = token_document::write(&token).into();
            self.tell(Change::Token { id: token.token_id.clone(), document });
        }
        self.tokens.insert(token.token_id.clone(), token);
    }

    pub(crate) fn put_customer(&mut self, id: CustomerId, customer: CustomerRecord) {
        if self.log.is_some() {
            self.tell(Change::Customer {
                id: id.clone(),
                document: customer_document::write(&customer).into(),
            });
        }
        self.customers.insert(id, customer);
    }

    pub(crate) fn clear(&mut self) {
        self.transactions.clear();
        self.tokens.clear();
        self.customers.clear();
        self.uses.clear();
        self.tell(Change::Cleared);
    }

    /// Repeats a change that a log has kept, without telling the log again. It says what is wrong with a document that this
    /// version did not write.
    pub(crate) fn replay(&mut self, change: Change) -> Result<(), Vec<String>> {
        let log = self.log.take();
        let replayed = self.repeat(change);
        self.log = log;
        replayed
    }

    fn repeat(&mut self, change: Change) -> Result<(), Vec<String>> {
        match change {
            Change::Transaction { id, document } => {
                let kept = TransactionDocument::kept(document)
                    .ok_or_else(|| vec!["it is not a transaction as this version keeps it".to_owned()])?;
                self.put_document(id, kept);
            }
            Change::Token { id: _, document } => self.put_token(token_document::read(&document)?),
            Change::Customer { id, document } => {
                let customer = customer_document::kept(&document)
                    .ok_or_else(|| vec!["it is not a customer as this version keeps it".to_owned()])?;
                self.put_customer(id, customer);
            }
            Change::Cleared => self.clear(),
        }
        Ok(())
    }

    fn put_document(&mut self, id: TransactionId, document: TransactionDocument) {
        if self.log.is_some() {
            self.tell(Change::Transaction { id: id.clone(), document: Arc::clone(document.text()) });
        }
        let counted = TEST_VALUES.iter().filter(|row| row.effect == TestEffect::ApprovesTwice);
        let used = counted.map(|row| row.value).find(|token| document.is_charge_of(token));
        let replaced = self.transactions.insert(id, document);
        if let (Some(token), None) = (used, replaced) {
            *self.uses.entry(token).or_default() += 1;
        }
    }

    fn tell(&self, change: Change) {
        if let Some(TenantLog { log, tenant }) = &self.log {
            log.append(*tenant, change);
        }
    }

    pub(crate) fn document(&self, id: &TransactionId) -> Option<&TransactionDocument> {
        self.transactions.get(id)
    }

    pub(crate) fn transaction(&self, id: &TransactionId) -> Option<LedgerEntry> {
        self.document(id).map(TransactionDocument::entry)
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
