//! Does the transport keep the contract of every transport, over http and over https?

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::future::Future;

use payments_conformance::{Setup, Stack};
use payments_example_reqwest::ReqwestTransport;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use tokio::runtime::Runtime;

struct ReqwestStack {
    runtime: Runtime,
}

impl Stack for ReqwestStack {
    type Transport = ReqwestTransport;

    fn transport(&self, setup: &Setup) -> ReqwestTransport {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(setup.authority_der())).unwrap();
        ReqwestTransport::new(roots).unwrap()
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        self.runtime.block_on(future)
    }

    fn debug(&self, transport: &ReqwestTransport) -> Option<String> {
        Some(format!("{transport:?}"))
    }
}

payments_conformance::contract_tests!(ReqwestStack { runtime: Runtime::new().unwrap() });
