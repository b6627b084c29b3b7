use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use payments_core::OperationName;
use payments_fake::{ArmedFault, Gate, ManualClock, RecordedRequest};

use crate::executor::Work;
use crate::plan::Plan;
use crate::trace::{Event, Trace};
use crate::violation::Violation;
use crate::{Cause, Ending, Invariant, Moment, WireFault};

/// What the world, its wires and its observers share: who is being polled, and what became of each call so far.
#[derive(Clone)]
pub(crate) struct Stage {
    clock: ManualClock,
    state: Arc<Mutex<State>>,
}

/// See [`Stage::state`].
#[derive(Default)]
pub(crate) struct State {
    /// On whose behalf something is polled or dropped at this moment.
    pub(crate) current: usize,
    pub(crate) passages: Vec<Passage>,
    /// How many whole `POST`s of each intent the service has received.
    pub(crate) posts: Vec<u32>,
    /// What was set adrift and is to be polled on its own.
    pub(crate) spawned: Vec<(usize, Work)>,
    pub(crate) trace: Trace,
    /// The first broken promise that was seen where it happened.
    pub(crate) violation: Option<Violation>,
    pub(crate) only: Option<Invariant>,
    /// The service's armed faults as they were last seen.
    pub(crate) armed: Vec<ArmedFault>,
    pub(crate) gates: Vec<(OperationName, Moment, Gate)>,
    pub(crate) received: u64,
}

/// One call, from the first poll of its future to its end, and its requests, which may outlive it.
pub(crate) struct Passage {
    pub(crate) intent: usize,
    pub(crate) operation: OperationName,
    pub(crate) plan: Plan,
    /// How often the transport was given a request.
    pub(crate) sent: u32,
    /// How many of those futures are alive.
    pub(crate) sending: u32,
    /// How many whole requests the service received.
    pub(crate) received: u32,
    /// The service's faults that struck, if all were the same.
    pub(crate) struck: Option<Cause>,
    pub(crate) is_tangled: bool,
    pub(crate) held: Option<Moment>,
    pub(crate) was_jumped: bool,
    pub(crate) was_lied_to: bool,
    pub(crate) told_started: u32,
    pub(crate) told_finished: u32,
    pub(crate) told_abandoned: u32,
    /// How the last attempt ended, by what the observer was told.
    pub(crate) told_last: Option<Ending>,
    pub(crate) told_outcomes_of_lookups: u32,
    pub(crate) end: Option<CallEnd>,
    pub(crate) ending: Option<Ending>,
}

/// What the caller is given.
#[derive(Clone, Debug)]
pub(crate) struct CallEnd {
    pub(crate) ending: Ending,
    pub(crate) kind: &'static str,
    /// The id of the record that was returned.
    pub(crate) id: Option<String>,
    /// The amount in it.
    pub(crate) cents: Option<i64>,
}

impl Stage {
    pub(crate) fn new(clock: ManualClock, only: Option<Invariant>) -> Self {
        Self { clock, state: Arc::new(Mutex::new(State { only, ..State::default() })) }
    }

