//! Measures the cost of a durable change:
//!
//! `cargo test --release -p payments-journal --test journal postgres::speed -- --ignored --nocapture`

use std::sync::Arc;
use std::time::Instant;

use payments_core::model::TransactionId;
use payments_journal::PostgresStore;
use payments_journal::internals::{Change, Ending, IntentStore};
use payments_postgres_for_tests::Server;
use tokio::task::JoinSet;

use crate::contract::{at, begun};

/// Begins and ends intents, two changes each. Returns changes per second.
async fn rate(store: &Arc<PostgresStore>, callers: usize, each: usize) -> u128 {
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for caller in 0..callers {
        let store = store.clone();
        tasks.spawn(async move {
            for number in 0..each {
                let name = format!("run-{callers}-{caller}-{number}");
                let begun = begun(&*store, &name).await;
                let ending = Ending::Processed(TransactionId::from_response(format!("txn-{name}")).unwrap());
                let ended =
                    store.apply(Change::end(begun.key, begun.attempt_id, ending, at(1))).await.unwrap();
                assert!(ended.written().is_some());
            }
        });
    }
    tasks.join_all().await;
    (2 * callers * each) as u128 * 1_000_000 / start.elapsed().as_micros()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it measures"]
async fn cost_of_a_change() {
    let Some(server) = Server::start() else { return };
    let store = Arc::new(PostgresStore::connect(&server.url()).await.unwrap());
    rate(&store, 8, 50).await;
    for _ in 0..3 {
        let (one, many) = (rate(&store, 1, 400).await, rate(&store, 64, 50).await);
        println!("changes per second: {one} with 1 caller, {many} with 64");
        server_truncate(&server).await;
    }
}

async fn server_truncate(server: &Server) {
    super::sql(&server.url(), "DELETE FROM payments_journal.intents").await;
}
