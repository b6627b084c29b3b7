//! Tests of requests and settings that are refused before anything is sent.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{
    ApiKey, Deadlines, Delivery, Endpoint, ErrorKind, OperationName, Transport, TransportError,
    TransportErrorKind, TransportRequest,
};
use payments_reqwest::ReqwestTransport;

fn request(uri: &str) -> TransportRequest {
    let request = Request::post(uri).body(Bytes::from_static(b"{}")).unwrap();
    let deadlines = Deadlines::new(Duration::from_secs(20), Duration::from_secs(20));
    TransportRequest::new(request, OperationName::TokenTransaction, deadlines, 1024)
}

async fn failure(uri: &str) -> TransportError {
    ReqwestTransport::builder().build().unwrap().send(request(uri)).await.unwrap_err()
}

#[tokio::test]
async fn a_url_that_reqwest_would_change_is_refused() {
    let paths = ["/a/../b", "/a/%2e%2e/b", "/a/./b", "/a?b='c'"].map(|path| format!("127.0.0.1:1{path}"));
    let hosts =
        ["127.1", "0x7f.0.0.1", "0177.0.0.1", "2130706433", "127.0.0.1."].map(|host| format!("{host}:1/"));
    for url in paths.into_iter().chain(hosts) {
        let error = failure(&format!("http://{url}")).await;
        assert_eq!(error.delivery(), Delivery::NotProcessed, "{url}");
        assert_eq!(
            error.kind(),
            TransportErrorKind::Configuration,
            "{url} was not refused before connecting: {error:?}"
        );
    }
    for url in ["127.0.0.1:1/a//b%20c/~d?e=%2F", "LOCALHOST:1/", "[0:0:0:0:0:0:0:1]:1/", "127.0.0.1:00001"] {
        let error = failure(&format!("http://{url}")).await;
        assert_eq!(error.kind(), TransportErrorKind::Connect, "{url} is one that reqwest keeps: {error:?}");
    }
}

#[test]
fn without_a_runtime_nothing_is_sent() {
    let error = payments_fake::block_on(failure("http://127.0.0.1:1/"));
    assert_eq!(error.delivery(), Delivery::NotProcessed, "{error:?}");
    assert_eq!(error.kind(), TransportErrorKind::Configuration, "{error:?}");
}

#[test]
fn the_error_of_a_client_without_a_runtime_names_tokio() {
    let endpoint = Endpoint::new("http://127.0.0.1:1", ApiKey::new("sk_test_51H").unwrap()).unwrap();
    let client = payments_reqwest::client(endpoint).unwrap();
    let payment = TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive)
        .build()
        .unwrap();
    let error = payments_fake::block_on(client.process_token(&payment)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error:?}");
    assert!(format!("{error:?}").contains("a tokio runtime is missing"), "{error:?}");
}

#[test]
fn an_invalid_root_certificate_is_refused() {
    let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    for pem in ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n", key] {
        let error = ReqwestTransport::builder().root_certificates_pem(pem).build().unwrap_err();
        assert!(error.is_root_certificate() && !error.is_client(), "{error:?}");
        assert!(!format!("{error:?}").contains("BEGIN"), "{error:?}");
        let error = ReqwestTransport::builder().only_root_certificates_pem(pem).build().unwrap_err();
        assert!(error.is_root_certificate(), "{error:?}");
    }
    let error = ReqwestTransport::builder().only_root_certificates_pem("").build().unwrap_err();
    assert!(
        format!("{error:#}").contains("could not be read: the text has no PEM section CERTIFICATE; nothing"),
        "{error:#}"
    );
    let error = ReqwestTransport::builder().root_certificate_der(*b"nonsense").build().unwrap_err();
    assert!(error.is_root_certificate(), "{error:?}");
}
