//! The options of `payments sandbox`.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test as the test itself does")]

use std::collections::BTreeSet;
use std::ffi::OsStr;

use serde_json::Value;

use crate::http::Http;
use crate::support::{CARD_PAYMENT, Ended, Running, TOKEN_PAYMENT, TemporaryFile, payments};

struct Sandbox {
    running: Running,
    ready: Value,
    line: String,
}

impl Sandbox {
    fn start(options: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let mut running = payments(["sandbox"]).arguments(options).start();
        let line = running.first_line();
        let ready = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        Self { running, ready, line }
    }

    fn text(&self, name: &str) -> &str {
        self.ready[name].as_str().unwrap_or_else(|| panic!("{name}: {}", self.line))
    }

    fn service(&self, headers: &str) -> Http {
        let headers = format!("authorization: {}\r\n{headers}", self.text("api_key"));
        Http::connect(self.text("base_url"), &headers).unwrap()
    }

    fn admin(&self) -> Http {
        Http::connect(self.text("admin_url"), "").unwrap()
    }

    fn end(self) -> Ended {
        self.running.signal("TERM");

        self.running.end().exits(0)
    }
}

fn transactions(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.admin().get("/state").unwrap().1["transactions"].as_array().unwrap().clone()
}

#[test]
fn ready_line_has_everything_a_program_needs() {
    let sandbox = Sandbox::start(["--seed", "7"]);
    let (base, version) = (sandbox.text("base_url"), env!("CARGO_PKG_VERSION"));
    let origin = base.strip_suffix("/api/v1/public").unwrap();
    let expected = format!(
        r#"{{"base_url":"{base}","admin_url":"{origin}/_sandbox","ui_url":"{origin}/_sandbox/ui","api_key":"test_key_of_the_fake_gateway","version":"{version}","seed":7}}"#
    );
    assert_eq!(sandbox.line.trim_end(), expected);
    assert_eq!(sandbox.admin().get("/health").unwrap().1["seed"], 7);
}

#[test]
fn seed_repeats_the_identifiers() {
    let first_id = |options: &[&str]| {
        let sandbox = Sandbox::start(options.iter());
        let (status, response) = sandbox.service("").post("/token-transaction", TOKEN_PAYMENT).unwrap();
        assert_eq!(status, 200);
        let seed = sandbox.ready["seed"].as_u64().unwrap();
        (seed, response["data"]["TransactionId"].clone())
    };
    let (seed, id) = first_id(&[]);
    assert!(seed < 1 << 53, "not an exact number in every language: {seed}");
    assert_eq!(first_id(&["--seed", &seed.to_string()]), (seed, id.clone()));
    assert_ne!(first_id(&[]).1, id);
}

#[test]
fn each_key_has_its_own_ledger() {
    let sandbox = Sandbox::start(["--api-key", "one", "--api-key", "two"]);
    assert_eq!(sandbox.text("api_key"), "one");
    sandbox.service("").post("/token-transaction", TOKEN_PAYMENT).unwrap();
    let count = |key: &str| {
        let (status, state) = sandbox.admin().get(&format!("/state?api_key={key}")).unwrap();
        (status, state["transactions"].as_array().map_or(0, Vec::len))
    };
    assert_eq!([count("one"), count("two"), count("three")], [(200, 1), (200, 0), (404, 0)]);
}

#[test]
fn admin_interface_may_have_its_own_port() {
    let sandbox = Sandbox::start(["--admin-listen", "127.0.0.1:0"]);
    let base = sandbox.text("base_url");
    let on_service = base.replace("/api/v1/public", "/_sandbox");
    assert_ne!(sandbox.text("admin_url"), on_service);
    assert_eq!(sandbox.admin().get("/health").unwrap().0, 200);
    assert_eq!(Http::connect(&on_service, "").unwrap().get("/health").unwrap().0, 404);
}

#[test]
fn state_is_saved_by_each_signal_and_the_file_is_locked() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("state.json");
    let data = data.to_str().unwrap();
    let mut ids = BTreeSet::new();
    for (count, signal) in ["TERM", "INT", "HUP"].into_iter().enumerate() {
        let sandbox = Sandbox::start(["--data", data, "--seed", "7"]);
        let before = transactions(&sandbox);
        assert_eq!(before.len(), count);
        let (_, paid) = sandbox.service("").post("/transaction", CARD_PAYMENT).unwrap();
        assert!(
            ids.insert(paid["data"]["TransactionId"].as_str().unwrap().to_owned()),
            "a repeated id: {paid}"
        );

        let second = payments(["sandbox", "--data", data]).end();
        assert_eq!((second.code, &*second.stdout), (Some(1), ""), "{second:?}");
        assert!(second.stderr.contains("is in use by another sandbox"), "{}", second.stderr);
        let state = sandbox.admin().get("/state").unwrap().1;
        sandbox.running.signal(signal);
        assert_eq!(sandbox.running.end().code, Some(0));
        assert_eq!(serde_json::from_str::<Value>(&std::fs::read_to_string(data).unwrap()).unwrap(), state);
    }
}

