//! Which rows may be which attempts, and what follows. Pure: no I/O, no clock.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use payments_model::{Amount, TransactionType};

use super::attempts::{self, Attempt, Compared, Mark};
use super::intervals::{Index, Interval};
use super::reconciliation::{
    Candidate, OfAnotherMerchant, Proposal, ReconcileOptions, ReconciledAttempt, Reconciliation, Undecided,
    UndecidedReason, Unexplained,
};
use super::report::{Report, ReportCell, ReportRow, RowStatus, Slot, folded};
use crate::{Intent, IntentKey, StateName, Verdict};

/// The report, and the intents that were compared with it so far.
pub(super) struct Matching<'a> {
    options: &'a ReconcileOptions,
    report: Report<'a>,
    intents: Vec<Compared>,
    /// The intents that have the transaction.
    known_by: HashMap<usize, BTreeSet<usize>>,
    /// The intents that were processed as the transaction.
    holders: HashMap<usize, BTreeSet<usize>>,
    /// The references of intents that the report shows.
    references: HashSet<Mark>,
}

/// The rows that one intent may be: the transaction, and the attempts.
type Candidates = BTreeMap<usize, BTreeSet<u32>>;

/// The rows that an attempt can find.
type RowsBySlot = Index<Slot, usize>;

/// The attempts that a row can find: of each the index of its intent, and its number.
type AttemptsBySlot = Index<Slot, (usize, u32)>;

/// The attempts whose own charged row is in the report, by amount and [`folded`] reference: of each its intent and transaction.
type Charged = Index<(Amount, String), (usize, usize)>;

/// The intents with an open attempt whose request the journal has lost, by its amount if that is known.
type LostByAmount = Index<Option<Amount>, usize>;

/// How many candidates are shown. More are not counted, because two already decide that there is no proposal.
const MOST: usize = 10;

/// How many rows of one amount or reference are compared with a key of which nothing was found.
const MOST_COMPARED: usize = 1000;

/// Chosen by this SDK: a report may be late by a weekend's closing.
const SPARE: Duration = Duration::from_hours(48);

/// Chosen by this SDK: how long after the window of a declined payment its processor, or a person there, may try it again.
const TRIED_AGAIN: Duration = Duration::from_hours(7 * 24);

/// Whether a processor may have made one reference, as [`folded`], of the other: in other letters, cut, or behind its own words.
fn is_alike(one: &str, other: &str) -> bool {
    const SHORTEST: usize = 4;

    let is_long = one.len().min(other.len()) >= SHORTEST;
    one == other || is_long && (one.contains(other) || other.contains(one))
}

impl<'a> Matching<'a> {
    pub(super) fn of(rows: &'a [ReportRow], options: &'a ReconcileOptions) -> Self {
        let (report, intents) = (Report::of(rows), Vec::new());
        let (known_by, holders, references) = (HashMap::new(), HashMap::new(), HashSet::new());
        Self { options, report, intents, known_by, holders, references }
    }

    pub(super) fn add(&mut self, intent: &Intent) {
        let compared = match self.options.service.as_deref() {
            Some(asked) if !intent.is_at_base_url_of(asked) => return,
            Some(asked) if !intent.is_of(asked) => Compared::of_another_merchant(intent, self.options),
            _ => Compared::of(intent, self.options),
        };
        let mut is_compared = compared.other_service.is_none() && !compared.is_settled();
        for (id, _) in &compared.known {
            if let Some(transaction) = self.report.transaction(id) {
                self.known_by.entry(transaction).or_default().insert(self.intents.len());
                is_compared = true;
            }
        }
        for id in intent.held_transactions().filter(|_| !intent.is_void()) {
            if let Some(transaction) = self.report.transaction(id) {
                self.holders.entry(transaction).or_default().insert(self.intents.len());
            }
        }
        let marks = compared.attempts.iter().filter_map(|attempt| attempt.mark.as_ref());
        let references =
            marks.filter(|mark| matches!(mark, Mark::Reference(_)) && self.report.has_mark(mark));
        self.references.extend(references.cloned());
        if is_compared {
            self.intents.push(compared);
        }
    }

