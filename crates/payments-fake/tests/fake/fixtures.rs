//! Fixture files: what they can contain, and that an error names the place and never the value.

use payments_core::model::{Amount, TransactionId, TransactionType, Void};
use payments_fake::{
    DocumentError, EntryKind, EntryState, FakeGateway, FaultKind, Fixtures, PaymentSource, Phase, test_values,
};
use pollster::FutureExt as _;
use serde_json::{Value, json};

use crate::support::*;

const NUMBER: &str = "4242424242424242";

#[track_caller]
fn refused(document: &str) -> String {
    let error: DocumentError = Fixtures::from_json(document).unwrap_err();
    for shown in [error.to_string(), format!("{error:?}")] {
        assert!(!shown.contains("4242") && !shown.contains("sk_live"), "it quotes the document: {shown}");
    }
    error.to_string()
}

fn loaded(document: &Value) -> FakeGateway {
    let gateway = FakeGateway::builder().ignore_unfired_faults().build();
    load(&gateway, document);
    gateway
}

#[test]
fn omitted_fields_get_the_values_that_the_fake_would_write() {
    let gateway = loaded(&json!({
        "transactions": [
            {"TransactionId": "txn_sale", "Amount": 10.50, "CardNumber": NUMBER},
            {"TransactionId": "txn_auth", "Amount": "7.00", "TransactionType": "2"},
            {"TransactionId": "txn_token", "Amount": 1, "TokenId": "tok_approved", "ReferenceNo": "order-7"},
            {"TransactionId": "txn_voided", "Amount": 1, "TransactionType": 2, "Voided": true, "VoidReason": "wrong"},
            {"TransactionId": "txn_declined", "Amount": 1, "Declined": true, "ProcessedAt": "2030-01-31T12:00:00Z"},
            {"TransactionId": "txn_void", "Amount": 1, "Operation": "void"},
        ],
        "tokens": [{"TokenId": "tok_7"}],
        "customers": [{"CustomerId": "cus_7"}],
    }));
    let ledger = gateway.ledger();
    let entry = |id: &str| ledger.entry(&id.parse().unwrap()).unwrap();
    let facts: Vec<_> = ledger
        .entries()
        .iter()
        .map(|entry| {
            (entry.operation.as_str(), entry.kind, entry.state, entry.record.status.value().unwrap().as_str())
        })
        .collect();
    let (sale, auth, void) = (EntryKind::Sale, EntryKind::Authorization, EntryKind::Void);
    let (approved, voided, declined) = (EntryState::Approved, EntryState::Voided, EntryState::Declined);
    assert_eq!(
        facts,
        [
            ("transaction", sale, approved, "1"),
            ("transaction", auth, approved, "2"),
            ("token-transaction", sale, approved, "1"),
            ("transaction", auth, voided, "3"),
            ("transaction", sale, declined, "4"),
            ("void", void, approved, "1"),
        ]
    );
    assert_eq!(entry("txn_sale").source.to_string(), "card ************4242");
    assert_eq!(entry("txn_auth").source, PaymentSource::Account);
    assert_eq!(entry("txn_auth").amount, Amount::from_cents(7_00));
    assert_eq!(entry("txn_token").source, PaymentSource::Token("tok_approved".parse().unwrap()));
    assert_eq!(entry("txn_voided").void_reason.as_deref(), Some("wrong"));
    assert_eq!(entry("txn_sale").record.base_amount, entry("txn_sale").record.amount);

    let (_, found) = json(&gateway, get("/transaction/txn_sale"));
    let mut expected: Vec<_> = BILLING_FIELDS.split(' ').chain(["Amount", "BaseAmount"]).collect();
    expected.extend(["BillingCountryCode", "CardNumber", "Status", "TransactionId", "TransactionType"]);
    expected.sort_unstable();
    let mut shown: Vec<_> = found["data"].as_object().unwrap().keys().collect();
    shown.sort();
    assert_eq!(shown, expected, "a lookup returns only the interface's fields");
    let (status, customer) = json(&gateway, get("/customer/cus_7"));
    assert_eq!(
        (status, &customer["data"]["CustomerName"], &customer["data"]["StateId"]),
        (200, &json!(""), &json!(0))
    );
    assert_eq!(gateway.tokens()[0].gateway_customer_id.as_str(), "gc_1");
}

