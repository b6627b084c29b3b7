//! Tests that the transport keeps the contract of every transport, over http and https.

use std::future::Future;

use payments_conformance::{Abilities, Ability, Setup, Stack};
use payments_reqwest::ReqwestTransport;
use tokio::runtime::Runtime;

struct ReqwestStack {
    runtime: Runtime,
}

impl Stack for ReqwestStack {
    type Transport = ReqwestTransport;

    fn transport(&self, setup: &Setup) -> ReqwestTransport {
        ReqwestTransport::builder().only_root_certificates_pem(setup.authority_pem()).build().unwrap()
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        self.runtime.block_on(future)
    }

    fn abilities(&self) -> Abilities {
        Abilities::default().with(Ability::ManyHeaders).with(Ability::FoldedHeaders)
    }

    fn debug(&self, transport: &ReqwestTransport) -> Option<String> {
        Some(format!("{transport:?}"))
    }
}

payments_conformance::contract_tests!(ReqwestStack { runtime: Runtime::new().unwrap() });
