//! Checks every row of a billing file before one is sent.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::mem;

use payments_journal::{Intent, IntentKey, IntentRequest, IntentState, Subject, Verdict};
use payments_model::{Amount, TokenId};

use super::billing_file::{BillingFile, LikeCards, Row, RowRead};
use super::key_variants::{Forms, is_exact_variant, is_variant};
use super::known_intents::KnownIntents;
use crate::card_like_ids;
use crate::failure::Failure;
use crate::report::advice::shell_word;
use crate::report::problems::{MOST_KEPT, Problem, Problems, RecordedIntent, Role};
use crate::report::run::{RowOutcome, Summary, Tallies, UnresolvedRow};
use crate::settings::KnownKeys;

/// A valid file: every row can be charged or has been charged.
#[derive(Debug, Default)]
pub(super) struct Inspected {
    /// For each row, whether it is not to be sent, according to the journal.
    pub(super) is_settled: Vec<bool>,
    /// The outcomes of earlier runs, and the first rows that are unknown since then.
    pub(super) summary: Summary,
    /// How many ids look like card numbers and are none, as the person says.
    pub(super) like_cards: u64,
}

/// What a row must not have.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    /// No text may contain one of these.
    pub(super) api_keys: &'a KnownKeys,
    /// Whether ids that look like card numbers are accepted.
    pub(super) ids_are_not_cards: bool,
    /// Where the rows would be sent. A key that the journal has for another service is refused.
    pub(super) service: &'a str,
}

/// Checks every row. With a journal, looks up each row in it. The inner error has the problems of a file of which no row is
/// sent.
pub(super) fn inspect(
    file: &BillingFile,
    rules: Rules<'_>,
    known: Option<KnownIntents>,
) -> Result<Result<Inspected, Problems>, Failure> {
    let (rows, problems) = file.rows(rules.api_keys);
    let mut inspection = Inspection {
        rules,
        known,
        marks: Hashes::default(),
        keys: Hashes::default(),
        charges: Hashes::default(),
        waiting: Vec::new(),
        problems: Problems::of(file.name().map(str::to_owned), Role::BillingRun),
        inspected: Inspected::default(),
    };
    inspection.problems.extend(problems);
    let again = || file.rows(rules.api_keys).0.into_iter().flatten();
    if let Some(mut rows) = rows {
        rows.try_for_each(|row| inspection.take(row))?;
        inspection.look_up_waiting()?;
        inspection.refuse_other_keys(again)?;
    }
    let Inspection { mut problems, inspected, keys, charges, .. } = inspection;
    for (line, first) in keys.duplicates(|| again().filter_map(|row| Some((row.key?, row.line)))) {
        problems.push(Problem::new(line, "Key", format!("is the same as in line {first}")));
    }
    problems.extend(charged_twice(charges, || again().filter_map(|row| row.content.ok())));
    if inspected.is_settled.is_empty() && problems.is_empty() {
        // A billing run without rows is probably a failed export, and must not look like a success.
        problems.push(Problem::new(1, "file", "has no rows"));
    }
    if problems.is_empty() {
        return Ok(Ok(inspected));
    }
    problems.sort();
    Ok(Err(problems))
}

/// The problem of a field that looks like a card number.
fn like_a_card(line: u64, field: &'static str) -> Problem {
    Problem::new(line, field, card_like_ids::refusal(field))
}

struct Inspection<'a> {
    rules: Rules<'a>,
    known: Option<KnownIntents>,
    /// The [`Mark`]s of rows to send.
    marks: Hashes,
    keys: Hashes,
    /// Of each valid row what a second charge for the same has in common with it.
    charges: Hashes,
    /// Valid rows that were not looked up in the journal yet.
    waiting: Vec<WaitingRow>,
    problems: Problems,
    inspected: Inspected,
}

struct WaitingRow {
    row: Row,
    /// Its place in `is_settled`.
    index: usize,
    /// The field that is the key, if it looks like a card number.
    key_like_a_card: Option<&'static str>,
}

/// How many rows are looked up in the journal together.
const ASKED_AT_ONCE: usize = 256;