    pub(super) fn finish(self) -> Reconciliation {
        let (rows, attempts) = (self.rows_by_slot(), self.attempts_by_slot());
        let transactions = 0..self.report.transactions.len();
        let charged = self.charged_by_reference();
        let mut known_by = self.known_by.values();
        let is_of_another_merchant =
            !self.known_by.is_empty() && known_by.all(|known_by| self.another_merchant(known_by).is_some());
        let found = Found {
            rows_of: (0..self.intents.len()).map(|index| self.rows_of(index, &rows)).collect(),
            intents_of: transactions.map(|transaction| self.intents_of(transaction, &attempts)).collect(),
            lost: self.lost_by_amount(),
            of_nobody: self.rows_of_nobody_by_amount(),
            is_of_another_merchant,
        };
        let unreadable = self.report.rows.iter().filter(|row| !row.is_readable()).map(|row| row.line);
        let mut result = Reconciliation { unreadable: unreadable.collect(), ..Reconciliation::default() };
        let own = (0..self.intents.len()).filter(|index| self.intents[*index].other_service.is_none());
        for index in own {
            if self.intents[index].is_open() {
                self.decide(index, &found, &mut result);
            }
            self.explain(index, &found, &mut result);
        }
        for (transaction, intents) in found.intents_of.iter().enumerate() {
            let status = self.report.clear_status(transaction);
            let is_open = intents.keys().any(|index| self.intents[*index].is_open());
            if let Some(known_by) = self.known_by.get(&transaction) {
                result.unexplained.extend(self.shared(transaction));
                let another = self.another_merchant(known_by).map(|(key, service)| OfAnotherMerchant {
                    lines: self.report.lines(transaction),
                    key: key.clone(),
                    service: service.clone(),
                });
                result.other_merchants.extend(another);
            } else if status != Some(RowStatus::Charged) {
                // A candidate of an open intent is shown with that, and what cannot be read is shown anyway.
                let is_shown = is_open || !self.report.rows_of(transaction).all(ReportRow::is_readable);
                let may_be_charged =
                    || !intents.is_empty() || self.charged_again(transaction, &charged).is_some();
                if status != Some(RowStatus::Declined) && !is_shown && may_be_charged() {
                    result.doubtful.extend(self.report.lines(transaction).first());
                }
            } else if intents.is_empty() {
                match self.charged_again(transaction, &charged) {
                    Some(again) => result.unexplained.push(again),
                    None if self.report.amount_of(transaction).is_some_and(Amount::is_positive) => {
                        result.foreign.extend(self.report.lines(transaction).first());
                    }
                    None => {}
                }
            } else if intents.len() > 1 && !is_open {
                let attempts = intents.iter().map(|(index, numbers)| self.attempt(*index, numbers));
                let (attempts, rows) = (attempts.collect(), vec![self.report.lines(transaction)]);
                result.unexplained.push(Unexplained { attempts, rows, proposal: None });
            }
        }
        result
    }

    /// What follows for an intent whose outcome is open.
    fn decide(&self, index: usize, found: &Found, result: &mut Reconciliation) {
        let intent = &self.intents[index];
        let newest = self.newest(index);
        let rows = &found.rows_of[index];
        let why = match self.proposal(index, found) {
            Ok(proposal) if proposal.attempt.attempt == newest.attempt => {
                result.proposals.push(proposal);
                return;
            }
            // That an earlier attempt was charged does not tell how this one ended.
            Ok(_) => UndecidedReason::SeveralAttempts,
            Err(why) => why,
        };
        let mut of_its_amount =
            if rows.is_empty() { self.of_its_amount_and_time(intent, found) } else { Vec::new() };
        let resembling = self.resembling(intent, &of_its_amount);
        if rows.is_empty()
            && resembling.is_empty()
            && !found.is_of_another_merchant
            && self.is_missing(intent)
        {
            result.missing.push(newest);
            return;
        }
        let is_alone = rows.is_empty() && resembling.is_empty();
        let others = if is_alone { self.with_its_reference(intent, found) } else { None };
        let (why, others) = match (why, others) {
            _ if !resembling.is_empty() => (UndecidedReason::OtherReference, Vec::new()),
            (UndecidedReason::NoRow, Some(found)) => found,
            (why @ UndecidedReason::NoRow, None) => {
                of_its_amount.sort_by_cached_key(|transaction| !self.has_its_digits(intent, *transaction));
                (why, of_its_amount)
            }
            // Many write the same into both.
            (why @ UndecidedReason::Lost, None) if is_alone => {
                (why, self.of_nobody_with(intent.shown.key.as_str(), found).collect())
            }
            (why, others) => (why, others.map_or_else(Vec::new, |(_, others)| others)),
        };
        let candidates = rows.keys().chain(&resembling).chain(&others).take(MOST).map(|transaction| {
            let keys = found.intents_of[*transaction].keys().copied().filter(|other| *other != index);
            let keys = keys.chain(self.lost(index, *transaction, found)).collect::<BTreeSet<_>>();
            let other_keys = keys.into_iter().take(MOST);
            let other_keys = other_keys.map(|other| self.intents[other].shown.key.clone()).collect();
            Candidate { lines: self.report.lines(*transaction), other_keys }
        });
        result.undecided.push(Undecided { attempt: newest, why, candidates: candidates.collect() });
    }

