//! Tests of what the client adds to an operation: attempts, deadlines and an observer.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::StatusCode;
use payments_core::model::{
    Amount, Card, CardTransaction, ConvenienceFee, TokenTransaction, TransactionId, TransactionType, Void,
};
use payments_core::{
    ApiKey, AttemptAbandoned, AttemptFinished, AttemptStarted, CallId, CallerHeaders, Client, ClientBuilder,
    Deadlines, Endpoint, ErrorKind, GetTransaction, Observer, Operation, OperationName, Outcome,
    RandomSource, Timer as _, Transport, TransportError, TransportErrorKind, TransportRequest,
    TransportResponse,
};
use payments_fake::{FakeGateway, Fault, ManualClock, block_on};

use crate::support::PAYER;

/// Runs its steps in order and records the deadlines of each request.
#[derive(Clone, Default)]
struct Script {
    steps: Arc<Mutex<VecDeque<Step>>>,
    deadlines: Arc<Mutex<Vec<Deadlines>>>,
}

enum Step {
    Respond(http::Response<Bytes>),
    Fail(TransportError),
    /// Never ends, like a transport that ignores its deadlines.
    Hang,
}

impl Script {
    fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: Arc::new(Mutex::new(steps.into_iter().collect())), deadlines: Arc::default() }
    }

    fn sent(&self) -> usize {
        self.deadlines.lock().unwrap().len()
    }
}

impl Transport for Script {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        self.deadlines.lock().unwrap().push(request.deadlines());
        let step = self.steps.lock().unwrap().pop_front().expect("the script has no further step");
        match step {
            Step::Respond(response) => Ok(response.into()),
            Step::Fail(error) => Err(error),
            Step::Hang => pending().await,
        }
    }
}

struct NoRandomness;

impl RandomSource for NoRandomness {
    fn next(&self) -> u64 {
        0
    }
}

fn builder(script: &Script, clock: &ManualClock) -> ClientBuilder<Script, ManualClock> {
    Client::builder(endpoint(), script.clone(), clock.clone()).random_source(NoRandomness)
}

fn endpoint() -> Endpoint {
    Endpoint::new("https://pay.example.com/api/v1/public", ApiKey::new("key").unwrap()).unwrap()
}

fn response(status: u16, body: &'static str) -> Step {
    Step::Respond(http::Response::builder().status(status).body(Bytes::from_static(body.as_bytes())).unwrap())
}

fn found() -> Step {
    response(200, r#"{"status_code":200,"message":"m","data":{"TransactionId":"t"}}"#)
}

fn unavailable(retry_after: &str) -> Step {
    let response = http::Response::builder().status(503).header("retry-after", retry_after);
    Step::Respond(response.body(Bytes::new()).unwrap())
}

fn closed() -> Step {
    Step::Fail(TransportError::unknown(TransportErrorKind::Closed))
}

fn refused() -> Step {
    Step::Fail(TransportError::not_processed(TransportErrorKind::Connect))
}

fn payment() -> TokenTransaction {
    TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive).build().unwrap()
}

fn id() -> TransactionId {
    "t".parse().unwrap()
}

#[test]
fn a_payment_is_sent_once_whatever_the_response_d20() {
    let ends: [(fn() -> Step, Outcome); 5] = [
        (closed, Outcome::Unknown),
        (refused, Outcome::NotProcessed),
        (|| unavailable("0"), Outcome::Unknown),
        (|| response(429, ""), Outcome::Rejected),
        (|| response(307, ""), Outcome::Unknown),
    ];
    for (step, outcome) in ends {
        let script = Script::new([step(), found(), found()]);
        let client = builder(&script, &ManualClock::auto()).lookup_retries(9).build();
        assert_eq!(block_on(client.process_token(&payment())).unwrap_err().outcome(), outcome);
        assert_eq!(script.sent(), 1);

        let script = Script::new([step(), found(), found()]);
        let client = builder(&script, &ManualClock::auto()).lookup_retries(9).build();
        assert_eq!(block_on(client.void(&Void::new(id()))).unwrap_err().outcome(), outcome);
        assert_eq!(script.sent(), 1);
    }
}

#[test]
fn a_lookup_is_retried_with_growing_pauses_d12_d20() {
    let script = Script::new([closed(), unavailable(""), found()]);
    let clock = ManualClock::auto();
    let record = block_on(builder(&script, &clock).build().transaction(&id())).unwrap();
    assert_eq!(record.transaction_id, id());
    assert_eq!(script.sent(), 3);
    assert_eq!(clock.elapsed(), Duration::from_millis(100 + 200));
}

#[test]
fn lookup_retries_are_limited_d12() {
    let script = Script::new([closed(), closed(), closed(), found()]);
    let error = block_on(builder(&script, &ManualClock::auto()).build().transaction(&id())).unwrap_err();
    let reported = error.failed_call().transport_error().map(TransportError::kind);
    assert_eq!((error.kind(), reported), (ErrorKind::Interrupted, Some(TransportErrorKind::Closed)));
    assert_eq!(script.sent(), 3);

    let script = Script::new([closed(), found()]);
    let client = builder(&script, &ManualClock::auto()).build().with_lookup_retries(0);
    block_on(client.transaction(&id())).unwrap_err();
    assert_eq!(script.sent(), 1);
}

