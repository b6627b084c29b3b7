//! Requests that are refused before anything is sent.

use serde_json::{Value, json};

use crate::support::{
    CARD, CARD_PAYMENT, CHARGE, CREATE, CVV, Peer, TOKEN_PAYMENT, TemporaryFile, Then, has, message,
    payments_at, responses,
};

/// The fields of the violations, in order.
fn fields(error: &Value) -> Vec<&str> {
    let violations = error["violations"].as_array().expect("a list");
    violations.iter().map(|violation| violation["field"].as_str().expect("a name")).collect()
}

#[test]
fn every_violation_is_named_without_its_value_d01() {
    let peer = Peer::new(Then::Close);
    let request = CARD_PAYMENT
        .replace("378282246310005", CARD)
        .replace("grace@example.com", "grace-canary")
        .replace(r#""+1""#, r#""canary-country""#)
        .replace(r#""Amount":10.50"#, r#""Amount":"10.50""#)
        .replace(r#""ConvenienceFeeActive":false,"#, r#""Surprise":"canary","#);
    let ended = payments_at(&peer.base_url, CREATE).stdin(request).end();
    let error = ended.failed(2);
    assert_eq!(error["kind"], "validation");
    assert_eq!(
        fields(&error),
        ["Amount", "BillingCountryCode", "BillingEmail", "ConvenienceFeeActive", "Surprise"]
    );
    for violation in error["violations"].as_array().expect("a list") {
        assert!(violation["rule"].as_str().is_some_and(|rule| !rule.is_empty()), "{violation}");
    }
    for value in [CARD, CVV, "canary", "10.50"] {
        assert!(!ended.stdout.contains(value) && !ended.stderr.contains(value), "{value}: {ended:?}");
    }
    assert_eq!(peer.requests_left(), 0);
}

#[test]
fn text_lists_the_violations() {
    let run = payments_at("http://127.0.0.1:1", ["transaction", "create", "--file", "-", "--output", "text"]);
    let ended = run.stdin(CARD_PAYMENT.replace("7391", "12").replace("1233", "1333")).end();
    assert_eq!((ended.code, &*ended.stdout), (Some(2), ""));
    let lines: Vec<_> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{}", ended.stderr);
    assert_eq!(lines[0], "INVALID, nothing was sent (exit code 2)");
    assert!(lines[1].starts_with("  Cvv         must "), "{}", lines[1]);
    assert!(lines[2].starts_with("  ExpiryDate  must "), "{}", lines[2]);
}

#[test]
fn non_object_is_refused_without_quoting_it() {
    for text in
        ["", "[]", "null", "{\"CardNumber\": 4111111111111111", "\u{feff}\u{feff}{}", "4111111111111111"]
    {
        let ended = payments_at("http://127.0.0.1:1", CHARGE).stdin(text).end();
        let error = ended.failed(2);
        assert_eq!(fields(&error), ["body"], "{text}");
        let message = error["message"].as_str().unwrap();
        assert_eq!(message.ends_with("(the request of --file is empty)"), text.is_empty(), "{message}");
        assert!(!ended.stdout.contains(CARD));
    }
    let ended = payments_at("http://127.0.0.1:1", CHARGE).stdin(b"\xff{}").end();
    ended.failed(2);
}

#[test]
fn repeated_member_is_a_violation_d30() {
    let twice = TOKEN_PAYMENT.replace(r#""Amount":45.00"#, r#""Amount":45.00,"Amount":1.00"#);
    let ended = payments_at("http://127.0.0.1:1", CHARGE).stdin(twice).end();
    assert_eq!(fields(&ended.failed(2)), ["Amount"]);
}

#[test]
fn unreadable_file_is_named_unless_it_may_be_card_data() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    // Someone may pass the request itself to --file.
    let request = r#"{"Cvv":"123"}"#;
    for (path, is_named) in
        [("/nonexistent/sale.json", true), (folder, true), (request, false), (CARD, false)]
    {
        let ended = payments_at("http://127.0.0.1:1", ["transaction", "create", "--file", path]).end();
        let error = ended.failed(2);
        assert_eq!(error["kind"], "input");
        assert!(error["cause"].is_string(), "it says why: {error}");
        assert_eq!(message(&error).contains(&format!("--file ({path})")), is_named, "{error}");
        assert_eq!(ended.json().to_string().contains(path), is_named, "{error}");
    }
}

#[test]
fn request_over_64_kib_is_refused_unparsed_d37() {
    let filled = |length: usize| {
        let start = TOKEN_PAYMENT.strip_suffix('}').expect("an object");
        format!("{start}{:width$}}}", "", width = length - start.len() - 1)
    };
    let too_large = TemporaryFile::new(filled(64 * 1024 + 1));
    let ended =
        payments_at("http://127.0.0.1:1", ["token-transaction", "create", "--file", too_large.path()]).end();
    assert_eq!(ended.failed(2)["kind"], "input");

    let largest = TemporaryFile::new(filled(64 * 1024));
    let ended =
        payments_at("http://127.0.0.1:1", ["token-transaction", "create", "--file", largest.path()]).end();
    ended.failed(3);
}

#[test]
fn ids_that_could_leave_their_path_are_refused_d41() {
    let peer = Peer::new(Then::Close);
    let get = [&["transaction", "get"][..], &["customer", "get"]];
    let all = [&get[..], &[&["void"]]].concat();
    let invalid = ["", " ", " a", "a ", "a\nb", "#REF!", "=A1", &"x".repeat(257)];
    let in_no_path = [".", "..", "a/../b", "a\\..", "./a"];
    for (id, commands) in
        invalid.map(|id| (id, &all[..])).into_iter().chain(in_no_path.map(|id| (id, &get[..])))
    {
        for command in commands {
            let ended = payments_at(&peer.base_url, command.iter().copied().chain(["--", id])).end();
            let error = ended.failed(2);
            let field = if command[0] == "customer" { "CustomerId" } else { "TransactionId" };
            assert_eq!(fields(&error), [field], "{command:?} {id:?}");
        }
    }
    assert_eq!(peer.requests_left(), 0);
}

#[test]
fn reason_too_long_for_any_request_is_refused_d37() {
    let reason = "x".repeat(64 * 1024);
    let ended = payments_at("http://127.0.0.1:1", ["void", "txn_1", "--reason", &reason]).end();
    assert_eq!(fields(&ended.failed(2)), ["body"]);
    assert_eq!(ended.json()["error"]["http_status"], json!(null));
}

#[test]
fn text_hints_at_a_truncated_request() {
    let run = |stdin: &str| {
        let arguments = ["token-transaction", "create", "--file", "-", "--output", "text"];
        payments_at("http://127.0.0.1:1", arguments).stdin(stdin).end().stderr
    };
    for empty in ["", " \n"] {
        assert!(run(empty).contains("hint  the request of --file is empty\n"), "{}", run(empty));
    }
    let broken_off = &TOKEN_PAYMENT[..TOKEN_PAYMENT.len() - 1];
    for broken_off in [broken_off, "{", "{\"TokenId\":\"tok_canary"] {
        let text = run(broken_off);
        assert!(
            text.contains("hint  the request of --file is truncated") && !text.contains("canary"),
            "{text}"
        );
    }
    for other in ["[]", "{]", "{}"] {
        assert!(!run(other).contains("hint"), "{}", run(other));
    }
}

#[cfg(unix)]
#[test]
fn reading_from_a_terminal_is_announced() {
    let peer = Peer::responding("200 OK", responses::RECEIPT);
    let run = || payments_at(&peer.base_url, CHARGE);
    let aloud = "reading the request from the terminal; end it with Ctrl-D";
    let shown = run().typed(TOKEN_PAYMENT).on_terminal();
    has(&shown, [aloud, "PROCESSED"]);
    let shown = run().stdin(TOKEN_PAYMENT).on_terminal();
    assert!(!shown.contains(aloud) && shown.contains("PROCESSED"), "{shown}");
}
