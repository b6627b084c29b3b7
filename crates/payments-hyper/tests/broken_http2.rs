//! Does every HTTP/2 contract find the flaw that it is about, and only that flaw?
//!
//! The tests add one flaw at a time to [`HyperTransport`], which keeps every contract. Slow contracts run only for the flaws that
//! break them; `PAYMENTS_CONFORMANCE_ALL=1` runs every HTTP/2 contract for every flaw.

#![cfg(all(feature = "http2", any(feature = "ring", feature = "aws-lc-rs")))]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::collections::BTreeSet;
use std::error::Error as StdError;
use std::future::Future;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Response, Version};
use payments_conformance::{Abilities, Ability, Setup, Stack, Verdict, check_only};
use payments_core::{
    Deadlines, Delivery, Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse,
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
    /// "The connection is lost, so the request is lost too."
    ReportsLostRequestsAsNotProcessed,
    /// "The connection broke; the next one will work."
    ResendsAfterConnectionLoss,
    /// "TLS failed, so there was no handshake."
    ReportsTlsFailuresAsNotProcessed,
    /// "An unreadable response is not a response, so nothing was processed."
    ReportsGarbageAsNotProcessed,
    /// "There was no response, so there was no server."
    ReportsTimeoutsAsNotProcessed,
    /// "A timeout is one more way for a connection to close."
    ReportsTimeoutsAsClosed,
    /// "The deadline is a hint."
    MissesDeadlines,
    /// "Half of the time is enough."
    TimesOutEarly,
    /// "The caller checks the body."
    TreatsErrorsAsResponses,
    /// "There was a connection, so there was a response."
    ReportsEveryErrorAsAnswered,
    /// "The caller is gone, but the payment should still complete."
    ContinuesAfterDrop,
    /// "A connection for each call is simplest."
    ConnectsForEachCall,
    /// "One call is enough."
    SendsOnlyOnce,
    /// Not a flaw: every second call finds its connection closed before anything is written.
    DetectsClosedConnectionsLate,
    /// "One call at a time; concurrent calls are rejected."
    RejectsConcurrentCalls,
    /// "Responses arrive in the order of the calls."
    ReturnsPreviousResponse,
    /// "The status is enough."
    DropsBody,
    /// "No request is larger than 64 KiB."
    TruncatesLargeRequests,
    /// "A status above 399 is an error."
    ReportsStatusesAsErrors,
    /// "One byte more than the cap does no harm."
    RaisesCap,
    /// "The cap limits what is returned, not what is read."
    ReadsBeyondCap,
    /// "HTTP/1.1 is enough."
    UsesHttp1Only,
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
    in_flight: AtomicUsize,
    last: Mutex<Option<Response<Bytes>>>,
    simulated_delay: Arc<AtomicU64>,
}

impl Transport for FlawedTransport {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let (earlier_calls, concurrent_calls) =
            (self.calls.fetch_add(1, Ordering::SeqCst), self.in_flight.fetch_add(1, Ordering::SeqCst));
        let result = match self.flaw {
            Flaw::SendsOnlyOnce if earlier_calls > 0 => Err(false_not_processed()),
            Flaw::DetectsClosedConnectionsLate if earlier_calls % 2 == 1 => Err(false_not_processed()),
            Flaw::RejectsConcurrentCalls if concurrent_calls > 0 => Err(false_not_processed()),
            _ => self.send_flawed(request).await,
        };
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        result
    }
}

impl FlawedTransport {
    async fn send_flawed(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let (operation, mut deadlines, mut cap) =
            (request.operation(), request.deadlines(), request.response_cap());
        let requested_cap = cap;
        let mut request = request.into_http();
        match self.flaw {
            Flaw::TimesOutEarly => deadlines = Deadlines::new(deadlines.connect(), deadlines.total() / 2),
            Flaw::RaisesCap => cap += 1,
            Flaw::ReadsBeyondCap => cap = 40 * 1024 * 1024,
            Flaw::TruncatesLargeRequests => request.body_mut().truncate(64 * 1024),
            _ => {}
        }
        let attempt = || TransportRequest::new(request.clone(), operation, deadlines, cap);
        let result = match self.flaw {
            Flaw::ContinuesAfterDrop => {
                let (transport, attempt) = (Arc::clone(&self.transport), attempt());
                tokio::spawn(async move { transport.send(attempt).await }).await.unwrap()
            }
            Flaw::ConnectsForEachCall => transport(&self.authority, self.flaw).send(attempt()).await,
            _ => self.transport.send(attempt()).await,
        };
        let error = match result {
            Ok(response) => return self.succeed(response),
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
            _ => return self.fail(error, &request, requested_cap),
        }
        self.transport.send(attempt()).await
    }

