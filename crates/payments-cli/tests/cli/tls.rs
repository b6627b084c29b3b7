//! HTTPS with a private certificate authority.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::sync::Arc;
use std::thread;

use payments_sandbox::Sandbox;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::cases::every_command;
use crate::support::{CARD_PAYMENT, TemporaryFile, payments_at, read_request, response, responses};

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

/// https to a server without TLS, and a certificate that is not trusted: waiting heals neither.
#[test]
fn failed_handshake_is_not_called_safe_without_a_warning_d56() {
    let (untrusted, _) = https(response("200 OK", responses::TRANSACTION_FOUND));
    let plain = Sandbox::builder().start_blocking().expect("a loopback port is free");
    let plain_url = plain.base_url().replace("http://", "https://");
    for base_url in [untrusted, plain_url] {
        for case in every_command() {
            let error = case.run(&base_url, &[]).failed(3, "not_processed");
            let message = error["message"].as_str().unwrap_or_default();
            let advice = if case.moves_money() {
                "nothing was processed: it is safe to send it again, but it will fail again until the cause is fixed"
            } else {
                "a lookup moves no money: fix the cause, then run it again"
            };
            assert!(error["kind"] == "tls" && message.ends_with(advice), "{error}");
            let text = case.run(&base_url, &["--output", "text"]).stderr;
            let heading = text.lines().next().unwrap_or_default();
            assert!(heading.contains("it will fail again until the cause is fixed"), "{text}");
        }
    }
}

/// The text of a charge, and the sentence of a check, of a server with this certificate.
fn texts((base_url, pem): &(String, String)) -> (String, String) {
    let file = TemporaryFile::new(pem);
    let options = ["--ca-cert", file.path(), "--output", "text"];
    let charge = payments_at(base_url, ["transaction", "create", "--file", "-"]).arguments(options);
    let check = payments_at(base_url, ["check"]).arguments(options);
    (charge.stdin(CARD_PAYMENT).end().stderr, check.end().stdout)
}

#[test]
fn certificate_with_invalid_dates_is_named_as_that_d56() {
    let answer = || response("200 OK", responses::TRANSACTION_FOUND);
    for (year, expected) in
        [(2020, "has expired: check this machine's clock"), (2199, "is not valid yet: check this")]
    {
        let server = https_with(
            answer(),
            |params| {
                (params.not_before, params.not_after) =
                    (date_time_ymd(year, 1, 1), date_time_ymd(year + 1, 1, 1));
            },
            false,
        );
        let (charged, checked) = texts(&server);
        for text in [charged, checked] {
            assert!(text.contains(expected) && !text.contains("check the host name"), "{text}");
        }
    }
}

#[test]
fn server_that_requires_a_client_certificate_is_named_as_that_d56() {
    let server = https_with(response("200 OK", responses::TRANSACTION_FOUND), |_| {}, true);
    let (charged, checked) = texts(&server);
    for text in [charged, checked] {
        assert!(
            text.contains("the server wants a client certificate, which this command cannot present"),
            "{text}"
        );
        assert!(!text.contains("check the host name"), "{text}");
    }
}
