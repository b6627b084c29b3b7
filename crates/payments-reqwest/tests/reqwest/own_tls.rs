//! Tests that certificates are verified even if a caller's own builder accepts any.

use std::future::Future;

use payments_conformance::{Setup, Stack, check_only};
use payments_reqwest::ReqwestTransport;
use payments_reqwest::unversioned::from_client_builder;
use reqwest::Certificate;
use tokio::runtime::Runtime;

/// reqwest's own TLS, configured to accept any certificate.
struct AcceptsAnyCertificate {
    runtime: Runtime,
}

impl Stack for AcceptsAnyCertificate {
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
fn certificates_are_verified_even_if_the_builder_disables_it() {
    rustls::crypto::ring::default_provider().install_default().ok();
    let contracts = [
        "a_payment_arrives_byte_for_byte",
        "an_untrusted_certificate_is_not_processed",
        "a_certificate_for_another_host_is_not_processed",
        "an_expired_certificate_is_not_processed",
    ];
    let stack = AcceptsAnyCertificate { runtime: Runtime::new().unwrap() };
    let report = check_only(&stack, |contract| contracts.contains(&contract));
    assert_eq!(report.verdicts().len(), contracts.len(), "{report}");
    assert_eq!(report.broken().count(), 0, "{report}");
}
