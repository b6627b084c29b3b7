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
use crate::contract::{begin, intents, key};
use crate::process::{Process, respond};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_sixteen_processes_that_begin_one_key_wins() {
    const ROUNDS: usize = 50;
    let Some(server) = Server::start() else { return };
    let mut processes: Vec<_> = (0..16).map(|_| start(&server)).collect();
    for round in 0..ROUNDS {
        for process in &mut processes {
            process.send(&format!("round-{round}"));
        }
        let responses: Vec<_> = processes.iter_mut().map(Process::response).collect();
        let winners = responses.iter().filter(|response| *response == "begun").count();
        assert_eq!(winners, 1, "round {round}: {responses:?}");
        assert!(responses.iter().all(|response| response == "begun" || response == "kept"), "{responses:?}");
    }
    let store = connect(&server).await;
    let intents = intents(&store).await;
    assert_eq!(intents.len(), ROUNDS);
    assert!(intents.iter().all(|intent| intent.revision == 1 && intent.attempts == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn intent_of_a_killed_process_is_unknown() {
    let Some(server) = Server::start() else { return };
    let begun = |name: &str| {
        let mut process = start(&server);
        assert_eq!(process.ask(name), "begun");
        process
    };
    let (_living, dead) = (begun("of-the-living"), begun("of-the-dead"));
    let journal = Journal::open(connect(&server).await).await.unwrap();
    let state_of = async |name: &str| journal.find(&key(name)).await.unwrap().unwrap().state;
    assert_eq!(state_of("of-the-dead").await, IntentState::Sending);
    drop(dead);
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

fn start(server: &Server) -> Process {
    let url = server.url();
    let mut process = Process::of_test(&[], "postgres::processes::a_process", (DATABASE, url.as_ref()));
    assert_eq!(process.response(), "opened");
    process
}

/// The process that is started above: it begins each key that it reads. In an ordinary test run it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process() {
    let Ok(database) = env::var(DATABASE) else { return };
    let store = PostgresStore::connect(&database).await.unwrap();
    respond("opened");
    for key in stdin().lines() {
        let applied = store.apply(begin(&key.unwrap(), &store, 0)).await.unwrap();
        respond(if applied.written().is_some() { "begun" } else { "kept" });
    }
}
