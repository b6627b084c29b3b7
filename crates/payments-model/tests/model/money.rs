//! Money is exact. The tests compare with a text-based decimal that shares no code with `Amount`.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use payments_model::{Amount, CardTransaction, ConvenienceFee, TokenTransaction, TransactionRecord};
use proptest::prelude::*;
use serde_json::json;

use crate::fixtures::{card_document, fields, violations, with};

/// A decimal as a sign, digits without leading and trailing zeros, and the exponent of the last digit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TextDecimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl TextDecimal {
    fn read(text: &str) -> Self {
        let lower = text.to_lowercase();
        let (mantissa, exponent) = lower.split_once('e').unwrap_or((&lower, "0"));
        let mut exponent: i64 = exponent.parse().unwrap();
        let negative = mantissa.starts_with('-');
        let unsigned = mantissa.trim_start_matches('-');
        let (integer, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        exponent -= i64::try_from(fraction.len()).unwrap();
        let all = format!("{integer}{fraction}");
        let digits = all.trim_end_matches('0');
        exponent += i64::try_from(all.len() - digits.len()).unwrap();
        let digits = digits.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Self { negative: false, digits, exponent: 0 };
        }
        Self { negative, digits, exponent }
    }

    /// Whether the value fits into the documented range.
    fn can_be_kept(&self) -> bool {
        let zeros = usize::try_from(self.exponent - 64).unwrap_or(0);
        let coefficient = format!("{}{}", self.digits, "0".repeat(zeros));
        let limit = if self.negative { "9223372036854775808" } else { "9223372036854775807" };
        let fits = (coefficient.len(), coefficient.as_str()) <= (limit.len(), limit);
        self.digits.is_empty() || (self.exponent >= -64 && fits)
    }

    fn compare(&self, other: &Self) -> Ordering {
        let sign =
            |decimal: &Self| i8::from(!decimal.digits.is_empty()) * if decimal.negative { -1 } else { 1 };
        let size = |decimal: &Self| i64::try_from(decimal.digits.len()).unwrap() + decimal.exponent;
        sign(self).cmp(&sign(other)).then_with(|| {
            // Strings of digits compare like the fractions 0.digits.
            let by_size = size(self).cmp(&size(other)).then_with(|| self.digits.cmp(&other.digits));
            if self.negative { by_size.reverse() } else { by_size }
        })
    }
}

fn number() -> impl Strategy<Value = String> {
    let integer = prop_oneof![Just("0".to_owned()), "[1-9][0-9]{0,6}", "[1-9][0-9]{0,24}", "[1-9]0{10,80}"];
    let fraction = prop_oneof![Just(String::new()), "\\.[0-9]{1,3}", "\\.[0-9]{1,24}", "\\.0{1,70}[0-9]"];
    let exponent =
        prop_oneof![4 => Just(String::new()), 1 => "[eE][+-]?[0-9]{1,2}", 1 => "[eE]-?0{1,3}[0-9]"];
    ("-?", integer, fraction, exponent)
        .prop_map(|(sign, integer, fraction, exponent)| sign + &integer + &fraction + &exponent)
}

fn ordinary_number() -> impl Strategy<Value = String> {
    ("-?", 0_u64..1_000_000, prop_oneof![Just(String::new()), "\\.[0-9]{1,4}"])
        .prop_map(|(sign, integer, fraction)| format!("{sign}{integer}{fraction}"))
}