impl Inspection<'_> {
    fn take(&mut self, row: RowRead) -> Result<(), Failure> {
        let RowRead { line, key, like_cards: LikeCards { key: mut key_like_a_card, others }, content } = row;
        let index = self.inspected.is_settled.len();
        self.inspected.is_settled.push(false);
        if let Some(key) = &key {
            self.keys.add(key);
        }
        if self.rules.ids_are_not_cards {
            self.inspected.like_cards +=
                (others.len() + usize::from(key_like_a_card.take().is_some())) as u64;
        } else {
            self.problems.extend(others.into_iter().map(|field| like_a_card(line, field)));
        }
        let row = match content {
            Err(problems) => {
                self.problems.extend(problems);
                return Ok(());
            }
            Ok(row) => row,
        };
        for key in Forms::of(row.key.as_str()).exact {
            self.charges.add(&Charge::of(key, &row));
        }
        let total = &mut self.inspected.summary.tallies.total;
        if let Some(more) = total.checked_with(row.payment.amount()) {
            *total = more;
        } else {
            let rule = "makes the sum of the file too large to be exact";
            self.problems.push(Problem::new(line, "Amount", rule));
        }
        if self.known.is_none() {
            self.problems.extend(key_like_a_card.map(|field| like_a_card(line, field)));
            return Ok(());
        }
        self.waiting.push(WaitingRow { row, index, key_like_a_card });
        if self.waiting.len() >= ASKED_AT_ONCE { self.look_up_waiting() } else { Ok(()) }
    }

    /// Looks up the waiting rows in the journal.
    fn look_up_waiting(&mut self) -> Result<(), Failure> {
        let Some(known) = &self.known else { return Ok(()) };
        let waiting = mem::take(&mut self.waiting);
        let keys: Vec<_> = waiting.iter().map(|it| it.row.key.clone()).collect();
        let mut to_send = Vec::new();
        for (WaitingRow { row, index, key_like_a_card }, intent) in
            waiting.into_iter().zip(known.find(&keys)?)
        {
            // A key that is in the journal was accepted before.
            let refused = key_like_a_card.filter(|_| intent.is_none());
            self.problems.extend(refused.map(|field| like_a_card(row.line, field)));
            let is_settled = intent.is_some_and(|intent| self.check_recorded(&row, &intent));
            self.inspected.is_settled[index] = is_settled;
            if !is_settled {
                to_send.push(row);
            }
        }
        for mark in to_send.iter().flat_map(marks_of_row) {
            self.marks.add(&mark);
        }
        Ok(())
    }

    /// Refuses rows to send of which the journal has the same charge under a variant of the key, or, where the reference is or was the
    /// key, under that, unless that key is in the file itself. `again` reads the file again.
    fn refuse_other_keys<I: Iterator<Item = RowRead>>(
        &mut self,
        again: impl FnOnce() -> I,
    ) -> Result<(), Failure> {
        let Some(known) = self.known.as_ref().filter(|_| !self.marks.hashes.is_empty()) else {
            return Ok(());
        };
        self.keys.hashes.sort_unstable();
        self.marks.hashes.sort_unstable();
        // Only what is nearly certainly a problem counts, or others would use up the limit.
        let is_charge = |intent: &Intent| {
            may_have_moved(intent, self.rules.service)
                && !self.keys.have(&intent.key)
                && marks_of_intent(intent).iter().any(|mark| self.marks.have(mark))
        };
        let found = known.first(MOST_KEPT, is_charge)?;
        let is_cut = found.len() >= MOST_KEPT;
        let mut charged: HashMap<String, Vec<Intent>> = HashMap::new();
        for intent in found {
            for form in names(intent.key.as_str(), intent.request.reference.as_deref()) {
                charged.entry(form).or_default().push(intent.clone());
            }
        }
        if charged.is_empty() {
            return Ok(());
        }
        let mut problems = Vec::new();
        for (is_settled, row) in self.inspected.is_settled.iter().zip(again()) {
            let Some(row) = row.content.ok().filter(|_| !is_settled) else { continue };
            let names = names(row.key.as_str(), row.payment.reference_no());
            let mut intents = names.iter().filter_map(|name| charged.get(name)).flatten();
            problems.extend(intents.find_map(|intent| charged_before(&row, intent, self.rules.service)));
        }
        if is_cut && problems.is_empty() {
            let rule = "has keys that are too much like those of too many earlier charges to be compared with each: use keys that \
                        are clearly others";
            problems.push(Problem::new(1, "file", rule));
        }
        self.problems.extend(problems);
        Ok(())
    }

    /// Checks a row against the journal's intent with its key: adds its problem, or counts the earlier outcome. Returns whether the
    /// row is not to be sent.
    fn check_recorded(&mut self, row: &Row, intent: &Intent) -> bool {
        if !intent.answers(self.rules.service) {
            // Whatever happened there says nothing about this service, so it is not shown.
            let rule = match &intent.service {
                None => "was lost and resolved without its service: resolve it again with its base URL and merchant"
                    .to_owned(),
                Some(recorded) => format!(
                    "belongs to another service: it was first used for {recorded}, and this run is for {}: check base URL, \
                     merchant and journal, and do not pay it under another key before you have looked",
                    self.rules.service
                ),
            };
            self.problems.push(Problem::new(row.line, "Key", rule).of(&row.key));
            return false;
        }
        let request = IntentRequest::from(&row.payment);
        let differences = intent.differences(&request);
        if !differences.is_empty() {
            let problem = Problem::new(row.line, "Key", reused(intent, &request, &differences));
            self.problems.push(problem.recorded(RecordedIntent {
                key: intent.key.to_string(),
                state: intent.state.name().as_str(),
                amount: intent.request.amount,
                transaction_id: intent.transaction_id().map(ToString::to_string),
            }));
            return false;
        }
        let Tallies { earlier, rejected_by_status, .. } = &mut self.inspected.summary.tallies;
        let amount = row.payment.amount();
        // If the sum does not fit, the file is refused and no tally is shown.
        let tally = match &intent.state {
            IntentState::Processed { .. } => &mut earlier.processed,
            IntentState::Resolved { resolution, .. } => match &resolution.verdict {
                Verdict::Processed(_) => &mut earlier.processed,
                Verdict::Rejected(_) | Verdict::NotProcessed => return false,
            },
            IntentState::Rejected(failure) => {
                rejected_by_status.add(failure.http_status, amount);
                &mut earlier.rejected
            }
            IntentState::Unknown(failure) => {
                if self.inspected.summary.unresolved.len() < UnresolvedRow::MOST_LISTED {
                    let id = failure.transaction_id.as_ref();
                    self.inspected.summary.unresolved.push(row.unresolved(
                        id,
                        RowOutcome::Unknown,
                        failure.kind.as_str(),
                    ));
                }
                &mut earlier.unknown
            }
            // A row that another process is sending may have ended by the time its turn comes.
            _ => return false,
        };
        *tally = tally.checked_with(amount).unwrap_or(*tally);
        true
    }
}

