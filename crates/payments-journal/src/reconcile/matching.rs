//! Which rows may be which attempts, and what follows. Pure: no I/O, no clock.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::mem::discriminant;
use std::time::Duration;

use payments_model::{Amount, TransactionId};

use super::attempts::{self, Attempt, Mark, State, Subjects};
use super::intervals::{Interval, Intervals};
use super::{
    Candidate, Cell, Proposal, ReconcileOptions, ReconciledAttempt, Reconciliation, ReportRow, RowStatus,
    Undecidable, Undecided, Unexplained,
};
use crate::{Intent, Verdict};

/// The report, and the intents that were compared with it so far.
pub(super) struct Matching<'a> {
    rows: &'a [ReportRow],
    options: &'a ReconcileOptions,
    report: Report,
    intents: Vec<Subjects>,
    /// The intents that have the transaction.
    owners: HashMap<usize, BTreeSet<usize>>,
}

/// The rows by what they can be found by. Rows with one id are one transaction.
struct Report {
    transactions: Vec<Transaction>,
    by_id: HashMap<TransactionId, usize>,
    /// The transaction of each row.
    transaction_of: Vec<usize>,
    has_references: bool,
    has_last_four: bool,
    amounts: HashSet<Amount>,
    marks: HashSet<Mark>,
    /// Whether some amount, reference or last four digits cannot be read, so that they may be any.
    has_unreadable: [bool; 3],
}

struct Transaction {
    rows: Vec<usize>,
    /// Whether every row can be read completely, and all say the same.
    is_clear: bool,
}

/// What a row and an attempt must have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Slot {
    amount: Part<Amount>,
    mark: Part<Mark>,
}