#[test]
fn a_lookup_is_not_retried_after_a_configuration_error_d12() {
    let script =
        Script::new([Step::Fail(TransportError::not_processed(TransportErrorKind::Configuration)), found()]);
    block_on(builder(&script, &ManualClock::auto()).build().transaction(&id())).unwrap_err();
    assert_eq!(script.sent(), 1);
}

#[test]
fn every_transient_status_and_unreadable_response_is_retried_d12() {
    for status in [200, 299, 408, 425, 429, 500, 501, 502, 503, 504, 599] {
        let body = if status < 300 { "<html>" } else { "" };
        let script = Script::new([response(status, body), found()]);
        block_on(builder(&script, &ManualClock::auto()).build().transaction(&id())).unwrap();
        assert_eq!(script.sent(), 2, "{status}");
    }
}

#[test]
fn an_unreadable_response_is_retried_d12() {
    for status in [200, 299] {
        let script = Script::new([response(status, "<html>"), found()]);
        block_on(builder(&script, &ManualClock::auto()).build().transaction(&id())).unwrap();
        assert_eq!(script.sent(), 2, "{status}");
    }
    let failed = r#"{"status":"failed","status_code":404,"msg":"Transaction not found"}"#;
    let encoded = |status| {
        let Step::Respond(mut response) = response(status, failed) else { unreachable!() };
        response.headers_mut().insert("content-encoding", http::HeaderValue::from_static("gzip"));
        Step::Respond(response)
    };
    let cut = |status| {
        let Step::Respond(response) = response(status, failed) else { unreachable!() };
        Step::Fail(TransportError::answered(TransportErrorKind::BodyTruncated, response))
    };
    for status in [400, 401, 403, 404, 422] {
        for step in [encoded(status), cut(status), response(status, &failed[..20])] {
            let script = Script::new([step, found()]);
            block_on(builder(&script, &ManualClock::auto()).build().transaction(&id())).unwrap();
            assert_eq!(script.sent(), 2, "{status}");
        }
    }
}

#[test]
fn a_clear_response_is_not_retried_d12() {
    let failed = r#"{"status":"failed","status_code":404,"msg":"Transaction not found"}"#;
    for step in [response(404, failed), response(401, failed), response(200, failed), response(302, "")] {
        let script = Script::new([step, found()]);
        block_on(builder(&script, &ManualClock::auto()).build().transaction(&id())).unwrap_err();
        assert_eq!(script.sent(), 1);
    }
}

/// A lookup with each kind of failure, whether it is retried, and the advice.
#[test]
fn a_lookup_is_retried_exactly_if_waiting_may_help_d12_d56() {
    use TransportErrorKind as Kind;
    type Failure = Box<dyn Fn() -> Step>;
    const AGAIN: &str = "it is safe to run it again";
    const FIX: &str = "fix the cause, then run it again";
    const WAIT: &str = "wait, then run it again";
    let failed = r#"{"status":"failed","status_code":404,"msg":"Transaction not found"}"#;
    let not_processed =
        |kind| -> Failure { Box::new(move || Step::Fail(TransportError::not_processed(kind))) };
    let expired: Failure = Box::new(|| Step::Fail(TransportError::not_processed(Kind::Tls).permanent()));
    let ended = |kind, status| -> Failure {
        Box::new(move || {
            let Step::Respond(partial) = response(status, "{") else { unreachable!() };
            Step::Fail(TransportError::answered(kind, partial))
        })
    };
    let response = |status, body| -> Failure { Box::new(move || response(status, body)) };
    for (failure, kind, is_retried, advice) in [
        (not_processed(Kind::Configuration), ErrorKind::Configuration, false, "fix the settings"),
        (not_processed(Kind::Resolve), ErrorKind::NotConnected, true, AGAIN),
        (not_processed(Kind::Connect), ErrorKind::NotConnected, true, AGAIN),
        (not_processed(Kind::Tls), ErrorKind::NotConnected, true, AGAIN),
        (expired, ErrorKind::NotConnected, false, FIX),
        (not_processed(Kind::Timeout), ErrorKind::TimedOut, true, AGAIN),
        (Box::new(closed), ErrorKind::Interrupted, true, AGAIN),
        (ended(Kind::BodyTruncated, 200), ErrorKind::Interrupted, true, AGAIN),
        (ended(Kind::BodyTruncated, 404), ErrorKind::Interrupted, true, AGAIN),
        (ended(Kind::BodyTooLarge, 200), ErrorKind::Interrupted, false, FIX),
        (ended(Kind::BodyTooLarge, 302), ErrorKind::Interrupted, false, FIX),
        (ended(Kind::BodyTooLarge, 404), ErrorKind::Interrupted, false, FIX),
        (ended(Kind::BodyTooLarge, 429), ErrorKind::Interrupted, true, AGAIN),
        (ended(Kind::BodyTooLarge, 503), ErrorKind::Interrupted, true, AGAIN),
        (response(403, failed), ErrorKind::Refused, false, FIX),
        (response(404, failed), ErrorKind::NotFound, false, "a payment of unknown outcome may still be made"),
        (response(401, failed), ErrorKind::Unauthorized, false, FIX),
        (response(429, failed), ErrorKind::RateLimited, true, WAIT),
        (response(404, "<html>"), ErrorKind::RefusedByIntermediary, false, FIX),
        (response(503, "<html>"), ErrorKind::RefusedByIntermediary, true, AGAIN),
        (response(302, ""), ErrorKind::RefusedByIntermediary, false, FIX),
        (response(200, "{}"), ErrorKind::Unclear, true, AGAIN),
    ] {
        let clients = |retries| {
            let script = Script::new([failure(), found()]);
            let client = builder(&script, &ManualClock::auto()).lookup_retries(retries).build();
            (script, client)
        };
        let (_, client) = clients(0);
        let error = block_on(client.transaction(&id())).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().ends_with(advice), "{error}");
        let (script, client) = clients(1);
        let result = block_on(client.transaction(&id()));
        assert_eq!((result.is_ok(), script.sent()), (is_retried, 1 + usize::from(is_retried)), "{error}");
    }
}

