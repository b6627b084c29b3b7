//! Does an amount arrive as it was sent, whatever features another crate gives `serde_json`?
//!
//! Run under all four combinations of its `arbitrary_precision` and `float_roundtrip`.

use bytes::Bytes;
use payments_core::model::{Amount, Field, TransactionRecord};
use payments_core::{ApiKey, Endpoint, GetTransaction, Operation};
use proptest::prelude::*;

use crate::requests::sale;
use crate::rig::Network;

/// Looks a record up in an answer with this text as its amount.
fn read_amount(text: &str) -> Field<Amount> {
    let body =
        format!(r#"{{"status_code":200,"message":"m","data":{{"TransactionId":"t","Amount":{text}}}}}"#);
    let endpoint =
        Endpoint::new("https://pay.example.com/api/v1/public", ApiKey::new("key").unwrap()).unwrap();
    let answer = http::Response::builder().status(200).body(Bytes::from(body)).unwrap();
    GetTransaction::new("t".parse().unwrap()).read(&endpoint, answer).unwrap().into_data().amount
}

#[test]
fn d60_d61_amounts_are_read_digit_for_digit_as_number_or_text() {
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
fn d60_an_amount_that_is_not_there_is_not_zero() {
    assert_eq!(read_amount("null"), Field::Null);
    for unreadable in
        ["\"\"", "\"ten\"", "true", "{}", "1e400", "1e-400", "12345678901234567890123", "\"1,50\""]
    {
        assert!(matches!(read_amount(unreadable), Field::Unreadable(_)), "{unreadable}");
    }
}

proptest! {
    #[test]
    fn d60_any_record_amount_survives_reading_and_writing(units in any::<i64>(), places in 0_u32..=18) {
        let text = decimal(units, places);
        let amount = read_amount(&text);
        prop_assert_eq!(amount.value().map(Amount::to_string), Some(text));
        let mut record = TransactionRecord::new("t".parse().unwrap());
        record.amount = amount;
        let written = serde_json::to_string(&record).unwrap();
        prop_assert_eq!(serde_json::from_str::<TransactionRecord>(&written).unwrap(), record);
    }
}

/// A sample of what `cargo xtask exhaustive-money` takes whole.
#[test]
fn amounts_arrive_digit_for_digit_from_text_to_json_and_back() {
    let of_every_size = (0..=9_999).chain((0..100_000_000).step_by(19_997)).chain([99_999_999]);
    payments_fuzz::money::check_cents(of_every_size);
    payments_fuzz::money::check_random(2_026, 15_000);
}

/// The decimal with these digits and as many of them behind the point.
fn decimal(units: i64, places: u32) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let digits = format!("{:0>1$}", units.unsigned_abs(), places as usize + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places as usize);
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

#[tokio::test]
async fn every_cent_of_a_charge_arrives() {
    let rig = Network::Http.rig().await;
    let mut total = Amount::from_cents(0);
    for cents in [1, 7, 10, 29, 1_00, 19_99, 45_00, 70_07, 4_503_599_627_370_497, 9_007_199_254_740_993] {
        let amount = Amount::from_cents(cents);
        let charged = rig.client.process_card(&sale(cents)).await.unwrap();
        assert_eq!(charged.amount.value(), Some(&amount), "{amount}");
        total = total.checked_add(amount).unwrap();
    }
    rig.gateway.ledger().assert_charged_total(total);
}
