//! The service as a state machine, and the way of a request through it.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{AUTHORIZATION, DATE};
use http::{HeaderName, HeaderValue, Method, Request, Response};
use payments_core::transport::before;
use payments_core::{OperationName, Timer};
use payments_model::mask;
use payments_model::unversioned::RequestMembers;
use serde::Deserialize;

use crate::armed_fault::ArmedFaults;
use crate::choices::Choices;
use crate::decision::{self, Decision};
use crate::fault::{FaultKind, Phase};
use crate::gate::Gates;
use crate::randomness::Randomness;
use crate::recorded_request::{RecordedRequest, RequestLog, RequestOutcome};
use crate::redaction::Redaction;
use crate::request::ParsedRequest;
use crate::store::{Effect, Store};
use crate::tenant::Tenants;
use crate::{FakeGatewayBuilder, Fault, Fixtures, HeldRequest, ManualClock, Reply, RequestEffect};

/// What every handle of a gateway, its transports and its tenants share.
pub(crate) struct Shared {
    service: Mutex<Service>,
    choices: Choices,
    /// The keys that must not be stored from any request.
    api_keys: Arc<[String]>,
    /// Outside the service and its lock, because every request looks for a closed gate twice.
    gates: Mutex<Gates>,
    pub(crate) clock: ManualClock,
    wall_clock: Option<WallClock>,
}

/// Returns the time of day.
pub(crate) type WallClock = Box<dyn Fn() -> SystemTime + Send + Sync>;

impl Shared {
    pub(crate) fn new(builder: FakeGatewayBuilder) -> Self {
        let FakeGatewayBuilder { api_keys, choices, clock, wall_clock, .. } = builder;
        let api_keys: Arc<[String]> = api_keys.into();
        let service = Mutex::new(Service {
            tenants: Tenants::new(Arc::clone(&api_keys)),
            randomness: Randomness::new(builder.seed),
            faults: ArmedFaults::default(),
            requests: RequestLog::new(builder.recorded_requests),
            late: Vec::new(),
            epoch: 0,
        });
        Self { service, choices, api_keys, gates: Mutex::default(), clock, wall_clock }
    }

    /// What the network would carry back for this request at this time of day. It neither waits nor reads a clock.
    pub(crate) fn handle(&self, now: SystemTime, request: Request<Bytes>) -> Reply {
        self.process(now, self.receive(request)).0
    }

    fn receive(&self, request: Request<Bytes>) -> Received {
        let (head, body) = request.into_parts();
        let members = RequestMembers::read(&body);
        let request = ParsedRequest::new(&head, &body, &members, self.choices.unknown_fields);
        let members = members.as_ref().ok();
        let recorded = RecordedRequest::capture(request.operation, head, body.len(), members, &self.api_keys);
        Received { request, recorded }
    }

    /// The reply, and the number of the recorded request; 0 if it never arrived.
    fn process(&self, now: SystemTime, received: Received) -> (Reply, u64) {
        let Received { request, mut recorded } = received;
        let _evicted;
        // Declared after the values above, so that the lock is released before they are dropped.
        let mut service = self.service();
        let Service { tenants, randomness, .. } = &mut *service;
        let unused = randomness.state;
        let decision = decision::decide(now, &request, tenants, &self.choices, randomness);
        let fault = request.operation.and_then(|operation| {
            let is_refused = operation.moves_money() && decision.1.is_none();
            let requested = || request.fault.clone().filter(|fault| fault.can_fire(is_refused));
            service.faults.fire(operation, is_refused).or_else(requested)
        });
        if fault.as_ref().is_some_and(|fault| fault.kind() == FaultKind::Refuse) {
            // The request never arrived, so there is nothing to record.
            service.randomness.state = unused;
            return (Reply::Refused, 0);
        }
        recorded.received_at = now;
        recorded.fault.clone_from(&fault);
        let number;
        (number, _evicted) = service.requests.push(recorded);
        if let Some(Fault { kind: FaultKind::Delay { by }, phase: Phase::BeforeCommit, .. }) = fault {
            service.randomness.state = unused;
            let (request, epoch) = (Box::new(request), service.epoch);
            return (Reply::Held { by, request: HeldRequest { request, number, epoch } }, number);
        }
        (service.carry_out(now, decision, number, fault.as_ref()), number)
    }