#[test]
fn retry_after_lengthens_a_lookups_pause_within_the_deadline_d20() {
    let clock = ManualClock::auto();
    let script = Script::new([unavailable("7"), found()]);
    block_on(builder(&script, &clock).build().transaction(&id())).unwrap();
    assert_eq!(clock.elapsed(), Duration::from_secs(7));

    let clock = ManualClock::auto();
    let script = Script::new([unavailable("7"), found()]);
    let client = builder(&script, &clock).total_timeout(Duration::from_secs(5)).build();
    let error = block_on(client.transaction(&id())).unwrap_err();
    assert_eq!(error.http_status().map(|status| status.as_u16()), Some(503));
    assert_eq!((script.sent(), clock.elapsed()), (1, Duration::ZERO));
}

#[test]
fn a_huge_retry_after_does_not_overflow_d20() {
    let clock = ManualClock::auto();
    let script = Script::new([unavailable("1"), unavailable("18446744073709551615"), found()]);
    let client = builder(&script, &clock).total_timeout(Duration::MAX).build();
    block_on(client.transaction(&id())).unwrap_err();
    assert_eq!((script.sent(), clock.elapsed()), (2, Duration::from_secs(1)));
}

#[test]
fn extreme_deadlines_do_not_overflow_d23() {
    for total in [Duration::MAX, Duration::from_millis(u64::MAX), Duration::ZERO] {
        let script = Script::new([Step::Hang]);
        let client = builder(&script, &ManualClock::auto())
            .connect_timeout(Duration::MAX)
            .total_timeout(total)
            .build();
        let error = block_on(client.process_token(&payment())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(error.outcome(), Outcome::Unknown);
    }
}

#[test]
fn deadlines_can_be_set_in_any_order_d23() {
    let script = Script::new([closed(), closed(), closed()]);
    let (connect, total) = (Duration::from_secs(90), Duration::from_secs(100));
    let one = builder(&script, &ManualClock::auto()).connect_timeout(connect).total_timeout(total).build();
    let other = builder(&script, &ManualClock::auto()).total_timeout(total).connect_timeout(connect).build();
    for client in [&one, &other, &one.with_total_timeout(Duration::from_secs(1)).with_total_timeout(total)] {
        block_on(client.process_token(&payment())).unwrap_err();
    }
    let deadlines = script.deadlines.lock().unwrap().clone();
    let is_as_set = |one: &Deadlines| (one.connect(), one.total()) == (connect, total);
    assert!(deadlines.iter().all(is_as_set), "{deadlines:?}");
}

#[test]
fn all_attempts_of_a_lookup_share_one_deadline_d12_d23() {
    let clock = ManualClock::auto();
    let script = Script::new([unavailable("3"), unavailable("3"), unavailable("3"), found()]);
    let client = builder(&script, &clock).total_timeout(Duration::from_secs(10)).lookup_retries(9).build();
    block_on(client.transaction(&id())).unwrap();
    let totals: Vec<u64> =
        script.deadlines.lock().unwrap().iter().map(|deadlines| deadlines.total().as_secs()).collect();
    assert_eq!(totals, [10, 7, 4, 1]);
}

#[test]
fn a_lookup_whose_deadline_passes_during_a_pause_is_not_retried_d12_d23() {
    let clock = ManualClock::new();
    let script = Script::new([unavailable("3"), found()]);
    let client = builder(&script, &clock).total_timeout(Duration::from_secs(10)).build();
    let id = id();
    let mut call = pin!(client.transaction(&id));
    let mut context = Context::from_waker(Waker::noop());
    assert!(call.as_mut().poll(&mut context).is_pending());
    // The computer was asleep. The pause should have ended after three seconds.
    clock.advance(Duration::from_hours(1));
    let Poll::Ready(Err(error)) = call.as_mut().poll(&mut context) else { panic!("the call did not end") };
    assert_eq!(error.http_status().map(|status| status.as_u16()), Some(503), "the last response");
    assert_eq!(script.sent(), 1);
}

#[test]
fn every_call_has_deadlines_and_can_change_them_d23() {
    let script = Script::new([closed(), closed()]);
    let client = builder(&script, &ManualClock::auto()).build();
    block_on(client.process_token(&payment())).unwrap_err();
    block_on(client.with_total_timeout(Duration::from_secs(4)).process_token(&payment())).unwrap_err();
    let deadlines = script.deadlines.lock().unwrap().clone();
    assert_eq!(
        (deadlines[0].connect(), deadlines[0].total()),
        (Duration::from_secs(10), Duration::from_mins(1))
    );
    assert_eq!(
        (deadlines[1].connect(), deadlines[1].total()),
        (Duration::from_secs(4), Duration::from_secs(4))
    );
}

#[test]
fn a_transport_that_ignores_its_deadlines_cannot_hang_a_lookup_d12_d23() {
    let clock = ManualClock::auto();
    let script = Script::new([Step::Hang]);
    let error = block_on(builder(&script, &clock).build().transaction(&id())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}

#[test]
fn every_transport_has_the_backstop_d23() {
    let endpoint = || Endpoint::new("https://pay.example.com", ApiKey::new("key").unwrap()).unwrap();
    let clock = ManualClock::new();
    let payment = payment();
    for client in [
        Client::builder(endpoint(), Script::new([Step::Hang]), clock.clone()).build(),
        Client::builder(endpoint(), Arc::new(Script::new([Step::Hang])), clock.clone()).build(),
    ] {
        let mut call = pin!(client.process_token(&payment));
        let mut context = Context::from_waker(Waker::noop());
        assert!(call.as_mut().poll(&mut context).is_pending());
        clock.advance(Duration::from_mins(1));
        assert!(call.as_mut().poll(&mut context).is_pending());
        clock.advance(Duration::from_millis(20));
        let Poll::Ready(Err(error)) = call.as_mut().poll(&mut context) else {
            panic!("the call did not end")
        };
        assert!(error.kind() == ErrorKind::TimedOut && error.outcome() == Outcome::Unknown, "{error}");
    }
}

/// Fails with its evidence at the moment at which the backstop ends the call.
struct Late(ManualClock);

impl Transport for Late {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        self.0.sleep(request.deadlines().total() + Duration::from_millis(20)).await;
        Err(TransportError::not_processed(TransportErrorKind::Connect))
    }
}

#[test]
fn evidence_that_is_ready_with_the_backstop_wins_d23() {
    let clock = ManualClock::new();
    let endpoint = Endpoint::new("https://pay.example.com", ApiKey::new("key").unwrap()).unwrap();
    let client = Client::builder(endpoint, Late(clock.clone()), clock.clone()).build();
    let payment = payment();
    let mut call = pin!(client.process_token(&payment));
    let mut context = Context::from_waker(Waker::noop());
    assert!(call.as_mut().poll(&mut context).is_pending());
    clock.advance(Duration::from_hours(1));
    let Poll::Ready(Err(error)) = call.as_mut().poll(&mut context) else { panic!("the call did not end") };
    assert!(error.kind() == ErrorKind::NotConnected && error.outcome() == Outcome::NotProcessed, "{error}");
}

/// Has its response once the test has put it there.
#[derive(Clone, Default)]
struct Reading(Arc<Mutex<Option<TransportResponse>>>);

impl Transport for Reading {
    async fn send(&self, _: TransportRequest) -> Result<TransportResponse, TransportError> {
        poll_fn(|_| self.0.lock().unwrap().take().map_or(Poll::Pending, |read| Poll::Ready(Ok(read)))).await
    }
}

#[test]
fn a_response_to_a_stopped_process_has_a_short_grace_to_be_read_d23() {
    let processed = r#"{"status":"success","status_code":100,"data":{"TransactionId":"t"}}"#;
    for (grace, is_read) in [(119, true), (120, false)] {
        let (clock, transport) = (ManualClock::new(), Reading::default());
        let client = Client::builder(endpoint(), transport.clone(), clock.clone());
        let client = client.total_timeout(Duration::from_millis(1)).build();
        let payment = payment();
        let mut call = pin!(client.process_token(&payment));
        let mut context = Context::from_waker(Waker::noop());
        assert!(call.as_mut().poll(&mut context).is_pending());
        // As if the process was stopped meanwhile.
        thread::sleep(Duration::from_millis(300));
        clock.advance(Duration::from_hours(1));
        assert!(call.as_mut().poll(&mut context).is_pending(), "the transport may read");
        clock.advance(Duration::from_millis(grace));
        if is_read {
            assert!(call.as_mut().poll(&mut context).is_pending());
            *transport.0.lock().unwrap() = Some(http::Response::new(Bytes::from(processed)).into());
        }
        let Poll::Ready(result) = call.as_mut().poll(&mut context) else { panic!("the call did not end") };
        match result {
            Ok(charged) => assert!(is_read && charged.transaction_id == id()),
            Err(error) => assert!(!is_read && error.outcome() == Outcome::Unknown, "{error}"),
        }
    }
}

#[test]
fn a_response_over_the_cap_is_unreadable_with_any_transport_d08_d65() {
    let processed = r#"{"status":"success","status_code":100,"data":{"TransactionId":"t"}}"#;
    let call = |cap: usize| {
        let script = Script::new([response(200, processed)]);
        let client = builder(&script, &ManualClock::auto()).response_cap(cap).build();
        block_on(client.process_token(&payment()))
    };
    assert!(call(processed.len()).is_ok());
    let error = call(processed.len() - 1).unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert_eq!(error.transaction_id(), Some(&id()));
}

/// Records every event as a line.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn add(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

impl Observer for Log {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        self.add(format!("{} {} started", event.operation, event.attempt));
    }

    fn attempt_finished(&self, event: &AttemptFinished<'_>) {
        let failure = event
            .failure
            .map_or_else(|| "ok".to_owned(), |failure| format!("{:?} {}", failure.outcome, failure.kind));
        let status = event.http_status.map(|status| status.as_u16());
        let AttemptStarted { operation, attempt, .. } = event.started;
        self.add(format!("{operation} {attempt} {failure} {status:?} {:?}", event.transaction_id));
    }

    fn attempt_abandoned(&self, event: &AttemptAbandoned<'_>) {
        let AttemptStarted { operation, attempt, .. } = event.started;
        self.add(format!("{operation} {attempt} abandoned after {:?}", event.latency));
    }
}

