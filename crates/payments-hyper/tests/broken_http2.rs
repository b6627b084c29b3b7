//! Does every contract on HTTP/2 find the mistake that it is there for, and does none blame a transport for another's?
//!
//! [`HyperTransport`], which keeps them all, with one mistake at a time. What takes seconds is checked only where it is to
//! be broken; `PAYMENTS_CONFORMANCE_ALL=1` checks every contract on HTTP/2 on every mistake.

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

/// One mistake that clients make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// "The connection is gone, and the request with it."
    CallsTheLostUnsent,
    /// "The connection broke; on the next it will work."
    SendsAgainWhenTheConnectionEnds,
    /// "TLS failed, so there was no handshake."
    CallsTlsFailuresUnsent,
    /// "What cannot be read is no answer, so nothing was done."
    CallsGarbageUnsent,
    /// "Nobody answered, so nobody was there."
    CallsTimeoutsUnsent,
    /// "A deadline is one more way for a connection to end."
    CallsTimeoutsClosed,
    /// "The deadline is a hint."
    Oversleeps,
    /// "Half the time is enough."
    GivesUpEarly,
    /// "The caller looks at the body."
    TakesErrorsForAnswers,
    /// "There was a connection, so there was an answer."
    CallsEveryErrorAnswered,
    /// "The caller has gone; the payment should be finished all the same."
    GoesOnAfterTheDrop,
    /// "A connection for each call is simplest."
    ConnectsForEachCall,
    /// "One connection is all that there will be."
    SendsOnceOnly,
    /// Not a mistake: every second call finds that its connection has ended, before anything is written.
    NoticesLate,
    /// "One call at a time, and whoever comes meanwhile is told so."
    TurnsAwayWhoComesMeanwhile,
    /// "Answers come in the order of the calls."
    AnswersWithTheLastAnswer,
    /// "The status says it all."
    LosesTheBody,
    /// "No request is larger than 64 KiB."
    CutsLargeRequests,
    /// "A status above 399 is an error."
    TurnsStatusesIntoErrors,
    /// "A little more than the cap does no harm."
    RaisesTheCap,
    /// "The cap is for what is handed on, not for what is read."
    ReadsBeyondTheCap,
    /// "HTTP/1.1 is enough."
    SpeaksHttp1Alone,
    /// "Every server speaks HTTP/2 by now."
    WantsHttp2Alone,
    /// "What fails over HTTP/2 works over HTTP/1.1."
    FallsBackToHttp1,
    /// "With the request in the error the log explains itself."
    PrintsThePayment,
}

/// [`HyperTransport`], with a mistake.
struct Flawed {
    transport: Arc<HyperTransport>,
    authority: String,
    flaw: Flaw,
    calls: AtomicUsize,
    under_way: AtomicUsize,
    last: Mutex<Option<Response<Bytes>>>,
    overslept: Arc<AtomicU64>,
}

impl Transport for Flawed {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let (earlier, meanwhile) =
            (self.calls.fetch_add(1, Ordering::SeqCst), self.under_way.fetch_add(1, Ordering::SeqCst));
        let result = match self.flaw {
            Flaw::SendsOnceOnly if earlier > 0 => Err(lie()),
            Flaw::NoticesLate if earlier % 2 == 1 => Err(lie()),
            Flaw::TurnsAwayWhoComesMeanwhile if meanwhile > 0 => Err(lie()),
            _ => self.send_flawed(request).await,
        };
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        result
    }
}

