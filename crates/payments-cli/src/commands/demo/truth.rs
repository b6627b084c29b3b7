//! What the sandbox did, out of its own ledger.

use payments_fake::{EntryKind, EntryState, Ledger, LedgerEntry};
use payments_model::{Amount, TransactionId};

/// One transaction of the sandbox's ledger, as far as a comparison needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) id: TransactionId,
    pub(super) kind: &'static str,
    pub(super) amount: Amount,
    pub(super) state: FactState,
}

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FactState {
    Approved,
    Declined,
    Voided,
    /// Something that this comparison has no word for, and that therefore agrees with nothing.
    Other,
}

/// What one call changed in the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// How many requests the sandbox received.
    pub(super) received: usize,
    /// New payments, declined ones included.
    pub(super) made: Vec<Fact>,
    /// Payments that were not voided before.
    pub(super) voided: Vec<TransactionId>,
}

/// Every payment of the ledger, in its order.
pub(super) fn facts(ledger: &Ledger) -> Vec<Fact> {
    ledger.entries().iter().filter(|entry| entry.kind != EntryKind::Void).map(Fact::of).collect()
}

impl Change {
    pub(super) fn between(before: &[Fact], after: &[Fact], received: usize) -> Self {
        let known = |fact: &Fact| before.iter().find(|other| other.id == fact.id);
        let newly_voided = |fact: &&Fact| {
            fact.state == FactState::Voided && known(fact).is_some_and(|was| was.state != fact.state)
        };
        Self {
            received,
            made: after.iter().filter(|fact| known(fact).is_none()).cloned().collect(),
            voided: after.iter().filter(newly_voided).map(|fact| fact.id.clone()).collect(),
        }
    }
}

impl Fact {
    fn of(entry: &LedgerEntry) -> Self {
        Self {
            id: entry.transaction_id().clone(),
            kind: entry.kind.as_str(),
            amount: entry.amount,
            state: match entry.state {
                EntryState::Approved => FactState::Approved,
                EntryState::Declined => FactState::Declined,
                EntryState::Voided => FactState::Voided,
                _ => FactState::Other,
            },
        }
    }
}
