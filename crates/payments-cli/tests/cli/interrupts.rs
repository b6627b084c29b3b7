//! Signals during a call: SIGINT, SIGTERM, SIGHUP, others that would end it, and SIGXFSZ, which a limit of `ulimit -f` sends.
#![cfg(unix)]

use std::fs::{self, OpenOptions};
use std::process::Command;

use payments_core::OperationName;
use payments_fake::block_on;
use serde_json::{Value, json};

use crate::batch_runs::{Billing, counts, ends};
use crate::http::Http;
use crate::journaled_charges::Workspace;
use crate::support::{
    CARD_PAYMENT, CHARGE, CREATE, Peer, TOKEN_PAYMENT, Then, begins, payments, payments_at, started,
};

const TOKENS: OperationName = OperationName::TokenTransaction;

#[test]
fn signal_during_a_charge_or_void_is_unknown_d22() {
    let cases = [
        ("INT", &CREATE[..], CARD_PAYMENT),
        ("TERM", &CREATE, CARD_PAYMENT),
        ("HUP", &CREATE, CARD_PAYMENT),
        ("INT", &CHARGE, TOKEN_PAYMENT),
        ("INT", &["void", "txn_1"], ""),
        ("HUP", &["void", "txn_1"], ""),
        ("XCPU", &CREATE, CARD_PAYMENT),
        ("ALRM", &CREATE, CARD_PAYMENT),
        ("USR1", &CREATE, CARD_PAYMENT),
        ("USR2", &CREATE, CARD_PAYMENT),
    ];
    for (signal, arguments, stdin) in cases {
        let peer = Peer::new(Then::Wait);
        let run = payments_at(&peer.base_url, arguments.iter());
        let running = run.stdin(stdin).start();
        peer.request();
        running.signal(signal);
        let ended = running.end();
        let error = ended.failed(5);
        assert_eq!(error["kind"], "interrupted");
        assert!(error["sent_at"].is_string(), "{error}");
        let to_look_up = if arguments[0] == "void" { Value::from("txn_1") } else { Value::Null };
        assert_eq!(error["transaction_id"], to_look_up);
        let message = error["message"].as_str().unwrap();
        let advice = match arguments {
            ["void", id] => format!("do not run it again, look it up: payments transaction get {id}"),
            ["transaction", ..] => {
                "do not run it again, reconcile by amount, last four digits, payer's name and \
                                    time"
                    .to_owned()
            }
            _ => "do not run it again, reconcile by token, amount and time".to_owned(),
        };
        for part in [&*format!("SIG{signal}"), "the outcome is unknown", &*advice] {
            assert!(message.contains(part), "{part}: {message}");
        }
        // A person sees it on stderr even if stdout is redirected.
        begins(&ended.stderr, "OUTCOME UNKNOWN");
        assert_eq!(peer.requests_left(), 0);
    }
}

#[test]
fn signal_during_a_lookup_is_not_processed() {
    for (signal, arguments) in
        [("INT", ["transaction", "get", "txn_1"]), ("HUP", ["customer", "get", "cus_1"])]
    {
        let peer = Peer::new(Then::Wait);
        let running = payments_at(&peer.base_url, arguments).start();
        peer.request();
        running.signal(signal);
        assert_eq!(running.end().failed(3)["kind"], "interrupted");
    }
}

#[test]
fn signal_while_reading_the_request_is_not_processed() {
    let peer = Peer::new(Then::Close);
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("request");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let arguments = ["transaction", "create", "--file", fifo.to_str().unwrap()];
    let running = payments_at(&peer.base_url, arguments).start();
    // Opening succeeds once the command has opened the other end, so the command is reading now.
    let _writer = OpenOptions::new().write(true).open(&fifo).unwrap();
    running.signal("INT");
    assert_eq!(running.end().failed(3)["kind"], "interrupted");
    assert_eq!(peer.requests_left(), 0);
}

const FILE_LIMIT: &str = "payments: a file has reached the limit of `ulimit -f`, so a write failed\n";

/// `nohup` starts the command with SIGHUP ignored, and a script its jobs in the background with SIGINT ignored. Other systems do
/// not show that.
#[cfg(target_os = "linux")]
#[test]
fn ignored_signal_ends_neither_a_charge_nor_a_run() {
    for (signal, starter) in
        [("HUP", &["nohup"][..]), ("INT", &["sh", "-c", "trap '' INT; exec \"$0\" \"$@\""])]
    {
        ends_nothing(signal, starter);
    }
}

