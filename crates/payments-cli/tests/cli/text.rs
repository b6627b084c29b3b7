//! What a person reads: the headline, and what to do.

use std::io::Write as _;
use std::net::TcpListener;
use std::thread;

use crate::support::{CARD_PAYMENT, Ended, Peer, TOKEN_PAYMENT, Then, answer, answers, payments_at};

/// A run in text against a server that does this.
fn text(then: Then, arguments: &[&str]) -> Ended {
    let peer = Peer::new(then);
    let run = payments_at(&peer.base_url, arguments.iter().copied()).arguments(["--output", "text"]);
    run.stdin(CARD_PAYMENT).end()
}

fn answering(status: &str, body: &str) -> Then {
    Then::Answer(answer(status, body))
}

#[test]
fn text_shows_the_outcome_first_and_amounts_as_they_were_sent() {
    let peer = Peer::answering("200 OK", answers::RECORD);
    let run = payments_at(&peer.base_url, ["transaction", "create", "--file", "-", "--output", "text"]);
    let ended = run.stdin(CARD_PAYMENT).end();
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
    assert_eq!(
        ended.stdout,
        "PROCESSED (HTTP 200)\n  \
           TransactionId    txn_1\n  \
           BaseAmount       10.50\n  \
           Amount           10.50\n  \
           CardNumber       ***********0005\n  \
           BillingCity\n  \
           BillingState     null\n  \
           TransactionType  1\n  \
           Status           1\n  \
           NewField         [1.0]\n"
    );
}

#[test]
fn a_failure_in_text_is_on_stderr_with_what_to_do() {
    let lost = r#"{"status":"pending","status_code":101,"data":{"TransactionId":"txn_7"}}"#;
    let peer = Peer::answering("200 OK", lost);
    let run = payments_at(&peer.base_url, ["transaction", "create", "--file", "-", "--output", "text"]);
    let ended = run.stdin(CARD_PAYMENT).end();
    assert_eq!((ended.code, &*ended.stdout), (Some(5), ""));
    assert!(
        ended.stderr.starts_with("OUTCOME UNKNOWN, do not run it again: look it up ("),
        "{}",
        ended.stderr
    );
    for line in
        ["HTTP status    200", "TransactionId  txn_7", "look it up     payments transaction get txn_7"]
    {
        assert!(ended.stderr.contains(line), "{line}: {}", ended.stderr);
    }
}

#[test]
fn a_found_record_is_called_found_and_no_proof_of_a_charge() {
    let ended = text(answering("200 OK", answers::TRANSACTION_FOUND), &["transaction", "get", "txn_1"]);
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
    let lines: Vec<_> = ended.stdout.lines().take(2).collect();
    let note = "  a record is not proof of a charge: the meaning of Status is not published";
    assert_eq!(lines, ["FOUND (HTTP 200)", note]);

    let ended = text(answering("200 OK", answers::CUSTOMER_FOUND), &["customer", "get", "cus_1"]);
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
    assert!(ended.stdout.starts_with("FOUND (HTTP 200)\n  CustomerId "), "{}", ended.stdout);
}

#[test]
fn a_record_of_another_transaction_is_warned_of_in_text_alone() {
    let ended = text(answering("200 OK", answers::TRANSACTION_FOUND), &["transaction", "get", "txn_2"]);
    assert_eq!(ended.code, Some(0));
    assert_eq!(
        ended.stderr,
        "WARNING: the record belongs to another transaction: requested txn_2, received txn_1\n"
    );
    let peer = Peer::answering("200 OK", answers::TRANSACTION_FOUND);
    payments_at(&peer.base_url, ["transaction", "get", "txn_2"]).end().processed();
}

#[test]
fn a_failed_look_up_says_nothing_about_the_payment() {
    let get = ["transaction", "get", "txn_1"];
    let cases = [
        (answering("502 Bad Gateway", ""), &get, "NOT LOOKED UP, which says nothing about the payment; "),
        (
            Then::Close,
            &get,
            "NOT LOOKED UP, which says nothing about the payment; it is safe to run it again (",
        ),
        (
            answering("404 Not Found", answers::NOT_FOUND),
            &get,
            "NOT FOUND, which does not prove that nothing was or will be charged (exit code 7)",
        ),
        // A proxy has never heard of the transaction.
        (
            answering("404 Not Found", "<html>"),
            &get,
            "LOOKUP REJECTED, which says nothing about the payment (",
        ),
        (answering("401 Unauthorized", answers::UNAUTHORIZED), &get, "LOOKUP REJECTED, which says nothing"),
        (Then::Close, &["customer", "get", "cus_1"], "NOT LOOKED UP, it is safe to run it again ("),
        (
            answering("404 Not Found", answers::NOT_FOUND),
            &["customer", "get", "cus_1"],
            "NOT FOUND (exit code 7)",
        ),
    ];
    for (then, arguments, headline) in cases {
        let ended = text(then, arguments);
        assert!(ended.stderr.starts_with(headline), "{arguments:?}: {}", ended.stderr);
        assert!(!ended.stderr.contains("PROCESSED"), "{}", ended.stderr);
    }
}

