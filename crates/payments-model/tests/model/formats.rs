//! Records, amounts and identifiers in every serde format.

use payments_model::{
    Amount, CustomerId, CustomerRecord, Field, GatewayCustomerId, MaskedCard, RawJson, TokenId,
    TransactionId, TransactionReceipt, TransactionRecord,
};
use proptest::prelude::*;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Flattened<T> {
    number: u32,
    #[serde(flatten)]
    record: T,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged<T> {
    Number(u32),
    Record(T),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Tagged<T> {
    Record(T),
}

#[derive(Debug, Deserialize)]
struct Order {
    total: Amount,
}

/// Through `serde_json`'s text, bytes, reader and `Value`, and through serde's buffering.
#[track_caller]
fn assert_round_trips<T>(value: &T)
where
    T: Clone + std::fmt::Debug + PartialEq + Serialize + DeserializeOwned,
{
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), value, "{text}");
    assert_eq!(&serde_json::from_slice::<T>(text.as_bytes()).unwrap(), value);
    assert_eq!(&serde_json::from_reader::<_, T>(text.as_bytes()).unwrap(), value);
    assert_eq!(&serde_json::from_value::<T>(serde_json::to_value(value).unwrap()).unwrap(), value);
    let untagged = serde_json::to_string(&Untagged::Record(value.clone())).unwrap();
    assert_eq!(serde_json::from_str::<Untagged<T>>(&untagged).unwrap(), Untagged::Record(value.clone()));
}

#[track_caller]
fn assert_record_round_trips<T>(record: &T)
where
    T: Clone + std::fmt::Debug + PartialEq + Serialize + DeserializeOwned,
{
    assert_round_trips(record);
    let flattened = Flattened { number: 17, record: record.clone() };
    let text = serde_json::to_string(&flattened).unwrap();
    assert_eq!(serde_json::from_str::<Flattened<T>>(&text).unwrap().record, flattened.record, "{text}");
    let tagged = serde_json::to_string(&Tagged::Record(record.clone())).unwrap();
    assert_eq!(serde_json::from_str::<Tagged<T>>(&tagged).unwrap(), Tagged::Record(record.clone()));
    // TOML has no `null`.
    let text = toml::to_string(&flattened).unwrap();
    assert_eq!(toml::from_str::<Flattened<T>>(&text).unwrap(), flattened, "{text}");
}

