use std::hash::Hash;
use std::sync::Arc;
use std::time::SystemTime;

use indexmap::IndexMap;
use payments_model::{CustomerId, CustomerRecord, TokenId, TransactionId};

use crate::fixtures::FixturesDocument;
use crate::{LedgerEntry, RequestEffect, StoredToken};

/// The records of one tenant, each list in the order of its commits. It changes only by committing an [`Effect`] and by
/// what a test adds, so whether a payment takes place is separate from what the client sees.
#[derive(Default)]
pub(crate) struct Store {
    /// Shared with snapshots, so that taking one of a large ledger is quick.
    pub(crate) transactions: IndexMap<TransactionId, Arc<LedgerEntry>>,
    pub(crate) tokens: IndexMap<TokenId, StoredToken>,
    pub(crate) customers: IndexMap<CustomerId, CustomerRecord>,
}

/// The change of a request, which may be committed now, later or never.
pub(crate) struct Effect {
    /// The index of the tenant.
    pub(crate) tenant: usize,
    /// What it does, as in the request log.
    pub(crate) kind: RequestEffect,
    /// The new transaction, or the voided one.
    pub(crate) entry: LedgerEntry,
    /// Why the payment is declined, if it is.
    pub(crate) decline: Option<&'static str>,
    /// The void's own entry, if it has one.
    pub(crate) void: Option<LedgerEntry>,
    /// The token that a payment creates.
    pub(crate) new_token: Option<StoredToken>,
}

impl Effect {
    /// Dates what it adds to the ledger. A transaction that it voids keeps its own time.
    pub(crate) fn happens_at(&mut self, now: SystemTime) {
        let added = match self.kind {
            RequestEffect::Voided => self.void.as_mut(),
            _ => Some(&mut self.entry),
        };
        if let Some(entry) = added {
            entry.at = entry.at.max(now);
        }
    }
}

impl Store {
    /// Copies of its entries, voided and declined ones included.
    pub(crate) fn entries(&self) -> impl Iterator<Item = LedgerEntry> {
        self.transactions.values().map(|entry| LedgerEntry::clone(entry))
    }

    /// Returns what it did, to which transaction, and why not more. A late void is refused if another void came first.
    pub(crate) fn commit(
        &mut self,
        effect: Effect,
    ) -> (RequestEffect, Option<TransactionId>, Option<String>) {
        let Effect { tenant: _, kind, entry, decline, void, new_token } = effect;
        let id = entry.transaction_id().clone();
        let stored = self.transactions.get(&id);
        let is_possible = match kind {
            RequestEffect::Voided => stored.is_some_and(|stored| stored.is_voidable()),
            _ => stored.is_none(),
        };
        if !is_possible {
            return (RequestEffect::Refused, None, None);
        }
        for entry in [Some(entry), void].into_iter().flatten() {
            self.transactions.insert(entry.transaction_id().clone(), Arc::new(entry));
        }
        self.tokens.extend(new_token.map(|token| (token.token_id.clone(), token)));
        (kind, Some(id), decline.map(str::to_owned))
    }

    /// Adds the records of the fixtures whose ids are new.
    pub(crate) fn add_missing(&mut self, fixtures: FixturesDocument) {
        let FixturesDocument { customers, tokens, transactions, faults: _ } = fixtures;
        add_missing(&mut self.customers, customers);
        add_missing(&mut self.tokens, tokens);
        add_missing(&mut self.transactions, transactions);
    }
}

fn add_missing<Id: Hash + Eq, R>(records: &mut IndexMap<Id, R>, added: IndexMap<Id, R>) {
    if records.is_empty() {
        *records = added;
        return;
    }
    for (id, record) in added {
        records.entry(id).or_insert(record);
    }
}
