//! The same commands with a journal in PostgreSQL.
#![cfg(unix)]

use payments_core::OperationName;
use payments_fake::Fault;
use payments_postgres_for_tests::{Server, Shutdown};
use serde_json::{Value, json};

use crate::batch_runs::Billing;
use crate::journaled_charges::Workspace;
use crate::support::{Ended, TOKEN_PAYMENT, begins};

/// Runs `arguments` with the database as journal.
fn run(workspace: &Workspace, server: &Server, arguments: &[&str]) -> Ended {
    let run = workspace.run(arguments.iter()).env("PAYMENTS_JOURNAL", &server.url());
    run.stdin(TOKEN_PAYMENT).end()
}

#[test]
fn postgresql_journal_behaves_like_a_file() {
    let Some(server) = Server::start() else { return };
    let workspace = Workspace::open();
    let payments = |arguments: &[&str]| run(&workspace, &server, arguments);
    let charge = |key: &str| payments(&["token-transaction", "create", "--file", "-", "--key", key]);

    // Twice, because listing must not create a journal.
    for _ in 0..2 {
        assert_eq!(payments(&["journal", "list"]).failed(2)["kind"], "no_journal");
    }

    let first = charge("invoice-17");
    begins(&first.stderr, "created the journal postgres://");
    let id = first.json()["data"]["TransactionId"].clone();
    let again = charge("invoice-17").json();
    assert_eq!((&again["data"]["TransactionId"], &again["recorded"]), (&id, &json!(true)), "{again}");
    workspace.arm(Fault::response_lost(OperationName::TokenTransaction));
    charge("invoice-18").failed(5);
    charge("invoice-18").failed(5);
    assert_eq!(workspace.requests(), 2);

    let unresolved: Value =
        serde_json::from_str(&payments(&["journal", "list", "--unresolved"]).stdout).expect("an array");
    assert_eq!(unresolved.as_array().map(Vec::len), Some(1), "{unresolved}");
    assert_eq!(unresolved[0]["key"], "invoice-18");
    let note = ["journal", "resolve", "invoice-18", "--not-processed", "--note", "not in the books"];
    assert_eq!(payments(&note).json()["resolved_as"], "not_processed");
    charge("invoice-18").processed();
    let exported = payments(&["journal", "export"]);
    assert_eq!(exported.stdout.lines().count(), 2, "{exported:?}");
}

#[test]
fn journal_is_read_by_a_user_who_may_only_read() {
    let Some(server) = Server::start() else { return };
    let workspace = Workspace::open();
    run(&workspace, &server, &["token-transaction", "create", "--file", "-", "--key", "invoice-17"])
        .processed();
    let read_only = format!("{}?options=-c%20default_transaction_read_only%3Don", server.url());
    for arguments in [&["journal", "list"][..], &["journal", "show", "invoice-17"], &["journal", "export"]] {
        let ended = workspace.run(arguments.iter()).env("PAYMENTS_JOURNAL", &read_only).end().exits(0);
        assert!(ended.stdout.contains("invoice-17"), "{ended:?}");
    }
}

#[test]
fn journal_url_that_can_never_work_is_invalid_and_not_called_safe_to_repeat() {
    let Some(mut server) = Server::start() else { return };
    server.stop(Shutdown::Fast);
    server.write("pg_hba.conf", "local all all scram-sha-256\n");
    server.start_again();
    let billing = Billing::open();
    billing.good(1);
    let (workspace, rows) = (&billing.workspace, billing.path("rows.csv"));
    for (parameters, what) in [
        ("", "requires a password, and the URL has none"),
        ("?sslmode=require", "does not offer TLS"),
        ("?sslcert=client.pem", "the parameter sslcert, which is not supported"),
    ] {
        let url = format!("{}{parameters}", server.url());
        for (arguments, code) in [
            (["batch", "run", &rows].as_slice(), 2),
            (&["journal", "list"], 2),
            // An earlier call with the key may have paid.
            (&["token-transaction", "create", "--file", "-", "--key", "invoice-17"], 5),
        ] {
            let run = workspace.run(arguments.iter()).env("PAYMENTS_JOURNAL", &url);
            let ended = run.stdin(TOKEN_PAYMENT).end();
            let error = ended.failed(code);
            let text = error.to_string();
            assert!(text.contains(what), "{text}");
            assert!(!text.contains("safe"), "{text}");
        }
    }
    assert_eq!(workspace.requests(), 0);
}
