//! `payments batch run` against a sandbox: every way a run can end, and what the same command does afterwards.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test as the test itself does")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use http::StatusCode;
use payments_core::OperationName;
use payments_fake::{Fault, Gate, block_on};
use payments_tests::UnresponsivePort;
use serde_json::{Value, json};

use crate::journaled_charges::Workspace;
use crate::support::{Ended, KEY, Peer, Run, Running, begins, has, payments_at};

const TOKENS: OperationName = OperationName::TokenTransaction;

/// A sandbox with a journal, and a folder for the files of billing runs.
pub(crate) struct Billing {
    pub(crate) workspace: Workspace,
    folder: tempfile::TempDir,
}

/// The count of rows for each outcome that has any. Checks that every row is counted once.
#[track_caller]
pub(crate) fn counts(ended: &Ended) -> Value {
    let document = ended.json();
    let rows = document["rows"].as_object().unwrap();
    let count = |name: &str| rows[name]["count"].as_u64().unwrap();
    let all: u64 = rows.keys().filter(|name| *name != "total").map(|name| count(name)).sum();
    assert_eq!(all, count("total"), "every row is counted once: {document}");
    rows.iter()
        .filter(|(_, tally)| tally["count"] != 0)
        .map(|(name, tally)| (name.clone(), tally["count"].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[track_caller]
pub(crate) fn ends(ended: &Ended, code: i32, outcome: &str, stopped: Option<&str>) {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    let document = ended.json();
    let reason = document["stopped"].get("reason").and_then(Value::as_str);
    assert_eq!((document["outcome"].as_str(), reason), (Some(outcome), stopped), "{ended:?}");
}

impl Billing {
    pub(crate) fn open() -> Self {
        Self { workspace: Workspace::open(), folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Rows of 1.01, 2.01 and so on with these tokens, and the keys k1, k2 and so on.
    fn write(&self, tokens: &[&str]) {
        let mut text = "Key,TokenId,Amount,ConvenienceFeeActive,ReferenceNo\n".to_owned();
        for (number, token) in (1..).zip(tokens) {
            writeln!(text, "k{number},{token},{number}.01,false,order {number}").unwrap();
        }
        fs::write(self.path("rows.csv"), text).unwrap();
    }

    pub(crate) fn good(&self, count: usize) {
        self.write(&vec!["tok_approved"; count]);
    }

    pub(crate) fn command(&self, options: &[&str]) -> Run {
        self.command_at(self.workspace.sandbox.base_url(), options)
    }

    pub(crate) fn command_at(&self, base_url: &str, options: &[&str]) -> Run {
        let journal = self.workspace.journal();
        let arguments = ["batch", "run", &self.path("rows.csv"), "--journal", journal.to_str().unwrap()];
        payments_at(base_url, arguments).arguments(options.iter())
    }

    pub(crate) fn run(&self, options: &[&str]) -> Ended {
        self.command(options).end()
    }

    /// The references and amounts of all charges. Checks that none is there twice.
    #[track_caller]
    pub(crate) fn charged(&self) -> BTreeSet<(String, String)> {
        let ledger = self.workspace.sandbox.gateway().ledger();
        let charged: Vec<_> = ledger
            .charged()
            .map(|entry| (entry.reference_no.clone().unwrap_or_default(), entry.amount.to_string()))
            .collect();
        let distinct: BTreeSet<_> = charged.iter().cloned().collect();
        assert_eq!(distinct.len(), charged.len(), "charged twice: {charged:?}");
        distinct
    }

    fn results(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn arm(&self, fault: Fault) {
        self.workspace.arm(fault);
    }

    /// A run with this many rows at the gate.
    pub(crate) fn in_flight(&self, options: &[&str], gate: &Gate, rows: usize) -> Running {
        let running = self.command(options).start();
        block_on(gate.arrivals(rows));
        running
    }
}

#[test]
fn every_row_is_charged_once_over_repeated_runs() {
    let billing = Billing::open();
    billing.good(70);
    let ended = billing.run(&["--results", &billing.path("results.jsonl")]);
    ends(&ended, 0, "processed", None);
    assert_eq!(ended.diagnostics(), "");
    assert_eq!(counts(&ended), json!({"processed": 70, "total": 70}));
    assert!(ended.stdout.contains(r#""processed":{"count":70,"sum":2485.70}"#), "{}", ended.stdout);
    assert_eq!(billing.charged().len(), 70);

    let results = billing.results("results.jsonl");
    assert_eq!(results.len(), 70);
    let lines: BTreeSet<_> = results.iter().map(|result| result["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, (2..=71).collect());
    for result in &results {
        assert_eq!(result["key"], format!("k{}", result["line"].as_u64().unwrap() - 1));
        assert_eq!((&result["outcome"], &result["http_status"]), (&json!("processed"), &json!(200)));
        assert!(result["data"]["TransactionId"].is_string());
    }

    let before = billing.workspace.requests();
    let ended = billing.run(&["--results", &billing.path("results.jsonl")]);
    ends(&ended, 0, "processed", None);
    assert_eq!(counts(&ended), json!({"processed_earlier": 70, "total": 70}));
    assert_eq!((billing.workspace.requests(), billing.results("results.jsonl").len()), (before, 70));
}

#[test]
fn rejected_row_exits_4_and_stays_rejected() {
    let billing = Billing::open();
    billing.write(&["tok_approved", "tok_declined", "tok_approved"]);
    let ended = billing.run(&[]);
    ends(&ended, 4, "rejected", None);
    assert_eq!(counts(&ended), json!({"processed": 2, "rejected": 1, "total": 3}));
    assert!(ended.stdout.contains(r#""rejected":{"count":1,"sum":2.01}"#), "{}", ended.stdout);
    let before = billing.workspace.requests();
    let ended = billing.run(&[]);
    ends(&ended, 4, "rejected", None);
    assert_eq!(counts(&ended), json!({"processed_earlier": 2, "rejected_earlier": 1, "total": 3}));
    assert_eq!(billing.workspace.requests(), before);
}

#[test]
fn unknown_row_exits_5_and_is_never_sent_again_d03() {
    let billing = Billing::open();
    billing.good(5);
    billing.arm(Fault::response_lost(TOKENS).skip(2));
    let ended = billing.run(&["--concurrency", "1", "--results", &billing.path("results.jsonl")]);
    ends(&ended, 5, "unknown", None);
    assert_eq!(counts(&ended), json!({"processed": 4, "unknown": 1, "total": 5}));
    let unresolved = json!({"line": 4, "key": "k3", "amount": 3.01, "transaction_id": null, "outcome": "unknown", "kind": "closed"});
    assert_eq!(ended.json()["unresolved"], json!([unresolved]));
    let results = billing.results("results.jsonl");
    for (number, result) in (1..).zip(&results) {
        let (amount, reference) = (&result["amount"], &result["reference"]);
        assert_eq!(
            (amount.to_string(), reference),
            (format!("{number}.01"), &json!(format!("order {number}")))
        );
    }
    let error = &results[2]["error"];
    assert_eq!((&error["reference"], &error["amount"]), (&json!("order 3"), &json!(3.01)), "{error}");
    assert!(error["sent_at"].is_string(), "{error}");

    let before = billing.workspace.requests();
    let ended = billing.run(&["--output", "text"]);
    assert_eq!((ended.code, billing.workspace.requests()), (Some(5), before));
    has(
        &ended.stdout,
        ["OUTCOME UNKNOWN for 1 charge", "line 4: k3, 3.01", "payments journal list --unresolved"],
    );
    assert_eq!(billing.charged().len(), 5, "the unknown row was charged");

    // A person resolves it.
    let note = ["journal", "resolve", "k3", "--not-processed", "--note", "not in the books"];
    assert_eq!(billing.workspace.run(note).end().code, Some(0));
    assert_eq!(billing.run(&[]).code, Some(0));
    assert_eq!(billing.workspace.requests(), before + 1, "the resolved row was not sent");
}

#[test]
fn http_401_stops_the_run_with_6_until_a_person_reopens_the_row() {
    let billing = Billing::open();
    billing.good(50);
    let ended = billing.command(&["--concurrency", "1"]).env("PAYMENTS_API_KEY", "another_key").end();
    ends(&ended, 6, "rejected", Some("unauthorized"));
    assert_eq!(counts(&ended), json!({"rejected": 1, "not_started": 49, "total": 50}));

    let ended = billing.run(&[]);
    ends(&ended, 4, "rejected", None);
    assert_eq!(counts(&ended), json!({"processed": 49, "rejected_earlier": 1, "total": 50}));
    assert_eq!(billing.workspace.run(["journal", "retry", "--status", "401"]).end().code, Some(0));
    ends(&billing.run(&[]), 0, "processed", None);
    assert_eq!(billing.charged().len(), 50);
}

#[test]
fn http_403_stops_the_run() {
    let billing = Billing::open();
    billing.good(20);
    billing.arm(Fault::on(TOKENS).before_commit().status(StatusCode::FORBIDDEN).skip(3));
    let ended = billing.run(&["--concurrency", "1"]);
    ends(&ended, 3, "unfinished", Some("forbidden"));
    assert_eq!(counts(&ended), json!({"processed": 3, "rejected": 1, "not_started": 16, "total": 20}));
}

#[test]
fn refusals_unrelated_to_the_payment_are_listed_by_status() {
    let billing = Billing::open();
    billing.write(&["tok_approved", "tok_approved", "tok_declined", "tok_approved", "tok_approved"]);
    let busy = Fault::on(TOKENS).before_commit().status(StatusCode::TOO_MANY_REQUESTS);
    billing.arm(busy.times(2));
    let run = || billing.run(&["--concurrency", "1", "--output", "text"]);
    let ended = run().exits(4);
    has(
        &ended.stdout,
        [
            "FINISHED, some were rejected (exit code 4)",
            "  rejected for a reason other than the payment itself:\n    HTTP 429: 2 rows, 3.02\n",
            "run `payments journal retry --status 429` so that the same command sends them again",
        ],
    );
    // One more row, which gets a 401: from now on both statuses are listed.
    billing.write(&[
        "tok_approved",
        "tok_approved",
        "tok_declined",
        "tok_approved",
        "tok_approved",
        "tok_approved",
    ]);
    billing.arm(Fault::on(TOKENS).before_commit().status(StatusCode::UNAUTHORIZED));
    let ended = run().exits(6);
    has(
        &ended.stdout,
        ["HTTP 401: 1 row, 6.01\n", "HTTP 429: 2 rows, 3.02\n", "payments journal retry --status 401,429`"],
    );
    assert!(!ended.stdout.contains("--status 401`"), "{}", ended.stdout);
    let ended = billing.run(&[]);
    ends(&ended, 4, "rejected", None);
    let by_status = r#""rejected_by_status":{"401":{"count":1,"sum":6.01},"429":{"count":2,"sum":3.02}}"#;
    assert!(ended.stdout.contains(by_status), "{}", ended.stdout);

    assert_eq!(billing.workspace.run(["journal", "retry", "--status", "401,429"]).end().code, Some(0));
    let ended = run();
    assert_eq!(ended.code, Some(4), "one is declined: {ended:?}");
    assert!(!ended.stdout.contains("HTTP"), "{}", ended.stdout);
    assert_eq!(billing.charged().len(), 5);
}

#[test]
fn outage_leaves_the_rows_to_the_next_run_d02() {
    let billing = Billing::open();
    billing.good(100);
    let port = UnresponsivePort::refusing();
    let unreachable = |options: &[&str]| {
        billing.command(options).env("PAYMENTS_PROXY", &format!("http://{}", port.address())).end()
    };
    let results = billing.path("r.jsonl");
    let ended = unreachable(&["--patience", "0", "--concurrency", "4", "--results", &results]);
    ends(&ended, 3, "unfinished", Some("outage"));
    let seen = counts(&ended);
    let tried = seen["not_processed"].as_u64().unwrap();
    assert!((1..=4).contains(&tried), "no more than were in flight: {seen}");
    assert_eq!(seen["not_started"], 100 - tried);
    let results = billing.results("r.jsonl");
    assert_eq!(results.len() as u64, tried);
    assert!(results.iter().all(|result| result["outcome"] == "not_processed"), "{results:?}");

    // With patience, the same rows are tried again in the same run.
    let ended = unreachable(&["--patience", "2", "--concurrency", "2"]);
    ends(&ended, 3, "unfinished", Some("outage"));
    assert!(counts(&ended)["not_processed"].as_u64().unwrap() <= 2, "{ended:?}");

    ends(&billing.run(&[]), 0, "processed", None);
    assert_eq!(billing.charged().len(), 100);
}

#[test]
fn first_signal_waits_for_charges_in_flight() {
    for signal in ["INT", "TERM", "HUP"] {
        let billing = Billing::open();
        billing.good(20);
        let gate = billing.workspace.sandbox.gateway().gate(TOKENS);
        let mut running = billing.in_flight(&["--concurrency", "3"], &gate, 3);
        running.signal(signal);
        let expected = running.error_line();
        begins(&expected, format!("SIG{signal}: no new charge is started; waiting for 3 "));
        gate.release();
        let ended = running.end();
        ends(&ended, 3, "unfinished", Some("interrupted"));
        assert_eq!(counts(&ended), json!({"processed": 3, "not_started": 17, "total": 20}));
        assert_eq!(billing.workspace.requests(), 3);
        ends(&billing.run(&[]), 0, "processed", None);
        assert_eq!(billing.charged().len(), 20);
    }
}

#[test]
fn second_signal_exits_at_once_with_charges_in_flight_unknown_d22() {
    let billing = Billing::open();
    billing.good(20);
    let gate = billing.workspace.sandbox.gateway().gate_after_commit(TOKENS);
    let mut running = billing.in_flight(&["--concurrency", "3"], &gate, 3);
    running.signal("INT");
    running.error_line();
    running.signal("INT");
    let ended = running.end();
    ends(&ended, 5, "unknown", Some("interrupted"));
    assert_eq!(counts(&ended), json!({"unknown": 3, "not_started": 17, "total": 20}));
    let kinds: Vec<_> =
        ended.json()["unresolved"].as_array().unwrap().iter().map(|it| it["kind"].clone()).collect();
    assert_eq!(kinds, ["in_flight"; 3]);
    gate.release();

    let ended = billing.run(&[]);
    ends(&ended, 5, "unknown", None);
    assert_eq!(counts(&ended), json!({"processed": 17, "unknown_earlier": 3, "total": 20}));
    assert_eq!(billing.workspace.requests(), 20);
    assert_eq!(billing.charged().len(), 20);
}

#[test]
fn key_of_another_request_is_refused_before_sending_d43() {
    let billing = Billing::open();
    billing.good(2);
    ends(&billing.run(&[]), 0, "processed", None);
    let before = billing.workspace.requests();
    let text = "Key,TokenId,Amount,ConvenienceFeeActive\nk9,tok_approved,1,false\nk2,tok_declined,3,true\n";
    fs::write(billing.path("rows.csv"), text).unwrap();
    let error = billing.run(&[]).failed(2);
    let rule = error["violations"][0]["rule"].as_str().unwrap();
    let ledger = billing.workspace.sandbox.gateway().ledger();
    let second = ledger.charged().find(|entry| entry.reference_no.as_deref() == Some("order 2")).unwrap();
    let id = &second.record.transaction_id;
    assert_eq!(
        rule,
        format!(
            "k2 is already in the journal for another request, with another token and another amount and another \
             convenience fee; that request of 2.01 is processed as transaction {id}: do not pay it another way, and remove \
             this row from the file; use a new key only for a different payment"
        )
    );
    assert_eq!((&error["violations"][0]["line"], &error["violation_count"]), (&json!(3), &json!(1)));
    let recorded =
        json!({"key": "k2", "state": "processed", "amount": 2.01, "transaction_id": id.to_string()});
    assert_eq!(error["violations"][0]["recorded"], recorded);
    assert_eq!(billing.workspace.requests(), before);
}

#[test]
fn key_of_an_unknown_request_must_not_be_paid_under_another_key_d43() {
    let billing = Billing::open();
    billing.write(&["tok_approved", "tok_declined"]);
    billing.arm(Fault::response_lost(TOKENS));
    ends(&billing.run(&["--concurrency", "1"]), 5, "unknown", None);
    let before = billing.workspace.requests();
    let text =
        "Key,TokenId,Amount,ConvenienceFeeActive\nk1,tok_approved,7,false\nk2,tok_approved,2.01,false\n";
    fs::write(billing.path("rows.csv"), text).unwrap();
    let text = billing.run(&["--output", "text"]).stderr;
    has(
        &text,
        [
            "line 2: Key k1 is already in the journal for another request, with another amount; that request of 1.01 is unknown \
         and may have been processed: resolve it first, and never pay this with another key",
            "line 3: Key k2 is already in the journal for another request, with another token; that request of 2.01 is rejected \
         and moved no money: to pay it another way, charge it by hand with the same key and --after-rejection, and remove \
         this row from the file; use a new key only for a different payment",
        ],
    );
    assert_eq!(billing.workspace.requests(), before);
}

#[test]
fn dry_run_counts_the_rows_left() {
    let billing = Billing::open();
    billing.good(3);
    ends(&billing.run(&[]), 0, "processed", None);
    billing.good(5);
    let before = billing.workspace.requests();
    let ended = billing.run(&["--dry-run"]);
    ends(&ended, 0, "dry_run", None);
    assert_eq!(counts(&ended), json!({"processed_earlier": 3, "not_started": 2, "total": 5}));
    let text = billing.run(&["--dry-run", "--output", "text"]).stdout;
    begins(&text, "DRY RUN, nothing was sent");
    assert!(text.contains("would be sent         2   9.02"), "{text}");
    assert_eq!(billing.workspace.requests(), before);
}

#[test]
fn dry_run_whose_reader_has_left_says_nothing_was_sent() {
    let billing = Billing::open();
    billing.good(3);
    let ended = billing.command(&["--dry-run"]).end_unread();
    assert_eq!(ended.code, Some(1));
    begins(&ended.stderr, "nothing was sent, as requested, but");
}

#[test]
fn invalid_file_creates_no_journal_and_no_results() {
    let billing = Billing::open();
    billing.write(&["tok_approved", ""]);
    let error = billing.run(&["--results", &billing.path("results.jsonl")]).failed(2);
    assert_eq!(error["violations"], json!([{"line": 3, "field": "TokenId", "rule": "is required"}]));
    assert!(!billing.workspace.journal().exists());
    assert!(!fs::exists(billing.path("results.jsonl")).unwrap());
    assert_eq!(billing.workspace.requests(), 0);
}

#[test]
fn file_with_the_api_key_is_refused() {
    let billing = Billing::open();
    let columns = [
        "Key",
        "TokenId",
        "GatewayCustomerId",
        "Amount",
        "ConvenienceFeeActive",
        "Description",
        "ReferenceNo",
    ];
    let header = columns.join(",");
    let good = ["k", "tok_approved", "gc_1", "1", "false", "tea", "r"];
    let name = billing.path("rows.csv");
    let refused = |name: &str, text: String, expected: &str| {
        fs::write(billing.path(name), text).unwrap();
        for option in [&[][..], &["--output", "text"], &["--dry-run"]] {
            let path = billing.path(name);
            let ended =
                billing.workspace.run(["batch", "run", &path]).arguments(option.iter()).end().exits(2);
            let shown = format!("{}{}", ended.stdout, ended.stderr);
            let text = format!("{expected} must not hold the API key");
            let json = format!(r#""field":"{expected}","rule":"must not hold the API key""#);
            assert!(shown.contains(&text) || shown.contains(&json), "{expected}: {ended:?}");
            assert!(!shown.contains(&KEY[..8]), "{ended:?}");
        }
    };
    for (index, column) in columns.iter().enumerate() {
        let mut cells = good.map(str::to_owned);
        cells[index] = format!("x-{KEY}");
        refused("rows.csv", format!("{header}\n{}\n{}\n", good.join(","), cells.join(",")), column);
    }
    refused("rows.csv", format!("{header},{KEY}\n{}\n", good.join(",")), "header");
    refused("rows.csv", format!("{header},\n{},{KEY}\n", good.join(",")), "row");
    assert!(!billing.workspace.journal().exists());
    assert_eq!((billing.workspace.requests(), fs::exists(name).unwrap()), (0, true));
}

#[test]
fn column_of_keys_that_is_added_later_charges_nobody_again_d53() {
    let billing = Billing::open();
    let rows = billing.path("rows.csv");
    fs::write(&rows, "TokenId,Amount,ConvenienceFeeActive,ReferenceNo\ntok_approved,1.01,false,order-1\ntok_declined,2.01,false,order-2\n")
        .unwrap();
    ends(&billing.run(&[]), 4, "rejected", None);
    let charged = billing.charged();
    // The same charge; another amount, another token and a declined one are other payments.
    for (row, is_refused) in [
        ("k1,tok_approved,1.01,false,order-1", true),
        ("order-1,tok_approved,1.01,false,order-1", false),
        ("k1,tok_approved,1.02,false,order-1", false),
        ("k2,tok_declined,2.01,false,order-2", false),
    ] {
        fs::write(&rows, format!("Key,TokenId,Amount,ConvenienceFeeActive,ReferenceNo\n{row}\n")).unwrap();
        let ended = billing.run(&["--dry-run"]);
        if is_refused {
            let error = billing.run(&[]).failed(2);
            let rule = error["violations"][0]["rule"].as_str().unwrap();
            assert!(rule.contains("is in the journal under the key order-1:"), "{rule}");
            assert_eq!(ended.code, Some(2), "{row}");
        } else {
            ends(&ended, 0, "dry_run", None);
        }
    }
    assert_eq!(billing.charged(), charged);
}

#[test]
fn column_of_keys_that_is_removed_later_charges_nobody_again_d53() {
    let billing = Billing::open();
    billing.good(2);
    ends(&billing.run(&[]), 0, "processed", None);
    let charged = billing.charged();
    let text = fs::read_to_string(billing.path("rows.csv")).unwrap().replace("order ", "order-");
    fs::write(billing.path("rows.csv"), text.replace("\nk", "\nn")).unwrap();
    ends(&billing.run(&["--dry-run"]), 0, "dry_run", None);
    // As above, with references that can be keys.
    ends(&billing.run(&[]), 0, "processed", None);
    assert_eq!(billing.charged().len(), 2 * charged.len());
    let without_keys: String =
        text.lines().map(|line| line.split_once(',').unwrap().1.to_owned() + "\n").collect();
    fs::write(billing.path("rows.csv"), &without_keys).unwrap();
    for arguments in [&["--dry-run"] as &[&str], &[]] {
        let error = billing.run(arguments).failed(2);
        let rule = error["violations"][1]["rule"].as_str().unwrap();
        assert!(rule.contains("is in the journal under the key n2:"), "{rule}");
        assert_eq!(error["violation_count"], 2);
    }
    fs::write(billing.path("rows.csv"), without_keys.replace("order-", "december-")).unwrap();
    ends(&billing.run(&["--dry-run"]), 0, "dry_run", None);
    assert_eq!(billing.charged().len(), 2 * charged.len());
}

/// As a spreadsheet saves the file, or a person types the keys again.
#[test]
fn variant_of_a_key_charges_nobody_again_d53() {
    let billing = Billing::open();
    let write = |rows: &str| {
        let text = format!("Key,TokenId,Amount,ConvenienceFeeActive,ReferenceNo\n{rows}");
        fs::write(billing.path("rows.csv"), text).unwrap();
    };
    let row =
        |key: &str, amount: &str, reference: &str| format!("{key},tok_approved,{amount},false,{reference}\n");
    let keys = ["0017", "12.10", "1234567890123456", "Inv-5"];
    let saved = ["17", "12.1", "1234567890123450", "inv\u{2011}5"];
    let rows = |keys: [&str; 4]| {
        (1..).zip(keys).map(|(n, key)| row(key, &format!("{n}.01"), "r-1")).collect::<String>()
    };
    write(&rows(keys));
    ends(&billing.run(&["--ids-are-not-cards"]), 0, "processed", None);
    let charged = billing.charged();
    write(&rows(saved));
    for arguments in [&["--dry-run", "--ids-are-not-cards"][..], &["--ids-are-not-cards"]] {
        let error = billing.run(arguments).failed(2);
        assert_eq!(error["violation_count"], 4, "{error}");
        let rule = error["violations"][0]["rule"].as_str().unwrap();
        has(rule, ["is in the journal under the key 0017:", "use a key that is clearly another"]);
    }
    // Where the reference is the key, a spreadsheet changes both.
    let without_keys = |reference: &str| {
        let text =
            format!("TokenId,Amount,ConvenienceFeeActive,ReferenceNo\ntok_approved,9.01,false,{reference}\n");
        fs::write(billing.path("rows.csv"), text).unwrap();
    };
    without_keys("0042");
    ends(&billing.run(&[]), 0, "processed", None);
    without_keys("42");
    billing.run(&[]).failed(2);
    assert_eq!(billing.charged().len(), charged.len() + 1);
    // A variant of another payment, and the next month of a subscription, are charged.
    write(&[row("17", "1.02", "r-1"), row("inv-5", "4.01", "r-2"), row("inv-6", "4.01", "r-1")].concat());
    ends(&billing.run(&["--dry-run"]), 0, "dry_run", None);
}

/// What it counts would be charged again, and the run sends none of it.
#[test]
fn dry_run_of_a_restored_copy_is_refused_as_the_run_is_d49() {
    let billing = Billing::open();
    billing.good(1);
    ends(&billing.run(&[]), 0, "processed", None);
    let copy = fs::read(billing.workspace.journal()).unwrap();
    billing.good(2);
    ends(&billing.run(&[]), 0, "processed", None);
    fs::write(billing.workspace.journal(), copy).unwrap();
    billing.good(1);
    for words in [&[][..], &["--dry-run"]] {
        assert_eq!(billing.run(words).code, Some(0), "nothing is to be sent");
    }
    billing.good(3);
    let charged = billing.charged();
    ends(&billing.run(&[]), 3, "unfinished", Some("journal"));
    let error = billing.run(&["--dry-run"]).failed(2);
    has(error["message"].as_str().unwrap(), ["lacks its newest entries", "payments journal accept-history"]);
    assert_eq!(billing.charged(), charged);
}

/// A key that a person has named for a lost time, from a file that a spreadsheet had saved.
#[test]
fn variant_of_a_lost_key_is_not_charged_again_d49() {
    let billing = Billing::open();
    billing.good(1);
    ends(&billing.run(&[]), 0, "processed", None);
    assert_eq!(billing.workspace.accept("Key\nInv-7\n").code, Some(0));
    let text = "Key,TokenId,Amount,ConvenienceFeeActive\ninv-7,tok_approved,1.01,false\n";
    fs::write(billing.path("rows.csv"), text).unwrap();
    let error = billing.run(&[]).failed(2);
    has(
        error["violations"][0]["rule"].as_str().unwrap(),
        ["which may have been sent in a lost time, is in the journal under the key Inv-7:"],
    );
}

#[test]
fn reopened_key_is_not_sent_if_its_reference_was_charged_meanwhile_d53() {
    let row = "tok_approved,1.01,false,order-1\n";
    let with_key = format!("Key,TokenId,Amount,ConvenienceFeeActive,ReferenceNo\nk1,{row}");
    let without = format!("TokenId,Amount,ConvenienceFeeActive,ReferenceNo\n{row}");
    for (first, second) in [(&with_key, &without), (&without, &with_key)] {
        let billing = Billing::open();
        let rows = billing.path("rows.csv");
        billing.arm(Fault::on(TOKENS).before_commit().status(StatusCode::UNAUTHORIZED));
        fs::write(&rows, first).unwrap();
        ends(&billing.run(&[]), 6, "rejected", Some("unauthorized"));
        fs::write(&rows, second).unwrap();
        ends(&billing.run(&[]), 0, "processed", None);
        assert_eq!(
            billing.workspace.journal_command(&["retry", "--status", "401", "--by", "ada"]).code,
            Some(0)
        );
        fs::write(&rows, first).unwrap();
        let error = billing.run(&[]).failed(2);
        assert!(
            error["violations"][0]["rule"].as_str().unwrap().starts_with("would be sent, and"),
            "{error}"
        );
        assert_eq!(billing.charged().len(), 1);
    }
}

#[test]
fn results_are_appended_on_a_new_line_and_private() {
    use std::os::unix::fs::PermissionsExt as _;

    let billing = Billing::open();
    billing.good(1);
    let results = billing.path("results.jsonl");
    ends(&billing.run(&["--results", &results]), 0, "processed", None);
    assert_eq!(fs::metadata(&results).unwrap().permissions().mode() & 0o777, 0o600);
    // As a killed run leaves it: with half a line.
    let whole = fs::read_to_string(&results).unwrap();
    fs::write(&results, format!("{whole}{{\"line\":3,\"outco")).unwrap();
    billing.good(2);
    ends(&billing.run(&["--results", &results]), 0, "processed", None);
    let text = fs::read_to_string(&results).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!((lines.len(), lines[1]), (3, r#"{"line":3,"outco"#));
    let line = r#"{"line":3,"amount":2.01,"reference":"order 2","outcome":"processed""#;
    assert!(lines[2].starts_with(line), "{}", lines[2]);
}

#[test]
fn results_may_be_csv() {
    let billing = Billing::open();
    billing.write(&["tok_approved", "tok_declined"]);
    let results = billing.path("results.CSV");
    let run = || billing.run(&["--concurrency", "1", "--results", &results]).code;
    assert_eq!(run(), Some(4));
    billing.write(&["tok_approved", "tok_declined", "tok_approved"]);
    assert_eq!(run(), Some(4));
    let text = fs::read_to_string(&results).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 4, "one header: {text}");
    assert_eq!(lines[0], "line,key,outcome,amount,reference,transaction_id,http_status,kind,message");
    assert!(lines[1].starts_with("2,k1,processed,1.01,order 1,txn_"), "{text}");
    assert!(lines[2].starts_with("3,k2,rejected,2.01,order 2,txn_") && lines[2].contains(",200,rejected,"));
    assert!(lines[3].starts_with("4,k3,processed,3.01,order 3,txn_"), "{text}");
}

#[test]
fn unwritable_results_are_refused_before_sending() {
    let billing = Billing::open();
    billing.good(1);
    let journal = billing.workspace.journal();
    for name in ["december.csv", "notes.txt"] {
        fs::write(billing.path(name), "Key,TokenId,Amount\n").unwrap();
    }
    let after_blanks = format!("{}a,tok_1\n", "\n".repeat(2000));
    fs::write(billing.path("blank.csv"), &after_blanks).unwrap();
    for (path, expected) in [
        (billing.path("."), "is not a regular file"),
        ("/dev/full".to_owned(), "is not a regular file"),
        (billing.path("none/results.jsonl"), "cannot be written"),
        (billing.path("rows.csv"), "is the file of the billing run itself"),
        (billing.path("december.csv"), "has something else in it"),
        (billing.path("notes.txt"), "has something else in it"),
        (billing.path("blank.csv"), "has something else in it"),
        (journal.to_str().unwrap().to_owned(), "is the journal"),
    ] {
        let message = billing.run(&["--results", &path]).refusal();
        assert!(
            message.contains(expected)
                && message.ends_with("; nothing was sent: fix the file or name another one"),
            "{message}"
        );
    }
    assert_eq!(fs::read_to_string(billing.path("blank.csv")).unwrap(), after_blanks);
    assert_eq!(fs::read_to_string(billing.path("december.csv")).unwrap(), "Key,TokenId,Amount\n");
    assert_eq!(billing.workspace.requests(), 0);
    assert!(!journal.exists());
}

#[test]
fn change_of_the_file_during_a_run_changes_nothing() {
    let billing = Billing::open();
    billing.good(300);
    let gate = billing.workspace.sandbox.gateway().gate(TOKENS);
    let running = billing.in_flight(&["--concurrency", "1"], &gate, 1);
    // The file, which was read into memory, is overwritten in place with other amounts.
    let text = fs::read_to_string(billing.path("rows.csv")).unwrap();
    fs::write(billing.path("rows.csv"), text.replace(".01,", ".99,")).unwrap();
    gate.release();
    let ended = running.end();
    ends(&ended, 0, "processed", None);
    let charged = billing.charged();
    assert!(charged.len() == 300 && charged.iter().all(|(_, amount)| amount.ends_with(".01")), "{charged:?}");
}

#[test]
fn concurrent_runs_charge_nobody_twice() {
    let billing = Billing::open();
    billing.good(60);
    let ended: Vec<Ended> = thread::scope(|scope| {
        let runs: Vec<_> = (0..3).map(|_| scope.spawn(|| billing.run(&[]))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    for ended in &ended {
        // A run that ends while another one is still sending is unfinished.
        assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
        counts(ended);
    }
    assert_eq!(billing.workspace.requests(), 60);
    assert_eq!(billing.charged().len(), 60);
    ends(&billing.run(&[]), 0, "processed", None);
}

#[test]
fn rate_and_max_rejected_are_kept() {
    let billing = Billing::open();
    billing.write(&["tok_declined"; 20]);
    let begun = Instant::now();
    let ended = billing.run(&["--concurrency", "1", "--max-rejected", "2", "--rate", "20/s"]);
    ends(&ended, 3, "unfinished", Some("max_rejected"));
    assert_eq!(counts(&ended), json!({"rejected": 3, "not_started": 17, "total": 20}));
    assert!(begun.elapsed() >= Duration::from_millis(2 * 50));
}

#[test]
fn no_journal_no_charge() {
    let billing = Billing::open();
    billing.good(1);
    let path = billing.path("rows.csv");
    payments_at(billing.workspace.sandbox.base_url(), ["batch", "run", &path]).end().refused("--journal");
    // Not a journal.
    fs::write(billing.workspace.journal(), "something else entirely").unwrap();
    let ended = billing.run(&[]);
    assert_eq!(ended.failed(2)["kind"], "journal", "{ended:?}");
    assert_eq!(billing.workspace.requests(), 0);
}

/// A numeric token or reference is sent and stored as it is, since a masked one reconciles nothing.
#[test]
fn ids_that_look_like_card_numbers_are_sent_and_stored_as_they_are_d52() {
    const LIKE_A_CARD: &str = "4539578763621486";
    let rejected = r#"{"status":"failed","status_code":400,"msg":"bad request error: invalid token"}"#;
    for extension in ["csv", "jsonl"] {
        let billing = Billing::open();
        let rows = format!(
            "Key,TokenId,Amount,ConvenienceFeeActive,ReferenceNo\n{LIKE_A_CARD},{LIKE_A_CARD},1.00,false,{LIKE_A_CARD}\n"
        );
        fs::write(billing.path("rows.csv"), rows).unwrap();
        let results = billing.path(&format!("results.{extension}"));
        let peer = Peer::responding("400 Bad Request", rejected);
        billing.command_at(&peer.base_url, &["--ids-are-not-cards", "--results", &results]).end().exits(4);
        let request = peer.request();
        for member in ["TokenId", "ReferenceNo"] {
            assert!(request.contains(&format!("\"{member}\":\"{LIKE_A_CARD}\"")), "{request}");
        }
        let intent = billing.workspace.show(LIKE_A_CARD);
        assert_eq!((&intent["token_id"], &intent["reference"]), (&LIKE_A_CARD.into(), &LIKE_A_CARD.into()));
        let results = fs::read_to_string(results).unwrap();
        assert_eq!(
            results.matches(LIKE_A_CARD).count(),
            3,
            "the key, also in the message, and the reference: {results}"
        );
    }
}