    /// Those of the rows with its amount and time whose reference is like its own. The processor may write it in another way; but only
    /// a person can say so.
    fn resembling(&self, intent: &Compared, of_its_amount: &[usize]) -> Vec<usize> {
        let Some((_, reference)) = intent.searched_by_reference() else { return Vec::new() };
        let reference = folded(reference);
        let is_like = |transaction: &usize| {
            self.report.references(*transaction).any(|shown| is_alike(&shown, &reference))
        };
        of_its_amount.iter().copied().filter(is_like).collect()
    }

    /// Whether the digits of the row's reference are those of the intent's, but for zeros before them.
    fn has_its_digits(&self, intent: &Compared, transaction: usize) -> bool {
        let digits = |text: &str| -> String {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            digits.trim_start_matches('0').to_owned()
        };
        let searched = intent.searched_by_reference();
        let own = searched.map(|(_, reference)| digits(reference)).filter(|own| !own.is_empty());
        own.is_some_and(|own| self.report.references(transaction).any(|shown| digits(&shown) == own))
    }

    /// Rows of no key with the amount and time of an open payment, whatever else they say: a spreadsheet writes `17` for `0017`, and a
    /// wallet pays with a number of its own.
    fn of_its_amount_and_time(&self, intent: &Compared, found: &Found) -> Vec<usize> {
        let Some(attempt) = intent.searched() else { return Vec::new() };
        let rows = found.of_nobody.overlapping(attempt.amount, attempt.window).take(MOST_COMPARED);
        let mut of_nobody: Vec<_> = rows.map(|row| self.report.transaction_of[row]).collect();
        of_nobody.retain(|transaction| found.intents_of[*transaction].is_empty());
        of_nobody.dedup();
        of_nobody
    }

    /// Rows of no key with the reference of an open payment, and what else differs. With its amount, the time does: a clock or a zone
    /// may be wrong, or the report shows the day of settlement. With another amount and no earlier, the amount may be net of a fee, or
    /// in cents.
    fn with_its_reference(&self, intent: &Compared, found: &Found) -> Option<(UndecidedReason, Vec<usize>)> {
        let (attempt, reference) = intent.searched_by_reference()?;
        let (same_amount, mut others): (Vec<_>, Vec<_>) = self
            .of_nobody_with(reference, found)
            .partition(|transaction| self.report.amount_of(*transaction) == attempt.amount);
        if !same_amount.is_empty() {
            return Some((UndecidedReason::OtherTime, same_amount));
        }
        let since = Interval { last: i64::MAX, ..attempt.window };
        others.retain(|transaction| {
            self.report.rows_of(*transaction).any(|row| row.interval().overlaps(since))
        });
        (!others.is_empty()).then_some((UndecidedReason::OtherAmount, others))
    }

    /// Rows of no key with a reference like this one.
    fn of_nobody_with(&self, reference: &str, found: &Found) -> impl Iterator<Item = usize> {
        let rows = self.report.with_reference_like(reference).iter().copied().take(MOST_COMPARED);
        rows.filter(|transaction| {
            found.intents_of[*transaction].is_empty() && !self.known_by.contains_key(transaction)
        })
    }