#[cfg(target_os = "linux")]
fn ends_nothing(signal: &str, starter: &[&str]) {
    let starter = || starter.iter().copied();
    let workspace = Workspace::open();
    for arguments in [&[][..], &["--key", "invoice-17"]] {
        let gate = workspace.sandbox.gateway().gate_after_commit(TOKENS);
        let mut run = payments_at(workspace.sandbox.base_url(), CHARGE).stdin(TOKEN_PAYMENT);
        if !arguments.is_empty() {
            run = run.env("PAYMENTS_JOURNAL", workspace.journal().to_str().expect("a plain path"));
        }
        let run = run.arguments(arguments.iter()).started_by(starter());
        let running = run.start();
        block_on(gate.arrived());
        running.signal(signal);
        gate.release();
        let ended = running.end();
        assert_eq!((ended.code, &ended.json()["outcome"]), (Some(0), &"processed".into()), "{ended:?}");
    }

    let billing = Billing::open();
    billing.good(20);
    let gate = billing.workspace.sandbox.gateway().gate(TOKENS);
    let run = billing.command(&["--concurrency", "3"]).started_by(starter());
    let running = run.start();
    block_on(gate.arrivals(3));
    running.signal(signal);
    gate.release();
    ends(&running.end(), 0, "processed", None);
    assert_eq!(billing.charged().len(), 20);
}

