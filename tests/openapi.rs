//! Does the OpenAPI document agree with the interface's tables, and with what the model reads and writes?

use std::collections::BTreeMap;

use payments_core::model::unversioned::{BAD_REQUEST_PREFIX, Envelope, Status};
use payments_core::model::{
    AchTransaction, CardTransaction, CustomerRecord, TokenTransaction, TransactionReceipt, TransactionRecord,
    Void,
};
use payments_fake::unversioned::{ErrorEnvelope, success};
use payments_sandbox::OPENAPI;
use serde_json::Value;

use tables::{CARD_TRANSACTION, CUSTOMER_RECORD, Kind, Row, TOKEN_TRANSACTION, TRANSACTION_RECORD, VOID};

// Shared with the model's tests, because a copy would need another test to keep it equal.
#[path = "../crates/payments-model/tests/model/tables.rs"]
mod tables;

/// Each field's type, and whether it is required.
type Fields<'a> = BTreeMap<&'a str, (Kind, bool)>;

struct Document(Value);

impl Document {
    fn read() -> Self {
        Self(serde_json::from_str(OPENAPI).unwrap())
    }

    fn schema(&self, name: &str) -> &Value {
        let schema = &self.0["components"]["schemas"][name];
        assert!(schema.is_object(), "there is no schema {name}");
        schema
    }

    /// The target of a `$ref`, or the value itself.
    fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(reference) => self.0.pointer(reference.strip_prefix('#').unwrap()).unwrap(),
            None => value,
        }
    }

    fn fields(&self, name: &str) -> Fields<'_> {
        let schema = self.schema(name);
        let required: Vec<_> = texts(&schema["required"]).collect();
        let properties = schema["properties"].as_object().unwrap();
        for name in &required {
            assert!(properties.contains_key(*name), "{name} is required but has no type");
        }
        let field = |(name, property)| {
            let is_required = required.contains(&String::as_str(name));
            (String::as_str(name), (kind(self.resolved(property)), is_required))
        };
        properties.iter().map(field).collect()
    }

    fn operation(&self, method: &str, path: &str) -> &Value {
        let operation = &self.0["paths"][path][method];
        assert!(operation.is_object(), "there is no {method} {path}");
        operation
    }

    /// The named examples of a request's body.
    fn requests(&self, path: &str) -> impl Iterator<Item = (&str, Vec<u8>)> {
        let content = &self.operation("post", path)["requestBody"]["content"]["application/json"];
        let examples = content["examples"].as_object().unwrap().iter();
        examples.map(|(name, example)| (name.as_str(), example["value"].to_string().into_bytes()))
    }

    /// The example of a response.
    fn response(&self, method: &str, path: &str, status: &str, name: &str) -> &Value {
        let response = self.resolved(&self.operation(method, path)["responses"][status]);
        let example = &response["content"]["application/json"]["examples"][name]["value"];
        assert!(example.is_object(), "{method} {path} has no example {name} of {status}");
        example
    }
}

fn kind(property: &Value) -> Kind {
    let types = match &property["type"] {
        Value::Array(types) => types.iter().filter(|name| *name != "null").collect(),
        name => vec![name],
    };
    match types[..] {
        [name] if name == "string" => Kind::Text,
        [name] if name == "number" => Kind::Number,
        [name] if name == "integer" => Kind::Integer,
        [name] if name == "boolean" => Kind::Flag,
        _ => panic!("not one type: {property}"),
    }
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap())
}

fn of_rows(rows: &[Row]) -> Fields<'_> {
    rows.iter().map(|row| (row.name, (row.kind, row.required))).collect()
}

const CARD_FIELDS: [&str; 3] = ["CardNumber", "Cvv", "ExpiryDate"];

#[test]
fn openapi_has_the_fields_of_every_request_d30() {
    let document = Document::read();
    for (name, rows) in [
        ("CardTransaction", &CARD_TRANSACTION[..]),
        ("TokenTransaction", &TOKEN_TRANSACTION),
        ("Void", &VOID),
    ] {
        assert_eq!(document.fields(name), of_rows(rows), "{name}");
        assert_eq!(document.schema(name)["additionalProperties"], false, "{name}");
    }
}

#[test]
fn openapi_ach_payments_allow_any_field_except_card_fields_d39() {
    let document = Document::read();
    let mut expected = of_rows(&CARD_TRANSACTION);
    expected.retain(|name, _| !CARD_FIELDS.contains(name));
    assert_eq!(document.fields("AchTransaction"), expected);
    let schema = document.schema("AchTransaction");
    assert_eq!(texts(&schema["propertyNames"]["not"]["enum"]).collect::<Vec<_>>(), CARD_FIELDS);
    assert!(schema.get("additionalProperties").is_none());
}

#[test]
fn openapi_has_the_fields_of_every_record_d60() {
    let document = Document::read();
    // `CardNumber` is not required, because the record of an ACH payment has no card.
    let transaction = TRANSACTION_RECORD.map(|(name, kind)| (name, (kind, name != "CardNumber")));
    assert_eq!(document.fields("TransactionRecord"), BTreeMap::from(transaction));
    assert_eq!(document.schema("TransactionRecord")["properties"]["BillingState"]["type"][1], "null");
    let customer = CUSTOMER_RECORD.map(|(name, kind)| (name, (kind, true)));
    assert_eq!(document.fields("CustomerRecord"), BTreeMap::from(customer));
    assert_eq!(
        document.fields("TransactionReceipt"),
        BTreeMap::from([("TransactionId", (Kind::Text, true))])
    );
}

