//! Does the transport of the chapter "Bring your own HTTP stack" keep the contract of every transport?

#[path = "../docs/own_transport/answer.rs"]
mod answer;
#[path = "../docs/own_transport/exchange.rs"]
mod exchange;
#[path = "../docs/own_transport/line.rs"]
mod line;
#[path = "../docs/own_transport/transport.rs"]
mod transport;

use payments_conformance::{Abilities, Ability, Setup, Stack};
use transport::StdTransport;

struct StdStack;

impl Stack for StdStack {
    type Transport = StdTransport;

    fn transport(&self, _setup: &Setup) -> StdTransport {
        StdTransport
    }

    fn abilities(&self) -> Abilities {
        Abilities::default()
            .without(Ability::Https, "TLS is spoken by a proxy on the same machine")
            .without(Ability::Reuse, "each call has a connection of its own")
    }

    fn debug(&self, transport: &StdTransport) -> Option<String> {
        Some(format!("{transport:?}"))
    }
}

payments_conformance::contract_tests!(StdStack);
