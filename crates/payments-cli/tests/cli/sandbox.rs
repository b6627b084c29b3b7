//! `payments sandbox`: what it prints, and that each of its options has an effect. What the sandbox does is tested in payments-sandbox.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;

use crate::http::Http;
use crate::interrupts::FILE_LIMIT;
use crate::prelude::*;

struct Sandbox {
    running: Running,
    ready: Value,
}

impl Sandbox {
    fn start(options: &str) -> Self {
        Self::of(payments("sandbox").with(options))
    }

    fn of(run: Run) -> Self {
        let (running, ready) = started(run);
        Self { running, ready }
    }

    fn text(&self, name: &str) -> &str {
        self.ready[name].as_str().unwrap_or_else(|| panic!("{name}: {}", self.ready))
    }

    fn service(&self, headers: &str) -> Http {
        let headers = format!("authorization: {}\r\n{headers}", self.text("api_key"));
        Http::connect(self.text("base_url"), &headers).unwrap()
    }

    fn admin(&self) -> Http {
        Http::connect(self.text("admin_url"), "").unwrap()
    }

    /// Posts this, and returns the status and the response.
    fn posts(&self, path: &str, body: &str) -> (u16, Value) {
        self.service("").post(path, body).unwrap()
    }

    fn state(&self) -> Value {
        self.admin().get("/state").unwrap().1
    }

    fn transactions(&self) -> usize {
        self.state()["transactions"].as_array().unwrap().len()
    }

    fn end(self) -> Ended {
        self.running.end_by("TERM").exits(0)
    }
}

#[test]
fn sandbox_serves_every_command() {
    let sandbox = Sandbox::start("--api-key key_1 --seed 7");
    let (base, version) = (sandbox.text("base_url").to_owned(), env!("CARGO_PKG_VERSION"));
    let origin = base.strip_suffix("/api/v1/public").unwrap();
    begins(origin, "http://127.0.0.1:");
    let ready = json!({
        "base_url": base, "admin_url": format!("{origin}/_sandbox"), "ui_url": format!("{origin}/_sandbox/ui"),
        "api_key": "key_1", "version": version, "seed": 7
    });
    assert_eq!(sandbox.ready, ready);
    assert_eq!(sandbox.admin().get("/health").unwrap().1["seed"], 7);
    assert_eq!(Sandbox::start("").text("api_key"), "test_key_of_the_fake_gateway");

    let call = |line: &str| payments(line).at(&base).env("PAYMENTS_API_KEY", "key_1");
    let authorised = call(CREATE).stdin(authorization()).end().processed();
    let id = authorised["TransactionId"].as_str().unwrap();
    assert_eq!(authorised["TransactionType"], 2);
    let (get, void) = (format!("transaction get {id}"), format!("void {id}"));
    assert_eq!(call(&get).end().processed(), authorised);
    assert_eq!(call(&void).end().paid_id(), *id);
    assert_eq!(call(&void).end().failed(4)["reason"], "invalid transaction id");
    call(CHARGE).stdin(TOKEN_PAYMENT).end().processed();
    assert_eq!(call("customer get cus_1").end().processed()["CustomerId"], "cus_1");
    call("transaction get txn_nobody_has").end().failed(7);
    call(&get).env("PAYMENTS_API_KEY", "key_2").end().failed(6);
    let ended = sandbox.end();
    ended.hides(["WARNING"]);
    assert_eq!(ended.stdout, "", "more than the ready line on stdout: {ended:?}");
}

#[test]
fn ready_line_has_every_api_key() {
    let sandbox = Sandbox::start("--api-key key_1,key_2 --api-key key_3");
    assert_eq!(sandbox.text("api_key"), "key_1");
    assert_eq!(sandbox.ready["api_keys"], json!(["key_1", "key_2", "key_3"]));
    assert_eq!(Sandbox::start("--api-key key_1").ready["api_keys"], Value::Null, "one key is in api_key");
}