#[test]
fn loaded_records_can_be_used() {
    let gateway = loaded(&json!({
        "transactions": [{"TransactionId": "txn_auth", "Amount": 7, "TransactionType": 2}],
        "tokens": [
            {"TokenId": "tok_good", "GatewayCustomerId": "gc_7"},
            {"TokenId": "tok_bad", "CardNumber": test_values::INSUFFICIENT_FUNDS},
            {"TokenId": "tok_bad_later", "CardNumber": test_values::DECLINED_AS_TOKEN},
            {"TokenId": "tok_bad_by_flag", "CardNumber": "************4242", "Declines": true},
        ],
    }));
    let charge = |token: &str, owner: &str| {
        let body =
            json!({"TokenId": token, "GatewayCustomerId": owner, "Amount": 1, "ConvenienceFeeActive": false});
        json(&gateway, post("/token-transaction", body.to_string())).1["status"].clone()
    };
    assert_eq!([charge("tok_good", "gc_7"), charge("tok_good", "gc_1")], ["success", "failed"]);
    for token in ["tok_bad", "tok_bad_later", "tok_bad_by_flag"] {
        assert_eq!(charge(token, "gc_1"), "failed", "{token}");
    }
    let void = || json(&gateway, void_request("txn_auth")).0;
    assert_eq!([void(), void()], [200, 400]);
}

#[test]
fn existing_records_are_not_replaced() {
    let gateway = loaded(&json!({
        "transactions": [{"TransactionId": "txn_1", "Amount": 1, "TransactionType": 2}],
        "tokens": [{"TokenId": "tok_1"}],
        "customers": [{"CustomerId": "cus_7", "City": "London"}, {"CustomerId": "cus_1", "City": "Paris"}],
    }));
    json(&gateway, void_request("txn_1"));
    let before = gateway.first_tenant().state_json();
    let other = json!({
        "transactions": [{"TransactionId": "txn_1", "Amount": 9}, {"TransactionId": "txn_2", "Amount": 2}],
        "tokens": [{"TokenId": "tok_1", "Declines": true}],
        "customers": [{"CustomerId": "cus_7", "City": "Rome"}, {"CustomerId": "cus_1", "City": "Rome"}],
    });
    load(&gateway, &other);
    let after = gateway.first_tenant().state_json();
    assert!(!after.contains("Rome") && after.contains("txn_2"), "{after}");
    let (before, mut after): (Value, Value) =
        (serde_json::from_str(&before).unwrap(), serde_json::from_str(&after).unwrap());
    after["transactions"].as_array_mut().unwrap().pop();
    assert_eq!(after, before);
}

#[test]
fn every_tenant_gets_the_records_and_each_fault_is_armed_once() {
    let gateway =
        FakeGateway::builder().api_key("key_one").api_key("key_two").ignore_unfired_faults().build();
    let fixtures = json!({
        "transactions": [{"TransactionId": "txn_1", "Amount": 1}],
        "faults": [{"operation": "void", "phase": "late", "kind": "close", "skip": 1, "times": 2}],
    });
    load(&gateway, &fixtures);
    assert_eq!(gateway.tenants().map(|tenant| tenant.transaction_count()).collect::<Vec<_>>(), [1, 1]);
    let faults = gateway.faults();
    assert_eq!(faults.len(), 1);
    assert_eq!((faults[0].fault.phase(), faults[0].fault.kind()), (Phase::Late, FaultKind::Close));
    assert_eq!(faults[0].fault.to_string(), "late close on void, from request 2, 2 times");
}