proptest! {
    #[test]
    fn any_number_is_kept_exactly_or_rejected_s3(text in number()) {
        let model = TextDecimal::read(&text);
        match text.parse::<Amount>() {
            Err(_) => prop_assert!(!model.can_be_kept(), "{text} was rejected"),
            Ok(amount) => {
                prop_assert!(model.can_be_kept(), "{text} was accepted");
                let shown = amount.to_string();
                prop_assert_eq!(TextDecimal::read(&shown), model);
                prop_assert!(!shown.contains(['e', 'E', '+']), "{} is not plain", shown);
                prop_assert_eq!(shown.parse::<Amount>().unwrap(), amount);
            }
        }
    }

    #[test]
    fn decimal_places_are_kept_as_read_s3(text in ordinary_number()) {
        let shown = text.parse::<Amount>().unwrap().to_string();
        let is_negative_zero = text.starts_with('-') && text.bytes().all(|byte| b"-0.".contains(&byte));
        prop_assert_eq!(shown, if is_negative_zero { text[1..].to_owned() } else { text });
    }

    #[test]
    fn eq_ord_and_hash_are_numeric_s3(left in number(), right in number(), zeros in 0_usize..5) {
        let (Ok(a), Ok(b)) = (left.parse::<Amount>(), right.parse::<Amount>()) else { return Ok(()) };
        let expected = TextDecimal::read(&left).compare(&TextDecimal::read(&right));
        prop_assert_eq!(a.cmp(&b), expected);
        prop_assert_eq!(a == b, expected.is_eq());
        let shown = a.to_string();
        let padded = if shown.contains('.') { shown + &"0".repeat(zeros) } else { shown };
        if let Ok(padded) = padded.parse::<Amount>() {
            prop_assert_eq!(padded, a);
            prop_assert_eq!(HashSet::from([a, padded]).len(), 1);
        }
    }

    #[test]
    fn sums_are_exact_s3(left in -1_000_000_000_i64..1_000_000_000, right in any::<i32>(), scale in 0_u32..6) {
        let right = i64::from(right);
        let shift = 10_i64.pow(scale);
        let fine: Amount = format!("{right}e-{}", 2 + scale).parse().unwrap();
        let expected: Amount = format!("{}e-{}", left * shift + right, 2 + scale).parse().unwrap();
        prop_assert_eq!(Amount::from_cents(left).checked_add(fine), Some(expected));
        prop_assert_eq!(fine.checked_add(Amount::from_cents(left)), Some(expected));
    }

    #[test]
    fn cents_round_trip_s3(cents in any::<i64>()) {
        let amount = Amount::from_cents(cents);
        prop_assert_eq!(amount.to_cents(), Some(cents));
        let expected = format!("{}{}.{:02}", if cents < 0 { "-" } else { "" }, cents.unsigned_abs() / 100, cents.unsigned_abs() % 100);
        prop_assert_eq!(amount.to_string(), &*expected);
        prop_assert_eq!(expected.parse::<Amount>().unwrap(), amount);
    }

    #[test]
    fn parsing_any_text_never_panics_s3(text in any::<String>(), like in "[-+0-9.eE ]{0,40}") {
        let _ = text.parse::<Amount>();
        let _ = like.parse::<Amount>();
    }
}

#[test]
fn only_json_numbers_are_amounts_s3() {
    for text in [
        "",
        "-",
        "+1",
        " 1",
        "1 ",
        "01",
        "-01",
        "00",
        ".5",
        "1.",
        "1e",
        "1e+",
        "e1",
        "1.e1",
        "0x1",
        "1_000",
        "1,5",
        "--1",
        "NaN",
        "inf",
        "١",
        "1e1.5",
        "1.5.5",
        "0e99999999999999999999x",
        "0e-99999999999999999999.5",
    ] {
        let error = text.parse::<Amount>().unwrap_err();
        assert_eq!(error.to_string(), "must be a number such as 10.50", "{text}");
    }
    for (text, shown) in [
        ("1e2", "100"),
        ("1E+2", "100"),
        ("1.50e1", "15.0"),
        ("-0", "0"),
        ("0e9", "0"),
        ("0.00", "0.00"),
        ("-0.5", "-0.5"),
    ] {
        assert_eq!(text.parse::<Amount>().unwrap().to_string(), shown);
    }
}