#[test]
fn sandbox_warns_when_not_on_loopback() {
    let sandbox = Sandbox::start("--listen 0.0.0.0:0");
    let base_url = sandbox.text("base_url").to_owned();
    begins(&base_url, "http://127.0.0.1:");
    let port = base_url.trim_end_matches("/api/v1/public").rsplit(':').next().unwrap();
    let warning = format!("WARNING: listening on 0.0.0.0:{port}, which");
    has(sandbox.end().stderr, [&*warning, "can reach and control"]);

    let separate = Sandbox::start("--listen 0.0.0.0:0 --admin-listen 127.0.0.1:0").end();
    has(&separate.stderr, ["can reach this sandbox"]);
    separate.hides(["control"]);
}

#[test]
fn sandbox_that_cannot_start_says_why() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = payments(["sandbox", "--listen", &address]).end().exits(1);
    assert_eq!(ended.stdout, "");
    has(&ended.stderr, [&*format!("cannot listen on {address} ("), "--listen"]);
    payments("sandbox").end_unread().exits(1);
    for options in ["--api-key ''", "--api-key 'two words'"] {
        payments("sandbox").with(options).end().failed(2);
    }
    for options in ["--tls-name sandbox", "--tls-ca-out ca.pem"] {
        payments("sandbox").with(options).end().exits(2);
    }
    payments("sandbox --fixtures /dev/zero").end().refused("is larger than 64 MiB");
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
        payments(["sandbox", "--fixtures", file.path()]).end().refused(place);
    }
}

#[test]
fn seed_repeats_the_identifiers() {
    let first_id = |options: &str| {
        let sandbox = Sandbox::start(options);
        let (status, response) = sandbox.posts("/token-transaction", TOKEN_PAYMENT);
        assert_eq!(status, 200);
        (sandbox.ready["seed"].as_u64().unwrap(), response["data"]["TransactionId"].clone())
    };
    let (seed, id) = first_id("");
    assert!(seed < 1 << 53, "not an exact number in every language: {seed}");
    assert_eq!(first_id(&format!("--seed {seed}")), (seed, id.clone()));
    assert_ne!(first_id("").1, id);
}

#[test]
fn each_key_has_its_own_ledger_and_the_admin_interface_its_own_port() {
    let sandbox = Sandbox::start("--api-key one --api-key two --admin-listen 127.0.0.1:0");
    assert_eq!(sandbox.text("api_key"), "one");
    sandbox.posts("/token-transaction", TOKEN_PAYMENT);
    let count = |key: &str| {
        let (status, state) = sandbox.admin().get(&format!("/state?api_key={key}")).unwrap();
        (status, state["transactions"].as_array().map_or(0, Vec::len))
    };
    assert_eq!([count("one"), count("two"), count("three")], [(200, 1), (200, 0), (404, 0)]);
    let on_service = sandbox.text("base_url").replace("/api/v1/public", "/_sandbox");
    assert_ne!(sandbox.text("admin_url"), on_service);
    assert_eq!(Http::connect(&on_service, "").unwrap().get("/health").unwrap().0, 404);
}

#[test]
fn state_is_saved_by_each_signal_and_on_request_and_the_file_is_locked() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("state.json");
    let start = || Sandbox::start(&format!("--seed 7 --data {}", data.display()));
    let mut ids = BTreeSet::new();
    for (count, signal) in ["TERM", "INT", "HUP", "KILL"].into_iter().enumerate() {
        let sandbox = start();
        assert_eq!(sandbox.transactions(), count);
        let (_, paid) = sandbox.posts("/transaction", CARD_PAYMENT);
        let id = paid["data"]["TransactionId"].as_str().unwrap().to_owned();
        assert!(ids.insert(id), "a repeated id: {paid}");
        let second = payments("sandbox --data").with([&data]).end().exits(1);
        assert_eq!(second.stdout, "", "{second:?}");
        has(&second.stderr, ["is in use by another sandbox"]);
        let state = sandbox.state();
        if signal == "KILL" {
            assert_eq!(sandbox.admin().post("/save", "").unwrap().0, 200);
            sandbox.posts("/transaction", CARD_PAYMENT);
        }
        sandbox.running.signal(signal);
        assert_eq!(sandbox.running.end().code, (signal != "KILL").then_some(0));
        assert_eq!(serde_json::from_str::<Value>(&fs::read_to_string(&data).unwrap()).unwrap(), state);
    }
    // A state is a fixture.
    let again = Sandbox::start(&format!("--fixtures {}", data.display()));
    assert_eq!(again.transactions(), 4);
}

