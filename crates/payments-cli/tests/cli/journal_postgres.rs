//! The same commands with a journal in PostgreSQL.
#![cfg(unix)]

use std::collections::HashSet;
use std::thread;

use payments_postgres_for_tests::{Server, Shutdown};

use crate::prelude::*;

/// Runs this line with the database as journal.
fn run(workspace: &Workspace, url: &str, line: &str) -> Ended {
    workspace.run(line).env("PAYMENTS_JOURNAL", url).stdin(TOKEN_PAYMENT).end()
}

#[test]
fn postgresql_journal_behaves_like_a_file() {
    let Some(server) = Server::start() else { return };
    let workspace = Workspace::open();
    let payments = |line: &str| run(&workspace, &server.url(), line);
    let charge = |key: &str| payments(&format!("token-transaction create --file - --key {key}"));
    // Twice, because listing must not create a journal.
    for _ in 0..2 {
        payments("journal list").failed_as(2, "no_journal");
    }
    let first = charge("invoice-17");
    begins(&first.stderr, "created the journal postgres://");
    let again = charge("invoice-17");
    assert_eq!((again.paid_id(), &again.json()["recorded"]), (first.paid_id(), &json!(true)), "{again:?}");
    workspace.arm(Fault::response_lost(TOKENS));
    charge("invoice-18").failed(5);
    charge("invoice-18").failed(5);
    assert_eq!(workspace.requests(), 2);

    let unresolved: Value =
        serde_json::from_str(&payments("journal list --unresolved").stdout).expect("an array");
    assert_eq!(unresolved.as_array().map(Vec::len), Some(1), "{unresolved}");
    assert_eq!(unresolved[0]["key"], "invoice-18");
    let resolved = payments("journal resolve invoice-18 --not-processed --note 'not in the books'");
    assert_eq!(resolved.json()["resolved_as"], "not_processed");
    charge("invoice-18").processed();
    assert_eq!(payments("journal export").stdout.lines().count(), 2);

    // By a user who may only read.
    let read_only = format!("{}?options=-c%20default_transaction_read_only%3Don", server.url());
    for line in ["journal list", "journal show invoice-17", "journal export"] {
        has(run(&workspace, &read_only, line).exits(0).stdout, ["invoice-17"]);
    }
}

#[test]
fn journal_url_that_can_never_work_is_invalid_and_not_called_safe_to_repeat() {
    let Some(mut server) = Server::start() else { return };
    server.stop(Shutdown::Fast);
    server.write("pg_hba.conf", "local all all scram-sha-256\n");
    server.start_again();
    let workspace = Workspace::with_rows(1);
    let batch = format!("batch run {}", workspace.path("rows.csv"));
    for (parameters, what) in [
        ("", "requires a password, and the URL has none"),
        ("?sslmode=require", "does not offer TLS"),
        ("?sslcert=client.pem", "the parameter sslcert, which is not supported"),
    ] {
        let url = format!("{}{parameters}", server.url());
        for (line, code) in [
            (&*batch, 2),
            ("journal list", 2),
            // An earlier call with the key may have paid.
            ("token-transaction create --file - --key invoice-17", 5),
        ] {
            let ended = run(&workspace, &url, line);
            has(ended.failed(code).to_string(), [what]);
            ended.hides(["safe"]);
        }
    }
    assert_eq!(workspace.requests(), 0);
}

const PROCESSES: usize = 4;
const IN_FLIGHT: usize = 4;

/// Starts a run of the same file in each of [`PROCESSES`] processes, as on several machines.
fn fleet(workspace: &Workspace, server: &Server) -> Vec<Running> {
    let options = format!("--concurrency 4 --journal {}", server.url());
    (0..PROCESSES).map(|_| workspace.billing(&options).start()).collect()
}

/// The number of requests at the service. Checks that no row was sent twice.
fn sent(workspace: &Workspace) -> usize {
    let requests = workspace.sandbox.gateway().requests();
    let references: Vec<_> = requests.iter().filter_map(|request| request.field("ReferenceNo")).collect();
    let distinct: HashSet<_> = references.iter().collect();
    assert_eq!((references.len(), distinct.len()), (requests.len(), requests.len()), "a row was sent twice");
    requests.len()
}

#[test]
fn processes_share_the_rows_and_report_the_whole_file() {
    let Some(server) = Server::start() else { return };
    let workspace = Workspace::with_rows(200);
    let mut sent_here = 0;
    for running in fleet(&workspace, &server) {
        let ended = running.end();
        ended.ends(0, "processed");
        assert_eq!(ended.count("processed") + ended.count("processed_earlier"), 200, "{ended:?}");
        sent_here += ended.count("processed");
    }
    assert_eq!(sent_here, 200, "not every row was processed by one process");
    assert_eq!((sent(&workspace), workspace.charged().len()), (200, 200));
}

#[test]
fn rows_in_flight_in_a_killed_process_are_unknown_and_never_sent_again() {
    let Some(server) = Server::start() else { return };
    let workspace = Workspace::with_rows(60);
    let gate = workspace.sandbox.gateway().gate(TOKENS);
    let mut fleet = fleet(&workspace, &server);
    while gate.held() < PROCESSES * IN_FLIGHT {
        thread::yield_now();
    }
    let killed = fleet.pop().expect("four were started");
    killed.signal("KILL");
    drop(killed);
    gate.release();

    for running in fleet {
        let ended = running.end();
        ended.ends(5, "unknown");
        assert_eq!(ended.count("processed") + ended.count("processed_earlier"), 56, "{ended:?}");
        assert_eq!(ended.count("unknown") + ended.count("unknown_earlier"), 4, "{ended:?}");
        assert_eq!(ended.json()["unresolved"].as_array().map(Vec::len), Some(4), "{ended:?}");
    }
    // Each request of the killed process may or may not have arrived.
    let sent_before = sent(&workspace);
    assert!((56..=60).contains(&sent_before) && workspace.charged().len() <= sent_before, "{sent_before}");

    let again = self::fleet(&workspace, &server).remove(0).end();
    assert_eq!((again.code, again.count("unknown_earlier")), (Some(5), 4));
    assert_eq!(sent(&workspace), sent_before, "the same command sent something again");
}
