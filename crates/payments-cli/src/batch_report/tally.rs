use payments_model::Amount;
use serde::ser::{Error as _, Serialize, SerializeStruct, Serializer};
use serde_json::value::RawValue;

/// Some rows, and what they add up to.
///
/// Exact: a request has at most two decimals, and a file whose sum would be beyond 64 bits of hundredths is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    cents: i64,
}

impl Tally {
    /// With one more row, or none if the sum would be too large.
    pub(crate) fn checked_with(self, amount: Amount) -> Option<Self> {
        let cents = self.cents.checked_add(amount.to_cents()?)?;
        Some(Self { count: self.count + 1, cents })
    }

    /// One more row of a file whose sum is known to fit.
    pub(crate) fn add(&mut self, amount: Amount) {
        *self = self.checked_with(amount).expect("the sum of the whole file fits");
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { count: self.count + other.count, cents: self.cents + other.cents }
    }

    /// What is left of these rows without those, which are some of them.
    pub(crate) fn minus(self, part: Self) -> Self {
        Self { count: self.count - part.count, cents: self.cents - part.cents }
    }

    pub(crate) fn sum(self) -> Amount {
        Amount::from_cents(self.cents)
    }
}

impl Serialize for Tally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sum = RawValue::from_string(self.sum().to_string()).map_err(S::Error::custom)?;
        let mut object = serializer.serialize_struct("Tally", 2)?;
        object.serialize_field("count", &self.count)?;
        object.serialize_field("sum", &sum)?;
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(text: &str) -> Amount {
        text.parse().expect("an amount")
    }

    #[test]
    fn a_sum_is_exact_or_there_is_none() {
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