    /// Processes a request that a fault held, unless the gateway was reset in the meantime.
    pub(crate) fn resume(&self, now: SystemTime, request: HeldRequest) -> Reply {
        let HeldRequest { request, number, epoch } = request;
        let mut service = self.service();
        if service.epoch != epoch {
            return Reply::Closed;
        }
        let Service { tenants, randomness, .. } = &mut *service;
        let decision = decision::decide(now, &request, tenants, &self.choices, randomness);
        service.carry_out(now, decision, number, None)
    }

    /// [`handle`](Self::handle) at the gateway's time of day, waiting at its gates, and using `timer` for held requests. The
    /// reply is never [`Reply::Held`]. Also returns the number of the recorded request; 0 if it is not recorded.
    ///
    /// Dropping the future means that the client has gone: a request that is not committed by then never is. So does
    /// `given_up` while the request waits to be processed: it is then [closed](Reply::Closed) without an effect. Later
    /// `given_up` is not polled: after the commit the client has been charged, and may still read the response.
    pub(crate) async fn respond(
        &self,
        request: Request<Bytes>,
        timer: &dyn Timer,
        given_up: impl Future<Output = ()>,
    ) -> (Reply, u64) {
        let mut given_up = pin!(given_up);
        let received = self.receive(request);
        let operation = received.request.operation;
        let gate = self.pass_gate(operation, Phase::BeforeCommit);
        if before(given_up.as_mut(), gate).await.is_none() {
            return (Reply::Closed, 0);
        }
        let (reply, number) = self.process(self.wall(), received);
        let reply = match reply {
            Reply::Held { by, request } => {
                if before(given_up, timer.sleep(by)).await.is_none() {
                    return (Reply::Closed, number);
                }
                self.resume(self.wall(), request)
            }
            reply => reply,
        };
        self.pass_gate(operation, Phase::AfterCommit).await;
        (reply, number)
    }

    /// The method and the path of a request, without its query, for a log. Card numbers, the accepted keys and the key of the
    /// request are masked in both, because a method can be any word.
    pub(crate) fn loggable(&self, request: &Request<Bytes>) -> (Method, String) {
        let redaction = Redaction::of(&self.api_keys, request.headers().get(AUTHORIZATION));
        (redaction.method(request.method()), redaction.path(request.uri().path()))
    }

    /// Ignores a poisoned lock, so that a panic elsewhere, such as a failed assertion of the test, is not hidden by another.
    pub(crate) fn service(&self) -> MutexGuard<'_, Service> {
        self.service.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn gates(&self) -> MutexGuard<'_, Gates> {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn pass_gate(&self, operation: Option<OperationName>, phase: Phase) {
        let latch = operation.and_then(|operation| self.gates().closed(operation, phase));
        if let Some(latch) = latch {
            latch.hold(&self.clock).await;
        }
    }

    fn wall(&self) -> SystemTime {
        self.wall_clock.as_ref().map_or_else(|| self.clock.wall(), |now| now())
    }
}

/// A request that was parsed, and what is recorded of it. This is most of the work on a request, and is done without a lock.
struct Received {
    request: ParsedRequest,
    recorded: RecordedRequest,
}

/// The service as a state machine: no I/O, no clock, and randomness only from its seed.
pub(crate) struct Service {
    pub(crate) tenants: Tenants,
    pub(crate) randomness: Randomness,
    pub(crate) faults: ArmedFaults,
    pub(crate) requests: RequestLog,
    /// The effects that wait for [`deliver_late`](Self::deliver_late), with the numbers of their requests.
    pub(crate) late: Vec<(u64, Effect)>,
    /// The number of resets.
    pub(crate) epoch: u64,
}

