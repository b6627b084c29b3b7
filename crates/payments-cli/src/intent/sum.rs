//! How many intents there are, and the sum of their amounts.

use payments_journal::Intent;
use payments_model::Amount;
use serde::Serialize;

use crate::format::{counted, exact, money};

/// A count and an exact sum. A void has no amount and only adds to the count.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct IntentSum {
    pub(crate) count: u64,
    /// `None` if it is too large to be exact.
    #[serde(serialize_with = "exact")]
    sum: Option<Amount>,
}

impl IntentSum {
    pub(crate) fn add(&mut self, intent: &Intent) {
        self.count += 1;
        if let Some(amount) = intent.request.amount {
            self.sum = self.sum.and_then(|sum| sum.checked_add(amount));
        }
    }

    /// The sum for people.
    pub(crate) fn sum(&self) -> String {
        sum_for_people(self.sum)
    }

    /// Count and sum for people.
    pub(crate) fn shown(&self) -> String {
        format!("{}, {}", self.intents(), self.sum())
    }

    /// `1 intent`, `2 intents`.
    pub(crate) fn intents(&self) -> String {
        counted(self.count, "intent")
    }
}

/// A sum of amounts; `None` if it is too large to be exact.
pub(crate) fn sum_for_people(sum: Option<Amount>) -> String {
    sum.map_or_else(|| "a sum too large to be exact".to_owned(), money)
}

impl Default for IntentSum {
    fn default() -> Self {
        Self { count: 0, sum: Some(Amount::from_cents(0)) }
    }
}