#[test]
fn openapi_has_five_operations_that_all_need_the_key() {
    let document = Document::read();
    let paths = document.0["paths"].as_object().unwrap();
    let operations: Vec<_> = paths
        .iter()
        .flat_map(|(path, methods)| methods.as_object().unwrap().keys().map(move |method| (method, path)))
        .map(|(method, path)| format!("{method} {path}"))
        .collect();
    assert_eq!(
        operations,
        [
            "get /customer/{id}",
            "post /token-transaction",
            "post /transaction",
            "get /transaction/{id}",
            "post /void"
        ]
    );
    assert_eq!(document.0["openapi"], "3.1.0");
    assert_eq!(document.0["security"], serde_json::json!([{ "ApiKey": [] }]));
    let scheme = &document.0["components"]["securitySchemes"]["ApiKey"];
    assert_eq!((&scheme["in"], &scheme["name"]), (&"header".into(), &"Authorization".into()));
}

#[test]
fn openapi_request_examples_are_valid() {
    let document = Document::read();
    let mut kinds = [0; 2];
    for (name, request) in document.requests("/transaction") {
        let is_ach = name == "ach";
        kinds[usize::from(is_ach)] += 1;
        let read = if is_ach {
            AchTransaction::from_json(&request).map(drop)
        } else {
            CardTransaction::from_json(&request).map(drop)
        };
        assert_eq!(read, Ok(()), "{name}");
    }
    assert!(kinds.iter().all(|count| *count > 0));
    for (name, request) in document.requests("/token-transaction") {
        assert!(TokenTransaction::from_json(&request).is_ok(), "{name}");
    }
    for (name, request) in document.requests("/void") {
        assert!(Void::from_json(&request).is_ok(), "{name}");
    }
}

#[test]
fn openapi_success_examples_match_the_model() {
    let document = Document::read();
    let same = |example: &Value, written: http::Response<bytes::Bytes>| {
        assert_eq!(*example, serde_json::from_slice::<Value>(written.body()).unwrap());
    };

    let example = document.response("post", "/transaction", "200", "processed");
    let record = TransactionRecord::from_json(example["data"].to_string().as_bytes()).unwrap();
    same(example, success::post(success::TRANSACTION_PROCESSED, &record));
    let example = document.response("get", "/transaction/{id}", "200", "found");
    same(example, success::get(success::TRANSACTION_FOUND, &record));

    let receipt = TransactionReceipt::new("txn_1".parse().unwrap());
    let example = document.response("post", "/token-transaction", "200", "processed");
    same(example, success::post(success::TRANSACTION_PROCESSED, &receipt));
    let example = document.response("post", "/void", "200", "voided");
    same(example, success::post(success::TRANSACTION_VOIDED, &receipt));

    let example = document.response("get", "/customer/{id}", "200", "found");
    let customer = CustomerRecord::from_json(example["data"].to_string().as_bytes()).unwrap();
    same(example, success::get(success::CUSTOMER_FOUND, &customer));
}

#[test]
fn openapi_error_examples_match_the_model() {
    let document = Document::read();
    let mut shown = Vec::new();
    for (path, methods) in document.0["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let response = document.resolved(response);
                let Some(examples) = response["content"]["application/json"]["examples"].as_object() else {
                    // The responses that hyper sends itself have no body.
                    assert!(["414", "431"].contains(&status.as_str()), "{path} {status} has no example");
                    assert!(response.get("content").is_none());
                    continue;
                };
                for example in examples.values().filter(|_| status != "200") {
                    let msg = example["value"]["msg"].as_str().unwrap();
                    let written = ErrorEnvelope::new(status.parse().unwrap(), msg.to_owned()).encode();
                    assert_eq!(
                        example["value"],
                        serde_json::from_slice::<Value>(&written).unwrap(),
                        "{path} {status}"
                    );
                    assert_eq!(msg.starts_with(BAD_REQUEST_PREFIX), status == "400", "{path} {status}");
                    shown.push(msg.to_owned());
                }
            }
        }
    }
    for msg in [
        ErrorEnvelope::INVALID_API_KEY,
        ErrorEnvelope::TRANSACTION_NOT_FOUND,
        ErrorEnvelope::CUSTOMER_NOT_FOUND,
    ] {
        assert!(shown.iter().any(|shown| shown == msg), "{msg}");
    }
}

#[test]
fn openapi_decline_examples_are_read_as_declines_d06() {
    let document = Document::read();
    for path in ["/transaction", "/token-transaction"] {
        let example = document.response("post", path, "200", "declined").to_string();
        let response = Envelope::read(example.as_bytes()).unwrap_or_else(|| panic!("{path}"));
        assert_eq!(response.status(), Status::Failure, "{path}");
        assert!(response.transaction_id().is_some(), "{path}");
    }
}
