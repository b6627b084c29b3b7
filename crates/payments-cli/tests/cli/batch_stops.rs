//! A billing run that stops at a signal, or while its output is unread or its journal does not respond.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::prelude::*;

/// The counts of a run of 20 rows that was stopped when three of them were in flight.
fn three(outcome: &str) -> Value {
    json!({outcome: 3, "not_started": 17, "total": 20})
}

/// One closed terminal can send SIGHUP twice: from the shell, and from the system when the shell has ended. systemd sends it after
/// SIGTERM, and a shutdown SIGTERM after it. A limit of CPU time sends SIGXCPU each second. So the second one of these does not
/// abandon the run.
#[test]
fn first_signal_waits_for_charges_in_flight_and_another_leaves_them_unknown_d22() {
    let waited_for = "INT | TERM | QUIT | HUP | HUP HUP | TERM HUP HUP | INT HUP | HUP TERM | XCPU XCPU";
    let abandoned = "INT INT | TERM HUP TERM | HUP HUP TERM INT | HUP QUIT";
    let waited_for = waited_for.split(" | ").map(|signals| (signals, false));
    for (signals, is_abandoned) in waited_for.chain(abandoned.split(" | ").map(|signals| (signals, true))) {
        let workspace = Workspace::with_rows(20);
        let gate = workspace.hold_responses();
        let mut running = workspace.billing_in_flight("--concurrency 3", &gate, 3);
        for (number, signal) in signals.split(' ').enumerate() {
            running.signal(signal);
            if number == 0 {
                let line = format!("SIG{signal}: no new charge is started; waiting for 3 ");
                begins(running.error_line(), line);
            }
        }
        let ended = if is_abandoned {
            let ended = running.end();
            gate.release();
            ended
        } else {
            gate.release();
            running.end()
        };
        assert_eq!(ended.code, Some(if is_abandoned { 5 } else { 3 }), "{signals}: {ended:?}");
        assert_eq!(workspace.requests(), 3, "{signals}");
        if is_abandoned {
            ended.stops(5, "unknown", "interrupted").counts(&three("unknown"));
            let unresolved = ended.json()["unresolved"].as_array().unwrap().clone();
            assert_eq!(unresolved.iter().map(|it| &it["kind"]).collect::<Vec<_>>(), ["in_flight"; 3]);
            let earlier = json!({"processed": 17, "unknown_earlier": 3, "total": 20});
            workspace.bills("").ends(5, "unknown").counts(&earlier);
        } else {
            ended.stops(3, "unfinished", "interrupted").counts(&three("processed"));
            workspace.bills("").ends(0, "processed");
        }
        assert_eq!((workspace.requests(), workspace.charged().len()), (20, 20), "{signals}");
    }
}

#[test]
fn unread_stderr_blocks_neither_the_run_nor_a_signal() {
    let workspace = Workspace::with_rows(20);
    let gate = workspace.hold_responses();
    let (_reader, stderr) = full_pipe();
    let running = workspace.billing("--concurrency 3").stdout(Stdio::piped()).spawn_with_stderr(stderr);
    block_on(gate.arrivals(3));
    // Two different signals, because two equal ones may be merged.
    running.signal("INT");
    running.signal("TERM");
    running.end().stops(5, "unknown", "interrupted").counts(&three("unknown"));
    gate.release();

    let (_reader, stderr) = full_pipe();
    let ended = workspace.billing("").stdout(Stdio::piped()).spawn_with_stderr(stderr).end();
    let earlier = json!({"processed": 17, "unknown_earlier": 3, "total": 20});
    ended.ends(5, "unknown").counts(&earlier);

    // A single charge.
    let gate = workspace.hold_responses();
    let (_reader, stderr) = full_pipe();
    let charge = workspace.charging("invoice-17", TOKEN_PAYMENT).stdout(Stdio::piped());
    let running = charge.with("--output json").spawn_with_stderr(stderr);
    block_on(gate.arrived());
    running.signal("INT");
    running.signal("TERM");
    // Writing to stderr blocks until a signal ends the wait.
    assert_eq!(running.signal_until_ended("TERM"), Some(5));
    gate.release();
}

