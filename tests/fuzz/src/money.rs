//! Amounts from text to [`Amount`] to JSON and back, against arithmetic on whole numbers.
//!
//! `cargo xtask exhaustive-money` takes them all; the tests of this package take a sample, under every combination
//! of `serde_json`'s number features. Every function panics at the first amount that does not arrive.

use std::fmt::Write as _;

use payments_core::model::{Amount, ConvenienceFee, Field, TokenTransaction, TransactionRecord};

use crate::Mutation;

/// Takes each of these amounts of cents, none of them negative, through a request and through a record.
pub fn check_cents(cents: impl Iterator<Item = i64>) {
    let (mut trip, mut text) = (Trip::new(), String::new());
    for cents in cents {
        text.clear();
        write!(text, "{}.{:02}", cents / 100, cents % 100).expect("a string takes any text");
        let amount = trip.through_record(&text, &text);
        assert_eq!(amount.to_cents(), Some(cents), "{text}");
        assert_eq!(amount, Amount::from_cents(cents), "{text}");
        if cents > 0 {
            trip.through_request(amount, &text);
        }
    }
}

/// Takes so many random amounts through a record: up to 18 digits with any number of decimals, either sign, with an
/// exponent, and as texts. Those that may be sent go through a request too. The same seed makes the same amounts.
pub fn check_random(seed: u64, count: u64) {
    let (mut trip, mut random) = (Trip::new(), Mutation::new(seed));
    for _ in 0..count {
        let bits = random.bits();
        let length = 1 + u32::try_from(bits % 18).unwrap_or_default();
        let digits = i64::try_from(random.bits() % 10_u64.pow(length)).unwrap_or_default();
        let value = Exact {
            digits,
            is_negative: digits != 0 && bits & 1 << 10 != 0,
            decimals: usize::try_from((bits >> 16) % 19).unwrap_or_default(),
        };
        let plain = value.plain();
        let amount = match (bits >> 24) % 4 {
            0 => trip.through_record(&plain, &plain),
            1 => trip.through_record(&format!("\"{plain}\""), &plain),
            2 => trip.through_record(&value.as_whole_with_exponent(), &plain),
            _ => trip.through_record(&value.times_power_of_ten(), &value.as_whole()),
        };
        assert_eq!(amount.is_positive(), digits > 0 && !value.is_negative, "{plain}");
        if amount.is_positive() && amount.decimal_places() <= 2 {
            let shown = amount.to_string();
            trip.through_request(amount, &shown);
        }
    }
}

/// A number as whole digits and how many of them are decimals.
struct Exact {
    digits: i64,
    is_negative: bool,
    decimals: usize,
}

impl Exact {
    /// `-0.0123`: every decimal written, also those that are zero.
    fn plain(&self) -> String {
        let digits = format!("{:0>1$}", self.digits, self.decimals + 1);
        let (whole, fraction) = digits.split_at(digits.len() - self.decimals);
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{}{whole}{point}{fraction}", self.sign())
    }

    /// `-123e-4`, which is the same number.
    fn as_whole_with_exponent(&self) -> String {
        format!("{}{}e-{}", self.sign(), self.digits, self.decimals)
    }

    /// `-123e4`: as many zeros as there were decimals.
    fn times_power_of_ten(&self) -> String {
        format!("{}{}E+{}", self.sign(), self.digits, self.decimals)
    }

    /// `-1230000`, which is that number; zero stays one digit.
    fn as_whole(&self) -> String {
        if self.digits == 0 {
            return "0".to_owned();
        }
        format!("{}{}{}", self.sign(), self.digits, "0".repeat(self.decimals))
    }

    fn sign(&self) -> &'static str {
        if self.is_negative { "-" } else { "" }
    }
}

/// Texts that are written again and again.
struct Trip {
    record: String,
    request: String,
}

impl Trip {
    fn new() -> Self {
        Self { record: String::new(), request: String::new() }
    }

    /// Reads `json` as the amount of a record, which must then show and write itself as `shown`, and be what the text is.
    fn through_record(&mut self, json: &str, shown: &str) -> Amount {
        self.record.clear();
        write!(self.record, r#"{{"TransactionId":"t","Amount":{json}}}"#).expect("a string takes any text");
        let record: TransactionRecord = serde_json::from_str(&self.record).expect("a record is read");
        let Field::Value(amount) = record.amount else { panic!("{json} is not read as an amount") };
        self.check_shown(amount, shown);
        let written = record.to_json();
        let amount_as_written = written.strip_prefix(r#"{"TransactionId":"t","Amount":"#);
        assert_eq!(amount_as_written.and_then(|rest| rest.strip_suffix('}')), Some(shown), "{json}");
        let parsed: Amount = shown.parse().expect("what is shown can be read");
        assert_eq!(parsed, amount, "{json}");
        amount
    }

    /// Sends the amount and reads what was sent.
    fn through_request(&mut self, amount: Amount, shown: &str) {
        let request = TokenTransaction::builder("t", amount, ConvenienceFee::Inactive).build();
        let encoded = request.expect("it may be sent").encode();
        self.request.clear();
        let written =
            write!(self.request, r#"{{"TokenId":"t","Amount":{shown},"ConvenienceFeeActive":false}}"#);
        written.expect("a string takes any text");
        assert_eq!(encoded.as_ref(), self.request.as_bytes(), "{shown}");
        let received =
            TokenTransaction::from_json(encoded.as_ref()).expect("what was sent can be read").amount();
        assert_eq!(received, amount, "{shown}");
        self.check_shown(received, shown);
    }

    fn check_shown(&mut self, amount: Amount, shown: &str) {
        self.request.clear();
        write!(self.request, "{amount}").expect("a string takes any text");
        assert_eq!(self.request, shown);
    }
}
