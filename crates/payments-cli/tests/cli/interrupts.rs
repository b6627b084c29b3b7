//! SIGINT and SIGTERM during a call.
#![cfg(unix)]

use std::fs::OpenOptions;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{CARD_PAYMENT, Peer, TOKEN_PAYMENT, Then, payments_at};

#[test]
fn signal_during_a_charge_or_void_is_unknown_d22() {
    let create = ["transaction", "create", "--file", "-"];
    let create_by_token = ["token-transaction", "create", "--file", "-"];
    let cases = [
        ("INT", &create[..], CARD_PAYMENT),
        ("TERM", &create, CARD_PAYMENT),
        ("INT", &create_by_token, TOKEN_PAYMENT),
        ("INT", &["void", "txn_1"], ""),
    ];
    for (signal, arguments, stdin) in cases {
        let peer = Peer::new(Then::Wait);
        let run = payments_at(&peer.base_url, arguments.iter().copied());
        let running = run.stdin(stdin).stdout(Stdio::piped()).spawn();
        peer.request();
        running.signal(signal);
        let ended = running.end();
        let error = ended.failed(5, "unknown");
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
        assert!(ended.stderr.starts_with("OUTCOME UNKNOWN"), "{}", ended.stderr);
        assert_eq!(peer.requests_left(), 0);
    }
}

#[test]
fn signal_during_a_lookup_is_not_processed() {
    for arguments in [["transaction", "get", "txn_1"], ["customer", "get", "cus_1"]] {
        let peer = Peer::new(Then::Wait);
        let running = payments_at(&peer.base_url, arguments).stdout(Stdio::piped()).spawn();
        peer.request();
        running.signal("INT");
        assert_eq!(running.end().failed(3, "not_processed")["kind"], "interrupted");
    }
}

#[test]
fn signal_while_reading_the_request_is_not_processed() {
    let peer = Peer::new(Then::Close);
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("request");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let arguments = ["transaction", "create", "--file", fifo.to_str().unwrap()];
    let running = payments_at(&peer.base_url, arguments).stdout(Stdio::piped()).spawn();
    // Opening succeeds once the command has opened the other end, so the command is reading now.
    let _writer = OpenOptions::new().write(true).open(&fifo).unwrap();
    running.signal("INT");
    let error = running.end().failed(3, "not_processed");
    assert_eq!(error["kind"], "interrupted");
    assert_eq!(peer.requests_left(), 0);
}
