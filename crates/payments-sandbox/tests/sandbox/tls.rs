//! The sandbox over https.

use std::io;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use payments_core::OperationName;
use payments_core::model::Amount;
use payments_fake::{Fault, FaultKind};
use payments_sandbox::{Exchange, Sandbox};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::raw_client::TOKEN_PAYMENT;

async fn sandbox_and_client() -> (Sandbox, TlsStream<TcpStream>) {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let builder = Sandbox::builder().tls_pem(cert.pem(), signing_key.serialize_pem());
    let sandbox = builder.start().await.unwrap();
    let client = connect(&sandbox, cert.der().clone(), "127.0.0.1").await.unwrap();
    (sandbox, client)
}

/// Connects as a client that trusts only this certificate and expects this server name.
async fn connect(
    sandbox: &Sandbox,
    trusted: CertificateDer<'static>,
    name: &'static str,
) -> io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let socket = TcpStream::connect(sandbox.local_addr()).await?;
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from(name).unwrap(), socket).await
}

/// A payment with one more header.
fn payment(sandbox: &Sandbox, header: &str) -> String {
    let (key, length) = (sandbox.api_key(), TOKEN_PAYMENT.len());
    format!(
        "POST /api/v1/public/token-transaction HTTP/1.1\r\nhost: localhost\r\nauthorization: {key}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n{header}\r\n\r\n{TOKEN_PAYMENT}"
    )
}

async fn pay(client: &mut TlsStream<TcpStream>, sandbox: &Sandbox) -> (Vec<u8>, io::Result<usize>) {
    client.write_all(payment(sandbox, "connection: close").as_bytes()).await.unwrap();
    let mut response = Vec::new();
    let end = client.read_to_end(&mut response).await;
    (response, end)
}

#[tokio::test]
async fn a_payment_goes_over_https() {
    let (sandbox, mut client) = sandbox_and_client().await;
    assert!(sandbox.base_url().starts_with("https://127.0.0.1:"));
    assert_eq!(sandbox.ca_certificate_pem(), None, "only a generated certificate has an authority to trust");
    assert_eq!(sandbox.endpoint().base_url(), sandbox.base_url());
    let (response, end) = pay(&mut client, &sandbox).await;
    assert!(response.starts_with(b"HTTP/1.1 200 OK"));
    end.expect("TLS closes the stream properly, so that the end cannot be mistaken for a truncation");
    sandbox.gateway().ledger().assert_charged_once(Amount::from_cents(10_50));
    sandbox.shutdown().await.unwrap();
}

#[tokio::test]
async fn faults_are_inside_the_encrypted_stream_and_a_reset_below_it() {
    let operation = OperationName::TokenTransaction;
    let (sandbox, mut client) = sandbox_and_client().await;
    sandbox.gateway().arm(Fault::on(operation).after_commit().garbage());
    let (garbage, end) = pay(&mut client, &sandbox).await;
    assert!(end.is_ok() && !garbage.is_empty() && !garbage.starts_with(b"HTTP"));

    let (sandbox, mut client) = sandbox_and_client().await;
    sandbox.gateway().arm(Fault::on(operation).after_commit().reset());
    let (nothing, end) = pay(&mut client, &sandbox).await;
    assert_eq!((nothing.len(), end.unwrap_err().kind()), (0, io::ErrorKind::ConnectionReset));
    sandbox.gateway().ledger().assert_charged_once(Amount::from_cents(10_50));
}

/// How a client ends its connection.
#[derive(Clone, Copy, Debug)]
enum Leaving {
    /// With TLS's own notice first, as most clients do.
    Closing,
    /// Without it.
    Dropping,
    /// With the notice and the end of its sending side, before it reads the last response.
    HalfClosing,
    /// Before its last response is sent.
    BeforeTheResponse,
}

