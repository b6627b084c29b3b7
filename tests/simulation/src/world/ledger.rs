use std::mem::take;

use payments_core::model::TransactionTypeCode;
use payments_fake::{EntryKind, EntryState, Ledger, LedgerEntry};

use super::World;
use crate::intent::{Request, VOID_REASON, number_of};
use crate::trace::Event;
use crate::violation::Violation;
use crate::{Ending, Invariant};

/// The parts of a transaction that the invariants need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The intent, read from its amount.
    intent: Option<usize>,
    /// The requested amount, without a fee.
    pub(super) cents: i64,
    is_void: bool,
    is_authorisation: bool,
    is_declined: bool,
    /// The intent that voided it, if any.
    voided_by: Option<usize>,
}

impl Entry {
    fn of(entry: &LedgerEntry) -> Self {
        let record = &entry.record;
        let amount = *record.base_amount.value().expect("a transaction has the requested amount");
        let reason = entry.void_reason.as_deref().and_then(|reason| reason.strip_prefix(VOID_REASON));
        Self {
            intent: number_of(amount),
            cents: amount.to_cents().expect("amounts in the simulation are whole cents"),
            is_void: entry.kind == EntryKind::Void,
            is_authorisation: record.transaction_type.value() == Some(&TransactionTypeCode::AUTH),
            is_declined: entry.state == EntryState::Declined,
            voided_by: reason.and_then(|number| number.parse().ok()),
        }
    }
}

/// Reads the ledger's changes and checks them.
impl World {
    /// Reads what has changed in the ledger since the last call, and compares it with how the calls ended.
    pub(super) fn read_changes(&mut self) {
        let tenants: Vec<_> = self.gateway.tenants().collect();
        for (index, tenant) in tenants.iter().enumerate() {
            let (transactions, tokens) = self.read[index];
            if tenant.transaction_count() == transactions {
                continue;
            }
            let (ledger, created) = (tenant.ledger(), tenant.tokens());
            self.read[index] = (ledger.entries().len(), created.len());
            let created = created[tokens..].iter().map(|token| (index, token.token_id.to_string()));
            self.known.tokens.extend(created);
            for entry in &ledger.entries()[transactions..] {
                self.read_entry(index, entry);
            }
        }
        // A void changes a transaction that was read before: the one of the call that was polled, or any if it was late.
        let last = self.calls.get(self.shared.state().current).map(|call| call.intent);
        let voids = if take(&mut self.has_delivered) {
            0..self.intents.len()
        } else {
            last.map_or(0..0, |last| last..last + 1)
        };
        for number in voids {
            let intent = &self.intents[number];
            // A transaction is voided at most once.
            let Request::Void(void) = &*intent.request else { continue };
            if intent.effects > 0 {
                continue;
            }
            let Some(tenant) = tenants.get(intent.tenant) else { continue };
            let (index, entry) = (intent.tenant, tenant.entry(void.transaction_id()));
            if let Some(entry) = entry.filter(|entry| entry.state == EntryState::Voided)
                && self.ledgers[index].get(entry.transaction_id().as_str()) != Some(&Entry::of(&entry))
            {
                self.read_entry(index, &entry);
            }
        }
    }

    fn read_entry(&mut self, tenant: usize, entry: &LedgerEntry) {
        self.changes_seen += 1;
        if self.shared.breaks(Invariant::LedgerMatchesChanges) && self.changes_seen.is_multiple_of(50) {
            return;
        }
        let id = entry.transaction_id();
        let entry = Entry::of(entry);
        self.known.transactions.push((tenant, id.clone()));
        if entry.is_authorisation && !entry.is_declined && !entry.is_void && entry.voided_by.is_none() {
            self.known.authorisations.push((tenant, id.clone()));
        }
        self.apply(tenant, id.to_string(), &entry);
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
                let is_same = seen == Some(&Entry::of(entry));
                if !is_same {
                    differs = true;
                    intent = Entry::of(entry).intent.unwrap_or(0);
                }
            }
            if differs {
                let what = "the fake's ledger differs from the recorded changes";
                self.report(Violation::new(Invariant::LedgerMatchesChanges, intent, what));
            }
        }
    }
}
