use std::collections::HashMap;

use payments_model::{CustomerId, CustomerRecord, TokenId, TransactionId};

use crate::{LedgerEntry, StoredToken};

/// What the service keeps: transactions, tokens and customers. It is changed by committing an [`Effect`] and by nothing
/// else, so that whether a payment takes place can be decided apart from what the client is told.
#[derive(Debug, Default)]
pub(crate) struct Store {
    transactions: Vec<LedgerEntry>,
    by_id: HashMap<TransactionId, usize>,
    tokens: Vec<StoredToken>,
    token_by_id: HashMap<TokenId, usize>,
    uses: HashMap<TokenId, u32>,
    customers: HashMap<CustomerId, CustomerRecord>,
}

/// A change that was decided and may be committed now, later or never.
#[derive(Debug)]
pub(crate) enum Effect {
    /// A payment, approved or declined.
    Payment {
        entry: Box<LedgerEntry>,
        /// The token it makes.
        new_token: Option<StoredToken>,
        /// The token whose uses are counted.
        counted_token: Option<TokenId>,
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
    pub(crate) fn commit(&mut self, effect: Effect) {
        match effect {
            Effect::Payment { entry, new_token, counted_token } => {
                self.insert(*entry);
                if let Some(token) = new_token {
                    self.token_by_id.insert(token.token_id.clone(), self.tokens.len());
                    self.tokens.push(token);
                }
                if let Some(token) = counted_token {
                    *self.uses.entry(token).or_default() += 1;
                }
            }
            Effect::Void { transaction_id, status, reason, entry } => {
                // A late void may come after another one; a transaction is voided once.
                let Some(voided) =
                    self.by_id.get(&transaction_id).map(|index| &mut self.transactions[*index])
                else {
                    return;
                };
                if voided.is_charged() {
                    voided.void(status, reason);
                    if let Some(entry) = entry {
                        self.insert(*entry);
                    }
                }
            }
        }
    }

    fn insert(&mut self, entry: LedgerEntry) {
        self.by_id.insert(entry.transaction_id().clone(), self.transactions.len());
        self.transactions.push(entry);
    }

    pub(crate) fn transaction(&self, id: &TransactionId) -> Option<&LedgerEntry> {
        self.by_id.get(id).map(|index| &self.transactions[*index])
    }

    pub(crate) fn transactions(&self) -> &[LedgerEntry] {
        &self.transactions
    }

    pub(crate) fn token(&self, id: &TokenId) -> Option<&StoredToken> {
        self.token_by_id.get(id).map(|index| &self.tokens[*index])
    }

    pub(crate) fn tokens(&self) -> &[StoredToken] {
        &self.tokens
    }

    pub(crate) fn uses(&self, id: &TokenId) -> u32 {
        self.uses.get(id).copied().unwrap_or_default()
    }

    pub(crate) fn customer(&self, id: &CustomerId) -> Option<&CustomerRecord> {
        self.customers.get(id)
    }

    pub(crate) fn add_customer(&mut self, id: CustomerId, customer: CustomerRecord) {
        self.customers.insert(id, customer);
    }
}
