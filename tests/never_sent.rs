//! Is every deadline before the first byte `NotProcessed`, for every operation?
//!
//! The conformance kit has a contract for each such failure, and the tests of the `payments` command check each once more.

use std::time::Duration;

use payments_core::{ApiKey, Client, Endpoint, Outcome};
use payments_fake::FakeGateway;
use payments_hyper::{HyperTransport, TokioTimer};
use payments_tests::UnresponsivePort;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::calls::{Call, unknown_id};

fn client(base_url: &str, connect: Duration, total: Duration) -> Client {
    let endpoint = Endpoint::new(base_url, ApiKey::new(FakeGateway::API_KEY).unwrap()).unwrap();
    let client = Client::builder(endpoint, HyperTransport::builder().build().unwrap(), TokioTimer::new());
    client.connect_timeout(connect).total_timeout(total).lookup_retries(0).build()
}

/// Any two deadlines, including zero.
#[test]
fn any_deadline_before_connection_is_not_processed_d02_d23() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut ports = vec![("https", UnresponsivePort::silent())];
    if cfg!(target_os = "linux") {
        ports.extend([("http", UnresponsivePort::full()), ("https", UnresponsivePort::full())]);
    }
    let deadline = || (0..20_000_u64).prop_map(Duration::from_micros);
    let any = (0..ports.len(), prop::sample::select(Call::ALL.to_vec()), deadline(), deadline());
    let config = Config { cases: 100, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&any, |(port, call, connect, total)| {
            let (scheme, port) = &ports[port];
            let client = client(&format!("{scheme}://{}/api", port.address()), connect, total);
            let error = runtime.block_on(call.make(&client, &unknown_id())).unwrap_err();
            prop_assert_eq!(error.outcome, Outcome::NotProcessed, "{:?}", error);
            Ok(())
        })
        .unwrap();
    for (_, port) in ports {
        port.assert_no_request_came();
    }
}