#[test]
fn unread_trace_blocks_neither_charges_nor_records() {
    // A trace larger than a pipe's buffer, with a parent that first reads stdout to its end.
    let workspace = Workspace::with_rows(700);
    let (mut reader, stderr) = io::pipe().unwrap();
    let running = workspace.billing("--verbose").stdout(Stdio::piped()).spawn_with_stderr(stderr);
    let (code, stdout) = running.wait_reading_stdout();
    assert_eq!(code, Some(0), "{stdout}");
    assert_eq!(workspace.charged().len(), 700);
    assert_eq!(workspace.export().matches(r#""state":"processed""#).count(), 700);
    let mut trace = String::new();
    reader.read_to_string(&mut trace).unwrap();
    assert!(trace.len() > 60 * 1024, "the pipe was not full: {}", trace.len());

    // It delays a single charge by a second at most.
    let (_reader, stderr) = full_pipe();
    let charge = workspace.charging("invoice-17", TOKEN_PAYMENT).with("--verbose --output json");
    let begun = Instant::now();
    let (code, stdout) = charge.stdout(Stdio::piped()).spawn_with_stderr(stderr).wait_reading_stdout();
    assert_eq!(code, Some(0), "{stdout}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(workspace.shown("invoice-17", "state"), "processed");
}

#[test]
fn locked_journal_does_not_delay_the_second_signal() {
    let workspace = Workspace::with_rows(20);
    let gate = workspace.hold_responses();
    let running = workspace.billing_in_flight("--concurrency 2", &gate, 2);
    let other = rusqlite::Connection::open(workspace.journal()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    gate.release();
    let begun = Instant::now();
    running.signal("INT");
    running.signal("TERM");
    running.end().stops(5, "unknown", "interrupted");
    // The store would try for half a minute.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn journal_that_cannot_be_closed_does_not_block_the_exit() {
    let workspace = Workspace::with_rows(3);
    let gate = workspace.sandbox.gateway().gate(TOKENS);
    let running = workspace.billing_in_flight("", &gate, 3);
    // As if another process were opening or closing the journal and hung.
    let owners = File::open(workspace.path("billing.db-owners")).unwrap();
    owners.lock().unwrap();
    let begun = Instant::now();
    gate.release();
    running.end().ends(0, "processed");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    drop(owners);
    workspace.bills("").ends(0, "processed");
    assert_eq!(workspace.charged().len(), 3);
}

#[test]
fn unread_stdout_blocks_the_exit_until_a_signal() {
    let workspace = Workspace::with_rows(1);
    let results = workspace.path("results.jsonl");
    let (_reader, stdout) = full_pipe();
    let log = File::create(workspace.path("log")).unwrap();
    let run = workspace.billing(&format!("--results {results}")).stdout(stdout);
    let running = run.spawn_with_stderr(log);
    wait_until(|| fs::read_to_string(&results).is_ok_and(|text| text.ends_with('\n')));
    // The summary was not written, so the run must not exit with 0.
    assert_eq!(running.signal_until_ended("INT"), Some(1));
    has(workspace.read("log"), ["SIGINT: the report could not be written to its end (exit code 1)\n"]);

    // After two signals, a run does not wait for a reader.
    workspace.good(4);
    let gate = workspace.sandbox.gateway().gate(TOKENS);
    let (_reader, stdout) = full_pipe();
    let running = workspace.billing("--concurrency 3").stdout(stdout).spawn();
    block_on(gate.arrivals(3));
    running.signal("INT");
    running.signal("TERM");
    let ended = running.end().exits(5);
    has(ended.stderr, ["OUTCOME UNKNOWN for 3 charges", "the report could not be written to its end"]);
    gate.release();

    // A single charge.
    let log = File::create(workspace.path("log")).unwrap();
    let (_reader, stdout) = full_pipe();
    let running = workspace.charging("single", TOKEN_PAYMENT).stdout(stdout).spawn_with_stderr(log);
    wait_until(|| workspace.journals("show single").stdout.contains(r#""state":"processed""#));
    assert_eq!(running.signal_until_ended("INT"), Some(1));
    has(workspace.read("log"), ["The money moved: do not run it again", &workspace.last_id()]);
}

/// A signal that the system repeats ends the wait for a reader no more than the run: the report would be lost.
#[test]
fn repeated_signal_does_not_give_up_the_report() {
    for signal in ["XCPU", "HUP"] {
        let workspace = Workspace::with_rows(20);
        let gate = workspace.hold_responses();
        let (mut reader, stdout) = full_pipe();
        let mut running = workspace.billing("--concurrency 3").stdout(stdout).spawn();
        block_on(gate.arrivals(3));
        running.signal(signal);
        begins(running.error_line(), format!("SIG{signal}: no new charge is started"));
        gate.release();
        wait_until(|| {
            workspace.charged().len() == 3 && !fs::exists(workspace.path("billing.db-wal")).unwrap()
        });
        // As a limit of CPU time does, until long after the report has begun.
        for _ in 0..100 {
            running.signal(signal);
            thread::sleep(Duration::from_millis(10));
        }
        let reading = thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).map(|_| text)
        });
        assert_eq!(running.wait_without_reading(), Some(3));
        let text = reading.join().unwrap().unwrap();
        let report: Value = serde_json::from_str(text.trim_start_matches('x')).unwrap();
        assert_eq!(report["rows"]["processed"]["count"], 3, "{report}");
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
