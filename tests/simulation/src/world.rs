mod calls;
mod ledger;
mod scenery;
mod verdict;
mod weather;

use std::collections::HashMap;
use std::time::Duration;

use payments_core::Client;
use payments_fake::{FakeGateway, ManualClock};

use crate::books::{Books, Entry};
use crate::executor::{Executor, TaskKey};
use crate::intent::{Intent, Known, STRANGER};
use crate::plan::pick;
use crate::stage::Stage;
use crate::violation::Violation;
use crate::{Cause, Figures, Invariant, Sabotage};

use scenery::{draw_client, draw_gateway};

/// One fake service with its callers, run to its end step by step. See the [crate's documentation](crate).
pub(crate) struct World {
    rng: fastrand::Rng,
    clock: ManualClock,
    gateway: FakeGateway,
    stage: Stage,
    books: Books,
    executor: Executor,
    /// Of each tenant, and of a stranger.
    clients: Vec<Vec<Client>>,
    /// How many calls there are at once.
    crowd: usize,
    causes: Vec<Cause>,
    intents: Vec<Intent>,
    calls: Vec<Call>,
    live: Vec<usize>,
    /// Intents that will be sent again.
    resends: Vec<usize>,
    charges_left: u64,
    known: Known,
    ledgers: Vec<HashMap<String, Entry>>,
    changes_seen: u64,
    sabotage: Option<Sabotage>,
    figures: Figures,
}

/// A world that ended early.
pub(crate) struct Broken {
    pub(crate) violation: Violation,
    pub(crate) story: Vec<String>,
}

struct Call {
    intent: usize,
    task: TaskKey,
    total: Duration,
    retries: u32,
    /// By when it must have ended, once it was polled first.
    latest_end: Option<Duration>,
    polls: u32,
}

/// By how much a call may outlive its deadline, over a transport that ignores it. payments-core's own.
const BACKSTOP: Duration = Duration::from_millis(20);

const KEYS: [&str; STRANGER + 1] =
    ["key_of_the_first_tenant", "key_of_the_second_tenant", "key_of_a_stranger"];

impl World {
    pub(crate) fn new(seed: u64, charges: u64, sabotage: Option<Sabotage>, only: Option<Invariant>) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let clock = ManualClock::new();
        let stage = Stage::new(clock.clone(), only);
        let books = Books::new(stage.clone());
        let gateway = draw_gateway(&mut rng, &clock, books.clone());
        let clients = KEYS.map(|key| {
            let connect_timeouts = [Duration::from_millis(50), Duration::from_secs(10)];
            let client = |connect| draw_client(&mut rng, key, connect, &stage, &gateway, sabotage);
            connect_timeouts.map(client).into()
        });
        Self {
            crowd: rng.usize(1..=12),
            rng,
            clock,
            gateway,
            stage,
            books,
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
            known: Known::default(),
            ledgers: KEYS.iter().map(|_| HashMap::new()).collect(),
            changes_seen: 0,
            sabotage,
            figures: Figures { worlds: 1, charges, ..Figures::default() },
        }
    }

    /// Runs the world until nothing can happen any more.
    pub(crate) fn run(mut self) -> Result<Figures, Broken> {
        while self.step() {
            self.figures.steps += 1;
            self.read_books();
            self.stop_if_broken()?;
        }
        self.compare_ledgers();
        self.stop_if_broken()?;
        let state = self.stage.state();
        self.figures.received = state.received;
        self.figures.digest = state.trace.digest();
        self.figures.virtual_time = self.clock.elapsed();
        drop(state);
        Ok(self.figures)
    }

    /// Lets one thing happen, if anything can.
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
        (self.charges_left > 0 || !self.resends.is_empty()) && self.live.len() < self.crowd
    }

    /// Time goes on to the next end of a sleep, or to some moment before it. Nobody is ready meanwhile, so nobody is late.
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
        if !self.stage.state().gates.is_empty() {
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
                "a call waits for nothing, and for ever",
            ));
            return false;
        }
        // What is still late comes now, and then nothing can happen any more.
        self.deliver_late()
    }

    fn report(&self, violation: Violation) {
        self.stage.state().report(violation);
    }

    fn stop_if_broken(&mut self) -> Result<(), Broken> {
        let mut state = self.stage.state();
        let Some(violation) = state.violation.take() else { return Ok(()) };
        let calls =
            self.intents.get(violation.intent).map(|intent| intent.calls.as_slice()).unwrap_or_default();
        let mut story = state.trace.story(calls);
        if story.is_empty() {
            story.push(format!("(nothing of this intent among {} events)", state.trace.len()));
        }
        Err(Broken { violation, story })
    }
}
