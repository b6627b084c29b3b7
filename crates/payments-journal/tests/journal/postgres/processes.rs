//! Many processes on one database.

use std::env;
use std::io::stdin;
use std::time::Duration;

use payments_journal::internals::IntentStore as _;
use payments_journal::{Failure, FailureKind, IntentState, Journal, PostgresStore};
use payments_postgres_for_tests::Server;
use tokio::runtime::Builder;
use tokio::time::timeout;

use super::{connect, until};
use crate::contract::{begin, key};
use crate::process::{Process, respond};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn intent_of_a_killed_process_is_unknown() {
    let Some(server) = Server::start() else { return };
    let mut processes = start(2, &server);
    assert_eq!(processes[0].ask("begin of-the-living"), "begun");
    assert_eq!(processes[1].ask("begin of-the-dead"), "begun");
    let journal = Journal::open(connect(&server).await).await.unwrap();
    let state_of = async |name: &str| journal.find(&key(name)).await.unwrap().unwrap().state;
    assert_eq!(state_of("of-the-dead").await, IntentState::Sending);
    drop(processes.pop());
    until("it counts as dead", async || journal.mark_crashed().await.unwrap() == 1).await;
    assert_eq!(state_of("of-the-dead").await, IntentState::Unknown(Failure::of_kind(FailureKind::CRASH)));
    assert_eq!(state_of("of-the-living").await, IntentState::Sending);
}

/// No thread runs the task that holds the owner's lock.
#[test]
fn closing_does_not_wait_for_a_runtime_that_does_not_run() {
    let Some(server) = Server::start() else { return };
    let runtime = || Builder::new_current_thread().enable_all().build().unwrap();
    let (opening, closing) = (runtime(), runtime());
    let store = opening.block_on(PostgresStore::connect(&server.url())).unwrap();
    closing
        .block_on(async { timeout(Duration::from_mins(1), store.close()).await })
        .expect("it waits forever");

    // Once the runtime runs again, the task releases the lock.
    let owner = store.owner().clone();
    opening.block_on(async {
        let other = connect(&server).await;
        until("it counts as dead", async || !other.is_live(&owner).await.unwrap()).await;
    });
}

const DATABASE: &str = "PAYMENTS_TEST_DATABASE";

pub(super) fn start(count: usize, server: &Server) -> Vec<Process> {
    let (test, url) = ("postgres::processes::a_process", server.url());
    let start = |_| Process::of_test(&[], test, (DATABASE, url.as_ref()));
    let mut processes: Vec<_> = (0..count).map(start).collect();
    for process in &mut processes {
        assert_eq!(process.response(), "opened");
    }
    processes
}

/// The process that is started above: `begin KEY` begins this key. In an ordinary test run it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process() {
    let Ok(database) = env::var(DATABASE) else { return };
    let store = PostgresStore::connect(&database).await.unwrap();
    respond("opened");
    for line in stdin().lines() {
        let line = line.unwrap();
        let key = line.strip_prefix("begin ").unwrap();
        let applied = store.apply(begin(key, &store, 0)).await.unwrap();
        respond(if applied.written().is_some() { "begun" } else { "kept" });
    }
}
