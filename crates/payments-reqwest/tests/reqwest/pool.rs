//! Tests which calls share a connection.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use payments_core::{Client, SystemTimer};
use payments_reqwest::{ReqwestTransport, ReqwestTransportBuilder};
use payments_sandbox::Sandbox;

async fn connections_of_three_calls(builder: ReqwestTransportBuilder) -> usize {
    let clients = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&clients);
    let sandbox =
        Sandbox::builder().on_exchange(move |exchange| _ = seen.lock().unwrap().insert(exchange.client));
    let sandbox = sandbox.start().await.unwrap();
    let client = Client::builder(sandbox.endpoint(), builder.build().unwrap(), SystemTimer::new()).build();
    for _ in 0..3 {
        client.customer(&"cus_1".parse().unwrap()).await.unwrap();
        // Lets the connection's task return it to the pool.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    sandbox.shutdown().await.unwrap();
    clients.lock().unwrap().len()
}

#[tokio::test]
async fn without_idle_time_or_idle_connections_each_call_opens_its_own() {
    let builder = ReqwestTransport::builder();
    assert_eq!(connections_of_three_calls(builder.pool_idle_timeout(Duration::ZERO)).await, 3);
    let builder = ReqwestTransport::builder();
    assert_eq!(connections_of_three_calls(builder.max_idle_connections(0)).await, 3);
}