/// Whether a charge of the intent may have been made at this service.
fn may_have_moved(intent: &Intent, service: &str) -> bool {
    intent.is_of(service) && !intent.moved_nothing()
}

/// The problem of a row to send if the intent may have been charged for the same with another key: a spreadsheet or a person has
/// changed it, or the column Key, without which the reference is the key, was added or removed.
fn charged_before(row: &Row, intent: &Intent, service: &str) -> Option<Problem> {
    let (recorded, given) = (intent.request.reference.as_deref(), row.payment.reference_no());
    let [old_key, key] = [&intent.key, &row.key].map(IntentKey::as_str);
    let is_lost = intent.request.subject == Subject::Lost;
    // Only the key of a lost charge is known, so keys that may be rounded are no evidence.
    let is_variant = if is_lost { is_exact_variant(old_key, key) } else { is_variant(old_key, key) };
    let is_reference = |reference: Option<&str>, key| reference.is_some_and(|it| is_exact_variant(it, key));
    let is_same = old_key != key
        && (is_variant || is_reference(recorded, key) || is_reference(given, old_key))
        && may_have_moved(intent, service)
        && (is_lost || is_same_reference(recorded, given))
        && intent.differences(&IntentRequest::from(&row.payment)).is_empty();
    is_same.then(|| {
        let what = match given {
            _ if is_lost => "which may have been sent in a lost time,",
            Some(_) => "with this ReferenceNo, token and amount",
            None => "with this token and amount",
        };
        let otherwise =
            if is_variant { "use a key that is clearly another" } else { "give it another ReferenceNo" };
        let rule = format!(
            "would be sent, and a charge {what} is in the journal under the key {}: if it is the \
             same, write that key, because with another one it would be charged again; else {otherwise}",
            intent.key
        );
        Problem::new(row.line, "Key", rule)
    })
}

