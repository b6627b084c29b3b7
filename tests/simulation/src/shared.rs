use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use payments_core::OperationName;
use payments_fake::{ArmedFault, Gate, ManualClock, Phase, RecordedRequest};

use crate::executor::Work;
use crate::plan::Plan;
use crate::trace::{Event, Trace};
use crate::violation::Violation;
use crate::{Cause, Ending, Invariant};

/// The state that the world, its wires and its observers share: which call is polled, and the record of each call.
#[derive(Clone)]
pub(crate) struct Shared {
    clock: ManualClock,
    /// The invariant that a deliberate bug must violate.
    pub(crate) sabotage: Option<Invariant>,
    state: Arc<Mutex<State>>,
}

/// See [`Shared::state`].
#[derive(Default)]
pub(crate) struct State {
    /// The call for which a future is being polled or dropped.
    pub(crate) current: usize,
    pub(crate) records: Vec<CallRecord>,
    /// The number of complete `POST`s that the service has received for each intent.
    pub(crate) posts: Vec<u32>,
    /// Late deliveries to be polled as tasks of their own.
    pub(crate) spawned: Vec<(usize, Work)>,
    pub(crate) trace: Trace,
    /// The first violation found so far.
    pub(crate) violation: Option<Violation>,
    pub(crate) only: Option<Invariant>,
    /// The service's armed faults, as last read.
    pub(crate) armed: Vec<ArmedFault>,
    pub(crate) gates: Vec<(OperationName, Phase, Gate)>,
    pub(crate) received: u64,
}

/// One call, from the first poll of its future to its end, and its requests, which may outlive it.
pub(crate) struct CallRecord {
    pub(crate) intent: usize,
    pub(crate) operation: OperationName,
    pub(crate) plan: Plan,
    /// How many requests the transport received.
    pub(crate) sent: u32,
    /// How many of the transport's futures are alive.
    pub(crate) sending: u32,
    /// How many complete requests the service received.
    pub(crate) received: u32,
    /// The service's faults that fired, if all were the same.
    pub(crate) fired: Option<Cause>,
    pub(crate) has_several_causes: bool,
    pub(crate) held: Option<Phase>,
    pub(crate) was_jumped: bool,
    pub(crate) is_falsely_rejected: bool,
    pub(crate) observed: Observed,
    pub(crate) end: Option<CallResult>,
    pub(crate) ending: Option<Ending>,
}

/// What the observer saw of a call's attempts.
#[derive(Default)]
pub(crate) struct Observed {
    pub(crate) starts: u32,
    pub(crate) ends: u32,
    pub(crate) abandoned: u32,
    /// How the last one ended.
    pub(crate) last: Option<Ending>,
    /// Lookups with an outcome, which they do not have.
    pub(crate) lookup_outcomes: u32,
}

/// What the caller receives.
#[derive(Clone, Debug)]
pub(crate) struct CallResult {
    pub(crate) ending: Ending,
    pub(crate) kind: &'static str,
    /// The id of the record that was returned.
    pub(crate) id: Option<String>,
    /// The amount in it.
    pub(crate) cents: Option<i64>,
}

impl CallResult {
    pub(crate) fn without_id(ending: Ending, kind: &'static str) -> Self {
        Self { ending, kind, id: None, cents: None }
    }
}

impl Shared {
    pub(crate) fn new(clock: ManualClock, sabotage: Option<Invariant>, only: Option<Invariant>) -> Self {
        Self { clock, sabotage, state: Arc::new(Mutex::new(State { only, ..State::default() })) }
    }

    /// Whether the deliberate bug is the one that violates this invariant.
    pub(crate) fn breaks(&self, invariant: Invariant) -> bool {
        self.sabotage == Some(invariant)
    }

