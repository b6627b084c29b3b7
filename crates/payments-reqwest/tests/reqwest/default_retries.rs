//! Shows why the transport disables reqwest's retries: by default, reqwest resends a payment that a server has read.

use std::error::Error as StdError;
use std::future::Future;
use std::sync::Arc;

use payments_conformance::{Abilities, Ability, Setup, Stack, Verdict, check_only};
use payments_core::{Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tokio::runtime::Runtime;

/// A minimal transport over reqwest and HTTP/2, for these contracts only.
struct OverHttp2(reqwest::Client);

impl Transport for OverHttp2 {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let total = request.deadlines().total();
        let request = reqwest::Request::try_from(request.into_http()).unwrap();
        let received = tokio::time::timeout(total, self.0.execute(request)).await;
        let received = received.map_err(|_| TransportError::unknown(TransportErrorKind::Timeout))?;
        let received = received.map_err(|error| {
            if error.is_connect() || is_refused(&error) {
                TransportError::not_processed(TransportErrorKind::Connect)
            } else {
                TransportError::unknown(TransportErrorKind::Closed)
            }
        })?;
        let mut response = http::Response::new(bytes::Bytes::new());
        *response.status_mut() = received.status();
        *response.body_mut() = received.bytes().await.unwrap();
        Ok(response.into())
    }
}

/// Whether the server reset the stream with `REFUSED_STREAM`, the only code that is proof.
fn is_refused(error: &reqwest::Error) -> bool {
    let mut source = error.source();
    while let Some(this) = source {
        if let Some(error) = this.downcast_ref::<h2::Error>() {
            return error.is_remote()
                && error.is_reset()
                && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        }
        source = this.source();
    }
    false
}

struct Http2Stack {
    runtime: Runtime,
    retries: bool,
}

impl Stack for Http2Stack {
    type Transport = OverHttp2;

    fn transport(&self, setup: &Setup) -> OverHttp2 {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(setup.authority_der())).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let mut client = reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy();
        if !self.retries {
            client = client.retry(reqwest::retry::never());
        }
        OverHttp2(client.build().unwrap())
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        self.runtime.block_on(future)
    }

    fn abilities(&self) -> Abilities {
        Abilities::default().with(Ability::Http2)
    }
}

/// The contracts among these that reqwest breaks.
fn broken(retries: bool, contracts: [&str; 2]) -> Vec<&'static str> {
    let stack = Http2Stack { runtime: Runtime::new().unwrap(), retries };
    let report = check_only(&stack, |contract| contracts.contains(&contract));
    assert_eq!(report.verdicts().len(), contracts.len(), "{report}");
    report.broken().map(Verdict::contract).collect()
}

#[test]
fn reqwest_resends_a_payment_unless_retries_are_disabled() {
    let contracts = ["refused_stream_is_not_processed", "goaway_is_no_proof"];
    assert_eq!(broken(true, contracts), contracts);
    assert!(broken(false, contracts).is_empty());
}