#[test]
fn the_observer_receives_every_attempt() {
    let log = Log::default();
    let script = Script::new([refused(), found()]);
    let client = builder(&script, &ManualClock::auto()).observer(log.clone()).build();
    block_on(client.transaction(&id())).unwrap();
    assert_eq!(
        log.lines(),
        [
            "get-transaction 1 started",
            "get-transaction 1 None not_connected None None",
            "get-transaction 2 started",
            "get-transaction 2 ok Some(200) Some(\"t\")",
        ]
    );
}

/// Records the fields that all events share.
#[derive(Clone, Default)]
struct Facts(Arc<Mutex<Vec<Fact>>>);

#[derive(Debug, PartialEq)]
struct Fact {
    event: &'static str,
    call_id: CallId,
    started_at: SystemTime,
    amount: Option<Amount>,
    reference: Option<String>,
    last_four: Option<String>,
    transaction_id: Option<String>,
    service: String,
    caller_headers: Vec<String>,
}

impl Facts {
    fn add(&self, event: &'static str, started: &AttemptStarted<'_>) {
        self.0.lock().unwrap().push(Fact {
            event,
            call_id: started.call_id,
            started_at: started.started_at,
            amount: started.amount,
            reference: started.reference.map(str::to_owned),
            last_four: started.last_four.map(str::to_owned),
            transaction_id: started.transaction_id.map(str::to_owned),
            service: started.service.to_owned(),
            caller_headers: started.caller_headers.names().map(ToString::to_string).collect(),
        });
    }
}