    /// Do not call the gateway while the guard is held: the gateway calls back and takes the lock.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock.elapsed()
    }

    /// Adds a call that begins. Records have the same numbers as calls.
    pub(crate) fn add_call(&self, record: CallRecord, event: Event) {
        let now = self.now();
        let mut state = self.state();
        let call = state.records.len();
        state.records.push(record);
        state.trace.note(now, Some(call), event);
    }

    /// Notes an event of a call and updates its record.
    pub(crate) fn note(&self, call: usize, event: Event, change: impl FnOnce(&mut CallRecord)) {
        let now = self.now();
        let mut state = self.state();
        state.trace.note(now, Some(call), event);
        change(&mut state.records[call]);
    }

    /// Notes that the service received a complete request of this call.
    pub(crate) fn receive(&self, call: usize, request: &RecordedRequest) {
        self.note(call, Event::Received, |record| record.received += 1);
        let mut state = self.state();
        state.received += 1;
        let record = &state.records[call];
        let (intent, ending) = (record.intent, record.ending);
        if !record.operation.moves_money() {
            return;
        }
        if intent_of(request) != Some(intent) {
            let what = format!("the service received another request than that of intent {intent}");
            state.report(Violation::new(Invariant::PostedAtMostOnce, intent, what));
        }
        state.posts[intent] += 1;
        let posts = state.posts[intent];
        if posts > 1 {
            let what = format!("the service received {posts} copies of the request");
            state.report(Violation::new(Invariant::PostedAtMostOnce, intent, what));
        }
        if ending == Some(Ending::NotProcessed) {
            let what = "the service received the request after the call ended not processed";
            state.report(Violation::new(Invariant::NotProcessedIsTrue, intent, what));
        }
    }

    /// Notes that a fault of the service fired for a request of this call.
    pub(crate) fn note_fault(&self, call: usize, cause: Cause) {
        self.note(call, Event::FaultFired(cause), |record| {
            record.has_several_causes |= record.fired.is_some_and(|fired| fired != cause);
            record.fired = Some(cause);
            record.is_falsely_rejected |= cause.is_false_rejection();
        });
    }
}

impl State {
    /// Keeps the first violation of the invariants that are checked.
    pub(crate) fn report(&mut self, violation: Violation) {
        if self.only.is_none_or(|only| only == violation.invariant) && self.violation.is_none() {
            self.violation = Some(violation);
        }
    }

    /// The number of requests held by gates, before and after the commit.
    pub(crate) fn held(&self) -> [usize; 2] {
        [Phase::BeforeCommit, Phase::AfterCommit].map(|moment| {
            let gates = self.gates.iter().filter(|(_, own, _)| *own == moment);
            gates.map(|(.., gate)| gate.held()).sum()
        })
    }
}

impl CallRecord {
    pub(crate) fn new(intent: usize, operation: OperationName, plan: Plan) -> Self {
        Self {
            intent,
            operation,
            plan,
            sent: 0,
            sending: 0,
            received: 0,
            fired: None,
            has_several_causes: false,
            held: None,
            was_jumped: false,
            is_falsely_rejected: false,
            observed: Observed::default(),
            end: None,
            ending: None,
        }
    }

    /// The cause of how the call ended. A fault of the service counts if it fired, a fault of the wire if it was planned.
    pub(crate) fn cause(&self) -> Cause {
        let wire = matches!(self.plan.cause, Cause::Wire(_)).then_some(self.plan.cause);
        let local = (self.plan.cause == Cause::Local).then_some(Cause::Local);
        let held = self.held.map(Cause::Held);
        let jumped = self.was_jumped.then_some(Cause::Jumped);
        let mut causes = [local, wire, self.fired, held, jumped].into_iter().flatten();
        match (causes.next(), causes.next()) {
            _ if self.has_several_causes => Cause::Several,
            (None, _) => Cause::Nothing,
            (Some(cause), None) => cause,
            (Some(_), Some(_)) => Cause::Several,
        }
    }

    /// Whether the call failed before its first byte was sent.
    pub(crate) fn is_unsent(&self) -> bool {
        let planned = matches!(self.plan.cause, Cause::Wire(fault) if fault.unsent().is_some());
        let refused = self.fired.is_some_and(Cause::is_before_the_first_byte)
            && !matches!(self.plan.cause, Cause::Wire(_));
        (planned || refused) && !self.has_several_causes && self.held.is_none()
    }
}

/// The intent of a request, read from its amount, which is unique to the intent, or from a void's reason.
fn intent_of(request: &RecordedRequest) -> Option<usize> {
    match request.operation? {
        OperationName::Void => {
            request.field("Reason")?.strip_prefix(crate::intent::VOID_REASON)?.parse().ok()
        }
        _ => crate::intent::number_of(request.field("Amount")?.parse().ok()?),
    }
}
