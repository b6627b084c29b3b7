//! Tests that the transport keeps the contract of every transport, over http and https.

use payments_conformance::{BlockingStack, Setup};
use payments_ureq::UreqTransport;

struct UreqStack;

impl BlockingStack for UreqStack {
    type Transport = UreqTransport;

    fn transport(&self, setup: &Setup) -> UreqTransport {
        let builder = UreqTransport::builder().only_root_certificates_pem(setup.authority_pem());
        builder.build().expect("the authority of the kit is PEM")
    }

    fn debug(&self, transport: &UreqTransport) -> Option<String> {
        Some(format!("{transport:?}"))
    }
}

payments_conformance::blocking_contract_tests!(UreqStack);