impl Observer for Facts {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        self.add("started", event);
    }

    fn attempt_finished(&self, event: &AttemptFinished<'_>) {
        self.add("finished", event.started);
    }

    fn attempt_abandoned(&self, event: &AttemptAbandoned<'_>) {
        self.add("abandoned", event.started);
    }
}

/// The events of a call that gets no response and is dropped.
fn events_of_dropped_call<O: Operation>(operation: &O) -> [Fact; 2] {
    let facts = Facts::default();
    let clock = ManualClock::new();
    let client = builder(&Script::new([Step::Hang]), &clock).observer(facts.clone()).build();
    clock.advance(Duration::from_secs(5));
    let started_at = clock.system_time();
    {
        let mut call = pin!(client.call(operation));
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        clock.advance(Duration::from_secs(3));
    }
    let events = std::mem::take(&mut *facts.0.lock().unwrap());
    assert!(events.iter().all(|fact| fact.started_at == started_at && fact.call_id == events[0].call_id));
    events.try_into().unwrap()
}

#[test]
fn the_event_of_an_abandoned_payment_has_its_search_fields_d22() {
    let amount = Amount::from_cents(10_50);
    let card = Card { number: "4242424242424242", cvv: "917", expiry: "11/31" };
    let sale = CardTransaction::builder(amount, TransactionType::Sale, ConvenienceFee::Inactive, card, PAYER)
        .build()
        .unwrap();
    let token = TokenTransaction::builder("tok_1", amount, ConvenienceFee::Inactive)
        .reference_no("order 7 of 4242 4242 4242 4242, key")
        .build()
        .unwrap();
    let found_by = |[started, abandoned]: [Fact; 2]| {
        assert_eq!((started.event, abandoned.event), ("started", "abandoned"));
        assert_eq!(Fact { event: "abandoned", ..started }, abandoned);
        let Fact { amount, reference, last_four, transaction_id, .. } = abandoned;
        (amount, reference, last_four, transaction_id)
    };
    assert_eq!(found_by(events_of_dropped_call(&sale)), (Some(amount), None, Some("4242".to_owned()), None));
    let reference = "order 7 of **** **** **** 4242, [redacted]".to_owned();
    assert_eq!(found_by(events_of_dropped_call(&token)), (Some(amount), Some(reference), None, None));
    assert_eq!(found_by(events_of_dropped_call(&Void::new(id()))), (None, None, None, Some("t".to_owned())));
    assert_eq!(
        found_by(events_of_dropped_call(&GetTransaction::new(id()))),
        (None, None, None, Some("t".to_owned()))
    );
}

