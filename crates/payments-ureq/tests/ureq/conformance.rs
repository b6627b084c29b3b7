//! Tests that the transport keeps the contract of every transport, over http and https.

use payments_conformance::{FnStack, Setup, stack};
use payments_ureq::UreqTransport;

fn ureq() -> FnStack<UreqTransport> {
    let transport = |setup: &Setup| {
        let builder = UreqTransport::builder().only_root_certificates_pem(setup.authority_pem());
        builder.build().expect("the authority of the kit is PEM")
    };
    stack(transport).searching_debug()
}

payments_conformance::blocking_contract_tests!(ureq());
