//! Signals during a single call, signals that are ignored, a closed terminal, and SIGXFSZ, which a limit of `ulimit -f` sends.
#![cfg(unix)]

use std::fs::OpenOptions;
use std::net::TcpListener;
use std::process::Command;

use crate::prelude::*;

#[test]
fn signal_during_a_charge_or_void_is_unknown_d22() {
    let by_card = "reconcile by amount, last four digits, payer's name and time";
    let by_token = "reconcile by token, amount and time";
    let look_up = "look it up: payments transaction get txn_1";
    let void = "void txn_1";
    for (signal, line, stdin, advice) in [
        ("INT", CREATE, CARD_PAYMENT, by_card),
        ("TERM", CREATE, CARD_PAYMENT, by_card),
        ("HUP", void, "", look_up),
        ("XCPU", CHARGE, TOKEN_PAYMENT, by_token),
        ("ALRM", CREATE, CARD_PAYMENT, by_card),
        ("USR1", CHARGE, TOKEN_PAYMENT, by_token),
        ("USR2", void, "", look_up),
        ("QUIT", CHARGE, TOKEN_PAYMENT, by_token),
    ] {
        let peer = Peer::new(Then::Wait);
        let running = payments_at(&peer.base_url, line).stdin(stdin).start();
        peer.request();
        running.signal(signal);
        let ended = running.end();
        let error = ended.failed_as(5, "interrupted");
        assert!(error["sent_at"].is_string(), "{error}");
        let to_look_up = if line == void { Value::from("txn_1") } else { Value::Null };
        assert_eq!(error["transaction_id"], to_look_up);
        has(
            message(&error),
            [&*format!("SIG{signal}"), "the outcome is unknown", &format!("do not run it again, {advice}")],
        );
        // A person sees it on stderr even if stdout is redirected.
        begins(&ended.stderr, "OUTCOME UNKNOWN");
        assert_eq!(peer.requests_left(), 0);
    }
}

#[test]
fn signal_during_a_lookup_or_before_the_request_is_not_processed() {
    for (signal, line) in [("INT", "transaction get txn_1"), ("HUP", "customer get cus_1")] {
        let peer = Peer::new(Then::Wait);
        let running = payments_at(&peer.base_url, line).start();
        peer.request();
        running.signal(signal);
        running.end().failed_as(3, "interrupted");
    }
    let peer = Peer::new(Then::Close);
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("request");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let line = format!("transaction create --file {}", fifo.display());
    let running = payments_at(&peer.base_url, line).start();
    // Opening succeeds once the command has opened the other end, so the command is reading now.
    let _writer = OpenOptions::new().write(true).open(&fifo).unwrap();
    running.signal("INT");
    running.end().failed_as(3, "interrupted");
    assert_eq!(peer.requests_left(), 0);
}

/// The database accepts connections and never responds.
#[test]
fn signal_while_the_journal_opens_ends_the_command_d43() {
    let workspace = Workspace::with_rows(1);
    let found = "Key,TransactionId,Note,Verdict\nk,,in no report,not processed\n";
    for (run, code, kind, said) in [
        (workspace.billing(""), 3, "interrupted", ""),
        (workspace.resolving(found), 3, "interrupted", "nothing was changed"),
        (
            workspace.charging("invoice-17", TOKEN_PAYMENT),
            5,
            "journal",
            "an earlier call with this key may have paid",
        ),
    ] {
        let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("postgres://ada@{}/books?sslmode=disable", deaf.local_addr().unwrap());
        let running = run.env("PAYMENTS_JOURNAL", &url).start();
        let _connection = deaf.accept().unwrap();
        running.signal("INT");
        let ended = running.end();
        let error = ended.failed_as(code, kind);
        assert_eq!(error["sent_at"], Value::Null, "{error}");
        has(message(&error), [said]);
        // As after every signal, a person sees it on stderr even if stdout is redirected.
        assert!(code == 3 || ended.stderr.starts_with("NOT SENT NOW"), "{ended:?}");
    }
    assert_eq!(workspace.requests(), 0);
}