#[test]
fn up_to_18_significant_digits_always_fit_and_nothing_saturates_s3() {
    for text in [
        "999999999999999999",
        "0.999999999999999999",
        "-999999999.999999999",
        "9223372036854775807",
        "-9223372036854775808",
    ] {
        assert_eq!(text.parse::<Amount>().unwrap().to_string(), text);
    }
    assert_eq!("12345678901234567.0000".parse::<Amount>().unwrap().to_string(), "12345678901234567.00");
    for text in [
        "9223372036854775808",
        "-9223372036854775809",
        "1.0000000000000000001",
        "1e99999999999999999999",
        "1e-99999999999999999999",
    ] {
        let error = text.parse::<Amount>().unwrap_err();
        let rule = "must have at most 18 significant digits, and no extreme exponent";
        assert_eq!(error.to_string(), rule, "{text}");
    }
    let long = format!("1.{}e5", "0".repeat(1_000_000));
    assert_eq!(long.parse::<Amount>().unwrap(), "100000".parse().unwrap());
}

#[test]
fn sums_that_cannot_be_kept_are_none_s3() {
    let amount = |text: &str| text.parse::<Amount>().unwrap();
    assert_eq!(amount("9223372036854775807").checked_add(amount("1")), None);
    assert_eq!(amount("1e64").checked_add(amount("1e-64")), None);
    assert_eq!(amount("1e64").checked_add(amount("0.00")), Some(amount("1e64")));
    assert_eq!(amount("9e60").checked_add(amount("1e60")), Some(amount("1e61")));
    assert_eq!(amount("1").checked_add(amount("2.50")).unwrap().to_string(), "3.50");
    assert_eq!(amount("0").checked_add(amount("0.00")).unwrap().to_string(), "0.00");
    assert_eq!(amount("1.00").checked_add(amount("-1")).unwrap().to_string(), "0.00");
}

#[test]
fn exponents_are_accepted_while_the_value_fits_s3() {
    let zeros = |count| format!("1{}", "0".repeat(count));
    for (text, shown) in
        [("1e64", zeros(64)), ("1e65", zeros(65)), ("0.1e83", zeros(82)), ("1e82", zeros(82))]
    {
        assert_eq!(text.parse::<Amount>().unwrap().to_string(), shown, "{text}");
    }
    let tiny = format!("0.{}1", "0".repeat(63));
    for text in ["1e-64", "10e-65", "1000e-67", &tiny] {
        assert_eq!(text.parse::<Amount>().unwrap().to_string(), tiny, "{text}");
    }
    for text in ["1e83", "10e82", "93e81", "1e4294967360", "1e-65", "11e-65", "-1e83", "1e103"] {
        assert!(text.parse::<Amount>().is_err(), "{text}");
    }
    assert_eq!("0e-99".parse::<Amount>().unwrap().to_string(), format!("0.{}", "0".repeat(64)));
}

#[test]
fn adding_zero_changes_nothing_s3() {
    let amount = |text: &str| text.parse::<Amount>().unwrap();
    for (left, right, sum) in [
        ("0", "2.50", "2.50"),
        ("2.50", "0", "2.50"),
        ("0.000", "-1.5", "-1.5"),
        ("-1.5", "0.000", "-1.5"),
        ("0", "0.00", "0.00"),
        ("0.00", "0", "0.00"),
    ] {
        assert_eq!(amount(left).checked_add(amount(right)).unwrap().to_string(), sum, "{left} + {right}");
    }
}

#[test]
fn differences_are_exact_or_none_s3() {
    let amount = |text: &str| text.parse::<Amount>().unwrap();
    for (left, right, difference) in [
        ("10.50", "0.25", "10.25"),
        ("1", "2.50", "-1.50"),
        ("10.50", "10.5", "0.00"),
        ("0", "2.50", "-2.50"),
        ("2.50", "0.000", "2.50"),
        ("1e64", "1e64", "0"),
        ("-9223372036854775807", "1", "-9223372036854775808"),
    ] {
        assert_eq!(
            amount(left).checked_sub(amount(right)).unwrap().to_string(),
            difference,
            "{left} - {right}"
        );
    }
    assert_eq!(amount("-9223372036854775808").checked_sub(amount("1")), None);
    assert_eq!(amount("1").checked_sub(amount("-9223372036854775808")), None);
    assert_eq!(amount("1e64").checked_sub(amount("1e-64")), None);
}