    /// What can be proposed about an intent, or why nothing can.
    fn proposal(&self, index: usize, found: &Found) -> Result<Proposal, UndecidedReason> {
        let intent = &self.intents[index];
        let newest = &intent.shown.request;
        if let Some(why) = intent.never_proposed(newest) {
            return Err(why);
        }
        let rows = &found.rows_of[index];
        let Some((&transaction, numbers)) = rows.first_key_value() else {
            return Err(UndecidedReason::NoRow);
        };
        let is_known = self.known_by.contains_key(&transaction);
        if !is_known && self.report.mark_of(attempts::mark(newest).as_ref()).is_none() {
            return Err(UndecidedReason::AmountOnly);
        }
        if rows.len() > 1 {
            let is_clear = rows.keys().all(|transaction| self.report.is_clear(*transaction));
            return Err(if is_clear { UndecidedReason::SeveralRows } else { UndecidedReason::UnreadableRow });
        }
        if !self.report.is_clear(transaction) {
            return Err(UndecidedReason::UnreadableRow);
        }
        let may_be_lost = !is_known && self.lost(index, transaction, found).next().is_some();
        if may_be_lost || !found.belongs_only_to(index, transaction) {
            return Err(UndecidedReason::SeveralKeys);
        }
        let doubtful = intent.attempts.iter().filter(|it| it.is_doubtful && numbers.contains(&it.number));
        let doubtful: BTreeSet<u32> = doubtful.map(|attempt| attempt.number).collect();
        if doubtful.len() > 1 {
            return Err(UndecidedReason::SeveralAttempts);
        }
        let attempt = self.attempt(index, if doubtful.is_empty() { numbers } else { &doubtful });
        if is_known && self.report.contradicts(transaction, &attempt.request) {
            return Err(UndecidedReason::Contradiction);
        }
        if let Some(why) = intent.never_proposed(&attempt.request) {
            return Err(why);
        }
        let row = self.report.first_row(transaction);
        let ReportCell::Read(id) = &row.id else { return Err(UndecidedReason::UnreadableRow) };
        let is_contradicted = self.report.rows_of(transaction).any(|row| row.is_contradicted);
        let verdict = match row.status {
            RowStatus::Charged if is_contradicted => return Err(UndecidedReason::Status),
            RowStatus::Charged => Verdict::Processed(id.clone()),
            // It may be the row of the earlier attempt, which the journal knows to be declined.
            RowStatus::Declined if numbers.len() > 1 => return Err(UndecidedReason::SeveralAttempts),
            RowStatus::Declined if attempt.attempt == self.newest(index).attempt => {
                Verdict::Rejected(Some(id.clone()))
            }
            RowStatus::Declined => return Err(UndecidedReason::SeveralAttempts),
            RowStatus::Other | RowStatus::Unreadable => return Err(UndecidedReason::Status),
        };
        Ok(Proposal { attempt, lines: self.report.lines(transaction), verdict })
    }

    /// Adds the charged rows that only this intent can be or that are known to be its own, if its state does not explain them.
    fn explain(&self, index: usize, found: &Found, result: &mut Reconciliation) {
        let intent = &self.intents[index];
        let mut charged = found.rows_of[index].clone();
        charged.retain(|&transaction, _| {
            found.belongs_only_to(index, transaction) && self.report.is_charged(transaction)
        });
        let is_open = intent.is_open();
        let (own, is_replaced) = self.own_charges(index, &found.rows_of[index]);
        let is_own_explained = own.len() + charged.len() <= 1 && !is_replaced;
        let is_of_an_earlier = |numbers: &BTreeSet<u32>| !numbers.contains(&self.newest(index).attempt);
        let is_explained = match charged.len() {
            _ if !own.is_empty() => is_own_explained,
            0 => true,
            1 if is_open => !charged.values().any(is_of_an_earlier),
            _ => false,
        };
        let contradicting = self.contradicting(index);
        if is_explained {
            for (transaction, number) in contradicting {
                let attempts = vec![self.attempt(index, &BTreeSet::from([number]))];
                let rows = vec![self.report.lines(transaction)];
                result.unexplained.push(Unexplained { attempts, rows, proposal: None });
            }
            return;
        }
        charged.extend(
            own.into_iter()
                .chain(contradicting)
                .map(|(transaction, number)| (transaction, BTreeSet::from([number]))),
        );
        let proposal = self.proposal(index, found).ok();
        // An open intent's own proposal is among the others.
        let proposal = proposal.filter(|it| {
            matches!(it.verdict, Verdict::Processed(_))
                && !(is_open && it.attempt.attempt == intent.shown.attempt)
        });
        let numbers: BTreeSet<u32> = charged.values().flatten().copied().collect();
        let attempts = match &proposal {
            Some(proposal) => vec![proposal.attempt.clone()],
            None => numbers.iter().map(|number| self.attempt(index, &BTreeSet::from([*number]))).collect(),
        };
        let rows = charged.keys().map(|transaction| self.report.lines(*transaction)).collect();
        result.unexplained.push(Unexplained { attempts, rows, proposal });
    }

