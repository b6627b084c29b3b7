//! How many intents, and how much money.

use payments_journal::Intent;
use payments_model::Amount;
use serde::ser::{Error as _, Serialize, SerializeStruct, Serializer};
use serde_json::value::RawValue;

/// A count and an exact sum. A void adds to the count alone: it has no amount.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tally {
    pub(super) count: u64,
    /// None if it is too long to be kept exactly.
    sum: Option<Amount>,
}

impl Tally {
    pub(super) fn add(&mut self, intent: &Intent) {
        self.count += 1;
        if let Some(amount) = intent.request.amount {
            self.sum = self.sum.and_then(|sum| sum.checked_add(amount));
        }
    }

    /// The sum for people.
    pub(super) fn sum(&self) -> String {
        self.sum.map_or_else(|| "a sum too long to be exact".to_owned(), |sum| sum.to_string())
    }

    /// `1 intent`, `2 intents`.
    pub(super) fn intents(&self) -> String {
        format!("{} {}", self.count, if self.count == 1 { "intent" } else { "intents" })
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self { count: 0, sum: Some(Amount::from_cents(0)) }
    }
}

/// `sum` is null if it cannot be given exactly.
impl Serialize for Tally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tally = serializer.serialize_struct("Tally", 2)?;
        tally.serialize_field("count", &self.count)?;
        let sum = self.sum.map(|sum| RawValue::from_string(sum.to_string()));
        tally.serialize_field("sum", &sum.transpose().map_err(S::Error::custom)?)?;
        tally.end()
    }
}
