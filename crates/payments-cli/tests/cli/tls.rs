//! HTTPS with a private certificate authority.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::support::{TemporaryFile, payments_at, read_request, response, responses};

/// A server with a self-signed certificate for `localhost` that returns one response to everything. Returns its address and
/// the certificate as PEM.
pub(crate) fn https(then: Vec<u8>) -> (String, String) {
    let key = KeyPair::generate().expect("a key");
    let certificate =
        CertificateParams::new(["localhost".to_owned()]).and_then(|it| it.self_signed(&key)).expect("one");
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
        )
        .expect("a certificate");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
    let base_url =
        format!("https://localhost:{}/api/v1/public", listener.local_addr().expect("it is bound").port());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a connection");
            let mut stream = StreamOwned::new(connection, stream.expect("a connection"));
            // A client that does not trust the certificate disconnects here.
            if read_request(&mut stream).is_some() {
                let _ = stream.write_all(&then);
                let _ = stream.flush();
            }
        }
    });
    (base_url, certificate.pem())
}

/// A certificate that no server uses.
pub(crate) fn authority() -> String {
    let key = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(["localhost".to_owned()]).and_then(|it| it.self_signed(&key));
    certificate.expect("one").pem()
}

#[test]
fn ca_cert_is_trusted() {
    let (base_url, pem) = https(response("200 OK", responses::TRANSACTION_FOUND));
    let file = TemporaryFile::new(pem);
    let run = payments_at(&base_url, ["transaction", "get", "txn_1", "--ca-cert", file.path()]);
    assert_eq!(run.end().processed()["TransactionId"], "txn_1");
}

#[test]
fn unknown_authority_is_not_processed_with_a_reason() {
    let (base_url, _) = https(response("200 OK", responses::TRANSACTION_FOUND));
    let error = payments_at(&base_url, ["transaction", "get", "txn_1"]).end().failed(3, "not_processed");
    assert_eq!(error["kind"], "tls");
    assert!(error["cause"].as_str().is_some_and(|cause| cause.contains("UnknownIssuer")), "{error}");

    let ended = payments_at(&base_url, ["transaction", "get", "txn_1", "--output", "text"]).end();
    let hint = "the certificate is not signed by a trusted authority: if the authority is your own, give its";
    assert!(ended.stderr.contains(hint), "{}", ended.stderr);
}
