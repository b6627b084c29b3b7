//! Measures the cost of a durable change:
//!
//! `cargo test --release -p payments-journal --test journal postgres::speed -- --ignored --nocapture`

use std::sync::Arc;

use super::{opened, sql};
use crate::sqlite_speed::charge;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it measures"]
async fn cost_of_a_change() {
    let Some((server, store)) = opened().await else { return };
    let store = Arc::new(store);
    charge(&store, 8, 50, |number| format!("first-{number}")).await;
    for _ in 0..3 {
        let one = charge(&store, 1, 400, |number| format!("one-{number}")).await;
        let many = charge(&store, 64, 50, |number| format!("many-{number}")).await;
        println!("changes: {one} with 1 caller, {many} with 64");
        sql(&server.url(), "DELETE FROM payments_journal.intents").await;
    }
}
