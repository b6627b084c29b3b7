//! The text output: the headline, and what to do.

use crate::support::{
    CARD_PAYMENT, CREATE, Ended, Peer, TOKEN_PAYMENT, Then, begins, has, payments_at, response, responses,
};

/// Runs the command with text output against this server.
fn text(then: Then, arguments: &[&str]) -> Ended {
    let peer = Peer::new(then);
    let run = payments_at(&peer.base_url, arguments.iter()).arguments(["--output", "text"]);
    run.stdin(CARD_PAYMENT).end()
}

fn responding(status: &str, body: &str) -> Then {
    Then::Respond(response(status, body))
}

#[test]
fn found_record_is_not_presented_as_proof_of_a_charge() {
    let ended =
        text(responding("200 OK", responses::TRANSACTION_FOUND), &["transaction", "get", "txn_1"]).quiet(0);
    let lines: Vec<_> = ended.stdout.lines().take(2).collect();
    let note = "  a record is not proof of a charge: the meaning of Status is not published";
    assert_eq!(lines, ["FOUND (HTTP 200)", note]);

    let ended = text(responding("200 OK", responses::CUSTOMER_FOUND), &["customer", "get", "cus_1"]).quiet(0);
    begins(&ended.stdout, "FOUND (HTTP 200)\n  CustomerId ");
}

#[test]
fn record_of_another_transaction_gets_a_warning_in_text_only() {
    let ended = text(responding("200 OK", responses::TRANSACTION_FOUND), &["transaction", "get", "txn_2"]);
    assert_eq!(ended.code, Some(0));
    assert_eq!(
        ended.stderr,
        "WARNING: the record belongs to another transaction: requested txn_2, received txn_1\n"
    );
    let peer = Peer::responding("200 OK", responses::TRANSACTION_FOUND);
    payments_at(&peer.base_url, ["transaction", "get", "txn_2"]).end().processed();
}

#[test]
fn failed_lookup_says_nothing_about_the_payment() {
    let get = ["transaction", "get", "txn_1"];
    let cases = [
        (
            responding("404 Not Found", responses::NOT_FOUND),
            &get,
            "NOT FOUND, which does not prove that nothing was or will be charged (exit code 7)",
        ),
        // Not in the service's format, so from a proxy.
        (
            responding("404 Not Found", "<html>"),
            &get,
            "LOOKUP REJECTED, which says nothing about the payment (",
        ),
        (Then::Close, &["customer", "get", "cus_1"], "NOT LOOKED UP, it is safe to run it again ("),
        (
            responding("404 Not Found", responses::NOT_FOUND),
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
fn unknown_outcome_suggests_a_lookup_only_with_an_id() {
    let ended = text(Then::Close, &CREATE);
    let headline = "OUTCOME UNKNOWN, do not run it again: reconcile by amount, last four digits, payer's name \
                    and time (";
    begins(&ended.stderr, headline);
    assert!(!ended.stderr.contains("look it up"), "{}", ended.stderr);

    // An id that a lookup refuses must not be part of a command to paste.
    let strange = r#"{"status":"pending","data":{"TransactionId":"$(reboot)/.."}}"#;
    let ended = text(responding("200 OK", strange), &CREATE);
    begins(&ended.stderr, headline);
    assert!(!ended.stderr.contains("look it up"), "{}", ended.stderr);

    // Any other id is quoted for the shell.
    let strange = r#"{"status":"pending","data":{"TransactionId":"$(reboot) 'now'"}}"#;
    let ended = text(responding("200 OK", strange), &CREATE);
    let command = r"payments transaction get '$(reboot) '\''now'\'''";
    assert!(ended.stderr.contains(command), "{}", ended.stderr);

    // A void's own request names the transaction.
    let ended = text(Then::Close, &["void", "txn_1"]);
    begins(&ended.stderr, "OUTCOME UNKNOWN, do not run it again: look it up (");
    assert!(ended.stderr.contains("look it up  payments transaction get txn_1\n"), "{}", ended.stderr);
}

#[test]
fn unknown_outcome_shows_reconciliation_data_and_no_retry_after() {
    let busy = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n";
    let peer = Peer::new(Then::Respond(busy.to_vec()));
    let create = ["token-transaction", "create", "--file", "-", "--output", "text"];
    let request = TOKEN_PAYMENT.replace('}', r#","ReferenceNo":"invoice 1843"}"#);
    let ended = payments_at(&peer.base_url, create).stdin(request).end();
    assert_eq!(ended.code, Some(5));
    has(&ended.stderr, ["  amount       45.00\n", "  reference    invoice 1843\n", "  sent at      2"]);
    assert!(!ended.stderr.contains("retry after"), "{}", ended.stderr);
    let get =
        payments_at(&peer.base_url, ["transaction", "get", "txn_1", "--output", "text", "--timeout", "5"]);
    assert!(get.end().stderr.contains("  retry after  7 s\n"), "a look-up may be run again");
}

#[test]
fn http_404_for_a_payment_or_void_hints_at_the_base_path() {
    let elsewhere = r#"{"status":"failed","status_code":404,"msg":"Path not found"}"#;
    let hint = "check the base URL (PAYMENTS_BASE_URL), which must end in the service's path prefix, such as";
    for arguments in [&CREATE[..], &["void", "txn_1"]] {
        for body in [elsewhere, "<html>"] {
            let ended = text(responding("404 Not Found", body), arguments);
            assert!(ended.code == Some(7) && ended.stderr.contains(hint), "{}", ended.stderr);
        }
    }
    // This is how the service reports an unknown transaction.
    let ended = text(responding("404 Not Found", responses::NOT_FOUND), &["transaction", "get", "txn_1"]);
    assert!(!ended.stderr.contains("hint"), "{}", ended.stderr);
}

#[test]
fn rejected_void_hints_at_what_can_be_voided() {
    let refused =
        r#"{"status":"failed","status_code":400,"msg":"bad request error: invalid transaction id"}"#;
    let hint = "only an authorization that is not yet voided can be voided";
    let ended = text(responding("400 Bad Request", refused), &["void", "txn_1"]);
    assert!(ended.code == Some(4) && ended.stderr.contains(hint), "{}", ended.stderr);
    let ended = text(responding("400 Bad Request", responses::POSTAL_CODE), &["void", "txn_1"]);
    assert!(!ended.stderr.contains(hint), "{}", ended.stderr);
}
