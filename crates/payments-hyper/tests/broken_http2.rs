//! Does the contract find transports out that misread what an HTTP/2 server says when it ends?

#![cfg(all(feature = "http2", any(feature = "ring", feature = "aws-lc-rs")))]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::error::Error as StdError;
use std::future::Future;

use payments_conformance::{Abilities, Ability, Setup, Stack, check_only};
use payments_core::{
    Delivery, Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse,
};
use payments_hyper::HyperTransport;
use tokio::runtime::Runtime;

/// One mistake that clients make.
#[derive(Clone, Copy, Debug)]
enum Flaw {
    /// "The server reset the stream, so it has not done it."
    TakesAnyResetForARefusal,
    /// "RFC 9113 says that streams above the last were not processed."
    BelievesGoaway,
    /// "It was refused, so it may be tried again."
    SendsARefusedRequestAgain,
    /// "GOAWAY without an error is a graceful shutdown, so it may be tried again."
    SendsAgainAfterGoaway,
    /// "Whatever fails may have been processed."
    ProvesNothing,
    /// "The stream was refused, whatever came before."
    BelievesALateRefusal,
    /// "Half an answer is an answer."
    TakesHalfABodyForTheWhole,
}

/// [`HyperTransport`], with a mistake.
struct Flawed {
    transport: HyperTransport,
    flaw: Flaw,
}

impl Transport for Flawed {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let (operation, deadlines, cap) = (request.operation(), request.deadlines(), request.response_cap());
        let request = request.into_http();
        let attempt = || TransportRequest::new(request.clone(), operation, deadlines, cap);
        let error = match self.transport.send(attempt()).await {
            Err(error) => error,
            answer => return answer,
        };
        let goaway = http2(&error).is_some_and(|error| error.is_go_away() && error.is_remote());
        let reset = http2(&error).is_some_and(|error| error.is_reset() && error.is_remote());
        let answered = matches!(error.delivery(), Delivery::Answered(_));
        let not_processed = error.delivery() == Delivery::NotProcessed;
        match self.flaw {
            Flaw::TakesAnyResetForARefusal if reset && !answered => Err(lie()),
            Flaw::BelievesGoaway if goaway && !answered => Err(lie()),
            Flaw::SendsARefusedRequestAgain if not_processed && reset => self.transport.send(attempt()).await,
            Flaw::SendsAgainAfterGoaway if goaway && !answered => self.transport.send(attempt()).await,
            Flaw::ProvesNothing if not_processed => Err(TransportError::unknown(error.kind())),
            Flaw::BelievesALateRefusal if reset && answered => Err(lie()),
            Flaw::TakesHalfABodyForTheWhole if answered => {
                let partial = error.partial().unwrap();
                let mut whole = http::Response::new(partial.body().clone());
                *whole.status_mut() = partial.status();
                Ok(whole.into())
            }
            _ => Err(error),
        }
    }
}

fn lie() -> TransportError {
    TransportError::not_processed(TransportErrorKind::Closed)
}

fn http2(error: &TransportError) -> Option<&h2::Error> {
    let mut source = error.source();
    while let Some(this) = source {
        if let Some(error) = this.downcast_ref() {
            return Some(error);
        }
        source = this.source();
    }
    None
}

struct FlawedStack {
    runtime: Runtime,
    flaw: Flaw,
}

impl Stack for FlawedStack {
    type Transport = Flawed;

    fn transport(&self, setup: &Setup) -> Flawed {
        let builder = HyperTransport::builder().only_root_certificates_pem(setup.authority_pem());
        Flawed { transport: builder.allow_http2().build().unwrap(), flaw: self.flaw }
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        self.runtime.block_on(future)
    }

    fn abilities(&self) -> Abilities {
        Abilities::default().without(Ability::PlainHttp, "this is about HTTP/2").with(Ability::Http2)
    }
}

/// The contracts of those that are looked at which a transport with this flaw breaks.
fn broken_by(flaw: Flaw) -> Vec<&'static str> {
    let stack = FlawedStack { runtime: Runtime::new().unwrap(), flaw };
    let report = check_only(&stack, |contract| LOOKED_AT.contains(&contract));
    assert_eq!(report.verdicts().len(), LOOKED_AT.len(), "a contract has another name now");
    report.broken().map(payments_conformance::Verdict::contract).collect()
}

const LOOKED_AT: [&str; 7] = [
    "refused_stream_is_not_processed",
    "refused_stream_after_the_head_is_answered",
    "any_other_reset_of_the_stream_is_unknown",
    "goaway_is_no_proof",
    "a_goaway_that_spares_a_request_lets_it_be_answered",
    "the_end_of_the_connection_is_unknown_over_http2",
    "a_body_that_breaks_off_is_answered_over_http2",
];

#[test]
fn a_reset_taken_for_a_refusal_is_found_out() {
    let broken = broken_by(Flaw::TakesAnyResetForARefusal);
    assert_eq!(broken, ["any_other_reset_of_the_stream_is_unknown"]);
}

#[test]
fn goaway_taken_for_proof_is_found_out() {
    assert_eq!(broken_by(Flaw::BelievesGoaway), ["goaway_is_no_proof"]);
}

#[test]
fn a_refused_request_sent_again_is_found_out() {
    assert_eq!(broken_by(Flaw::SendsARefusedRequestAgain), ["refused_stream_is_not_processed"]);
}

#[test]
fn a_request_sent_again_after_goaway_is_found_out() {
    assert_eq!(broken_by(Flaw::SendsAgainAfterGoaway), ["goaway_is_no_proof"]);
}

#[test]
fn a_refusal_that_is_not_understood_is_found_out() {
    assert_eq!(broken_by(Flaw::ProvesNothing), ["refused_stream_is_not_processed"]);
}

#[test]
fn a_late_refusal_taken_for_proof_is_found_out() {
    let broken = broken_by(Flaw::BelievesALateRefusal);
    assert_eq!(
        broken,
        ["refused_stream_after_the_head_is_answered", "a_body_that_breaks_off_is_answered_over_http2"]
    );
}

#[test]
fn half_a_body_taken_for_the_whole_is_found_out() {
    let broken = broken_by(Flaw::TakesHalfABodyForTheWhole);
    assert_eq!(
        broken,
        ["refused_stream_after_the_head_is_answered", "a_body_that_breaks_off_is_answered_over_http2"]
    );
}

/// The ends at random moments find what the exact ones find, or else they are no test.
#[test]
fn goaways_at_random_moments_find_out_who_sends_again() {
    let stack = FlawedStack { runtime: Runtime::new().unwrap(), flaw: Flaw::SendsAgainAfterGoaway };
    let report = check_only(&stack, |contract| contract.starts_with("goaways_at_random_moments"));
    assert_eq!(report.broken().count(), 1, "{report}");
}
