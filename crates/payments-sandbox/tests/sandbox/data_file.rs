//! The file in which a sandbox keeps its state.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use payments_core::OperationName;
use payments_fake::{FakeGateway, Fault, Fixtures, block_on};
use payments_sandbox::{BlockingSandbox, Sandbox};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::raw_client::{RawClient, TOKEN_PAYMENT};

const KEYS: [&str; 2] = ["first_key_of_the_tests", "second_key_of_the_tests"];

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn with(text: impl AsRef<[u8]>) -> Self {
        let place = Self::new();
        fs::write(place.file(), text).unwrap();
        place
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("state.json")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }

    /// The names of everything in the folder.
    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn start(&self, keys: &[&str]) -> std::io::Result<BlockingSandbox> {
        let gateway = FakeGateway::builder().seed(7).ignore_unfired_faults();
        let gateway = keys.iter().fold(gateway, |gateway, key| gateway.api_key(*key));
        Sandbox::builder().fresh_gateway(gateway).data_file(self.file()).start_blocking()
    }

    #[track_caller]
    fn assert_refused(&self, keys: &[&str], message: &str) {
        let before = fs::read(self.file()).ok();
        let error = self.start(keys).expect_err("it must be refused").to_string();
        assert!(error.contains(message) && error.contains("state.json"), "{error}");
        assert_eq!((fs::read(self.file()).ok(), self.names()), (before, vec!["state.json".to_owned()]));
    }
}

fn states(sandbox: &BlockingSandbox) -> String {
    sandbox.gateway().tenants().map(|tenant| tenant.state_json() + "\n").collect()
}

fn post(sandbox: &BlockingSandbox, key: &str, path: &str, body: &Value) -> Value {
    let mut client = RawClient::to(sandbox.base_url(), key).unwrap();
    client.post(path, &body.to_string());
    client.response().json()
}

fn pay(sandbox: &BlockingSandbox, key: &str) -> String {
    let payment = serde_json::from_str(TOKEN_PAYMENT).unwrap();
    let response = post(sandbox, key, "/token-transaction", &payment);
    response["data"]["TransactionId"].as_str().unwrap().to_owned()
}

fn save(sandbox: &BlockingSandbox) -> (u16, Value) {
    let response = RawClient::connect(sandbox).admin("POST", "/save", "");
    (response.status(), response.json())
}

#[test]
fn the_file_has_the_state_of_each_key_in_the_order_of_the_keys() {
    let place = Place::new();
    let sandbox = place.start(&KEYS).unwrap();
    pay(&sandbox, KEYS[1]);
    assert!(!place.text().contains("txn_"), "it was saved before it was asked for");
    assert_eq!(save(&sandbox), (200, json!({"saved": place.file().canonicalize().unwrap()})));
    assert_eq!(place.text(), states(&sandbox));
    pay(&sandbox, KEYS[0]);
    let states = states(&sandbox);
    sandbox.shutdown().unwrap();
    assert_eq!((place.text(), place.names()), (states, vec!["state.json".to_owned()]));
    assert!(KEYS.iter().all(|key| !place.text().contains(key)));
}

#[test]
fn without_a_file_nothing_can_be_saved() {
    let sandbox = BlockingSandbox::start().unwrap();
    let (status, refused) = save(&sandbox);
    assert_eq!(status, 409, "{refused}");
    assert!(refused["msg"].as_str().unwrap().contains("--data"), "{refused}");
}

#[test]
fn a_state_is_a_fixture_and_a_fixture_is_a_state() {
    let place =
        Place::with("{\n  \"transactions\": [\n    {\"TransactionId\": \"txn_1\", \"Amount\": 1}\n  ]\n}\n");
    let sandbox = place.start(&KEYS[..1]).unwrap();
    assert_eq!(sandbox.gateway().first_tenant().transaction_count(), 1);
    drop(sandbox);
    let other = Sandbox::builder().fixtures(Fixtures::from_json(&place.text()).unwrap());
    assert_eq!(states(&other.start_blocking().unwrap()), place.text());
}

