//! The service as a state machine, and the side of it that transports and servers hold.

use std::fmt;
use std::future::{Future, pending};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{AUTHORIZATION, DATE};
use http::{HeaderName, HeaderValue, Method, Request};
use payments_core::{OperationName, Timer};
use payments_model::unversioned::RequestMembers;

use crate::armed_fault::ArmedFaults;
use crate::choices::Choices;
use crate::decision;
use crate::fault::{FaultKind, Phase};
use crate::gate::Gates;
use crate::randomness::Randomness;
use crate::recorded_request::{Decided, RecordedRequest, RequestLog};
use crate::redaction::Redaction;
use crate::request::{Route, UnderstoodRequest};
use crate::store::{Effect, Store};
use crate::tenant::Tenants;
use crate::transport::before;
use crate::{
    ChangeLog, FakeGatewayBuilder, Fault, Fixtures, HeldRequest, ManualClock, NotDurable, Reply,
    RequestEffect,
};

/// The side of a [`FakeGateway`](crate::FakeGateway) that transports and servers hold.
///
/// It answers requests and knows nothing of tests: it does not keep the gateway's check for unfired faults waiting.
#[derive(Clone)]
pub struct Responder(Arc<Shared>);

struct Shared {
    service: Mutex<Service>,
    choices: Choices,
    /// What may not be kept of any request.
    api_keys: Arc<[String]>,
    /// Beside the service, because every request asks twice for a closed one.
    gates: Mutex<Gates>,
    clock: ManualClock,
    wall_clock: Option<WallClock>,
    change_log: Option<Arc<dyn ChangeLog>>,
}

/// Tells the time of day.
pub(crate) type WallClock = Box<dyn Fn() -> SystemTime + Send + Sync>;

impl Responder {
    pub(crate) fn new(builder: FakeGatewayBuilder) -> Self {
        let FakeGatewayBuilder { api_keys, choices, clock, wall_clock, change_log, .. } = builder;
        let api_keys: Arc<[String]> = api_keys.into();
        let service = Mutex::new(Service {
            tenants: Tenants::new(Arc::clone(&api_keys), change_log.clone()),
            randomness: Randomness::new(builder.seed),
            faults: ArmedFaults::default(),
            requests: RequestLog::new(builder.recorded_requests),
            late: Vec::new(),
            epoch: 0,
        });
        let gates = Mutex::default();
        Self(Arc::new(Shared { service, choices, api_keys, gates, clock, wall_clock, change_log }))
    }

    /// What the network would carry back for this request at this time of day. It neither waits nor looks at a clock.
    pub fn handle(&self, now: SystemTime, request: Request<Bytes>) -> Reply {
        self.handle_numbered(now, request).0
    }

    /// The same, and the number under which the request is recorded; 0 if it never arrived.
    fn handle_numbered(&self, now: SystemTime, request: Request<Bytes>) -> (Reply, u64) {
        let (head, body) = request.into_parts();
        let members = RequestMembers::read(&body);
        let mut request = UnderstoodRequest::new(&head, &body, &members, self.0.choices.unknown_fields);
        let mut recorded =
            RecordedRequest::capture(now, head, body.len(), members.as_ref().ok(), &self.0.api_keys);
        request.is_clean = recorded.fields.is_clean;
        let _outgrown;
        // What stands above is dropped after the lock is released, so that nobody waits for that either.
        let mut service = self.service();
        let fault = service.strike(&request);
        if fault.as_ref().is_some_and(|fault| fault.kind() == FaultKind::Refuse) {
            // It never arrived, so there is nothing to record.
            return (Reply::Refused, 0);
        }
        recorded.fault.clone_from(&fault);
        let number;
        (number, _outgrown) = service.requests.push(recorded);
        let reply = match &fault {
            Some(Fault { kind: FaultKind::Delay { by }, phase: Phase::BeforeCommit, .. }) => {
                let (request, epoch) = (Box::new(request), service.epoch);
                Reply::Held { by: *by, request: HeldRequest { request, number, epoch } }
            }
            fault => service.process(now, &request, number, &self.0.choices, fault.as_ref()),
        };
        (reply, number)
    }

