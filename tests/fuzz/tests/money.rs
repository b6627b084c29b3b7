//! Amounts do not change, whichever features other crates enable in `serde_json`.
//!
//! These tests run with neither and with each of its `arbitrary_precision` and `float_roundtrip`.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use bytes::Bytes;
use payments_core::model::{Amount, Field, TransactionRecord};
use payments_core::{ApiKey, Endpoint, GetTransaction, Operation};
use proptest::prelude::*;

/// The amount of a record in a lookup response with this JSON as its amount.
fn read_amount(text: &str) -> Field<Amount> {
    let body =
        format!(r#"{{"status_code":200,"message":"m","data":{{"TransactionId":"t","Amount":{text}}}}}"#);
    let endpoint =
        Endpoint::new("https://pay.example.com/api/v1/public", ApiKey::new("key").unwrap()).unwrap();
    let response = http::Response::builder().status(200).body(Bytes::from(body)).unwrap();
    GetTransaction::new("t".parse().unwrap()).read(&endpoint, response).unwrap().into_data().amount
}

#[test]
fn amounts_are_read_exactly_from_numbers_and_strings_d60_d61() {
    for (text, exact) in [
        ("0.07", "0.07"),
        ("19.99", "19.99"),
        ("45.00", "45.00"),
        ("\"19.99\"", "19.99"),
        ("1e2", "100"),
        ("-3.50", "-3.50"),
        ("9007199254740993", "9007199254740993"),
        ("4503599627370497.55", "4503599627370497.55"),
        ("0.000000000000000001", "0.000000000000000001"),
        ("999999999999999999", "999999999999999999"),
    ] {
        assert_eq!(read_amount(text).value().map(Amount::to_string).as_deref(), Some(exact), "{text}");
    }
}

#[test]
fn missing_or_unreadable_amount_is_not_zero_d60() {
    assert_eq!(read_amount("null"), Field::Null);
    for unreadable in
        ["\"\"", "\"ten\"", "true", "{}", "1e400", "1e-400", "12345678901234567890123", "\"1,50\""]
    {
        assert!(matches!(read_amount(unreadable), Field::Unreadable(_)), "{unreadable}");
    }
}

proptest! {
    #[test]
    fn any_record_amount_round_trips_d60(units in any::<i64>(), places in 0_u32..=18) {
        let text = decimal(units, places);
        let amount = read_amount(&text);
        prop_assert_eq!(amount.value().map(Amount::to_string), Some(text));
        let mut record = TransactionRecord::new("t".parse().unwrap());
        record.amount = amount;
        let written = serde_json::to_string(&record).unwrap();
        prop_assert_eq!(TransactionRecord::from_json(written.as_bytes()).unwrap(), record);
    }
}

/// A sample of the amounts that `cargo xtask exhaustive-money` checks.
#[test]
fn amounts_keep_every_digit_from_text_to_json_and_back() {
    let of_every_size = (0..=9_999).chain((0..100_000_000).step_by(19_997)).chain([99_999_999]);
    payments_fuzz::money::check_cents(of_every_size);
    payments_fuzz::money::check_random(2_026, 15_000);
}

/// The decimal with these digits and this number of decimal places.
fn decimal(units: i64, places: u32) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let digits = format!("{:0>1$}", units.unsigned_abs(), places as usize + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places as usize);
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}