    /// The charged transactions that the intent is known by and that are no candidates, each with its attempt; and whether one of
    /// them was replaced by a person, and is nobody's now.
    fn own_charges(&self, index: usize, candidates: &Candidates) -> (BTreeMap<usize, u32>, bool) {
        let (mut own, mut is_replaced) = (BTreeMap::new(), false);
        for (id, number) in &self.intents[index].known {
            let Some(transaction) = self.report.transaction(id) else { continue };
            let holders = self.holders.get(&transaction);
            let is_of_another = holders.is_some_and(|holders| !holders.contains(&index));
            if !is_of_another && !candidates.contains_key(&transaction) && self.report.is_charged(transaction)
            {
                own.insert(transaction, *number);
                is_replaced |= holders.is_none();
            }
        }
        (own, is_replaced)
    }

    /// The transactions that the intent was processed as and whose rows say something else, each with its attempt.
    fn contradicting(&self, index: usize) -> BTreeMap<usize, u32> {
        let intent = &self.intents[index];
        let is_contradicted = |transaction: usize, number: u32| {
            let Some(attempt) = intent.attempts.iter().find(|attempt| attempt.number == number) else {
                return false;
            };
            // What is captured of an authorization may be another amount, and so may a payment with a fee.
            let is_exact =
                !attempt.has_fee && attempt.request.transaction_type != Some(TransactionType::Auth);
            let is_other = |amount| attempt.amount.is_some_and(|asked| asked != amount);
            let is_own = |mark: &Mark| intent.attempts.iter().any(|it| it.mark.as_ref() == Some(mark));
            let has_reference = matches!(attempt.mark, Some(Mark::Reference(_)));
            let is_of_another = |mark: Mark| !is_own(&mark) && self.references.contains(&mark);
            self.report.is_declined(transaction)
                || is_exact && self.report.charged_amounts(transaction).any(is_other)
                || has_reference && self.report.reference_marks(transaction).any(is_of_another)
        };
        let known =
            intent.known.iter().filter_map(|(id, number)| Some((self.report.transaction(id)?, *number)));
        let is_held = |transaction| self.holders.get(&transaction).is_some_and(|it| it.contains(&index));
        known
            .filter(|(transaction, number)| is_held(*transaction) && is_contradicted(*transaction, *number))
            .collect()
    }

    /// A charge as which several intents were processed.
    fn shared(&self, transaction: usize) -> Option<Unexplained> {
        let holders = self.holders.get(&transaction).filter(|holders| holders.len() > 1)?;
        if !self.report.is_charged(transaction) {
            return None;
        }
        let attempt = |index: &usize| {
            let known = self.intents[*index].known.iter();
            let numbers = known.filter(|(id, _)| self.report.transaction(id) == Some(transaction));
            self.attempt(*index, &numbers.map(|(_, number)| *number).collect())
        };
        let (attempts, rows) = (holders.iter().map(attempt).collect(), vec![self.report.lines(transaction)]);
        Some(Unexplained { attempts, rows, proposal: None })
    }

    /// Key and service of an intent with the transaction, if every intent with that transaction is another merchant's.
    fn another_merchant(&self, known_by: &BTreeSet<usize>) -> Option<(&IntentKey, &String)> {
        let intents = known_by.iter().map(|index| &self.intents[*index]);
        let others = intents.map(|intent| Some((&intent.shown.key, intent.other_service.as_ref()?)));
        others.reduce(Option::and)?
    }