fn record() -> TransactionRecord {
    let mut record = TransactionRecord::new("txn_1".parse().unwrap());
    record.amount = Amount::from_cents(10_50).into();
    record.base_amount = "123456789012345.678".parse::<Amount>().unwrap().into();
    record.card_number = MaskedCard::new("************4242").into();
    record.billing_city = String::new().into();
    record.billing_country = 840.into();
    record.billing_email = Field::Unreadable(RawJson::parse(r#"["a",true]"#).unwrap());
    record.other.insert("Fees", RawJson::parse(r#"{"a":[1,-2,"3.50"]}"#).unwrap());
    record
}

#[test]
fn records_round_trip_through_serde() {
    assert_record_round_trips(&record());
    assert_record_round_trips(&TransactionReceipt::new("txn_1".parse().unwrap()));
    let mut customer = CustomerRecord::new();
    customer.customer_id = "cus_1".parse::<CustomerId>().unwrap().into();
    customer.state_id = Field::Value(-1);
    assert_record_round_trips(&customer);
    let mut with_null = record();
    with_null.billing_state = Field::Null;
    assert_round_trips(&with_null);
}

#[test]
fn amounts_and_identifiers_round_trip_through_serde() {
    for text in ["10.50", "0.00", "-7", "123456789012345.678", "1e2", "92233720368547758.07"] {
        let amount: Amount = text.parse().unwrap();
        assert_round_trips(&amount);
        assert_eq!(serde_json::to_string(&amount).unwrap(), format!("\"{amount}\""));
    }
    assert_round_trips(&TransactionId::from_answer("a/b c").unwrap());
    assert_round_trips(&"cus_1".parse::<CustomerId>().unwrap());
    assert_round_trips(&"tok_1".parse::<TokenId>().unwrap());
    assert_round_trips(&"gc_1".parse::<GatewayCustomerId>().unwrap());
    assert!(serde_json::from_str::<TransactionId>(r#""""#).is_err());
    assert!(serde_json::from_str::<TokenId>(r#"" ""#).is_err());
}

#[test]
fn amount_is_read_from_digits_and_never_from_a_float_s3() {
    for digits in ["10.50", "0.1", "123456789012345678", "1e2", "19.990"] {
        let expected: Amount = digits.parse().unwrap();
        assert_eq!(serde_json::from_str::<Amount>(digits).unwrap(), expected);
        assert_eq!(serde_json::from_str::<Amount>(digits).unwrap().to_string(), expected.to_string());
        assert_eq!(serde_json::from_str::<Amount>(&format!("\"{digits}\"")).unwrap(), expected);
    }
    let order: Order = serde_json::from_str(r#"{"total":10.50}"#).unwrap();
    assert_eq!(order.total.to_string(), "10.50");
    assert_eq!(toml::from_str::<Order>("total = 12").unwrap().total, Amount::from_cents(12_00));
    assert!(toml::from_str::<Order>("total = 10.50").is_err());
    let buffered = serde_json::from_str::<Flattened<Order>>(r#"{"number":1,"total":10.50}"#);
    assert!(buffered.unwrap_err().to_string().starts_with("expected a decimal amount"));
    let buffered = serde_json::from_str::<Flattened<Order>>(r#"{"number":1,"total":"10.50"}"#).unwrap();
    assert_eq!(buffered.record.total, Amount::from_cents(10_50));
    for wrong in ["true", "[1]", "\"x\"", "\"\"", "null"] {
        assert!(serde_json::from_str::<Amount>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn amount_that_may_have_lost_digits_is_rejected_s3() {
    let through_value = |digits: &str| {
        let value: Value = serde_json::from_str(digits).unwrap();
        serde_json::from_value::<Amount>(value).ok()
    };
    assert_eq!(through_value("10.50"), Some(Amount::from_cents(10_50)));
    assert_eq!(through_value("123456789012.345"), "123456789012.345".parse().ok());
    assert_eq!(through_value("9007199254740993"), "9007199254740993".parse().ok());
    assert_eq!(through_value("9007199254740993.5"), None);
    assert_eq!(through_value("1234567890123456.78"), None);
    assert_eq!(
        serde_json::from_str::<Amount>("9007199254740993.5").unwrap().to_string(),
        "9007199254740993.5"
    );
}

#[test]
fn flattened_integer_out_of_range_is_rejected_s3() {
    let flattened = |member: &str| {
        let text = format!(r#"{{"number":1,{member}}}"#);
        serde_json::from_str::<Flattened<TransactionRecord>>(&text).map(|flattened| flattened.record)
    };
    let amount = flattened(r#""TransactionId":"t","Amount":100000000000000000000"#).unwrap().amount;
    assert!(matches!(amount, Field::Unreadable(_)), "{amount:?}");
    assert!(flattened(r#""TransactionId":123456789012345678901"#).is_err());
    assert_eq!(
        flattened(r#""TransactionId":1234567890123456789"#).unwrap().transaction_id.as_str(),
        "1234567890123456789"
    );
}

#[test]
fn unreadable_field_stays_unreadable_after_a_round_trip() {
    let text = r#"{"number":1,"TransactionId":"t","Amount":1234567890123456.78,"Status":1.5,"BillingCity":99999999999999999999}"#;
    let Flattened { record, .. } = serde_json::from_str::<Flattened<TransactionRecord>>(text).unwrap();
    let written = serde_json::to_string(&record).unwrap();
    let read: TransactionRecord = serde_json::from_str(&written).unwrap();
    for record in [record, read] {
        assert!(matches!(record.amount, Field::Unreadable(_)), "{written}");
        assert!(matches!(record.status, Field::Unreadable(_)), "{written}");
        assert!(matches!(record.billing_city, Field::Unreadable(_)), "{written}");
    }
}

#[test]
fn flattened_float_is_unreadable_and_other_fields_are_read_s3() {
    let text = r#"{"number":1,"TransactionId":"t","Amount":10.5,"BaseAmount":10,"Status":"1","x":0.25}"#;
    let Flattened { record, .. } = serde_json::from_str::<Flattened<TransactionRecord>>(text).unwrap();
    assert_eq!(record.amount, Field::Unreadable(RawJson::parse("10.5").unwrap()));
    assert_eq!(record.base_amount, Field::Value(Amount::from_cents(10_00)));
    assert_eq!((record.status.as_deref(), record.other.len()), (Some("1"), 1));
}

#[test]
fn record_serializes_without_secrets_d62() {
    let text = r#"{"TransactionId":"t","CardNumber":"4242424242424242","Cvv":"917","x":{"pan":1,"y":"5555555555554444"}}"#;
    let record: TransactionRecord = serde_json::from_str(text).unwrap();
    let expected = json!({ "TransactionId": "t", "CardNumber": "************4242", "Cvv": "[redacted]",
        "x": { "pan": "[redacted]", "y": "[redacted]" } });
    assert_eq!(serde_json::to_value(&record).unwrap(), expected);
    assert_eq!(serde_json::from_str::<Value>(&record.to_json()).unwrap(), expected);
}

proptest! {
    #[test]
    fn any_amount_round_trips(coefficient in any::<i64>(), exponent in -18_i32..18) {
        if let Ok(amount) = format!("{coefficient}e{exponent}").parse::<Amount>() {
            let text = serde_json::to_string(&Flattened { number: 1, record: json!({ "total": amount }) }).unwrap();
            prop_assert_eq!(serde_json::from_str::<Flattened<Order>>(&text).unwrap().record.total, amount);
        }
    }

    #[test]
    fn any_text_of_a_record_round_trips(name in any::<String>(), text in any::<String>(), number in any::<f64>()) {
        let mut record = record();
        record.billing_customer_name = text.clone().into();
        let other = json!({ "text": text, "number": number, "list": [null, true, number] }).to_string();
        record.other.insert(name, RawJson::parse(&other).unwrap());
        let written = serde_json::to_string(&record).unwrap();
        let read: TransactionRecord = serde_json::from_str(&written).unwrap();
        prop_assert_eq!(&read.billing_customer_name, &record.billing_customer_name);
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), written);
    }
}
