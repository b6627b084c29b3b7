//! The conformance kit's public types, holding a request that is full of secrets.

use bytes::Bytes;
use payments_canary::Canaries;
use payments_conformance::{Abilities, Ability, Setup, Stack, check_only};
use payments_core::{
    Operation, Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse,
};

use super::requests::{card_payment, endpoint};
use super::transcript::{Transcript, transcribe};

pub(super) fn transcribe_all(transcript: &Transcript, canaries: &Canaries) {
    let request = card_payment(canaries).request(&endpoint(canaries)).unwrap();
    let stack = TranscribingStack { transcript: transcript.clone(), request };
    let report = check_only(&stack, |contract| contract == "every_status_from_200_to_599_is_an_answer");
    assert_eq!(report.broken().count(), 1, "{report}");
    transcribe!(transcript, report);
    for verdict in report.verdicts() {
        transcribe!(transcript, *verdict);
        transcript.write(verdict.story().unwrap());
    }
    transcribe!(transcript, stack.abilities());
    transcribe!(transcript, payments_conformance::stack(|_: &Setup| NeverSends));
}

/// Transcribes everything that the kit passes to a stack.
struct TranscribingStack {
    transcript: Transcript,
    request: http::Request<Bytes>,
}

/// Violates the contract, so that the verdict has a story.
struct NeverSends;

impl Stack for TranscribingStack {
    type Transport = NeverSends;

    fn transport(&self, setup: &Setup) -> NeverSends {
        setup.arrivals().record(&self.request);
        transcribe!(&self.transcript, *setup);
        transcribe!(&self.transcript, *setup.arrivals());
        let script = setup.script().unwrap();
        transcribe!(&self.transcript, *script);
        transcribe!(&self.transcript, *script.act(0));
        NeverSends
    }

    fn abilities(&self) -> Abilities {
        Abilities::default().without(Ability::Sockets, "it sends nothing")
    }
}

impl Transport for NeverSends {
    async fn send(&self, _: TransportRequest) -> Result<TransportResponse, TransportError> {
        Err(TransportError::not_processed(TransportErrorKind::Connect))
    }
}