/// Reads the response to a payment, which has no more bytes after its JSON object.
async fn read_response(client: &mut TlsStream<TcpStream>) {
    let mut response = Vec::new();
    while !response.ends_with(b"}}") {
        let mut piece = [0; 1024];
        let length = client.read(&mut piece).await.unwrap();
        assert!(length > 0, "the response is incomplete");
        response.extend(&piece[..length]);
    }
    assert!(response.starts_with(b"HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn the_record_and_the_log_say_what_a_client_saw_however_it_leaves() {
    use Leaving::{BeforeTheResponse, Closing, Dropping, HalfClosing};
    for leaving in [Closing, Dropping, HalfClosing, BeforeTheResponse] {
        for earlier in [0, 2] {
            let (sender, log) = mpsc::channel();
            let builder = Sandbox::builder().tls();
            let sandbox =
                builder.on_exchange(move |exchange: &Exchange| sender.send(exchange.clone()).unwrap());
            let sandbox = sandbox.start().await.unwrap();
            let authority = sandbox.ca_certificate_pem().unwrap();
            let trusted = CertificateDer::from_pem_slice(authority.as_bytes()).unwrap();
            let mut client = connect(&sandbox, trusted, "localhost").await.unwrap();
            for _ in 0..earlier {
                client.write_all(payment(&sandbox, "accept: */*").as_bytes()).await.unwrap();
                read_response(&mut client).await;
            }
            let gate = sandbox.gateway().gate_after_commit(OperationName::TokenTransaction);
            client.write_all(payment(&sandbox, "accept: */*").as_bytes()).await.unwrap();
            gate.arrived().await;
            if matches!(leaving, HalfClosing) {
                client.shutdown().await.unwrap();
            }
            // Otherwise it is released here.
            let gate = matches!(leaving, BeforeTheResponse).then_some(gate);
            if gate.is_none() {
                read_response(&mut client).await;
            }
            if matches!(leaving, Closing) {
                client.shutdown().await.unwrap();
            }
            drop(client);
            if gate.is_some() {
                // Nothing shows when the end of the connection has arrived.
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            drop(gate);
            while matches!(leaving, BeforeTheResponse)
                && sandbox.gateway().requests()[earlier].symptom.is_none()
            {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let gateway = sandbox.gateway().clone();
            sandbox.shutdown().await.unwrap();
            let records = gateway.requests();
            let logged: Vec<_> = log.try_iter().collect();
            assert_eq!((records.len(), logged.len()), (earlier + 1, earlier + 1), "{leaving:?}");
            for (index, (record, exchange)) in records.iter().zip(&logged).enumerate() {
                let is_lost = index == earlier && matches!(leaving, BeforeTheResponse);
                let saw = if is_lost { (None, Some(FaultKind::Close)) } else { (Some(200), None) };
                assert_eq!((record.status.map(|status| status.as_u16()), record.symptom), saw, "{leaving:?}");
                assert_eq!((exchange.status, exchange.symptom), (record.status, record.symptom));
                assert_eq!(exchange.moved_without_response(), is_lost, "{leaving:?}");
            }
        }
    }
}

#[tokio::test]
async fn the_error_for_an_invalid_certificate_does_not_quote_it() {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let other = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap().signing_key;
    for (chain, key) in [
        ("nonsense".to_owned(), signing_key.serialize_pem()),
        (cert.pem(), "nonsense".to_owned()),
        (String::new(), String::new()),
        (cert.pem(), other.serialize_pem()),
    ] {
        let error = Sandbox::builder().tls_pem(chain, key).start().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(!error.to_string().contains("nonsense"), "{error}");
    }
}

/// Sends a request as a client that trusts only this authority and expects this server name.
async fn request_as(sandbox: &Sandbox, authority_pem: &str, name: &'static str) -> io::Result<String> {
    let authority = CertificateDer::from_pem_slice(authority_pem.as_bytes()).unwrap();
    let mut client = connect(sandbox, authority, name).await?;
    client
        .write_all(b"GET /_sandbox/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .await?;
    let mut response = String::new();
    client.read_to_string(&mut response).await?;
    Ok(response)
}

#[tokio::test]
async fn a_generated_certificate_has_the_names_of_this_machine_and_those_that_are_added() {
    let builder = || Sandbox::builder().tls();
    let named = builder().tls_name("sandbox").tls_name("*.shop.test").tls_name("192.0.2.7");
    let mut authorities: Vec<String> = Vec::new();
    for (builder, valid, invalid) in [
        (builder(), &["localhost", "127.0.0.1", "::1"][..], &["pay.example.com", "127.0.0.2"][..]),
        (builder().listen("127.0.0.2:0".parse().unwrap()), &["127.0.0.2"], &["127.0.0.3"]),
        (named, &["sandbox", "pay.shop.test", "192.0.2.7", "localhost", "127.0.0.1"], &["sandbox2"]),
    ] {
        let sandbox = builder.start().await.unwrap();
        assert!(sandbox.base_url().starts_with("https://") && sandbox.admin_url().starts_with("https://"));
        let authority = sandbox.ca_certificate_pem().unwrap();
        assert!(authority.starts_with("-----BEGIN CERTIFICATE-----") && !authority.contains("PRIVATE KEY"));
        for name in valid {
            let response = request_as(&sandbox, authority, name).await.unwrap();
            assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{name}: {response}");
        }
        for name in invalid {
            request_as(&sandbox, authority, name).await.unwrap_err();
        }
        for other in &authorities {
            request_as(&sandbox, other, valid[0]).await.unwrap_err();
        }
        authorities.push(authority.to_owned());
    }
}

#[tokio::test]
async fn a_name_that_cannot_be_in_a_certificate_is_refused() {
    for name in ["", "two words", "https://sandbox", "sandbox:8443", "*", "ü"] {
        let error = Sandbox::builder().tls().tls_name(name).start().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}");
        assert!(error.to_string().contains("neither a host name nor an IP address"), "{error}");
    }
}

#[tokio::test]
async fn a_name_without_a_generated_certificate_is_refused() {
    let named = || Sandbox::builder().tls().tls_name("sandbox");
    let plain = Sandbox::builder().tls_name("sandbox");
    for builder in [plain, named().tls_pem("a chain", "a key")] {
        let error = builder.start().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(error.to_string().starts_with("a name is only for a generated certificate"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unfinished_handshake_does_not_delay_the_shutdown() {
    let sandbox = Sandbox::builder().tls().start().await.unwrap();
    let mut silent = TcpStream::connect(sandbox.local_addr()).await.unwrap();
    // A response on another connection means that this one was accepted.
    let authority = sandbox.ca_certificate_pem().unwrap().to_owned();
    request_as(&sandbox, &authority, "localhost").await.unwrap();
    let began = Instant::now();
    sandbox.shutdown().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(silent.read(&mut [0]).await.unwrap(), 0);
}
