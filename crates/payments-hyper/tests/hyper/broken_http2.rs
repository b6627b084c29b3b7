//! Does every HTTP/2 contract find the flaw that it is about, and only that flaw?
//!
//! The tests add one flaw at a time to [`HyperTransport`], which keeps every contract. Slow contracts run only for the flaws that
//! break them; `cargo xtask conformance` runs every HTTP/2 contract for every flaw.

#![cfg(all(feature = "http2", any(feature = "ring", feature = "aws-lc-rs")))]
use std::collections::BTreeSet;
use std::error::Error as StdError;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{Response, Version};
use payments_conformance::{Abilities, Ability, Setup, Stack, Verdict, check_only};
use payments_core::{
    Delivery, Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse,
};
use payments_hyper::HyperTransport;
use tokio::runtime::Runtime;

/// A flaw of an HTTP client, with the reasoning behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    /// "The server reset the stream, so it did not process the request."
    TreatsAnyResetAsRefusal,
    /// "RFC 9113 says that streams above the last one were not processed."
    TrustsGoaway,
    /// "The request was refused, so it can be sent again."
    ResendsRefusedRequest,
    /// "GOAWAY without an error is a graceful shutdown, so the request can be sent again."
    ResendsAfterGoaway,
    /// "Every failed request may have been processed."
    ReportsNotProcessedAsUnknown,
    /// "The stream was refused, so what came before does not count."
    TrustsLateRefusal,
    /// "Part of a response is a response."
    AcceptsPartialBody,
    /// "The server resets the stream without an error once it has sent everything."
    TakesNoErrorForTheEnd,
    /// "The connection is lost, so the request is lost too."
    ReportsLostRequestsAsNotProcessed,
    /// "The connection broke; the next one will work."
    ResendsAfterConnectionLoss,
    /// "There was no response, so there was no server."
    ReportsTimeoutsAsNotProcessed,
    /// "The deadline is a hint."
    MissesDeadlines,
    /// "The caller is gone, but the payment should still complete."
    ContinuesAfterDrop,
    /// "A connection for each call is simplest."
    ConnectsForEachCall,
    /// "One call is enough."
    SendsOnlyOnce,
    /// Not a flaw: every second call finds its connection closed before anything is written.
    DetectsClosedConnectionsLate,
    /// "Every server speaks HTTP/2 by now."
    RequiresHttp2,
    /// "What fails over HTTP/2 works over HTTP/1.1."
    FallsBackToHttp1,
    /// "With the request in the error, the log is easier to understand."
    LeaksPaymentInErrors,
}

/// [`HyperTransport`] with a flaw.
struct FlawedTransport {
    transport: Arc<HyperTransport>,
    authority: String,
    flaw: Flaw,
    calls: AtomicUsize,
    simulated_delay: Arc<AtomicU64>,
}

impl Transport for FlawedTransport {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let earlier_calls = self.calls.fetch_add(1, Ordering::SeqCst);
        match self.flaw {
            Flaw::SendsOnlyOnce if earlier_calls > 0 => Err(false_not_processed()),
            Flaw::DetectsClosedConnectionsLate if earlier_calls % 2 == 1 => Err(false_not_processed()),
            _ => self.send_flawed(request).await,
        }
    }
}