    /// The transactions that an intent may be.
    fn rows_of(&self, index: usize, by_slot: &RowsBySlot) -> Candidates {
        let intent = &self.intents[index];
        let mut candidates = Candidates::new();
        for (id, attempt) in &intent.rejected {
            if let Some(transaction) = self.report.transaction(id)
                && self.report.is_charged(transaction)
            {
                candidates.entry(transaction).or_default().insert(*attempt);
            }
        }
        if let Some(transaction) = intent.id.as_ref().and_then(|id| self.report.transaction(id)) {
            candidates.entry(transaction).or_default().insert(intent.shown.attempt);
        }
        let is_id_alone = intent.id.is_some() && intent.shown.state == StateName::Unknown;
        for attempt in intent.attempts.iter().filter(|attempt| attempt.is_searched && !is_id_alone) {
            for row in by_slot.overlapping(self.report.slots_for(attempt), attempt.window) {
                candidates.entry(self.report.transaction_of[row]).or_default().insert(attempt.number);
                if candidates.len() > MOST {
                    break;
                }
            }
        }
        if candidates.keys().any(|transaction| self.report.is_declined(*transaction)) {
            candidates.extend(self.charged_later(intent));
        }
        candidates
    }

    /// A charge of no key with the amount of an open payment and a reference like its own, also from after its window.
    fn charged_later(&self, intent: &Compared) -> Option<(usize, BTreeSet<u32>)> {
        let attempt = intent.attempts.last().filter(|attempt| attempt.is_open)?;
        let Some(Mark::Reference(reference)) = &attempt.mark else { return None };
        let window = attempt.window.longer_by(TRIED_AGAIN);
        let is_it = |transaction: &&usize| {
            !self.known_by.contains_key(*transaction)
                && self.report.is_charged(**transaction)
                && self.report.amount_of(**transaction) == attempt.amount
                && self.report.rows_of(**transaction).any(|row| row.interval().overlaps(window))
        };
        let found = self.report.with_reference_like(reference).iter().find(is_it)?;
        Some((*found, BTreeSet::from([attempt.number])))
    }

    /// The intents that a transaction may be, with their attempts. Of one that is not clear this is not asked.
    fn intents_of(&self, transaction: usize, by_slot: &AttemptsBySlot) -> Candidates {
        if let Some(known_by) = self.known_by.get(&transaction) {
            let attempt = |index: &usize| BTreeSet::from([self.intents[*index].shown.attempt]);
            return known_by.iter().map(|index| (*index, attempt(index))).collect();
        }
        let mut candidates = Candidates::new();
        if !self.report.is_clear(transaction) {
            return candidates;
        }
        for row in self.report.rows_of(transaction) {
            for slot in row.slots() {
                for (index, attempt) in by_slot.overlapping([slot], row.interval()) {
                    candidates.entry(index).or_default().insert(attempt);
                    if candidates.len() > MOST {
                        break;
                    }
                }
            }
        }
        candidates
    }

    /// The rows of transactions that no intent has.
    fn rows_by_slot(&self) -> RowsBySlot {
        let rows = self.report.rows.iter().enumerate();
        let of_nobody =
            rows.filter(|(index, _)| !self.known_by.contains_key(&self.report.transaction_of[*index]));
        let found = of_nobody
            .flat_map(|(index, row)| row.slots().into_iter().map(move |slot| (slot, row.interval(), index)));
        found.collect()
    }

    fn rows_of_nobody_by_amount(&self) -> Index<Amount, usize> {
        let rows = self.report.rows.iter().enumerate();
        let of_nobody =
            rows.filter(|(index, _)| !self.known_by.contains_key(&self.report.transaction_of[*index]));
        of_nobody.filter_map(|(index, row)| Some((*row.amount.value()?, row.interval(), index))).collect()
    }

    fn attempts_by_slot(&self) -> AttemptsBySlot {
        let searched = self.searched_attempts().filter_map(|(index, attempt)| {
            let slot = self.report.slots_for(attempt).into_iter().next()?;
            Some((slot, attempt.window, (index, attempt.number)))
        });
        searched.collect()
    }

