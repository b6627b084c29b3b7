//! A failure before the first byte is not processed. The contracts of the transports have every such failure for every operation.

use std::thread;

use payments_sandbox::BlockingSandbox;
use payments_tests::UnresponsivePort;

use crate::prelude::*;
use crate::tls::https_sandbox;

const IS_IT_THERE: &str = "check --base-url or PAYMENTS_BASE_URL: is the service running there?";
const IN_300_MS: &str = "no connection was established within the call's deadline of 300ms: raise the deadline, which came from --timeout";

/// In parallel, because they mostly wait for a deadline or a pause.
#[test]
fn failure_before_the_first_byte_is_not_processed_d02_d23_d56() {
    let (refusing, silent) = (UnresponsivePort::refusing(), UnresponsivePort::silent());
    // On another system, connections do not wait for a full queue.
    let full = cfg!(target_os = "linux").then(UnresponsivePort::full);
    let (here, _) = https_sandbox("127.0.0.1");
    let (elsewhere, certificate) = https_sandbox("pay.example");
    let trusted = format!("--ca-cert {}", certificate.path());
    let plain = sandbox();
    let https = plain.base_url().replace("http://", "https://");
    let at = |scheme: &str, port: &UnresponsivePort| format!("{scheme}://{}/api", port.address());
    let authority =
        "the certificate is not signed by a trusted authority: if the authority is your own, give its";
    let name = "check the host name in --base-url or PAYMENTS_BASE_URL";
    let mut failures = vec![
        (at("http", &refusing), "", "connect", IS_IT_THERE),
        ("https://no-such-host.invalid/api".to_owned(), "", "resolve", IS_IT_THERE),
        (at("https", &silent), "--timeout 0.3", "timeout", IN_300_MS),
        (here.base_url().to_owned(), "", "tls", authority),
        (elsewhere.base_url().to_owned(), &*trusted, "tls", name),
        (https, "", "tls", "does the server speak TLS there?"),
    ];
    failures.extend(full.iter().map(|full| (at("http", full), "--timeout 0.3", "timeout", IN_300_MS)));
    thread::scope(|scope| {
        for (base_url, options, kind, hint) in &failures {
            scope.spawn(|| is_not_processed(base_url, options, kind, hint));
        }
    });
    for port in full.into_iter().chain([silent]) {
        port.assert_no_request_came();
    }
    for sandbox in [here, elsewhere, plain] {
        assert_nothing_came(&sandbox);
    }
}

/// A payment in JSON and text, and a lookup.
fn is_not_processed(base_url: &str, options: &str, kind: &str, hint: &str) {
    let [payment, .., lookup, _] = every_command();
    let what = match kind {
        "connect" => "could not connect",
        "resolve" => "the host name did not resolve",
        "tls" => "the TLS handshake failed",
        _ => "the deadline passed before the request was sent",
    };
    let fails_again = "but it will fail again until the cause is fixed";
    let (safe, lookup_safe) = if kind == "tls" {
        (format!("it is safe to send it again, {fails_again}"), "fix the cause, then run it again")
    } else {
        ("it is safe to send it again".to_owned(), "it is safe to run it again")
    };
    for (case, advice) in [
        (&payment, format!("nothing was processed: {safe}")),
        (&lookup, format!("a lookup moves no money: {lookup_safe}")),
    ] {
        let ended = case.run(base_url, options);
        let error = ended.failed_as(3, kind);
        assert!(error["http_status"].is_null(), "{error}");
        assert_eq!((error.get("sent_at"), error.get("amount")), (None, None), "nothing to reconcile");
        let message = message(&error);
        begins(message, format!("{}: {what}", case.operation));
        assert!(message.ends_with(&format!("; {advice}")), "{advice}: {message}");
        assert!(kind != "tls" || error["cause"].is_string(), "{error}");
    }
    let text = payment.run(base_url, &format!("{options} --output text")).exits(3);
    let heading = text.stderr.lines().next().unwrap_or_default();
    let advice = if kind == "tls" {
        "it will fail again until the cause is fixed"
    } else {
        "it is safe to run it again"
    };
    assert!(heading.starts_with("NOT PROCESSED, "), "{text:?}");
    assert!(heading.ends_with(&format!("{advice} (exit code 3)")), "{text:?}");
    has(&text.stderr, [hint]);
    // The address is not the cause of a short deadline.
    assert!(hint != IN_300_MS || !text.stderr.contains("--base-url"), "{text:?}");
}

#[track_caller]
fn assert_nothing_came(sandbox: &BlockingSandbox) {
    assert_eq!(sandbox.gateway().requests().len(), 0);
    assert_eq!(sandbox.gateway().ledger().entries().len(), 0);
}

#[test]
fn invalid_request_is_not_sent_d01() {
    let sandbox = sandbox();
    let without_amount = |payment: &str| payment.replace("\"Amount\":", "\"Amuont\":");
    for (line, stdin) in [
        (CREATE, without_amount(CARD_PAYMENT)),
        (CREATE, without_amount(&ach_payment())),
        (CREATE, "{".to_owned()),
        (CHARGE, without_amount(TOKEN_PAYMENT)),
        ("void 'a '", String::new()),
        ("transaction get ..", String::new()),
        ("customer get a/../b", String::new()),
    ] {
        let run = || payments_at(sandbox.base_url(), line).stdin(&*stdin);
        run().end().refused("nothing was sent");
        begins(run().text().stderr, "INVALID, nothing was sent (exit code 2)\n");
    }
    assert_nothing_came(&sandbox);
}
