use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use indexmap::IndexMap;
use payments_model::{CustomerId, CustomerRecord, TokenId, TransactionId};
use thiserror::Error;

use crate::document::{self, to_json};
use crate::recorded_request::RequestOutcome;
use crate::transaction::{TransactionDocument, WrittenTransaction};
use crate::{DocumentError, Fixtures, LedgerEntry, RequestEffect, StoredToken};

/// The records of one tenant, each list in the order of its commits. It changes only by committing an [`Effect`] and by the
/// `put` methods, so whether a payment takes place is separate from what the client sees. Other modules only read its fields.
#[derive(Default)]
pub(crate) struct Store {
    pub(crate) transactions: IndexMap<TransactionId, LedgerEntry>,
    pub(crate) tokens: IndexMap<TokenId, StoredToken>,
    pub(crate) customers: IndexMap<CustomerId, CustomerRecord>,
    /// The changes that [`Tenants`](crate::tenant::Tenants) has not logged yet.
    pub(crate) changes: Vec<Change>,
}

/// The change of a request, which may be committed now, later or never.
pub(crate) struct Effect {
    /// The index of the tenant.
    pub(crate) tenant: usize,
    /// Its kind in the request log.
    pub(crate) kind: RequestEffect,
    /// The new transaction, or the voided one.
    pub(crate) entry: LedgerEntry,
    /// The void's own entry, if it has one.
    pub(crate) void: Option<LedgerEntry>,
    /// The token that a payment creates.
    pub(crate) new_token: Option<StoredToken>,
}

impl Effect {
    pub(crate) fn outcome(&self) -> RequestOutcome {
        (self.kind, Some(self.entry.transaction_id().clone()))
    }
}

impl Store {
    /// Returns whether it took effect. A late void does not if another void came first.
    pub(crate) fn commit(&mut self, effect: Effect) -> bool {
        let Effect { tenant: _, kind, entry, void, new_token } = effect;
        let stored = self.transactions.get(entry.transaction_id());
        let is_possible = match kind {
            RequestEffect::Voided => stored.is_some_and(LedgerEntry::is_voidable),
            _ => stored.is_none(),
        };
        if is_possible {
            self.put_transaction(entry);
            void.into_iter().for_each(|void| self.put_transaction(void));
            new_token.into_iter().for_each(|token| self.put_token(token));
        }
        is_possible
    }

    pub(crate) fn put_token(&mut self, token: StoredToken) {
        self.changes.push(Change::Token { id: token.token_id.clone(), document: to_json(&token).into() });
        self.tokens.insert(token.token_id.clone(), token);
    }

    pub(crate) fn put_customer(&mut self, id: CustomerId, customer: CustomerRecord) {
        self.changes.push(Change::Customer { id: id.clone(), document: to_json(&customer).into() });
        self.customers.insert(id, customer);
    }

    fn put_transaction(&mut self, entry: LedgerEntry) {
        let id = entry.transaction_id();
        let document = to_json(&WrittenTransaction::from(&entry)).into();
        self.changes.push(Change::Transaction { id: id.clone(), document });
        self.transactions.insert(id.clone(), entry);
    }

    pub(crate) fn clear(&mut self) {
        self.transactions.clear();
        self.tokens.clear();
        self.customers.clear();
        self.changes.push(Change::Cleared);
    }

    /// Adds the records of the fixtures whose ids are new.
    pub(crate) fn add_missing(&mut self, fixtures: &Fixtures) {
        let Fixtures { customers, tokens, transactions, faults: _ } = fixtures;
        for (id, customer) in customers {
            if !self.customers.contains_key(id) {
                self.put_customer(id.clone(), customer.clone());
            }
        }
        for (id, token) in tokens {
            if !self.tokens.contains_key(id) {
                self.put_token(token.clone());
            }
        }
        for (id, entry) in transactions {
            if !self.transactions.contains_key(id) {
                self.put_transaction(entry.clone());
            }
        }
    }

    /// Applies a change from a log, without logging it again. Fails if this version cannot read the document.
    pub(crate) fn replay(&mut self, change: Change) -> Result<(), DocumentError> {
        match change {
            Change::Transaction { id: _, document } => {
                let document = document::read::<TransactionDocument>(&document).ok();
                let entry = document.and_then(|document| document.into_entry().ok());
                self.put_transaction(entry.ok_or_else(|| unreadable("a transaction"))?);
            }
            Change::Token { id: _, document } => self.put_token(StoredToken::from_json(&document)?),
            Change::Customer { id, document } => {
                // Not a `CustomerDocument`: a test can add customers that a fixture file cannot.
                let read = CustomerRecord::from_json(document.as_bytes());
                self.put_customer(id, read.map_err(|_| unreadable("a customer"))?);
            }
            Change::Cleared => self.clear(),
        }
        self.changes.clear();
        Ok(())
    }
}

fn unreadable(what: &str) -> DocumentError {
    DocumentError::new(format!("it is not {what} that this version can read"))
}

/// One change of a tenant's records. A [`ChangeLog`] stores it, and [`Tenant::replay`](crate::Tenant::replay) applies it.
///
/// The documents are JSON, the same as in [`Tenant::state_json`](crate::Tenant::state_json). They hold masked cards and
/// personal data, never a card number.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A transaction is new, or replaces the one with the same id, as after a void.
    Transaction {
        /// The id it is looked up by.
        id: TransactionId,
        /// Its record and the other fields of its ledger entry.
        document: Arc<str>,
    },
    /// A token is new, or replaces the one with the same id.
    Token {
        /// The id it is charged by.
        id: TokenId,
        /// The token.
        document: Arc<str>,
    },
    /// A customer is new, or replaces the one with the same id.
    Customer {
        /// The id it is looked up by.
        id: CustomerId,
        /// The record.
        document: Arc<str>,
    },
    /// Every record was removed.
    Cleared,
}

/// The documents hold personal data, so only ids are shown.
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

/// Stores the changes of a gateway, so that they survive a restart.
///
/// Changes that belong together come as one group: a payment and the token that it creates, a void and its own entry, all
/// records of a load, a reset of every tenant. A group must become durable as a whole or not at all; otherwise the next start
/// would restore half of an operation.
///
/// [`Responder::respond`](crate::Responder::respond) returns a reply only after every change that the reply can report is
/// [flushed](Self::flushed). So a payment whose response was sent is durable.
pub trait ChangeLog: Send + Sync + 'static {
    /// Takes the changes of one group (at least one), each with the index of its tenant in the builder's order of keys.
    ///
    /// Called in the order in which the changes took effect, under the gateway's lock: it must not block, and must not call
    /// the gateway.
    fn append(&self, group: &mut dyn Iterator<Item = (usize, Change)>);

    /// Ready when every change appended before this call is durable.
    fn flushed(&self) -> Flushed;
}

/// See [`ChangeLog::flushed`].
pub type Flushed = Pin<Box<dyn Future<Output = Result<(), NotDurable>> + Send>>;

/// Changes could not be made durable. No client may see that they took place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Error)]
#[error("the change could not be made durable")]
#[non_exhaustive]
pub struct NotDurable;

impl NotDurable {
    /// The error has no details; the log reports the cause elsewhere.
    pub const fn new() -> Self {
        Self
    }
}
