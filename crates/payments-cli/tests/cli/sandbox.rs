//! `payments sandbox`, called with the other commands.
#![cfg(unix)]

use std::net::TcpListener;

use serde_json::Value;

use crate::support::{CHARGE, CREATE, TOKEN_PAYMENT, authorization, has, payments, started};

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
    let authorised = call(&CREATE).stdin(authorization()).end().processed();
    let id = text(&authorised, "TransactionId");
    assert_eq!(authorised["TransactionType"], 2);
    assert_eq!(call(&["transaction", "get", id]).end().processed(), authorised);
    assert_eq!(call(&["void", id]).end().processed()["TransactionId"], *id);
    assert_eq!(call(&["void", id]).end().failed(4)["reason"], "invalid transaction id");
    call(&CHARGE).stdin(TOKEN_PAYMENT).end().processed();
    assert_eq!(call(&["customer", "get", "cus_1"]).end().processed()["CustomerId"], "cus_1");
    call(&["transaction", "get", "txn_nobody_has"]).end().failed(7);
    with_key("key_2", &["transaction", "get", id]).end().failed(6);

    running.signal("TERM");
    let ended = running.end();
    assert!(!ended.stderr.contains("warning"), "{ended:?}");
    assert_eq!((ended.code, &*ended.stdout), (Some(0), ""), "more than the ready line on stdout: {ended:?}");
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
        payments(["sandbox", "--api-key", key]).end().failed(2);
    }
}

#[test]
fn closed_stdout_exits_1() {
    payments(["sandbox"]).end_unread().exits(1);
}
