//! How quick the fake is. For a release build: `cargo test --release -p payments-fake -- --ignored --nocapture quick`.

use std::time::{Duration, Instant};

use payments_fake::{FakeGateway, block_on};
use serde_json::json;

use crate::support::*;

const GOAL: Duration = Duration::from_micros(25);

fn median(mut call: impl FnMut()) -> Duration {
    let mut times: Vec<_> = (0..10_000)
        .map(|_| {
            let started = Instant::now();
            call();
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
#[allow(clippy::print_stdout, reason = "it is run to see the figures")]
#[ignore = "it measures, so it needs a release build and an idle machine"]
fn a_payment_and_a_lookup_are_quick() {
    let (gateway, payment) = (FakeGateway::new(), sale());
    let client = gateway.client();
    let paid = median(|| drop(block_on(client.process_card(&payment)).unwrap()));

    // The form of the ids that the fake gives out, so that each one is reserved.
    let id = |number: u32| format!("txn_{number:016x}");
    let transactions: Vec<_> =
        (0..100_000).map(|number| json!({"TransactionId": id(number), "Amount": 1})).collect();
    let gateway = FakeGateway::new();
    load(&gateway, &json!({ "transactions": transactions }));
    let (client, id) = (gateway.client(), id(77_777).parse().unwrap());
    let found = median(|| drop(block_on(client.transaction(&id)).unwrap()));
    println!("process_card: {paid:?}, a lookup among 100 000 transactions: {found:?}");
    assert!(paid <= GOAL && found <= GOAL, "process_card: {paid:?}, a lookup: {found:?}");
}