#[test]
fn amounts_are_summed_from_zero_s3() {
    assert_eq!((Amount::ZERO, Amount::ZERO.to_string().as_str()), (Amount::from_cents(0), "0"));
    let amounts = ["10.50", "0.255", "-1"].map(|text| text.parse::<Amount>().unwrap());
    assert_eq!(amounts.iter().sum::<Amount>().to_string(), "9.755");
    assert_eq!(amounts.into_iter().sum::<Amount>(), "9.755".parse().unwrap());
    assert_eq!([].iter().sum::<Amount>(), Amount::ZERO);
}

#[test]
#[should_panic(expected = "the sum is too large to be kept exactly")]
fn sum_that_cannot_be_kept_panics_and_is_never_rounded_s3() {
    let _: Amount = ["1e64", "0.01"].map(|text| text.parse::<Amount>().unwrap()).iter().sum();
}

#[test]
fn amounts_are_ordered_by_value_s3() {
    let in_order = [
        "-1e64", "-99.99", "-9.9", "-1.5", "-1.25", "-0.1", "-0.09", "-1e-64", "0.00", "1e-64", "0.09",
        "0.1", "1.25", "1.5", "9.9", "15", "99.99", "100", "1e64",
    ];
    let amounts: Vec<Amount> = in_order.iter().map(|text| text.parse().unwrap()).collect();
    for (left, one) in amounts.iter().enumerate() {
        for (right, other) in amounts.iter().enumerate() {
            assert_eq!(one.cmp(other), left.cmp(&right), "{one} {other}");
            assert_eq!(one.partial_cmp(other), Some(left.cmp(&right)));
            assert_eq!(one == other, left == right);
        }
    }
    let hasher = RandomState::new();
    let different: HashSet<u64> = amounts.iter().map(|amount| hasher.hash_one(amount)).collect();
    assert_eq!(different.len(), amounts.len(), "different amounts have different hashes");
}

#[test]
fn decimal_places_and_cents_are_those_of_the_value_s3() {
    for (text, places, cents) in [
        ("45.00", 0, Some(4500)),
        ("45.10", 1, Some(4510)),
        ("0.125", 3, None),
        ("1e3", 0, Some(100_000)),
        ("0", 0, Some(0)),
        ("0.000", 0, Some(0)),
        ("1e60", 0, None),
        ("92233720368547758.07", 2, Some(i64::MAX)),
        ("922337203685477581", 0, None),
        ("-0.01", 2, Some(-1)),
    ] {
        let amount = text.parse::<Amount>().unwrap();
        assert_eq!((amount.decimal_places(), amount.to_cents()), (places, cents), "{text}");
    }
    assert_eq!(format!("{:?}", Amount::from_cents(10_50)), "Amount(10.50)");
    assert_eq!(
        format!("{:>8}|{:<8}|", Amount::from_cents(-10_50), Amount::from_cents(5)),
        "  -10.50|0.05    |"
    );
    assert_eq!(format!("{:+} {:+}", Amount::from_cents(5), Amount::from_cents(-5)), "+0.05 -0.05");
}