impl Service {
    /// Adds the records of the fixtures that each tenant does not have yet, and arms their faults.
    pub(crate) fn load(&mut self, fixtures: &Fixtures) {
        for tenant in 0..self.tenants.stores.len() {
            self.load_records(tenant, fixtures);
        }
        self.arm_faults(fixtures);
    }

    /// Adds the records that one tenant does not have yet. No later record gets one of their ids, not even after a reset.
    pub(crate) fn load_records(&mut self, tenant: usize, fixtures: &Fixtures) {
        fixtures.transactions.keys().for_each(|id| self.randomness.reserve(id.as_str()));
        fixtures.tokens.keys().for_each(|id| self.randomness.reserve(id.as_str()));
        self.tenants.stores[tenant].add_missing(fixtures);
    }

    pub(crate) fn arm_faults(&mut self, fixtures: &Fixtures) {
        for fault in &fixtures.faults {
            self.faults.arm(fault.clone());
        }
    }

    /// Removes everything but the keys, then loads the fixtures.
    pub(crate) fn reset_to(&mut self, fixtures: &Fixtures) {
        self.epoch += 1;
        self.late.clear();
        self.faults.list.clear();
        self.requests.clear();
        self.tenants.stores.iter_mut().for_each(Store::clear);
        self.load(fixtures);
    }

    /// Commits the late effects, in the order of their requests.
    pub(crate) fn deliver_late(&mut self) -> usize {
        let late = std::mem::take(&mut self.late);
        let count = late.len();
        for (number, effect) in late {
            let outcome = effect.outcome();
            let is_committed = self.tenants.stores[effect.tenant].commit(effect);
            let outcome = if is_committed { outcome } else { (RequestEffect::Refused, None) };
            self.requests.update(number, |request| request.outcome = outcome);
        }
        count
    }

    /// Applies the effect, then chooses the symptom. Neither depends on the other.
    fn carry_out(
        &mut self,
        now: SystemTime,
        (mut response, effect): Decision,
        number: u64,
        fault: Option<&Fault>,
    ) -> Reply {
        let Self { tenants, randomness, .. } = self;
        let header =
            |text: String| HeaderValue::try_from(text).expect("an identifier or a date is visible ASCII");
        response.headers_mut().insert(REQUEST_ID, header(randomness.identifier("req_")));
        response.headers_mut().insert(DATE, header(httpdate::fmt_http_date(now)));
        let phase = fault.map_or(Phase::AfterCommit, Fault::phase);
        let outcome = match (&effect, phase) {
            (_, Phase::BeforeCommit) => RequestOutcome::default(),
            (Some(effect), Phase::AfterCommit) => effect.outcome(),
            (Some(effect), Phase::Late) => (RequestEffect::Late, effect.outcome().1),
            (None, _) if response.status().is_success() => (RequestEffect::LookedUp, None),
            (None, _) => (RequestEffect::Refused, None),
        };
        let is_no = matches!(outcome.0, RequestEffect::Refused | RequestEffect::Declined);
        let reason = is_no.then(|| reason_of(&response)).flatten().map(|reason| {
            let keys: Vec<_> = tenants.api_keys.iter().map(String::as_str).collect();
            mask(&reason, &keys).into_owned()
        });
        match (effect, phase) {
            (Some(effect), Phase::AfterCommit) => {
                tenants.stores[effect.tenant].commit(effect);
            }
            (Some(effect), Phase::Late) => self.late.push((number, effect)),
            _ => {}
        }
        let reply = match fault {
            Some(fault) => Reply::of_fault(fault, response, randomness),
            None => Reply::Answer(response),
        };
        self.requests.update(number, |request| {
            request.outcome = outcome;
            request.reason = reason;
            request.set_reply(&reply);
        });
        reply
    }
}

/// The reason in a refusal or a decline of the service.
fn reason_of(response: &Response<Bytes>) -> Option<String> {
    #[derive(Deserialize)]
    struct Words {
        #[serde(alias = "message")]
        msg: String,
    }
    let Words { msg } = serde_json::from_slice(response.body()).ok()?;
    Some(msg.strip_prefix("bad request error: ").map_or_else(|| msg.clone(), str::to_owned))
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
