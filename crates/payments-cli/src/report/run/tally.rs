//! Counts and sums of the rows of a billing run.

use std::collections::BTreeMap;

use payments_model::Amount;
use payments_model::unversioned::as_number;
use serde::{Serialize, Serializer};

/// Counts and sums of the rows, by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tallies {
    /// Every row.
    pub(crate) total: Tally,
    /// Outcomes of earlier runs, from the journal.
    pub(crate) earlier: Earlier,
    pub(crate) processed: Tally,
    pub(crate) rejected: Tally,
    pub(crate) unknown: Tally,
    /// Another process is sending it.
    pub(crate) in_progress: Tally,
    /// Tried, and provably not acted upon.
    pub(crate) not_processed: Tally,
    /// A part of the rejected rows, of this run and of earlier ones: those whose rejection is not
    /// [about the payment](payments_journal::Failure::is_about_the_payment). A person may allow them to be sent again.
    pub(super) rejected_by_status: BTreeMap<u16, Tally>,
}

/// Outcomes that the journal had before the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Earlier {
    pub(crate) processed: Tally,
    pub(crate) rejected: Tally,
    pub(crate) unknown: Tally,
}

impl Tallies {
    /// Counts a rejected row if it has an unrelated status and the sum fits.
    pub(crate) fn add_rejected(&mut self, status: Option<u16>, amount: Amount) {
        let Some(status) = status else { return };
        let tally = self.rejected_by_status.entry(status).or_default();
        *tally = tally.checked_with(amount).unwrap_or(*tally);
    }

    /// Rows that were not started in this run, but could be.
    pub(crate) fn not_started(&self) -> Tally {
        self.counted().into_iter().fold(self.total, |left, (_, _, tally)| left.minus(tally))
    }

    pub(crate) fn all_unknown(&self) -> Tally {
        self.unknown.plus(self.earlier.unknown)
    }

    pub(crate) fn all_processed(&self) -> Tally {
        self.processed.plus(self.earlier.processed)
    }

    pub(crate) fn all_rejected(&self) -> Tally {
        self.rejected.plus(self.earlier.rejected)
    }

    /// Rows that the same command would process.
    pub(crate) fn unfinished(&self) -> Tally {
        self.not_started().plus(self.not_processed).plus(self.in_progress)
    }

    /// Each tally with its JSON name and its label for people.
    pub(super) fn named(&self) -> impl Iterator<Item = (&'static str, &'static str, Tally)> {
        self.counted().into_iter().chain([("not_started", "not started", self.not_started())])
    }

    /// The same without the rows that were not started.
    fn counted(&self) -> [(&'static str, &'static str, Tally); 8] {
        [
            ("processed", "processed", self.processed),
            ("processed_earlier", "processed earlier", self.earlier.processed),
            ("rejected", "rejected", self.rejected),
            ("rejected_earlier", "rejected earlier", self.earlier.rejected),
            ("unknown", "OUTCOME UNKNOWN", self.unknown),
            ("unknown_earlier", "OUTCOME UNKNOWN earlier", self.earlier.unknown),
            ("in_progress", "in progress elsewhere", self.in_progress),
            ("not_processed", "not processed", self.not_processed),
        ]
    }
}

/// The member `rows` of the document of a run.
impl Serialize for Tallies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.named().map(|(name, _, tally)| (name, tally));
        serializer.collect_map(rows.chain([("total", self.total)]))
    }
}

/// A number of rows and the sum of their amounts.
///
/// The sum is exact: a request has at most two decimals, and a file whose sum would not fit in 64 bits of cents is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    #[serde(rename = "sum", serialize_with = "cents_as_amount")]
    cents: i64,
}

impl Tally {
    /// The tally with one more row, or `None` if the sum would be too large.
    pub(crate) fn checked_with(self, amount: Amount) -> Option<Self> {
        let cents = self.cents.checked_add(amount.to_cents()?)?;
        Some(Self { count: self.count + 1, cents })
    }

    /// Adds a row of a file whose sum is known to fit.
    pub(crate) fn add(&mut self, amount: Amount) {
        *self = self.checked_with(amount).expect("the sum of the whole file fits");
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { count: self.count + other.count, cents: self.cents + other.cents }
    }

    /// The tally without `part`, which must be a part of it.
    pub(crate) fn minus(self, part: Self) -> Self {
        // After a panic the counts may be wrong, and must still be shown.
        Self { count: self.count.saturating_sub(part.count), cents: self.cents.saturating_sub(part.cents) }
    }

    pub(crate) fn sum(self) -> Amount {
        Amount::from_cents(self.cents)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a field by reference")]
fn cents_as_amount<S: Serializer>(cents: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    as_number(&Amount::from_cents(*cents), serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(text: &str) -> Amount {
        text.parse().expect("an amount")
    }

    #[test]
    fn sum_is_exact_or_absent() {
        let mut tally = Tally::default();
        for text in ["0.1", "0.20", "1e2", "92233720368547657.77"] {
            tally = tally.checked_with(amount(text)).expect(text);
        }
        assert_eq!((tally.count, tally.sum().to_string()), (4, "92233720368547758.07".to_owned()));
        assert_eq!(tally.checked_with(amount("0.01")), None);
        assert_eq!(Tally::default().checked_with(amount("1e17")), None);
        assert_eq!(serde_json::to_string(&tally).expect("JSON"), r#"{"count":4,"sum":92233720368547758.07}"#);
    }
}
