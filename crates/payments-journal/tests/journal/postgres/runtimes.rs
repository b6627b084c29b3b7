//! A program with several runtimes, of which some are not running: no thread drives them.

use std::time::Duration;

use futures_util::future::join_all;
use payments_journal::PostgresStore;
use payments_journal::internals::IntentStore as _;
use payments_postgres_for_tests::Server;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::{administrator, until};
use crate::contract;

/// Not running, except in `block_on`.
fn parked() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A session that it opened would not be driven.
#[test]
fn store_is_used_while_the_runtime_that_opened_it_is_not_running() {
    let Some(server) = Server::start() else { return };
    let (opening, calling) = (parked(), parked());
    let store = opening.block_on(PostgresStore::connect(&server.url())).unwrap();
    for (runtime, key) in [(&calling, "k"), (&opening, "l"), (&calling, "m")] {
        let beginning = store.apply(contract::begin(key, &store, 1));
        let begun = runtime.block_on(async { timeout(Duration::from_secs(5), beginning).await });
        assert!(begun.expect("it waits for the other runtime").unwrap().written().is_some());
    }
}

/// The clock of its runtime jumps whenever nothing else is to be done.
#[test]
fn closing_does_not_wait_forever_for_a_call_of_a_runtime_that_is_not_running() {
    let Some(server) = Server::start() else { return };
    let calling = parked();
    let store = calling.block_on(PostgresStore::connect(&server.url())).unwrap();
    let mut summing = Box::pin(store.summarize(None));
    let is_waiting = async { timeout(Duration::ZERO, &mut summing).await.is_err() };
    assert!(calling.block_on(is_waiting));
    let closing = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let waiting = async { timeout(Duration::from_hours(1), store.close()).await };
    closing.block_on(waiting).expect("it waits forever");
    assert!(closing.block_on(store.find(&contract::key("k"))).unwrap_err().is_poisoned());
    // The call ends once its runtime runs again, and its connection is closed.
    calling.block_on(summing).unwrap();
    let url = server.url();
    let are_closed = async || {
        let others = "SELECT count(*) FROM pg_stat_activity
            WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        administrator(&url).await.query_one(others, &[]).await.unwrap().get::<_, i64>(0) == 0
    };
    calling.block_on(until("its connections are closed", are_closed));
}

/// One more holds the lock of the owner.
const MOST_CONNECTIONS: i64 = 9;

/// A server has few connections for many machines.
#[test]
fn runtimes_do_not_have_more_connections_than_one() {
    let Some(server) = Server::start() else { return };
    let running = || Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let url = format!("{}?application_name=store", server.url());
    let first = running();
    let store = first.block_on(PostgresStore::connect(&url)).unwrap();
    let find = async || store.find(&contract::key("k")).await.unwrap();
    let many = || join_all((0..32).map(|_| find()));
    let of_store = async || {
        let counting = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'store'";
        administrator(&server.url()).await.query_one(counting, &[]).await.unwrap().get::<_, i64>(0)
    };
    first.block_on(find());
    let ending = running();
    ending.block_on(find());
    assert_eq!(first.block_on(of_store()), 3);
    drop(ending);
    first.block_on(until("those of a runtime that has ended are closed", async || of_store().await == 2));

    first.block_on(many());
    let others = [running(), running()];
    for runtime in others.iter().cycle().take(8) {
        runtime.block_on(many());
        assert!(runtime.block_on(of_store()) <= MOST_CONNECTIONS);
    }
    for _ in 0..32 {
        let ending = running();
        ending.block_on(find());
    }
    assert!(first.block_on(of_store()) <= MOST_CONNECTIONS);
}
