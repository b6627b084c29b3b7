use std::fmt;
use std::future::Future;
use std::iter;
use std::pin::Pin;
use std::sync::Arc;

use indexmap::IndexMap;
use payments_model::{CustomerId, CustomerRecord, TokenId, TransactionId};
use thiserror::Error;

use crate::recorded_request::RequestOutcome;
use crate::transaction::TransactionDocument;
use crate::{DocumentError, Fixtures, RequestEffect, StoredToken};

/// The records of one tenant: transactions in the order of their commits, tokens and customers. It changes only by
/// committing an [`Effect`] and by the `put` methods, so whether a payment takes place is separate from what the client
/// sees. Other modules only read its fields.
#[derive(Default)]
pub(crate) struct Store {
    pub(crate) transactions: IndexMap<TransactionId, TransactionDocument>,
    pub(crate) tokens: IndexMap<TokenId, StoredToken>,
    /// As JSON.
    pub(crate) customers: IndexMap<CustomerId, Arc<str>>,
    /// The changes that [`Tenants`](crate::tenant::Tenants) has not logged yet.
    pub(crate) changes: Vec<Change>,
}

/// The change of a request, which may be committed now, later or never.
pub(crate) struct Effect {
    /// The index of the tenant.
    pub(crate) tenant: usize,
    /// Its kind in the request log.
    pub(crate) kind: RequestEffect,
    /// The transaction that it creates or voids.
    pub(crate) id: TransactionId,
    /// The transaction at the time of the decision, unless it is new.
    pub(crate) before: Option<TransactionDocument>,
    pub(crate) after: TransactionDocument,
    /// The void's own entry, if it has one.
    pub(crate) entry: Option<(TransactionId, TransactionDocument)>,
    /// The token that a payment creates.
    pub(crate) new_token: Option<StoredToken>,
}

impl Effect {
    pub(crate) fn outcome(&self) -> RequestOutcome {
        (self.kind, Some(self.id.clone()))
    }
}

impl Store {
    /// Returns whether it took effect. A late void does not if another void came first.
    pub(crate) fn commit(&mut self, effect: Effect) -> bool {
        let Effect { tenant: _, kind: _, id, before, after, entry, new_token } = effect;
        if self.transactions.get(&id) != before.as_ref() {
            return false;
        }
        for (id, document) in iter::once((id, after)).chain(entry) {
            self.put_document(id, document);
        }
        if let Some(token) = new_token {
            self.put_token(token);
        }
        true
    }

    pub(crate) fn put_token(&mut self, token: StoredToken) {
        self.changes.push(Change::Token { id: token.token_id.clone(), document: token.to_json().into() });
        self.tokens.insert(token.token_id.clone(), token);
    }

    pub(crate) fn put_customer(&mut self, id: CustomerId, document: Arc<str>) {
        self.changes.push(Change::Customer { id: id.clone(), document: Arc::clone(&document) });
        self.customers.insert(id, document);
    }

    fn put_document(&mut self, id: TransactionId, document: TransactionDocument) {
        self.changes.push(Change::Transaction { id: id.clone(), document: Arc::clone(document.text()) });
        self.transactions.insert(id, document);
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
        for (id, document) in customers {
            if !self.customers.contains_key(id) {
                self.put_customer(id.clone(), Arc::clone(document));
            }
        }
        for (id, token) in tokens {
            if !self.tokens.contains_key(id) {
                self.put_token(token.clone());
            }
        }
        for (id, document) in transactions {
            if !self.transactions.contains_key(id) {
                self.put_document(id.clone(), document.clone());
            }
        }
    }

    /// Applies a change from a log, without logging it again. Fails if this version cannot read the document.
    pub(crate) fn replay(&mut self, change: Change) -> Result<(), DocumentError> {
        match change {
            Change::Transaction { id, document } => {
                let stored = TransactionDocument::from_stored(document);
                self.put_document(id, stored.ok_or_else(|| unreadable("a transaction"))?);
            }
            Change::Token { id: _, document } => self.put_token(StoredToken::from_json(&document)?),
            Change::Customer { id, document } => {
                // Not a `CustomerDocument`: a test can add customers that a fixture file cannot.
                let read = CustomerRecord::from_json(document.as_bytes());
                read.map_err(|_| unreadable("a customer"))?;
                self.put_customer(id, document);
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
