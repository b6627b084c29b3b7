//! `payments batch run` of one file in several processes with one journal in PostgreSQL, as on several machines.
#![cfg(unix)]

use std::collections::HashSet;
use std::thread;

use payments_core::OperationName;
use payments_postgres_for_tests::Server;
use serde_json::json;

use crate::batch_runs::{Billing, counts, ends};
use crate::support::Running;

const PROCESSES: usize = 4;
const IN_FLIGHT: usize = 4;

/// Starts a run of the same file in each of [`PROCESSES`] processes.
fn fleet(billing: &Billing, server: &Server) -> Vec<Running> {
    let run = || {
        let options = ["--concurrency", "4", "--journal", &server.url()];
        let arguments = ["batch", "run", &billing.path("rows.csv")];
        billing.workspace.run(arguments).arguments(options).start()
    };
    (0..PROCESSES).map(|_| run()).collect()
}

/// The number of requests at the service. Checks that no row was sent twice.
fn sent(billing: &Billing) -> usize {
    let requests = billing.workspace.sandbox.gateway().requests();
    let references: Vec<_> = requests.iter().filter_map(|request| request.field("ReferenceNo")).collect();
    let distinct: HashSet<_> = references.iter().collect();
    assert_eq!((references.len(), distinct.len()), (requests.len(), requests.len()), "a row was sent twice");
    requests.len()
}

#[test]
fn processes_share_the_rows_and_report_the_whole_file() {
    let Some(server) = Server::start() else { return };
    let billing = Billing::open();
    billing.good(200);
    let mut sent_here = 0;
    for running in fleet(&billing, &server) {
        let ended = running.end();
        ends(&ended, 0, "processed", None);
        let rows = &ended.json()["rows"];
        let count = |name: &str| rows[name]["count"].as_u64().expect("a count");
        assert_eq!(count("processed") + count("processed_earlier"), 200, "{ended:?}");
        sent_here += count("processed");
    }
    assert_eq!(sent_here, 200, "not every row was processed by one process");
    assert_eq!((sent(&billing), billing.charged().len()), (200, 200));
}

#[test]
fn rows_in_flight_in_a_killed_process_are_unknown_and_never_sent_again() {
    let Some(server) = Server::start() else { return };
    let billing = Billing::open();
    billing.good(60);
    let gate = billing.workspace.sandbox.gateway().gate(OperationName::TokenTransaction);
    let mut fleet = fleet(&billing, &server);
    while gate.held() < PROCESSES * IN_FLIGHT {
        thread::yield_now();
    }
    let killed = fleet.pop().expect("four were started");
    killed.signal("KILL");
    drop(killed);
    gate.release();

    for running in fleet {
        let ended = running.end();
        ends(&ended, 5, "unknown", None);
        let document = ended.json();
        let count = |name: &str| document["rows"][name]["count"].as_u64().expect("a count");
        assert_eq!(count("processed") + count("processed_earlier"), 56, "{ended:?}");
        assert_eq!(count("unknown") + count("unknown_earlier"), 4, "{ended:?}");
        assert_eq!(document["unresolved"].as_array().map(Vec::len), Some(4), "{document}");
    }
    // Each request of the killed process may or may not have arrived.
    let sent_before = sent(&billing);
    assert!((56..=60).contains(&sent_before) && billing.charged().len() <= sent_before, "{sent_before}");

    let again = self::fleet(&billing, &server).remove(0).end();
    assert_eq!((again.code, counts(&again)["unknown_earlier"].clone()), (Some(5), json!(4)));
    assert_eq!(sent(&billing), sent_before, "the same command sent something again");
}
