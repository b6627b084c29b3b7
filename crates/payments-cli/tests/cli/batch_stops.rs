//! A billing run that stops, at a signal or by its own rules, while its output is unread or the service does not respond.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test as the test itself does")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use payments_core::OperationName;
use payments_fake::block_on;
use serde_json::json;

use crate::batch_runs::{Billing, counts, ends};
use crate::support::{TOKEN_PAYMENT, full_pipe, message, payments_at};

const TOKENS: OperationName = OperationName::TokenTransaction;

#[test]
fn unread_stderr_blocks_neither_the_run_nor_a_signal() {
    let billing = Billing::open();
    billing.good(20);
    let gate = billing.workspace.sandbox.gateway().gate_after_commit(TOKENS);
    let (_reader, stderr) = full_pipe();
    let running = billing.command(&["--concurrency", "3"]).stdout(Stdio::piped()).spawn_with_stderr(stderr);
    block_on(gate.arrivals(3));
    // Two different signals, because two equal ones may be merged.
    running.signal("INT");
    running.signal("TERM");
    let ended = running.end();
    ends(&ended, 5, "unknown", Some("interrupted"));
    assert_eq!(counts(&ended), json!({"unknown": 3, "not_started": 17, "total": 20}));
    gate.release();

    let (_reader, stderr) = full_pipe();
    let ended = billing.command(&[]).stdout(Stdio::piped()).spawn_with_stderr(stderr).end();
    ends(&ended, 5, "unknown", None);
    assert_eq!(counts(&ended), json!({"processed": 17, "unknown_earlier": 3, "total": 20}));
}