    /// Only by a reference: two purchases of one amount with one card are no rarity.
    fn charged_by_reference(&self) -> Charged {
        let charged = self.known_by.iter().filter(|(transaction, _)| self.report.is_charged(**transaction));
        let pairs = charged
            .flat_map(|(transaction, known_by)| known_by.iter().map(move |index| (*index, *transaction)));
        let found = pairs.filter_map(|(index, transaction)| {
            let Compared { shown, attempts, .. } = &self.intents[index];
            let attempt = attempts.iter().find(|attempt| attempt.number == shown.attempt)?;
            let (Some(amount), Some(Mark::Reference(reference))) = (attempt.amount, &attempt.mark) else {
                return None;
            };
            // The processor may write it in another way.
            let mut references: BTreeSet<_> = self.report.references(transaction).collect();
            references.insert(folded(reference));
            let of_each = references.into_iter().map(move |reference| (amount, reference));
            Some(of_each.map(move |it| (it, attempt.window, (index, transaction))))
        });
        found.flatten().collect()
    }

    /// What a charge of no key is, if it repeats one that is explained.
    fn charged_again(&self, transaction: usize, charged: &Charged) -> Option<Unexplained> {
        let row = self.report.first_row(transaction);
        let amount = *row.amount.value()?;
        let asked = self.report.references(transaction).map(|reference| (amount, reference));
        let (index, of) = charged.overlapping(asked, row.interval()).next()?;
        let rows = vec![self.report.lines(of), self.report.lines(transaction)];
        Some(Unexplained { attempts: vec![self.newest(index)], rows, proposal: None })
    }

    fn lost_by_amount(&self) -> LostByAmount {
        // A payment with a reference keeps it, so that its own row can be told apart.
        let lost = self
            .searched_attempts()
            .filter(|(_, attempt)| attempt.is_lost && !matches!(attempt.mark, Some(Mark::Reference(_))));
        lost.map(|(index, attempt)| (attempt.amount.filter(|_| !attempt.has_fee), attempt.window, index))
            .collect()
    }

    /// The attempts of which no id is known, with the index of their intent.
    fn searched_attempts(&self) -> impl Iterator<Item = (usize, &Attempt)> {
        let intents = self.intents.iter().enumerate();
        let attempts = intents.flat_map(|(index, intent)| intent.attempts.iter().map(move |it| (index, it)));
        attempts.filter(|(_, attempt)| attempt.is_searched)
    }

    /// The other intents of which the journal has lost what was sent, and that a transaction may be.
    fn lost(&self, index: usize, transaction: usize, found: &Found) -> impl Iterator<Item = usize> {
        let amounts = [None, self.report.amount_of(transaction)];
        let rows = self.report.rows_of(transaction);
        rows.flat_map(move |row| found.lost.overlapping(amounts, row.interval()))
            .filter(move |other| *other != index)
            .take(MOST)
    }

    /// Whether the report should show it, and has nothing that could be it.
    fn is_missing(&self, intent: &Compared) -> bool {
        let Some((from, to)) = self.options.complete else { return false };
        let complete = Interval::between(from, to);
        let is_absent = |attempt: &Attempt| {
            self.report.lacks(attempt) && complete.contains(attempt.window.widened(SPARE))
        };
        intent.shown.state == StateName::Unknown
            && intent.id.is_none()
            && !intent.has_masked_id
            && intent.is_sale()
            && intent.attempts.iter().filter(|attempt| attempt.is_searched).all(is_absent)
    }

    /// The newest of these attempts.
    fn attempt(&self, index: usize, numbers: &BTreeSet<u32>) -> ReconciledAttempt {
        let intent = &self.intents[index];
        let newest = intent.attempts.iter().filter(|attempt| numbers.contains(&attempt.number));
        match newest.max_by_key(|attempt| attempt.number) {
            Some(Attempt { number, request, begun_at, .. }) => ReconciledAttempt {
                attempt: *number,
                request: request.clone(),
                begun_at: *begun_at,
                ..intent.shown.clone()
            },
            None => intent.shown.clone(),
        }
    }

    fn newest(&self, index: usize) -> ReconciledAttempt {
        self.intents[index].shown.clone()
    }
}

/// Both directions, each cut off after [`MOST`]: a row may have fewer intents than an intent has rows.
struct Found {
    rows_of: Vec<Candidates>,
    intents_of: Vec<Candidates>,
    lost: LostByAmount,
    of_nobody: Index<Amount, usize>,
    /// Whether every row that some intent is known to have is another merchant's.
    is_of_another_merchant: bool,
}

impl Found {
    fn belongs_only_to(&self, index: usize, transaction: usize) -> bool {
        let intents = &self.intents_of[transaction];
        intents.len() == 1 && intents.contains_key(&index)
    }
}