/// The rule for a key that belongs to another request, whose outcome decides what to do with this row.
fn reused(intent: &Intent, request: &IntentRequest, differences: &[&str]) -> String {
    let differences = differences.join(" and another ");
    let amount = intent.request.amount.map(|amount| format!(" of {amount}")).unwrap_or_default();
    let processed = intent.processed_as().map(|id| id.as_str().escape_debug().to_string());
    let became = match (&intent.state, processed) {
        (_, Some(id)) => {
            format!(
                "is processed as transaction {id}: do not pay it another way, and remove this row from the file; \
                 use a new key only for a different payment"
            )
        }
        (IntentState::Sending, None) => {
            "is being sent now and may have been processed: never pay this with another key".to_owned()
        }
        (IntentState::Unknown(_), None) => {
            "is unknown and may have been processed: resolve it first, and never pay this with another key"
                .to_owned()
        }
        (state, None) => {
            let correction = how_to_reopen(intent, request).map(|retry| {
                format!("if this row corrects it, run `payments journal retry {retry}` first; ")
            });
            format!(
                "is {} and moved no money: {}to pay it another way, charge it by hand with the same key and \
                 --after-rejection, and remove this row from the file; use a new key only for a different payment",
                state.name().as_str().replace('_', " "),
                correction.unwrap_or_default()
            )
        }
    };
    let key = &intent.key;
    format!(
        "{key} is already in the journal for another request, with another {differences}; that request{amount} {became}"
    )
}

/// The options of `payments journal retry` after which the key takes this request, if it is a correction of its own.
fn how_to_reopen(intent: &Intent, request: &IntentRequest) -> Option<String> {
    let status = match &intent.state {
        IntentState::Rejected(failure) => failure.http_status.filter(|status| (400..=499).contains(status)),
        _ => None,
    };
    match status.filter(|status| intent.is_corrected_by(request, Some(&[*status]))) {
        Some(status) => Some(format!("--status {status}")),
        None => intent
            .is_corrected_by(request, None)
            .then(|| format!("--key={}", shell_word(intent.key.as_str()))),
    }
}

fn is_same_reference(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one == other || is_variant(one, other),
        (one, other) => one == other,
    }
}

/// By what an earlier charge is found that has another key: a form of a key or reference, and the charge unless the journal has
/// lost it.
type Mark = (MarkOf, String, Option<(TokenId, Option<Amount>)>);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum MarkOf {
    Key,
    RoundedKey,
    /// The reference of the earlier charge is the key now.
    OldReference,
    /// The key of the earlier charge is the reference now.
    OldKey,
    LostKey,
}

fn marks_of_row(row: &Row) -> Vec<Mark> {
    let charge = Some((row.payment.token_id().clone(), Some(row.payment.amount())));
    let Forms { exact, rounded, .. } = Forms::of(row.key.as_str());
    let reference = row.payment.reference_no();
    let old_references = reference.map(|_| exact.clone()).unwrap_or_default();
    let old_keys = reference.map(|it| Forms::of(it).exact).unwrap_or_default();
    [
        (MarkOf::Key, exact.clone(), charge.clone()),
        (MarkOf::RoundedKey, rounded, charge.clone()),
        (MarkOf::OldReference, old_references, charge.clone()),
        (MarkOf::OldKey, old_keys, charge),
        (MarkOf::LostKey, exact, None),
    ]
    .into_iter()
    .flat_map(|(of, forms, charge)| forms.into_iter().map(move |form| (of, form, charge.clone())))
    .collect()
}

/// Any of these is a [`Mark`] of a row that may be the same charge.
fn marks_of_intent(intent: &Intent) -> Vec<Mark> {
    let IntentRequest { subject, reference, amount, .. } = &intent.request;
    let Forms { exact, rounded, .. } = Forms::of(intent.key.as_str());
    let charge = match subject {
        Subject::Lost => return exact.into_iter().map(|form| (MarkOf::LostKey, form, None)).collect(),
        Subject::Token(token) => Some((token.clone(), *amount)),
        _ => return Vec::new(),
    };
    let reference = reference.as_deref().map(|it| Forms::of(it).exact).unwrap_or_default();
    [
        (MarkOf::Key, [&exact[..], &rounded].concat()),
        (MarkOf::RoundedKey, exact.clone()),
        (MarkOf::OldReference, reference),
        (MarkOf::OldKey, exact),
    ]
    .into_iter()
    .flat_map(|(of, forms)| forms.into_iter().map(move |form| (of, form)))
    .map(|(of, form)| (of, form, charge.clone()))
    .collect()
}

/// Under which a charge is found again: the forms of its key and reference.
fn names(key: &str, reference: Option<&str>) -> Vec<String> {
    let Forms { mut exact, rounded, .. } = Forms::of(key);
    exact.extend(rounded);
    exact.extend(reference.map(|it| Forms::of(it).exact).into_iter().flatten());
    exact
}

/// What a second charge for the same has in common with the first: a form of the key.
#[derive(PartialEq, Eq, Hash)]
struct Charge {
    key: String,
    token: TokenId,
    amount: Amount,
}

