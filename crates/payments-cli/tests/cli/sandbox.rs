//! `payments sandbox`, called by the same command's other half.
#![cfg(unix)]

use std::net::TcpListener;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{CARD_PAYMENT, Run, Running, TOKEN_PAYMENT, broken_pipe, payments};

/// A sandbox under way, and its ready line.
fn started(run: Run) -> (Running, Value) {
    let mut running = run.stdout(Stdio::piped()).spawn();
    let line = running.first_line();
    assert!(line.starts_with(r#"{"base_url":""#) && line.contains(r#"","api_key":""#), "{line}");
    let ready = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    (running, ready)
}

fn text<'a>(ready: &'a Value, name: &str) -> &'a str {
    ready[name].as_str().expect("a text")
}

#[test]
fn it_serves_a_whole_session() {
    let (running, ready) = started(payments(["sandbox", "--api-key", "key_1"]));
    let base_url = text(&ready, "base_url");
    assert!(base_url.starts_with("http://127.0.0.1:") && base_url.ends_with("/api/v1/public"), "{ready}");
    assert_eq!(ready["api_key"], "key_1");

    let with_key = |key: &str, arguments: &[&str]| {
        payments(arguments.iter().copied()).env("PAYMENTS_BASE_URL", base_url).env("PAYMENTS_API_KEY", key)
    };
    let call = |arguments: &[&str]| with_key("key_1", arguments);
    let create = ["transaction", "create", "--file", "-"];
    let authorisation = CARD_PAYMENT.replace(r#""TransactionType":"1""#, r#""TransactionType":"2""#);
    let authorised = call(&create).stdin(authorisation).end().processed();
    let id = text(&authorised, "TransactionId");
    assert_eq!(authorised["TransactionType"], 2);
    assert_eq!(call(&["transaction", "get", id]).end().processed(), authorised);
    assert_eq!(call(&["void", id]).end().processed()["TransactionId"], *id);
    assert_eq!(call(&["void", id]).end().failed(4, "rejected")["reason"], "invalid transaction id");
    call(&["token-transaction", "create", "--file", "-"]).stdin(TOKEN_PAYMENT).end().processed();
    assert_eq!(call(&["customer", "get", "cus_1"]).end().processed()["CustomerId"], "cus_1");
    call(&["transaction", "get", "txn_nobody_has"]).end().failed(7, "rejected");
    with_key("key_2", &["transaction", "get", id]).end().failed(6, "rejected");

    running.signal("TERM");
    let ended = running.end();
    assert_eq!((ended.code, &*ended.stdout), (Some(0), ""), "the rest goes to stderr: {ended:?}");
}

#[test]
fn both_signals_end_it_with_0() {
    for signal in ["INT", "TERM"] {
        let (running, ready) = started(payments(["sandbox"]));
        assert_ne!(text(&ready, "api_key"), "");
        running.signal(signal);
        let ended = running.end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
    }
}

#[test]
fn it_listens_where_it_is_told_and_warns_of_other_addresses_than_loopback() {
    let (running, ready) = started(payments(["sandbox", "--listen", "0.0.0.0:0"]));
    assert!(
        text(&ready, "base_url").starts_with("http://127.0.0.1:"),
        "an address that a client takes: {ready}"
    );
    running.signal("TERM");
    let ended = running.end();
    assert_eq!(ended.code, Some(0));
    let port = text(&ready, "base_url").trim_end_matches("/api/v1/public").rsplit(':').next().unwrap();
    let warning = format!("warning: listening on 0.0.0.0:{port}, which");
    assert!(
        ended.stderr.contains(&warning) && ended.stderr.contains("can reach and control"),
        "{}",
        ended.stderr
    );

    let apart = ["sandbox", "--listen", "0.0.0.0:0", "--admin-listen", "127.0.0.1:0"];
    let (running, _) = started(payments(apart));
    running.signal("TERM");
    let warned = running.end().stderr;
    assert!(warned.contains("can reach this sandbox") && !warned.contains("control"), "{warned}");
}

#[test]
fn an_address_in_use_is_1_and_stdout_empty() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = payments(["sandbox", "--listen", &address]).end();
    assert_eq!((ended.code, &*ended.stdout), (Some(1), ""));
    let told = format!("cannot listen on {address} (");
    assert!(ended.stderr.contains(&told) && ended.stderr.contains("--listen"), "{}", ended.stderr);
}

#[test]
fn a_key_that_no_client_could_send_is_refused() {
    for key in ["", "two words"] {
        payments(["sandbox", "--api-key", key]).end().failed(2, "invalid");
    }
}

#[test]
fn a_ready_line_that_nobody_can_read_ends_it_with_1() {
    let ended = payments(["sandbox"]).stdout(broken_pipe()).end_unheard();
    assert_eq!(ended.code, Some(1), "{ended:?}");
}