#[test]
fn an_empty_document_is_valid() {
    let gateway = loaded(&json!({}));
    assert_eq!(gateway.first_tenant().state_json(), FakeGateway::new().first_tenant().state_json());
    assert_eq!(
        format!("{:?}", Fixtures::default()),
        "Fixtures { customers: 0, tokens: 0, transactions: 0, faults: [] }"
    );
}

/// The problem without its line and column, which are required.
#[track_caller]
fn problem(document: &impl ToString) -> String {
    let problem = refused(&document.to_string());
    let (problem, place) = problem.rsplit_once(" at line 1 column ").unwrap_or_else(|| panic!("{problem}"));
    assert!(place.parse::<usize>().is_ok(), "{place}");
    problem.to_owned()
}

#[test]
fn the_error_for_a_wrong_part_names_its_place() {
    let number = || NUMBER.parse::<i64>().unwrap();
    let id_rule = "must be a string that is valid as an id in a URL path";
    let small_rule = "must be a whole number from 0 to 4 294 967 295";
    let amount_rule = "must be a number with at most 18 digits";
    let operation_rule = "must be transaction, token-transaction or void";
    let string = "expected a string";
    for (list, element, field, expected) in [
        ("customers", json!({"CustomerName": "x"}), "", "missing field `CustomerId`"),
        ("customers", json!({"CustomerId": null}), ".CustomerId", string),
        ("customers", json!({"CustomerName": 7}), ".CustomerName", string),
        ("customers", json!({"CountryId": "x"}), ".CountryId", small_rule),
        ("customers", json!({"StateId": number()}), ".StateId", small_rule),
        ("customers", json!({"Phone": NUMBER}), ".Phone", "expected one of `CustomerId`, `CustomerName`…"),
        ("customers", json!({"CustomerId": 7}), ".CustomerId", string),
        ("customers", json!({"CustomerId": "../x"}), ".CustomerId", id_rule),
        ("customers", json!("cus 4242"), "", "expected a JSON object"),
        ("customers", json!(["cus"]), "", "expected a JSON object"),
        ("tokens", json!({"TokenId": ""}), ".TokenId", "must be a string that is valid as an id"),
        ("tokens", json!({"TokenId": "tok_1", "TransactionId": "a/.."}), ".TransactionId", id_rule),
        ("tokens", json!({"CardNumber": number()}), ".CardNumber", string),
        ("tokens", json!({"Declines": NUMBER}), ".Declines", "expected a boolean"),
        (
            "tokens",
            json!({"expected 4242 4242": 1}),
            ".(unprintable field name)",
            "expected one of `TokenId`, `GatewayCustomerId`…",
        ),
        ("transactions", json!({"Amount": 0}), ".Amount", "must be above zero"),
        ("transactions", json!({"Amount": -1}), ".Amount", "must be above zero"),
        ("transactions", json!({"Amount": NUMBER.repeat(2)}), ".Amount", amount_rule),
        ("transactions", json!({"Amount": null}), ".Amount", amount_rule),
        ("transactions", json!({"TransactionId": "txn_2"}), "", "missing field `Amount`"),
        ("transactions", json!({"Amount": 1}), "", "missing field `TransactionId`"),
        ("transactions", json!({"TransactionId": null}), ".TransactionId", string),
        ("transactions", json!({"TransactionId": number()}), ".TransactionId", string),
        ("transactions", json!({"BillingEmail": [NUMBER]}), ".BillingEmail", string),
        ("transactions", json!({"BillingCountry": NUMBER}), ".BillingCountry", small_rule),
        ("transactions", json!({"Operation": "refund"}), ".Operation", operation_rule),
        ("transactions", json!({"Operation": "get-customer"}), ".Operation", operation_rule),
        ("transactions", json!({"TokenId": 5}), ".TokenId", string),
        ("transactions", json!({"Cvv": "1"}), ".Cvv", "expected one of `TransactionId`, `BaseAmount`…"),
        ("transactions", json!({"TransactionType": 3}), ".TransactionType", "must be 1 for a sale or 2…"),
        ("transactions", json!({"ProcessedAt": "yesterday"}), ".ProcessedAt", "must be a time in UTC such…"),
        ("transactions", json!({"Status": {}}), ".Status", "must be a string"),
        (
            "transactions",
            json!({"TransactionId": "txn_1", "Amount": 1, "TransactionType": 2, "Voided": true, "Declined": true}),
            "",
            "Voided must be false for a declined transaction",
        ),
        (
            "transactions",
            json!({"TransactionId": "txn_1", "Amount": 1, "TransactionType": 1, "Voided": true}),
            "",
            "Voided must be false for a sale: only an authorization can be voided",
        ),
        (
            "faults",
            json!({"phase": "late", "kind": "close"}),
            "",
            "missing field `operation`, which must be transaction, token-transaction, void, get-transaction, get-customer or any",
        ),
        (
            "faults",
            json!({"operation": "any", "kind": "close"}),
            "",
            "missing field `phase`, which must be before_commit, after_commit or late",
        ),
        (
            "faults",
            json!({"operation": "any", "phase": "late"}),
            "",
            "missing field `kind`, which must be refuse, close…",
        ),
    ] {
        let problem = problem(&json!({ list: [element] }));
        let rest =
            problem.strip_prefix(&format!("{list}[0]{field}: ")).unwrap_or_else(|| panic!("{problem}"));
        match expected.strip_suffix('…') {
            Some(beginning) => assert!(rest.starts_with(beginning), "{problem}"),
            None => assert_eq!(rest, expected, "{problem}"),
        }
    }
    let good = json!({"CustomerId": "cus_ok"});
    assert_eq!(problem(&json!({"customers": [good, {}]})), "customers[1]: missing field `CustomerId`");
    let lists = "expected one of `customers`, `tokens`, `transactions`, `faults`";
    assert_eq!(problem(&json!({ NUMBER: [] })), format!("(unprintable field name): {lists}"));
    assert_eq!(problem(&json!({ "token": [] })), format!("token: {lists}"));
    assert_eq!(
        refused("{\"tokens\": [\n  {\"TokenId\": \"tok_1\",\n   \"Declines\": 7}]}"),
        "tokens[0].Declines: expected a boolean at line 3 column 16"
    );
}