#[test]
fn sandbox_that_cannot_save_keeps_the_old_state_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("state.json");
    let run = payments("sandbox --log off --data").with([&data]).with_file_limit(16);
    let sandbox = Sandbox::of(run);
    let before = fs::read(&data).unwrap();
    let mut service = sandbox.service("");
    for _ in 0..100 {
        assert_eq!(service.post("/token-transaction", TOKEN_PAYMENT).unwrap().0, 200);
    }
    sandbox.running.signal("TERM");
    let ended = sandbox.running.end();
    assert_eq!((ended.code, fs::read(&data).unwrap()), (Some(1), before), "{ended:?}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "a part of the new file is left");
    assert!(ended.stderr.contains("state.json: ") && ended.stderr.ends_with(FILE_LIMIT), "{ended:?}");
}

#[test]
fn generated_certificate_is_trusted_with_its_authority() {
    let file = TemporaryFile::new("");
    let sandbox = Sandbox::start(&format!("--tls --tls-ca-out {}", file.path()));
    begins(sandbox.text("base_url"), "https://127.0.0.1:");
    // Another certificate is replaced, and nothing else.
    let journal = TemporaryFile::new("SQLite format 3");
    let refused =
        payments("sandbox --listen 127.0.0.1:0 --tls").with(["--tls-ca-out", journal.path()]).end().exits(1);
    has(&refused.stderr, ["the file of --tls-ca-out exists and is no certificate"]);
    assert_eq!(fs::read_to_string(journal.path()).unwrap(), "SQLite format 3");
    let again = TemporaryFile::new("-----BEGIN CERTIFICATE-----\n");
    let other = Sandbox::start(&format!("--tls --tls-ca-out {}", again.path()));
    assert_eq!(fs::read_to_string(again.path()).unwrap(), other.text("ca_cert"));
    assert_eq!(fs::read_to_string(file.path()).unwrap(), sandbox.text("ca_cert"));
    let lookup = || {
        let run = payments("customer get cus_1").at(sandbox.text("base_url"));
        run.env("PAYMENTS_API_KEY", sandbox.text("api_key"))
    };
    lookup().with(["--ca-cert", file.path()]).end().processed();
    lookup().end().failed(3);
}