impl Slot {
    fn of_each(amounts: &[Part<Amount>], marks: &[Part<Mark>]) -> impl Iterator<Item = Self> {
        let of = |amount: &Part<_>, mark: &Part<_>| Self { amount: amount.clone(), mark: mark.clone() };
        amounts.iter().flat_map(move |amount| marks.iter().map(move |mark| of(amount, mark)))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part<T> {
    Is(T),
    /// The row's cell cannot be read.
    Unreadable(Kind),
    /// It does not matter.
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Amount,
    Reference,
    LastFour,
}

/// The rows that one intent may be: the transaction, and the attempts.
type Candidates = BTreeMap<usize, BTreeSet<u32>>;

/// The rows that an attempt can find.
type RowsBySlot = HashMap<Slot, Intervals<usize>>;

/// The attempts that a row can find: of each the index of its intent, and its number.
type AttemptsBySlot = HashMap<Slot, Intervals<(usize, u32)>>;

/// The attempts whose own charged row is in the report: of each its intent and transaction.
type ChargedBySlot = HashMap<Slot, Intervals<(usize, usize)>>;

/// The intents with an open attempt of which the journal has lost what was sent, by its amount if that is known.
type LostByAmount = HashMap<Option<Amount>, Intervals<usize>>;

/// How many candidates are shown. More are not counted, because two already decide that there is no proposal.
const MOST: usize = 10;

/// Chosen by this SDK: a report may be late by a weekend's closing.
const SPARE: Duration = Duration::from_hours(48);

impl<'a> Matching<'a> {
    pub(super) fn of(rows: &'a [ReportRow], options: &'a ReconcileOptions) -> Self {
        let report = Report::of(rows);
        Self { rows, options, report, intents: Vec::new(), owners: HashMap::new() }
    }

    pub(super) fn add(&mut self, intent: &Intent) {
        let subjects = Subjects::of(intent, self.options);
        let mut is_compared = !subjects.is_settled();
        for id in attempts::ids(intent) {
            if let Some(transaction) = self.report.by_id.get(id) {
                self.owners.entry(*transaction).or_default().insert(self.intents.len());
                is_compared = true;
            }
        }
        if is_compared {
            self.intents.push(subjects);
        }
    }

    pub(super) fn finish(self) -> Reconciliation {
        let (rows, attempts) = (self.rows_by_slot(), self.attempts_by_slot());
        let transactions = 0..self.report.transactions.len();
        let charged = self.charged_by_slot();
        let found = Found {
            rows_of: (0..self.intents.len()).map(|index| self.rows_of(index, &rows)).collect(),
            intents_of: transactions.map(|transaction| self.intents_of(transaction, &attempts)).collect(),
            lost: self.lost_by_amount(),
        };
        let mut result = Reconciliation {
            service: None,
            proposals: Vec::new(),
            undecided: Vec::new(),
            missing: Vec::new(),
            unexplained: Vec::new(),
            foreign: Vec::new(),
            unreadable: self.rows.iter().filter(|row| !row.is_readable()).map(|row| row.line).collect(),
        };
        for index in 0..self.intents.len() {
            if self.intents[index].state.is_open() {
                self.decide(index, &found, &mut result);
            }
            self.explain(index, &found, &mut result);
        }
        for (transaction, intents) in found.intents_of.iter().enumerate() {
            if self.owners.contains_key(&transaction)
                || self.clear_status(transaction) != Some(RowStatus::Charged)
            {
                continue;
            }
            if intents.is_empty() {
                match self.charged_again(transaction, &charged) {
                    Some(again) => result.unexplained.push(again),
                    None if self.amount_of(transaction).is_some_and(Amount::is_positive) => {
                        result.foreign.extend(self.lines(transaction).first());
                    }
                    None => {}
                }
            } else if intents.len() > 1 && !intents.keys().any(|index| self.intents[*index].state.is_open()) {
                let attempts = intents.iter().map(|(index, numbers)| self.attempt(*index, numbers));
                let (attempts, rows) = (attempts.collect(), vec![self.lines(transaction)]);
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
            Ok(_) => Undecidable::SeveralAttempts,
            Err(why) => why,
        };
        if rows.is_empty() && self.is_missing(intent) {
            result.missing.push(newest);
            return;
        }
        let candidates = rows.keys().take(MOST).map(|transaction| {
            let others = found.intents_of[*transaction].keys().copied().filter(|other| *other != index);
            let others = others.chain(self.lost(index, *transaction, found)).collect::<BTreeSet<_>>();
            let other_keys = others.into_iter().take(MOST);
            let other_keys = other_keys.map(|other| self.intents[other].shown.key.clone()).collect();
            Candidate { lines: self.lines(*transaction), other_keys }
        });
        result.undecided.push(Undecided { attempt: newest, why, candidates: candidates.collect() });
    }

    /// What can be proposed about an intent, or why nothing can.
    fn proposal(&self, index: usize, found: &Found) -> Result<Proposal, Undecidable> {
        let intent = &self.intents[index];
        let newest = &intent.shown.request;
        if let Some(why) = intent.never_proposed(newest) {
            return Err(why);
        }
        let rows = &found.rows_of[index];
        let Some((&transaction, numbers)) = rows.first_key_value() else { return Err(Undecidable::NoRow) };
        let is_owned = self.owners.contains_key(&transaction);
        if !is_owned && self.report.mark_of(attempts::mark(newest).as_ref()).is_none() {
            return Err(Undecidable::AmountOnly);
        }
        if rows.len() > 1 {
            let is_clear = rows.keys().all(|transaction| self.report.transactions[*transaction].is_clear);
            return Err(if is_clear { Undecidable::SeveralRows } else { Undecidable::UnreadableRow });
        }
        if !self.report.transactions[transaction].is_clear {
            return Err(Undecidable::UnreadableRow);
        }
        let may_be_lost = !is_owned && self.lost(index, transaction, found).next().is_some();
        if may_be_lost || !found.belongs_only_to(index, transaction) {
            return Err(Undecidable::SeveralKeys);
        }
        let doubtful = intent.attempts.iter().filter(|it| it.is_doubtful && numbers.contains(&it.number));
        let doubtful: BTreeSet<u32> = doubtful.map(|attempt| attempt.number).collect();
        if doubtful.len() > 1 {
            return Err(Undecidable::SeveralAttempts);
        }
        let attempt = self.attempt(index, if doubtful.is_empty() { numbers } else { &doubtful });
        if is_owned && self.contradicts(transaction, &attempt) {
            return Err(Undecidable::Contradiction);
        }
        if let Some(why) = intent.never_proposed(&attempt.request) {
            return Err(why);
        }
        let row = &self.rows[self.report.transactions[transaction].rows[0]];
        let Cell::Read(id) = &row.id else { return Err(Undecidable::UnreadableRow) };
        let verdict = match row.status {
            RowStatus::Charged => Verdict::Processed(id.clone()),
            // It may be the row of the earlier attempt, which the journal knows to be declined.
            RowStatus::Declined if numbers.len() > 1 => return Err(Undecidable::SeveralAttempts),
            RowStatus::Declined if attempt.attempt == self.newest(index).attempt => {
                Verdict::Rejected(Some(id.clone()))
            }
            RowStatus::Declined => return Err(Undecidable::SeveralAttempts),
            RowStatus::Other | RowStatus::Unreadable => return Err(Undecidable::Status),
        };
        Ok(Proposal { attempt, lines: self.lines(transaction), verdict })
    }

    /// Adds the charged rows that only this intent can be, and that its state does not explain.
    fn explain(&self, index: usize, found: &Found, result: &mut Reconciliation) {
        let intent = &self.intents[index];
        let mut charged = found.rows_of[index].clone();
        charged.retain(|&transaction, _| {
            found.belongs_only_to(index, transaction)
                && self.clear_status(transaction) == Some(RowStatus::Charged)
        });
        let is_open = intent.state.is_open();
        let is_of_an_earlier = |numbers: &BTreeSet<u32>| !numbers.contains(&self.newest(index).attempt);
        let is_explained = match charged.len() {
            0 => true,
            1 if is_open => !charged.values().any(is_of_an_earlier),
            _ => false,
        };
        if is_explained {
            return;
        }
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
        let rows = charged.keys().map(|transaction| self.lines(*transaction)).collect();
        result.unexplained.push(Unexplained { attempts, rows, proposal });
    }

    /// The transactions that an intent may be.
    fn rows_of(&self, index: usize, by_slot: &RowsBySlot) -> Candidates {
        let intent = &self.intents[index];
        let mut candidates = Candidates::new();
        for (id, attempt) in &intent.rejected {
            if let Some(transaction) = self.report.by_id.get(id)
                && self.clear_status(*transaction) == Some(RowStatus::Charged)
            {
                candidates.entry(*transaction).or_default().insert(*attempt);
            }
        }
        if let Some(id) = &intent.id {
            if let Some(transaction) = self.report.by_id.get(id) {
                candidates.entry(*transaction).or_default().insert(intent.shown.attempt);
            }
            if intent.state == State::Unknown {
                return candidates;
            }
        }
        for attempt in intent.attempts.iter().filter(|attempt| attempt.is_searched) {
            let slots = self.report.slots_for(attempt);
            let rows = slots.iter().filter_map(|slot| by_slot.get(slot));
            for row in rows.flat_map(|rows| rows.overlapping(attempt.window)) {
                candidates.entry(self.report.transaction_of[row]).or_default().insert(attempt.number);
                if candidates.len() > MOST {
                    break;
                }
            }
        }
        candidates
    }

    /// The intents that a transaction may be, with their attempts. Of one that is not clear this is not asked.
    fn intents_of(&self, transaction: usize, by_slot: &AttemptsBySlot) -> Candidates {
        if let Some(owners) = self.owners.get(&transaction) {
            let attempt = |index: &usize| BTreeSet::from([self.intents[*index].shown.attempt]);
            return owners.iter().map(|index| (*index, attempt(index))).collect();
        }
        let mut candidates = Candidates::new();
        let Transaction { rows, is_clear: true } = &self.report.transactions[transaction] else {
            return candidates;
        };
        for row in rows.iter().map(|row| &self.rows[*row]) {
            let slots = Report::slots_of(row);
            for attempts in slots.iter().filter_map(|slot| by_slot.get(slot)) {
                for (index, attempt) in attempts.overlapping(row.interval()) {
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
        let mut by_slot = RowsBySlot::new();
        for (index, row) in self.rows.iter().enumerate() {
            if !self.owners.contains_key(&self.report.transaction_of[index]) {
                for slot in Report::slots_of(row) {
                    by_slot.entry(slot).or_default().push(row.interval(), index);
                }
            }
        }
        by_slot.values_mut().for_each(Intervals::sort);
        by_slot
    }

    fn attempts_by_slot(&self) -> AttemptsBySlot {
        let mut by_slot = AttemptsBySlot::new();
        for (index, intent) in self.intents.iter().enumerate() {
            for attempt in intent.attempts.iter().filter(|attempt| attempt.is_searched) {
                if let Some(slot) = self.report.slots_for(attempt).into_iter().next() {
                    by_slot.entry(slot).or_default().push(attempt.window, (index, attempt.number));
                }
            }
        }
        by_slot.values_mut().for_each(Intervals::sort);
        by_slot
    }

    /// Only by a reference: two purchases of one amount with one card are no rarity.
    fn charged_by_slot(&self) -> ChargedBySlot {
        let mut by_slot = ChargedBySlot::new();
        for (transaction, owners) in &self.owners {
            if self.clear_status(*transaction) != Some(RowStatus::Charged) {
                continue;
            }
            for index in owners {
                let Subjects { shown, attempts, .. } = &self.intents[*index];
                let attempt = attempts.iter().find(|attempt| attempt.number == shown.attempt);
                if let Some(Attempt {
                    amount: Some(amount),
                    mark: Some(mark @ Mark::Reference(_)),
                    window,
                    ..
                }) = attempt
                {
                    let slot = Slot { amount: Part::Is(*amount), mark: Part::Is(mark.clone()) };
                    by_slot.entry(slot).or_default().push(*window, (*index, *transaction));
                }
            }
        }
        by_slot.values_mut().for_each(Intervals::sort);
        by_slot
    }

    /// What a charge of no key is, if it repeats one that is explained.
    fn charged_again(&self, transaction: usize, charged: &ChargedBySlot) -> Option<Unexplained> {
        let row = &self.rows[self.report.transactions[transaction].rows[0]];
        let slots = Report::slots_of(row);
        let charged = slots.iter().filter_map(|slot| charged.get(slot));
        let (index, of) = charged.flat_map(|charged| charged.overlapping(row.interval())).next()?;
        let rows = vec![self.lines(of), self.lines(transaction)];
        Some(Unexplained { attempts: vec![self.newest(index)], rows, proposal: None })
    }

    fn lost_by_amount(&self) -> LostByAmount {
        let mut by_amount = LostByAmount::new();
        for (index, intent) in self.intents.iter().enumerate() {
            // A payment with a reference keeps it, so that its own row can be told apart.
            let is_any = |attempt: &&Attempt| {
                attempt.is_lost && attempt.is_searched && !matches!(attempt.mark, Some(Mark::Reference(_)))
            };
            for attempt in intent.attempts.iter().filter(is_any) {
                let amount = attempt.amount.filter(|_| !attempt.has_fee);
                by_amount.entry(amount).or_default().push(attempt.window, index);
            }
        }
        by_amount.values_mut().for_each(Intervals::sort);
        by_amount
    }

    /// The other intents of which the journal has lost what was sent, and that a transaction may be.
    fn lost(&self, index: usize, transaction: usize, found: &Found) -> impl Iterator<Item = usize> {
        let rows = self.report.transactions[transaction].rows.iter().map(|row| &self.rows[*row]);
        let amounts = [None, self.amount_of(transaction)];
        rows.flat_map(move |row| {
            let lost = amounts.into_iter().filter_map(|amount| found.lost.get(&amount));
            lost.flat_map(|lost| lost.overlapping(row.interval()))
        })
        .filter(move |other| *other != index)
        .take(MOST)
    }

    /// Whether the report should show it, and has nothing that could be it.
    fn is_missing(&self, intent: &Subjects) -> bool {
        let Some((from, to)) = self.options.complete else { return false };
        let complete = Interval::between(from, to);
        let [amounts, references, last_four] = self.report.has_unreadable;
        let is_absent = |attempt: &Attempt| {
            let is_amount_absent =
                !amounts && attempt.amount.is_some_and(|amount| !self.report.amounts.contains(&amount));
            let (is_shown, is_unreadable) = match &attempt.mark {
                Some(Mark::Reference(_)) => (self.report.has_references, references),
                Some(Mark::LastFour(_)) => (self.report.has_last_four, last_four),
                None => (false, false),
            };
            let is_mark_absent =
                !is_unreadable && attempt.mark.as_ref().is_none_or(|mark| !self.report.marks.contains(mark));
            // With a fee the amount may be another one.
            is_amount_absent
                && is_mark_absent
                && (is_shown || !attempt.has_fee)
                && complete.contains(attempt.window.widened(SPARE))
        };
        intent.state == State::Unknown
            && intent.id.is_none()
            && !intent.has_masked_id
            && intent.is_sale()
            && intent.attempts.iter().filter(|attempt| attempt.is_searched).all(is_absent)
    }

    /// Whether a row with the id of an attempt cannot be that attempt's.
    fn contradicts(&self, transaction: usize, attempt: &ReconciledAttempt) -> bool {
        let request = &attempt.request;
        self.report.transactions[transaction].rows.iter().map(|row| &self.rows[*row]).any(|row| {
            let is_other_mark = |asked: &Mark| {
                let mut shown = row.marks().into_iter().flatten();
                shown.any(|shown| discriminant(&shown) == discriminant(asked) && shown != *asked)
            };
            attempts::mark(request).as_ref().is_some_and(is_other_mark)
                || row.amount.value().zip(request.amount).is_some_and(|(shown, asked)| *shown != asked)
        })
    }

    fn lines(&self, transaction: usize) -> Vec<u64> {
        self.report.transactions[transaction].rows.iter().map(|row| self.rows[*row].line).collect()
    }

    /// The status of a transaction whose rows can be read and say the same.
    fn clear_status(&self, transaction: usize) -> Option<RowStatus> {
        let Transaction { rows, is_clear } = &self.report.transactions[transaction];
        is_clear.then(|| self.rows[rows[0]].status)
    }

    fn amount_of(&self, transaction: usize) -> Option<Amount> {
        self.rows[self.report.transactions[transaction].rows[0]].amount.value().copied()
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
}

impl Found {
    fn belongs_only_to(&self, index: usize, transaction: usize) -> bool {
        let intents = &self.intents_of[transaction];
        intents.len() == 1 && intents.contains_key(&index)
    }
}

impl Report {
    fn of(rows: &[ReportRow]) -> Self {
        let mut report = Self {
            transactions: Vec::new(),
            by_id: HashMap::new(),
            transaction_of: Vec::new(),
            has_references: rows.iter().any(|row| row.reference != Cell::Absent),
            has_last_four: rows.iter().any(|row| row.last_four != Cell::Absent),
            amounts: HashSet::new(),
            marks: HashSet::new(),
            has_unreadable: [
                rows.iter().any(|row| row.amount == Cell::Unreadable),
                rows.iter().any(|row| row.reference == Cell::Unreadable),
                rows.iter().any(|row| row.last_four == Cell::Unreadable),
            ],
        };
        for (index, row) in rows.iter().enumerate() {
            let new = report.transactions.len();
            let known = row.id.value().map(|id| *report.by_id.entry(id.clone()).or_insert(new));
            let transaction = known.unwrap_or(new);
            if transaction == new {
                report.transactions.push(Transaction { rows: vec![index], is_clear: row.is_readable() });
            } else {
                let known = &mut report.transactions[transaction];
                known.is_clear &= row.is_readable() && row.says_the_same(&rows[known.rows[0]]);
                known.rows.push(index);
            }
            report.transaction_of.push(transaction);
            report.amounts.extend(row.amount.value());
            report.marks.extend(row.marks().into_iter().flatten());
        }
        report
    }

    /// Where a row can be found.
    fn slots_of(row: &ReportRow) -> Vec<Slot> {
        let amount = row.amount.value().map_or(Part::Unreadable(Kind::Amount), |amount| Part::Is(*amount));
        let amounts = [amount, Part::Any];
        let unreadable = [(&row.reference, Kind::Reference), (&row.last_four, Kind::LastFour)];
        let unreadable = unreadable.into_iter().filter(|(cell, _)| **cell == Cell::Unreadable);
        let marks = row.marks().into_iter().flatten().map(Part::Is);
        let marks: Vec<_> = marks.chain(unreadable.map(|(_, kind)| Part::Unreadable(kind))).collect();
        // A payment of which nothing but the amount can be compared has no reference.
        let by_amount = Slot { amount: amounts[0].clone(), mark: Part::Any };
        let has_reference = !matches!(row.reference, Cell::Empty | Cell::Absent);
        Slot::of_each(&amounts, &marks).chain((!has_reference).then_some(by_amount)).collect()
    }

    /// What can be compared besides the amount.
    fn mark_of<'m>(&self, mark: Option<&'m Mark>) -> Option<(&'m Mark, Kind)> {
        match mark? {
            mark @ Mark::Reference(_) => self.has_references.then_some((mark, Kind::Reference)),
            mark @ Mark::LastFour(_) => self.has_last_four.then_some((mark, Kind::LastFour)),
        }
    }

    /// Where rows for an attempt are found. The first is where a row that can be read completely finds the attempt.
    fn slots_for(&self, attempt: &Attempt) -> Vec<Slot> {
        let Some(amount) = attempt.amount else { return Vec::new() };
        let (mark, kind) = match self.mark_of(attempt.mark.as_ref()) {
            Some(mark) => mark,
            // Nothing but the amount can be compared: it is never proposed, but may be the payment of any such row.
            None if attempt.is_open => return vec![Slot { amount: Part::Is(amount), mark: Part::Any }],
            None => return Vec::new(),
        };
        let marks = [Part::Is(mark.clone()), Part::Unreadable(kind)];
        let amounts = if attempt.has_fee {
            vec![Part::Any]
        } else {
            vec![Part::Is(amount), Part::Unreadable(Kind::Amount)]
        };
        Slot::of_each(&amounts, &marks).collect()
    }
}

impl ReportRow {
    /// Whether nothing in it is missing or cannot be read.
    fn is_readable(&self) -> bool {
        matches!((&self.id, &self.amount, &self.time), (Cell::Read(_), Cell::Read(_), Cell::Read(_)))
            && self.reference != Cell::Unreadable
            && self.last_four != Cell::Unreadable
            && self.status != RowStatus::Unreadable
    }

    fn says_the_same(&self, other: &Self) -> bool {
        self.amount == other.amount && self.marks() == other.marks() && self.status == other.status
    }

    /// The reference and the last four digits.
    fn marks(&self) -> [Option<Mark>; 2] {
        let reference = self.reference.value().map(|text| text.split_whitespace().collect::<String>());
        let reference = reference.filter(|text| !text.is_empty());
        [reference.map(Mark::Reference), self.last_four.value().cloned().map(Mark::LastFour)]
    }

    fn interval(&self) -> Interval {
        self.time.value().map_or(Interval::ALWAYS, |time| Interval::between(time.earliest, time.latest))
    }
}
