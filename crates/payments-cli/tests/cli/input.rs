//! Requests that are refused before anything is sent.

use crate::prelude::*;

/// The fields of the violations, in order.
fn fields(error: &Value) -> Vec<&str> {
    let violations = error["violations"].as_array().expect("a list");
    violations.iter().map(|violation| violation["field"].as_str().expect("a name")).collect()
}

/// A command at an address where nobody is.
fn nowhere(line: &str) -> Run {
    payments_at("http://127.0.0.1:1", line)
}

#[test]
fn every_violation_is_named_without_its_value_d01_d30() {
    let peer = Peer::new(Then::Close);
    let request = CARD_PAYMENT
        .replace("378282246310005", CARD)
        .replace("grace@example.com", "grace-canary")
        .replace(r#""+1""#, r#""canary-country""#)
        .replace(r#""Amount":10.50"#, r#""Amount":"10.50""#)
        .replace(r#""ConvenienceFeeActive":false,"#, r#""Surprise":"canary","#);
    let ended = payments_at(&peer.base_url, CREATE).stdin(request).end();
    let error = ended.failed_as(2, "validation");
    let expected = ["Amount", "BillingCountryCode", "BillingEmail", "ConvenienceFeeActive", "Surprise"];
    assert_eq!(fields(&error), expected);
    for violation in error["violations"].as_array().expect("a list") {
        assert!(violation["rule"].as_str().is_some_and(|rule| !rule.is_empty()), "{violation}");
    }
    ended.hides([CARD, CVV, "canary", "10.50"]);
    assert_eq!(peer.requests_left(), 0);

    let twice = TOKEN_PAYMENT.replace(r#""Amount":45.00"#, r#""Amount":45.00,"Amount":1.00"#);
    assert_eq!(fields(&nowhere(CHARGE).stdin(twice).end().failed(2)), ["Amount"]);

    let text = nowhere(CREATE).stdin(CARD_PAYMENT.replace("7391", "12").replace("1233", "1333")).text();
    let lines: Vec<_> = text.stderr.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, "INVALID, nothing was sent (exit code 2)"), "{text:?}");
    begins(lines[1], "  Cvv         must ");
    begins(lines[2], "  ExpiryDate  must ");
}

#[test]
fn what_is_no_object_is_refused_without_quoting_it() {
    for (request, hint) in [
        ("", "the request of --file is empty"),
        (" \n", "the request of --file is empty"),
        (&TOKEN_PAYMENT[..TOKEN_PAYMENT.len() - 1], "the request of --file is truncated"),
        ("{\"CardNumber\": 4111111111111111", "the request of --file is truncated"),
        ("[]", ""),
        ("{]", ""),
        ("null", ""),
        ("\u{feff}\u{feff}{}", ""),
        ("4111111111111111", ""),
    ] {
        let ended = nowhere(CHARGE).stdin(request).end();
        assert_eq!(fields(&ended.failed(2)), ["body"], "{request}");
        ended.hides([CARD, "tok_"]);
        let text = nowhere(CHARGE).stdin(request).text();
        text.hides([CARD, "tok_"]);
        assert_eq!(text.stderr.contains("hint"), !hint.is_empty(), "{text:?}");
        has(&text.stderr, [hint]);
    }
    nowhere(CHARGE).stdin(b"\xff{}").end().failed(2);
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
        let ended = nowhere("transaction create").with(["--file", path]).end();
        let error = ended.failed_as(2, "input");
        assert!(error["cause"].is_string(), "it says why: {error}");
        assert_eq!(message(&error).contains(&format!("--file ({path})")), is_named, "{error}");
        assert_eq!(ended.json().to_string().contains(path), is_named, "{error}");
    }
}

#[test]
fn request_over_64_kib_is_refused_unparsed_d37() {
    for (length, code) in [(64 * 1024, 3), (64 * 1024 + 1, 2)] {
        let start = TOKEN_PAYMENT.strip_suffix('}').expect("an object");
        let request = format!("{start}{:width$}}}", "", width = length - start.len() - 1);
        let file = TemporaryFile::new(request);
        let error = nowhere(&format!("token-transaction create --file {}", file.path())).end().failed(code);
        assert_eq!(error["kind"] == "input", code == 2, "{error}");
    }
    let long = nowhere("void txn_1 --reason").with([&*"x".repeat(64 * 1024)]).end().failed(2);
    assert_eq!(fields(&long), ["body"]);
}

#[test]
fn ids_that_could_leave_their_path_are_refused_d41() {
    let peer = Peer::new(Then::Close);
    let get = ["transaction get", "customer get"];
    let all = [&get[..], &["void"]].concat();
    for (id, commands) in ["", " a", "a\nb", "#REF!", "=A1", &"x".repeat(257)]
        .map(|id| (id, &all[..]))
        .into_iter()
        .chain(["..", "a/../b", "a\\..", "./a"].map(|id| (id, &get[..])))
    {
        for command in commands {
            let error = payments_at(&peer.base_url, *command).with(["--", id]).end().failed(2);
            let field = if *command == get[1] { "CustomerId" } else { "TransactionId" };
            assert_eq!(fields(&error), [field], "{command:?} {id:?}");
        }
    }
    assert_eq!(peer.requests_left(), 0);
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
