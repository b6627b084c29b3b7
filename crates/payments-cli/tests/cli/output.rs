//! What goes to stdout, and what happens when stdout is closed.

use crate::support::{CARD_PAYMENT, CREATE, Peer, begins, has, payments, payments_at, responses};

#[test]
fn payment_result_that_cannot_be_written_goes_to_stderr_and_exits_1() {
    for shape in ["json", "text"] {
        let peer = Peer::responding("200 OK", responses::RECORD);
        let run = payments_at(&peer.base_url, ["transaction", "create", "--file", "-", "--output", shape]);
        let ended = run.stdin(CARD_PAYMENT).end_unread().exits(1);
        has(&ended.stderr, ["PROCESSED", "The money moved: do not run it again", "TransactionId txn_1"]);
    }
}

#[test]
fn closed_pipe_does_not_panic() {
    let peer = Peer::responding("200 OK", responses::TRANSACTION_FOUND);
    let ended = payments_at(&peer.base_url, ["transaction", "get", "txn_1"]).end_unread();
    assert_eq!(ended.code, Some(1));
    begins(&ended.stderr, "found, but the result could not be written");
    let ended = payments(["pay"]).end_unread().exits(2);
    assert!(!ended.stderr.contains("internal error"), "{ended:?}");
}

/// As `payments help settings | head -1` does.
#[test]
fn commands_that_only_print_end_quietly_when_the_pipe_is_closed() {
    let quiet: &[&[&str]] = &[
        &["--help"],
        &["--version"],
        &["help", "settings"],
        &["journal", "list", "--help"],
        &["completions", "zsh"],
        &["sandbox", "magic"],
        &["sandbox", "magic", "--output", "json"],
        &["sandbox", "openapi"],
        &["demo"],
    ];
    for arguments in quiet {
        let ended = payments(arguments.iter()).end_unread();
        assert_eq!((ended.code, &*ended.stderr), (Some(1), ""), "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn document_that_cannot_be_written_is_reported() {
    for arguments in [&["--help"][..], &["completions", "bash"], &["sandbox", "openapi"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("it can be opened");
        let ended = payments(arguments.iter()).stdout(full).end_with_given_stdout().exits(1);
        assert!(ended.stderr.contains("could not be written to stdout"), "{ended:?}");
    }
}

#[test]
fn failure_keeps_its_exit_code_when_stdout_is_closed() {
    let peer = Peer::responding("502 Bad Gateway", "");
    let run = payments_at(&peer.base_url, CREATE);
    assert_eq!(run.stdin(CARD_PAYMENT).end_unread().code, Some(5));
}

#[test]
fn control_characters_of_the_service_are_not_printed() {
    let record = "{\"status_code\":200,\"message\":\"ok\",\"data\":{\"TransactionId\":\"txn_1\",\"Status\":\"\\u001b[2J\",\
                  \"BillingCity\":\"\u{9b}31mX\u{202e}\",\"New\\u001b\":\"\\r\\nPROCESSED\"}}";
    let refusal =
        "{\"status\":\"failed\",\"status_code\":400,\"msg\":\"\\u001b[2J\u{9b}1m\u{202e}\\r\\nPROCESSED\"}";
    for shape in ["json", "text"] {
        for (status, body) in [("200 OK", record), ("400 Bad Request", refusal)] {
            let peer = Peer::responding(status, body);
            let ended = payments_at(&peer.base_url, ["transaction", "get", "txn_1", "--output", shape]).end();
            let shown = ended.stdout + &ended.stderr;
            assert!(!shown.is_empty());
            let treacherous = |letter: char| (letter.is_control() && letter != '\n') || letter == '\u{202e}';
            assert!(!shown.contains(treacherous), "{shown:?}");
            assert!(!shown.contains("\nPROCESSED\n"), "{shown:?}");
        }
    }
}

#[test]
fn json_keeps_the_services_text_exactly() {
    let record = "{\"status_code\":200,\"message\":\"ok\",\"data\":{\"TransactionId\":\"txn_1\",\"BillingCity\":\"\u{9b}\u{202e}\\u001b é\"}}";
    let peer = Peer::responding("200 OK", record);
    let data = payments_at(&peer.base_url, ["transaction", "get", "txn_1"]).end().processed();
    assert_eq!(data["BillingCity"], "\u{9b}\u{202e}\u{1b} é");
}
