use std::hash::Hash;
use std::sync::Arc;
use std::time::SystemTime;

use indexmap::IndexMap;
use payments_model::{CustomerId, CustomerRecord, TokenId, TransactionId};

use crate::fixtures::FixturesDocument;
use crate::recorded_request::{Done, OpenRecord};
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
pub(crate) enum Effect {
    Payment {
        entry: Box<LedgerEntry>,
        /// Why it is declined, if it is.
        decline: Option<&'static str>,
        /// The token that it creates.
        new_token: Option<StoredToken>,
    },
    Void {
        /// The authorization, voided.
        voided: Box<LedgerEntry>,
        /// The void's own entry, if it has one.
        entry: Option<Box<LedgerEntry>>,
    },
}

/// An effect that a fault holds back.
pub(crate) struct LateEffect {
    pub(crate) record: OpenRecord,
    pub(crate) tenant: usize,
    pub(crate) effect: Effect,
}

impl LateEffect {
    /// The entry of a payment of this tenant.
    pub(crate) fn payment_of(&self, tenant: usize) -> Option<&LedgerEntry> {
        match &self.effect {
            Effect::Payment { entry, .. } if self.tenant == tenant => Some(entry),
            _ => None,
        }
    }
}

impl Effect {
    /// The new transaction, or the voided one.
    pub(crate) fn transaction_id(&self) -> &TransactionId {
        let (Self::Payment { entry, .. } | Self::Void { voided: entry, .. }) = self;
        entry.transaction_id()
    }
}

impl Store {
    /// Copies of its entries, voided and declined ones included.
    pub(crate) fn entries(&self) -> impl Iterator<Item = LedgerEntry> {
        self.transactions.values().map(|entry| LedgerEntry::clone(entry))
    }

    /// Applies the effect, and dates what it adds to the ledger. A late void is refused if another void came first.
    pub(crate) fn commit(&mut self, now: SystemTime, effect: Effect) -> Done {
        let id = effect.transaction_id().clone();
        let stored = self.transactions.get(&id);
        let is_possible = match effect {
            Effect::Payment { .. } => stored.is_none(),
            Effect::Void { .. } => stored.is_some_and(|stored| stored.is_voidable()),
        };
        if !is_possible {
            return Done::refused(INVALID_TRANSACTION_ID.to_owned());
        }
        let (effect, reason) = match effect {
            Effect::Payment { entry, decline, new_token } => {
                self.add(now, *entry);
                self.tokens.extend(new_token.map(|token| (token.token_id.clone(), token)));
                (decline.map_or(RequestEffect::Charged, |_| RequestEffect::Declined), decline)
            }
            Effect::Void { voided, entry } => {
                self.transactions.insert(id.clone(), Arc::from(voided));
                if let Some(entry) = entry {
                    self.add(now, *entry);
                }
                (RequestEffect::Voided, None)
            }
        };
        Done { effect, transaction_id: Some(id), reason: reason.map(str::to_owned) }
    }

    fn add(&mut self, now: SystemTime, mut entry: LedgerEntry) {
        entry.at = entry.at.max(now);
        self.transactions.insert(entry.transaction_id().clone(), Arc::new(entry));
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

/// The reason why a transaction cannot be voided.
pub(crate) const INVALID_TRANSACTION_ID: &str = "invalid transaction id";
