use std::sync::Arc;

use super::{BACKSTOP, Call, World};
use crate::intent::{Intent, draw_options};
use crate::plan::Plan;
use crate::shared::{CallRecord, CallResult};
use crate::trace::Event;
use crate::violation::Violation;
use crate::{Cause, Ending, Invariant};

/// What can happen to calls.
impl World {
    /// A caller starts a call.
    pub(super) fn start(&mut self) {
        let number = if self.resends.is_empty() {
            let intent = Intent::draw(&mut self.rng, self.intents.len(), &self.known);
            self.charges_left = self.charges_left.saturating_sub(u64::from(intent.is_charge()));
            self.intents.push(intent);
            self.shared.state().posts.push(0);
            self.intents.len() - 1
        } else {
            self.figures.resends += 1;
            let index = self.rng.usize(..self.resends.len());
            self.resends.swap_remove(index)
        };
        let intent = &mut self.intents[number];
        let call = self.calls.len();
        intent.calls.push(call);
        intent.live += 1;
        let operation = intent.request.operation();
        let mut plan = Plan::draw(&mut self.rng, &self.causes);
        if intent.request.is_local() {
            plan.cause = Cause::Local;
        }
        let (total, retries) = draw_options(&mut self.rng);
        let deadline = if self.shared.breaks(Invariant::EndsInTime) { total * 2 } else { total };
        let clients = &self.clients[intent.tenant];
        let client = clients[self.rng.usize(..clients.len())]
            .with_total_timeout(deadline)
            .with_lookup_retries(retries);
        let event = Event::Called { operation, intent: number, what: intent.what, total, plan: plan.cause };
        self.shared.add_call(CallRecord::new(number, operation, plan), event);
        let (request, shared) = (Arc::clone(&intent.request), self.shared.clone());
        let work = async move {
            let end = request.call(&client).await;
            shared.state().records[call].end = Some(end);
        };
        let task = self.executor.spawn(call, Box::pin(work));
        self.calls.push(Call { intent: number, task, total, retries, latest_end: None, polls: 0 });
        self.live.push(call);
    }

    pub(super) fn poll(&mut self, index: usize) {
        let Some((task, owner)) = self.executor.next(index) else { return };
        let now = self.clock.elapsed();
        let call = &mut self.calls[owner];
        let is_call = call.task == task;
        if is_call {
            call.polls += 1;
            call.latest_end.get_or_insert(now + call.total + BACKSTOP);
        }
        let polls = call.polls;
        self.shared.state().current = owner;
        let has_ended = self.executor.poll(task);
        let spawned = std::mem::take(&mut self.shared.state().spawned);
        for (owner, work) in spawned {
            self.executor.spawn(owner, work);
        }
        if !is_call {
            return;
        }
        if has_ended {
            self.read_changes();
            self.finish(owner);
        } else if self.shared.state().records[owner].plan.dropped_after == Some(polls) {
            self.abandon(owner);
        }
    }

    /// A caller drops the future of its call.
    pub(super) fn abandon(&mut self, call: usize) {
        let sending = {
            let mut state = self.shared.state();
            state.current = call;
            state.records[call].sending
        };
        self.executor.drop_task(self.calls[call].task);
        let observed = self.shared.state().records[call].observed.abandoned;
        if observed != sending {
            let what = format!(
                "the caller dropped its call while the transport had {sending} requests, and the observer saw {observed} abandoned"
            );
            self.report(Violation::new(Invariant::AttemptsAreObserved, self.calls[call].intent, what));
        }
        self.end(call, &CallResult::without_id(Ending::Abandoned, ""));
    }

    /// A call has run to its end.
    fn finish(&mut self, call: usize) {
        let mut end = self.shared.state().records[call].end.take().expect("a finished call has a result");
        let is_lookup = !self.intents[self.calls[call].intent].request.operation().moves_money();
        if self.shared.breaks(Invariant::LookupsAreNeverUnknown)
            && is_lookup
            && end.ending != Ending::Succeeded
        {
            end.ending = Ending::Unknown;
        }
        let is_late = self.calls[call].latest_end.is_some_and(|latest| self.clock.elapsed() > latest);
        if is_late {
            self.report_late(call);
        }
        self.end(call, &end);
        self.check_ending(call, &end);
        if end.ending == Ending::NotProcessed && self.shared.state().records[call].plan.cause != Cause::Local
        {
            let number = self.calls[call].intent;
            if self.intents[number].calls.len() < 4 && self.rng.bool() {
                self.resends.push(number);
                self.shared.note(call, Event::Resent, |_| {});
            }
        }
    }

    fn end(&mut self, call: usize, end: &CallResult) {
        let CallResult { ending, kind, .. } = end;
        self.shared
            .note(call, Event::Ended { ending: *ending, kind }, |record| record.ending = Some(*ending));
        self.live.retain(|live| *live != call);
        self.intents[self.calls[call].intent].live -= 1;
        let state = self.shared.state();
        let record = &state.records[call];
        let cause = record.cause();
        self.figures.attempts += u64::from(record.sent);
        self.figures.faults +=
            u64::from(record.fired.is_some() || matches!(record.plan.cause, Cause::Wire(_)));
        self.figures.held += u64::from(record.held.is_some());
        self.figures.coverage.count(record.operation, cause, *ending);
    }
}
