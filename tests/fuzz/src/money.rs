//! Round trips of amounts: from text to [`Amount`] to JSON and back, compared with integer arithmetic.
//!
//! `cargo xtask exhaustive-money` checks all of them. The tests of this package check a sample, with every combination of
//! `serde_json`'s number features. Every function panics at the first amount that changes.

use std::fmt::Write as _;

use payments_core::model::{Amount, ConvenienceFee, Field, TokenTransaction, TransactionRecord};

use crate::random::Random;

/// Checks each of these amounts of cents in a request and in a record. None may be negative.
pub fn check_cents(cents: impl Iterator<Item = i64>) {
    let (mut buffers, mut text) = (Buffers::new(), String::new());
    for cents in cents {
        text.clear();
        write!(text, "{}.{:02}", cents / 100, cents % 100).expect("a string takes any text");
        let amount = buffers.check_record(&text, &text);
        assert_eq!(amount.to_cents(), Some(cents), "{text}");
        assert_eq!(amount, Amount::from_cents(cents), "{text}");
        if cents > 0 {
            buffers.check_request(amount, &text);
        }
    }
}

/// Checks `count` random amounts in a record: up to 18 digits with any number of decimal places, either sign, with an
/// exponent, and as strings. Amounts that are valid in a request are also checked in a request. The same seed makes the same
/// amounts.
pub fn check_random(seed: u64, count: u64) {
    let (mut buffers, mut random) = (Buffers::new(), Random::new(seed));
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
            0 => buffers.check_record(&plain, &plain),
            1 => buffers.check_record(&format!("\"{plain}\""), &plain),
            2 => buffers.check_record(&value.as_whole_with_exponent(), &plain),
            _ => buffers.check_record(&value.times_power_of_ten(), &value.as_whole()),
        };
        assert_eq!(amount.is_positive(), digits > 0 && !value.is_negative, "{plain}");
        if amount.is_positive() {
            buffers.check_request(amount, &amount.to_string());
        }
    }
}

/// A number as its digits and the number of decimal places.
struct Exact {
    digits: i64,
    is_negative: bool,
    decimals: usize,
}

impl Exact {
    /// `-0.0123`, with every decimal place, including zeros.
    fn plain(&self) -> String {
        let digits = format!("{:0>1$}", self.digits, self.decimals + 1);
        let (whole, fraction) = digits.split_at(digits.len() - self.decimals);
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{}{whole}{point}{fraction}", self.sign())
    }

    /// `-123e-4`, the same number.
    fn as_whole_with_exponent(&self) -> String {
        format!("{}{}e-{}", self.sign(), self.digits, self.decimals)
    }

    /// `-123E+4`: the digits, with one zero for each decimal place.
    fn times_power_of_ten(&self) -> String {
        format!("{}{}E+{}", self.sign(), self.digits, self.decimals)
    }

    /// `-1230000`, the same number as [`times_power_of_ten`](Self::times_power_of_ten). Zero is `0`.
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

/// Buffers that are reused for every amount.
struct Buffers {
    record: String,
    request: String,
}

impl Buffers {
    fn new() -> Self {
        Self { record: String::new(), request: String::new() }
    }

    /// Reads `json` as the amount of a record. It must display and serialize as `shown`, and equal the parsed `shown`.
    fn check_record(&mut self, json: &str, shown: &str) -> Amount {
        self.record.clear();
        write!(self.record, r#"{{"TransactionId":"t","Amount":{json}}}"#).expect("a string takes any text");
        let record = TransactionRecord::from_json(self.record.as_bytes()).expect("a record is read");
        let Field::Value(amount) = record.amount else { panic!("{json} cannot be read as an amount") };
        self.check_shown(amount, shown);
        let written = record.to_json();
        let amount_as_written = written.strip_prefix(r#"{"TransactionId":"t","Amount":"#);
        assert_eq!(amount_as_written.and_then(|rest| rest.strip_suffix('}')), Some(shown), "{json}");
        let parsed: Amount = shown.parse().expect("a displayed amount can be parsed");
        assert_eq!(parsed, amount, "{json}");
        amount
    }

    /// Encodes the amount in a request and reads it back, or sees it refused for more than two written decimals.
    fn check_request(&mut self, amount: Amount, shown: &str) {
        let request = TokenTransaction::builder("t", amount, ConvenienceFee::Inactive).build();
        let is_valid = shown.split_once('.').is_none_or(|(_, decimals)| decimals.len() <= 2);
        assert_eq!(request.is_ok(), is_valid, "{shown}: {request:?}");
        let Ok(request) = request else { return };
        let encoded = request.to_json();
        self.request.clear();
        let written =
            write!(self.request, r#"{{"TokenId":"t","Amount":{shown},"ConvenienceFeeActive":false}}"#);
        written.expect("a string takes any text");
        assert_eq!(encoded.as_ref(), self.request.as_bytes(), "{shown}");
        let received =
            TokenTransaction::from_json(encoded.as_ref()).expect("an encoded request can be read").amount();
        assert_eq!(received, amount, "{shown}");
        self.check_shown(received, shown);
    }

    fn check_shown(&mut self, amount: Amount, shown: &str) {
        self.request.clear();
        write!(self.request, "{amount}").expect("a string takes any text");
        assert_eq!(self.request, shown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample of the amounts that `cargo xtask exhaustive-money` checks.
    #[test]
    fn amounts_keep_every_digit_from_text_to_json_and_back() {
        let of_every_size = (0..=9_999).chain((0..100_000_000).step_by(19_997)).chain([99_999_999]);
        check_cents(of_every_size);
        check_random(2_026, 15_000);
    }
}
