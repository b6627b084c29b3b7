use std::time::Duration;

use payments_core::OperationName;

use super::{Call, World};
use crate::intent::Intent;
use crate::stage::{CallEnd, Passage};
use crate::violation::Violation;
use crate::{Ending, Invariant};

/// What is held against each call's end.
impl World {
    pub(super) fn judge(&mut self, call: usize, end: &CallEnd) {
        let Call { intent: number, retries, .. } = self.calls[call];
        let mut state = self.stage.state();
        let passage = &state.passages[call];
        let intent = &self.intents[number];
        let is_lie = end.ending == Ending::Rejected && intent.done > 0 && passage.was_lied_to;
        self.figures.lies += u64::from(is_lie);
        let money = if passage.operation.moves_money() {
            judge_payment(intent, passage, end.ending)
        } else {
            judge_lookup(passage, end.ending)
        };
        let success = || {
            let is_success = end.ending == Ending::Succeeded;
            let doubt = is_success.then(|| self.disbelieve(intent, passage.operation, end)).flatten();
            doubt.map(|doubt| (Invariant::SuccessIsTrue, doubt))
        };
        // Each is looked at, and not the first that fails alone: one may be looked for that is not the first.
        let broken = [
            money,
            success(),
            judge_what_was_unsent(passage, end.ending),
            judge_what_was_told(passage, retries, end.ending),
            judge_evidence(passage, end),
        ];
        for (invariant, what) in broken.into_iter().flatten() {
            state.report(Violation::new(invariant, number, what));
        }
    }

    /// Why a success is not to be believed.
    fn disbelieve(&self, intent: &Intent, operation: OperationName, end: &CallEnd) -> Option<String> {
        let id = end.id.as_deref().unwrap_or_default();
        let entry = self.ledgers[intent.tenant].get(id);
        if intent.asked.id().is_some_and(|asked| asked != id) {
            return Some(format!("another record was asked for than {id}"));
        }
        match operation {
            OperationName::GetCustomer => {
                (id != payments_fake::test_values::CUSTOMER).then(|| format!("there is no customer {id}"))
            }
            OperationName::Void => (intent.done == 0)
                .then(|| format!("a void succeeded, and the ledger does not show {id} as voided by it")),
            _ if entry.is_none() => Some(format!("the ledger has no transaction {id}")),
            _ if end.cents.is_some() && end.cents != entry.map(|entry| entry.cents) => {
                Some(format!("the ledger has another amount for {id}"))
            }
            OperationName::GetTransaction => None,
            _ if intent.done == 0 => {
                Some("a payment succeeded, and the ledger shows no charge by it".to_owned())
            }
            _ if intent.id.as_deref() != Some(id) => {
                Some(format!("the ledger shows the charge under another id than {id}"))
            }
            _ => None,
        }
    }

    /// Calls that are still there although their time is over. Nobody is ready, so nothing will end them now.
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
        let what =
            format!("a call with a deadline of {total:?} was not over {late:?} after deadline and backstop");
        self.report(Violation::new(Invariant::EndsInTime, intent, what));
    }
}

/// A promise that is broken, and how.
type Broken = (Invariant, String);

/// What the ledger and the service have to say about a payment or a void.
fn judge_payment(intent: &Intent, passage: &Passage, ending: Ending) -> Option<Broken> {
    let (invariant, what) = match ending {
        Ending::NotProcessed if passage.received > 0 => (
            Invariant::NotProcessedIsTrue,
            "a call ended not processed, and the service had received its request",
        ),
        Ending::NotProcessed if intent.done > 0 => {
            (Invariant::NotProcessedIsTrue, "a call ended not processed, and the ledger shows that it was")
        }
        Ending::Rejected if intent.done > 0 && !passage.was_lied_to => {
            (Invariant::RejectedIsTrue, "a call ended rejected, and the ledger shows that it was processed")
        }
        _ => return None,
    };
    Some((invariant, what.to_owned()))
}

fn judge_lookup(passage: &Passage, ending: Ending) -> Option<Broken> {
    if passage.told_outcomes_of_lookups > 0 {
        let what = "the observer was told an outcome of a lookup".to_owned();
        return Some((Invariant::LookupsAreNeverUnknown, what));
    }
    let is_unknown = ending == Ending::Unknown;
    is_unknown.then(|| (Invariant::LookupsAreNeverUnknown, "a look-up ended unknown".to_owned()))
}

fn judge_what_was_unsent(passage: &Passage, ending: Ending) -> Option<Broken> {
    let is_lost = passage.operation.moves_money() && passage.is_unsent() && ending != Ending::NotProcessed;
    is_lost
        .then(|| (Invariant::UnsentIsNotProcessed, format!("nothing was sent, and the call ended {ending}")))
}

/// The observer heard of every attempt, and of the end that the caller was given.
fn judge_what_was_told(passage: &Passage, retries: u32, ending: Ending) -> Option<Broken> {
    let Passage { sent, told_started, told_finished, told_abandoned, told_last, .. } = passage;
    let most = if passage.operation.moves_money() { 1 } else { retries + 1 };
    let is_told = (told_started, told_finished, told_abandoned) == (sent, sent, &0);
    let is_same = told_last.is_none_or(|told| told == ending);
    (!is_told || !is_same || *sent > most).then(|| {
        let last = told_last.map_or("nothing", Ending::as_str);
        let what = format!(
            "the call ended {ending} after {sent} attempts, {most} at most; the observer was told that \
             {told_started} started, {told_finished} finished and {told_abandoned} were abandoned, the last {last}"
        );
        (Invariant::AttemptsAreTold, what)
    })
}

fn judge_evidence(passage: &Passage, end: &CallEnd) -> Option<Broken> {
    let (operation, cause) = (passage.operation, passage.cause());
    let is_allowed = cause.endings(operation).has(end.ending);
    (!is_allowed).then(|| {
        let what = format!("{operation} ended {} ({}) after: {cause}", end.ending, end.kind);
        (Invariant::EndingFollowsEvidence, what)
    })
}
