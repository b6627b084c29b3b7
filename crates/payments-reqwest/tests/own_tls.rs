//! A caller's own builder accepts no certificate that does not prove who the server is.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::future::Future;

use payments_conformance::{Setup, Stack, check_only};
use payments_reqwest::ReqwestTransport;
use payments_reqwest::unversioned::from_client_builder;
use reqwest::Certificate;
use tokio::runtime::Runtime;

/// reqwest's own TLS, told to accept whatever comes.
struct Credulous {
    runtime: Runtime,
}

impl Stack for Credulous {
    type Transport = ReqwestTransport;

    fn transport(&self, setup: &Setup) -> ReqwestTransport {
        let authority = Certificate::from_der(setup.authority_der()).unwrap();
        from_client_builder(move || {
            reqwest::Client::builder()
                .tls_certs_only([authority.clone()])
                .tls_danger_accept_invalid_certs(true)
                .tls_danger_accept_invalid_hostnames(true)
        })
        .unwrap()
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        self.runtime.block_on(future)
    }
}

#[test]
fn certificates_are_verified_whatever_the_builder_says() {
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let contracts = [
        "a_payment_arrives_byte_for_byte",
        "an_untrusted_certificate_is_not_processed",
        "a_certificate_for_another_host_is_not_processed",
        "an_expired_certificate_is_not_processed",
    ];
    let stack = Credulous { runtime: Runtime::new().unwrap() };
    let report = check_only(&stack, |contract| contracts.contains(&contract));
    assert_eq!(report.verdicts().len(), contracts.len(), "{report}");
    assert_eq!(report.broken().count(), 0, "{report}");
}
