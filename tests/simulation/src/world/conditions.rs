use std::time::Duration;

use payments_core::OperationName;
use payments_fake::{Fault, Phase};

use super::World;
use crate::Cause;
use crate::plan::{draw_fault, pick};
use crate::trace::Event;

/// Changes of the conditions for all calls: armed faults, gates, late effects and the clock.
impl World {
    pub(super) fn arm(&mut self) {
        let Cause::Gateway(symptom, moment) = pick(&mut self.rng, &self.causes) else { return };
        let target = if self.rng.u8(..4) == 0 {
            Fault::on_any()
        } else {
            Fault::on(pick(&mut self.rng, OperationName::ALL))
        };
        let fault = draw_fault(&mut self.rng, target, symptom, moment);
        let fault = fault.skip(self.rng.u32(0..=2)).times(self.rng.u32(1..=2));
        self.note_to_all(Event::Armed(fault.to_string()));
        let oldest = {
            let state = self.shared.state();
            state.armed.first().filter(|_| state.armed.len() >= 3).map(|armed| armed.id)
        };
        if let Some(oldest) = oldest {
            self.gateway.disarm(oldest);
        }
        self.gateway.arm(fault);
        let armed = self.gateway.faults();
        self.shared.state().armed = armed;
    }

    pub(super) fn close_or_open_a_gate(&mut self) {
        if self.shared.state().gates.len() >= 2 || self.rng.u8(..3) > 0 {
            self.open_a_gate();
            return;
        }
        let operation = pick(&mut self.rng, OperationName::ALL);
        let (moment, gate) = if self.rng.bool() {
            (Phase::BeforeCommit, self.gateway.gate(operation))
        } else {
            (Phase::AfterCommit, self.gateway.gate_after_commit(operation))
        };
        self.note_to_all(Event::GateClosed(operation, moment));
        self.shared.state().gates.push((operation, moment, gate));
    }

    pub(super) fn open_a_gate(&mut self) {
        let opened = self.shared.state().gates.pop();
        if let Some((operation, _, gate)) = opened {
            self.note_to_all(Event::GateReleased(operation));
            gate.release();
        }
    }

    /// Returns whether anything was late.
    pub(super) fn deliver_late(&mut self) -> bool {
        let count = self.gateway.deliver_late();
        if count > 0 {
            self.has_delivered = true;
            self.figures.late += u64::try_from(count).expect("a count of requests");
            self.note_to_all(Event::DeliveredLate(count));
        }
        count > 0
    }

    /// Jumps ahead in time, as when a computer wakes from sleep: deadlines pass before any task is polled.
    pub(super) fn jump(&mut self) {
        let by = Duration::from_millis(pick(&mut self.rng, &[20, 300, 1_000, 20_000, 61_000, 86_400_000]));
        self.figures.jumps += 1;
        self.note_to_all(Event::Jumped(by));
        self.clock.advance(by);
        let now = self.clock.elapsed();
        let mut state = self.shared.state();
        for call in &self.live {
            if let Some(latest) = &mut self.calls[*call].latest_end {
                *latest = (*latest).max(now);
                state.records[*call].was_jumped = true;
            }
        }
    }

    fn note_to_all(&mut self, event: Event) {
        self.shared.state().trace.note(self.clock.elapsed(), None, event);
    }
}
