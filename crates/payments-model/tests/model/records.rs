//! Records are read leniently, and nothing is lost.

use payments_model::{
    CustomerRecord, Field, MaskedCard, RawJson, TransactionReceipt, TransactionRecord, TransactionTypeCode,
};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use crate::table_checks::assert_in_order;
use crate::tables::{CUSTOMER_RECORD, Kind, TRANSACTION_RECORD};

fn transaction(value: &Value) -> TransactionRecord {
    TransactionRecord::from_json(value.to_string().as_bytes()).unwrap()
}

/// A record with every field of the table, each with its own type.
fn full(table: &[(&str, Kind)]) -> Value {
    let member = |(index, (name, kind)): (usize, &(&str, Kind))| {
        let value = match kind {
            Kind::Number | Kind::Integer => json!(index),
            _ => json!(format!("{name} {index}")),
        };
        ((*name).to_owned(), value)
    };
    table.iter().enumerate().map(member).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn every_field_is_read_and_written_with_its_name_type_and_order_d60() {
    let document = full(&TRANSACTION_RECORD);
    let record = transaction(&document);
    assert!(record.other.is_empty(), "{:?}", record.other);
    let written = record.to_json();
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), document);
    assert_in_order(written.as_bytes(), TRANSACTION_RECORD.iter().map(|(name, _)| *name));

    let document = full(&CUSTOMER_RECORD);
    let record = CustomerRecord::from_json(document.to_string().as_bytes()).unwrap();
    assert!(record.other.is_empty(), "{:?}", record.other);
    let written = record.to_json();
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), document);
    assert_in_order(written.as_bytes(), CUSTOMER_RECORD.iter().map(|(name, _)| *name));
}

#[test]
fn every_field_except_the_identifier_is_optional_d60() {
    let record = transaction(&json!({ "TransactionId": "t" }));
    assert_eq!(record, TransactionRecord::new("t".parse().unwrap()));
    assert_eq!(record.to_json(), r#"{"TransactionId":"t"}"#);
    let customer = CustomerRecord::from_json(b"{}").unwrap();
    assert_eq!(customer, CustomerRecord::new());
    let mut document = full(&TRANSACTION_RECORD);
    document.as_object_mut().unwrap().remove("TransactionId");
    assert!(TransactionRecord::from_json(document.to_string().as_bytes()).is_err());
}

#[test]
fn field_of_a_wrong_type_is_kept_raw_and_other_fields_are_read_d60() {
    for (name, _) in &TRANSACTION_RECORD[1..] {
        let mut document = full(&TRANSACTION_RECORD);
        document[*name] = json!({ "odd": [true] });
        let written = transaction(&document).to_json();
        let mut expected = document;
        if *name == "CardNumber" {
            expected[*name] = json!(["[redacted]"]);
        }
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), expected);
    }
    let record =
        transaction(&json!({ "TransactionId": "t", "BillingEmail": 5, "BillingCity": true, "Status": [1] }));
    for field in [record.billing_email, record.billing_city, record.status] {
        assert!(matches!(field, Field::Unreadable(_)));
    }
}

