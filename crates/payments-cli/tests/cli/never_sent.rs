//! Every command reports a failure before the first byte as not processed.
//!
//! A command makes one call, so pooled connections do not occur here. The SDK's own tests cover them.

use std::thread;

use payments_sandbox::{BlockingSandbox, Sandbox};
use payments_tests::UnresponsivePort;
use rcgen::CertifiedKey;
use serde_json::{Value, json};

use crate::cases::{Case, every_command};
use crate::support::{
    CARD_PAYMENT, CHARGE, CREATE, KEY, TOKEN_PAYMENT, TemporaryFile, ach_payment, begins, payments_at,
    sandbox,
};

/// Every command in JSON and text, in parallel because they mostly wait for a deadline or a pause.
fn every_command_is_not_processed(base_url: &str, options: &[&str], kind: &str, hint: &str) {
    thread::scope(|scope| {
        for case in every_command() {
            scope.spawn(move || {
                is_not_processed(&case, base_url, options, kind);
                is_not_processed_in_text(&case, base_url, options, kind, hint);
            });
        }
    });
}

fn is_not_processed(case: &Case, base_url: &str, options: &[&str], kind: &str) {
    let ended = case.run(base_url, options);
    let error = ended.failed(3);
    assert_eq!((&error["kind"], &error["http_status"]), (&json!(kind), &Value::Null), "{error}");
    assert_eq!((error.get("sent_at"), error.get("amount")), (None, None), "nothing to reconcile");
    let what = match kind {
        "connect" => "could not connect",
        "resolve" => "the host name did not resolve",
        "tls" => "the TLS handshake failed",
        _ => "the deadline passed before the request was sent",
    };
    let advice = match (case.moves_money(), kind) {
        (true, "tls") => {
            "nothing was processed: it is safe to send it again, but it will fail again until the cause is fixed"
        }
        (false, "tls") => "a lookup moves no money: fix the cause, then run it again",
        (true, _) => "nothing was processed: it is safe to send it again",
        (false, _) => "a lookup moves no money: it is safe to run it again",
    };
    assert_eq!(error["message"], format!("{}: {what}; {advice}", case.operation));
}

fn is_not_processed_in_text(case: &Case, base_url: &str, options: &[&str], kind: &str, hint: &str) {
    let ended = case.run(base_url, &[options, &["--output", "text"]].concat());
    assert_eq!((ended.code, &*ended.stdout), (Some(3), ""));
    let heading = ended.stderr.lines().next().unwrap_or_default();
    let advice = if kind == "tls" {
        "it will fail again until the cause is fixed"
    } else {
        "it is safe to run it again"
    };
    assert!(heading.ends_with(&format!("{advice} (exit code 3)")), "{}", ended.stderr);
    assert_eq!(heading.starts_with("NOT PROCESSED, "), case.moves_money(), "{}", ended.stderr);
    assert!(ended.stderr.contains(hint), "{}", ended.stderr);
    // The address is not the cause of a short deadline.
    assert!(kind != "timeout" || !ended.stderr.contains("--base-url"), "{}", ended.stderr);
}

const IS_IT_THERE: &str = "check --base-url or PAYMENTS_BASE_URL: is the service running there?";

#[test]
fn connection_refused_is_not_processed_d02() {
    let port = UnresponsivePort::refusing();
    let address = port.address();
    every_command_is_not_processed(&format!("http://{address}/api"), &[], "connect", IS_IT_THERE);
}

#[test]
fn unresolvable_name_is_not_processed_d02() {
    every_command_is_not_processed("https://no-such-host.invalid/api", &[], "resolve", IS_IT_THERE);
}

#[cfg(target_os = "linux")]
#[test]
fn connect_timeout_is_not_processed_d02_d23() {
    let port = UnresponsivePort::full();
    for scheme in ["http", "https"] {
        let base_url = format!("{scheme}://{}/api", port.address());
        let hint = "no connection was established within the call's deadline of 300ms: raise the deadline, which came from --timeout";
        every_command_is_not_processed(&base_url, &["--timeout", "0.3"], "timeout", hint);
    }
    port.assert_no_request_came();
}

