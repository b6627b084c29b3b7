//! The conformance kit's public types, with a request in them that is full of secrets.

use bytes::Bytes;
use payments_canary::Canaries;
use payments_conformance::{Abilities, Ability, Setup, Stack, check_only};
use payments_core::{
    Operation, Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse,
};

use super::page::{Page, tell};
use super::requests::{card_payment, endpoint};

pub(super) fn tell_all(page: &Page, canaries: &Canaries) {
    let request = card_payment(canaries).request(&endpoint(canaries)).unwrap();
    let stack = Telling { page: page.clone(), request };
    let report = check_only(&stack, |contract| contract == "every_status_from_200_to_599_is_an_answer");
    assert_eq!(report.broken().count(), 1, "{report}");
    tell!(page, report);
    for verdict in report.verdicts() {
        tell!(page, *verdict);
        page.write(verdict.story().unwrap());
    }
    tell!(page, stack.abilities());
    tell!(page, Ability::Sockets);
    tell!(page, payments_conformance::stack(|_: &Setup| Unplugged));
}

/// Tells all that the kit hands to a stack.
struct Telling {
    page: Page,
    request: http::Request<Bytes>,
}

/// Breaks the contract, so that there is a story.
struct Unplugged;

impl Stack for Telling {
    type Transport = Unplugged;

    fn transport(&self, setup: &Setup) -> Unplugged {
        setup.journal().record(&self.request);
        tell!(&self.page, *setup);
        tell!(&self.page, *setup.journal());
        let script = setup.script().unwrap();
        tell!(&self.page, *script);
        tell!(&self.page, *script.act(0));
        Unplugged
    }

    fn abilities(&self) -> Abilities {
        Abilities::default().without(Ability::Sockets, "it sends nothing")
    }
}

impl Transport for Unplugged {
    async fn send(&self, _: TransportRequest) -> Result<TransportResponse, TransportError> {
        Err(TransportError::not_processed(TransportErrorKind::Connect))
    }
}