    fn succeed(&self, response: TransportResponse) -> Result<TransportResponse, TransportError> {
        let mut response = response.into_http();
        match self.flaw {
            Flaw::ReturnsPreviousResponse => {
                let last = self.last.lock().unwrap().replace(response.clone());
                response = last.unwrap_or(response);
            }
            Flaw::DropsBody => response.body_mut().clear(),
            Flaw::ReportsStatusesAsErrors if response.status().as_u16() > 399 => {
                return Err(TransportError::answered(TransportErrorKind::Other, response));
            }
            Flaw::RequiresHttp2 if response.version() != Version::HTTP_2 => {
                return Err(TransportError::answered(TransportErrorKind::Protocol, response));
            }
            _ => {}
        }
        Ok(response.into())
    }

    fn fail(
        &self,
        error: TransportError,
        request: &http::Request<Bytes>,
        cap: usize,
    ) -> Result<TransportResponse, TransportError> {
        let (kind, delivery) = (error.kind(), error.delivery());
        let (unknown, timeout) = (delivery == Delivery::Unknown, kind == TransportErrorKind::Timeout);
        Err(match self.flaw {
            Flaw::TreatsAnyResetAsRefusal if is_reset(&error) && !answered(&error) => false_not_processed(),
            Flaw::TrustsGoaway if is_goaway(&error) && !answered(&error) => false_not_processed(),
            Flaw::ReportsNotProcessedAsUnknown if not_processed(&error) => TransportError::unknown(kind),
            Flaw::TrustsLateRefusal if is_reset(&error) && answered(&error) => false_not_processed(),
            Flaw::AcceptsPartialBody if answered(&error) => return Ok(partial(&error).into()),
            Flaw::ReportsLostRequestsAsNotProcessed if is_connection_loss(&error) => false_not_processed(),
            Flaw::ReportsTlsFailuresAsNotProcessed if unknown && is_tls_failure(&error) => {
                false_not_processed()
            }
            Flaw::ReportsGarbageAsNotProcessed if unknown && is_garbage(&error) => false_not_processed(),
            Flaw::ReportsTimeoutsAsNotProcessed if timeout => TransportError::not_processed(kind),
            Flaw::ReportsTimeoutsAsClosed if timeout && unknown => {
                TransportError::unknown(TransportErrorKind::Closed)
            }
            Flaw::MissesDeadlines if timeout => {
                self.simulated_delay.fetch_add(3, Ordering::SeqCst);
                error
            }
            Flaw::TreatsErrorsAsResponses => return Ok(Response::new(Bytes::new()).into()),
            Flaw::ReportsEveryErrorAsAnswered if !answered(&error) => {
                TransportError::answered(kind, Response::new(Bytes::new()))
            }
            Flaw::ReadsBeyondCap if answered(&error) => {
                let mut partial = partial(&error);
                partial.body_mut().truncate(cap);
                TransportError::answered(kind, partial)
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

fn answered(error: &TransportError) -> bool {
    matches!(error.delivery(), Delivery::Answered(_))
}

fn not_processed(error: &TransportError) -> bool {
    error.delivery() == Delivery::NotProcessed
}

fn is_tls_failure(error: &TransportError) -> bool {
    std::iter::successors(error.source(), |&cause| cause.source()).any(|cause| {
        let inner = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        // h2 keeps only the text of an I/O error.
        inner.is_some_and(<dyn StdError + Send + Sync>::is::<rustls::Error>)
            || cause.to_string().contains("fatal alert")
    })
}

fn is_connection_loss(error: &TransportError) -> bool {
    let closed = error.delivery() == Delivery::Unknown && error.kind() == TransportErrorKind::Closed;
    closed && !is_goaway(error) && http2(error).is_none_or(h2::Error::is_io)
}

/// Whether the client itself rejected what the server sent.
fn is_garbage(error: &TransportError) -> bool {
    http2(error).is_some_and(|error| !error.is_remote() && !error.is_io())
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

fn transport(authority: &str, flaw: Flaw) -> HyperTransport {
    let builder = HyperTransport::builder().only_root_certificates_pem(authority);
    let builder = if flaw == Flaw::UsesHttp1Only { builder } else { builder.allow_http2() };
    builder.build().unwrap()
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
            transport: Arc::new(transport(setup.authority_pem(), self.flaw)),
            authority: setup.authority_pem().to_owned(),
            flaw: self.flaw,
            calls: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            last: Mutex::new(None),
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
        an_endless_body_is_bounded_over_http2,
    ],
    reports_lost_requests_as_not_processed: ReportsLostRequestsAsNotProcessed breaks [
        the_end_of_the_connection_is_unknown_over_http2,
        all_streams_of_a_lost_connection_are_unknown,
        another_http_version_is_not_tried_after_a_failure,
        a_tls_failure_after_the_request_is_unknown_over_http2,
    ],
    resends_after_connection_loss: ResendsAfterConnectionLoss breaks [
        the_end_of_the_connection_is_unknown_over_http2,
        all_streams_of_a_lost_connection_are_unknown,
        another_http_version_is_not_tried_after_a_failure,
        a_tls_failure_after_the_request_is_unknown_over_http2,
    ],
    reports_tls_failures_as_not_processed: ReportsTlsFailuresAsNotProcessed breaks [
        a_tls_failure_after_the_request_is_unknown_over_http2,
    ],
    reports_garbage_as_not_processed: ReportsGarbageAsNotProcessed breaks [
        forbidden_frames_are_unknown,
        an_endless_head_is_bounded_over_http2,
    ],
    reports_timeouts_as_not_processed: ReportsTimeoutsAsNotProcessed breaks [
        a_connection_that_the_network_dropped_is_not_used_again,
        silence_on_a_stream_ends_with_the_total_deadline,
        no_window_for_the_body_is_unknown,
        a_flood_of_frames_ends_with_the_deadline,
    ],
    reports_timeouts_as_closed: ReportsTimeoutsAsClosed breaks [
        silence_on_a_stream_ends_with_the_total_deadline,
        no_window_for_the_body_is_unknown,
    ],
    misses_deadlines: MissesDeadlines breaks [
        silence_on_a_stream_ends_with_the_total_deadline,
        no_window_for_the_body_is_unknown,
        a_server_that_allows_no_stream_is_given_up,
        a_server_that_sends_no_settings_is_given_up,
        a_flood_of_frames_ends_with_the_deadline,
    ],
    times_out_early: TimesOutEarly breaks [
        silence_on_a_stream_ends_with_the_total_deadline,
        no_window_for_the_body_is_unknown,
    ],
    treats_errors_as_responses: TreatsErrorsAsResponses breaks [
        refused_stream_is_not_processed,
        refused_stream_after_the_head_is_answered,
        any_other_reset_of_the_stream_is_unknown,
        goaway_is_no_proof,
        the_end_of_the_connection_is_unknown_over_http2,
        all_streams_of_a_lost_connection_are_unknown,
        silence_on_a_stream_ends_with_the_total_deadline,
        no_window_for_the_body_is_unknown,
        a_server_that_allows_no_stream_is_given_up,
        a_server_that_sends_no_settings_is_given_up,
        forbidden_frames_are_unknown,
        a_body_that_breaks_off_is_answered_over_http2,
        a_flood_of_frames_ends_with_the_deadline,
        an_endless_body_is_bounded_over_http2,
        another_http_version_is_not_tried_after_a_failure,
        a_tls_failure_after_the_request_is_unknown_over_http2,
    ],
    reports_every_error_as_answered: ReportsEveryErrorAsAnswered breaks [
        refused_stream_is_not_processed,
        any_other_reset_of_the_stream_is_unknown,
        goaway_is_no_proof,
        the_end_of_the_connection_is_unknown_over_http2,
        all_streams_of_a_lost_connection_are_unknown,
        silence_on_a_stream_ends_with_the_total_deadline,
        no_window_for_the_body_is_unknown,
        a_server_that_allows_no_stream_is_given_up,
        a_server_that_sends_no_settings_is_given_up,
        forbidden_frames_are_unknown,
        another_http_version_is_not_tried_after_a_failure,
        a_tls_failure_after_the_request_is_unknown_over_http2,
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
        a_connection_that_the_server_closed_is_replaced_over_http2,
        a_goaway_that_spares_a_request_lets_it_be_answered,
        all_streams_of_a_lost_connection_are_unknown,
        any_other_reset_of_the_stream_is_unknown,
        calls_beyond_the_stream_limit_wait,
        goaway_is_no_proof,
        http1_is_spoken_to_a_server_that_knows_no_other,
        informational_heads_are_passed_over_in_http2,
        rare_frames_are_understood,
        refused_stream_after_the_head_is_answered,
        refused_stream_is_not_processed,
        silence_on_a_stream_ends_with_the_total_deadline,
        the_end_of_the_connection_is_unknown_over_http2,
        a_tls_failure_after_the_request_is_unknown_over_http2,
    ],
    rejects_concurrent_calls: RejectsConcurrentCalls breaks [
        calls_beyond_the_stream_limit_wait,
    ],
    returns_previous_response: ReturnsPreviousResponse breaks [
        a_goaway_that_spares_a_request_lets_it_be_answered,
        silence_on_a_stream_ends_with_the_total_deadline,
        a_connection_that_the_server_closed_is_replaced_over_http2,
        informational_heads_are_passed_over_in_http2,
        rare_frames_are_understood,
        calls_beyond_the_stream_limit_wait,
        http1_is_spoken_to_a_server_that_knows_no_other,
    ],
    drops_body: DropsBody breaks [
        a_body_arrives_whole_through_small_windows,
        a_body_that_breaks_off_is_answered_over_http2,
        a_connection_that_the_server_closed_is_replaced_over_http2,
        a_goaway_that_spares_a_request_lets_it_be_answered,
        an_early_answer_is_taken_over_http2,
        any_other_reset_of_the_stream_is_unknown,
        calls_beyond_the_stream_limit_wait,
        goaway_is_no_proof,
        http1_is_spoken_to_a_server_that_knows_no_other,
        informational_heads_are_passed_over_in_http2,
        rare_frames_are_understood,
        refused_stream_after_the_head_is_answered,
        refused_stream_is_not_processed,
        silence_on_a_stream_ends_with_the_total_deadline,
        the_end_of_the_connection_is_unknown_over_http2,
        a_tls_failure_after_the_request_is_unknown_over_http2,
    ],
    truncates_large_requests: TruncatesLargeRequests breaks [
        a_body_arrives_whole_through_small_windows,
    ],
    reports_statuses_as_errors: ReportsStatusesAsErrors breaks [
        an_early_answer_is_taken_over_http2,
    ],
    raises_cap: RaisesCap breaks [
        an_endless_body_is_bounded_over_http2,
    ],
    reads_beyond_cap: ReadsBeyondCap breaks [
        an_endless_body_is_bounded_over_http2,
    ],
    uses_http1_only: UsesHttp1Only breaks [
        a_body_arrives_whole_through_small_windows,
        a_body_that_breaks_off_is_answered_over_http2,
        a_connection_that_the_server_closed_is_replaced_over_http2,
        a_goaway_that_spares_a_request_lets_it_be_answered,
        an_early_answer_is_taken_over_http2,
        an_endless_body_is_bounded_over_http2,
        an_endless_head_is_bounded_over_http2,
        any_other_reset_of_the_stream_is_unknown,
        calls_beyond_the_stream_limit_wait,
        goaway_is_no_proof,
        informational_heads_are_passed_over_in_http2,
        rare_frames_are_understood,
        refused_stream_after_the_head_is_answered,
        refused_stream_is_not_processed,
        silence_on_a_stream_ends_with_the_total_deadline,
        the_end_of_the_connection_is_unknown_over_http2,
        all_streams_of_a_lost_connection_are_unknown,
        forbidden_frames_are_unknown,
        no_window_for_the_body_is_unknown,
        a_flood_of_frames_ends_with_the_deadline,
        a_cancelled_stream_is_reset_and_harms_no_other,
        another_http_version_is_not_tried_after_a_failure,
        a_tls_failure_after_the_request_is_unknown_over_http2,
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
    "forbidden_frames_are_unknown",
    "all_streams_of_a_lost_connection_are_unknown",
    "goaways_at_random_moments_repeat_and_hide_no_payment",
    "a_flood_of_frames_ends_with_the_deadline",
    "a_server_that_allows_no_stream_is_given_up",
    "a_server_that_sends_no_settings_is_given_up",
    "no_window_for_the_body_is_unknown",
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
    let list = include_str!("../../payments-conformance/src/contracts.rs");
    let names = list.lines().filter_map(|line| line.trim().strip_prefix("http2::"));
    let names: Vec<_> = names.map(|name| name.trim_end_matches(',')).collect();
    assert!(names.len() > 20, "{names:?}");
    names
}