impl Flawed {
    async fn send_flawed(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let (operation, mut deadlines, mut cap) =
            (request.operation(), request.deadlines(), request.response_cap());
        let asked = cap;
        let mut request = request.into_http();
        match self.flaw {
            Flaw::GivesUpEarly => deadlines = Deadlines::new(deadlines.connect(), deadlines.total() / 2),
            Flaw::RaisesTheCap => cap += 1,
            Flaw::ReadsBeyondTheCap => cap = 40 * 1024 * 1024,
            Flaw::CutsLargeRequests => request.body_mut().truncate(64 * 1024),
            _ => {}
        }
        let attempt = || TransportRequest::new(request.clone(), operation, deadlines, cap);
        let result = match self.flaw {
            Flaw::GoesOnAfterTheDrop => {
                let (transport, attempt) = (Arc::clone(&self.transport), attempt());
                tokio::spawn(async move { transport.send(attempt).await }).await.unwrap()
            }
            Flaw::ConnectsForEachCall => transport(&self.authority, self.flaw).send(attempt()).await,
            _ => self.transport.send(attempt()).await,
        };
        let error = match result {
            Ok(answer) => return self.answer(answer),
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
            Flaw::SendsARefusedRequestAgain if not_processed(&error) && is_reset(&error) => {}
            Flaw::SendsAgainAfterGoaway if is_goaway(&error) && !answered(&error) => {}
            Flaw::SendsAgainWhenTheConnectionEnds if was_lost(&error) => {}
            _ => return self.fail(error, &request, asked),
        }
        self.transport.send(attempt()).await
    }

    fn answer(&self, answer: TransportResponse) -> Result<TransportResponse, TransportError> {
        let mut answer = answer.into_http();
        match self.flaw {
            Flaw::AnswersWithTheLastAnswer => {
                let last = self.last.lock().unwrap().replace(answer.clone());
                answer = last.unwrap_or(answer);
            }
            Flaw::LosesTheBody => answer.body_mut().clear(),
            Flaw::TurnsStatusesIntoErrors if answer.status().as_u16() > 399 => {
                return Err(TransportError::answered(TransportErrorKind::Other, answer));
            }
            Flaw::WantsHttp2Alone if answer.version() != Version::HTTP_2 => {
                return Err(TransportError::answered(TransportErrorKind::Protocol, answer));
            }
            _ => {}
        }
        Ok(answer.into())
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
            Flaw::TakesAnyResetForARefusal if is_reset(&error) && !answered(&error) => lie(),
            Flaw::BelievesGoaway if is_goaway(&error) && !answered(&error) => lie(),
            Flaw::ProvesNothing if not_processed(&error) => TransportError::unknown(kind),
            Flaw::BelievesALateRefusal if is_reset(&error) && answered(&error) => lie(),
            Flaw::TakesHalfABodyForTheWhole if answered(&error) => return Ok(partial(&error).into()),
            Flaw::CallsTheLostUnsent if was_lost(&error) => lie(),
            Flaw::CallsTlsFailuresUnsent if unknown && is_of_tls(&error) => lie(),
            Flaw::CallsGarbageUnsent if unknown && is_garbage(&error) => lie(),
            Flaw::CallsTimeoutsUnsent if timeout => TransportError::not_processed(kind),
            Flaw::CallsTimeoutsClosed if timeout && unknown => {
                TransportError::unknown(TransportErrorKind::Closed)
            }
            Flaw::Oversleeps if timeout => {
                self.overslept.fetch_add(3, Ordering::SeqCst);
                error
            }
            Flaw::TakesErrorsForAnswers => return Ok(Response::new(Bytes::new()).into()),
            Flaw::CallsEveryErrorAnswered if !answered(&error) => {
                TransportError::answered(kind, Response::new(Bytes::new()))
            }
            Flaw::ReadsBeyondTheCap if answered(&error) => {
                let mut partial = partial(&error);
                partial.body_mut().truncate(cap);
                TransportError::answered(kind, partial)
            }
            Flaw::PrintsThePayment if is_reset(&error) => error.with_source(format!("{:?}", request.body())),
            _ => error,
        })
    }
}

fn lie() -> TransportError {
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

fn is_of_tls(error: &TransportError) -> bool {
    std::iter::successors(error.source(), |&cause| cause.source()).any(|cause| {
        let inner = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        // h2 keeps the text of an I/O error alone.
        inner.is_some_and(<dyn StdError + Send + Sync>::is::<rustls::Error>)
            || cause.to_string().contains("fatal alert")
    })
}

fn was_lost(error: &TransportError) -> bool {
    let closed = error.delivery() == Delivery::Unknown && error.kind() == TransportErrorKind::Closed;
    closed && !is_goaway(error) && http2(error).is_none_or(h2::Error::is_io)
}

/// The client itself found fault with what the server sent.
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
    let builder = if flaw == Flaw::SpeaksHttp1Alone { builder } else { builder.allow_http2() };
    builder.build().unwrap()
}

