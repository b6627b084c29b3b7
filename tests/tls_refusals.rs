//! Does a failed TLS handshake name its cause, with every HTTP stack?

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::sync::Arc;
use std::thread;

use payments_core::{
    ApiKey, Client, Delivery, Endpoint, Error, Outcome, SystemTimer, TransportError, TransportErrorKind,
};
use payments_hyper::HyperTransport;
use payments_reqwest::ReqwestTransport;
use payments_ureq::UreqTransport;
use rcgen::{CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion};

use crate::requests::token;

/// A certificate authority for one test.
fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Starts a server for `localhost` that requires client certificates. Returns its URL.
fn server(
    authority: &CertifiedIssuer<'static, KeyPair>,
    version: &'static SupportedProtocolVersion,
) -> String {
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(["localhost".to_owned()]).unwrap().signed_by(&key, authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut clients = RootCertStore::empty();
    clients.add(authority.der().clone()).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(clients), Arc::clone(&provider));
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(vec![leaf.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap());
    let config = Arc::new(config.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://localhost:{}/api", listener.local_addr().unwrap().port());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            tls.complete_io(&mut stream).expect_err("the client has no certificate");
            // The alert. The connection stays open until the client has read it: a close with unread bytes would reset it.
            while tls.wants_write() {
                tls.write_tls(&mut stream).unwrap();
            }
            stream.flush().unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    url
}

/// The error of a payment with each stack.
async fn errors(url: &str, authority_pem: &str) -> Vec<(&'static str, Error)> {
    let endpoint = || Endpoint::new(url, ApiKey::new("sk_test").unwrap()).unwrap();
    let hyper = HyperTransport::builder().only_root_certificates_pem(authority_pem).build().unwrap();
    let reqwest = ReqwestTransport::builder().only_root_certificates_pem(authority_pem).build().unwrap();
    let ureq = UreqTransport::builder().only_root_certificates_pem(authority_pem).build().unwrap();
    let ureq = Client::builder(endpoint(), ureq, SystemTimer::new()).build_blocking();
    let hyper = Client::builder(endpoint(), hyper, payments_hyper::TokioTimer::new()).build();
    let reqwest = Client::builder(endpoint(), reqwest, SystemTimer::new()).build();
    let payment = token("tok_approved", 1_00);
    vec![
        ("hyper", hyper.process_token(&payment).await.unwrap_err()),
        ("reqwest", reqwest.process_token(&payment).await.unwrap_err()),
        (
            "ureq",
            tokio::task::spawn_blocking(move || ureq.process_token(&payment)).await.unwrap().unwrap_err(),
        ),
    ]
}

/// Starts a server that writes this to every client, then closes. Returns its URL.
fn without_tls(written: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://localhost:{}/api", listener.local_addr().unwrap().port());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 16 * 1024]);
            stream.write_all(written).unwrap();
        }
    });
    url
}

#[tokio::test]
async fn only_a_handshake_that_fails_again_needs_a_fix_d56() {
    let (trusted, unknown) = (authority(), authority());
    for (url, needs_a_fix) in [
        (server(&unknown, &TLS13), true),
        (without_tls(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"), true),
        // The server's alert `internal_error`.
        (without_tls(&[21, 3, 3, 0, 2, 2, 80]), false),
        (without_tls(b""), false),
    ] {
        for (stack, error) in errors(&url, &trusted.pem()).await {
            let text = format!("{error:#}");
            assert_eq!(error.outcome(), Outcome::NotProcessed, "{stack}: {text}");
            assert_eq!(error.failed_call().needs_a_fix(), needs_a_fix, "{stack}: {text}");
        }
    }
}

/// With TLS 1.3 the refusal arrives after the handshake, when the request may have been written.
#[tokio::test]
async fn a_server_that_requires_a_client_certificate_is_named_as_that_d02_d03() {
    let authority = authority();
    for version in [&TLS12, &TLS13] {
        for (stack, error) in errors(&server(&authority, version), &authority.pem()).await {
            let text = format!("{error:#}");
            assert!(text.contains("the server requires a client certificate"), "{stack} {version:?}: {text}");
            let reported = error.failed_call().transport_error().map(TransportError::kind);
            assert_eq!(reported, Some(TransportErrorKind::Tls), "{stack} {version:?}: {text}");
            let delivery = error.failed_call().transport_error().unwrap().delivery();
            if *version == TLS12 {
                assert_eq!(error.outcome(), Outcome::NotProcessed, "{stack}: {text}");
                assert!(error.failed_call().needs_a_fix(), "{stack}: {text}");
            } else {
                assert_ne!(error.outcome(), Outcome::Rejected, "{stack}: {text}");
                assert!(!matches!(delivery, Delivery::Answered(_)), "{stack}: {text}");
            }
        }
    }
}
