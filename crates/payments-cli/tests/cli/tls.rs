//! HTTPS with a private certificate authority.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use payments_fake::FakeGateway;
use payments_sandbox::{BlockingSandbox, Sandbox};
use rcgen::{CertificateParams, CertifiedKey, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::prelude::*;

/// A server with a self-signed certificate for `localhost` that returns one response to everything. Returns its address and
/// the certificate as PEM.
pub(crate) fn https(then: Vec<u8>) -> (String, String) {
    https_with(then, |_| {}, false)
}

/// The same with other certificate parameters, or for clients with a certificate only.
fn https_with(
    then: Vec<u8>,
    change: impl FnOnce(&mut CertificateParams),
    requires_client_certificate: bool,
) -> (String, String) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    change(&mut params);
    let certificate = params.self_signed(&key).expect("one");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("versions");
    let config = if requires_client_certificate {
        let mut roots = RootCertStore::empty();
        roots.add(certificate.der().clone()).expect("a certificate");
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        config.with_client_cert_verifier(verifier.expect("a verifier"))
    } else {
        config.with_no_client_auth()
    };
    let chain = vec![certificate.der().clone()];
    let config = config.with_single_cert(chain, PrivateKeyDer::try_from(key.serialize_der()).expect("a key"));
    let config = Arc::new(config.expect("a certificate"));
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
            } else {
                // Sends the alert, and leaves the client time to read it: a close with unread bytes resets the connection.
                let _ = stream.conn.write_tls(&mut stream.sock);
                let _ = stream.sock.shutdown(Shutdown::Write);
                let _ = stream.sock.read_to_end(&mut Vec::new());
            }
        }
    });
    (base_url, certificate.pem())
}

/// A sandbox with a certificate for this name, and that certificate.
pub(crate) fn https_sandbox(name: &str) -> (BlockingSandbox, TemporaryFile) {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
    let sandbox = Sandbox::builder()
        .fresh_gateway(FakeGateway::builder().api_key(KEY))
        .tls_pem(cert.pem(), signing_key.serialize_pem());
    (sandbox.start_blocking().expect("a loopback port is free"), TemporaryFile::new(cert.pem()))
}

/// A certificate that no server uses.
pub(crate) fn authority() -> String {
    let key = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(["localhost".to_owned()]).and_then(|it| it.self_signed(&key));
    certificate.expect("one").pem()
}

/// The texts of a charge and of a check at a server with this certificate.
fn texts((base_url, pem): &(String, String)) -> [String; 2] {
    let file = TemporaryFile::new(pem);
    [CREATE, "check"].map(|line| {
        let run = payments_at(base_url, line).with(["--ca-cert", file.path()]);
        run.stdin(CARD_PAYMENT).text().shown()
    })
}

/// Valid for this year only.
fn valid_in(year: i32) -> impl FnOnce(&mut CertificateParams) {
    move |params| {
        (params.not_before, params.not_after) = (date_time_ymd(year, 1, 1), date_time_ymd(year + 1, 1, 1));
    }
}

/// A server that responds to the first bytes of each connection with these, and closes it.
fn responding_to_hello(then: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let serve = move |mut stream: TcpStream| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(then);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    };
    thread::spawn(move || listener.incoming().for_each(|stream| serve(stream.expect("a connection"))));
    format!("https://localhost:{port}/api/v1/public")
}

#[test]
fn failed_handshake_is_named_by_its_cause_d56() {
    const NOTHING_IN_COMMON: &str = "the server has no TLS version or cipher in common with this command";
    const CLIENT_CERTIFICATE: &str =
        "the server wants a client certificate, which this command cannot present";
    let found = || response("200 OK", responses::TRANSACTION_FOUND);
    let alert = |bytes| (responding_to_hello(bytes), authority());
    for (server, expected) in [
        (https_with(found(), valid_in(2020), false), "has expired: check this machine's clock"),
        (https_with(found(), valid_in(2199), false), "is not valid yet: check this machine's clock"),
        (https_with(found(), |_| {}, true), CLIENT_CERTIFICATE),
        (
            alert(&[21, 3, 3, 0, 2, 2, 40]),
            &*format!("{NOTHING_IN_COMMON}, or it requires a client certificate\n"),
        ),
        (alert(&[21, 3, 3, 0, 2, 2, 70]), &*format!("{NOTHING_IN_COMMON}\n")),
        (alert(&[21, 3, 3, 0, 2, 2, 71]), &*format!("{NOTHING_IN_COMMON}\n")),
    ] {
        for text in texts(&server) {
            has(&text, [expected]);
            assert!(!text.contains("check the host name"), "{text}");
            assert_eq!(text.contains("the server wants"), expected == CLIENT_CERTIFICATE, "{text}");
        }
    }
}

#[cfg(unix)]
#[test]
fn run_does_not_wait_for_a_failure_that_waiting_does_not_help_d56() {
    let receipt = || response("200 OK", responses::RECEIPT);
    let plain = responding_to_hello(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    for ((base_url, pem), cause, hint) in [
        (
            https_with(receipt(), valid_in(2020), false),
            "certificate",
            "the certificate has expired: check this machine's",
        ),
        ((plain, authority()), "corrupt message", "does the server speak TLS there?"),
        (https_with(receipt(), |_| {}, true), "requires a client certificate", "the server wants a client"),
    ] {
        let workspace = Workspace::with_rows(20);
        let authority = TemporaryFile::new(pem);
        let run = || {
            let run = workspace.billing("--concurrency 1").at(&base_url);
            run.with(["--ca-cert", authority.path()])
        };
        let begun = Instant::now();
        let ended = run().end();
        assert!(begun.elapsed() < Duration::from_mins(1), "it waited: {ended:?}");
        // Whether the request was sent before a server with TLS 1.3 asks for a certificate is a race.
        if ended.code == Some(5) {
            ended.stops(5, "unknown", "outage");
            assert_eq!((ended.count("unknown"), cause), (1, "requires a client certificate"));
        } else {
            ended.stops(3, "unfinished", "outage");
            let text = run().text();
            if text.code == Some(3) {
                begins(&text.stdout, "UNFINISHED, fix the cause, then run");
                has(&text.stdout, ["once the cause is fixed, run the same command again"]);
                assert!(!text.stdout.contains("safe"), "{text:?}");
            }
        }
        let stopped = ended.json()["stopped"].clone();
        begins(message(&stopped), "the service cannot be reached, and waiting does not help: ");
        has(message(&stopped), [cause, hint]);
    }
}

#[cfg(unix)]
#[test]
fn run_waits_for_a_server_that_closes_during_the_handshake() {
    let workspace = Workspace::with_rows(1);
    let ended = workspace.billing("--patience 1").at(&responding_to_hello(b"")).end();
    ended.stops(3, "unfinished", "outage");
    let stopped = ended.json()["stopped"].clone();
    begins(message(&stopped), "the service is unreachable or does not respond as it should: ");
    has(message(&stopped), ["tls handshake eof"]);
}