#[test]
fn tls_handshake_timeout_is_not_processed_d02_d23() {
    let port = UnresponsivePort::silent();
    let hint = "no connection was established within the call's deadline of 300ms: raise the deadline, which came from --timeout";
    let base_url = format!("https://{}/api", port.address());
    every_command_is_not_processed(&base_url, &["--timeout", "0.3"], "timeout", hint);
    port.assert_no_request_came();
}

/// The commands run in parallel, because the connect deadline is 10 seconds.
#[cfg(target_os = "linux")]
#[test]
fn connect_deadline_is_not_processed_d02_d23() {
    let ports = [("http", UnresponsivePort::full()), ("https", UnresponsivePort::silent())];
    thread::scope(|scope| {
        for (scheme, port) in &ports {
            for case in every_command() {
                // Leaves too little time to repeat a lookup.
                scope.spawn(move || {
                    let base_url = format!("{scheme}://{}/api", port.address());
                    is_not_processed(&case, &base_url, &["--timeout", "10.1"], "timeout");
                });
            }
        }
    });
    for (_, port) in ports {
        port.assert_no_request_came();
    }
}

/// A sandbox with a certificate for this name, and that certificate.
fn https_sandbox(name: &str) -> (BlockingSandbox, TemporaryFile) {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
    let sandbox = Sandbox::builder().api_key(KEY).tls_pem(cert.pem(), signing_key.serialize_pem());
    (sandbox.start_blocking().expect("a loopback port is free"), TemporaryFile::new(cert.pem()))
}

#[track_caller]
fn assert_nothing_came(sandbox: &BlockingSandbox) {
    assert_eq!(sandbox.gateway().requests().len(), 0);
    assert_eq!(sandbox.gateway().ledger().entries().len(), 0);
}

#[test]
fn unknown_certificate_authority_is_not_processed_d02_d56() {
    let (sandbox, _) = https_sandbox("127.0.0.1");
    let hint = "the certificate is not signed by a trusted authority: if the authority is your own, give its";
    every_command_is_not_processed(sandbox.base_url(), &[], "tls", hint);
    let error = payments_at(sandbox.base_url(), ["void", "txn_1"]).end().failed(3);
    assert!(error["cause"].as_str().is_some_and(|cause| cause.contains("UnknownIssuer")), "{error}");
    assert_nothing_came(&sandbox);
}

#[test]
fn certificate_for_another_host_is_not_processed_d02() {
    let (sandbox, certificate) = https_sandbox("pay.example");
    let hint = "check the host name in --base-url or PAYMENTS_BASE_URL";
    every_command_is_not_processed(sandbox.base_url(), &["--ca-cert", certificate.path()], "tls", hint);
    assert_nothing_came(&sandbox);
}

#[test]
fn server_without_tls_is_not_processed_d02_d56() {
    let sandbox = sandbox();
    let https = sandbox.base_url().replace("http://", "https://");
    every_command_is_not_processed(&https, &[], "tls", "does the server speak TLS there?");
    assert_nothing_came(&sandbox);
}

#[test]
fn invalid_request_is_not_sent_d01() {
    let sandbox = sandbox();
    let without_amount = |payment: &str| payment.replace("\"Amount\":", "\"Amuont\":");
    let cases: [(&[&str], String); 7] = [
        (&CREATE, without_amount(CARD_PAYMENT)),
        (&CREATE, without_amount(&ach_payment())),
        (&CREATE, "{".to_owned()),
        (&CHARGE, without_amount(TOKEN_PAYMENT)),
        (&["void", "a "], String::new()),
        (&["transaction", "get", ".."], String::new()),
        (&["customer", "get", "a/../b"], String::new()),
    ];
    for (arguments, stdin) in cases {
        let run = |shape| {
            let run = payments_at(sandbox.base_url(), arguments.iter());
            run.arguments(["--output", shape]).stdin(&*stdin).end()
        };
        let error = run("json").failed(2);
        assert!(error["message"].as_str().is_some_and(|it| it.contains("nothing was sent")), "{error}");
        let text = run("text").stderr;
        begins(&text, "INVALID, nothing was sent (exit code 2)\n");
    }
    assert_nothing_came(&sandbox);
}