    /// The gateway must not be called while this is held: it calls back.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock.elapsed()
    }

    /// A call begins. Passages have the same numbers as calls.
    pub(crate) fn admit(&self, passage: Passage, event: Event) {
        let now = self.now();
        let mut state = self.state();
        let call = state.passages.len();
        state.passages.push(passage);
        state.trace.note(now, Some(call), event);
    }

    /// Changes the passage of a call, and notes what happened.
    pub(crate) fn note(&self, call: usize, event: Event, change: impl FnOnce(&mut Passage)) {
        let now = self.now();
        let mut state = self.state();
        state.trace.note(now, Some(call), event);
        change(&mut state.passages[call]);
    }

    /// The service received a whole request of this call.
    pub(crate) fn receive(&self, call: usize, request: &RecordedRequest) {
        self.note(call, Event::Received, |passage| passage.received += 1);
        let mut state = self.state();
        state.received += 1;
        let passage = &state.passages[call];
        let (intent, ending) = (passage.intent, passage.ending);
        if !passage.operation.moves_money() {
            return;
        }
        if intent_of(request) != Some(intent) {
            let what = format!("the service received another request than that of intent {intent}");
            state.report(Violation::new(Invariant::PostedAtMostOnce, intent, what));
        }
        state.posts[intent] += 1;
        let posts = state.posts[intent];
        if posts > 1 {
            let what = format!("the service received {posts} copies of it");
            state.report(Violation::new(Invariant::PostedAtMostOnce, intent, what));
        }
        if ending == Some(Ending::NotProcessed) {
            let what = "the service received it after the caller was told that it was not processed";
            state.report(Violation::new(Invariant::NotProcessedIsTrue, intent, what));
        }
    }

    /// The service's fault struck a request of this call.
    pub(crate) fn strike(&self, call: usize, cause: Cause) {
        self.note(call, Event::Struck(cause), |passage| {
            passage.is_tangled |= passage.struck.is_some_and(|struck| struck != cause);
            passage.struck = Some(cause);
            passage.was_lied_to |= cause.is_a_lie();
        });
    }

    /// The wire's fault in what is being polled.
    pub(crate) fn current_wire_fault(&self) -> Option<WireFault> {
        let state = self.state();
        let passage = state.passages.get(state.current)?;
        passage.plan.wire_fault(passage.sent)
    }
}

impl State {
    /// Keeps the first violation of those that are looked for.
    pub(crate) fn report(&mut self, violation: Violation) {
        if self.only.is_none_or(|only| only == violation.invariant) && self.violation.is_none() {
            self.violation = Some(violation);
        }
    }

    /// How many requests are held by gates, before and after the commit.
    pub(crate) fn held(&self) -> [usize; 2] {
        [Moment::BeforeCommit, Moment::AfterCommit].map(|moment| {
            let gates = self.gates.iter().filter(|(_, own, _)| *own == moment);
            gates.map(|(.., gate)| gate.held()).sum()
        })
    }
}

impl Passage {
    pub(crate) fn new(intent: usize, operation: OperationName, plan: Plan) -> Self {
        Self {
            intent,
            operation,
            plan,
            sent: 0,
            sending: 0,
            received: 0,
            struck: None,
            is_tangled: false,
            held: None,
            was_jumped: false,
            was_lied_to: false,
            told_started: 0,
            told_finished: 0,
            told_abandoned: 0,
            told_last: None,
            told_outcomes_of_lookups: 0,
            end: None,
            ending: None,
        }
    }

    /// What decided how the call went. A fault of the service counts if it struck, one of the wire if it was planned.
    pub(crate) fn cause(&self) -> Cause {
        let wire = matches!(self.plan.cause, Cause::Wire(_)).then_some(self.plan.cause);
        let local = (self.plan.cause == Cause::Local).then_some(Cause::Local);
        let held = self.held.map(Cause::Held);
        let jumped = self.was_jumped.then_some(Cause::Jumped);
        let mut causes = [local, wire, self.struck, held, jumped].into_iter().flatten();
        match (causes.next(), causes.next()) {
            _ if self.is_tangled => Cause::Tangled,
            (None, _) => Cause::Calm,
            (Some(cause), None) => cause,
            (Some(_), Some(_)) => Cause::Tangled,
        }
    }

    /// Whether all that went wrong was before the first byte.
    pub(crate) fn is_unsent(&self) -> bool {
        let planned = matches!(self.plan.cause, Cause::Wire(fault) if fault.is_before_the_first_byte());
        let refused = self.struck.is_some_and(Cause::is_before_the_first_byte)
            && !matches!(self.plan.cause, Cause::Wire(_));
        (planned || refused) && !self.is_tangled && self.held.is_none()
    }
}

/// The intent that a request carries: in its amount, which no other intent has, or in a void's reason.
fn intent_of(request: &RecordedRequest) -> Option<usize> {
    match request.operation()? {
        OperationName::Void => {
            request.field("Reason")?.strip_prefix(crate::intent::VOID_REASON)?.parse().ok()
        }
        _ => crate::intent::number_of(request.field("Amount")?.parse().ok()?),
    }
}
