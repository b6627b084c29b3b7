//! The admin interface under `/_sandbox`, path by path.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use payments_core::OperationName;
use payments_core::model::Amount;
use payments_fake::{Choices, DeclineShape, FakeGateway, FakeGatewayBuilder, Fault, Fixtures};
use payments_sandbox::{Sandbox, SandboxBuilder};
use serde_json::{Value, json};

use crate::raw_client::{EVERYWHERE, RawClient, TOKEN_PAYMENT, start_with};

const PATHS: [(&str, &str); 14] = [
    ("/health", "GET"),
    ("/reset", "POST"),
    ("/save", "POST"),
    ("/state", "GET"),
    ("/customers", "POST"),
    ("/tokens", "POST"),
    ("/requests", "GET, DELETE"),
    ("/faults", "GET, POST, DELETE"),
    ("/deliver-late", "POST"),
    ("/magic", "GET"),
    ("/openapi.json", "GET"),
    ("/clock", "GET, POST"),
    ("/ui", "GET"),
    ("/events", "GET"),
];

/// A builder for a test that may arm faults and not let them fire.
fn with(settings: FakeGatewayBuilder) -> SandboxBuilder {
    Sandbox::builder().fresh_gateway(settings.ignore_unfired_faults())
}

fn builder() -> SandboxBuilder {
    with(FakeGateway::builder())
}

fn any_port() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

#[test]
fn a_wrong_method_gets_the_allowed_ones() {
    let (_sandbox, mut client) = start_with(builder());
    for (path, allowed) in PATHS {
        for method in ["GET", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"] {
            if allowed.split(", ").any(|allowed| allowed == method) {
                continue;
            }
            let response = client.admin(method, path, "");
            assert_eq!(
                (response.status(), response.header("allow")),
                (405, Some(allowed)),
                "{method} {path}"
            );
            let json = response.json();
            assert_eq!(json["status_code"], 405);
            assert!(json["msg"].as_str().unwrap().ends_with(allowed), "{json}");
        }
    }
}

#[test]
fn an_unknown_path_lists_the_known_ones() {
    let (_sandbox, mut client) = start_with(builder());
    let mut routes = Vec::new();
    for (path, methods) in PATHS {
        routes.extend(methods.split(", ").map(|method| format!("{method} {path}")));
    }
    for path in ["", "/", "/healthz", "/health/", "/state/1", "/api/v1/public/transaction"] {
        let (status, msg) = client.refused("GET", path, "");
        assert_eq!(status, 404, "{path}");
        let (_, named) = msg.split_once("under /_sandbox there are ").unwrap();
        assert_eq!(named.split(", ").collect::<Vec<_>>(), routes);
    }
    // This path only begins like the prefix, so it goes to the service.
    assert_eq!(client.request("GET", "/_sandboxes/health", "", "").json()["msg"], "Path not found");
}

#[test]
fn an_unknown_parameter_is_refused_and_not_ignored() {
    let (sandbox, mut client) = start_with(builder());
    for (path, allowed) in PATHS {
        for method in allowed.split(", ") {
            let known = match (method, path) {
                (_, "/state" | "/customers" | "/tokens") => {
                    "unknown query parameter; this path accepts only api_key"
                }
                ("GET", "/requests") => "unknown query parameter; this path accepts only operation and limit",
                ("DELETE", "/faults") => "unknown query parameter; this path accepts only id",
                _ => "this path accepts no query parameters",
            };
            let refused = client.refused(method, &format!("{path}?apikey=4242"), "");
            assert_eq!(refused, (400, known.to_owned()), "{method} {path}");
        }
    }
    assert_eq!(sandbox.gateway().requests(), [], "no request reached the service");
}