#[test]
fn absent_null_and_empty_stay_distinct_d60() {
    let record = transaction(&json!({ "TransactionId": "t", "BillingState": null, "BillingCity": "" }));
    assert_eq!(record.billing_state, Field::Null);
    assert_eq!(record.billing_city, Field::Value(String::new()));
    assert!(record.billing_address.is_absent() && !record.billing_state.is_absent());
    assert_eq!(record.to_json(), r#"{"TransactionId":"t","BillingCity":"","BillingState":null}"#);
}

#[test]
fn unknown_fields_are_kept_verbatim_and_in_order_d60() {
    let text = r#"{"zeta":1.50,"TransactionId":"t","alpha":{"a" : [1e5]},"zeta":2}"#;
    let record = TransactionRecord::from_json(text.as_bytes()).unwrap();
    let names: Vec<_> = record.other.iter().map(|(name, _)| name).collect();
    assert_eq!((names, record.other.len()), (["zeta", "alpha", "zeta"].to_vec(), 3));
    assert_eq!(record.other.get("zeta").unwrap().as_str(), "1.50");
    assert_eq!(record.other.get("alpha").unwrap().as_str(), r#"{"a" : [1e5]}"#);
    assert_eq!(record.other.get("Alpha"), None);
    assert_eq!(record.to_json(), r#"{"TransactionId":"t","zeta":1.50,"alpha":{"a" : [1e5]},"zeta":2}"#);
}

#[test]
fn repeated_field_is_unreadable_and_repeated_identifier_is_an_error_d60() {
    let repeated = br#"{"TransactionId":"t","Amount":1,"Status":"1","Amount":2.50,"Amount":null}"#;
    let record = TransactionRecord::from_json(repeated).unwrap();
    assert_eq!(record.amount, Field::Unreadable(RawJson::parse("[1,2.50,null]").unwrap()));
    assert_eq!(record.status, Field::Value("1".to_owned()));
    assert!(TransactionRecord::from_json(br#"{"TransactionId":"t","TransactionId":"t"}"#).is_err());
    assert!(TransactionReceipt::from_json(br#"{"TransactionId":"t","TransactionId":"t"}"#).is_err());
}

#[test]
fn other_field_with_the_name_of_a_record_field_is_not_written_d60() {
    let mut record = TransactionRecord::new("t".parse().unwrap());
    record.other.insert("Amount", RawJson::parse("1").unwrap());
    assert_eq!(record.to_json(), r#"{"TransactionId":"t"}"#);
}

#[test]
fn records_of_100_000_unknown_or_repeated_fields_are_read_in_linear_time_d60() {
    let unknown: Vec<String> = (0..100_000).map(|index| format!(r#""x{index}":{{"y":1}}"#)).collect();
    let record =
        TransactionRecord::from_json(format!(r#"{{"TransactionId":"t",{}}}"#, unknown.join(",")).as_bytes())
            .unwrap();
    assert_eq!(record.other.len(), 100_000);
    let repeated = r#""Amount":1,"Status":"2","#.repeat(100_000);
    let record =
        TransactionRecord::from_json(format!(r#"{{{repeated}"TransactionId":"t"}}"#).as_bytes()).unwrap();
    assert!(matches!(record.amount, Field::Unreadable(_)));
}

#[test]
fn deeply_nested_fields_do_not_overflow_the_stack_d60() {
    let deep = format!("{}1{}", r#"{"Cvv":["#.repeat(100_000), "]}".repeat(100_000));
    let record = TransactionRecord::from_json(
        format!(r#"{{"TransactionId":"t","Amount":{deep},"x":{deep}}}"#).as_bytes(),
    )
    .unwrap();
    assert!(matches!(record.amount, Field::Unreadable(_)));
    assert_eq!(record.other.get("x").unwrap().as_str(), r#"{"Cvv":"[redacted]"}"#);
}

#[test]
fn identifiers_codes_and_amounts_may_be_strings_or_numbers_d61() {
    let record = transaction(&json!({
        "TransactionId": 17, "Amount": "10.50", "BaseAmount": "1e1", "TransactionType": "2", "Status": 3, "BillingCountry": "840",
        "BillingPostalCode": 94105, "BillingCountryCode": 1, "CardNumber": 4242,
    }));
    assert_eq!(record.transaction_id.as_str(), "17");
    assert_eq!(record.amount.value().unwrap().to_string(), "10.50");
    assert_eq!(record.base_amount.value().unwrap().to_string(), "10");
    assert_eq!(record.transaction_type, Field::Value(TransactionTypeCode::AUTH));
    assert_eq!(record.status, Field::Value("3".to_owned()));
    assert_eq!(record.billing_country, Field::Value(840));
    assert_eq!(record.billing_postal_code, Field::Value("94105".to_owned()));
    assert_eq!(record.billing_country_code, Field::Value("1".to_owned()));
    assert_eq!(record.card_number, Field::Value(MaskedCard::new("4242")));
    let customer =
        CustomerRecord::from_json(br#"{"CustomerId":5,"CountryId":"840","StateId":"-1","PostalCode":1}"#)
            .unwrap();
    assert_eq!(customer.customer_id.value().unwrap().as_str(), "5");
    assert_eq!((customer.country_id, customer.state_id), (Field::Value(840), Field::Value(-1)));
}

#[test]
fn transaction_type_is_an_open_integer_d61() {
    for (raw, expected) in [
        ("1", Some(1)),
        ("2", Some(2)),
        ("99", Some(99)),
        ("-5", Some(-5)),
        ("1.0", None),
        ("\"01\"", None),
        ("\"Sale\"", None),
        ("99999999999999999999", None),
    ] {
        let record = TransactionRecord::from_json(
            format!(r#"{{"TransactionId":"t","TransactionType":{raw}}}"#).as_bytes(),
        )
        .unwrap();
        assert_eq!(record.transaction_type.value().map(|code| code.value()), expected, "{raw}");
    }
    assert_eq!((TransactionTypeCode::SALE.value(), TransactionTypeCode::AUTH.value()), (1, 2));
}

#[test]
fn long_numeric_identifier_keeps_every_digit_d61() {
    for (raw, expected) in [
        ("12345678901234567890123", Some("12345678901234567890123")),
        ("0", Some("0")),
        ("1.0", None),
        ("1e3", None),
        ("true", None),
        ("\"\"", None),
        ("\" \"", Some(" ")),
        ("null", None),
        ("{}", None),
    ] {
        let receipt = TransactionReceipt::from_json(format!(r#"{{"TransactionId":{raw}}}"#).as_bytes()).ok();
        assert_eq!(receipt.as_ref().map(|receipt| receipt.transaction_id.as_str()), expected, "{raw}");
    }
}

#[test]
fn full_card_number_in_a_record_is_masked_when_read_d62() {
    for (raw, shown) in [
        (json!("4242424242424242"), "************4242"),
        (json!("4242 4242 4242 4242"), "**** **** **** 4242"),
        (json!(4_242_424_242_424_242_i64), "************4242"),
        (json!("XXXXXXXXXXXX4242"), "XXXXXXXXXXXX4242"),
        (json!("424242******4242"), "************4242"),
        (json!("４２４２４２４２"), "****４２４２"),
    ] {
        let record = transaction(&json!({ "TransactionId": "t", "CardNumber": raw }));
        assert_eq!(record.card_number.value().unwrap().as_str(), shown);
    }
    for odd in [json!(["4242424242424242"]), json!({ "number": "4242424242424242" })] {
        let record = transaction(&json!({ "TransactionId": "t", "CardNumber": odd }));
        assert!(!record.to_json().contains("4242"));
    }
    let repeated = r#"{"TransactionId":"t","CardNumber":"4242424242424242","CardNumber":"4242424242424242"}"#;
    let record = TransactionRecord::from_json(repeated.as_bytes()).unwrap();
    assert!(!record.to_json().contains("4242"));
}

#[test]
fn last_four_digits_are_returned_if_present_d62() {
    for (text, last_four) in [
        ("************4242", Some("4242")),
        ("4242", Some("4242")),
        ("", None),
        ("242", None),
        ("****", None),
        ("x4242 ", None),
        ("äöü4", None),
        ("ä4242", Some("4242")),
    ] {
        assert_eq!(MaskedCard::new(text).last_four(), last_four, "{text}");
    }
}

#[test]
fn masked_card_number_has_its_own_type_d62() {
    let number = payments_model::CardNumber::new("4242424242424242").unwrap();
    assert_eq!(number.masked(), MaskedCard::new("4242424242424242"));
    assert_eq!(number.masked().to_string(), "************4242");
    static_assertions::assert_not_impl_any!(MaskedCard: Into<payments_model::CardNumber>);
}

#[test]
fn record_serializes_as_the_interface_writes_it_d60() {
    #[derive(Serialize)]
    struct Order<'a> {
        number: u32,
        #[serde(flatten)]
        payment: &'a TransactionRecord,
    }

    let json = r#"{"TransactionId":"t","BaseAmount":1.000,"Amount":123456789012345.678,"Status":["a"],"x":{"y" : 1.50}}"#;
    let payment = TransactionRecord::from_json(json.as_bytes()).unwrap();
    assert_eq!(payment.to_json(), json);
    assert_eq!(serde_json::to_string(&payment).unwrap(), json);
    let order = serde_json::to_string(&Order { number: 17, payment: &payment }).unwrap();
    assert_eq!(order, json.replacen('{', r#"{"number":17,"#, 1));
    // A table of another program may hold the amount as a text.
    let read = TransactionRecord::from_json(
        json.replace("123456789012345.678", "\"123456789012345.678\"").as_bytes(),
    );
    assert_eq!(read.unwrap(), payment);
}

#[test]
fn document_may_begin_with_a_byte_order_mark_d60() {
    let record = TransactionRecord::from_json(b"\xef\xbb\xbf {\"TransactionId\":\"t\"}").unwrap();
    assert_eq!(record, transaction(&json!({"TransactionId": "t"})));
    assert!(TransactionRecord::from_json(b"\xef\xbb\xbf\xef\xbb\xbf{\"TransactionId\":\"t\"}").is_err());
}

#[test]
fn record_that_cannot_be_read_says_why_and_nothing_about_money_d60() {
    for document in
        [&b""[..], b"[]", b"null", b"{", b"4242424242424242", b"{}{}", b"{\"TransactionId\":\"\xff\"}"]
    {
        let error = TransactionRecord::from_json(document).unwrap_err();
        assert_eq!(error.to_string(), "the record is not a JSON object");
        assert!(
            CustomerRecord::from_json(document).is_err() && TransactionReceipt::from_json(document).is_err()
        );
    }
    for document in
        [&b"{}"[..], br#"{"TransactionId":null}"#, br#"{"TransactionId":"a","TransactionId":"a"}"#]
    {
        let error = TransactionReceipt::from_json(document).unwrap_err();
        assert_eq!(error.to_string(), "the record does not have exactly one TransactionId");
    }
}

fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?",
        any::<String>().prop_map(|text| Value::from(text).to_string()),
        "[0-9*]{0,19}".prop_map(|text| Value::from(text).to_string()),
        Just(r#""\ud800""#.to_owned()),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            proptest::collection::vec((name(), inner), 0..4).prop_map(|members| object(&members)),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    let known = TRANSACTION_RECORD
        .iter()
        .chain(&CUSTOMER_RECORD)
        .map(|(name, _)| (*name).to_owned())
        .collect::<Vec<_>>();
    prop_oneof![
        4 => proptest::sample::select(known),
        1 => any::<String>(),
        1 => proptest::sample::select(vec!["Cvv".to_owned(), "cvc".to_owned(), "account_number".to_owned()]),
    ]
}

fn object(members: &[(String, String)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("{}:{value}", Value::from(name.as_str()))).collect();
    format!("{{{}}}", members.join(","))
}

proptest! {
    #[test]
    fn any_record_round_trips_d60(members in proptest::collection::vec((name(), any_json()), 0..12)) {
        let text = object(&members);
        if let Ok(record) = TransactionRecord::from_json(text.as_bytes()) {
            let written = record.to_json();
            prop_assert_eq!(TransactionRecord::from_json(written.as_bytes()).unwrap(), record, "{}", written);
        }
        if let Ok(receipt) = TransactionReceipt::from_json(text.as_bytes()) {
            let written = receipt.to_json();
            prop_assert_eq!(TransactionReceipt::from_json(written.as_bytes()).unwrap(), receipt, "{}", written);
        }
        let record = CustomerRecord::from_json(text.as_bytes()).unwrap();
        let written = record.to_json();
        prop_assert_eq!(CustomerRecord::from_json(written.as_bytes()).unwrap(), record, "{}", written);
    }

    #[test]
    fn masked_card_shows_at_most_four_digits_of_any_text_d62(text in any::<String>(), digits in "[0-9 *-]{0,40}") {
        for text in [text, digits] {
            let masked = MaskedCard::new(&text);
            prop_assert!(masked.as_str().chars().filter(|character| character.is_numeric()).count() <= 4);
            prop_assert_eq!(MaskedCard::new(masked.as_str()), masked);
        }
    }
}