#[test]
fn killed_sandbox_leaves_the_state_that_was_saved() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("state.json");
    let sandbox = Sandbox::start(["--data", data.to_str().unwrap()]);
    sandbox.service("").post("/token-transaction", TOKEN_PAYMENT).unwrap();
    assert_eq!(sandbox.admin().post("/save", "").unwrap().0, 200);
    sandbox.service("").post("/token-transaction", TOKEN_PAYMENT).unwrap();
    sandbox.running.signal("KILL");
    drop(sandbox.running.end());
    assert_eq!(transactions(&Sandbox::start(["--data", data.to_str().unwrap()])).len(), 1);
}

#[test]
fn fixtures_are_loaded_and_a_state_can_be_reloaded() {
    let sandbox = Sandbox::start([""; 0]);
    sandbox.service("").post("/transaction", CARD_PAYMENT).unwrap();
    let (_, state) = sandbox.admin().get("/state").unwrap();
    let file = TemporaryFile::new(state.to_string());
    let again = Sandbox::start(["--fixtures", file.path()]);
    assert_eq!(again.admin().get("/state").unwrap().1, state);
    again.service("").post("/transaction", CARD_PAYMENT).unwrap();
    again.admin().post("/reset", r#"{"keep_fixtures":true}"#).unwrap();
    assert_eq!(again.admin().get("/state").unwrap().1, state);
}

#[test]
fn invalid_fixtures_are_refused_with_the_first_error() {
    for (place, wrong) in [
        ("customers[0]: missing field `CustomerId`", r#"{"customers":[{"CustomerName":"Ada Example"}]}"#),
        (
            "tokens[0].TokenId: expected a string",
            r#"{"customers":[{"CustomerId":"cus_7"}],"tokens":[{"TokenId":7}]}"#,
        ),
        ("transactions[0]: missing field `Amount`", r#"{"transactions":[{"TransactionId":"txn_1"}]}"#),
        ("faults[0]: missing field `phase`", r#"{"faults":[{"operation":"void"}]}"#),
        ("orders", r#"{"faults":[],"orders":[]}"#),
    ] {
        let file = TemporaryFile::new(wrong);
        let ended = payments(["sandbox", "--fixtures", file.path()]).end();
        let message = ended.refusal();
        assert!(
            message.contains(place)
                && message.ends_with("; nothing was loaded: fix the file or name another one"),
            "{place}: {message}"
        );
    }
    let missing = payments(["sandbox", "--fixtures", "/missing/fixtures.json"]).end();
    missing.failed(2);
}

#[test]
fn generated_certificate_is_trusted_with_its_authority() {
    let file = TemporaryFile::new("");
    let sandbox = Sandbox::start(["--tls", "--tls-ca-out", file.path()]);
    assert!(sandbox.text("base_url").starts_with("https://127.0.0.1:"));
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), sandbox.text("ca_cert"));
    let lookup = |arguments: &[&str]| {
        payments(["customer", "get", "cus_1"])
            .arguments(arguments.iter())
            .env("PAYMENTS_BASE_URL", sandbox.text("base_url"))
            .env("PAYMENTS_API_KEY", sandbox.text("api_key"))
            .end()
    };
    lookup(&["--ca-cert", file.path()]).processed();
    lookup(&[]).failed(3);
    payments(["sandbox", "--tls-name", "sandbox"]).end().exits(2);
    payments(["sandbox", "--tls-ca-out", file.path()]).end().exits(2);
}

#[test]
fn fault_header_works_unless_switched_off() {
    let header = "sandbox-fault: after_commit=close\r\n";
    let sandbox = Sandbox::start([""; 0]);
    assert!(sandbox.service(header).post("/token-transaction", TOKEN_PAYMENT).is_err());
    assert_eq!(transactions(&sandbox).len(), 1);
    let strict = Sandbox::start(["--no-control-headers"]);
    assert_eq!(strict.service(header).post("/token-transaction", TOKEN_PAYMENT).unwrap().0, 200);
}

#[test]
fn options_choose_unspecified_behaviour() {
    let declined = CARD_PAYMENT.replace("378282246310005", "4000000000000002").replace("7391", "739");
    let shape = |shape: &str| {
        let sandbox = Sandbox::start(["--decline-shape", shape]);
        let (status, response) = sandbox.service("").post("/transaction", &declined).unwrap();
        (status, response["status"].as_str().unwrap().to_owned())
    };
    let failed = "failed".to_owned();
    assert_eq!(shape("ok-failed"), (200, failed.clone()));
    assert_eq!(shape("ok-error"), (200, "error".to_owned()));
    assert_eq!(shape("bad-request"), (400, failed.clone()));
    assert_eq!(shape("payment-required"), (402, failed));

    let unlisted = CARD_PAYMENT.replace("378282246310005", "4012000033330026").replace("7391", "739");
    let card = |what: &str| {
        let sandbox = Sandbox::start(["--unlisted-cards", what]);
        let (status, response) = sandbox.service("").post("/transaction", &unlisted).unwrap();
        (status, response["status_code"].as_u64().unwrap(), transactions(&sandbox).len())
    };
    assert_eq!(
        [card("approve"), card("decline"), card("refuse")],
        [(200, 100, 1), (200, 200, 1), (400, 400, 0)]
    );

    let with_unknown = TOKEN_PAYMENT.replace('{', r#"{"Flavour":"plain","#);
    let lenient = Sandbox::start(["--allow-unknown-fields"]);
    assert_eq!(lenient.service("").post("/token-transaction", &with_unknown).unwrap().0, 200);
    let strict = Sandbox::start([""; 0]);
    assert_eq!(strict.service("").post("/token-transaction", &with_unknown).unwrap().0, 400);
}

#[test]
fn log_has_a_line_per_request_and_no_secret() {
    for shape in ["text", "pretty", "json"] {
        let sandbox = Sandbox::start(["--log", shape, "--api-key", "sk_canary_of_the_log"]);
        sandbox.service("").post("/transaction", CARD_PAYMENT).unwrap();
        sandbox.service("").get("/transaction/378282246310005").unwrap();
        sandbox
            .admin()
            .post("/faults", r#"{"operation":"any","phase":"before_commit","kind":"close"}"#)
            .unwrap();
        sandbox.service("").get("/customer/cus_1").unwrap_err();
        let log = sandbox.end().stderr;
        let marks = ["/api/v1/public/", " saw "];
        let lines: Vec<_> = log.lines().filter(|line| marks.iter().any(|mark| line.contains(mark))).collect();
        assert_eq!(lines.len(), 3, "{log}");
        assert!(lines[2].contains("close"), "{log}");
        if shape == "json" {
            let first: Value = serde_json::from_str(lines[0]).unwrap();
            assert_eq!((&first["status"], &first["method"]), (&200.into(), &"POST".into()), "{log}");
        }
        // `secrets::sandbox` searches for codes and expiry dates, which other digits can match by chance.
        for secret in ["378282246310005", "sk_canary_of_the_log", "grace@example.com"] {
            assert!(!log.contains(secret), "{secret}: {log}");
        }
    }
}

#[test]
fn unread_log_blocks_neither_requests_nor_a_signal() {
    for shape in ["text", "pretty", "json"] {
        let sandbox = Sandbox::start(["--log", shape]);
        let mut service = sandbox.service("");
        // More lines than the pipe and the log's queue hold.
        for _ in 0..3000 {
            assert_eq!(service.get("/customer/cus_1").unwrap().0, 200);
        }
        sandbox.running.signal("TERM");
        assert_eq!(sandbox.running.wait_without_reading(), Some(0), "it does not end with a full stderr");
    }
}

#[test]
fn lost_log_lines_are_counted() {
    let sandbox = Sandbox::start(["--log", "text"]);
    let mut service = sandbox.service("");
    for _ in 0..3000 {
        service.get("/customer/cus_1").unwrap();
    }
    let log = sandbox.end().stderr;
    let written = log.lines().filter(|line| line.contains("/customer/cus_1")).count();
    // The lines about the shutdown may be lost too.
    let lost: usize = log
        .lines()
        .filter_map(|line| line.strip_prefix("payments: ")?.split_once(" lines were dropped"))
        .map(|(count, _)| count.parse::<usize>().unwrap())
        .sum();
    assert!(lost > 0 && (3000..3010).contains(&(written + lost)), "{written} written, {lost} lost");
}

#[test]
fn openapi_and_magic_are_printed_without_serving() {
    let openapi = payments(["sandbox", "openapi"]).end();
    assert_eq!((openapi.code, &*openapi.stdout), (Some(0), payments_sandbox::OPENAPI));
    let json = payments(["sandbox", "magic"]).end();
    let table: Value = serde_json::from_str(&json.stdout).unwrap();
    let text = payments(["sandbox", "magic", "--output", "text"]).end();
    for row in table["values"].as_array().unwrap() {
        let (value, result) = (row["value"].as_str().unwrap(), row["result"].as_str().unwrap());
        let is_row = |line: &str| line.contains(&format!(" {value} ")) && line.ends_with(result);
        assert!(text.stdout.lines().any(is_row), "{value}: {}", text.stdout);
    }
}

#[cfg(unix)]
#[test]
fn endless_fixtures_are_refused() {
    payments(["sandbox", "--fixtures", "/dev/zero"]).end().refused("is larger than 64 MiB");
}