#[test]
fn the_last_response_is_sent_before_the_state_is_saved() {
    let place = Place::new();
    let sandbox = place.start(&KEYS[..1]).unwrap();
    let gateway = sandbox.gateway().clone();
    let gate = gateway.gate(OperationName::TokenTransaction);
    let mut client = RawClient::connect(&sandbox);
    client.pay("");
    block_on(gate.arrived());
    let stopping = std::thread::spawn(|| sandbox.shutdown());
    gate.release();
    let id = client.response().json()["data"]["TransactionId"].as_str().unwrap().to_owned();
    stopping.join().unwrap().unwrap();
    assert!(place.text().contains(&id));
}

#[test]
fn faults_are_loaded_and_not_saved() {
    let place = Place::with(r#"{"faults":[{"operation":"void","phase":"late","kind":"close"}]}"#);
    let sandbox = place.start(&KEYS[..1]).unwrap();
    assert_eq!(sandbox.gateway().faults().len(), 1);
    drop(sandbox);
    assert_eq!(place.start(&KEYS[..1]).unwrap().gateway().faults(), []);
}

#[test]
fn anything_else_is_refused_and_left_as_it_is() {
    for (text, message) in [
        (&b""[..], "states in the file: 0, API keys of this sandbox: 1"),
        (b"{}\n{}\n", "states in the file: 2, API keys of this sandbox: 1"),
        (b"SQLite format 3\0\x10\x00\x01\x01", "expected value at line 1 column 1"),
        (b"\xff\xfe", "it is not UTF-8"),
        (b"{\"transactions\":[", "transactions: EOF while parsing a list at line 1 column 17"),
        (b"[1]", "expected a JSON object"),
        (b"{\"name\":\"another program\"}", "is not a state that this sandbox can load, and was not changed"),
        (b"{\"transactions\":[{\"TransactionId\":\"txn_1\"}]}", "transactions[0]: missing field `Amount`"),
    ] {
        Place::with(text).assert_refused(&KEYS[..1], message);
    }
    // A second document that is wrong keeps the first one from being loaded.
    let message = "and was not changed: document 2: tokens: expected a sequence at line 2 column 11";
    Place::with("{}\n{\"tokens\":7}").assert_refused(&KEYS, message);
    Place::with("{}").assert_refused(&KEYS, "states in the file: 1, API keys of this sandbox: 2");

    let folder = Place::new();
    fs::create_dir(folder.file()).unwrap();
    folder.assert_refused(&KEYS, "is not a file");
    let missing = folder.0.path().join("missing/state.json");
    let error = Sandbox::builder().data_file(missing).start_blocking().unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
}

#[test]
fn a_file_in_use_is_refused_until_its_sandbox_has_ended() {
    let place = Place::new();
    let first = place.start(&KEYS[..1]).unwrap();
    let in_use = "is in use by another sandbox; stop that one first, or use another file";
    place.assert_refused(&KEYS[..1], in_use);
    // The file that replaces it is in use too.
    assert_eq!(save(&first).0, 200);
    place.assert_refused(&KEYS[..1], in_use);
    drop(first);
    place.start(&KEYS[..1]).unwrap();
}

#[test]
fn a_save_replaces_whatever_was_done_to_the_file() {
    let place = Place::new();
    let sandbox = place.start(&KEYS[..1]).unwrap();
    pay(&sandbox, KEYS[0]);
    fs::remove_file(place.file()).unwrap();
    assert_eq!(save(&sandbox).0, 200);
    fs::write(place.file(), "another program was here").unwrap();
    sandbox.shutdown().unwrap();
    assert!(place.text().contains("txn_"), "{}", place.text());
}

#[test]
fn a_failed_save_is_reported_and_keeps_the_old_file() {
    let place = Place::new();
    let sandbox = place.start(&KEYS[..1]).unwrap();
    pay(&sandbox, KEYS[0]);
    let moved = place.0.path().with_extension("moved");
    fs::rename(&place.0, &moved).unwrap();
    let (status, refused) = save(&sandbox);
    assert_eq!(status, 500, "{refused}");
    assert!(refused["msg"].as_str().unwrap().contains("state.json: "), "{refused}");
    let error = sandbox.shutdown().unwrap_err();
    assert!(error.to_string().contains("state.json: "), "{error}");
    fs::rename(moved, &place.0).unwrap();
    assert!(!place.text().contains("txn_"));
}

#[cfg(unix)]
#[test]
fn only_its_owner_can_read_a_saved_file_and_a_link_stays_a_link() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let place = Place::new();
    let real = place.0.path().join("real.json");
    fs::write(&real, "{}").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o644)).unwrap();
    symlink(&real, place.file()).unwrap();
    drop(place.start(&KEYS[..1]).unwrap());
    assert!(place.file().is_symlink());
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    let new = Place::new();
    drop(new.start(&KEYS[..1]).unwrap());
    assert_eq!(new.file().metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

/// What one key did before a restart.
fn use_it(sandbox: &BlockingSandbox, key: &str, action: u8) {
    let card = |number: &str, kind: &str| {
        json!({
            "Amount": 10.5, "CardNumber": number, "Cvv": "123", "ExpiryDate": "1230", "SuggestedMode": "Card",
            "BillingCustomerName": "Ada \"Ω\" Example", "BillingEmail": "ada@example.com",
            "BillingCountryCode": "+44", "BillingPhoneNumber": "020 7946 0000", "BillingCountry": "GB",
            "BillingPostalCode": "SW1A 1AA", "IpAddress": "203.0.113.7", "ConvenienceFeeActive": false,
            "TransactionType": kind, "PaymentTokenization": true,
        })
    };
    let tenant = sandbox.gateway().tenant(key).unwrap();
    match action {
        0 => drop(post(sandbox, key, "/transaction", &card("4242424242424242", "1"))),
        1 => drop(post(sandbox, key, "/transaction", &card("4000000000000002", "1"))),
        2 => drop(post(sandbox, key, "/transaction", &card("4242424242424242", "2"))),
        3 => {
            for entry in tenant.ledger().entries() {
                post(sandbox, key, "/void", &json!({"TransactionId": entry.transaction_id().as_str()}));
            }
        }
        4 => drop(pay(sandbox, key)),
        5 => drop(tenant.add_customer_json(r#"{"CustomerId":"cus_7","CustomerName":"Ada"}"#).unwrap()),
        6 => drop(tenant.add_token_json(r#"{"TokenId":"tok_own","Declines":true}"#).unwrap()),
        _ => sandbox.gateway().reset(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn the_records_of_two_keys_survive_restarts(
        runs in prop::collection::vec(prop::collection::vec((0..KEYS.len(), 0..8_u8), 0..12), 1..3),
    ) {
        let place = Place::new();
        for actions in runs {
            let sandbox = place.start(&KEYS).unwrap();
            for (key, action) in actions {
                use_it(&sandbox, KEYS[key], action);
            }
            let before = states(&sandbox);
            sandbox.shutdown().unwrap();
            prop_assert_eq!(states(&place.start(&KEYS).unwrap()), before);
        }
    }
}

#[test]
fn an_unfired_fault_still_fails_the_test_of_a_sandbox_with_a_file() {
    let place = Place::new();
    let unfired = std::panic::catch_unwind(|| {
        let sandbox = Sandbox::builder().data_file(place.file()).start_blocking().unwrap();
        sandbox.gateway().arm(Fault::request_lost(OperationName::Void));
        drop(sandbox.shutdown());
    });
    let message = *unfired.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("armed faults that never fired"), "{message}");
}

/// For a release build: `cargo test --release -p payments-sandbox --test sandbox -- --ignored --nocapture quick`.
#[test]
#[allow(clippy::print_stdout, reason = "it is run to see the figure")]
#[ignore = "it measures, so it needs a release build and an idle machine"]
fn a_sandbox_with_100_000_transactions_is_ready_quickly() {
    let place = Place::new();
    let sandbox = place.start(&KEYS[..1]).unwrap();
    let pay = || {
        let request = http::Request::post("https://pay.example.com/api/v1/public/token-transaction")
            .header("authorization", KEYS[0])
            .header("content-type", "application/json");
        sandbox.gateway().handle(SystemTime::now(), request.body(TOKEN_PAYMENT.into()).unwrap());
    };
    (0..100_000).for_each(|_| pay());
    sandbox.shutdown().unwrap();
    let started = Instant::now();
    let sandbox = place.start(&KEYS[..1]).unwrap();
    let ready = started.elapsed();
    println!("ready in {ready:?}");
    assert_eq!(sandbox.gateway().first_tenant().transaction_count(), 100_000);
    assert!(ready <= Duration::from_millis(300), "{ready:?}");
}
