//! `payments sandbox`, called with the other commands.
#![cfg(unix)]

use std::net::TcpListener;

use serde_json::Value;

use crate::support::{CHARGE, CREATE, Run, Running, TOKEN_PAYMENT, authorization, has, payments};

/// Starts a sandbox and returns its ready line.
fn started(run: Run) -> (Running, Value) {
    let mut running = run.start();
    let line = running.first_line();
    assert!(line.starts_with(r#"{"base_url":""#) && line.contains(r#"","api_key":""#), "{line}");
    let ready = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    (running, ready)
}

fn text<'a>(ready: &'a Value, name: &str) -> &'a str {
    ready[name].as_str().expect("a text")
}

#[test]
fn sandbox_serves_every_command() {
    let (running, ready) = started(payments(["sandbox", "--api-key", "key_1"]));
    let base_url = text(&ready, "base_url");
    assert!(base_url.starts_with("http://127.0.0.1:") && base_url.ends_with("/api/v1/public"), "{ready}");
    assert_eq!(ready["api_key"], "key_1");

    let with_key = |key: &str, arguments: &[&str]| {
        payments(arguments.iter()).env("PAYMENTS_BASE_URL", base_url).env("PAYMENTS_API_KEY", key)
    };
    let call = |arguments: &[&str]| with_key("key_1", arguments);
    let authorisation = authorization();
    let authorised = call(&CREATE).stdin(authorisation).end().processed();
    let id = text(&authorised, "TransactionId");
    assert_eq!(authorised["TransactionType"], 2);
    assert_eq!(call(&["transaction", "get", id]).end().processed(), authorised);
    assert_eq!(call(&["void", id]).end().processed()["TransactionId"], *id);
    assert_eq!(call(&["void", id]).end().failed(4, "rejected")["reason"], "invalid transaction id");
    call(&CHARGE).stdin(TOKEN_PAYMENT).end().processed();
    assert_eq!(call(&["customer", "get", "cus_1"]).end().processed()["CustomerId"], "cus_1");
    call(&["transaction", "get", "txn_nobody_has"]).end().failed(7, "rejected");
    with_key("key_2", &["transaction", "get", id]).end().failed(6, "rejected");

    running.signal("TERM");
    let ended = running.end();
    assert_eq!((ended.code, &*ended.stdout), (Some(0), ""), "more than the ready line on stdout: {ended:?}");
}

#[test]
fn sandbox_exits_0_on_either_signal() {
    for signal in ["INT", "TERM"] {
        let (running, ready) = started(payments(["sandbox"]));
        assert_ne!(text(&ready, "api_key"), "");
        running.signal(signal);
        let ended = running.end().exits(0);
        assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
    }
}

#[test]
fn sandbox_warns_when_not_on_loopback() {
    let (running, ready) = started(payments(["sandbox", "--listen", "0.0.0.0:0"]));
    assert!(text(&ready, "base_url").starts_with("http://127.0.0.1:"), "not an address for clients: {ready}");
    running.signal("TERM");
    let ended = running.end();
    assert_eq!(ended.code, Some(0));
    let port = text(&ready, "base_url").trim_end_matches("/api/v1/public").rsplit(':').next().unwrap();
    let warning = format!("warning: listening on 0.0.0.0:{port}, which");
    has(&ended.stderr, [&warning, "can reach and control"]);

    let separate = ["sandbox", "--listen", "0.0.0.0:0", "--admin-listen", "127.0.0.1:0"];
    let (running, _) = started(payments(separate));
    running.signal("TERM");
    let warned = running.end().stderr;
    assert!(warned.contains("can reach this sandbox") && !warned.contains("control"), "{warned}");
}

#[test]
fn address_in_use_exits_1_with_empty_stdout() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = payments(["sandbox", "--listen", &address]).end();
    assert_eq!((ended.code, &*ended.stdout), (Some(1), ""));
    let expected = format!("cannot listen on {address} (");
    has(&ended.stderr, [&expected, "--listen"]);
}

#[test]
fn unsendable_key_is_refused() {
    for key in ["", "two words"] {
        payments(["sandbox", "--api-key", key]).end().failed(2, "invalid");
    }
}

#[test]
fn closed_stdout_exits_1() {
    payments(["sandbox"]).end_unread().exits(1);
}