/// One closed terminal can send SIGHUP twice: from the shell, and from the system when the shell has ended. A limit of CPU time
/// sends SIGXCPU each second.
#[test]
fn second_signal_of_the_system_does_not_abandon_a_run_and_another_signal_does() {
    for (repeated, signal, code, outcome) in
        [("HUP", None, 3, "unfinished"), ("HUP", Some("TERM"), 5, "unknown"), ("XCPU", None, 3, "unfinished")]
    {
        let billing = Billing::open();
        billing.good(20);
        let gate = billing.workspace.sandbox.gateway().gate_after_commit(TOKENS);
        let mut running = billing.in_flight(&["--concurrency", "3"], &gate, 3);
        running.signal(repeated);
        let line = running.error_line();
        let expected = format!("SIG{repeated}: no new charge is started; waiting for 3 ");
        begins(&line, &expected);
        running.signal(repeated);
        if let Some(signal) = signal {
            running.signal(signal);
        } else {
            gate.release();
        }
        let ended = running.end();
        ends(&ended, code, outcome, Some("interrupted"));
        let count = if signal.is_some() { "unknown" } else { "processed" };
        assert_eq!(counts(&ended), json!({count: 3, "not_started": 17, "total": 20}));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn closed_terminal_leaves_results_and_journal_complete() {
    let billing = Billing::open();
    billing.good(20);
    let results = billing.path("results.jsonl");
    let gate = billing.workspace.sandbox.gateway().gate_after_commit(TOKENS);
    let run = billing.command(&["--concurrency", "3", "--results", &results]);
    let (running, terminal) = run.spawn_in_terminal();
    block_on(gate.arrivals(3));
    drop(terminal);
    gate.release();
    assert_eq!(running.wait_without_reading(), Some(3));
    let lines = fs::read_to_string(&results).unwrap();
    assert_eq!(lines.matches(r#""outcome":"processed""#).count(), 3, "{lines}");
    let list = payments([
        "journal",
        "list",
        "--journal",
        billing.workspace.journal().to_str().expect("a plain path"),
    ])
    .end();
    assert_eq!(list.stdout.matches(r#""state":"processed""#).count(), 3, "{list:?}");
    ends(&billing.run(&[]), 0, "processed", None);
    assert_eq!(billing.charged().len(), 20);
}

#[cfg(target_os = "linux")]
#[test]
fn closed_terminal_leaves_a_journaled_charge_recorded() {
    let workspace = Workspace::open();
    let gate = workspace.sandbox.gateway().gate_after_commit(TOKENS);
    let request = workspace.journal().with_file_name("sale.json");
    fs::write(&request, TOKEN_PAYMENT).unwrap();
    let create = ["token-transaction", "create", "--key", "invoice-17", "--file", request.to_str().unwrap()];
    let (running, terminal) = workspace.run(create).spawn_in_terminal();
    block_on(gate.arrived());
    drop(terminal);
    gate.release();
    // Processed, and the result could not be written.
    assert_eq!(running.wait_without_reading(), Some(1));
    assert_eq!(workspace.show("invoice-17")["state"], "processed");
}

#[test]
fn results_at_the_file_limit_are_reported_as_on_a_full_disk() {
    const LIMIT_KIB: u32 = 2048;
    let billing = Billing::open();
    billing.good(50);
    let results = billing.path("results.jsonl");
    let line = format!("{{\"line\":\"{}\"}}\n", "x".repeat(1012));
    fs::write(&results, line.repeat(2 * 1024)[..2 * 1024 * 1024 - 1000].to_owned() + "\n").unwrap();
    let run = billing.command(&["--concurrency", "2", "--results", &results]).with_file_limit(LIMIT_KIB);
    let ended = run.end();
    ends(&ended, 3, "unfinished", Some("results"));
    let document = ended.json();
    assert!(document["results_incomplete"].as_str().unwrap().contains("File too large"), "{document}");
    assert!(ended.stderr.ends_with(FILE_LIMIT), "{ended:?}");
    ends(&billing.run(&[]), 0, "processed", None);
    assert_eq!(billing.charged().len(), 50);
}

#[test]
fn journal_at_the_file_limit_is_reported_as_on_a_full_disk_d43() {
    let billing = Billing::open();
    billing.good(400);
    let ended = billing.command(&["--concurrency", "4"]).with_file_limit(150).end();
    assert!(matches!(ended.code, Some(3 | 5)), "{ended:?}");
    let document = ended.json();
    assert_eq!(document["stopped"]["reason"], "journal", "{document}");
    assert!(ended.stderr.ends_with(FILE_LIMIT), "{ended:?}");
    let (charged, seen) = (billing.charged().len() as u64, counts(&ended));
    let known = ["processed", "unknown"].map(|name| seen[name].as_u64().unwrap_or_default());
    assert!((1..400).contains(&charged) && charged <= known.iter().sum(), "{charged}: {seen}");
    let ended = billing.run(&[]);
    assert!(matches!(ended.code, Some(0 | 5)), "{ended:?}");
    assert_eq!(billing.charged().len(), 400);

    // A journal that is already larger.
    let ended = billing.workspace.charging("single", TOKEN_PAYMENT).with_file_limit(16).end();
    assert_eq!(ended.failed(5)["kind"], "journal");
    assert_eq!(ended.stderr, FILE_LIMIT);
    billing.workspace.charge("single").processed();
}

#[test]
fn sandbox_that_cannot_save_keeps_the_old_state_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("state.json");
    let (running, ready) =
        started(payments(["sandbox", "--log", "off", "--data", data.to_str().unwrap()]).with_file_limit(16));
    let key = ready["api_key"].as_str().unwrap();
    let headers = format!("authorization: {key}\r\n");
    let mut service = Http::connect(ready["base_url"].as_str().unwrap(), &headers).unwrap();
    let before = fs::read(&data).unwrap();
    for _ in 0..100 {
        assert_eq!(service.post("/token-transaction", TOKEN_PAYMENT).unwrap().0, 200);
    }
    running.signal("TERM");
    let ended = running.end();
    assert_eq!((ended.code, fs::read(&data).unwrap()), (Some(1), before), "{ended:?}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "a part of the new file is left");
    assert!(ended.stderr.contains("state.json: ") && ended.stderr.ends_with(FILE_LIMIT), "{ended:?}");
}

#[test]
fn output_at_the_file_limit_is_a_failed_write() {
    let workspace = Workspace::open();
    workspace.charge("invoice-17").processed();
    let out = workspace.journal().with_file_name("out.jsonl");
    fs::write(&out, vec![b'x'; 1024 * 1024]).unwrap();
    let appended = OpenOptions::new().append(true).open(&out).unwrap();
    let export = ["journal", "export"];
    let ended = workspace.run(export).with_file_limit(1024).stdout(appended).end_with_given_stdout().exits(1);
    assert!(ended.stderr.contains("could not be written to stdout"), "{ended:?}");
}
