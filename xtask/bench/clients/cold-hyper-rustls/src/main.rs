//! hyper-util's legacy client over hyper-rustls in a fresh process, with the same provider and the same root.

use std::sync::Arc;

use bench_harness::{API_KEY, Answer, Charge};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

fn main() {
    let charge = Charge::example();
    bench_harness::run_cold(async |server, root| {
        let client = Client::builder(TokioExecutor::new()).build(connector(root));
        let body = serde_json::to_vec(&charge).expect("it is JSON");
        let request = Request::post(format!("https://{server}/api/v1/public/transaction"))
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(AUTHORIZATION, HeaderValue::from_static(API_KEY))
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header(USER_AGENT, HeaderValue::from_static("bench/1.0"))
            .body(Full::new(Bytes::from(body)))
            .expect("constants make a request");
        let answer = client.request(request).await.expect("the server answers");
        assert!(answer.status().is_success());
        let body = answer.into_body().collect().await.expect("the answer is whole").to_bytes();
        let answer: Answer = serde_json::from_slice(&body).expect("the answer is understood");
        answer.data.transaction_id
    });
}

fn connector(root: &str) -> HttpsConnector<HttpConnector> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(root.as_bytes()) {
        roots.add(certificate.expect("PEM")).expect("a certificate");
    }
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has them")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    tcp.enforce_http(false);
    HttpsConnectorBuilder::new().with_tls_config(config).https_only().enable_http1().wrap_connector(tcp)
}
