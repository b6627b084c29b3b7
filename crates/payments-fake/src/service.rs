use std::fmt;
use std::time::SystemTime;

use bytes::Bytes;
use http::header::DATE;
use http::{HeaderName, HeaderValue, Request, Response};
use payments_core::OperationName;

use crate::armed_fault::ArmedFaults;
use crate::choices::Choices;
use crate::decision::{self, Decision};
use crate::fault::{FaultKind, Phase};
use crate::gate::Gates;
use crate::randomness::Randomness;
use crate::recorded_request::{RecordedRequest, RequestLog};
use crate::route::Route;
use crate::store::Effect;
use crate::tenants::Tenants;
use crate::{Fault, Reply, RequestedFault};

/// The service as a state machine: no I/O, no clock and no randomness of its own.
pub(crate) struct Service {
    pub(crate) tenants: Tenants,
    pub(crate) choices: Choices,
    pub(crate) randomness: Randomness,
    pub(crate) faults: ArmedFaults,
    pub(crate) gates: Gates,
    pub(crate) requests: RequestLog,
    /// What was decided for a tenant and is to be committed when the test says so.
    pub(crate) late: Vec<(usize, Effect)>,
}

/// A request that waits before it is processed. It holds card data; `Debug` shows nothing of it.
pub struct HeldRequest(Request<Bytes>);

impl fmt::Debug for HeldRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(_) = self;
        f.write_str("HeldRequest([redacted])")
    }
}

impl Service {
    pub(crate) fn handle(&mut self, now: SystemTime, request: Request<Bytes>) -> Reply {
        let operation = operation_of(&request);
        let fault =
            operation.and_then(|operation| self.faults.strike(operation).or_else(|| requested(&request)));
        if fault.as_ref().is_some_and(|fault| fault.kind() == FaultKind::Refuse) {
            // It never arrived, so there is nothing to record.
            return Reply::Refused;
        }
        self.requests.push(RecordedRequest::capture(now, &request));
        match fault {
            None => self.process(now, &request),
            Some(fault) => self.fail(now, request, &fault),
        }
    }

    /// Processes a request that was held.
    pub(crate) fn resume(&mut self, now: SystemTime, HeldRequest(request): HeldRequest) -> Reply {
        self.process(now, &request)
    }

    /// Commits what was late, in the order in which it came.
    pub(crate) fn deliver_late(&mut self) -> usize {
        let late = std::mem::take(&mut self.late);
        let count = late.len();
        for (tenant, effect) in late {
            self.tenants[tenant].store.commit(effect);
        }
        count
    }

    fn process(&mut self, now: SystemTime, request: &Request<Bytes>) -> Reply {
        let Decision { answer, effect } = self.decide(now, request);
        if let Some((tenant, effect)) = effect {
            self.tenants[tenant].store.commit(effect);
        }
        Reply::Answer(answer)
    }

    /// The effect and the symptom, one after the other and neither because of the other.
    fn fail(&mut self, now: SystemTime, request: Request<Bytes>, fault: &Fault) -> Reply {
        if let (FaultKind::Delay { by }, Phase::BeforeCommit) = (fault.kind(), fault.phase()) {
            return Reply::Held { by, request: HeldRequest(request) };
        }
        let Decision { answer, effect } = self.decide(now, &request);
        if let Some((tenant, effect)) = effect {
            match fault.phase() {
                Phase::BeforeCommit => drop(effect),
                Phase::AfterCommit => self.tenants[tenant].store.commit(effect),
                Phase::Late => self.late.push((tenant, effect)),
            }
        }
        Reply::of_fault(fault, answer, &mut self.randomness)
    }

    fn decide(&mut self, now: SystemTime, request: &Request<Bytes>) -> Decision {
        let Self { tenants, choices, randomness, .. } = self;
        let route = Route::of(request.method(), request.uri().path());
        let mut decision = decision::decide(now, &route, request, tenants, choices, randomness);
        stamp(&mut decision.answer, now, randomness);
        decision
    }
}

/// The fault that the request asks for itself.
fn requested(request: &Request<Bytes>) -> Option<Fault> {
    request.extensions().get().map(|RequestedFault(fault)| fault.clone())
}

pub(crate) fn operation_of(request: &Request<Bytes>) -> Option<OperationName> {
    Route::of(request.method(), request.uri().path()).operation()
}

/// What the service itself answers has a request id and a date.
fn stamp(answer: &mut Response<Bytes>, now: SystemTime, randomness: &mut Randomness) {
    let header =
        |text: String| HeaderValue::try_from(text).expect("an identifier or a date is visible ASCII");
    answer.headers_mut().insert(REQUEST_ID, header(randomness.identifier("req_")));
    answer.headers_mut().insert(DATE, header(httpdate::fmt_http_date(now)));
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
