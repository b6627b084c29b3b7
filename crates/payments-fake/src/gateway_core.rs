//! The service as a state machine, and the way of a request through it: [`GatewayCore::receive`] parses it, `process` decides
//! about it under the lock, and [`GatewayState::apply`] applies the decision. [`GatewayCore::respond`] waits between them.

use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{AUTHORIZATION, DATE};
use http::{HeaderName, HeaderValue, Method, Request};
use payments_core::transport::before;
use payments_core::{OperationName, Timer};
use payments_model::unversioned::RequestMembers;
use payments_model::{TokenId, TransactionId};

use crate::armed_fault::ArmedFaults;
use crate::decision::{self, Consequence, Decision};
use crate::fault::{FaultKind, Phase};
use crate::gate::Gates;
use crate::randomness::Randomness;
use crate::recorded_request::{Done, OpenRecord, RecordedRequest, RequestLog};
use crate::redaction::Redaction;
use crate::request::ParsedRequest;
use crate::settings::Settings;
use crate::store::{LateEffect, Store};
use crate::{Fault, Fixtures, Reply, RequestEffect};

/// What every handle of a gateway, its transports, its tenants and its servers share.
pub struct GatewayCore {
    pub(crate) settings: Settings,
    state: Mutex<GatewayState>,
    /// Outside the state and its lock, because every request looks for a closed gate twice.
    gates: Mutex<Gates>,
}

/// What became of a request.
pub(crate) enum Processed {
    /// It never arrived, so it is not recorded.
    NeverArrived,
    Done(Reply, OpenRecord),
    /// It waits this long before it is [processed](GatewayCore::process_held).
    Held(Duration, HeldRequest),
}

pub(crate) struct HeldRequest {
    request: Box<ParsedRequest>,
    record: OpenRecord,
    /// The number of resets when it arrived.
    epoch: u64,
}

impl GatewayCore {
    pub(crate) fn new(settings: Settings) -> Self {
        let state = Mutex::new(GatewayState {
            stores: settings.tenants.iter().map(|_| Store::default()).collect(),
            randomness: Randomness::new(settings.seed.unwrap_or_default()),
            faults: ArmedFaults::default(),
            requests: RequestLog::new(settings.recorded_requests),
            late: Vec::new(),
            epoch: 0,
        });
        Self { settings, state, gates: Mutex::default() }
    }

    /// Ignores a poisoned lock, so that a panic elsewhere, such as a failed assertion of the test, is not hidden by another.
    pub(crate) fn state(&self) -> MutexGuard<'_, GatewayState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn gates(&self) -> MutexGuard<'_, Gates> {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The parsed request, and what is recorded of it. This is most of the work on a request, and is done without a lock.
    pub(crate) fn receive(&self, request: Request<Bytes>) -> (ParsedRequest, RecordedRequest) {
        let (head, body) = request.into_parts();
        let members = RequestMembers::read(&body);
        let request = ParsedRequest::new(&head, &body, &members, self.settings.choices.unknown_fields);
        let members = members.as_ref().ok();
        let recorded =
            RecordedRequest::capture(request.operation, head, body.len(), members, self.settings.api_keys());
        (request, recorded)
    }

    /// Processes the request at this time of day, unless a delay holds it. It neither waits nor reads a clock.
    pub(crate) fn process(
        &self,
        now: SystemTime,
        (request, mut recorded): (ParsedRequest, RecordedRequest),
    ) -> Processed {
        let _evicted;
        // Declared after the values above, so that the lock is released before they are dropped.
        let mut state = self.state();
        // Kept only if the request is processed now: one that never arrives or has to wait draws no numbers.
        let mut randomness = state.randomness.clone();
        let decision =
            decision::decide(now, &request, &self.settings, &state.stores, &state.late, &mut randomness);
        let fault = request.operation.and_then(|operation| {
            let is_refused =
                operation.moves_money() && matches!(decision.consequence, Consequence::Refuse(_));
            let requested = || request.fault.clone().filter(|fault| fault.can_fire(is_refused));
            state.faults.fire(operation, is_refused).or_else(requested)
        });
        if fault.as_ref().is_some_and(|fault| fault.kind() == FaultKind::Refuse) {
            return Processed::NeverArrived;
        }
        recorded.received_at = now;
        recorded.fault.clone_from(&fault);
        let record = OpenRecord::new(recorded);
        _evicted = state.requests.push(record.clone());
        if let Some(Fault { kind: FaultKind::Delay { by }, phase: Phase::BeforeCommit, .. }) = fault {
            let request = Box::new(request);
            return Processed::Held(by, HeldRequest { request, record, epoch: state.epoch });
        }
        state.randomness = randomness;
        Processed::Done(state.apply(now, decision, &record, fault.as_ref()), record)
    }

    /// Processes a held request after its pause. It is decided anew, because the service may have changed. After a reset, it is
    /// closed without an effect.
    pub(crate) fn process_held(&self, now: SystemTime, held: HeldRequest) -> (Reply, OpenRecord) {
        let HeldRequest { request, record, epoch } = held;
        let mut state = self.state();
        if state.epoch != epoch {
            return (Reply::Closed, record);
        }
        let GatewayState { stores, late, randomness, .. } = &mut *state;
        let decision = decision::decide(now, &request, &self.settings, stores, late, randomness);
        (state.apply(now, decision, &record, None), record)
    }

    /// [`FakeGateway::handle`](crate::FakeGateway::handle) at the gateway's time of day, waiting at its gates, and using `timer`
    /// for held requests and delayed responses. The reply is never [`Reply::Delayed`]. Also returns the record of the request, if
    /// it is recorded.
    ///
    /// Dropping the future means that the client has gone: a request that is not committed by then never is. So does
    /// `given_up` while the request waits to be processed: it is then [closed](Reply::Closed) without an effect. Later
    /// `given_up` is not polled: after the commit the client has been charged, and may still read the response.
    pub async fn respond(
        &self,
        request: Request<Bytes>,
        timer: &dyn Timer,
        given_up: impl Future<Output = ()>,
    ) -> (Reply, Option<OpenRecord>) {
        let mut given_up = pin!(given_up);
        let received = self.receive(request);
        let operation = received.0.operation;
        let epoch = self.state().epoch;
        let gates = self.pass_gates(operation, Phase::BeforeCommit);
        if before(given_up.as_mut(), gates).await.is_none() || self.state().epoch != epoch {
            return (Reply::Closed, None);
        }
        let (reply, record) = match self.process(self.settings.now(), received) {
            Processed::NeverArrived => return (Reply::Refused, None),
            Processed::Done(reply, record) => (reply, record),
            Processed::Held(by, held) => match before(given_up, timer.sleep(by)).await {
                Some(()) => self.process_held(self.settings.now(), held),
                None => (Reply::Closed, held.record),
            },
        };
        if record.is_processed() {
            self.pass_gates(operation, Phase::AfterCommit).await;
        }
        let reply = match reply {
            Reply::Delayed { by, response } => {
                timer.sleep(by).await;
                Reply::Response(response)
            }
            reply => reply,
        };
        record.set_reply(&reply);
        (reply, Some(record))
    }

    /// The method and the path of a request, without its query, for a log. Card numbers, the accepted keys and the key of the
    /// request are masked in both, because a method can be any word.
    pub fn loggable(&self, request: &Request<Bytes>) -> (Method, String) {
        let redaction = Redaction::of(self.settings.api_keys(), request.headers().get(AUTHORIZATION));
        (redaction.method(request.method()), redaction.path(request.uri().path()))
    }

    /// Waits at one closed gate after the other, also at those that are closed meanwhile.
    async fn pass_gates(&self, operation: Option<OperationName>, phase: Phase) {
        let closed = || operation.and_then(|operation| self.gates().closed(operation, phase));
        while let Some(latch) = closed() {
            latch.hold(&self.settings.clock).await;
        }
    }
}

impl fmt::Debug for GatewayCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayCore").finish_non_exhaustive()
    }
}

