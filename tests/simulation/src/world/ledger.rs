use payments_core::model::Amount;
use payments_fake::{Change, EntryKind, EntryState, Ledger};

use super::World;
use crate::change_log::Entry;
use crate::trace::Event;
use crate::violation::Violation;
use crate::{Ending, Invariant, Sabotage};

/// Reads the ledger's changes and checks them.
impl World {
    /// Reads the new changes of the ledger and compares them with how the calls ended.
    pub(super) fn read_changes(&mut self) {
        for (tenant, change) in self.change_log.take() {
            self.changes_seen += 1;
            if self.sabotage == Some(Sabotage::SkipsChanges) && self.changes_seen.is_multiple_of(50) {
                continue;
            }
            match change {
                Change::Transaction { id, document } => {
                    let entry = Entry::read(&document);
                    self.known.transactions.push((tenant, id.clone()));
                    if entry.is_authorisation
                        && !entry.is_declined
                        && !entry.is_void
                        && entry.voided_by.is_none()
                    {
                        self.known.authorisations.push((tenant, id.clone()));
                    }
                    self.apply(tenant, id.to_string(), &entry);
                }
                Change::Token { id, document: _ } => self.known.tokens.push((tenant, id.to_string())),
                _ => {}
            }
        }
    }

    fn apply(&mut self, tenant: usize, id: String, entry: &Entry) {
        let before = self.ledgers[tenant].insert(id.clone(), entry.clone());
        if entry.is_void {
            return;
        }
        if let Some(before) = before {
            self.known.authorisations.retain(|(_, own)| own.as_str() != id);
            match entry.voided_by {
                Some(number) if before.voided_by.is_none() => {
                    self.check_effect(number, tenant, Event::Voided);
                }
                _ => {}
            }
            return;
        }
        let number = entry.intent.filter(|number| *number < self.intents.len());
        let number = number.expect("every amount in the ledger belongs to an intent");
        if self.intents[number].cents != Some(entry.cents) {
            let what = format!("the ledger shows {} cents, which is not the requested amount", entry.cents);
            self.report(Violation::new(Invariant::ChargedAtMostOnce, number, what));
        }
        if entry.is_declined {
            self.note_in_ledger(number, Event::Declined);
            return;
        }
        self.figures.charged += 1;
        self.intents[number].id = Some(id);
        self.check_effect(number, tenant, Event::Charged { cents: entry.cents });
    }

    /// Checks a charge or void that the ledger shows for this intent.
    fn check_effect(&mut self, number: usize, tenant: usize, event: Event) {
        self.figures.voided += u64::from(matches!(event, Event::Voided));
        self.note_in_ledger(number, event);
        let intent = &mut self.intents[number];
        intent.effects += 1;
        let (effects, live, own, last) =
            (intent.effects, intent.live, intent.tenant, intent.calls.last().copied());
        if effects > 1 {
            let what = format!("the ledger shows the charge or void {effects} times");
            self.report(Violation::new(Invariant::ChargedAtMostOnce, number, what));
        }
        if own != tenant {
            let what = format!("the ledger of tenant {tenant} shows a charge or void of tenant {own}");
            self.report(Violation::new(Invariant::ChargedAtMostOnce, number, what));
        }
        let Some(last) = last.filter(|_| live == 0) else { return };
        let (ending, is_falsely_rejected) = {
            let state = self.shared.state();
            (state.records[last].ending, state.records[last].is_falsely_rejected)
        };
        match ending {
            Some(Ending::NotProcessed) => {
                let what = "the ledger shows the charge or void after its call ended not processed";
                self.report(Violation::new(Invariant::NotProcessedIsTrue, number, what));
            }
            Some(Ending::Rejected) if is_falsely_rejected => self.figures.false_rejections += 1,
            Some(Ending::Rejected) => {
                let what = "the ledger shows the charge or void after its call ended rejected";
                self.report(Violation::new(Invariant::RejectedIsTrue, number, what));
            }
            _ => {}
        }
    }

    fn note_in_ledger(&mut self, number: usize, event: Event) {
        if let Some(call) = self.intents[number].calls.last() {
            self.shared.note(*call, event, |_| {});
        }
    }

    /// The fake's ledger must equal the recorded changes. Reading all of it takes a sixth of a world's time, so only half of
    /// the worlds do it; all of them compare the number of transactions.
    pub(super) fn compare_ledgers(&mut self) {
        let is_read = self.rng.bool();
        for (index, tenant) in self.gateway.tenants().enumerate() {
            let mut differs = tenant.transaction_count() != self.ledgers[index].len();
            let mut intent = 0;
            let ledger = if is_read { tenant.ledger() } else { Ledger::default() };
            for entry in ledger.entries() {
                let seen = self.ledgers[index].get(entry.transaction_id().as_str());
                let is_same = seen.is_some_and(|seen| {
                    seen.is_void == (entry.kind == EntryKind::Void)
                        && seen.is_declined == (entry.state == EntryState::Declined)
                        && (seen.voided_by.is_some() == (entry.state == EntryState::Voided) || seen.is_void)
                        && Some(&Amount::from_cents(seen.cents)) == entry.record.base_amount.value()
                });
                if !is_same {
                    differs = true;
                    intent = entry
                        .record
                        .base_amount
                        .value()
                        .copied()
                        .and_then(crate::intent::number_of)
                        .unwrap_or(0);
                }
            }
            if differs {
                let what = "the fake's ledger differs from the recorded changes";
                self.report(Violation::new(Invariant::LedgerMatchesChanges, intent, what));
            }
        }
    }
}