impl FlawedTransport {
    async fn send_flawed(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let (operation, deadlines, cap) = (request.operation(), request.deadlines(), request.response_cap());
        let request = request.into_http();
        let attempt = || TransportRequest::new(request.clone(), operation, deadlines, cap);
        let result = match self.flaw {
            Flaw::ContinuesAfterDrop => {
                let (transport, attempt) = (Arc::clone(&self.transport), attempt());
                tokio::spawn(async move { transport.send(attempt).await }).await.unwrap()
            }
            Flaw::ConnectsForEachCall => transport(&self.authority).send(attempt()).await,
            _ => self.transport.send(attempt()).await,
        };
        let error = match result {
            Ok(response) => {
                let response = response.into_http();
                if self.flaw == Flaw::RequiresHttp2 && response.version() != Version::HTTP_2 {
                    return Err(TransportError::answered(TransportErrorKind::Protocol, response));
                }
                return Ok(response.into());
            }
            Err(error) => error,
        };
        if self.flaw == Flaw::FallsBackToHttp1 && error.delivery() == Delivery::Unknown {
            let http1 =
                HyperTransport::builder().only_root_certificates_pem(&self.authority).build().unwrap();
            return match http1.send(attempt()).await {
                Err(second) if not_processed(&second) => Err(error),
                result => result,
            };
        }
        match self.flaw {
            Flaw::ResendsRefusedRequest if not_processed(&error) && is_reset(&error) => {}
            Flaw::ResendsAfterGoaway if is_goaway(&error) && !answered(&error) => {}
            Flaw::ResendsAfterConnectionLoss if is_connection_loss(&error) => {}
            _ => return self.fail(error, &request),
        }
        self.transport.send(attempt()).await
    }

    fn fail(
        &self,
        error: TransportError,
        request: &http::Request<Bytes>,
    ) -> Result<TransportResponse, TransportError> {
        let kind = error.kind();
        let timeout = kind == TransportErrorKind::Timeout;
        Err(match self.flaw {
            Flaw::TreatsAnyResetAsRefusal if is_reset(&error) && !answered(&error) => false_not_processed(),
            Flaw::TrustsGoaway if is_goaway(&error) && !answered(&error) => false_not_processed(),
            Flaw::ReportsNotProcessedAsUnknown if not_processed(&error) => TransportError::unknown(kind),
            Flaw::TrustsLateRefusal if is_reset(&error) && answered(&error) => false_not_processed(),
            Flaw::AcceptsPartialBody if answered(&error) => return Ok(partial(&error).into()),
            Flaw::TakesNoErrorForTheEnd if ended_without_a_length(&error) => {
                return Ok(partial(&error).into());
            }
            Flaw::ReportsLostRequestsAsNotProcessed if is_connection_loss(&error) => false_not_processed(),
            Flaw::ReportsTimeoutsAsNotProcessed if timeout => TransportError::not_processed(kind),
            Flaw::MissesDeadlines if timeout => {
                self.simulated_delay.fetch_add(3, Ordering::SeqCst);
                error
            }
            Flaw::LeaksPaymentInErrors if is_reset(&error) => {
                error.with_source(format!("{:?}", request.body()))
            }
            _ => error,
        })
    }
}

fn false_not_processed() -> TransportError {
    TransportError::not_processed(TransportErrorKind::Closed)
}

fn partial(error: &TransportError) -> Response<Bytes> {
    let partial = error.partial().unwrap();
    let mut copy = Response::new(partial.body().clone());
    *copy.status_mut() = partial.status();
    copy
}

/// hyper takes a reset with `NO_ERROR` for the end of a body. Only the length of the body shows that it is not.
fn ended_without_a_length(error: &TransportError) -> bool {
    let ended_early = error.source().is_some_and(|source| source.to_string() == "the stream ended too early");
    ended_early && error.partial().is_some_and(|partial| !partial.headers().contains_key(CONTENT_LENGTH))
}

fn answered(error: &TransportError) -> bool {
    matches!(error.delivery(), Delivery::Answered(_))
}

fn not_processed(error: &TransportError) -> bool {
    error.delivery() == Delivery::NotProcessed
}

fn is_connection_loss(error: &TransportError) -> bool {
    let closed = error.delivery() == Delivery::Unknown && error.kind() == TransportErrorKind::Closed;
    closed && !is_goaway(error) && http2(error).is_none_or(h2::Error::is_io)
}

fn is_reset(error: &TransportError) -> bool {
    http2(error).is_some_and(|error| error.is_reset() && error.is_remote())
}