#[test]
fn a_repeated_parameter_is_refused_and_changes_nothing() {
    let (sandbox, mut client) = start_with(builder());
    let [first, second] = [(); 2].map(|()| sandbox.gateway().arm(Fault::on_any().before_commit().close()));
    let key = sandbox.api_key().to_owned();
    for (method, path, query) in [
        ("DELETE", "/faults", format!("id={first}&id={second}")),
        ("DELETE", "/faults", format!("id={first}&id={first}")),
        ("GET", "/requests", "limit=1&operation=void&limit=2".to_owned()),
        ("GET", "/state", format!("api_key={key}&api_key={key}")),
        ("POST", "/customers", format!("api_key={key}&api_key=")),
    ] {
        let refused = client.refused(method, &format!("{path}?{query}"), r#"{"CustomerId":"cus_7"}"#);
        assert_eq!(refused, (400, "a query parameter can be given only once".to_owned()), "{method} {path}");
    }
    assert_eq!(sandbox.gateway().faults().len(), 2);
    sandbox.gateway().disarm_all();
}

#[test]
fn health_has_counts_and_settings() {
    let builder = with(FakeGateway::builder().seed(7).api_key("key_one").api_key("key_two"));
    let (sandbox, mut client) = start_with(builder);
    client.pay_with_token();
    sandbox.gateway().arm(Fault::request_lost(OperationName::Void));
    let health = client.read("/health");
    let expected = json!({
        "status": "ok", "version": payments_sandbox::VERSION, "seed": 7, "tenants": 2, "transactions": 1, "faults": 1,
        "base_url": sandbox.base_url(),
    });
    assert_eq!(health, expected);
    sandbox.gateway().disarm_all();
}

#[test]
fn the_state_is_that_of_one_tenant() {
    let (sandbox, mut client) =
        start_with(with(FakeGateway::builder().api_key("key_one").api_key("key_two_")));
    let paid = client.pay_with_token()["data"]["TransactionId"].clone();
    let state = client.read("/state");
    assert_eq!(state["transactions"][0]["TransactionId"], paid);
    for (name, value) in [
        ("Operation", json!("token-transaction")),
        ("ReferenceNo", Value::Null),
        ("Description", Value::Null),
        ("TokenId", json!("tok_approved")),
        ("Voided", json!(false)),
    ] {
        assert_eq!(state["transactions"][0][name], value);
    }
    assert_eq!(client.read("/state?api_key=key_one"), state);
    let other = client.read("/state?api_key=key%5Ftwo%5F");
    assert_eq!((&other["transactions"], other["customers"].as_array().unwrap().len()), (&json!([]), 1));
    for (method, path, body) in [
        ("GET", "/state?api_key=key_three", ""),
        ("GET", "/state?api_key=", ""),
        ("POST", "/customers?api_key=key_three", r#"{"CustomerId":"cus_7"}"#),
        ("POST", "/tokens?api_key=key_three", r#"{"TokenId":"tok_7"}"#),
    ] {
        let unknown = (404, "this sandbox does not accept that api_key".to_owned());
        assert_eq!(client.refused(method, path, body), unknown);
    }
    drop(sandbox);
}

#[test]
fn customers_and_tokens_are_created_for_the_key_in_the_query() {
    let (sandbox, mut client) =
        start_with(with(FakeGateway::builder().api_key("key_one").api_key("key_two")));
    let created =
        client.done("POST", "/customers?api_key=key_two", &json!({"CustomerId": "cus_7", "City": "London"}));
    assert_eq!((&created["City"], &created["StateId"]), (&json!("London"), &json!(0)));
    let card = json!({"TokenId": "tok_7", "GatewayCustomerId": "gc_7", "CardNumber": "4242424242424242"});
    let created = client.done("POST", "/tokens?api_key=key_two", &card);
    assert_eq!((&created["CardNumber"], &created["Declines"]), (&json!("************4242"), &json!(false)));

    let charge =
        json!({"TokenId": "tok_7", "GatewayCustomerId": "gc_7", "Amount": 1, "ConvenienceFeeActive": false});
    let statuses = |key: &str| {
        let mut client = RawClient::to(sandbox.base_url(), key).unwrap();
        let found = client.fetch("/customer/cus_7").status();
        client.post("/token-transaction", &charge.to_string());
        (found, client.response().status())
    };
    assert_eq!([statuses("key_one"), statuses("key_two")], [(404, 400), (200, 200)]);
}

#[test]
fn a_wrong_document_is_refused_with_its_problem() {
    let (sandbox, mut client) = start_with(builder());
    for (document, problem) in [
        (r#"{"CardNumber":"4242"}"#, "missing field `TokenId`"),
        (r#"{"CardNumber":4242424242424242}"#, "CardNumber: expected a string"),
        (r#"{"Declines":1}"#, "Declines: expected a boolean"),
        (r#"{"Cvv":"123"}"#, "Cvv: expected one of `TokenId`"),
    ] {
        let (status, msg) = client.refused("POST", "/tokens", document);
        let has_place = msg.starts_with(problem) && msg.contains(" at line 1 column ");
        assert!(status == 400 && has_place && !msg.contains("4242"), "{msg}");
    }
    for (path, body) in [
        ("/customers", "{}"),
        ("/customers", "nonsense"),
        ("/tokens", ""),
        ("/tokens", "[]"),
        ("/faults", "{}"),
        ("/faults", "{\"operation\":\"any\""),
        ("/faults", r#"{"operation":"any","phase":"late","kind":"explode"}"#),
        ("/reset", "true"),
        ("/reset", "nonsense"),
        ("/reset", r#"{"keep_fixtures":1}"#),
        ("/reset", "[true]"),
        ("/reset", r#"{"keep_fixture":true}"#),
        ("/reset", r#"{"keep_fixtures":true,"more":1}"#),
    ] {
        assert_eq!(client.refused("POST", path, body).0, 400, "{path} {body}");
    }
    for (path, example) in [("/customers", "CustomerId"), ("/tokens", "TokenId"), ("/faults", "operation")] {
        let (_, msg) = client.refused("POST", path, "nonsense");
        let expected = format!("the body must be a JSON object such as {{\"{example}\":");
        assert!(msg.starts_with(&expected) && msg.contains(" at line 1 column "), "{msg}");
    }
    client.send_bytes(
        b"POST /_sandbox/tokens HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n\xff\xfe",
    );
    assert_eq!(client.response().json()["msg"], "the body must be UTF-8");
    assert_eq!(sandbox.gateway().first_tenant().state_json(), FakeGateway::new().first_tenant().state_json());
}

#[test]
fn a_document_of_up_to_one_mebibyte_is_accepted() {
    let (_sandbox, mut client) = start_with(builder());
    let customer = r#"{"CustomerId":"cus_7"}"#;
    let padded = |length: usize| format!("{customer}{}", " ".repeat(length - customer.len()));
    assert_eq!(client.admin("POST", "/customers", &padded(1024 * 1024)).status(), 200);
    assert_eq!(client.refused("POST", "/customers", &padded(1024 * 1024 + 1)).0, 413);
    assert_eq!(client.read("/health")["status"], "ok", "the connection stays usable");
}

#[test]
fn requests_are_listed_newest_last_and_can_be_filtered_and_removed() {
    let (_sandbox, mut client) = start_with(builder());
    for path in ["/customer/cus_1", "/transaction/txn_1", "/customer/cus_2", "/refund"] {
        client.fetch(path);
    }
    client.pay_with_token();
    let mut paths = |query: &str| -> Vec<String> {
        let requests = client.read(&format!("/requests{query}"));
        let path = |request: &Value| request["path"].as_str().unwrap().replace("/api/v1/public", "");
        requests["requests"].as_array().unwrap().iter().map(path).collect()
    };
    let all = ["/customer/cus_1", "/transaction/txn_1", "/customer/cus_2", "/refund", "/token-transaction"];
    assert_eq!(paths(""), all);
    assert_eq!(paths("?limit=2"), all[3..]);
    assert_eq!(paths("?limit=0"), [""; 0]);
    assert_eq!(paths("?limit=99"), all);
    assert_eq!(paths("?operation=get-customer"), ["/customer/cus_1", "/customer/cus_2"]);
    assert_eq!(paths("?limit=1&operation=get-customer"), ["/customer/cus_2"]);
    assert_eq!(paths("?operation=void"), [""; 0]);
    let operations = "transaction, token-transaction, void, get-transaction, get-customer";
    for (query, msg) in [
        ("?limit=many", "limit must be a whole number"),
        ("?limit=-1", "limit must be a whole number"),
        ("?operation=refund", &*format!("operation must be one of {operations}")),
    ] {
        assert_eq!(client.refused("GET", &format!("/requests{query}"), ""), (400, msg.to_owned()));
    }
    assert_eq!(client.done("DELETE", "/requests", &Value::Null), json!({}));
    assert_eq!(client.read("/requests"), json!({"requests": []}));
    assert_eq!(client.read("/state")["transactions"].as_array().unwrap().len(), 1, "the ledger stays");
}

#[test]
fn faults_are_armed_counted_listed_and_removed() {
    let (sandbox, mut client) = start_with(builder());
    assert_eq!(client.read("/faults"), json!({"faults": []}));
    let fault = json!({"operation": "token-transaction", "phase": "after_commit", "kind": "wrong_shape", "skip": 1, "times": 2});
    let armed = client.done("POST", "/faults", &fault);
    assert_eq!((&armed["id"], &armed["fired"], &armed["seen"]), (&json!("fault_1"), &json!(0), &json!(0)));
    let other = client.done(
        "POST",
        "/faults",
        &json!({"operation": "any", "phase": "late", "kind": "close", "skip": 9}),
    );
    assert_eq!(other["id"], "fault_2");
    let shapes: Vec<_> = (0..4).map(|_| client.pay_with_token()["status"].clone()).collect();
    assert_eq!(shapes, [json!("success"), Value::Null, Value::Null, json!("success")]);
    let listed = client.read("/faults");
    let counts =
        [0, 1].map(|index| json!([listed["faults"][index]["seen"], listed["faults"][index]["fired"]]));
    assert_eq!(counts, [json!([4, 2]), json!([4, 0])]);
    assert_eq!(sandbox.gateway().ledger().charged().count(), 4, "the shape was wrong after the commit");

    for id in ["fault_3", "1", ""] {
        assert_eq!(client.refused("DELETE", &format!("/faults?id={id}"), "").0, 404);
    }
    assert_eq!(client.done("DELETE", "/faults?id=fault_1", &Value::Null), json!({}));
    assert_eq!(client.refused("DELETE", "/faults?id=fault_1", "").0, 404);
    assert_eq!(client.read("/faults")["faults"].as_array().unwrap().len(), 1);
    assert_eq!(client.done("DELETE", "/faults", &Value::Null), json!({}));
    assert_eq!(client.read("/faults"), json!({"faults": []}));
}

#[test]
fn late_payments_are_delivered_on_request() {
    let (sandbox, mut client) = start_with(builder());
    client.done("POST", "/faults", &json!({"operation": "any", "phase": "late", "kind": "html"}));
    client.post("/token-transaction", TOKEN_PAYMENT);
    assert_eq!(client.response().status(), 502);
    assert_eq!(client.read("/state")["transactions"], json!([]));
    assert_eq!(client.done("POST", "/deliver-late", &Value::Null), json!({"delivered": 1}));
    assert_eq!(client.done("POST", "/deliver-late", &Value::Null), json!({"delivered": 0}));
    sandbox.gateway().ledger().assert_charged_once(Amount::from_cents(10_50));
}

#[test]
fn a_reset_starts_over_with_or_without_the_fixtures() {
    let fixtures = r#"{
        "customers": [{"CustomerId": "cus_7"}],
        "tokens": [{"TokenId": "tok_7"}],
        "transactions": [{"TransactionId": "txn_7", "Amount": 1, "TransactionType": 2}],
        "faults": [{"operation": "void", "phase": "late", "kind": "close", "skip": 1}]
    }"#;
    let builder = builder().fixtures(Fixtures::from_json(fixtures).unwrap());
    let (_sandbox, mut client) = start_with(builder);
    let initial = client.read("/state");
    assert_eq!(initial["transactions"][0]["TransactionId"], "txn_7");
    let use_it = |client: &mut RawClient| {
        client.pay_with_token();
        client.post("/void", r#"{"TransactionId":"txn_7"}"#);
        client.response();
        client.done("POST", "/clock", &json!({"freeze": true, "set": "2030-01-31T12:00:00Z"}));
    };
    use_it(&mut client);
    assert_ne!(client.read("/state"), initial);
    assert_eq!(client.done("POST", "/reset", &json!({"keep_fixtures": true})), json!({}));
    assert_eq!(client.read("/state"), initial);
    assert_eq!(client.read("/faults")["faults"][0]["seen"], 0);
    assert_eq!(client.read("/faults")["faults"].as_array().unwrap().len(), 1);
    assert_eq!(client.read("/requests"), json!({"requests": []}));
    assert_eq!(client.read("/clock")["frozen"], false);

    for body in [json!({}), json!({"keep_fixtures": false}), Value::Null] {
        use_it(&mut client);
        client.done("POST", "/reset", &body);
        let state = client.read("/state");
        assert_eq!((&state["transactions"], &state["tokens"]), (&json!([]), &json!([])));
        assert_eq!(state["customers"].as_array().unwrap().len(), 1, "the seeded one");
        assert_eq!(client.read("/faults"), json!({"faults": []}));
    }
}

#[test]
fn the_tables_and_the_description_are_served() {
    let (_sandbox, mut client) = start_with(builder());
    let magic = client.read("/magic");
    let declined = json!({"field": "CardNumber", "value": "4000000000000002", "effect": "declines", "result": "declined"});
    assert!(magic["values"].as_array().unwrap().contains(&declined));
    assert_eq!(magic["values"].as_array().unwrap().len(), payments_fake::test_values::TEST_VALUES.len());
    let described = client.admin("GET", "/openapi.json", "");
    assert_eq!(described.body, payments_sandbox::OPENAPI.as_bytes());
}

#[test]
fn it_is_not_under_the_base_path_and_needs_no_key() {
    let (sandbox, _) = start_with(builder());
    let mut client = RawClient::to(sandbox.base_url(), "wrong").unwrap();
    assert_eq!(client.read("/health")["status"], "ok");
    assert_eq!(client.fetch("/_sandbox/health").status(), 404);
}

#[test]
fn with_its_own_port_it_is_on_no_other() {
    let exchanges = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&exchanges);
    let builder = builder().on_exchange(move |_| _ = count.fetch_add(1, Ordering::SeqCst));
    let (sandbox, mut service) = start_with(builder.admin_listen(any_port()));
    let mut admin = RawClient::to(sandbox.admin_url(), sandbox.api_key()).unwrap();
    assert_eq!(admin.read("/health")["transactions"], 0);
    assert_eq!(admin.read("/health")["base_url"], sandbox.base_url());
    service.pay_with_token();
    assert_eq!(admin.read("/health")["transactions"], 1);

    let response = service.request("GET", "/_sandbox/health", "", "");
    assert_eq!((response.status(), &response.json()["msg"]), (404, &json!("Path not found")));
    admin.post("/token-transaction", TOKEN_PAYMENT);
    let response = admin.response();
    assert_eq!(response.status(), 404);
    assert_eq!(response.json()["msg"], "Path not found: this port is for /_sandbox alone");
    assert!(response.header("x-request-id").is_some() && response.header("sandbox-version").is_some());
    sandbox.gateway().ledger().assert_charged_once(Amount::from_cents(10_50));
    assert_eq!(exchanges.load(Ordering::SeqCst), 2, "only what was sent to the service");
}

#[test]
fn the_key_in_a_query_is_neither_recorded_nor_logged() {
    let lines = Arc::new(Mutex::new(String::new()));
    let log = Arc::clone(&lines);
    let builder = with(FakeGateway::builder().api_key("key_of_a_tenant").api_key("key_of_another"))
        .on_exchange(move |exchange| {
            writeln!(log.lock().unwrap(), "{exchange} {exchange:?}").unwrap();
        });
    let (_sandbox, mut client) = start_with(builder);
    client.read("/state?api_key=key_of_a_tenant");
    client.request("GET", "/api/v1/public/customer/cus_1?api_key=key_of_a_tenant", "", "");
    client.request("GET", "/api/v1/public/customer/4242424242424242?card=4242424242424242", "", "");
    client.fetch("/customer/key_of_a_tenant");
    client.fetch("/customer/key_of_another");
    client.post("/token-transaction", r#"{"TokenId":"4242424242424242"}"#);
    client.response();
    let requests = client.read("/requests");
    assert_eq!(requests["requests"].as_array().unwrap().len(), 5);
    let lines = lines.lock().unwrap();
    assert_eq!(lines.lines().count(), 5);
    for text in [requests.to_string(), lines.clone()] {
        for secret in ["key_of_a_tenant", "key_of_another", "4242424242424242"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
    assert!(lines.contains("GET /api/v1/public/customer/cus_1 200 in "), "{lines}");
}

#[test]
fn the_sandbox_uses_the_choices_and_the_seed_of_its_builder() {
    let choose = |choices: &mut Choices| choices.decline_shape = DeclineShape::PaymentRequired;
    let declined = || {
        let (sandbox, mut client) = start_with(with(FakeGateway::builder().seed(7).choices(choose)));
        client.post("/token-transaction", &TOKEN_PAYMENT.replace("tok_approved", "tok_declined"));
        let status = client.response().status();
        (
            status,
            client.pay_with_token()["data"]["TransactionId"].clone(),
            sandbox.gateway().ledger().entries().len(),
        )
    };
    let first = declined();
    assert_eq!((first.0, first.2), (402, 2));
    assert_eq!(declined(), first);
}

#[test]
fn a_host_name_is_refused_on_a_loopback_address() {
    let status_for = |client: &mut RawClient, host: &str| {
        client.send(&format!("GET /_sandbox/state HTTP/1.1\r\nhost: {host}\r\n\r\n"));
        client.response().status()
    };
    let (_sandbox, mut client) = start_with(builder());
    for (host, status) in
        [("127.0.0.1:1", 200), ("[::1]:1", 200), ("localhost", 200), ("evil.example:1", 403), ("", 403)]
    {
        assert_eq!(status_for(&mut client, host), status, "{host}");
    }
    client.send("GET /_sandbox/state HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n");
    assert_eq!(client.response().status(), 403);
    client.send("GET /api/v1/public/customer/cus_1 HTTP/1.1\r\nhost: pay.example\r\n\r\n");
    assert_eq!(client.response().status(), 401, "the service accepts any host name, with a key");

    let (_sandbox, mut client) = start_with(builder().listen(EVERYWHERE));
    assert_eq!(status_for(&mut client, "sandbox.example"), 200);
    let (sandbox, _) = start_with(builder().listen(EVERYWHERE).admin_listen(any_port()));
    let mut client = RawClient::to(sandbox.admin_url(), "").unwrap();
    assert_eq!(status_for(&mut client, "sandbox.example"), 403);
}

#[test]
fn a_full_sandbox_can_be_controlled_on_an_admin_port() {
    let builder = builder().max_connections(1).admin_listen(any_port());
    let (sandbox, mut client) = start_with(builder);
    client.look_up();
    let mut admin = RawClient::to(sandbox.admin_url(), "").unwrap();
    assert_eq!(admin.admin("GET", "/health", "").status(), 200);
}