    /// Processes a request that a fault had [held](Reply::Held). If the gateway was
    /// [reset](crate::FakeGateway::reset) since, the request is [closed](Reply::Closed) without an effect: it belongs to
    /// what was forgotten.
    pub fn resume(&self, now: SystemTime, request: HeldRequest) -> Reply {
        let HeldRequest { request, number, epoch } = request;
        let mut service = self.service();
        if service.epoch != epoch {
            return Reply::Closed;
        }
        service.process(now, &request, number, &self.0.choices, None)
    }

    /// [`handle`](Self::handle) as a server does it: at the gateway's time of day, waiting at its
    /// [gates](crate::Gate), and by `timer` for held requests. The reply is never [`Reply::Held`].
    ///
    /// With a [`ChangeLog`] the reply waits until everything that it can speak of is durable. If that fails, the connection
    /// is [closed](Reply::Closed): nobody is told of a payment that the next start would not know.
    ///
    /// Dropping the future is a client that went away: what was not committed by then never is.
    pub async fn respond(&self, request: Request<Bytes>, timer: &dyn Timer) -> Reply {
        self.respond_numbered(request, timer, pending()).await.0
    }

    /// [`respond`](Self::respond) to a client that may give up while its request waits to be processed, at a gate or held
    /// by a fault: once `given_up` is ready, the request is [closed](Reply::Closed) without an effect. Gives the
    /// [number](RecordedRequest::number) of the request, too; 0 if it is not recorded.
    ///
    /// `given_up` is polled only then: who goes later has been charged, and might still take the answer.
    pub async fn respond_numbered(
        &self,
        request: Request<Bytes>,
        timer: &dyn Timer,
        given_up: impl Future<Output = ()>,
    ) -> (Reply, u64) {
        let mut given_up = pin!(given_up);
        let operation = Route::of(request.method(), request.uri().path()).operation();
        let gate = self.pass_gate(operation, Phase::BeforeCommit);
        if before(given_up.as_mut(), gate).await.is_none() {
            return (Reply::Closed, 0);
        }
        let (reply, number) = self.handle_numbered(self.wall(), request);
        let reply = match reply {
            Reply::Held { by, request } => {
                if before(given_up, timer.sleep(by)).await.is_none() {
                    return (Reply::Closed, number);
                }
                self.resume(self.wall(), request)
            }
            reply => reply,
        };
        let reply = if self.flushed().await.is_ok() {
            reply
        } else {
            self.service().requests.note(number, |request| request.saw(&Reply::Closed));
            Reply::Closed
        };
        self.pass_gate(operation, Phase::AfterCommit).await;
        (reply, number)
    }

    /// What is recorded of the request with this number, if it is kept.
    pub fn recorded(&self, number: u64) -> Option<RecordedRequest> {
        self.service().requests.with_number(number).cloned()
    }

    /// Waits until every change so far is durable; at once if the gateway has no [`ChangeLog`].
    ///
    /// # Errors
    ///
    /// If one could not be made durable.
    pub async fn flushed(&self) -> Result<(), NotDurable> {
        match &self.0.change_log {
            Some(log) => log.flushed().await,
            None => Ok(()),
        }
    }

    /// The path of a request, without its query, for a log: card numbers are masked, and so are the keys that are accepted
    /// and the one that the request came with.
    pub fn loggable_path(&self, request: &Request<Bytes>) -> String {
        self.redaction_of(request).path(request.uri().path())
    }

    /// The method of a request, for a log, without what [`loggable_path`](Self::loggable_path) hides: a method is any word.
    pub fn loggable_method(&self, request: &Request<Bytes>) -> Method {
        self.redaction_of(request).method(request.method())
    }

    /// The gateway's own clock.
    pub fn clock(&self) -> &ManualClock {
        &self.0.clock
    }

    fn redaction_of<'a>(&'a self, request: &'a Request<Bytes>) -> Redaction<'a> {
        Redaction::of(&self.0.api_keys, request.headers().get(AUTHORIZATION))
    }

    /// A panic elsewhere, such as a failed assertion of the test, must not hide behind a poisoned lock.
    pub(crate) fn service(&self) -> MutexGuard<'_, Service> {
        self.0.service.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn gates(&self) -> MutexGuard<'_, Gates> {
        self.0.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn pass_gate(&self, operation: Option<OperationName>, phase: Phase) {
        let latch = operation.and_then(|operation| self.gates().closed(operation, phase));
        if let Some(latch) = latch {
            latch.hold(&self.0.clock).await;
        }
    }

