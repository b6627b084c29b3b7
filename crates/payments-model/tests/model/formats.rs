//! Amounts and identifiers in a user's own types, in every serde format.

use payments_model::{Amount, CustomerId, GatewayCustomerId, TokenId, TransactionId, TransactionRecord};
use proptest::prelude::*;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Holder<T> {
    value: T,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Flattened<T> {
    number: u32,
    #[serde(flatten)]
    holder: T,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged<T> {
    Number(u32),
    Holder(T),
}

/// Through `serde_json`'s text, bytes, reader and `Value`, through serde's buffering, and through TOML.
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
    let holder = Holder { value: value.clone() };
    let untagged = Untagged::Holder(holder.clone());
    let text = serde_json::to_string(&untagged).unwrap();
    assert_eq!(serde_json::from_str::<Untagged<Holder<T>>>(&text).unwrap(), untagged);
    let flattened = Flattened { number: 17, holder };
    let text = toml::to_string(&flattened).unwrap();
    assert_eq!(toml::from_str::<Flattened<Holder<T>>>(&text).unwrap(), flattened, "{text}");
}

#[test]
fn amounts_and_identifiers_round_trip_through_serde() {
    for text in ["10.50", "0.00", "-7", "123456789012345.678", "1e2", "92233720368547758.07"] {
        let amount: Amount = text.parse().unwrap();
        assert_round_trips(&amount);
        assert_eq!(serde_json::to_string(&amount).unwrap(), format!("\"{amount}\""));
    }
    assert_round_trips(&TransactionId::from_response("a/b c").unwrap());
    assert_round_trips(&"cus_1".parse::<CustomerId>().unwrap());
    assert_round_trips(&"tok_1".parse::<TokenId>().unwrap());
    assert_round_trips(&"gc_1".parse::<GatewayCustomerId>().unwrap());
    assert!(serde_json::from_str::<TransactionId>(r#""""#).is_err());
    assert!(serde_json::from_str::<TokenId>(r#"" ""#).is_err());
}

#[test]
fn amount_is_read_from_a_text_and_never_from_a_float_s3() {
    for digits in ["10.50", "0.1", "123456789012345678", "1e2", "19.990", "9007199254740993.5"] {
        let expected: Amount = digits.parse().unwrap();
        let read: Amount = serde_json::from_str(&format!("\"{digits}\"")).unwrap();
        assert_eq!((read, read.to_string()), (expected, expected.to_string()));
        // A number may have lost digits on the way. It is refused in every form, so that no form surprises.
        let error = serde_json::from_str::<Amount>(digits).unwrap_err().to_string();
        assert!(error.contains("expected a decimal amount as a string, such as \"10.50\""), "{error}");
        let value: Value = serde_json::from_str(digits).unwrap();
        assert!(serde_json::from_value::<Amount>(value).is_err());
    }
    assert!(toml::from_str::<Holder<Amount>>("value = 10.50").is_err());
    assert!(toml::from_str::<Holder<Amount>>("value = 12").is_err());
    for wrong in ["true", "[1]", "\"x\"", "\"\"", "null", "\"1,50\"", "\" 1\""] {
        assert!(serde_json::from_str::<Amount>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn record_serializes_without_secrets_d62() {
    let text = r#"{"TransactionId":"t","CardNumber":"4242424242424242","Cvv":"917","x":{"pan":1,"y":"5555555555554444"}}"#;
    let record = TransactionRecord::from_json(text.as_bytes()).unwrap();
    let expected = json!({ "TransactionId": "t", "CardNumber": "************4242", "Cvv": "[redacted]",
        "x": { "pan": "[redacted]", "y": "[redacted]" } });
    assert_eq!(serde_json::to_value(&record).unwrap(), expected);
    assert_eq!(serde_json::from_str::<Value>(&record.to_json()).unwrap(), expected);
    assert_eq!(
        serde_json::from_str::<Value>(record.other.get("x").unwrap().as_str()).unwrap(),
        expected["x"]
    );
}

proptest! {
    #[test]
    fn any_amount_round_trips(coefficient in any::<i64>(), exponent in -18_i32..18) {
        if let Ok(amount) = format!("{coefficient}e{exponent}").parse::<Amount>() {
            let text = serde_json::to_string(&Flattened { number: 1, holder: Holder { value: amount } }).unwrap();
            prop_assert_eq!(serde_json::from_str::<Flattened<Holder<Amount>>>(&text).unwrap().holder.value, amount);
        }
    }
}