impl Charge {
    fn of(key: String, row: &Row) -> Self {
        Self { key, token: row.payment.token_id().clone(), amount: row.payment.amount() }
    }
}

/// The problems of rows whose charge an earlier row has, under a key that is another only in its spelling. The rows are read
/// `again` only if there may be such rows.
fn charged_twice<I: Iterator<Item = Row>>(charges: Hashes, again: impl FnOnce() -> I) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut earlier: HashMap<Charge, Vec<Row>> = HashMap::new();
    let forms = |row: Row| {
        let forms = Forms::of(row.key.as_str()).exact;
        forms.into_iter().map(move |key| (Charge::of(key, &row), row.clone()))
    };
    let mut last = 0;
    for (charge, row) in charges.repeated(|| again().flat_map(forms)) {
        let rows = earlier.entry(charge).or_default();
        let is_same = |other: &&Row| {
            other.key != row.key
                && is_exact_variant(other.key.as_str(), row.key.as_str())
                && is_same_reference(other.payment.reference_no(), row.payment.reference_no())
        };
        if let Some(first) = rows.iter().find(is_same).filter(|_| row.number != last) {
            let rule = format!(
                "is that of line {} in another spelling, and the rows have the same token, amount and ReferenceNo: if they are \
                 one payment, remove one row, because both would be charged; else give them keys that are clearly different",
                first.line
            );
            problems.push(Problem::new(row.line, "Key", rule));
            last = row.number;
        }
        rows.push(row);
    }
    problems
}

/// The hashes of something in each row of a file. The values are not kept, because a file may have millions.
#[derive(Debug, Default)]
struct Hashes {
    hasher: RandomState,
    hashes: Vec<u64>,
}

impl Hashes {
    fn add(&mut self, value: &impl Hash) {
        self.hashes.push(self.hasher.hash_one(value));
    }

    /// Whether the sorted hashes have that of this value.
    fn have(&self, value: &impl Hash) -> bool {
        self.hashes.binary_search(&self.hasher.hash_one(value)).is_ok()
    }

    /// The rows, read `again` with their values, of which another row has the same hash. The values may still differ. Nothing is
    /// read if each hash is there once.
    fn repeated<V: Hash, R, I: Iterator<Item = (V, R)>>(
        self,
        again: impl FnOnce() -> I,
    ) -> impl Iterator<Item = (V, R)> {
        let Self { hasher, mut hashes } = self;
        hashes.sort_unstable();
        let repeated: HashSet<_> =
            hashes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        drop(hashes);
        let rows = (!repeated.is_empty()).then(again);
        rows.into_iter().flatten().filter(move |(value, _)| repeated.contains(&hasher.hash_one(value)))
    }

    /// The line of each row whose value an earlier line has, and that line.
    fn duplicates<V: Eq + Hash, I: Iterator<Item = (V, u64)>>(
        self,
        again: impl FnOnce() -> I,
    ) -> Vec<(u64, u64)> {
        let mut first_lines = HashMap::new();
        self.repeated(again)
            .filter_map(|(value, line)| {
                let first = *first_lines.entry(value).or_insert(line);
                (first != line).then_some((line, first))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_are_reported_with_the_first_line() {
        let rows = ["b", "a", "b", "B", "c", "b"].map(|key| IntentKey::new(key).unwrap());
        let rows: Vec<_> = rows.into_iter().zip((10..).step_by(10)).collect();
        let mut keys = Hashes::default();
        for (key, _) in &rows {
            keys.add(key);
        }
        assert_eq!(keys.duplicates(|| rows.into_iter()), [(30, 10), (60, 10)]);
    }

    #[test]
    fn equal_hashes_of_different_keys_are_no_duplicates() {
        let rows = ["a", "b", "a"].map(|key| IntentKey::new(key).unwrap());
        let rows: Vec<_> = rows.into_iter().zip(1..).collect();
        let hasher = RandomState::new();
        let [a, b] = [&rows[0], &rows[1]].map(|(key, _)| hasher.hash_one(key));
        let keys = Hashes { hasher, hashes: vec![a, b, b, a] };
        assert_eq!(keys.duplicates(|| rows.into_iter()), [(3, 1)]);
    }

    #[test]
    fn rows_are_read_again_only_for_equal_hashes() {
        let mut keys = Hashes::default();
        for key in ["a", "b"] {
            keys.add(&IntentKey::new(key).unwrap());
        }
        let again = || -> std::iter::Empty<(IntentKey, _)> { unreachable!("no hash is repeated") };
        assert_eq!(keys.duplicates(again), []);
    }
}