struct Counter(AtomicU64);

impl RandomSource for Counter {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

#[test]
fn all_attempts_of_a_call_share_an_id_that_no_other_call_has() {
    let facts = Facts::default();
    let script = Script::new([refused(), found(), found()]);
    let client = builder(&script, &ManualClock::auto()).observer(facts.clone());
    let client = client.random_source(Counter(AtomicU64::new(7))).build();
    block_on(client.transaction(&id())).unwrap();
    block_on(client.transaction(&id())).unwrap();
    let ids: Vec<CallId> = facts.0.lock().unwrap().iter().map(|fact| fact.call_id).collect();
    assert_eq!(ids.len(), 6);
    assert!(ids[..4].iter().all(|id| *id == ids[0]) && ids[4] == ids[5] && ids[4] != ids[0], "{ids:?}");
}

#[test]
fn an_error_and_a_success_have_the_call_id_of_their_events() {
    let facts = Facts::default();
    let last_id = || facts.0.lock().unwrap().last().map(|fact| fact.call_id);
    let failed = r#"{"status":"failed","status_code":404,"msg":"Transaction not found"}"#;
    let script = Script::new([found(), response(404, failed), closed(), refused()]);
    let client = builder(&script, &ManualClock::auto())
        .random_source(Counter(AtomicU64::new(0xabc)))
        .lookup_retries(0)
        .observer(facts.clone())
        .build();
    let success = block_on(client.transaction(&id())).unwrap();
    assert!(success.call_id().is_some() && success.call_id() == last_id());
    let error = block_on(client.transaction(&id())).unwrap_err();
    assert!(error.failed_call().call_id() == last_id() && success.call_id() != last_id());
    for _ in 0..2 {
        let error = block_on(client.process_token(&payment())).unwrap_err();
        assert!(error.failed_call().call_id() == last_id() && error.failed_call().call_id().is_some());
    }
    // Nothing was sent, so there is no event; the spans have the id.
    let invalid = block_on(client.transaction(&"..".parse().unwrap())).unwrap_err();
    assert_eq!(invalid.failed_call().call_id().map(|id| id.to_string()).as_deref(), Some("0000000000000ac0"));
    assert_eq!(
        payment().read(&endpoint(), http::Response::new(Bytes::new())).unwrap_err().failed_call().call_id(),
        None
    );
}

#[test]
fn events_show_the_names_of_the_callers_headers_and_no_value_d64() {
    #[derive(Clone, Default)]
    struct Shown(Arc<Mutex<String>>);
    impl Observer for Shown {
        fn attempt_started(&self, event: &AttemptStarted<'_>) {
            write!(self.0.lock().unwrap(), "{event:?}").unwrap();
        }
        fn attempt_finished(&self, event: &AttemptFinished<'_>) {
            write!(self.0.lock().unwrap(), "{event:?}").unwrap();
        }
    }
    let (facts, shown) = (Facts::default(), Shown::default());
    let client = builder(&Script::new([found()]), &ManualClock::auto())
        .observer((facts.clone(), shown.clone()))
        .headers(|headers| headers.insert("x-session", "canary-1").unwrap())
        .build();
    let mut headers = CallerHeaders::new();
    headers.insert("x-request-id", "canary-2").unwrap();
    block_on(client.with_headers(headers).transaction(&id())).unwrap();
    for fact in &*facts.0.lock().unwrap() {
        let mut names = fact.caller_headers.clone();
        names.retain(|name| !name.starts_with("trace"));
        names.sort_unstable();
        assert_eq!(names, ["x-request-id", "x-session"]);
    }
    let shown = shown.0.lock().unwrap();
    assert!(shown.contains("x-request-id") && !shown.contains("canary"), "{shown}");
}

/// Accepts one key for each merchant, as the service does.
#[test]
fn a_rotated_key_and_another_merchant_use_the_same_connections_d47() {
    #[derive(Clone, Default)]
    struct Keys(Arc<Mutex<Vec<String>>>);
    impl Transport for Keys {
        async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
            let key = request.headers()["authorization"].to_str().unwrap().to_owned();
            self.0.lock().unwrap().push(key);
            Ok(http::Response::new(Bytes::from_static(
                br#"{"status_code":200,"data":{"TransactionId":"t"}}"#,
            ))
            .into())
        }
    }
    let (keys, facts) = (Keys::default(), Facts::default());
    let first =
        Client::builder(endpoint(), keys.clone(), ManualClock::auto()).observer(facts.clone()).build();
    let key = |text| ApiKey::new(text).unwrap();
    let rotated = first.with_api_key(key("key-2"));
    let toys = rotated.for_merchant("toys", key("key-of-toys")).unwrap();
    let rotated_toys = toys.with_api_key(key("key-of-toys-2"));
    let books = toys.for_merchant("books", key("key-of-books")).unwrap();
    for client in [&first, &rotated, &toys, &rotated_toys, &books] {
        block_on(client.transaction(&id())).unwrap();
    }
    assert_eq!(*keys.0.lock().unwrap(), ["key", "key-2", "key-of-toys", "key-of-toys-2", "key-of-books"]);
    let service = "https://pay.example.com/api/v1/public";
    let services = [
        service,
        service,
        &format!("{service}#toys"),
        &format!("{service}#toys"),
        &format!("{service}#books"),
    ];
    assert_eq!([&first, &rotated, &toys, &rotated_toys, &books].map(Client::service), services);
    let observed: Vec<String> = facts.0.lock().unwrap().iter().map(|fact| fact.service.clone()).collect();
    assert!(observed.iter().step_by(2).eq(services), "{observed:?}");
    let lookup = GetTransaction::new(id());
    assert!(books.is_secret_in("it is key-of-books", &lookup));
    assert!(!books.is_secret_in("it is key-of-toys", &lookup));
    for label in ["", " ", "a b", "a#b", "a/b", "\u{e4}", &"x".repeat(65)] {
        assert_eq!(
            first.for_merchant(label, key("k")).unwrap_err().kind(),
            ErrorKind::Configuration,
            "{label}"
        );
    }
    // A key in the place of the label would be shown, or two merchants would be one service.
    for (label, new) in
        [("key-of-toys", "key-of-toys"), ("x-key-of-toys", "key-of-toys"), ("key-of-books", "key-of-toys")]
    {
        let error = books.for_merchant(label, key(new)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{label}");
        assert!(!format!("{error:#} {error:?}").contains("key-of"), "{error:#}");
    }
}

/// Panics at every event.
struct PanickingObserver;

impl Observer for PanickingObserver {
    fn attempt_started(&self, _: &AttemptStarted<'_>) {
        panic!("started");
    }