    fn wall(&self) -> SystemTime {
        self.0.wall_clock.as_ref().map_or_else(|| self.0.clock.wall(), |now| now())
    }
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder").field("clock", self.clock()).finish_non_exhaustive()
    }
}

/// The service as a state machine: no I/O, no clock and no randomness of its own.
pub(crate) struct Service {
    pub(crate) tenants: Tenants,
    pub(crate) randomness: Randomness,
    pub(crate) faults: ArmedFaults,
    pub(crate) requests: RequestLog,
    /// What was decided and is to be committed when the test says so, with the numbers of the requests.
    pub(crate) late: Vec<(u64, Effect)>,
    /// How often everything was forgotten.
    pub(crate) epoch: u64,
}

impl Service {
    /// The fault that strikes the request.
    pub(crate) fn strike(&mut self, request: &UnderstoodRequest) -> Option<Fault> {
        let operation = request.operation?;
        self.faults.strike(operation).or_else(|| request.fault.clone())
    }

    /// Adds what the tenants lack of the fixtures, and arms their faults.
    pub(crate) fn load(&mut self, fixtures: &Fixtures) {
        self.tenants.books.iter_mut().for_each(|store| store.add_missing(fixtures));
        self.tenants.tell_log();
        for fault in &fixtures.faults {
            self.faults.arm(fault.clone());
        }
    }

    /// Forgets everything but the keys, and begins with the fixtures.
    pub(crate) fn reset_to(&mut self, fixtures: &Fixtures) {
        self.epoch += 1;
        self.late.clear();
        self.faults.list.clear();
        self.requests.clear();
        // The log is told by the load, of both in one group.
        self.tenants.books.iter_mut().for_each(Store::clear);
        self.load(fixtures);
    }

    /// Commits what was late, in the order in which it came.
    pub(crate) fn deliver_late(&mut self) -> usize {
        let late = std::mem::take(&mut self.late);
        let count = late.len();
        for (number, effect) in late {
            let decided = effect.decided();
            let is_committed = self.tenants.change(effect.tenant, |store| store.commit(effect));
            let decided = if is_committed { decided } else { (RequestEffect::Refused, None) };
            self.requests.note(number, |request| request.decided = decided);
        }
        count
    }

    /// The effect and the symptom, one after the other and neither because of the other.
    pub(crate) fn process(
        &mut self,
        now: SystemTime,
        request: &UnderstoodRequest,
        number: u64,
        choices: &Choices,
        fault: Option<&Fault>,
    ) -> Reply {
        let Self { tenants, randomness, .. } = self;
        let (mut answer, effect) = decision::decide(now, request, tenants, choices, randomness);
        let header =
            |text: String| HeaderValue::try_from(text).expect("an identifier or a date is visible ASCII");
        answer.headers_mut().insert(REQUEST_ID, header(randomness.identifier("req_")));
        answer.headers_mut().insert(DATE, header(httpdate::fmt_http_date(now)));
        let phase = fault.map_or(Phase::AfterCommit, Fault::phase);
        let decided = match (&effect, phase) {
            (_, Phase::BeforeCommit) => Decided::default(),
            (Some(effect), Phase::AfterCommit) => effect.decided(),
            (Some(effect), Phase::Late) => (RequestEffect::Late, effect.decided().1),
            (None, _) if answer.status().is_success() => (RequestEffect::LookedUp, None),
            (None, _) => (RequestEffect::Refused, None),
        };
        match (effect, phase) {
            (Some(effect), Phase::AfterCommit) => {
                tenants.change(effect.tenant, |store| store.commit(effect));
            }
            (Some(effect), Phase::Late) => self.late.push((number, effect)),
            _ => {}
        }
        let reply = match fault {
            Some(fault) => Reply::of_fault(fault, answer, randomness),
            None => Reply::Answer(answer),
        };
        self.requests.note(number, |request| {
            request.decided = decided;
            request.saw(&reply);
        });
        reply
    }
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