#[test]
fn request_amounts_are_above_zero_with_at_most_two_decimal_places_s3() {
    for (text, rule) in [
        ("0", "must be above zero"),
        ("0.00", "must be above zero"),
        ("-1", "must be above zero"),
        ("0.001", "must have at most two decimal places"),
        ("10.505", "must have at most two decimal places"),
        ("1e400", "must have at most 18 significant digits, and no extreme exponent"),
        ("12345678901234567890.5", "must have at most 18 significant digits, and no extreme exponent"),
    ] {
        let document = card_document().to_string().replace("\"Amount\":10", &format!("\"Amount\":{text}"));
        assert_eq!(violations(CardTransaction::from_json(document.as_bytes())), [format!("Amount: {rule}")]);
    }
    for (text, sent) in
        [("0.01", "0.01"), ("10.50", "10.50"), ("1e2", "100"), ("1.5e1", "15"), ("1050e-2", "10.50")]
    {
        let document = card_document().to_string().replace("\"Amount\":10", &format!("\"Amount\":{text}"));
        let request = CardTransaction::from_json(document.as_bytes()).unwrap();
        let encoded = request.to_json();
        let body = str::from_utf8(encoded.as_ref()).unwrap();
        assert!(
            body.starts_with(&format!("{{\"Amount\":{sent},")),
            "the amount is a plain number without exponent or quotes"
        );
    }
    assert_eq!(
        fields(CardTransaction::from_json(&with(card_document(), "Amount", json!("10.50")))),
        ["Amount"]
    );
}

#[test]
fn request_amount_with_more_than_two_written_decimals_is_refused_in_every_form_d53() {
    let rule =
        "must be written with at most two decimal places, because 1.000 is a thousand in many countries";
    for text in
        ["1.000", "12.500", "1.230", "10.500", "1.0000", "0.100", "1.000e0", "12.340e1", "1.000e2", "1000e-3"]
    {
        let documents = [
            card_document().to_string().replace("\"Amount\":10", &format!("\"Amount\":{text}")),
            format!(r#"{{"TokenId":"t","Amount":{text},"ConvenienceFeeActive":false}}"#),
        ];
        assert_eq!(
            violations(CardTransaction::from_json(documents[0].as_bytes())),
            [format!("Amount: {rule}")]
        );
        assert_eq!(
            violations(TokenTransaction::from_json(documents[1].as_bytes())),
            [format!("Amount: {rule}")]
        );
    }
    for text in ["1.000", "12.500", "1.230"] {
        let amount: Amount = text.parse().unwrap();
        let built = TokenTransaction::builder("t", amount, ConvenienceFee::Inactive).build();
        assert_eq!(violations(built), [format!("Amount: {rule}")]);
    }
    // What the service returns is read as it is.
    let record = TransactionRecord::from_json(br#"{"TransactionId":"t","Amount":1.000}"#).unwrap();
    assert_eq!(record.amount.value(), Some(&Amount::from_cents(1_00)));
}

#[test]
fn amounts_that_floats_cannot_represent_are_exact_s3() {
    for (text, cents) in [
        ("19.99", 1999),
        ("1.15", 115),
        ("0.29", 29),
        ("4.35", 435),
        ("45.00", 4500),
        ("-3.50", -350),
        ("9999999999999.99", 999_999_999_999_999),
        ("4503599627370497.55", 450_359_962_737_049_755),
        ("9007199254740993", 900_719_925_474_099_300),
    ] {
        let json = format!(r#"{{"TransactionId":"t","Amount":{text},"BaseAmount":"{text}"}}"#);
        let record = TransactionRecord::from_json(json.as_bytes()).unwrap();
        for amount in [&record.amount, &record.base_amount] {
            assert_eq!(amount.value().unwrap().to_cents(), Some(cents));
        }
        assert!(record.to_json().contains(&format!("\"Amount\":{text}")));
    }
}

#[test]
fn unreadable_amount_is_never_zero_s3() {
    for wrong in [
        "true",
        r#""""#,
        r#""1,50""#,
        r#""ten""#,
        "[1]",
        "{}",
        "1e400",
        "1e-400",
        "12345678901234567890.5",
        r#"" 1""#,
    ] {
        let json = format!(r#"{{"TransactionId":"t","Amount":{wrong}}}"#);
        let record = TransactionRecord::from_json(json.as_bytes()).unwrap();
        assert!(
            matches!(&record.amount, payments_model::Field::Unreadable(raw) if raw.as_str() == wrong),
            "{wrong}"
        );
        assert_eq!(record.amount.value(), None);
    }
}