    fn attempt_finished(&self, _: &AttemptFinished<'_>) {
        panic!("finished");
    }

    fn attempt_abandoned(&self, _: &AttemptAbandoned<'_>) {
        panic!("abandoned");
    }
}

#[test]
fn a_panic_of_the_observer_does_not_lose_the_outcome() {
    let processed = r#"{"status":"success","status_code":100,"data":{"TransactionId":"t"}}"#;
    let script = Script::new([response(200, processed), Step::Hang]);
    let client = builder(&script, &ManualClock::new()).observer(PanickingObserver).build();
    block_on(client.process_token(&payment())).unwrap();
    let payment = payment();
    let mut call = Box::pin(client.process_token(&payment));
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(call);
}

#[test]
fn the_observer_receives_a_dropped_payment_d22() {
    let log = Log::default();
    let clock = ManualClock::new();
    let client = builder(&Script::new([Step::Hang]), &clock).observer(log.clone()).build();
    let payment = payment();
    {
        let mut call = pin!(client.process_token(&payment));
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        clock.advance(Duration::from_secs(3));
    }
    assert_eq!(log.lines(), ["token-transaction 1 started", "token-transaction 1 abandoned after 3s"]);
}

#[test]
fn a_call_that_is_never_polled_is_not_sent_d22() {
    let log = Log::default();
    let script = Script::new([Step::Hang]);
    let client = builder(&script, &ManualClock::new()).observer(log.clone()).build();
    drop(client.process_token(&payment()));
    assert_eq!((script.sent(), log.lines().len()), (0, 0));
}

#[test]
fn clones_share_the_transport() {
    fn is_cheap_to_share<T: Clone + Send + Sync + 'static>(_: &T) {}
    let script = Script::new([found(), found()]);
    let client = builder(&script, &ManualClock::auto()).build();
    is_cheap_to_share(&client);
    let clone = client.clone();
    block_on(client.transaction(&id())).unwrap();
    block_on(clone.transaction(&id())).unwrap();
    assert_eq!(script.sent(), 2);
}

#[test]
fn debug_shows_the_settings_and_not_the_key_d25() {
    let endpoint = Endpoint::new("https://pay.example.com", ApiKey::new("sk_canary_7Qz").unwrap()).unwrap();
    let builder = Client::builder(endpoint, Script::default(), ManualClock::auto()).lookup_retries(7);
    let shown = [format!("{builder:?}"), format!("{:?}", builder.build())];
    for shown in shown {
        assert!(shown.contains("https://pay.example.com") && shown.contains("retries: 7"), "{shown}");
        assert!(!shown.contains("canary"), "{shown}");
    }
}

/// Somebody may have put the key into the base URL.
#[test]
fn debug_of_a_request_shows_no_key_in_its_url_d25_d62() {
    let key = "sk_canary_7Qz";
    let base_url = format!("https://{key}.example.com/{key}/v1");
    let endpoint = Endpoint::new(&base_url, ApiKey::new(key).unwrap()).unwrap();
    let request = GetTransaction::new(id()).request(&endpoint).unwrap();
    let request = TransportRequest::new(request, OperationName::GetTransaction, Deadlines::default(), 1);
    let shown = format!("{request:?} {request:#?}");
    assert!(shown.contains("https://[redacted].example.com/[redacted]/v1/transaction/t"), "{shown}");
    assert!(!shown.contains("canary"), "{shown}");
}

#[test]
fn caller_headers_are_sent_with_every_attempt_and_override_the_clients() {
    let gateway = FakeGateway::new();
    let client = gateway
        .client_builder()
        .headers(|headers| {
            headers.insert("x-client", "billing").unwrap();
            headers.insert("x-request-id", "none").unwrap();
        })
        .build();
    let mut headers = CallerHeaders::new();
    headers.insert("x-request-id", "req-1").unwrap();
    headers.insert("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap();
    let traced = client.with_headers(headers);
    let of_last = |name: &str| {
        let requests = gateway.requests();
        let values = requests.last().unwrap().headers.get_all(name).iter();
        values.map(|value| value.to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };

    let builder = TokenTransaction::builder("tok_approved", Amount::from_cents(1), ConvenienceFee::Inactive);
    block_on(client.process_token(&builder.build().unwrap())).unwrap();
    assert_eq!((of_last("x-client"), of_last("x-request-id")), (vec!["billing".into()], vec!["none".into()]));
    gateway.arm(Fault::on(OperationName::GetTransaction).before_commit().status(StatusCode::BAD_GATEWAY));
    block_on(traced.transaction(&id())).unwrap_err();
    assert_eq!(gateway.requests().len(), 3, "it was retried");
    assert_eq!(
        (of_last("x-client"), of_last("x-request-id")),
        (vec!["billing".into()], vec!["req-1".into()])
    );
    assert_eq!(of_last("traceparent").len(), 1);
    assert_eq!(of_last("authorization").len(), 1);
}

#[test]
fn all_sets_of_caller_headers_share_one_limit() {
    let half = "x".repeat(CallerHeaders::MAX_BYTES / 2);
    let set = |name: &'static str, value: &str| {
        let mut headers = CallerHeaders::new();
        headers.insert(name, value).unwrap();
        headers
    };
    let gateway = FakeGateway::new();
    let of_the_client = half.clone();
    let client = Client::builder(gateway.endpoint(), gateway.transport(), gateway.clock().clone())
        .headers(move |headers| headers.insert("x-client", &*of_the_client).unwrap())
        .build();
    let payment =
        TokenTransaction::builder("tok_approved", Amount::from_cents(1_00), ConvenienceFee::Inactive);
    let payment = payment.build().unwrap();

    // Each set is short enough, and both together are not.
    let traced = client.with_headers(set("x-trace", &half));
    let error = block_on(traced.process_token(&payment)).unwrap_err();
    assert!(
        error.kind() == ErrorKind::Configuration && error.outcome() == Outcome::NotProcessed,
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        "token-transaction: the caller headers are longer than 8 KiB in total; nothing was sent: fix the settings"
    );
    assert_eq!(block_on(traced.transaction(&id())).unwrap_err().kind(), ErrorKind::Configuration);
    assert!(gateway.requests().is_empty(), "nothing was sent");

    // A header of the same name replaces the other.
    block_on(client.with_headers(set("x-client", &half)).process_token(&payment)).unwrap();
    let rest = half.len() - "x-client".len() - "x-trace".len();
    block_on(client.with_headers(set("x-trace", &half[..rest])).process_token(&payment)).unwrap();
    let requests = gateway.requests();
    let headers = &requests.last().unwrap().headers;
    let added = ["x-client", "x-trace"].map(|name| name.len() + headers[name].len());
    assert_eq!(added.iter().sum::<usize>(), CallerHeaders::MAX_BYTES);
}

#[test]
fn retry_after_is_a_pause_by_the_clock_of_the_response_d20_d54() {
    let delay = |date: Option<&str>, retry_after: &str| {
        let response = http::Response::builder().status(429).header("retry-after", retry_after);
        let response = date.into_iter().fold(response, |response, date| response.header("date", date));
        let error = payment().read(&endpoint(), response.body(Bytes::new()).unwrap()).unwrap_err();
        error.retry_after()
    };
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    assert_eq!(delay(None, "7"), seconds(7));
    assert_eq!(delay(None, "18446744073709551615"), seconds(u64::MAX));
    // Any clock, hours wrong, decades wrong.
    let (date, later) = ("Fri, 31 Dec 1999 23:59:29 GMT", "Fri, 31 Dec 1999 23:59:36 GMT");
    assert_eq!(delay(Some(date), later), seconds(7));
    assert_eq!(delay(Some(later), date), seconds(0));
    assert_eq!(delay(None, later), None, "this machine's clock says nothing about it");
    let last = "Fri, 31 Dec 9999 23:59:59 GMT";
    assert!(delay(Some("Thu, 01 Jan 1970 00:00:00 GMT"), last) > seconds(250_000_000_000));
}
