mod calls;
mod checks;
mod conditions;
mod ledger;
mod setup;

use std::collections::HashMap;
use std::time::Duration;

use payments_core::Client;
use payments_fake::{FakeGateway, ManualClock};

use crate::executor::Executor;
use crate::intent::{Intent, KnownIds, UNKNOWN_TENANT};
use crate::plan::pick;
use crate::shared::Shared;
use crate::violation::Violation;
use crate::{Cause, Figures, Invariant, Simulation};

use ledger::Entry;
use setup::{draw_client, draw_gateway};

/// One fake service with its callers, run step by step. See the [crate's documentation](crate).
pub(crate) struct World {
    rng: fastrand::Rng,
    clock: ManualClock,
    gateway: FakeGateway,
    shared: Shared,
    executor: Executor,
    /// The clients of each tenant, and of a key that the service does not know.
    clients: Vec<Vec<Client>>,
    /// The maximum number of concurrent calls.
    max_live_calls: usize,
    causes: Vec<Cause>,
    intents: Vec<Intent>,
    calls: Vec<Call>,
    live: Vec<usize>,
    /// Intents to send again.
    resends: Vec<usize>,
    charges_left: u64,
    known: KnownIds,
    /// The transactions of each tenant that were read, and how many transactions and tokens that took.
    ledgers: Vec<HashMap<String, Entry>>,
    read: Vec<(usize, usize)>,
    changes_seen: u64,
    /// Whether late effects were delivered since the ledger was read.
    has_delivered: bool,
    figures: Figures,
}

/// The violation at which a world stopped, and the events that led to it.
type StoppedAt = (Violation, Vec<String>);

struct Call {
    intent: usize,
    task: usize,
    total: Duration,
    retries: u32,
    /// The latest time at which it may end, known after the first poll.
    latest_end: Option<Duration>,
    polls: u32,
}

/// How long a call may outlive its deadline if the transport ignores the deadline. The same as in payments-core.
const BACKSTOP: Duration = Duration::from_millis(20);

const KEYS: [&str; UNKNOWN_TENANT + 1] =
    ["key_of_the_first_tenant", "key_of_the_second_tenant", "key_of_no_tenant"];

impl World {
    pub(crate) fn new(simulation: &Simulation) -> Self {
        let &Simulation { charges, seed, sabotage, only, .. } = simulation;
        let mut rng = fastrand::Rng::with_seed(seed);
        let clock = ManualClock::new();
        let shared = Shared::new(clock.clone(), sabotage, only);
        let gateway = draw_gateway(&mut rng, &clock);
        let clients = KEYS.map(|key| {
            let connect_timeouts = [Duration::from_millis(50), Duration::from_secs(10)];
            let client = |connect| draw_client(&mut rng, key, connect, &shared, &gateway);
            connect_timeouts.map(client).into()
        });
        Self {
            max_live_calls: rng.usize(1..=12),
            rng,
            clock,
            gateway,
            shared,
            executor: Executor::default(),
            clients: clients.into(),
            causes: Cause::all()
                .filter(|cause| matches!(cause, Cause::Gateway(..) | Cause::Wire(_)))
                .collect(),
            intents: Vec::new(),
            calls: Vec::new(),
            live: Vec::new(),
            resends: Vec::new(),
            charges_left: charges,
            known: KnownIds::default(),
            ledgers: KEYS.iter().map(|_| HashMap::new()).collect(),
            read: vec![(0, 0); KEYS.len()],
            changes_seen: 0,
            has_delivered: false,
            figures: Figures { worlds: 1, charges, ..Figures::default() },
        }
    }

    /// Runs the world until nothing more can happen.
    pub(crate) fn run(mut self) -> Result<Figures, StoppedAt> {
        while self.step() {
            self.figures.steps += 1;
            self.read_changes();
            self.stop_if_violated()?;
        }
        self.compare_ledgers();
        self.stop_if_violated()?;
        let state = self.shared.state();
        self.figures.received = state.received;
        self.figures.digest = state.trace.digest();
        self.figures.virtual_time = self.clock.elapsed();
        drop(state);
        Ok(self.figures)
    }

    /// Makes one thing happen. Returns `false` if nothing can happen any more.
    fn step(&mut self) -> bool {
        let ready = self.executor.ready();
        if ready > 0 && self.rng.u8(..16) != 0 {
            let index = self.rng.usize(..ready);
            self.poll(index);
            return true;
        }
        match self.rng.u8(..100) {
            0..50 if self.can_start() => self.start(),
            50..52 => self.arm(),
            52..56 => self.close_or_open_a_gate(),
            56..58 => {
                self.deliver_late();
            }
            58 if !self.live.is_empty() => self.jump(),
            59 if !self.live.is_empty() => {
                let call = pick(&mut self.rng, &self.live);
                self.abandon(call);
            }
            _ if ready > 0 => {
                let index = self.rng.usize(..ready);
                self.poll(index);
            }
            _ => return self.pass_time(),
        }
        true
    }

    fn can_start(&self) -> bool {
        (self.charges_left > 0 || !self.resends.is_empty()) && self.live.len() < self.max_live_calls
    }

    /// Advances the clock to the end of the next sleep, or to a moment before it. No task is ready, so none is delayed by it.
    fn pass_time(&mut self) -> bool {
        if let Some(next) = self.clock.next_end() {
            let mut by = next.saturating_sub(self.clock.elapsed());
            if self.rng.u8(..8) == 0 {
                by = by.mul_f64(f64::from(self.rng.u8(..)) / 256.0);
            }
            self.clock.advance(by);
            self.report_overdue();
            return true;
        }
        if !self.shared.state().gates.is_empty() {
            self.open_a_gate();
            return true;
        }
        if self.can_start() {
            self.start();
            return true;
        }
        if let Some(call) = self.live.first() {
            let intent = self.calls[*call].intent;
            self.report(Violation::new(
                Invariant::EndsInTime,
                intent,
                "a call waits forever, and nothing can wake it",
            ));
            return false;
        }
        // Only late effects are left.
        self.deliver_late()
    }

    fn report(&self, violation: Violation) {
        self.shared.state().report(violation);
    }

    fn stop_if_violated(&mut self) -> Result<(), StoppedAt> {
        let mut state = self.shared.state();
        let Some(violation) = state.violation.take() else { return Ok(()) };
        let calls =
            self.intents.get(violation.intent).map(|intent| intent.calls.as_slice()).unwrap_or_default();
        let mut trace = state.trace.lines_about(calls);
        if trace.is_empty() {
            trace.push(format!("(no event of this intent among {} events)", state.trace.len()));
        }
        Err((violation, trace))
    }
}