/// The service as a state machine: no I/O, no clock, and randomness only from its seed.
pub(crate) struct GatewayState {
    /// The records of each tenant, in the order of the keys.
    pub(crate) stores: Vec<Store>,
    pub(crate) randomness: Randomness,
    pub(crate) faults: ArmedFaults,
    pub(crate) requests: RequestLog,
    /// What waits for [`deliver_late`](Self::deliver_late).
    late: Vec<LateEffect>,
    /// The number of resets.
    pub(crate) epoch: u64,
}

impl GatewayState {
    /// Adds the records of the fixtures that each of these tenants does not have yet, and arms their faults. No later record
    /// gets one of their ids, not even after a reset.
    pub(crate) fn load(&mut self, tenants: Range<usize>, Fixtures(fixtures): &Fixtures) {
        self.randomness.reserve(fixtures.transactions.keys().map(TransactionId::as_str));
        self.randomness.reserve(fixtures.tokens.keys().map(TokenId::as_str));
        for store in &mut self.stores[tenants] {
            store.add_missing(fixtures.clone());
        }
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
        self.stores.fill_with(Store::default);
        self.load(0..self.stores.len(), fixtures);
    }

    /// Commits the late effects at this time, in the order of their requests.
    pub(crate) fn deliver_late(&mut self, now: SystemTime) -> usize {
        let late = std::mem::take(&mut self.late);
        let count = late.len();
        for LateEffect { record, tenant, effect } in late {
            record.set_done(self.stores[tenant].commit(now, effect));
        }
        count
    }

    /// Applies the effect, then chooses the symptom. Neither depends on the other.
    fn apply(
        &mut self,
        now: SystemTime,
        decision: Decision,
        record: &OpenRecord,
        fault: Option<&Fault>,
    ) -> Reply {
        let Decision { response, consequence } = decision;
        let Self { stores, randomness, .. } = self;
        // Drawn whether or not the reply shows it, so that a fault does not change later identifiers.
        let request_id = randomness.identifier("req_");
        let phase = fault.map_or(Phase::AfterCommit, Fault::phase);
        let done = match (consequence, phase) {
            (_, Phase::BeforeCommit) => Done::default(),
            (Consequence::Refuse(reason), _) => Done::refused(reason),
            (Consequence::LookUp, _) => Done { effect: RequestEffect::LookedUp, ..Done::default() },
            (Consequence::Commit { tenant, effect }, Phase::AfterCommit) => {
                stores[tenant].commit(now, effect)
            }
            (Consequence::Commit { tenant, effect }, Phase::Late) => {
                let transaction_id = Some(effect.transaction_id().clone());
                self.late.push(LateEffect { record: record.clone(), tenant, effect });
                Done { effect: RequestEffect::Late, transaction_id, reason: None }
            }
        };
        let mut reply = match fault {
            Some(fault) => Reply::of_fault(fault, response, randomness),
            None => Reply::Response(response),
        };
        if let Some(shown) = reply.response_mut() {
            let header =
                |text: String| HeaderValue::try_from(text).expect("an identifier or a date is visible ASCII");
            shown.headers_mut().insert(REQUEST_ID, header(request_id));
            shown.headers_mut().insert(DATE, header(httpdate::fmt_http_date(now)));
        }
        record.set_done(done);
        reply
    }
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
