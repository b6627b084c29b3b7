use std::time::SystemTime;

use bytes::Bytes;
use http::header::DATE;
use http::{HeaderName, HeaderValue, Response};

use crate::armed_fault::ArmedFaults;
use crate::choices::Choices;
use crate::decision::{self, Decision};
use crate::fault::Phase;
use crate::randomness::Randomness;
use crate::recorded_request::RequestLog;
use crate::store::Effect;
use crate::tenants::Tenants;
use crate::understood_request::UnderstoodRequest;
use crate::{Fault, Reply};

/// The service as a state machine: no I/O, no clock and no randomness of its own.
pub(crate) struct Service {
    pub(crate) tenants: Tenants,
    pub(crate) randomness: Randomness,
    pub(crate) faults: ArmedFaults,
    pub(crate) requests: RequestLog,
    /// What was decided for a tenant and is to be committed when the test says so.
    pub(crate) late: Vec<(usize, Effect)>,
    /// How often everything was forgotten.
    pub(crate) epoch: u64,
}

impl Service {
    /// The fault that strikes the request.
    pub(crate) fn strike(&mut self, request: &UnderstoodRequest) -> Option<Fault> {
        let operation = request.operation?;
        self.faults.strike(operation).or_else(|| request.fault.clone())
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

    /// Commits what is decided and answers.
    pub(crate) fn process(
        &mut self,
        now: SystemTime,
        request: &UnderstoodRequest,
        choices: &Choices,
    ) -> Reply {
        let Decision { answer, effect } = self.decide(now, request, choices);
        if let Some((tenant, effect)) = effect {
            self.tenants[tenant].store.commit(effect);
        }
        Reply::Answer(answer)
    }

    /// The effect and the symptom, one after the other and neither because of the other.
    pub(crate) fn fail(
        &mut self,
        now: SystemTime,
        request: &UnderstoodRequest,
        choices: &Choices,
        fault: &Fault,
    ) -> Reply {
        let Decision { answer, effect } = self.decide(now, request, choices);
        if let Some((tenant, effect)) = effect {
            match fault.phase() {
                Phase::BeforeCommit => drop(effect),
                Phase::AfterCommit => self.tenants[tenant].store.commit(effect),
                Phase::Late => self.late.push((tenant, effect)),
            }
        }
        Reply::of_fault(fault, answer, &mut self.randomness)
    }

    fn decide(&mut self, now: SystemTime, request: &UnderstoodRequest, choices: &Choices) -> Decision {
        let Self { tenants, randomness, .. } = self;
        let mut decision = decision::decide(now, request, tenants, choices, randomness);
        stamp(&mut decision.answer, now, randomness);
        decision
    }
}

/// What the service itself answers has a request id and a date.
fn stamp(answer: &mut Response<Bytes>, now: SystemTime, randomness: &mut Randomness) {
    let header =
        |text: String| HeaderValue::try_from(text).expect("an identifier or a date is visible ASCII");
    answer.headers_mut().insert(REQUEST_ID, header(randomness.identifier("req_")));
    answer.headers_mut().insert(DATE, header(httpdate::fmt_http_date(now)));
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
