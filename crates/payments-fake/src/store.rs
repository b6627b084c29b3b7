use std::fmt;
use std::future::Future;
use std::iter;
use std::pin::Pin;
use std::sync::Arc;

use indexmap::IndexMap;
use payments_model::{CustomerId, CustomerRecord, TokenId, TransactionId};
use thiserror::Error;

use crate::recorded_request::Decided;
use crate::transaction::TransactionDocument;
use crate::{DocumentError, Fixtures, RequestEffect, StoredToken};

/// What one tenant has: transactions in the order in which they were committed, tokens and customers. It is changed by
/// committing an [`Effect`] and by putting records into it, so that whether a payment takes place can be decided apart from
/// what the client is told. Others only read its fields.
#[derive(Default)]
pub(crate) struct Store {
    pub(crate) transactions: IndexMap<TransactionId, TransactionDocument>,
    pub(crate) tokens: IndexMap<TokenId, StoredToken>,
    /// As JSON.
    pub(crate) customers: IndexMap<CustomerId, Arc<str>>,
    /// Whether anybody asks for the changes.
    pub(crate) notes_changes: bool,
    /// What changed since its [`Tenants`](crate::tenant::Tenants) last took them, which they do after each deed.
    pub(crate) changes: Vec<Change>,
}

/// A change that was decided and may be committed now, later or never.
pub(crate) struct Effect {
    /// Whose it is.
    pub(crate) tenant: usize,
    /// What it is to the record of requests.
    pub(crate) kind: RequestEffect,
    /// The transaction that it makes or voids.
    pub(crate) id: TransactionId,
    /// The transaction as it was when this was decided, unless it is new.
    pub(crate) before: Option<TransactionDocument>,
    pub(crate) after: TransactionDocument,
    /// The void's own entry, if it has one.
    pub(crate) entry: Option<(TransactionId, TransactionDocument)>,
    /// The token that a payment makes.
    pub(crate) new_token: Option<StoredToken>,
}

impl Effect {
    pub(crate) fn decided(&self) -> Decided {
        (self.kind, Some(self.id.clone()))
    }
}

impl Store {
    /// Says whether it took effect: a late void may come after another one, and a transaction is voided once.
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
        self.note(|| Change::Token { id: token.token_id.clone(), document: token.to_json().into() });
        self.tokens.insert(token.token_id.clone(), token);
    }

    pub(crate) fn put_customer(&mut self, id: CustomerId, document: Arc<str>) {
        self.note(|| Change::Customer { id: id.clone(), document: Arc::clone(&document) });
        self.customers.insert(id, document);
    }

    fn put_document(&mut self, id: TransactionId, document: TransactionDocument) {
        self.note(|| Change::Transaction { id: id.clone(), document: Arc::clone(document.text()) });
        self.transactions.insert(id, document);
    }

    pub(crate) fn clear(&mut self) {
        self.transactions.clear();
        self.tokens.clear();
        self.customers.clear();
        self.note(|| Change::Cleared);
    }

    /// Adds the records of the fixtures whose ids are not there yet.
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

    /// Repeats a change that a log has kept, without noting it again. It says what is wrong with a document that this
    /// version did not write.
    pub(crate) fn replay(&mut self, change: Change) -> Result<(), DocumentError> {
        match change {
            Change::Transaction { id, document } => {
                let kept = TransactionDocument::kept(document);
                self.put_document(id, kept.ok_or_else(|| not_kept("a transaction"))?);
            }
            Change::Token { id: _, document } => self.put_token(StoredToken::from_json(&document)?),
            Change::Customer { id, document } => {
                // A test may have made it odder than a fixture may be.
                let read = serde_json::from_str::<CustomerRecord>(&document);
                read.map_err(|_| not_kept("a customer"))?;
                self.put_customer(id, document);
            }
            Change::Cleared => self.clear(),
        }
        self.changes.clear();
        Ok(())
    }

    /// The change is made only if somebody will ask for it.
    fn note(&mut self, change: impl FnOnce() -> Change) {
        if self.notes_changes {
            self.changes.push(change());
        }
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
