use std::time::Duration;

use payments_core::OperationName;

use super::{Call, World};
use crate::intent::Intent;
use crate::shared::{CallRecord, CallResult, Observed};
use crate::violation::Violation;
use crate::{Ending, Invariant};

/// Checks how each call ended.
impl World {
    pub(super) fn check_ending(&mut self, call: usize, end: &CallResult) {
        let Call { intent: number, retries, .. } = self.calls[call];
        let mut state = self.shared.state();
        let record = &state.records[call];
        let intent = &self.intents[number];
        let is_false_rejection =
            end.ending == Ending::Rejected && intent.effects > 0 && record.is_falsely_rejected;
        self.figures.false_rejections += u64::from(is_false_rejection);
        let money = if record.operation.moves_money() {
            check_payment(intent, record, end.ending)
        } else {
            check_lookup(record, end.ending)
        };
        let success = || {
            let is_success = end.ending == Ending::Succeeded;
            let problem = is_success.then(|| self.success_problem(intent, record.operation, end)).flatten();
            problem.map(|problem| (Invariant::SuccessIsTrue, problem))
        };
        // All checks run, because `State::only` may look for one that is not the first to fail.
        let violations = [
            money,
            success(),
            check_unsent(record, end.ending),
            check_observer(record, retries, end.ending),
            check_evidence(record, end),
        ];
        for (invariant, what) in violations.into_iter().flatten() {
            state.report(Violation::new(invariant, number, what));
        }
    }

    /// What is wrong with a success, if anything.
    fn success_problem(&self, intent: &Intent, operation: OperationName, end: &CallResult) -> Option<String> {
        let id = end.id.as_deref().unwrap_or_default();
        let entry = self.ledgers[intent.tenant].get(id);
        if intent.request.id().is_some_and(|asked| asked != id) {
            return Some(format!("the record {id} is not the requested one"));
        }
        match operation {
            OperationName::GetCustomer => {
                (id != payments_fake::test_values::CUSTOMER).then(|| format!("there is no customer {id}"))
            }
            OperationName::Void => (intent.effects == 0)
                .then(|| format!("a void succeeded, but the ledger does not show that it voided {id}")),
            _ if entry.is_none() => Some(format!("the ledger has no transaction {id}")),
            _ if end.cents.is_some() && end.cents != entry.map(|entry| entry.cents) => {
                Some(format!("the ledger has another amount for {id}"))
            }
            OperationName::GetTransaction => None,
            _ if intent.effects == 0 => {
                Some("a payment succeeded, but the ledger shows no charge for it".to_owned())
            }
            _ if intent.id.as_deref() != Some(id) => {
                Some(format!("the ledger shows the charge with another id than {id}"))
            }
            _ => None,
        }
    }

    /// Reports a call that is past its latest end. No task is ready, so nothing will end it now.
    pub(super) fn report_overdue(&self) {
        let now = self.clock.elapsed();
        let is_overdue = |call: &&usize| self.calls[**call].latest_end.is_some_and(|latest| latest < now);
        if let Some(call) = self.live.iter().find(is_overdue) {
            self.report_late(*call);
        }
    }

    pub(super) fn report_late(&self, call: usize) {
        let Call { intent, total, latest_end, .. } = self.calls[call];
        let late = latest_end.map_or(Duration::ZERO, |latest| self.clock.elapsed().saturating_sub(latest));
        let what = format!(
            "a call with a deadline of {total:?} had not ended {late:?} after its deadline and backstop"
        );
        self.report(Violation::new(Invariant::EndsInTime, intent, what));
    }
}

/// A violated invariant, and what was seen.
type BrokenInvariant = (Invariant, String);

/// Compares the end of a payment or void with the ledger and the requests that the service received.
fn check_payment(intent: &Intent, record: &CallRecord, ending: Ending) -> Option<BrokenInvariant> {
    let (invariant, what) = match ending {
        Ending::NotProcessed if record.received > 0 => (
            Invariant::NotProcessedIsTrue,
            "a call ended not processed, but the service had received its request",
        ),
        Ending::NotProcessed if intent.effects > 0 => (
            Invariant::NotProcessedIsTrue,
            "a call ended not processed, but the ledger shows that it was processed",
        ),
        Ending::Rejected if intent.effects > 0 && !record.is_falsely_rejected => {
            (Invariant::RejectedIsTrue, "a call ended rejected, but the ledger shows that it was processed")
        }
        _ => return None,
    };
    Some((invariant, what.to_owned()))
}

fn check_lookup(record: &CallRecord, ending: Ending) -> Option<BrokenInvariant> {
    if record.observed.lookup_outcomes > 0 {
        let what = "the observer saw an outcome for a lookup".to_owned();
        return Some((Invariant::LookupsAreNeverUnknown, what));
    }
    let is_unknown = ending == Ending::Unknown;
    is_unknown.then(|| (Invariant::LookupsAreNeverUnknown, "a lookup ended unknown".to_owned()))
}

fn check_unsent(record: &CallRecord, ending: Ending) -> Option<BrokenInvariant> {
    let is_violated = record.operation.moves_money() && record.is_unsent() && ending != Ending::NotProcessed;
    is_violated
        .then(|| (Invariant::UnsentIsNotProcessed, format!("nothing was sent, but the call ended {ending}")))
}

/// The observer must see every attempt, and the last one must end like the call.
fn check_observer(record: &CallRecord, retries: u32, ending: Ending) -> Option<BrokenInvariant> {
    let CallRecord { sent, observed: Observed { starts, ends, abandoned, last, .. }, .. } = record;
    let most = if record.operation.moves_money() { 1 } else { retries + 1 };
    let is_observed = (starts, ends, abandoned) == (sent, sent, &0);
    let is_same = last.is_none_or(|observed| observed == ending);
    (!is_observed || !is_same || *sent > most).then(|| {
        let last = last.map_or("nothing", Ending::as_str);
        let what = format!(
            "the call ended {ending} after {sent} attempts of at most {most}; the observer saw {starts} start, {ends} finish \
             and {abandoned} abandoned, the last one {last}"
        );
        (Invariant::AttemptsAreObserved, what)
    })
}

fn check_evidence(record: &CallRecord, end: &CallResult) -> Option<BrokenInvariant> {
    let (operation, cause) = (record.operation, record.cause());
    let is_allowed = cause.endings(operation).has(end.ending);
    (!is_allowed).then(|| {
        let what = format!("{operation} ended {} ({}) after: {cause:?}", end.ending, end.kind);
        (Invariant::EndingFollowsEvidence, what)
    })
}
