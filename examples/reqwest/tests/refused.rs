//! What is refused before anything is sent, and says so.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use payments_core::{
    Deadlines, Delivery, OperationName, Transport, TransportError, TransportErrorKind, TransportRequest,
};
use payments_example_reqwest::ReqwestTransport;
use rustls::RootCertStore;

fn request(uri: &str) -> TransportRequest {
    let request = Request::post(uri).body(Bytes::from_static(b"{}")).unwrap();
    let deadlines = Deadlines::new(Duration::from_secs(20), Duration::from_secs(20));
    TransportRequest::new(request, OperationName::TokenTransaction, deadlines, 1024)
}

async fn failure(uri: &str) -> TransportError {
    ReqwestTransport::new(RootCertStore::empty()).unwrap().send(request(uri)).await.unwrap_err()
}

#[tokio::test]
async fn an_address_that_would_be_rewritten_is_refused() {
    for path in ["/a/../b", "/a/%2e%2e/b", "/a/./b", "/a?b='c'"] {
        let error = failure(&format!("http://127.0.0.1:1{path}")).await;
        assert_eq!(error.delivery(), Delivery::NotProcessed, "{path}");
        assert_eq!(
            error.kind(),
            TransportErrorKind::Other,
            "{path} was not refused before it was tried: {error:?}"
        );
    }
    let error = failure("http://127.0.0.1:1/a//b%20c/~d?e=%2F").await;
    assert_eq!(error.kind(), TransportErrorKind::Connect, "what is left alone is tried");
}

#[test]
fn without_a_runtime_nothing_is_sent() {
    let error = payments_fake::block_on(failure("http://127.0.0.1:1/"));
    assert_eq!(error.delivery(), Delivery::NotProcessed, "{error:?}");
    assert_eq!(error.kind(), TransportErrorKind::Configuration, "{error:?}");
}
