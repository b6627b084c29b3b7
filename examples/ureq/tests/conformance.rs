//! Does the transport keep the contract of every transport, over http and over https?

use payments_conformance::{Setup, Stack};
use payments_example_ureq::UreqTransport;
use ureq::tls::{Certificate, RootCerts};

struct UreqStack;

impl Stack for UreqStack {
    type Transport = UreqTransport;

    fn transport(&self, setup: &Setup) -> UreqTransport {
        let authority = Certificate::from_der(setup.authority_der()).to_owned();
        UreqTransport::new(RootCerts::new_with_certs(&[authority]))
    }

    fn debug(&self, transport: &UreqTransport) -> Option<String> {
        Some(format!("{transport:?}"))
    }
}

payments_conformance::contract_tests!(UreqStack);
