use std::iter;
use std::sync::Arc;

use indexmap::IndexMap;
use payments_model::{CustomerId, TokenId, TransactionId};

use crate::recorded_request::RequestOutcome;
use crate::transaction::TransactionDocument;
use crate::{Fixtures, RequestEffect, StoredToken};

/// The records of one tenant: transactions in the order of their commits, tokens and customers. It changes only by
/// committing an [`Effect`] and by the `put` methods, so whether a payment takes place is separate from what the client
/// sees. Other modules only read its fields.
#[derive(Default)]
pub(crate) struct Store {
    pub(crate) transactions: IndexMap<TransactionId, TransactionDocument>,
    pub(crate) tokens: IndexMap<TokenId, StoredToken>,
    /// As JSON.
    pub(crate) customers: IndexMap<CustomerId, Arc<str>>,
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
            self.transactions.insert(id, document);
        }
        if let Some(token) = new_token {
            self.put_token(token);
        }
        true
    }

    pub(crate) fn put_token(&mut self, token: StoredToken) {
        self.tokens.insert(token.token_id.clone(), token);
    }

    pub(crate) fn put_customer(&mut self, id: CustomerId, document: Arc<str>) {
        self.customers.insert(id, document);
    }

    pub(crate) fn clear(&mut self) {
        self.transactions.clear();
        self.tokens.clear();
        self.customers.clear();
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
                self.transactions.insert(id.clone(), document.clone());
            }
        }
    }
}