/// `nohup` starts the command with SIGHUP ignored, and a script its jobs in the background with SIGINT ignored. Other systems do
/// not show that.
#[cfg(target_os = "linux")]
#[test]
fn ignored_signal_ends_neither_a_charge_nor_a_run() {
    for (signal, starter) in
        [("HUP", &["nohup"][..]), ("INT", &["sh", "-c", "trap '' INT; exec \"$0\" \"$@\""])]
    {
        let starter = || starter.iter().copied();
        let workspace = Workspace::open();
        for run in [
            payments_at(workspace.sandbox.base_url(), CHARGE).stdin(TOKEN_PAYMENT),
            workspace.charging("invoice-17", TOKEN_PAYMENT),
        ] {
            let gate = workspace.hold_responses();
            let running = run.started_by(starter()).start();
            block_on(gate.arrived());
            running.signal(signal);
            gate.release();
            running.end().paid_id();
        }
        workspace.good(20);
        let gate = workspace.sandbox.gateway().gate(TOKENS);
        let running = workspace.billing("--concurrency 3").started_by(starter()).start();
        block_on(gate.arrivals(3));
        running.signal(signal);
        gate.release();
        running.end().ends(0, "processed");
        assert_eq!(workspace.requests(), 22);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn closed_terminal_leaves_results_and_journal_complete() {
    let workspace = Workspace::with_rows(20);
    let gate = workspace.hold_responses();
    let run = workspace.billing(&format!("--concurrency 3 --results {}", workspace.path("results.jsonl")));
    let (running, terminal) = run.spawn_in_terminal();
    block_on(gate.arrivals(3));
    drop(terminal);
    gate.release();
    assert_eq!(running.wait_without_reading(), Some(3));
    // Nothing shows when the run has seen the signal, so a few more charges may have begun.
    let charged = workspace.charged().len();
    assert!((3..20).contains(&charged), "{charged}");
    let results = workspace.read("results.jsonl");
    assert_eq!(results.matches(r#""outcome":"processed""#).count(), charged, "{results}");
    assert_eq!(workspace.export().matches(r#""state":"processed""#).count(), charged);
    workspace.bills("").ends(0, "processed");
    assert_eq!(workspace.charged().len(), 20);

    let gate = workspace.hold_responses();
    let request = workspace.write("sale.json", TOKEN_PAYMENT);
    let charge = workspace.run(format!("token-transaction create --key invoice-17 --file {request}"));
    let (running, terminal) = charge.spawn_in_terminal();
    block_on(gate.arrived());
    drop(terminal);
    gate.release();
    // Processed, and the result could not be written.
    assert_eq!(running.wait_without_reading(), Some(1));
    assert_eq!(workspace.shown("invoice-17", "state"), "processed");
}

pub(crate) const FILE_LIMIT: &str =
    "payments: a file has reached the limit of `ulimit -f`, so a write failed\n";

#[test]
fn results_and_output_at_the_file_limit_are_reported_as_on_a_full_disk() {
    let workspace = Workspace::with_rows(50);
    let line = format!("{{\"line\":\"{}\"}}\n", "x".repeat(1012));
    let full = line.repeat(2 * 1024)[..2 * 1024 * 1024 - 1000].to_owned() + "\n";
    let results = workspace.write("results.jsonl", full);
    let run = workspace.billing(&format!("--concurrency 2 --results {results}"));
    let ended = run.with_file_limit(2048).end();
    ended.stops(3, "unfinished", "results");
    has(ended.json()["results_incomplete"].as_str().unwrap(), ["File too large"]);
    assert!(ended.stderr.ends_with(FILE_LIMIT), "{ended:?}");
    workspace.bills("").ends(0, "processed");
    assert_eq!(workspace.charged().len(), 50);

    let out = workspace.write("out.jsonl", vec![b'x'; 1024 * 1024]);
    let appended = OpenOptions::new().append(true).open(out).unwrap();
    let export = workspace.run("journal export").with_file_limit(1024).stdout(appended);
    has(export.end_with_given_stdout().exits(1).stderr, ["could not be written to stdout"]);
}

#[test]
fn journal_at_the_file_limit_is_reported_as_on_a_full_disk_d43() {
    let workspace = Workspace::with_rows(400);
    let ended = workspace.billing("--concurrency 4").with_file_limit(150).end();
    assert!(matches!(ended.code, Some(3 | 5)), "{ended:?}");
    assert_eq!(ended.json()["stopped"]["reason"], "journal", "{ended:?}");
    assert!(ended.stderr.ends_with(FILE_LIMIT), "{ended:?}");
    let charged = workspace.charged().len() as u64;
    let known = ended.count("processed") + ended.count("unknown");
    assert!((1..400).contains(&charged) && charged <= known, "{charged}: {ended:?}");
    let ended = workspace.bills("");
    assert!(matches!(ended.code, Some(0 | 5)), "{ended:?}");
    assert_eq!(workspace.charged().len(), 400);

    // A journal that is already larger.
    let ended = workspace.charging("single", TOKEN_PAYMENT).with_file_limit(16).end();
    ended.failed_as(5, "journal");
    assert_eq!(ended.stderr, FILE_LIMIT);
    workspace.charge("single").processed();
}

/// Where the system has no thread or file descriptor left, a command says so and sends nothing.
#[test]
fn command_without_threads_or_descriptors_sends_nothing_and_says_why() {
    let workspace = Workspace::with_rows(2);
    workspace.bills("").exits(0);
    workspace.good(3);
    let sent = workspace.requests();
    let runs = || {
        [
            workspace.run(CHARGE).env("PAYMENTS_JOURNAL", "").stdin(TOKEN_PAYMENT),
            workspace.charging("k", TOKEN_PAYMENT),
            workspace.billing(""),
            workspace.run("journal list"),
            workspace.run("check"),
        ]
    };
    let fails = |run: Run, what: &str| {
        let (code, shown) = run.start().wait_reading_stdout();
        assert_eq!(code, Some(3), "{what}: {shown}");
        let text = "this process has no thread or file descriptor left";
        has(&shown, [text]);
    };
    for (number, run) in runs().into_iter().enumerate() {
        // No thread has so much room.
        fails(run.env("RUST_MIN_STACK", "100000000000000"), &format!("{number} without threads"));
    }
    for descriptors in 4..16 {
        for (number, run) in runs().into_iter().enumerate() {
            let script = format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"");
            fails(run.started_by(["sh", "-c", &script]), &format!("{number} with {descriptors}"));
        }
    }
    assert_eq!(workspace.requests(), sent);
    // People get the text too, although no thread writes to stderr.
    let run = workspace.run("journal list --output text").env("RUST_MIN_STACK", "100000000000000");
    has(run.end().exits(3).stderr, ["this process has no thread"]);
}