#[test]
fn options_choose_unspecified_behaviour() {
    let card = |number: &str| CARD_PAYMENT.replace("378282246310005", number).replace("\"7391\"", "\"739\"");
    let (declined, unlisted) = (card("4000000000000002"), card("4012000033330026"));
    let unknown_field = TOKEN_PAYMENT.replace('{', r#"{"Flavour":"plain","#);
    for (options, path, request, status, outcome, transactions) in [
        ("--decline-shape ok-failed", "/transaction", &declined, 200, "failed", 1),
        ("--decline-shape ok-error", "/transaction", &declined, 200, "error", 1),
        ("--decline-shape bad-request", "/transaction", &declined, 400, "failed", 1),
        ("--decline-shape payment-required", "/transaction", &declined, 402, "failed", 1),
        ("--unlisted-cards approve", "/transaction", &unlisted, 200, "success", 1),
        ("--unlisted-cards decline", "/transaction", &unlisted, 200, "failed", 1),
        ("--unlisted-cards refuse", "/transaction", &unlisted, 400, "failed", 0),
        ("--allow-unknown-fields", "/token-transaction", &unknown_field, 200, "success", 1),
        ("", "/token-transaction", &unknown_field, 400, "failed", 0),
    ] {
        let sandbox = Sandbox::start(options);
        let (seen, response) = sandbox.posts(path, request);
        assert_eq!((seen, response["status"].as_str()), (status, Some(outcome)), "{options}: {response}");
        assert_eq!(sandbox.transactions(), transactions, "{options}");
    }
    let header = "sandbox-fault: after_commit=close\r\n";
    let sandbox = Sandbox::start("");
    assert!(sandbox.service(header).post("/token-transaction", TOKEN_PAYMENT).is_err());
    assert_eq!(sandbox.transactions(), 1);
    let strict = Sandbox::start("--no-control-headers");
    assert_eq!(strict.service(header).post("/token-transaction", TOKEN_PAYMENT).unwrap().0, 200);
}

#[test]
fn log_has_a_line_per_request_and_no_secret() {
    for shape in ["text", "pretty", "json"] {
        let sandbox = Sandbox::start(&format!("--log {shape} --api-key sk_canary_of_the_log"));
        sandbox.posts("/transaction", CARD_PAYMENT);
        sandbox.service("").get("/transaction/378282246310005").unwrap();
        let fault = r#"{"operation":"any","phase":"before_commit","kind":"close"}"#;
        sandbox.admin().post("/faults", fault).unwrap();
        sandbox.service("").get("/customer/cus_1").unwrap_err();
        let ended = sandbox.end();
        let marks = ["/api/v1/public/", " saw "];
        let lines: Vec<_> =
            ended.stderr.lines().filter(|line| marks.iter().any(|mark| line.contains(mark))).collect();
        assert_eq!(lines.len(), 3, "{ended:?}");
        has(lines[2], ["close"]);
        if shape == "json" {
            let first: Value = serde_json::from_str(lines[0]).unwrap();
            assert_eq!((&first["status"], &first["method"]), (&200.into(), &"POST".into()), "{ended:?}");
        }
        // `secrets::sandbox` searches for codes and expiry dates, which other digits can match by chance.
        ended.hides(["378282246310005", "sk_canary_of_the_log", "grace@example.com"]);
    }
}

#[test]
fn unread_log_blocks_neither_requests_nor_a_signal_and_lost_lines_are_counted() {
    for is_read_at_the_end in [false, true] {
        let sandbox = Sandbox::start("--log text");
        let mut service = sandbox.service("");
        // More lines than the pipe and the log's queue hold.
        for _ in 0..3000 {
            assert_eq!(service.get("/customer/cus_1").unwrap().0, 200);
        }
        if !is_read_at_the_end {
            sandbox.running.signal("TERM");
            assert_eq!(sandbox.running.wait_without_reading(), Some(0), "it does not end with a full stderr");
            continue;
        }
        let log = sandbox.running.end_by("TERM").exits(0).stderr;
        let written = log.lines().filter(|line| line.contains("/customer/cus_1")).count();
        // The lines about the shutdown may be lost too.
        let lost: usize = log
            .lines()
            .filter_map(|line| line.strip_prefix("payments: ")?.split_once(" lines were dropped"))
            .map(|(count, _)| count.parse::<usize>().unwrap())
            .sum();
        assert!(lost > 0 && (3000..3010).contains(&(written + lost)), "{written} written, {lost} lost");
    }
}

#[test]
fn openapi_and_magic_are_printed_without_serving() {
    assert_eq!(payments("sandbox openapi").end().exits(0).stdout, payments_sandbox::OPENAPI);
    let table = payments("sandbox magic").end().json();
    let text = payments("sandbox magic").text().stdout;
    for row in table["values"].as_array().unwrap() {
        has(&text, [row["value"].as_str().unwrap(), row["result"].as_str().unwrap()]);
    }
}