#[test]
fn an_unknown_outcome_says_to_look_up_only_where_an_id_is_known() {
    let create = ["transaction", "create", "--file", "-"];
    let ended = text(Then::Close, &create);
    let headline = "OUTCOME UNKNOWN, do not run it again: reconcile by amount, last four digits, payer's name \
                    and time (";
    assert!(ended.stderr.starts_with(headline), "{}", ended.stderr);
    assert!(!ended.stderr.contains("look it up"), "{}", ended.stderr);

    // An id that no look-up takes is no part of a command that somebody may paste.
    let strange = r#"{"status":"pending","data":{"TransactionId":"$(reboot)"}}"#;
    let ended = text(answering("200 OK", strange), &create);
    assert!(ended.stderr.starts_with(headline), "{}", ended.stderr);
    assert!(!ended.stderr.contains("look it up"), "{}", ended.stderr);

    // A void names its transaction itself.
    let ended = text(Then::Close, &["void", "txn_1"]);
    assert!(
        ended.stderr.starts_with("OUTCOME UNKNOWN, do not run it again: look it up ("),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("look it up  payments transaction get txn_1\n"), "{}", ended.stderr);
}

#[test]
fn a_connection_that_cannot_be_made_hints_at_the_setting() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let free = listener.local_addr().unwrap();
    drop(listener);
    // Reserved, so that it never resolves; where no name server answers at all, the deadline's hint is the same.
    let nowhere = "https://pay.invalid".to_owned();
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let plain_as_https = format!("https://{}", plain.local_addr().unwrap());
    thread::spawn(move || {
        for stream in plain.incoming() {
            // As servers answer what is no HTTP.
            let _ = stream.and_then(|mut stream| stream.write_all(&answer("400 Bad Request", "")));
        }
    });
    let cases = [
        (
            format!("http://{free}"),
            "hint   check --base-url or PAYMENTS_BASE_URL: is the service running there?",
        ),
        (nowhere, "hint   check --base-url or PAYMENTS_BASE_URL"),
        (plain_as_https, "hint   does the server speak TLS there?"),
    ];
    for (base_url, hint) in cases {
        let arguments = ["transaction", "create", "--file", "-", "--output", "text"];
        let ended = payments_at(&base_url, arguments).stdin(CARD_PAYMENT).end();
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        assert!(ended.stderr.contains(hint), "{base_url}: {}", ended.stderr);
    }
}

#[test]
fn an_unknown_outcome_shows_what_to_reconcile_by_and_no_pause_before_a_second_try() {
    let busy = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n";
    let peer = Peer::new(Then::Answer(busy.to_vec()));
    let create = ["token-transaction", "create", "--file", "-", "--output", "text"];
    let request = TOKEN_PAYMENT.replace('}', r#","ReferenceNo":"invoice 1843"}"#);
    let ended = payments_at(&peer.base_url, create).stdin(request).end();
    assert_eq!(ended.code, Some(5));
    for row in ["  amount       45.00\n", "  reference    invoice 1843\n", "  sent at      2"] {
        assert!(ended.stderr.contains(row), "{row}: {}", ended.stderr);
    }
    assert!(!ended.stderr.contains("retry after"), "{}", ended.stderr);
    let get =
        payments_at(&peer.base_url, ["transaction", "get", "txn_1", "--output", "text", "--timeout", "5"]);
    assert!(get.end().stderr.contains("  retry after  7 s\n"), "a look-up may be run again");
}

#[test]
fn a_404_for_a_payment_or_a_void_hints_at_the_path_of_the_base_address() {
    let elsewhere = r#"{"status":"failed","status_code":404,"msg":"Path not found"}"#;
    let hint =
        "check the base address (PAYMENTS_BASE_URL), which must end in the service's path prefix, such as";
    for arguments in [&["transaction", "create", "--file", "-"][..], &["void", "txn_1"]] {
        for body in [elsewhere, "<html>"] {
            let ended = text(answering("404 Not Found", body), arguments);
            assert!(ended.code == Some(7) && ended.stderr.contains(hint), "{}", ended.stderr);
        }
    }
    // The service answers so where it does not know the transaction.
    let ended = text(answering("404 Not Found", answers::NOT_FOUND), &["transaction", "get", "txn_1"]);
    assert!(!ended.stderr.contains("hint"), "{}", ended.stderr);
}

#[test]
fn a_void_that_is_refused_is_told_what_can_be_voided() {
    let refused =
        r#"{"status":"failed","status_code":400,"msg":"bad request error: invalid transaction id"}"#;
    let hint = "only an authorization that is not yet voided can be voided";
    let ended = text(answering("400 Bad Request", refused), &["void", "txn_1"]);
    assert!(ended.code == Some(4) && ended.stderr.contains(hint), "{}", ended.stderr);
    let ended = text(answering("400 Bad Request", answers::POSTAL_CODE), &["void", "txn_1"]);
    assert!(!ended.stderr.contains(hint), "{}", ended.stderr);
}

#[test]
fn a_deadline_too_short_to_connect_is_told_as_such() {
    let peer = Peer::answering("200 OK", answers::RECORD);
    let arguments = ["void", "txn_1", "--output", "text", "--timeout", "0.000001"];
    let ended = payments_at(&peer.base_url, arguments).end();
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("within the call's deadline of 1µs: raise the deadline, which came from --timeout"),
        "{}",
        ended.stderr
    );
    assert!(!ended.stderr.contains("--base-url"), "{}", ended.stderr);
}
