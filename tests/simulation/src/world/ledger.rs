use payments_core::model::Amount;
use payments_fake::{Change, EntryKind, EntryState, Ledger};

use super::World;
use crate::books::Entry;
use crate::trace::Event;
use crate::violation::Violation;
use crate::{Ending, Invariant, Sabotage};

/// What the ledger shows.
impl World {
    /// Reads what has changed in the service's books, and holds it against what callers were told.
    pub(super) fn read_books(&mut self) {
        for (tenant, change) in self.books.take() {
            self.changes_seen += 1;
            if self.sabotage == Some(Sabotage::LooksAway) && self.changes_seen.is_multiple_of(50) {
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
                    self.enter(tenant, id.to_string(), &entry);
                }
                Change::Token { id, document: _ } => self.known.tokens.push((tenant, id.to_string())),
                _ => {}
            }
        }
    }

    fn enter(&mut self, tenant: usize, id: String, entry: &Entry) {
        let before = self.ledgers[tenant].insert(id.clone(), entry.clone());
        if entry.is_void {
            return;
        }
        if let Some(before) = before {
            self.known.authorisations.retain(|(_, own)| own.as_str() != id);
            match entry.voided_by {
                Some(number) if before.voided_by.is_none() => self.done(number, tenant, Event::Voided),
                _ => {}
            }
            return;
        }
        let number = entry.intent.filter(|number| *number < self.intents.len());
        let number = number.expect("every amount in the ledger was sent by an intent");
        if self.intents[number].cents != Some(entry.cents) {
            let what = format!("the ledger shows it as {} cents, which were not asked for", entry.cents);
            self.report(Violation::new(Invariant::ChargedAtMostOnce, number, what));
        }
        if entry.is_declined {
            self.note_in_ledger(number, Event::Declined);
            return;
        }
        self.figures.charged += 1;
        self.intents[number].id = Some(id);
        self.done(number, tenant, Event::Charged { cents: entry.cents });
    }

    /// The ledger shows that what this intent wants was done.
    fn done(&mut self, number: usize, tenant: usize, event: Event) {
        self.figures.voided += u64::from(matches!(event, Event::Voided));
        self.note_in_ledger(number, event);
        let intent = &mut self.intents[number];
        intent.done += 1;
        let (done, live, own, last) = (intent.done, intent.live, intent.tenant, intent.calls.last().copied());
        if done > 1 {
            let what = format!("the ledger shows it {done} times");
            self.report(Violation::new(Invariant::ChargedAtMostOnce, number, what));
        }
        if own != tenant {
            let what = format!("the ledger of tenant {tenant} shows it, and it is tenant {own}'s");
            self.report(Violation::new(Invariant::ChargedAtMostOnce, number, what));
        }
        let Some(last) = last.filter(|_| live == 0) else { return };
        let (ending, was_lied_to) = {
            let state = self.stage.state();
            (state.passages[last].ending, state.passages[last].was_lied_to)
        };
        match ending {
            Some(Ending::NotProcessed) => {
                let what = "the ledger shows it after its caller was told that it was not processed";
                self.report(Violation::new(Invariant::NotProcessedIsTrue, number, what));
            }
            Some(Ending::Rejected) if was_lied_to => self.figures.lies += 1,
            Some(Ending::Rejected) => {
                let what = "the ledger shows it after its caller was told that it was rejected";
                self.report(Violation::new(Invariant::RejectedIsTrue, number, what));
            }
            _ => {}
        }
    }

    fn note_in_ledger(&mut self, number: usize, event: Event) {
        if let Some(call) = self.intents[number].calls.last() {
            self.stage.note(*call, event, |_| {});
        }
    }

    /// The fake's own ledger must be what was seen to grow. To read all of it costs a sixth of a world, so the half of them
    /// is enough; how many transactions there are is asked in each.
    pub(super) fn compare_ledgers(&mut self) {
        let is_read = self.rng.bool();
        for (index, tenant) in self.gateway.tenants().enumerate() {
            let mut differs = tenant.transaction_count() != self.ledgers[index].len();
            let mut of = 0;
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
                    of = entry
                        .record
                        .base_amount
                        .value()
                        .copied()
                        .and_then(crate::intent::number_of)
                        .unwrap_or(0);
                }
            }
            if differs {
                let what = "the fake's ledger is not what was seen of it";
                self.report(Violation::new(Invariant::LedgerIsWhatWasSeen, of, what));
            }
        }
    }
}