#[test]
fn the_error_for_a_wrong_fault_names_its_place() {
    let operation = "must be transaction, token-transaction, void, get-transaction, get-customer or any";
    let kind =
        "must be refuse, close, reset, stall, drip, truncate, garbage, html, status, delay or wrong_shape";
    let whole = "must be a whole number";
    let retry_after = "must be seconds or a date, as in the Retry-After header";
    for (change, field, expected) in [
        (json!({"operation": NUMBER}), "operation", operation),
        (json!({"operation": null}), "operation", "expected a string"),
        (json!({"phase": "now 4242"}), "phase", "expected one of `before_commit`, `after_commit`, `late`"),
        (json!({"kind": NUMBER}), "kind", kind),
        (json!({"kind": "status", "status": 99}), "status", "must be an HTTP status from 200 to 599"),
        (json!({"kind": "html", "status": "many"}), "status", "must be an HTTP status from 200 to 599"),
        (json!({"times": 0}), "times", "must be a whole number above zero"),
        (json!({"skip": -1}), "skip", whole),
        (json!({"kind": "truncate", "bytes": 1.5}), "bytes", whole),
        (json!({"kind": "delay", "delay_ms": NUMBER}), "delay_ms", whole),
        (json!({"retry_after": "\n"}), "retry_after", retry_after),
        (json!({"retry_after": "sp\u{e4}ter"}), "retry_after", retry_after),
        (json!({"delay": 1}), "delay", "expected one of `operation`, `phase`, `kind`"),
        (json!({ NUMBER: 1 }), "(unprintable field name)", "expected one of `operation`"),
    ] {
        let mut fault = json!({"operation": "any", "phase": "late", "kind": "close"});
        fault.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let problem = problem(&json!({ "faults": [fault] }));
        assert!(problem.starts_with(&format!("faults[0].{field}: {expected}")), "{problem}");
    }
}

