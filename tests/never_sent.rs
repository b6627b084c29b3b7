//! Is every failure before the first byte `NotProcessed`, over real sockets?
//!
//! Each test also checks that no part of a request was received.

use std::io::Read;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use payments_core::model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, CustomerId, TokenTransaction,
    TransactionId, TransactionType, ValidationError, Void,
};
use payments_core::{ApiKey, Client, Endpoint, Error, ErrorKind, Outcome};
use payments_fake::unversioned::SuccessEnvelope;
use payments_fake::{FakeGateway, ManualClock, ScriptedTransport};
use payments_hyper::{HyperTransport, TokioTimer};
use payments_sandbox::Sandbox;
use payments_tests::UnresponsivePort;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rcgen::CertifiedKey;

use crate::calls::{Call, unknown_id};
use crate::requests::{APPROVED, payer, token};

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

/// Asserts that every call fails with `NotProcessed` and the same code. Returns the code.
async fn code_of_not_processed_calls(client: &Client) -> &'static str {
    let mut codes = Vec::new();
    for call in Call::ALL {
        let error = call.make(client, &unknown_id()).await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::NotProcessed, "{call:?}: {error:#}");
        codes.push(error.code());
    }
    codes.dedup();
    assert_eq!(codes.len(), 1, "{codes:?}");
    codes[0]
}

#[tokio::test]
async fn refused_connection_is_not_processed_d02() {
    let port = UnresponsivePort::refusing();
    let address = port.address();
    for scheme in ["http", "https"] {
        let client = client(&format!("{scheme}://{address}/api"), &transport());
        assert_eq!(code_of_not_processed_calls(&client).await, "connect");
    }
}

#[tokio::test]
async fn unresolvable_name_is_not_processed_d02() {
    let client = client("https://no-such-host.invalid/api", &transport());
    assert_eq!(code_of_not_processed_calls(&client).await, "resolve");
}

/// A connect deadline and a total deadline. One of them is too short to connect.
fn short_deadlines() -> [(Duration, Duration); 2] {
    let (short, long) = (Duration::from_millis(40), Duration::from_mins(1));
    [(short, long), (long, short)]
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn connect_timeout_is_not_processed_d02_d23() {
    let port = UnresponsivePort::full();
    for (connect, total) in short_deadlines() {
        for scheme in ["http", "https"] {
            let client =
                client_within(&format!("{scheme}://{}/api", port.address()), &transport(), connect, total);
            assert_eq!(code_of_not_processed_calls(&client).await, "timeout");
        }
    }
    port.assert_no_request_came();
}

#[tokio::test]
async fn tls_timeout_is_not_processed_d02_d23() {
    let port = UnresponsivePort::silent();
    for (connect, total) in short_deadlines() {
        let client = client_within(&format!("https://{}/api", port.address()), &transport(), connect, total);
        assert_eq!(code_of_not_processed_calls(&client).await, "timeout");
    }
    port.assert_no_request_came();
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

#[tokio::test]
async fn certificate_of_unknown_authority_is_not_processed_d02() {
    let (sandbox, gateway, _) = https_sandbox("127.0.0.1").await;
    let CertifiedKey { cert: another, .. } =
        rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    for transport in [transport(), trusting(&another.pem())] {
        assert_eq!(code_of_not_processed_calls(&client(sandbox.base_url(), &transport)).await, "tls");
    }
    assert_nothing_received(&gateway);
}

#[tokio::test]
async fn certificate_of_another_host_is_not_processed_d02() {
    let (sandbox, gateway, pem) = https_sandbox("pay.example").await;
    assert_eq!(code_of_not_processed_calls(&client(sandbox.base_url(), &trusting(&pem))).await, "tls");
    assert_nothing_received(&gateway);
}

#[tokio::test]
async fn server_without_tls_is_not_processed_d02() {
    let gateway = FakeGateway::new();
    let sandbox = Sandbox::builder().gateway(gateway.clone()).start().await.unwrap();
    let https = sandbox.base_url().replace("http://", "https://");
    assert_eq!(code_of_not_processed_calls(&client(&https, &transport())).await, "tls");
    assert_nothing_received(&gateway);
}

#[tokio::test]
async fn close_during_handshake_is_not_processed_d02() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            // Reads one byte of the handshake, then closes.
            let _ = stream.unwrap().read(&mut [0]);
        }
    });
    assert_eq!(
        code_of_not_processed_calls(&client(&format!("https://{address}/api"), &transport())).await,
        "tls"
    );
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

/// Invalid input is rejected locally: a request when it is built, an id when it is used in a path.
#[tokio::test]
async fn invalid_input_is_not_processed_d01() {
    let gateway = FakeGateway::new();
    let sandbox = Sandbox::builder().gateway(gateway.clone()).start().await.unwrap();
    let client = client(sandbox.base_url(), &transport());
    let fee = ConvenienceFee::Inactive;
    let (nothing, sale) = (Amount::from_cents(0), TransactionType::Sale);
    let card = Card { number: APPROVED, cvv: "123", expiry: "12/30" };
    let rejected: [Result<(), Error>; 6] = [
        invalid(CardTransaction::builder(nothing, sale, fee, card, payer()).build()),
        invalid(AchTransaction::builder(nothing, sale, fee, payer()).build()),
        invalid(TokenTransaction::builder("", Amount::from_cents(1_00), fee).build()),
        invalid("".parse::<TransactionId>().map(Void::new)),
        invalid("a\nb".parse::<TransactionId>()),
        invalid("a ".parse::<CustomerId>()),
    ];
    for (index, rejected) in rejected.into_iter().enumerate() {
        let error = rejected.expect_err(&index.to_string());
        assert_eq!(
            (error.outcome(), error.kind()),
            (Outcome::NotProcessed, ErrorKind::Invalid),
            "{index}: {error}"
        );
    }
    // A service may return an id that is not valid in a path. It is rejected when it is used in one.
    let error = client.transaction(&id_from_service("../void").await).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_nothing_received(&gateway);
}

/// An id that a service returned.
async fn id_from_service(id: &str) -> TransactionId {
    let data = format!(r#"{{"TransactionId":"{id}"}}"#);
    let script = ScriptedTransport::new().respond_json(200, SuccessEnvelope::post("done", &data));
    let client = Client::builder(FakeGateway::new().endpoint(), script, ManualClock::auto()).build();
    client.process_token(&token("tok_1", 1_00)).await.unwrap().transaction_id.clone()
}

fn invalid<T>(built: Result<T, ValidationError>) -> Result<(), Error> {
    built.map(drop).map_err(Error::from)
}

#[test]
fn invalid_configuration_is_not_processed_d01_d24_d25() {
    let is_not_processed = |error: Error| {
        assert_eq!(
            (error.outcome(), error.kind()),
            (Outcome::NotProcessed, ErrorKind::Configuration),
            "{error}"
        );
    };
    for base_url in ["http://pay.example.com/api", "pay.example.com", "https://me@pay.example.com", ""] {
        let key = ApiKey::new(FakeGateway::API_KEY).unwrap();
        is_not_processed(Endpoint::new(base_url, key).unwrap_err());
    }
    for key in ["", "a key", "key\n"] {
        is_not_processed(ApiKey::new(key).unwrap_err());
    }
}