fn is_goaway(error: &TransportError) -> bool {
    error.source().is_some_and(|source| source.to_string().contains("GOAWAY"))
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

fn transport(authority: &str) -> HyperTransport {
    let builder = HyperTransport::builder().only_root_certificates_pem(authority);
    builder.allow_http2().build().unwrap()
}

struct FlawedStack {
    runtime: Runtime,
    flaw: Flaw,
    /// Seconds that the stack's clock adds, so that a missed deadline takes no real time.
    simulated_delay: Arc<AtomicU64>,
}

impl Stack for FlawedStack {
    type Transport = FlawedTransport;

    fn transport(&self, setup: &Setup) -> FlawedTransport {
        FlawedTransport {
            transport: Arc::new(transport(setup.authority_pem())),
            authority: setup.authority_pem().to_owned(),
            flaw: self.flaw,
            calls: AtomicUsize::new(0),
            simulated_delay: Arc::clone(&self.simulated_delay),
        }
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        self.runtime.block_on(future)
    }

    fn abilities(&self) -> Abilities {
        let abilities =
            Abilities::default().without(Ability::PlainHttp, "this is about HTTP/2").with(Ability::Http2);
        // Only this flaw breaks the contract about pings, which is slow, so the others skip it.
        if self.flaw == Flaw::ReportsTimeoutsAsNotProcessed {
            abilities.with(Ability::Http2Pings)
        } else {
            abilities
        }
    }

    fn now(&self) -> Instant {
        Instant::now() + Duration::from_secs(self.simulated_delay.load(Ordering::SeqCst))
    }
}

macro_rules! flaws {
    ($($name:ident: $flaw:ident breaks [$($contract:ident),* $(,)?],)*) => {
        /// The contracts that a flaw breaks.
        const BROKEN_BY_A_FLAW: &[&str] = &[$($(stringify!($contract),)*)*];

        $(
            #[test]
            fn $name() {
                breaks_exactly(Flaw::$flaw, &[$(stringify!($contract)),*]);
            }
        )*
    };
}

flaws! {
    treats_any_reset_as_refusal: TreatsAnyResetAsRefusal breaks [
        any_other_reset_of_the_stream_is_unknown,
        another_http_version_is_not_tried_after_a_failure,
    ],
    trusts_goaway: TrustsGoaway breaks [
        goaway_is_no_proof,
    ],
    resends_refused_request: ResendsRefusedRequest breaks [
        refused_stream_is_not_processed,
    ],
    resends_after_goaway: ResendsAfterGoaway breaks [
        goaway_is_no_proof,
        goaways_at_random_moments_repeat_and_hide_no_payment,
    ],
    reports_not_processed_as_unknown: ReportsNotProcessedAsUnknown breaks [
        refused_stream_is_not_processed,
    ],
    trusts_late_refusal: TrustsLateRefusal breaks [
        refused_stream_after_the_head_is_answered,
        a_body_that_breaks_off_is_answered_over_http2,
    ],
    accepts_partial_body: AcceptsPartialBody breaks [
        refused_stream_after_the_head_is_answered,
        a_body_that_breaks_off_is_answered_over_http2,
    ],
    takes_no_error_for_the_end: TakesNoErrorForTheEnd breaks [
        a_body_that_breaks_off_is_answered_over_http2,
    ],
    reports_lost_requests_as_not_processed: ReportsLostRequestsAsNotProcessed breaks [
        the_end_of_the_connection_is_unknown_over_http2,
        all_streams_of_a_lost_connection_are_unknown,
        another_http_version_is_not_tried_after_a_failure,
    ],
    resends_after_connection_loss: ResendsAfterConnectionLoss breaks [
        the_end_of_the_connection_is_unknown_over_http2,
        all_streams_of_a_lost_connection_are_unknown,
        another_http_version_is_not_tried_after_a_failure,
    ],
    reports_timeouts_as_not_processed: ReportsTimeoutsAsNotProcessed breaks [
        a_connection_that_the_network_dropped_is_not_used_again,
        silence_on_a_stream_ends_with_the_total_deadline,
    ],
    misses_deadlines: MissesDeadlines breaks [
        silence_on_a_stream_ends_with_the_total_deadline,
    ],
    continues_after_drop: ContinuesAfterDrop breaks [
        a_cancelled_stream_is_reset_and_harms_no_other,
    ],
    connects_for_each_call: ConnectsForEachCall breaks [
        all_streams_of_a_lost_connection_are_unknown,
        a_cancelled_stream_is_reset_and_harms_no_other,
    ],
    sends_only_once: SendsOnlyOnce breaks [
        a_body_that_breaks_off_is_answered_over_http2,
        a_goaway_that_spares_a_request_lets_it_be_answered,
        all_streams_of_a_lost_connection_are_unknown,
        any_other_reset_of_the_stream_is_unknown,
        goaway_is_no_proof,
        http1_is_spoken_to_a_server_that_knows_no_other,
        refused_stream_after_the_head_is_answered,
        refused_stream_is_not_processed,
        silence_on_a_stream_ends_with_the_total_deadline,
        the_end_of_the_connection_is_unknown_over_http2,
    ],
    requires_http2: RequiresHttp2 breaks [
        http1_is_spoken_to_a_server_that_knows_no_other,
    ],
    falls_back_to_http1: FallsBackToHttp1 breaks [
        another_http_version_is_not_tried_after_a_failure,
    ],
    leaks_payment_in_errors: LeaksPaymentInErrors breaks [
        refused_stream_is_not_processed,
        refused_stream_after_the_head_is_answered,
        any_other_reset_of_the_stream_is_unknown,
        a_body_that_breaks_off_is_answered_over_http2,
        another_http_version_is_not_tried_after_a_failure,
    ],
}

/// Contracts that take seconds with a correct transport or with another flaw, or that open many connections.
const SLOW: &[&str] = &[
    "all_streams_of_a_lost_connection_are_unknown",
    "goaways_at_random_moments_repeat_and_hide_no_payment",
    "a_cancelled_stream_is_reset_and_harms_no_other",
];

fn breaks_exactly(flaw: Flaw, expected: &[&str]) {
    let all = std::env::var_os("PAYMENTS_CONFORMANCE_ALL").is_some();
    let contracts = contracts();
    let wanted = |contract: &str| {
        contracts.contains(&contract) && (all || expected.contains(&contract) || !SLOW.contains(&contract))
    };
    let stack = FlawedStack { runtime: Runtime::new().unwrap(), flaw, simulated_delay: Arc::default() };
    let report = check_only(&stack, wanted);
    let broken: BTreeSet<_> = report.broken().map(Verdict::contract).collect();
    assert_eq!(broken, expected.iter().copied().collect(), "\n{report}");
}

#[test]
fn a_late_detection_of_goaway_keeps_the_contract() {
    let contract = "a_goaway_that_spares_a_request_lets_it_be_answered";
    let stack = FlawedStack {
        runtime: Runtime::new().unwrap(),
        flaw: Flaw::DetectsClosedConnectionsLate,
        simulated_delay: Arc::default(),
    };
    let report = check_only(&stack, |name| name == contract);
    assert!(report.is_clean(), "{report}");
}

#[test]
fn every_http2_contract_is_broken_by_a_flaw() {
    for contract in contracts() {
        assert!(BROKEN_BY_A_FLAW.contains(&contract), "no flaw breaks {contract}");
    }
}

/// The kit's HTTP/2 contracts, from its own list.
fn contracts() -> Vec<&'static str> {
    let mut names = Vec::new();
    payments_conformance::__contracts_of!(http2 __name_each { names });
    let names: Vec<_> = names.into_iter().map(|(_theme, contract)| contract).collect();
    assert!(names.len() > 10, "{names:?}");
    names
}
