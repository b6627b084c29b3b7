//! Is every failure before the first byte `NotProcessed`, for every operation and any deadline?
//!
//! The conformance kit has a contract for each such failure, and the tests of the `payments` command check each once more.

use std::time::Duration;

use payments_core::{ApiKey, Client, Endpoint, Outcome};
use payments_fake::FakeGateway;
use payments_hyper::{HyperTransport, TokioTimer};
use payments_sandbox::Sandbox;
use payments_tests::UnresponsivePort;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rcgen::CertifiedKey;

use crate::calls::{Call, unknown_id};

fn client(base_url: &str, transport: &HyperTransport) -> Client {
    client_within(base_url, transport, Duration::from_secs(30), Duration::from_mins(1))
}

fn client_within(base_url: &str, transport: &HyperTransport, connect: Duration, total: Duration) -> Client {
    let endpoint = Endpoint::new(base_url, ApiKey::new(FakeGateway::API_KEY).unwrap()).unwrap();
    let client = Client::builder(endpoint, transport.clone(), TokioTimer::new());
    client.connect_timeout(connect).total_timeout(total).lookup_retries(0).build()
}

fn transport() -> HyperTransport {
    HyperTransport::builder().build().unwrap()
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
            let client =
                client_within(&format!("{scheme}://{}/api", port.address()), &transport(), connect, total);
            let error = runtime.block_on(call.make(&client, &unknown_id())).unwrap_err();
            prop_assert_eq!(error.outcome(), Outcome::NotProcessed, "{:#}", error);
            Ok(())
        })
        .unwrap();
    for (_, port) in ports {
        port.assert_no_request_came();
    }
}

/// A sandbox with a certificate for this name, and the certificate.
async fn https_sandbox(name: &str) -> (Sandbox, FakeGateway, String) {
    let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let gateway = FakeGateway::new();
    let sandbox =
        Sandbox::builder().gateway(gateway.clone()).tls_pem(cert.pem(), signing_key.serialize_pem());
    (sandbox.start().await.unwrap(), gateway, cert.pem())
}

fn trusting(pem: &str) -> HyperTransport {
    HyperTransport::builder().only_root_certificates_pem(pem).build().unwrap()
}

#[track_caller]
fn assert_nothing_received(gateway: &FakeGateway) {
    assert_eq!(gateway.requests().len(), 0);
    assert_eq!(gateway.ledger().entries().len(), 0);
}

/// The server closes a pooled connection and refuses new ones.
#[tokio::test]
async fn dead_pooled_connection_is_not_processed_d02() {
    for call in Call::ALL {
        let (https, gateway, pem) = https_sandbox("127.0.0.1").await;
        dead_pool(https, &gateway, &trusting(&pem), call).await;
        let gateway = FakeGateway::new();
        let http = Sandbox::builder().gateway(gateway.clone()).start().await.unwrap();
        dead_pool(http, &gateway, &transport(), call).await;
    }
}

async fn dead_pool(sandbox: Sandbox, gateway: &FakeGateway, transport: &HyperTransport, call: Call) {
    let (base_url, address) = (sandbox.base_url(), sandbox.local_addr());
    let client = client(base_url, transport);
    Call::Customer.make(&client, &unknown_id()).await.unwrap();
    gateway.clear_requests();
    sandbox.shutdown().await.unwrap();
    let _port = UnresponsivePort::refusing_at(address);
    let error = call.make(&client, &unknown_id()).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotProcessed, "{call:?}: {error:#}");
    assert_nothing_received(gateway);
}