#[test]
fn unread_trace_blocks_neither_charges_nor_records() {
    // A trace larger than a pipe's buffer, with a parent that first reads stdout to its end.
    let billing = Billing::open();
    billing.good(700);
    let (mut reader, stderr) = io::pipe().unwrap();
    let running = billing.command(&["--verbose"]).stdout(Stdio::piped()).spawn_with_stderr(stderr);
    let (code, stdout) = running.wait_reading_stdout();
    assert_eq!(code, Some(0), "{stdout}");
    assert_eq!(billing.charged().len(), 700);
    let recorded = billing.workspace.run(["journal", "export"]).end().stdout;
    assert_eq!(recorded.lines().filter(|line| line.contains(r#""state":"processed""#)).count(), 700);
    let mut trace = String::new();
    reader.read_to_string(&mut trace).unwrap();
    assert!(trace.len() > 60 * 1024, "the pipe was not full: {}", trace.len());
}

#[test]
fn unread_trace_delays_a_single_charge_by_a_second_at_most() {
    let billing = Billing::open();
    for key in ["invoice-17", "invoice-18"] {
        let (_reader, stderr) = full_pipe();
        let charge =
            billing.workspace.charging(key, TOKEN_PAYMENT).arguments(["--verbose", "--output", "json"]);
        let begun = Instant::now();
        let (code, stdout) = charge.stdout(Stdio::piped()).spawn_with_stderr(stderr).wait_reading_stdout();
        assert_eq!(code, Some(0), "{stdout}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        assert_eq!(billing.workspace.show(key)["state"], "processed");
    }
}

#[test]
fn locked_journal_does_not_delay_the_second_signal() {
    let billing = Billing::open();
    billing.good(20);
    let gate = billing.workspace.sandbox.gateway().gate_after_commit(TOKENS);
    let running = billing.in_flight(&["--concurrency", "2"], &gate, 2);
    let other = rusqlite::Connection::open(billing.workspace.journal()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    gate.release();
    let begun = Instant::now();
    running.signal("INT");
    running.signal("TERM");
    let ended = running.end();
    ends(&ended, 5, "unknown", Some("interrupted"));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn journal_that_cannot_be_closed_does_not_block_the_exit() {
    let billing = Billing::open();
    billing.good(3);
    let gate = billing.workspace.sandbox.gateway().gate(TOKENS);
    let running = billing.in_flight(&[], &gate, 3);
    // As if another process were opening or closing the journal and hung.
    let journal = billing.workspace.journal();
    let owners = File::open(journal.with_file_name("billing.db-owners")).unwrap();
    owners.lock().unwrap();
    let begun = Instant::now();
    gate.release();
    let ended = running.end();
    ends(&ended, 0, "processed", None);
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    drop(owners);
    ends(&billing.run(&[]), 0, "processed", None);
    assert_eq!(billing.charged().len(), 3);
}

#[test]
fn second_signal_ends_a_charge_with_unread_stderr() {
    let billing = Billing::open();
    let gate = billing.workspace.sandbox.gateway().gate_after_commit(TOKENS);
    let (_reader, stderr) = full_pipe();
    let running = billing
        .workspace
        .charging("invoice-17", TOKEN_PAYMENT)
        .arguments(["--output", "json"])
        .stdout(Stdio::piped())
        .spawn_with_stderr(stderr);
    block_on(gate.arrived());
    running.signal("INT");
    running.signal("TERM");
    // Writing to stderr blocks until a signal ends the wait.
    assert_eq!(running.signal_until_ended("TERM"), Some(5));
    gate.release();
}

#[test]
fn unread_stdout_blocks_the_exit_until_a_signal() {
    let billing = Billing::open();
    billing.good(1);
    let results = billing.path("results.jsonl");
    let (_reader, stdout) = full_pipe();
    let running = billing.command(&["--results", &results]).stdout(stdout).spawn();
    wait_until(|| fs::read_to_string(&results).is_ok_and(|text| text.ends_with('\n')));
    // The summary was not written, so the run must not exit with 0.
    assert_eq!(running.signal_until_ended("INT"), Some(1));

    // After two signals, a run does not wait for a reader.
    billing.good(4);
    let gate = billing.workspace.sandbox.gateway().gate(TOKENS);
    let (_reader, stdout) = full_pipe();
    let running = billing.command(&["--concurrency", "3"]).stdout(stdout).spawn();
    block_on(gate.arrivals(3));
    running.signal("INT");
    running.signal("TERM");
    assert_eq!(running.wait_without_reading(), Some(5));
    gate.release();
}

#[test]
fn unresponsive_journal_does_not_block_a_signal() {
    let billing = Billing::open();
    billing.good(1);
    // A database that accepts connections and never responds.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("postgres://{}/books", silent.local_addr().unwrap());
    let arguments = ["batch", "run", &billing.path("rows.csv"), "--journal", &place];
    let running = payments_at(billing.workspace.sandbox.base_url(), arguments).start();
    let _connection = silent.accept().unwrap();
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.failed(3)["kind"], "interrupted", "{ended:?}");
    assert_eq!(billing.workspace.requests(), 0);
}

#[test]
fn rows_added_during_a_run_are_charged_by_the_next_run() {
    let billing = Billing::open();
    billing.good(60);
    let gate = billing.workspace.sandbox.gateway().gate(TOKENS);
    let running = billing.in_flight(&["--concurrency", "1"], &gate, 1);
    let mut file = OpenOptions::new().append(true).open(billing.path("rows.csv")).unwrap();
    for number in 1..=5 {
        writeln!(file, "more-{number},tok_approved,1.01,false,more {number}").unwrap();
    }
    gate.release();
    let ended = running.end();
    ends(&ended, 0, "processed", None);
    assert_eq!(counts(&ended), json!({"processed": 60, "total": 60}));
    ends(&billing.run(&[]), 0, "processed", None);
    assert_eq!(billing.charged().len(), 65);
}

#[test]
fn journal_under_another_name_is_refused_as_input_or_results() {
    let billing = Billing::open();
    billing.good(1);
    let journal = billing.workspace.journal();
    let folder = journal.parent().unwrap().to_owned();
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    fs::create_dir(at("x")).unwrap();
    std::os::unix::fs::symlink(&folder, billing.path("link")).unwrap();
    let run = |file: &str, results: &str| {
        let run = billing.workspace.run(["batch", "run", file, "--results", results]);
        run.in_folder(&folder).end()
    };
    let (round, link) = (at("x/../billing.db"), billing.path("link/billing.db-wal"));
    let refuses = |results: &str| {
        let error = run(&billing.path("rows.csv"), results).failed(2);
        assert_eq!(error["kind"], "results", "{results}: {error}");
        assert!(message(&error).contains("is the journal"), "{error}");
    };
    // Before the journal exists.
    for name in ["billing.db", "./billing.db", "billing.db-wal", "./billing.db-shm", &round, &link] {
        refuses(name);
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "a file was created");

    ends(&billing.run(&[]), 0, "processed", None);
    std::os::unix::fs::symlink(&journal, at("other")).unwrap();
    for name in ["./billing.db", "billing.db-wal", "other", &round, &link] {
        refuses(name);
    }
    let error = run("x/../billing.db", "results.jsonl").failed(2);
    assert_eq!(error["kind"], "batch_file", "{error}");
    assert!(message(&error).contains("is the journal"), "{error}");
    assert_eq!(billing.workspace.requests(), 1);
}

#[test]
fn unclosed_quote_of_a_killed_run_hides_no_results() {
    let billing = Billing::open();
    billing.good(1);
    let results = billing.path("results.csv");
    ends(&billing.run(&["--results", &results]), 0, "processed", None);
    let whole = fs::read_to_string(&results).unwrap();
    for torn in
        ["3,k2,rejected,1.00,\"tea, and", "3,k2,rejected,1.00,\"tea, \"\"and", "3,k2,rejected,1.00,tea"]
    {
        fs::write(&results, format!("{whole}{torn}")).unwrap();
        // A new journal each time, so that the row is sent and written again.
        billing.workspace.remove_journal();
        ends(&billing.run(&["--results", &results]), 0, "processed", None);
        let text = fs::read_to_string(&results).unwrap();
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let records: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!(records.len(), 3, "{text}");
        assert_eq!((&records[1][1], &records[2][1]), ("k2", "k1"), "{text}");
        assert!(text.starts_with(&format!("{whole}{torn}")), "the torn line was removed: {text}");
    }
}

/// Waits until the condition holds. Only a hang takes a minute.
#[track_caller]
fn wait_until(condition: impl Fn() -> bool) {
    let last = Instant::now() + Duration::from_mins(1);
    while !condition() {
        assert!(Instant::now() < last, "timed out");
        thread::sleep(Duration::from_millis(5));
    }
}
