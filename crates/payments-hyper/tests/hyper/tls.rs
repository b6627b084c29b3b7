//! Which servers does the transport trust, and what does it return for the others?

#![cfg(any(feature = "ring", feature = "aws-lc-rs"))]
use std::sync::{Arc, Mutex};

use crate::support::{Authority, Server, post, send, send_failing};
use payments_core::{Delivery, TransportError, TransportErrorKind};
use payments_hyper::HyperTransport;
use rustls::ServerConfig;
use rustls::version::{TLS12, TLS13};

fn serving(config: ServerConfig) -> Server {
    Server::start_tls(config, |connection| connection.serve("{}"))
}

fn trusting(authority: &Authority) -> HyperTransport {
    HyperTransport::builder().root_certificates_pem(authority.pem()).build().unwrap()
}

/// Not processed, and permanent.
async fn assert_not_processed(transport: &HyperTransport, server: &Server, url: String) {
    let error = not_processed(transport, server, url).await;
    assert!(error.is_permanent(), "{error:?}");
}

async fn not_processed(transport: &HyperTransport, server: &Server, url: String) -> TransportError {
    let (delivery, kind, error) = send_failing(transport, post(url)).await;
    assert_eq!((delivery, kind), (Delivery::NotProcessed, TransportErrorKind::Tls));
    assert!(std::error::Error::source(&error).is_some(), "the error names a cause");
    assert_eq!(server.received().len(), 0);
    error
}

#[tokio::test]
async fn an_added_authority_is_trusted_in_each_tls_version() {
    let authority = Authority::new();
    for version in [&TLS12, &TLS13] {
        let server = serving(authority.issue("localhost").server_for(&[version], None));
        let transport = trusting(&authority);
        for _ in 0..3 {
            let response = send(&transport, post(server.https_url())).await.unwrap();
            assert_eq!(response.body(), "{}");
        }
        assert_eq!((server.connections(), server.received().len()), (1, 3));
    }
}

#[tokio::test]
async fn one_transport_uses_http_and_https() {
    let authority = Authority::new();
    let secure = serving(authority.issue("localhost").server());
    let plain = Server::start(|connection| connection.serve("{}"));
    let transport = trusting(&authority);
    for _ in 0..2 {
        send(&transport, post(secure.https_url())).await.unwrap();
        send(&transport, post(plain.url())).await.unwrap();
    }
    assert_eq!((secure.connections(), plain.connections()), (1, 1));
}

#[tokio::test]
async fn a_der_authority_and_an_ip_address_certificate_are_accepted() {
    let authority = Authority::new();
    let server = serving(authority.issue("127.0.0.1").server());
    let transport = HyperTransport::builder().root_certificate_der(authority.der().as_ref()).build().unwrap();
    let url = format!("https://127.0.0.1:{}/", server.address.port());
    send(&transport, post(url)).await.unwrap();
}

/// The contracts check that nothing is sent to it.
#[tokio::test]
async fn a_server_that_cannot_be_verified_is_a_permanent_failure_d02() {
    let authority = Authority::new();
    let plain = Server::start(|connection| {
        connection.peer().read_some();
        connection.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        connection.hold();
    });
    let of_another_host = serving(authority.issue("pay.example").server());
    let of_another_authority = serving(Authority::new().issue("localhost").server());
    for server in [plain, of_another_host, of_another_authority] {
        assert_not_processed(&trusting(&authority), &server, server.https_url()).await;
    }
}

#[cfg(any(feature = "webpki-roots", feature = "platform-verifier"))]
#[tokio::test]
async fn a_private_authority_is_not_trusted_by_default_d02() {
    let server = serving(Authority::new().issue("localhost").server());
    assert_not_processed(&HyperTransport::builder().build().unwrap(), &server, server.https_url()).await;
}

#[tokio::test]
async fn a_server_that_closes_during_the_handshake_is_not_processed_d02() {
    let server = Server::start(|connection| {
        connection.peer().read_some();
        connection.close();
    });
    let error = not_processed(&trusting(&Authority::new()), &server, server.https_url()).await;
    assert!(!error.is_permanent(), "the next connection may succeed: {error:?}");
}

#[tokio::test]
async fn an_invalid_host_name_is_not_processed_d02() {
    let url = "https://not_a..name/".to_owned();
    let (delivery, kind, error) = send_failing(&trusting(&Authority::new()), post(url)).await;
    assert_eq!((delivery, kind), (Delivery::NotProcessed, TransportErrorKind::Configuration));
    assert!(error.is_permanent());
}

#[tokio::test]
async fn a_client_certificate_is_presented_on_request() {
    let (servers, clients) = (Authority::new(), Authority::new());
    let client = clients.issue("a shop");
    for version in [&TLS12, &TLS13] {
        let server = serving(servers.issue("localhost").server_for(&[version], Some(&clients)));
        let transport = HyperTransport::builder()
            .root_certificates_pem(servers.pem())
            .client_certificate_pem(&client.certificate_pem, &client.key_pem)
            .build()
            .unwrap();
        send(&transport, post(server.https_url())).await.unwrap();
        assert_eq!(server.received().len(), 1);
    }
}

#[tokio::test]
async fn a_second_connection_resumes_the_session_of_the_first() {
    let authority = Authority::new();
    let resumed = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&resumed);
    let server = Server::start_tls(authority.issue("localhost").server(), move |connection| {
        connection.read_request();
        seen.lock().unwrap().push(connection.peer().is_resumed());
        connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}");
        connection.hold();
    });
    let transport = trusting(&authority);
    for _ in 0..2 {
        send(&transport, post(server.https_url())).await.unwrap();
    }
    assert_eq!(*resumed.lock().unwrap(), [false, true]);
}