#[test]
fn the_error_for_a_repeated_id_or_field_names_it() {
    let transactions =
        [("a", 1), ("b", 1), ("a", 2)].map(|(id, amount)| json!({"TransactionId": id, "Amount": amount}));
    for (document, expected) in [
        (json!({ "transactions": transactions }).to_string(), "transactions[2]: has the same id as [0]"),
        (
            r#"{"customers":[{"CustomerId":"a"},{"CustomerId":"a"}]}"#.to_owned(),
            "customers[1]: has the same id as [0]",
        ),
        (r#"{"tokens":[{"TokenId":"a"},{"TokenId":"a"}]}"#.to_owned(), "tokens[1]: has the same id as [0]"),
        (r#"{"tokens":[{"TokenId":"tok_1"}],"tokens":[]}"#.to_owned(), "duplicate field `tokens`"),
        (
            r#"{"transactions":[{"TransactionId":"a","TransactionId":"b","Amount":1}]}"#.to_owned(),
            "transactions[0]: duplicate field `TransactionId`",
        ),
    ] {
        assert_eq!(problem(&document), expected);
    }
}

#[test]
fn a_syntax_error_is_reported_with_its_place() {
    assert_eq!(refused("{\n  \"tokens\": [sk_live"), "tokens[0]: expected value at line 2 column 14");
    assert_eq!(refused(""), "EOF while parsing a value at line 1 column 0");
    assert_eq!(refused("{} 4242"), "trailing characters at line 1 column 4");
    for document in ["[]", "null", "\"expected 4242\"", "7"] {
        assert_eq!(problem(&document), "expected a JSON object", "{document}");
    }
    for list in ["customers", "tokens", "transactions", "faults"] {
        assert_eq!(problem(&json!({ list: {} })), format!("{list}: expected a sequence"));
        assert_eq!(problem(&json!({ list: null })), format!("{list}: expected a sequence"));
    }
}

#[test]
fn an_amount_keeps_every_digit() {
    let gateway = loaded(&json!({}));
    let exact = r#"{"transactions":[{"TransactionId":"txn_1","Amount":9007199254740993.01}]}"#;
    gateway.load(&Fixtures::from_json(exact).unwrap());
    assert_eq!(gateway.ledger().entries()[0].amount.to_string(), "9007199254740993.01");
    assert!(gateway.first_tenant().state_json().contains(r#""Amount":9007199254740993.01,"#));
}

#[test]
fn single_records_are_read_as_strictly() {
    let tenant = FakeGateway::new().first_tenant();
    let before = tenant.state_json();
    for document in
        ["", "{}", r#"{"CustomerId":"cus_7","Cvv":"4242"}"#, r#"{"CustomerId":"a","CustomerId":"b"}"#]
    {
        tenant.add_customer_json(document).unwrap_err();
    }
    for document in ["", "{}", r#"{"TokenId":"tok_7","ExpiryDate":"1230"}"#, r#"{"TokenId":""}"#] {
        tenant.add_token_json(document).unwrap_err();
    }
    assert_eq!(tenant.state_json(), before);

    let stored =
        tenant.add_token_json(&json!({"TokenId": "tok_7", "CardNumber": NUMBER}).to_string()).unwrap();
    let expected = json!({
        "TokenId": "tok_7", "GatewayCustomerId": "gc_1", "CardNumber": "************4242", "TransactionId": null, "Declines": false,
    });
    assert_eq!(serde_json::from_str::<Value>(&stored).unwrap(), expected);
    let stored = tenant.add_customer_json(r#"{"CustomerId":"cus_7","Email":"ada@example.com"}"#).unwrap();
    let stored: Value = serde_json::from_str(&stored).unwrap();
    assert_eq!((stored["Email"].as_str(), stored.as_object().unwrap().len()), (Some("ada@example.com"), 10));
}

#[test]
fn a_declining_card_is_recognized_with_grouped_digits() {
    let gateway = FakeGateway::new();
    let json = json!({"TokenId": "tok_7", "CardNumber": "4000 0000-0000 0002"});
    let stored = gateway.first_tenant().add_token_json(&json.to_string()).unwrap();
    assert!(
        stored.contains(r#""Declines":true"#) && stored.contains(r#""CardNumber":"**** ****-**** 0002""#),
        "{stored}"
    );
}

#[test]
fn a_state_written_with_other_choices_can_be_loaded() {
    let gateway = choosing(|choices| {
        choices.token_transaction_type = TransactionType::Auth;
        choices.status_codes.sale = "77".into();
    });
    response(&gateway, card_request(&sale()));
    response(&gateway, token_request("tok_approved"));
    let state = gateway.first_tenant().state_json();
    let restored = FakeGateway::new();
    restored.load(&Fixtures::from_json(&state).unwrap());
    assert_eq!(restored.ledger(), gateway.ledger());
    assert_eq!(restored.first_tenant().state_json(), state);
}

#[test]
fn an_id_that_looks_like_a_card_number_is_refused_and_not_quoted_d62() {
    let number = "4539578763621486";
    for (list, element) in [
        ("customers", json!({ "CustomerId": number })),
        ("tokens", json!({ "TokenId": number })),
        ("tokens", json!({"TokenId": "tok_1", "GatewayCustomerId": "4539-5787-6362-1486"})),
        ("tokens", json!({ "TokenId": "tok_1", "TransactionId": number })),
        ("transactions", json!({ "TransactionId": number, "Amount": 1 })),
        ("transactions", json!({ "TransactionId": "txn_1", "Amount": 1, "TokenId": number })),
    ] {
        let error = refused(&json!({ list: [element] }).to_string());
        assert!(error.contains("must not look like a card number") && !error.contains("4539"), "{error}");
    }
}

#[test]
fn an_amount_with_more_than_two_written_decimals_is_refused_d53() {
    for amount in ["1.000", "1.230", "10.505"] {
        let document = format!(r#"{{"transactions":[{{"TransactionId":"txn_1","Amount":{amount}}}]}}"#);
        let error = Fixtures::from_json(&document).unwrap_err().to_string();
        assert!(error.contains("Amount: must be written with at most two decimal places"), "{error}");
    }
}

#[test]
fn ids_that_are_in_no_path_need_not_fit_in_one_d41() {
    let gateway = loaded(&json!({
        "tokens": [{"TokenId": "..", "GatewayCustomerId": "a/../b"}],
        "transactions": [{"TransactionId": "txn_1", "Amount": 1, "TokenId": ".."}],
    }));
    assert_eq!(gateway.tokens()[0].token_id.as_str(), "..");
    assert_eq!(gateway.tokens()[0].gateway_customer_id.as_str(), "a/../b");
    assert_eq!(gateway.ledger().entries()[0].source, PaymentSource::Token("..".parse().unwrap()));
}

#[test]
fn a_transaction_with_any_id_is_found_by_its_encoded_path_d41() {
    for id in ["MC/2026/0001", "auth0|x", "a b", "50%", "ü-1"] {
        let gateway =
            loaded(&json!({ "transactions": [{"TransactionId": id, "Amount": 1, "TransactionType": 2}] }));
        let client = gateway.client();
        let id = TransactionId::new(id).unwrap();
        assert_eq!(client.transaction(&id).block_on().unwrap().transaction_id, id);
        assert_eq!(client.void(&Void::new(id.clone())).block_on().unwrap().voided, id);
    }
}