struct FlawedStack {
    runtime: Runtime,
    flaw: Flaw,
    /// Seconds by which its transports were late, by a clock that nobody has to wait for.
    overslept: Arc<AtomicU64>,
}

impl Stack for FlawedStack {
    type Transport = Flawed;

    fn transport(&self, setup: &Setup) -> Flawed {
        Flawed {
            transport: Arc::new(transport(setup.authority_pem(), self.flaw)),
            authority: setup.authority_pem().to_owned(),
            flaw: self.flaw,
            calls: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
            last: Mutex::new(None),
            overslept: Arc::clone(&self.overslept),
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
        // It breaks what this contract says of the lost call; of the rest the others need not wait for the end.
        if self.flaw == Flaw::CallsTimeoutsUnsent { abilities.with(Ability::Http2Pings) } else { abilities }
    }

    fn now(&self) -> Instant {
        Instant::now() + Duration::from_secs(self.overslept.load(Ordering::SeqCst))
    }
}

macro_rules! flaws {
    ($($name:ident: $flaw:ident breaks [$($contract:ident),* $(,)?],)*) => {
        /// The contracts that some flaw breaks.
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
    takes_any_reset_for_a_refusal: TakesAnyResetForARefusal breaks [
        any_other_reset_of_the_stream_is_unknown,
        another_http_version_is_not_tried_after_a_failure,
    ],
    believes_goaway: BelievesGoaway breaks [
        goaway_is_no_proof,
    ],
    sends_a_refused_request_again: SendsARefusedRequestAgain breaks [
        refused_stream_is_not_processed,
    ],
    sends_again_after_goaway: SendsAgainAfterGoaway breaks [
        goaway_is_no_proof,
        goaways_at_random_moments_repeat_and_hide_no_payment,
    ],
    proves_nothing: ProvesNothing breaks [
        refused_stream_is_not_processed,
    ],
    believes_a_late_refusal: BelievesALateRefusal breaks [
        refused_stream_after_the_head_is_answered,
        a_body_that_breaks_off_is_answered_over_http2,
    ],
    takes_half_a_body_for_the_whole: TakesHalfABodyForTheWhole breaks [
        refused_stream_after_the_head_is_answered,
        a_body_that_breaks_off_is_answered_over_http2,
        an_endless_body_is_bounded_over_http2,
    ],
    calls_the_lost_unsent: CallsTheLostUnsent breaks [
        the_end_of_the_connection_is_unknown_over_http2,
        all_streams_of_a_lost_connection_are_unknown,
        another_http_version_is_not_tried_after_a_failure,
        a_tls_failure_after_the_request_is_unknown_over_http2,
    ],
    sends_again_when_the_connection_ends: SendsAgainWhenTheConnectionEnds breaks [
        the_end_of_the_connection_is_unknown_over_http2,
        all_streams_of_a_lost_connection_are_unknown,
        another_http_version_is_not_tried_after_a_failure,
        a_tls_failure_after_the_request_is_unknown_over_http2,
    ],
    calls_tls_failures_unsent: CallsTlsFailuresUnsent breaks [
        a_tls_failure_after_the_request_is_unknown_over_http2,
    ],
    calls_garbage_unsent: CallsGarbageUnsent breaks [
        forbidden_frames_are_unknown,
        an_endless_head_is_bounded_over_http2,
    ],
    calls_timeouts_unsent: CallsTimeoutsUnsent breaks [
        a_connection_that_the_network_dropped_is_not_used_again,
        silence_on_a_stream_ends_with_the_total_deadline,
        no_window_for_the_body_is_unknown,
        a_flood_of_frames_ends_with_the_deadline,
    ],
    calls_timeouts_closed: CallsTimeoutsClosed breaks [
        silence_on_a_stream_ends_with_the_total_deadline,
        no_window_for_the_body_is_unknown,
    ],
    oversleeps: Oversleeps breaks [
        silence_on_a_stream_ends_with_the_total_deadline,
        no_window_for_the_body_is_unknown,
        a_server_that_allows_no_stream_is_given_up,
        a_server_that_sends_no_settings_is_given_up,
        a_flood_of_frames_ends_with_the_deadline,
    ],
    gives_up_early: GivesUpEarly breaks [
        silence_on_a_stream_ends_with_the_total_deadline,
        no_window_for_the_body_is_unknown,
    ],
    takes_errors_for_answers: TakesErrorsForAnswers breaks [
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
    calls_every_error_answered: CallsEveryErrorAnswered breaks [
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
    goes_on_after_the_drop: GoesOnAfterTheDrop breaks [
        a_cancelled_stream_is_reset_and_harms_no_other,
    ],
    connects_for_each_call: ConnectsForEachCall breaks [
        all_streams_of_a_lost_connection_are_unknown,
        a_cancelled_stream_is_reset_and_harms_no_other,
    ],
    sends_once_only: SendsOnceOnly breaks [
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
    turns_away_who_comes_meanwhile: TurnsAwayWhoComesMeanwhile breaks [
        calls_beyond_the_stream_limit_wait,
    ],
    answers_with_the_last_answer: AnswersWithTheLastAnswer breaks [
        a_goaway_that_spares_a_request_lets_it_be_answered,
        silence_on_a_stream_ends_with_the_total_deadline,
        a_connection_that_the_server_closed_is_replaced_over_http2,
        informational_heads_are_passed_over_in_http2,
        rare_frames_are_understood,
        calls_beyond_the_stream_limit_wait,
        http1_is_spoken_to_a_server_that_knows_no_other,
    ],
    loses_the_body: LosesTheBody breaks [
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
    cuts_large_requests: CutsLargeRequests breaks [
        a_body_arrives_whole_through_small_windows,
    ],
    turns_statuses_into_errors: TurnsStatusesIntoErrors breaks [
        an_early_answer_is_taken_over_http2,
    ],
    raises_the_cap: RaisesTheCap breaks [
        an_endless_body_is_bounded_over_http2,
    ],
    reads_beyond_the_cap: ReadsBeyondTheCap breaks [
        an_endless_body_is_bounded_over_http2,
    ],
    speaks_http1_alone: SpeaksHttp1Alone breaks [
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
    wants_http2_alone: WantsHttp2Alone breaks [
        http1_is_spoken_to_a_server_that_knows_no_other,
    ],
    falls_back_to_http1: FallsBackToHttp1 breaks [
        another_http_version_is_not_tried_after_a_failure,
    ],
    prints_the_payment: PrintsThePayment breaks [
        refused_stream_is_not_processed,
        refused_stream_after_the_head_is_answered,
        any_other_reset_of_the_stream_is_unknown,
        a_body_that_breaks_off_is_answered_over_http2,
        another_http_version_is_not_tried_after_a_failure,
    ],
}

/// Kept for seconds by a sound transport, or by one with some other flaw, or on many connections.
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
    let stack = FlawedStack { runtime: Runtime::new().unwrap(), flaw, overslept: Arc::default() };
    let report = check_only(&stack, wanted);
    let broken: BTreeSet<_> = report.broken().map(Verdict::contract).collect();
    assert_eq!(broken, expected.iter().copied().collect(), "\n{report}");
}

#[test]
fn who_notices_a_goaway_when_the_connection_is_to_be_used_is_honest() {
    let contract = "a_goaway_that_spares_a_request_lets_it_be_answered";
    let stack =
        FlawedStack { runtime: Runtime::new().unwrap(), flaw: Flaw::NoticesLate, overslept: Arc::default() };
    let report = check_only(&stack, |name| name == contract);
    assert!(report.is_clean(), "{report}");
}

#[test]
fn every_contract_on_http2_is_broken_by_some_flaw() {
    for contract in contracts() {
        assert!(BROKEN_BY_A_FLAW.contains(&contract), "nothing shows that {contract} can fail");
    }
}

/// All that the kit asks of HTTP/2, by its own list.
fn contracts() -> Vec<&'static str> {
    let list = include_str!("../../payments-conformance/src/contracts.rs");
    let names = list.lines().filter_map(|line| line.trim().strip_prefix("http2::"));
    let names: Vec<_> = names.map(|name| name.trim_end_matches(',')).collect();
    assert!(names.len() > 20, "{names:?}");
    names
}
