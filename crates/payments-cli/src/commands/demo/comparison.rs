//! The whole demonstration beside the sandbox's ledger at its end.

use payments_fake::Ledger;
use payments_model::Amount;

use super::exchange::Exchange;
use super::truth::{Fact, facts};

/// Every call, and the ledger that must bear them out.
pub(super) struct Comparison {
    pub(super) exchanges: Vec<Exchange>,
    /// The ledger's payments at the end.
    pub(super) now: Vec<Fact>,
    /// How many payments are charged.
    pub(super) charged: usize,
    /// Their sum.
    pub(super) total: Option<Amount>,
}

impl Comparison {
    pub(super) fn new(exchanges: Vec<Exchange>, ledger: &Ledger) -> Self {
        let (charged, total) = (ledger.charged().count(), ledger.charged_total());
        Self { exchanges, now: facts(ledger), charged, total }
    }

    /// Whether every call agrees, and every payment in the ledger belongs to one.
    pub(super) fn agrees(&self) -> bool {
        self.disagreements() == 0 && self.unaccounted() == 0
    }

    pub(super) fn disagreements(&self) -> usize {
        self.exchanges.iter().filter(|exchange| !exchange.agrees()).count()
    }

    /// Payments of the ledger that no call made.
    pub(super) fn unaccounted(&self) -> usize {
        let is_made = |fact: &Fact| {
            self.exchanges.iter().flat_map(|exchange| &exchange.change.made).any(|made| made.id == fact.id)
        };
        self.now.iter().filter(|fact| !is_made(fact)).count()
    }
}
