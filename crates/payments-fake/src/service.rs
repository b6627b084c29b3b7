use std::time::SystemTime;

use bytes::Bytes;
use http::header::DATE;
use http::{HeaderName, HeaderValue, Response};

use crate::armed_fault::ArmedFaults;
use crate::choices::Choices;
use crate::decision::{self, Decision};
use crate::fault::Phase;
use crate::randomness::Randomness;
use crate::recorded_request::{Decided, RequestLog};
use crate::store::Effect;
use crate::tenants::Tenants;
use crate::understood_request::UnderstoodRequest;
use crate::{Fault, Fixtures, Reply, RequestEffect};

/// The service as a state machine: no I/O, no clock and no randomness of its own.
pub(crate) struct Service {
    pub(crate) tenants: Tenants,
    pub(crate) randomness: Randomness,
    pub(crate) faults: ArmedFaults,
    pub(crate) requests: RequestLog,
    /// What was decided and is to be committed when the test says so.
    pub(crate) late: Vec<Late>,
    /// How often everything was forgotten.
    pub(crate) epoch: u64,
}

/// An effect that is decided and not yet committed.
pub(crate) struct Late {
    /// The request's.
    number: u64,
    tenant: usize,
    effect: Effect,
}

impl Service {
    /// The fault that strikes the request.
    pub(crate) fn strike(&mut self, request: &UnderstoodRequest) -> Option<Fault> {
        let operation = request.operation?;
        self.faults.strike(operation).or_else(|| request.fault.clone())
    }

    /// Adds what the tenants lack of the fixtures, and arms their faults.
    pub(crate) fn load(&mut self, fixtures: &Fixtures) {
        self.tenants.change_all(|store| store.add_missing(fixtures));
        self.arm_all(fixtures);
    }

    /// Forgets everything but the keys, and begins with the fixtures.
    pub(crate) fn reset_to(&mut self, fixtures: &Fixtures) {
        self.epoch += 1;
        self.late.clear();
        self.faults.disarm_all();
        self.requests.clear();
        self.tenants.change_all(|store| {
            store.clear();
            store.add_missing(fixtures);
        });
        self.arm_all(fixtures);
    }

    fn arm_all(&mut self, fixtures: &Fixtures) {
        for fault in &fixtures.faults {
            self.faults.arm(fault.clone());
        }
    }

    /// Commits what was late, in the order in which it came.
    pub(crate) fn deliver_late(&mut self) -> usize {
        let late = std::mem::take(&mut self.late);
        let count = late.len();
        for Late { number, tenant, effect } in late {
            let decided = effect.decided();
            let mut is_committed = false;
            self.tenants.change(tenant, |store| is_committed = store.commit(effect));
            let without_effect = (RequestEffect::Refused, None);
            self.requests.note_effect(number, if is_committed { decided } else { without_effect });
        }
        count
    }

    /// Commits what is decided and answers.
    pub(crate) fn process(
        &mut self,
        now: SystemTime,
        request: &UnderstoodRequest,
        number: u64,
        choices: &Choices,
    ) -> Reply {
        let decision = self.decide(now, request, choices);
        self.requests.note_effect(number, decision.decided());
        let Decision { answer, effect } = decision;
        if let Some((tenant, effect)) = effect {
            self.tenants.change(tenant, |store| _ = store.commit(effect));
        }
        let reply = Reply::Answer(answer);
        self.requests.note_reply(number, &reply);
        reply
    }

    /// The effect and the symptom, one after the other and neither because of the other.
    pub(crate) fn fail(
        &mut self,
        now: SystemTime,
        request: &UnderstoodRequest,
        number: u64,
        choices: &Choices,
        fault: &Fault,
    ) -> Reply {
        let decision = self.decide(now, request, choices);
        let decided = decision.decided();
        let Decision { answer, effect } = decision;
        let phase = fault.phase();
        let decided = match phase {
            Phase::BeforeCommit => Decided::default(),
            Phase::Late if effect.is_some() => (RequestEffect::Late, decided.1),
            Phase::AfterCommit | Phase::Late => decided,
        };
        self.requests.note_effect(number, decided);
        match (effect, phase) {
            (Some((tenant, effect)), Phase::AfterCommit) => {
                self.tenants.change(tenant, |store| _ = store.commit(effect));
            }
            (Some((tenant, effect)), Phase::Late) => self.late.push(Late { number, tenant, effect }),
            _ => {}
        }
        let reply = Reply::of_fault(fault, answer, &mut self.randomness);
        self.requests.note_reply(number, &reply);
        reply
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
