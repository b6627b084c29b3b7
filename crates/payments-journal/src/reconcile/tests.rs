//! Random ledgers, of which each payment's end is known, against what a journal knows of them.
//!
//! `RECONCILED_LEDGERS=100000` and `RECONCILED_SEED=7` choose the number of ledgers and the first seed.

#![allow(clippy::similar_names, reason = "begin and begun are the journal's own words")]
#![allow(clippy::struct_excessive_bools, reason = "the facts about an attempt are independent")]
#![allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "calls read alike")]
#![allow(clippy::cloned_ref_to_slice_refs, reason = "lists of one and of several rows read alike")]

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::time::{Duration, Instant, SystemTime};

use payments_core::OperationName;
use payments_core::model::{Amount, ConvenienceFee, TokenId, TransactionId, TransactionType};

use super::*;
use crate::{
    AttemptId, Begin, Change, Ending, Failure, Intent, IntentKey, IntentRequest, MemoryStore, NewAttempt,
    OwnerId, Resolution, Subject, Verdict,
};

const SERVICE: &str = "https://pay.example.com/api";
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// splitmix64: the same numbers everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[usize::try_from(self.below(values.len() as u64)).unwrap()]
    }

    fn within(&mut self, limit: Duration) -> Duration {
        Duration::from_secs(self.below(limit.as_secs().max(1)))
    }
}

fn start() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000)
}

fn token(amount: i64, reference: Option<&str>) -> IntentRequest {
    IntentRequest {
        operation: Some(OperationName::TokenTransaction),
        subject: Subject::Token(TokenId::new("tok_1").unwrap()),
        amount: Some(Amount::from_cents(amount)),
        transaction_type: None,
        convenience_fee: Some(ConvenienceFee::Inactive),
        reference: reference.map(str::to_owned),
    }
}

fn card(amount: i64, last_four: &str) -> IntentRequest {
    IntentRequest {
        operation: Some(OperationName::Transaction),
        subject: Subject::Card { last_four: last_four.to_owned() },
        transaction_type: Some(TransactionType::Sale),
        ..token(amount, None)
    }
}

/// What really happened to an attempt, or to a payment that is not in the journal.
#[derive(Clone, Debug)]
struct Truth {
    /// Of the journal, if it is there: the index of the key, and the number of the attempt.
    attempt: Option<(usize, u32)>,
    request: IntentRequest,
    id: TransactionId,
    at: SystemTime,
    is_charged: bool,
}

/// An attempt as the rules see it, from what the generator did and not from the row of the journal.
#[derive(Clone, Debug)]
struct Seen {
    key: usize,
    number: u32,
    request: IntentRequest,
    from: SystemTime,
    to: SystemTime,
    is_newest: bool,
    is_open: bool,
    is_doubtful: bool,
    has_id: bool,
}

#[derive(Debug)]
struct World {
    intents: Vec<Intent>,
    seen: Vec<Seen>,
    rows: Vec<ReportRow>,
    truths: Vec<Truth>,
    /// The key, attempt and transaction of each payment that the journal has as processed.
    processed: Vec<(usize, u32, TransactionId)>,
}

/// Keys and lines that belong together.
type Case = (BTreeSet<usize>, BTreeSet<u64>);

fn is_fee(request: &IntentRequest) -> bool {
    request.convenience_fee == Some(ConvenienceFee::Active)
}

fn is_readable(row: &ReportRow) -> bool {
    read(&row.id).is_some()
        && read(&row.amount).is_some()
        && read(&row.time).is_some()
        && row.reference != ReportCell::Unreadable
        && row.last_four != ReportCell::Unreadable
}

/// Whether the rows of one transaction can be read and say the same.
fn is_clear(rows: &[&ReportRow]) -> bool {
    rows.iter().all(|row| {
        is_readable(row)
            && (&row.amount, &row.reference, &row.last_four, row.status)
                == (&rows[0].amount, &rows[0].reference, &rows[0].last_four, rows[0].status)
    })
}

fn read<T: Clone>(cell: &ReportCell<T>) -> Option<&T> {
    match cell {
        ReportCell::Read(value) => Some(value),
        ReportCell::Empty | ReportCell::Absent | ReportCell::Unreadable => None,
    }
}

impl World {
    fn of(seed: u64) -> Self {
        let random = &mut Random(seed);
        let mut world =
            Self { intents: vec![], seen: vec![], rows: vec![], truths: vec![], processed: vec![] };
        for key in 0..usize::try_from(1 + random.below(6)).unwrap() {
            world.add_intent(key, random);
        }
        // Purged keys whose reference comes back next month, and payments of other programs.
        for _ in 0..random.below(4) {
            let request = request(random);
            let month = random.one_of(&[-31_i64, 0, 31]);
            let at =
                if month < 0 { start() - 31 * DAY } else { start() + DAY * u32::try_from(month).unwrap() };
            let id = world.new_id();
            let (at, is_charged) = (at + random.within(6 * HOUR), random.percent(80));
            world.truths.push(Truth { attempt: None, request, id, at, is_charged });
        }
        if random.percent(20) {
            world.lose(usize::try_from(random.below(world.intents.len() as u64)).unwrap());
        }
        world.report(random);
        world
    }

    /// The journal has lost the key, and a person has named it.
    fn lose(&mut self, key: usize) {
        let name = self.intents[key].key.clone();
        let (since, accepted_at) = (start() - HOUR, start() + 40 * DAY);
        let lost = Change::lost(name, since, OwnerId::new(), "ada", accepted_at);
        self.intents[key] = lost.decide(None).unwrap();
        self.seen.retain(|seen| seen.key != key);
        self.processed.retain(|(of, ..)| *of != key);
        self.seen.push(Seen {
            key,
            number: 1,
            request: self.intents[key].request.clone(),
            from: since - Duration::from_mins(5),
            to: accepted_at + DAY,
            is_newest: true,
            is_open: true,
            is_doubtful: true,
            has_id: false,
        });
    }

    fn is_lost(&self, key: usize) -> bool {
        self.intents[key].request.subject == Subject::Lost
    }

    fn new_id(&self) -> TransactionId {
        TransactionId::new(format!("txn_{}", self.truths.len())).unwrap()
    }

    fn add_intent(&mut self, key: usize, random: &mut Random) {
        let request = request(random);
        let name = IntentKey::new(format!("key-{key}")).unwrap();
        let mut begun_at = start() + random.one_of(&[0, 0, 0, 2, 31]) * DAY + random.within(6 * HOUR);
        let mut intent: Option<Intent> = None;
        let attempts = 1 + u32::from(random.percent(30));
        for number in 1..=attempts {
            let attempt = AttemptId::new();
            let new = NewAttempt {
                begin: if number == 1 { Begin::First } else { Begin::AfterRejection },
                service: SERVICE.to_owned(),
                request: request.clone(),
                attempt_id: attempt.clone(),
                owner: OwnerId::new(),
            };
            let begin = Change::begin(name.clone(), new, begun_at);
            let begun = begin.decide(intent.as_ref()).expect("it begins");

            let happened = random.below(10);
            let id = self.new_id();
            let is_reached = happened < 8;
            let is_charged = happened < 6;
            if is_reached {
                let late = if random.percent(10) { 3 * DAY } else { Duration::ZERO };
                let at = begun_at + late + random.within(2 * HOUR);
                let of = Some((key, number));
                self.truths.push(Truth {
                    attempt: of,
                    request: request.clone(),
                    id: id.clone(),
                    at,
                    is_charged,
                });
            }
            let mut end = begun_at + random.within(Duration::from_secs(50));
            let is_last = number == attempts;
            let is_unknown = random.percent(if is_last { 60 } else { 30 });
            let failure = |kind: &'static str, id: Option<TransactionId>| Failure {
                transaction_id: id,
                ..Failure::of_kind(kind)
            };
            let mut has_id = false;
            let mut ended = if is_unknown && random.percent(40) {
                end = begun_at + random.within(3 * HOUR);
                Change::orphan(name.clone(), attempt, end).decide(Some(&begun)).unwrap()
            } else {
                let ending = match (is_unknown, is_reached, is_charged) {
                    (true, true, _) if random.percent(20) => {
                        has_id = true;
                        Ending::Unknown(failure("unclear_answer", Some(id)))
                    }
                    (true, ..) => Ending::Unknown(failure("timeout", None)),
                    (false, true, true) => {
                        has_id = true;
                        // The service has returned the transaction of another key.
                        let other = self.processed.iter().find(|(of, ..)| *of != key && random.percent(5));
                        let id = other.map_or(id, |(_, _, other)| {
                            self.truths.pop();
                            other.clone()
                        });
                        self.processed.push((key, number, id.clone()));
                        Ending::Processed(id)
                    }
                    (false, true, false) => {
                        has_id = random.percent(50);
                        Ending::Rejected(failure("rejected", has_id.then_some(id)))
                    }
                    (false, false, _) => Ending::NotProcessed(failure("connect", None)),
                };
                Change::end(name.clone(), attempt, ending, end).decide(Some(&begun)).unwrap()
            };
            let mut is_doubtful = is_unknown;
            // Persons are wrong at times. Without this there is no second attempt after an unknown one.
            let is_decided = is_unknown && (!is_last || random.percent(15));
            if is_decided {
                let at = end + HOUR;
                let said = Resolution::not_processed("ada").note("not in the portal");
                ended = Change::resolve(&ended, said, at).decide(Some(&ended)).unwrap();
                is_doubtful = true;
            }
            let is_processed = ended.processed_as().is_some();
            self.seen.push(Seen {
                key,
                number,
                request: request.clone(),
                from: begun_at - Duration::from_mins(5),
                to: end + DAY,
                is_newest: is_last || is_processed,
                is_open: is_unknown && !is_decided,
                is_doubtful,
                // The id of a rejection is lost with the next attempt, and that of a later attempt may be an earlier one's.
                has_id: has_id && (is_processed || (is_last && (number == 1 || is_unknown))),
            });
            intent = Some(ended);
            if is_processed {
                break;
            }
            begun_at += 2 * HOUR + random.within(30 * HOUR);
        }
        let intent = self.found_later(key, intent.unwrap(), begun_at + DAY, random);
        self.intents.push(intent);
    }

    /// Maybe finds that the first attempt was charged, which a person had written off.
    fn found_later(&mut self, key: usize, mut intent: Intent, at: SystemTime, random: &mut Random) -> Intent {
        let is_of_first = |truth: &&Truth| truth.attempt == Some((key, 1)) && truth.is_charged;
        let first = self.truths.iter().find(is_of_first).filter(|_| intent.attempts == 2);
        let may_be_found = matches!(intent.state.name(), StateName::Processed | StateName::Unknown);
        if let Some(Truth { id, .. }) = first.cloned()
            && may_be_found
            && random.percent(60)
        {
            let found = Resolution::processed(id.clone(), "ada").of_attempt(1);
            intent = Change::resolve(&intent, found, at).decide(Some(&intent)).unwrap();
            self.seen.iter_mut().find(|seen| (seen.key, seen.number) == (key, 1)).unwrap().has_id = true;
            self.processed.push((key, 1, id));
        }
        intent
    }

    fn report(&mut self, random: &mut Random) {
        let (has_zone, is_by_day) = (random.percent(50), random.percent(20));
        let (has_references, has_last_four) = (random.percent(93), random.percent(93));
        let mut rows: Vec<(Option<usize>, ReportRow)> = Vec::new();
        for (index, truth) in self.truths.iter().enumerate() {
            if random.percent(12) {
                continue;
            }
            let charged_with_fee = truth.request.amount.unwrap().checked_add(Amount::from_cents(30)).unwrap();
            let is_more = is_fee(&truth.request) && random.percent(70);
            let last_four = match &truth.request.subject {
                Subject::Card { last_four } => last_four.clone(),
                // Of the stored card, or of the account.
                _ => random.one_of(&["4242", "1111"]).to_owned(),
            };
            // The report's zone is unknown: what it shows is up to 12 hours behind or 14 ahead.
            let shown = if is_by_day { day_of(truth.at) } else { (truth.at, truth.at) };
            let zone = if has_zone { 0 } else { random.below(27) };
            let local = |at: SystemTime| {
                at + HOUR * u32::try_from(zone).unwrap() - if has_zone { Duration::ZERO } else { 12 * HOUR }
            };
            let (earliest, latest) =
                if is_by_day { day_of(local(truth.at)) } else { (local(shown.0), local(shown.1)) };
            let time = if has_zone {
                RowTime { earliest, latest }
            } else {
                RowTime { earliest: earliest - 14 * HOUR, latest: latest + 12 * HOUR }
            };
            let is_contradicted = random.percent(6);
            let row = ReportRow {
                line: 0,
                id: ReportCell::Read(truth.id.clone()),
                amount: ReportCell::Read(if is_more {
                    charged_with_fee
                } else {
                    truth.request.amount.unwrap()
                }),
                reference: match truth.request.reference.clone() {
                    _ if !has_references => ReportCell::Absent,
                    reference => reference.map_or(ReportCell::Empty, ReportCell::Read),
                },
                last_four: if has_last_four { ReportCell::Read(last_four) } else { ReportCell::Absent },
                time: ReportCell::Read(time),
                status: match (random.percent(8), truth.is_charged) {
                    (true, _) => RowStatus::Other,
                    (false, true) => RowStatus::Charged,
                    // Only another column says that it was not.
                    (false, false) if is_contradicted => RowStatus::Charged,
                    (false, false) => RowStatus::Declined,
                },
                is_contradicted,
            };
            let mut row = row;
            if random.percent(8) {
                rows.push((Some(index), row.clone()));
                row.is_contradicted |= random.percent(30);
            }
            if self.processed.iter().any(|(.., id)| *id == truth.id) && random.percent(10) {
                match random.below(3) {
                    0 => row.amount = ReportCell::Read(Amount::from_cents(90_00)),
                    1 => row.status = RowStatus::Declined,
                    _ if has_references => {
                        row.reference = ReportCell::Read(random.one_of(&["r1", "r2", "r9"]).to_owned());
                    }
                    _ => {}
                }
            }
            rows.push((Some(index), row));
        }
        for (_, row) in &mut rows {
            if random.percent(6) {
                match random.below(5) {
                    0 => row.id = ReportCell::Unreadable,
                    1 => row.amount = ReportCell::Unreadable,
                    2 if has_references => row.reference = ReportCell::Unreadable,
                    3 if has_last_four => row.last_four = ReportCell::Unreadable,
                    _ => row.time = ReportCell::Unreadable,
                }
            }
        }
        // What agrees in everything with an attempt whose own row is not there, and belongs to no attempt that it agrees with,
        // cannot be told apart by anybody. That is why a person reads each proposal.
        let own_row_agrees = |seen: &Seen, rows: &[(Option<usize>, ReportRow)]| {
            rows.iter().any(|(truth, row)| {
                let of = truth.and_then(|truth| self.truths[truth].attempt);
                of == Some((seen.key, seen.number)) && self.agrees(row, seen)
            })
        };
        let all = rows.clone();
        rows.retain(|(truth, row)| {
            let own = self.truths[truth.unwrap()].attempt;
            let is_of = |seen: &Seen| own == Some((seen.key, seen.number));
            let is_compared = |seen: &&Seen| !seen.has_id && !self.is_lost(seen.key);
            let agreeing = self.seen.iter().filter(is_compared).filter(|seen| self.agrees(row, seen));
            let agreeing: Vec<_> = agreeing.collect();
            agreeing.is_empty()
                || own.is_some_and(|(key, _)| self.is_lost(key))
                || self.seen.iter().any(|seen| is_of(seen) && (seen.has_id || self.agrees(row, seen)))
                || agreeing.iter().all(|seen| own_row_agrees(seen, &all))
        });
        // Such a row protects no other.
        for (line, (_, row)) in (2..).zip(&mut rows) {
            row.line = line;
        }
        self.rows = rows.into_iter().map(|(_, row)| row).collect();
    }

    /// Whether a row may be an attempt's, as the specification says it.
    fn agrees(&self, row: &ReportRow, seen: &Seen) -> bool {
        let request = &seen.request;
        let is_in_time =
            read(&row.time).is_none_or(|time| time.earliest <= seen.to && time.latest >= seen.from);
        if self.is_lost(seen.key) {
            return is_in_time;
        }
        let is_amount = match &row.amount {
            ReportCell::Read(amount) => is_fee(request) || Some(*amount) == request.amount,
            ReportCell::Empty | ReportCell::Absent | ReportCell::Unreadable => true,
        };
        let is_any = || {
            let is_amount =
                matches!(&row.amount, ReportCell::Read(amount) if Some(*amount) == request.amount);
            seen.is_open && matches!(row.reference, ReportCell::Empty | ReportCell::Absent) && is_amount
        };
        let is_same = |cell: &ReportCell<String>, mark: &String| match cell {
            ReportCell::Read(shown) => shown == mark,
            ReportCell::Empty => false,
            ReportCell::Absent => is_any(),
            ReportCell::Unreadable => true,
        };
        let is_mark = match (&request.subject, &request.reference) {
            (Subject::Card { last_four }, _) => is_same(&row.last_four, last_four),
            (Subject::Token(_), Some(reference)) => is_same(&row.reference, reference),
            _ => is_any(),
        };
        is_in_time && is_amount && is_mark
    }

    fn ids_of(&self, key: usize) -> BTreeSet<TransactionId> {
        attempts::known(&self.intents[key], 0).map(|(id, _)| id.clone()).collect()
    }

    /// What must be proposed, found by comparing everything with everything.
    fn expected(&self) -> BTreeMap<usize, (u32, Verdict)> {
        let mut transactions: Vec<Vec<&ReportRow>> = Vec::new();
        for row in &self.rows {
            let same = transactions.iter_mut().find(|rows| read(&row.id).is_some() && rows[0].id == row.id);
            match same {
                Some(rows) => rows.push(row),
                None => transactions.push(vec![row]),
            }
        }
        let owners = |rows: &[&ReportRow]| {
            let id = read(&rows[0].id);
            let keys = 0..self.intents.len();
            keys.filter(|key| id.is_some_and(|id| self.ids_of(*key).contains(id))).collect::<Vec<_>>()
        };
        let attempts = |rows: &[&ReportRow]| {
            let agreeing = self.seen.iter().filter(|seen| !seen.has_id);
            agreeing.filter(|seen| rows.iter().any(|row| self.agrees(row, seen))).collect::<Vec<_>>()
        };
        let mut expected = BTreeMap::new();
        for (key, intent) in self.intents.iter().enumerate() {
            let newest = self.seen.iter().rfind(|seen| seen.key == key).unwrap();
            let is_shown = |cell: fn(&ReportRow) -> &ReportCell<String>| {
                self.rows.iter().any(|row| *cell(row) != ReportCell::Absent)
            };
            let is_comparable = match (&newest.request.subject, &newest.request.reference) {
                (Subject::Card { .. }, _) => is_shown(|row| &row.last_four),
                (Subject::Token(_), Some(_)) => is_shown(|row| &row.reference),
                _ => false,
            };
            let is_payment = matches!(newest.request.subject, Subject::Card { .. } | Subject::Token(_));
            if !newest.is_open || is_fee(&newest.request) || !is_payment {
                continue;
            }
            if intent.transaction_id().is_none() && !is_comparable {
                continue;
            }
            let (row, numbers) = if let Some(id) = intent.transaction_id() {
                let Some(rows) = transactions.iter().find(|rows| read(&rows[0].id) == Some(id)) else {
                    continue;
                };
                let is_amount = rows.iter().all(|row| read(&row.amount) == newest.request.amount.as_ref());
                if owners(rows) != [key] || !is_amount {
                    continue;
                }
                (rows, vec![newest])
            } else {
                let candidates: Vec<_> = transactions
                    .iter()
                    .filter(|rows| {
                        owners(rows).is_empty() && attempts(rows).iter().any(|seen| seen.key == key)
                    })
                    .collect();
                let [rows] = *candidates else { continue };
                let agreeing = attempts(rows);
                if agreeing.iter().any(|seen| seen.key != key) {
                    continue;
                }
                (rows, agreeing)
            };
            if !is_clear(row) {
                continue;
            }
            let doubtful: Vec<_> = numbers.iter().filter(|seen| seen.is_doubtful).collect();
            let id = read(&row[0].id).unwrap().clone();
            let is_newest = |seen: &Seen| seen.number == newest.number;
            let is_contradicted = row.iter().any(|row| row.is_contradicted);
            let tried_again = Seen { to: newest.to + 7 * 24 * HOUR, ..newest.clone() };
            let is_charged_later = matches!(&newest.request.reference, Some(reference)
            if transactions.iter().any(|rows| {
                owners(rows).is_empty()
                    && is_clear(rows)
                    && rows[0].status == RowStatus::Charged
                    && read(&rows[0].reference) == Some(reference)
                    && rows.iter().any(|row| self.agrees(row, &tried_again))
            }));
            let verdict = match (row[0].status, &*numbers, &*doubtful) {
                (RowStatus::Charged, ..) if is_contradicted => continue,
                (RowStatus::Charged, _, [seen]) if is_newest(seen) => Verdict::Processed(id),
                (RowStatus::Declined, ..) if is_charged_later => continue,
                (RowStatus::Declined, [seen], _) if is_newest(seen) => Verdict::Rejected(Some(id)),
                _ => continue,
            };
            expected.insert(key, (newest.number, verdict));
        }
        expected
    }

    /// What must be shown about processed payments, found by comparing everything with everything.
    fn contradictions(&self) -> Vec<Case> {
        let rows_of =
            |id: &TransactionId| self.rows.iter().filter(|row| read(&row.id) == Some(id)).collect::<Vec<_>>();
        let is_charged = |id: &TransactionId| {
            let rows = rows_of(id);
            !rows.is_empty() && is_clear(&rows) && rows[0].status == RowStatus::Charged
        };
        let lines = |id: &TransactionId| rows_of(id).into_iter().map(|row| row.line);
        let references = |key: usize, is_own: bool| {
            let seen = self.seen.iter().filter(move |seen| (seen.key == key) == is_own);
            seen.filter_map(|seen| seen.request.reference.clone()).collect::<BTreeSet<_>>()
        };
        let mut cases = Vec::new();
        for key in 0..self.intents.len() {
            let own: Vec<_> = self.processed.iter().filter(|(of, ..)| *of == key).collect();
            let charged = own.iter().filter(|(.., id)| is_charged(id));
            if charged.clone().count() > 1 {
                cases.push((BTreeSet::from([key]), charged.flat_map(|(.., id)| lines(id)).collect()));
            }
            for (_, number, id) in own {
                let seen = self.seen.iter().find(|seen| (seen.key, seen.number) == (key, *number)).unwrap();
                let rows = rows_of(id);
                let is = |status| rows.iter().any(|row| row.status == status);
                let is_other_amount = |row: &&ReportRow| {
                    row.status == RowStatus::Charged
                        && read(&row.amount).is_some_and(|shown| Some(*shown) != seen.request.amount)
                };
                let is_others = |row: &&ReportRow| {
                    read(&row.reference).is_some_and(|shown| {
                        !references(key, true).contains(shown) && references(key, false).contains(shown)
                    })
                };
                if is(RowStatus::Declined) && !is(RowStatus::Charged)
                    || !is_fee(&seen.request) && rows.iter().any(is_other_amount)
                    || seen.request.reference.is_some() && rows.iter().any(is_others)
                {
                    cases.push((BTreeSet::from([key]), lines(id).collect()));
                }
                let holders = self.processed.iter().filter(|(.., other)| other == id);
                let holders: BTreeSet<_> = holders.map(|(of, ..)| *of).collect();
                if holders.len() > 1 && is_charged(id) {
                    cases.push((holders, lines(id).collect()));
                }
            }
        }
        cases
    }

    /// The proposals that are not true.
    fn wrong<'a>(&self, proposals: impl IntoIterator<Item = &'a Proposal>) -> Vec<Proposal> {
        let is_true = |proposal: &&Proposal| {
            let (key, attempt) = (index_of(&proposal.attempt.key), proposal.attempt.attempt);
            let of = |id: &TransactionId| self.truths.iter().find(|truth| truth.id == *id).unwrap();
            match &proposal.verdict {
                Verdict::Processed(id) => of(id).attempt == Some((key, attempt)) && of(id).is_charged,
                Verdict::Rejected(Some(id)) => of(id).attempt == Some((key, attempt)) && !of(id).is_charged,
                _ => false,
            }
        };
        proposals.into_iter().filter(|proposal| !is_true(proposal)).cloned().collect()
    }

    fn reconciled(&self) -> Reconciliation {
        found(&self.intents, &self.rows)
    }
}

fn request(random: &mut Random) -> IntentRequest {
    let amount = random.one_of(&[1000, 1000, 1030]);
    let request = match random.below(10) {
        0..5 => token(amount, Some(random.one_of(&["r1", "r2", "r3"]))),
        5 => token(amount, None),
        6 => IntentRequest { subject: Subject::Account, ..card(amount, "") },
        _ => card(amount, random.one_of(&["4242", "1111"])),
    };
    let fee = if random.percent(12) { ConvenienceFee::Active } else { ConvenienceFee::Inactive };
    IntentRequest { convenience_fee: Some(fee), ..request }
}

fn day_of(at: SystemTime) -> (SystemTime, SystemTime) {
    let seconds = at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let day = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds / 86400 * 86400);
    (day, day + DAY - Duration::from_millis(1))
}

fn index_of(key: &IntentKey) -> usize {
    key.as_str().strip_prefix("key-").unwrap().parse().unwrap()
}

fn seeds() -> impl Iterator<Item = u64> {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse().ok());
    let first: u64 = number("RECONCILED_SEED").unwrap_or(36_000_000);
    first..first + number("RECONCILED_LEDGERS").unwrap_or(4000)
}

#[test]
fn reconciling_random_ledgers_proposes_nothing_wrong_and_finds_every_determined_key() {
    let (mut proposed, mut late, mut unexplained, mut contradictions) = (0, 0, 0, 0);
    for seed in seeds() {
        let world = World::of(seed);
        let found = world.reconciled();
        let wrong = world.wrong(found.all_proposals());
        assert_eq!(wrong, [], "seed {seed}: {world:#?}");
        let proposals = found.proposals.iter();
        let proposals: BTreeMap<_, _> = proposals
            .map(|it| (index_of(&it.attempt.key), (it.attempt.attempt, it.verdict.clone())))
            .collect();
        assert_eq!(proposals, world.expected(), "seed {seed}: {world:#?} {found:#?}");
        let is_open = |seen: &&Seen| seen.is_newest && seen.is_open;
        let open = world.seen.iter().filter(is_open).count();
        let shown = found.proposals.len() + found.undecided.len() + found.missing.len();
        assert_eq!(shown, open, "seed {seed}: every unknown key is shown once");
        let keys: BTreeSet<_> = found.all_proposals().map(|it| &it.attempt.key).collect();
        assert_eq!(keys.len(), found.all_proposals().count(), "seed {seed}: a key twice");
        let shown = found.unexplained.iter().map(|it| {
            let keys = it.attempts.iter().map(|attempt| index_of(&attempt.key)).collect();
            (keys, it.rows.iter().flatten().copied().collect())
        });
        let shown: Vec<Case> = shown.collect();
        let expected = world.contradictions();
        let has = |(keys, lines): &Case, case: &Case| case.0.is_subset(keys) && case.1.is_subset(lines);
        for case in &expected {
            assert!(shown.iter().any(|it| has(it, case)), "seed {seed}: {case:?} {world:#?} {found:#?}");
        }
        let is_of_processed = |line: &u64| {
            let row = world.rows.iter().find(|row| row.line == *line).unwrap();
            world.processed.iter().any(|(.., id)| read(&row.id) == Some(id))
        };
        for it in shown.iter().filter(|(_, lines)| lines.iter().all(is_of_processed)) {
            assert!(expected.iter().any(|case| has(it, case)), "seed {seed}: {it:?} {world:#?} {found:#?}");
        }
        contradictions += expected.len();
        proposed += proposals.len();
        late += found.unexplained.iter().filter(|it| it.proposal.is_some()).count();
        unexplained += found.unexplained.len();
    }
    let count = seeds().count();
    println!(
        "{count} ledgers: {proposed} proposals, {unexplained} unexplained charges, {late} of them proposed, {contradictions} contradictions"
    );
    assert!(proposed > count / 4 && late > count / 100, "{proposed} {late}");
    assert!(contradictions > count / 10, "{contradictions}");
}

/// How many ledgers it takes a broken rule to propose something wrong.
#[track_caller]
fn assert_found(rule: &str, broken: impl Fn(&World) -> Vec<Proposal>) {
    let found = seeds().position(|seed| {
        let world = World::of(seed);
        !world.wrong(&broken(&world)).is_empty()
    });
    println!("{rule}: wrong after {found:?} ledgers");
    assert!(found.is_some(), "nothing depends on {rule}");
}

#[test]
fn reconciling_without_one_of_its_rules_is_wrong() {
    assert_found("the window", |world| {
        let always = RowTime { earliest: start() - 1000 * DAY, latest: start() + 1000 * DAY };
        let rows = world.rows.iter().map(|row| ReportRow { time: ReportCell::Read(always), ..row.clone() });
        // The rows that only the window tells apart.
        found(&world.intents, &rows.collect::<Vec<_>>()).proposals
    });
    assert_found("the check for one intent", |world| {
        let alone = |intent: &Intent| found(std::slice::from_ref(intent), &world.rows).proposals;
        world.intents.iter().flat_map(alone).collect()
    });
    assert_found("the check for one row", |world| {
        let alone = |row: &ReportRow| found(&world.intents, std::slice::from_ref(row)).proposals;
        world.rows.iter().flat_map(alone).collect()
    });
    assert_found("what contradicts a charge", |world| {
        let rows = world.rows.iter().map(|row| ReportRow { is_contradicted: false, ..row.clone() });
        found(&world.intents, &rows.collect::<Vec<_>>()).proposals
    });
    assert_found("unreadable rows", |world| {
        let unreadable = world.reconciled().unreadable;
        let rows = world.rows.iter().filter(|row| !unreadable.contains(&row.line)).cloned();
        found(&world.intents, &rows.collect::<Vec<_>>()).proposals
    });
}

/// An intent with one attempt, which begins at the start and ends a second later, unless it stays being sent.
fn intent(key: &str, request: IntentRequest, ending: Option<Ending>) -> Intent {
    let (key, attempt) = (IntentKey::new(key).unwrap(), AttemptId::new());
    let begin = Change::begin(
        key.clone(),
        NewAttempt {
            begin: Begin::First,
            service: SERVICE.to_owned(),
            request,
            attempt_id: attempt.clone(),
            owner: OwnerId::new(),
        },
        start(),
    );
    let begun = begin.decide(None).unwrap();
    let at = start() + Duration::from_secs(1);
    match ending {
        Some(ending) => Change::end(key, attempt, ending, at).decide(Some(&begun)).unwrap(),
        None => begun,
    }
}

fn unknown() -> Option<Ending> {
    Some(Ending::Unknown(Failure::of_kind("timeout")))
}

fn row(line: u64, id: &str, amount: i64, reference: &str, last_four: &str) -> ReportRow {
    let cell =
        |text: &str| if text.is_empty() { ReportCell::Empty } else { ReportCell::Read(text.to_owned()) };
    ReportRow {
        line,
        id: ReportCell::Read(TransactionId::new(id).unwrap()),
        amount: ReportCell::Read(Amount::from_cents(amount)),
        reference: cell(reference),
        last_four: cell(last_four),
        time: ReportCell::Read(RowTime { earliest: start(), latest: start() }),
        status: RowStatus::Charged,
        is_contradicted: false,
    }
}

fn found(intents: &[Intent], rows: &[ReportRow]) -> Reconciliation {
    reconcile(intents, rows, &ReconcileOptions::default())
}

fn why(found: &Reconciliation) -> Vec<UndecidedReason> {
    found.undecided.iter().map(|undecided| undecided.why).collect()
}

fn proposed(found: &Reconciliation) -> Vec<(&str, &str)> {
    let proposals = found.all_proposals().map(|it| match &it.verdict {
        Verdict::Processed(id) | Verdict::Rejected(Some(id)) => (it.attempt.key.as_str(), id.as_str()),
        _ => (it.attempt.key.as_str(), ""),
    });
    proposals.collect()
}

#[test]
fn reconciling_ends_the_window_where_it_says() {
    let intents = [intent("k", token(1000, Some("r1")), unknown())];
    let at = |time: SystemTime| ReportRow {
        time: ReportCell::Read(RowTime { earliest: time, latest: time }),
        ..row(2, "t", 1000, "r1", "")
    };
    let (minute, second) = (Duration::from_mins(1), Duration::from_secs(1));
    for (time, is_in) in [
        (start() - 5 * minute, true),
        (start() - 5 * minute - second, false),
        (start() + second + DAY, true),
        (start() + 2 * second + DAY, false),
    ] {
        assert_eq!(found(&intents, &[at(time)]).proposals.len(), usize::from(is_in), "{time:?}");
    }
    let longer = ReconcileOptions { within: 2 * DAY, ..ReconcileOptions::default() };
    assert_eq!(reconcile(&intents, &[at(start() + 2 * DAY)], &longer).proposals.len(), 1);
}

/// Who reads that no row agrees may believe that nothing was charged.
#[test]
fn reconciling_shows_a_row_with_its_reference_and_another_amount_or_time() {
    let intents = [intent("k", token(1000, Some("invoice-17")), unknown())];
    let row = |cents, reference: &str, days: i64| {
        let mut row = row(2, "t", cents, reference, "");
        let time = if days < 0 { start() - DAY } else { start() + u32::try_from(days).unwrap() * DAY };
        row.time = ReportCell::Read(RowTime { earliest: time, latest: time });
        row
    };
    let mut refund = row(-1000, "invoice-17", 0);
    refund.status = RowStatus::Other;
    for (row, why) in [
        (row(971, "invoice-17", 0), UndecidedReason::OtherAmount),
        (row(971, "invoice-17", 5), UndecidedReason::OtherAmount),
        (row(100_000, "INVOICE 17", 0), UndecidedReason::OtherAmount),
        (refund, UndecidedReason::OtherAmount),
        (row(1000, "invoice-17", 5), UndecidedReason::OtherTime),
        // A clock may be wrong.
        (row(1000, "INVOICE 17", -1), UndecidedReason::OtherTime),
        (row(971, "invoice-18", 0), UndecidedReason::NoRow),
        // It was there before the payment was sent.
        (row(971, "invoice-17", -1), UndecidedReason::NoRow),
    ] {
        let complete = Some((start() - 9 * DAY, start() + 9 * DAY));
        for complete in [None, complete] {
            let options = ReconcileOptions { complete, ..ReconcileOptions::default() };
            let found = reconcile(&intents, &[row.clone()], &options);
            let undecided = found.undecided.first();
            let shown =
                undecided.map(|it| (it.why, it.candidates.iter().flat_map(|it| it.lines.clone()).collect()));
            let is_of_another = row.reference.value().is_some_and(|it| it == "invoice-18");
            let lines = if why == UndecidedReason::NoRow { Vec::new() } else { vec![2] };
            let expected = (complete.is_none() || !is_of_another).then_some((why, lines));
            assert_eq!(shown, expected, "{row:?}");
            assert_eq!(found.missing.len(), usize::from(expected.is_none()), "{row:?}");
            let is_charge = row.status != RowStatus::Other;
            assert_eq!(found.foreign, if is_charge { vec![2] } else { Vec::new() });
        }
    }
    // For which nothing is proposed.
    let with_fee =
        IntentRequest { convenience_fee: Some(ConvenienceFee::Active), ..token(1000, Some("invoice-17")) };
    for (request, ending, cents, days, why) in [
        (with_fee, unknown(), 1030, 5, UndecidedReason::Fee),
        (token(1000, Some("invoice-17")), None, 971, 0, UndecidedReason::Sending),
    ] {
        let found = found(&[intent("k", request, ending)], &[row(cents, "invoice-17", days)]);
        let lines: Vec<_> = found.undecided[0].candidates.iter().flat_map(|it| it.lines.clone()).collect();
        assert_eq!((found.undecided[0].why, lines), (why, vec![2]));
    }
    // The payment of another key.
    let processed = Some(Ending::Processed(TransactionId::new("t").unwrap()));
    let others = [intents[0].clone(), intent("l", token(1000, Some("invoice-17")), processed)];
    assert_eq!(why(&found(&others, &[row(1000, "invoice-17", 5)])), [UndecidedReason::NoRow]);
}

#[test]
fn reconciling_shows_a_row_whose_reference_is_written_in_another_way() {
    let intents = [intent("k", token(1000, Some("invoice-17")), unknown())];
    for (reference, is_shown) in [
        ("INVOICE-17", true),
        ("invoice17", true),
        ("ACME invoice 17", true),
        ("INVOICE-", true),
        ("invoice-18", false),
        ("17", false),
    ] {
        let found = found(&intents, &[row(2, "t", 1000, reference, "")]);
        assert_eq!((found.proposals.len(), found.undecided.len()), (0, 1), "{reference}");
        let undecided = &found.undecided[0];
        let lines: Vec<_> = undecided.candidates.iter().flat_map(|it| it.lines.clone()).collect();
        let expected = if is_shown {
            (UndecidedReason::OtherReference, vec![2])
        } else {
            (UndecidedReason::NoRow, vec![])
        };
        assert_eq!((undecided.why, lines), expected, "{reference}");
    }
    // Another amount, and the row of another key.
    let other_amount = found(&intents, &[row(2, "t", 999, "INVOICE-17", "")]);
    assert_eq!(other_amount.undecided[0].why, UndecidedReason::OtherAmount);
    let others = [intents[0].clone(), intent("l", token(1000, Some("INVOICE-17")), unknown())];
    let of_another = found(&others, &[row(2, "t", 1000, "INVOICE-17", "")]);
    assert_eq!(of_another.undecided[0].why, UndecidedReason::NoRow);
    assert_eq!(proposed(&of_another), [("l", "t")]);
}

/// The processor, or a person there, has tried it again.
#[test]
fn reconciling_proposes_no_decline_of_what_was_charged_later() {
    let intents = [intent("k", token(1000, Some("r1")), unknown())];
    let declined = ReportRow { status: RowStatus::Declined, ..row(2, "t1", 1000, "r1", "") };
    let charged = |days: u32, amount, reference| {
        let at = start() + days * DAY;
        let time = ReportCell::Read(RowTime { earliest: at, latest: at });
        ReportRow { time, ..row(3, "t2", amount, reference, "") }
    };
    for (other, is_proposed) in [
        (charged(3, 1000, "r1"), false),
        (charged(3, 1000, "R-1"), false),
        (charged(9, 1000, "r1"), true),
        (charged(3, 999, "r1"), true),
        (charged(3, 1000, "r2"), true),
    ] {
        let found = found(&intents, &[declined.clone(), other.clone()]);
        assert_eq!(!found.proposals.is_empty(), is_proposed, "{other:?}");
        if !is_proposed {
            assert_eq!(found.undecided[0].why, UndecidedReason::SeveralRows);
            assert_eq!(found.undecided[0].candidates.len(), 2);
        }
    }
}

#[test]
fn reconciling_references_ignores_only_white_space() {
    let intents = [intent("k", token(1000, Some("invoice 17")), unknown())];
    for (reference, is_same) in
        [("invoice 17", true), (" invoice17", true), ("Invoice 17", false), ("17", false)]
    {
        let rows = [row(2, "t", 1000, reference, "")];
        assert_eq!(found(&intents, &rows).proposals.len(), usize::from(is_same), "{reference}");
    }
}

#[test]
fn reconciling_an_intent_with_an_id_takes_only_the_row_of_that_id() {
    let id = |text: &str| Some(TransactionId::new(text).unwrap());
    let unclear = |text| {
        Some(Ending::Unknown(Failure { transaction_id: id(text), ..Failure::of_kind("unclear_answer") }))
    };
    let intents = [intent("k", token(1000, Some("r1")), unclear("t1"))];
    let rows = [row(2, "t1", 1000, "r1", ""), row(3, "t2", 1000, "r1", "")];
    assert_eq!(proposed(&found(&intents, &rows)), [("k", "t1")]);
    assert_eq!(why(&found(&intents, &rows[1..])), [UndecidedReason::NoRow]);
    // The id alone is no proof if the rest of the row is another payment's.
    for contradicting in [row(2, "t1", 999, "r1", ""), row(2, "t1", 1000, "r2", "")] {
        assert_eq!(why(&found(&intents, &[contradicting])), [UndecidedReason::Contradiction]);
    }
    // What another intent was processed as is no candidate.
    let processed = Some(Ending::Processed(TransactionId::new("t1").unwrap()));
    let both = [intents[0].clone(), intent("other", token(1000, Some("r1")), processed)];
    assert_eq!(why(&found(&both, &rows)), [UndecidedReason::SeveralKeys]);
    let both = [intent("k", token(1000, Some("r1")), unknown()), both[1].clone()];
    assert_eq!(proposed(&found(&both, &rows)), [("k", "t2")]);
}

#[test]
fn reconciling_proposes_no_void_ach_or_fee_and_nothing_that_is_being_sent() {
    let fee = IntentRequest { convenience_fee: Some(ConvenienceFee::Active), ..token(1000, Some("r1")) };
    let ach = IntentRequest { subject: Subject::Account, ..card(1000, "") };
    let void = IntentRequest {
        operation: Some(OperationName::Void),
        subject: Subject::Transaction(TransactionId::new("t").unwrap()),
        amount: None,
        transaction_type: None,
        convenience_fee: None,
        reference: None,
    };
    let rows = [row(2, "t", 1000, "r1", "")];
    for (request, ending, expected) in [
        (fee, unknown(), UndecidedReason::Fee),
        (ach, unknown(), UndecidedReason::Ach),
        (void, unknown(), UndecidedReason::Void),
        (token(1000, Some("r1")), None, UndecidedReason::Sending),
    ] {
        let found = found(&[intent("k", request, ending)], &rows);
        assert_eq!((why(&found), proposed(&found)), (vec![expected], vec![]));
    }
}

#[test]
fn reconciling_shows_charges_that_the_journal_cannot_explain() {
    let rejected = |id: Option<&str>| {
        let transaction_id = id.map(|id| TransactionId::new(id).unwrap());
        Some(Ending::Rejected(Failure { transaction_id, ..Failure::of_kind("rejected") }))
    };
    let rows = [row(2, "t", 1000, "r1", ""), row(3, "u", 1000, "r1", "")];
    for ending in
        [rejected(None), rejected(Some("t")), Some(Ending::NotProcessed(Failure::of_kind("connect")))]
    {
        let found = found(&[intent("k", token(1000, Some("r1")), ending)], &rows[..1]);
        assert_eq!(
            (proposed(&found), found.unexplained.len(), found.proposals.len()),
            (vec![("k", "t")], 1, 0)
        );
        assert_eq!((found.foreign, found.undecided), (vec![], vec![]));
    }
    // Two charges for one key: which of them is a mistake, a person must find out.
    for ending in [unknown(), rejected(None)] {
        let is_unknown = ending == unknown();
        let found = found(&[intent("k", token(1000, Some("r1")), ending)], &rows);
        assert_eq!((found.unexplained.len(), found.undecided.len()), (1, usize::from(is_unknown)));
        assert_eq!((&found.unexplained[0].rows, proposed(&found)), (&vec![vec![2], vec![3]], vec![]));
    }
    // One charge, and two keys that were both rejected.
    let two = ["k", "l"].map(|key| intent(key, token(1000, Some("r1")), rejected(None)));
    let found = found(&two, &rows[..1]);
    assert_eq!(
        (found.unexplained.len(), found.unexplained[0].attempts.len(), proposed(&found)),
        (1, 2, vec![])
    );
    // A refund is no charge.
    let foreign = self::found(&[], &[row(2, "t", 1000, "", ""), row(3, "u", -1000, "", "")]);
    assert_eq!(foreign.foreign, [2]);
}

#[test]
fn reconciling_proposes_nothing_by_the_amount_alone() {
    let other = row(9, "other", 1, "r9", "9999");
    let without = |cell: fn(&mut ReportRow) -> &mut ReportCell<String>| {
        let mut rows = [row(2, "t", 1000, "", ""), other.clone()];
        for row in &mut rows {
            *cell(row) = ReportCell::Absent;
        }
        rows
    };
    for (request, rows) in [
        (token(1000, None), [row(2, "t", 1000, "", ""), other.clone()]),
        (token(1000, Some("r1")), without(|row| &mut row.reference)),
        (card(1000, "4242"), without(|row| &mut row.last_four)),
    ] {
        let found = found(&[intent("k", request, unknown())], &rows);
        assert_eq!((proposed(&found), why(&found)), (vec![], vec![UndecidedReason::AmountOnly]));
        assert_eq!(found.undecided[0].candidates[0].lines, [2]);
    }
}

#[test]
fn reconciling_proposes_no_row_that_may_be_a_lost_key() {
    let lost = |found: Option<&Intent>, key: &str, since: SystemTime| {
        let at = start() + HOUR;
        let lost = Change::lost(IntentKey::new(key).unwrap(), since, OwnerId::new(), "ada", at);
        lost.decide(found).unwrap()
    };
    let rows = [row(2, "t", 1000, "r1", "4242")];
    let not_sent = Some(Ending::NotProcessed(Failure::of_kind("connect")));
    let other_card = intent("lost", card(1000, "1111"), not_sent.clone());
    let other_amount = intent("lost", card(2000, "1111"), not_sent.clone());
    let other_reference = intent("lost", token(1000, Some("r2")), not_sent);
    for (lost, may_be) in [
        (lost(None, "lost", start()), true),
        // Its window begins after the row.
        (lost(None, "lost", start() + HOUR), false),
        // Another card may have followed a rejection, but no other amount and no other reference.
        (lost(Some(&other_card), "lost", start()), true),
        (lost(Some(&other_amount), "lost", start()), false),
        (lost(Some(&other_reference), "lost", start()), false),
    ] {
        for request in [token(1000, Some("r1")), card(1000, "4242")] {
            let found = found(&[intent("k", request.clone(), unknown()), lost.clone()], &rows);
            let k = found.undecided.iter().find(|it| it.attempt.key.as_str() == "k");
            let others = k.map(|k| (k.why, k.candidates[0].other_keys[0].as_str()));
            assert_eq!(others, may_be.then_some((UndecidedReason::SeveralKeys, "lost")), "{lost:?}");
            assert_eq!(found.proposals.is_empty(), may_be);
        }
        // A charge of a rejected key is shown too.
        let rejected = Some(Ending::Rejected(Failure::of_kind("rejected")));
        let found = found(&[intent("k", card(1000, "4242"), rejected), lost], &rows);
        assert_eq!((found.unexplained.len(), proposed(&found).is_empty()), (1, may_be));
    }
    let alone = found(&[lost(None, "lost", start())], &rows);
    assert_eq!((why(&alone), alone.foreign), (vec![UndecidedReason::Lost], vec![2]));
}

#[test]
fn reconciling_shows_a_second_charge_of_a_known_one() {
    let known = |id| Some(Ending::Processed(TransactionId::new(id).unwrap()));
    let intents = [intent("k", token(1000, Some("inv-17")), known("t1"))];
    // As this processor writes its references.
    let rows = [row(2, "t1", 1000, "INV17", ""), row(3, "t2", 1000, "INV17", "")];
    assert_eq!(shown(&found(&intents, &rows)), [(vec!["k"], vec![vec![2], vec![3]])]);

    let processed = || Some(Ending::Processed(TransactionId::new("t").unwrap()));
    let own = row(2, "t", 1000, "r1", "4242");
    let again = |id: &str| row(3, id, 1000, "r1", "4242");
    let late = RowTime { earliest: start() + 3 * DAY, latest: start() + 3 * DAY };
    let intents = [intent("k", token(1000, Some("r1")), processed())];
    for (intents, rows, expected) in [
        (&intents[..], vec![own.clone(), again("u")], vec![vec![vec![2], vec![3]]]),
        // Its own row is not there: the report may have other ids.
        (&intents, vec![again("u")], vec![]),
        (&intents, vec![own.clone(), row(3, "u", 1000, "r2", "4242")], vec![]),
        (&intents, vec![own.clone(), row(3, "u", 999, "r1", "4242")], vec![]),
        (&intents, vec![own.clone(), ReportRow { time: ReportCell::Read(late), ..again("u") }], vec![]),
        (&intents, vec![own.clone(), ReportRow { status: RowStatus::Declined, ..again("u") }], vec![]),
        // Two purchases of one amount with one card are no rarity.
        (&[intent("k", card(1000, "4242"), processed())], vec![own, again("u")], vec![]),
    ] {
        let found = found(intents, &rows);
        let shown: Vec<_> = found.unexplained.iter().map(|it| it.rows.clone()).collect();
        assert_eq!((shown, proposed(&found)), (expected.clone(), vec![]), "{rows:?}");
        let charged = rows.iter().any(|row| row.line == 3 && row.status == RowStatus::Charged);
        assert!(!charged || found.foreign.len() + expected.len() == 1, "{rows:?}");
    }
}

/// The keys and the lines of what is unexplained.
fn shown(found: &Reconciliation) -> Vec<(Vec<&str>, Vec<Vec<u64>>)> {
    let shown = found.unexplained.iter();
    shown.map(|it| (it.attempts.iter().map(|it| it.key.as_str()).collect(), it.rows.clone())).collect()
}

/// What a person may believe to be settled.
#[test]
fn reconciling_shows_what_contradicts_a_processed_key() {
    let processed = |id: &str| Some(Ending::Processed(TransactionId::new(id).unwrap()));
    let token =
        |key: &str, id: &str, reference: &str| intent(key, token(900, Some(reference)), processed(id));
    let k = || token("k", "t", "r1");
    let with_fee =
        IntentRequest { convenience_fee: Some(ConvenienceFee::Active), ..self::token(900, Some("r1")) };
    let auth = IntentRequest { transaction_type: Some(TransactionType::Auth), ..card(900, "4242") };
    let declined = |row: ReportRow| ReportRow { status: RowStatus::Declined, ..row };
    let own = || row(2, "t", 900, "r1", "");
    let one = || vec![(vec!["k"], vec![vec![2]])];
    for (intents, rows, expected) in [
        (vec![k()], vec![own()], vec![]),
        (vec![k()], vec![row(2, "t", 9000, "r1", "")], one()),
        (vec![k()], vec![declined(own())], one()),
        // A part was refunded, or the rows of the transaction are of several steps.
        (vec![k()], vec![own(), row(3, "t", -400, "r1", "")], vec![]),
        (vec![k()], vec![own(), declined(row(3, "t", 900, "r1", ""))], vec![]),
        // A column that is not the caller's reference, and one that is another key's.
        (vec![k()], vec![row(2, "t", 900, "batch 7", "")], vec![]),
        (vec![k(), token("l", "u", "r2")], vec![row(2, "t", 900, "r2", "")], one()),
        (vec![intent("k", with_fee, processed("t"))], vec![row(2, "t", 927, "r1", "")], vec![]),
        (vec![intent("k", auth, processed("t"))], vec![row(2, "t", 400, "", "4242")], vec![]),
        (vec![intent("k", card(900, "4242"), processed("t"))], vec![row(2, "t", 901, "", "4242")], one()),
        // Three keys share one transaction.
        (
            vec![k(), token("l", "t", "r1"), token("m", "t", "r1")],
            vec![own()],
            vec![(vec!["k", "l", "m"], vec![vec![2]])],
        ),
    ] {
        let found = found(&intents, &rows);
        assert_eq!((shown(&found), proposed(&found)), (expected, vec![]), "{rows:?}");
        assert_eq!((found.undecided, found.foreign), (vec![], vec![]));
    }
}

/// After both were recorded, as before.
#[test]
fn reconciling_shows_two_charges_of_one_key_that_are_both_recorded() {
    let unknown = intent("k", token(900, Some("r1")), unknown());
    let resolve = |read: &Intent, said: Resolution| {
        Change::resolve(read, said.note("found"), start() + HOUR).decide(Some(read)).unwrap()
    };
    let id = |text: &str| TransactionId::new(text).unwrap();
    let written_off = resolve(&unknown, Resolution::not_processed("ada"));
    let (attempt, at) = (AttemptId::new(), start() + 2 * HOUR);
    let new = NewAttempt {
        begin: Begin::First,
        service: SERVICE.to_owned(),
        request: token(900, Some("r1")),
        attempt_id: attempt.clone(),
        owner: OwnerId::new(),
    };
    let begin = Change::begin(unknown.key, new, at);
    let begun = begin.decide(Some(&written_off)).unwrap();
    let charged = Change::end(begun.key.clone(), attempt.clone(), Ending::Processed(id("u")), at);
    let charged = charged.decide(Some(&begun)).unwrap();
    let later = ReportCell::Read(RowTime { earliest: at, latest: at });
    let rows = [row(2, "t", 900, "r1", ""), ReportRow { time: later, ..row(3, "u", 900, "r1", "") }];
    let both = resolve(&charged, Resolution::processed(id("t"), "ada").of_attempt(1));
    assert_eq!(shown(&found(&[both], &rows)), [(vec!["k", "k"], vec![vec![2], vec![3]])]);
    // The newest is still unknown, and its row is proposed.
    let lost = Change::end(begun.key.clone(), attempt, Ending::Unknown(Failure::of_kind("timeout")), at);
    let lost = lost.decide(Some(&begun)).unwrap();
    let one = resolve(&lost, Resolution::processed(id("t"), "ada").of_attempt(1));
    let found = found(&[one], &rows);
    assert_eq!((proposed(&found), found.unexplained.len()), (vec![("k", "u")], 1));
}

/// A charge that a person named and took back is nobody's, unless it is another key's.
#[test]
fn reconciling_shows_a_charge_that_a_person_has_taken_back() {
    let id = |text: &str| TransactionId::new(text).unwrap();
    let resolve = |read: &Intent, said: Resolution| {
        Change::resolve(read, said.note("found"), start() + HOUR).decide(Some(read)).unwrap()
    };
    let named = |key: &str, reference: &str, named: &str| {
        let read = intent(key, token(900, Some(reference)), unknown());
        resolve(&read, Resolution::processed(id(named), "ada"))
    };
    let rows = [row(2, "t", 900, "r1", ""), row(3, "u", 900, "r1", "")];
    let not_processed = resolve(&named("k", "r1", "t"), Resolution::not_processed("ada"));
    let corrected = resolve(&named("k", "r1", "t"), Resolution::processed(id("u"), "ada"));
    let other = named("l", "r1", "t");
    assert_eq!(shown(&found(&[not_processed.clone()], &rows[..1])), [(vec!["k"], vec![vec![2]])]);
    assert_eq!(shown(&found(&[corrected.clone()], &rows)), [(vec!["k"], vec![vec![2], vec![3]])]);
    assert_eq!(shown(&found(&[corrected, other.clone()], &rows)), []);
    assert_eq!(shown(&found(&[not_processed, other], &rows[..1])), []);
}

/// Its status decides nothing, and nobody would see it otherwise.
#[test]
fn reconciling_lists_rows_that_may_be_a_charge_by_a_status_that_nobody_named() {
    let processed = Some(Ending::Processed(TransactionId::new("t").unwrap()));
    let rejected = Some(Ending::Rejected(Failure::of_kind("rejected")));
    let captured = |row: ReportRow| ReportRow { status: RowStatus::Other, ..row };
    let own = row(2, "t", 900, "r1", "");
    for (ending, rows, expected) in [
        (processed.clone(), vec![own.clone(), captured(row(3, "u", 900, "r1", ""))], vec![3]),
        (
            processed.clone(),
            vec![own.clone(), captured(row(3, "u", 900, "r1", "")), row(4, "u", 900, "r1", "")],
            vec![3],
        ),
        (processed.clone(), vec![own.clone(), captured(row(3, "u", 900, "r2", ""))], vec![]),
        (processed, vec![captured(own.clone())], vec![]),
        (rejected, vec![captured(own.clone())], vec![2]),
        (unknown(), vec![captured(own)], vec![]),
    ] {
        let found = found(&[intent("k", token(900, Some("r1")), ending)], &rows);
        assert_eq!(
            (found.doubtful, found.unexplained, found.foreign),
            (expected, vec![], vec![]),
            "{rows:?}"
        );
    }
}

/// A second charge stays one if a part of it was given back.
#[test]
fn reconciling_contradicted_charge_is_an_alarm_and_no_proposal() {
    let processed = Some(Ending::Processed(TransactionId::new("t").unwrap()));
    let rejected = Some(Ending::Rejected(Failure::of_kind("rejected")));
    let contradicted = |row: ReportRow| ReportRow { is_contradicted: true, ..row };
    let own = row(2, "t", 900, "r1", "");
    let again = contradicted(row(3, "u", 900, "r1", ""));
    for (ending, rows, unexplained, foreign) in [
        (processed.clone(), vec![own.clone(), again.clone()], 1, 0),
        (processed.clone(), vec![own.clone(), again.clone(), row(4, "u", 900, "r1", "")], 1, 0),
        (processed, vec![own.clone(), contradicted(row(3, "u", 900, "r2", ""))], 0, 1),
        (rejected, vec![again.clone()], 1, 0),
        (unknown(), vec![own, again.clone()], 1, 0),
        (unknown(), vec![again.clone()], 0, 0),
        (unknown(), vec![again, row(4, "u", 900, "r1", "")], 0, 0),
    ] {
        let found = found(&[intent("k", token(900, Some("r1")), ending)], &rows);
        assert_eq!((found.unexplained.len(), found.foreign.len()), (unexplained, foreign), "{rows:?}");
        assert_eq!(found.all_proposals().count(), 0, "{rows:?}");
    }
}

#[test]
fn reconciling_rows_with_one_id_are_one_row_unless_they_differ() {
    let intents = [intent("k", token(1000, Some("r1")), unknown())];
    let doubled = [row(2, "t", 1000, "r1", ""), row(9, "t", 1000, "r1", "")];
    assert_eq!(found(&intents, &doubled).proposals[0].lines, [2, 9]);
    let refunded = [row(2, "t", 1000, "r1", ""), row(9, "t", -1000, "r1", "")];
    assert_eq!(why(&found(&intents, &refunded)), [UndecidedReason::UnreadableRow]);
}

#[test]
fn reconciling_calls_a_key_missing_only_if_nothing_resembles_it() {
    let complete = Some((start() - 3 * DAY, start() + 4 * DAY));
    let options = ReconcileOptions { complete, ..ReconcileOptions::default() };
    let missing = |request: IntentRequest, rows: &[ReportRow], options: &ReconcileOptions| {
        let intents = [intent("k", request, unknown())];
        let found = reconcile(&intents, rows, options);
        assert_eq!(found.missing.len() + found.undecided.len(), 1);
        assert_eq!(found.proposals, []);
        !found.missing.is_empty()
    };
    let sale = || token(1000, Some("r1"));
    let other = row(2, "t", 555, "r9", "9999");
    assert!(missing(sale(), &[other.clone()], &options));
    assert!(missing(card(1000, "4242"), &[other.clone()], &options));
    let auth = IntentRequest { transaction_type: Some(TransactionType::Auth), ..card(1000, "4242") };
    assert!(!missing(auth, &[other.clone()], &options), "an authorization is in no settlement");
    assert!(!missing(sale(), &[other.clone()], &ReconcileOptions::default()));
    let late = |row: ReportRow| {
        let time = start() + 60 * DAY;
        ReportRow { time: ReportCell::Read(RowTime { earliest: time, latest: time }), ..row }
    };
    for resembling in [
        late(row(2, "t", 1000, "r9", "9999")),
        late(row(2, "t", 555, "r1", "9999")),
        // A key with another amount, as with a surcharge.
        row(2, "t", 1027, "R-1", "9999"),
        row(2, "t", 1027, "#r 1", ""),
        ReportRow { amount: ReportCell::Unreadable, ..other.clone() },
        ReportRow { reference: ReportCell::Unreadable, ..other.clone() },
    ] {
        assert!(!missing(sale(), &[resembling.clone()], &options), "{resembling:?}");
    }
    for complete in [(start() - 2 * DAY, start() + 4 * DAY), (start() - 3 * DAY, start() + 3 * DAY - HOUR)] {
        assert!(!missing(
            sale(),
            &[other.clone()],
            &ReconcileOptions { complete: Some(complete), ..options.clone() }
        ));
    }
}

#[tokio::test]
async fn reconciling_compares_one_service() {
    let store = MemoryStore::new();
    let journal = Journal::open(store).await.unwrap();
    let now = RowTime { earliest: SystemTime::now(), latest: SystemTime::now() };
    let rows = [ReportRow { time: ReportCell::Read(now), ..row(2, "t", 1000, "r1", "") }];
    let nothing = journal.reconcile(&rows, &ReconcileOptions::default()).await.unwrap();
    assert_eq!((nothing.service, nothing.foreign), (None, vec![2]));
    for (key, service) in [("k", SERVICE), ("l", "https://sandbox.example.com")] {
        let new = NewAttempt {
            begin: Begin::First,
            service: service.to_owned(),
            request: token(1000, Some("r1")),
            attempt_id: AttemptId::new(),
            owner: journal.store().owner().clone(),
        };
        assert!(journal.begin(&IntentKey::new(key).unwrap(), &new).await.is_ok());
    }
    let refused = journal.reconcile(&rows, &ReconcileOptions::default()).await.unwrap_err().to_string();
    assert!(refused.contains(SERVICE) && refused.contains("https://sandbox.example.com"), "{refused}");
    let mut options = ReconcileOptions { service: Some(SERVICE.to_owned()), ..ReconcileOptions::default() };
    let found = journal.reconcile(&rows, &options).await.unwrap();
    assert_eq!((found.service.as_deref(), found.undecided[0].attempt.key.as_str()), (Some(SERVICE), "k"));
    assert_eq!(found.undecided[0].candidates.len(), 1);
    let (now, hour) = (SystemTime::now(), Duration::from_hours(1));
    for (complete, is_refused) in [(Some((now - hour, now)), false), (Some((now - hour, now + hour)), true)] {
        let found = journal.reconcile(&rows, &ReconcileOptions { complete, ..options.clone() }).await;
        assert_eq!(found.is_err_and(|error| error.is_refused()), is_refused);
    }
    options.service = Some("https://typo.example.com".to_owned());
    assert!(journal.reconcile(&rows, &options).await.is_err());
}

/// The report of another merchant of the same base URL, by mistake.
#[test]
fn reconciling_names_the_key_of_another_merchant_and_proposes_no_row_of_it_d47() {
    let processed = |id: &str| Some(Ending::Processed(TransactionId::new(id).unwrap()));
    let declined = |id: &str| {
        let transaction_id = Some(TransactionId::new(id).unwrap());
        Some(Ending::Rejected(Failure { transaction_id, ..Failure::of_kind("rejected") }))
    };
    let at = |label: &str, intent: Intent| Intent { service: Some(format!("{SERVICE}{label}")), ..intent };
    let request = || token(1000, Some("r1"));
    let mut answered = Failure::of_kind("unclear_answer");
    answered.transaction_id = Some(TransactionId::new("t").unwrap());
    let options = ReconcileOptions {
        service: Some(format!("{SERVICE}#books")),
        complete: Some((start() - 3 * DAY, start() + 4 * DAY)),
        ..ReconcileOptions::default()
    };
    let rows = [row(2, "t", 1000, "r1", "")];
    for (toys, is_of_toys) in [
        (at("#toys", intent("toys", request(), processed("t"))), true),
        (at("", intent("toys", request(), processed("t"))), true),
        (at("#toys", intent("toys", request(), declined("t"))), true),
        (at("#toys", intent("toys", request(), unknown())), false),
        (at(".example.org#toys", intent("toys", request(), processed("t"))), false),
    ] {
        let books = at("#books", intent("books", request(), unknown()));
        let found = reconcile(&[books, toys.clone()], &rows, &options);
        let others = found.other_merchants.iter();
        let others: Vec<_> = others.map(|it| (&*it.lines, it.key.as_str(), Some(&it.service))).collect();
        if is_of_toys {
            assert_eq!(others, [(&[2][..], "toys", toys.service.as_ref())]);
            assert_eq!((proposed(&found), why(&found)), (vec![], vec![UndecidedReason::NoRow]));
            assert_eq!((found.undecided[0].candidates.len(), found.foreign.len()), (0, 0));
            // Nor is a payment missing in the report of another merchant.
            let books = at("#books", intent("books", token(555, Some("r2")), unknown()));
            let found = reconcile(&[toys.clone(), books.clone()], &rows, &options);
            assert_eq!((&*found.missing, why(&found)), (&[][..], vec![UndecidedReason::NoRow]));
            // A report may be of both.
            let both = at("#books", intent("own", token(7, Some("r3")), processed("u")));
            let rows = [rows[0].clone(), row(3, "u", 7, "r3", "")];
            let found = reconcile(&[toys, books, both], &rows, &options);
            assert_eq!((found.missing.len(), found.other_merchants.len()), (1, 1));
        } else {
            assert_eq!((others, proposed(&found)), (vec![], vec![("books", "t")]));
        }
    }
    let toys = || at("#toys", intent("toys", request(), processed("t")));
    // The service itself has named it for both.
    let books = at("#books", intent("books", request(), Some(Ending::Unknown(answered))));
    let found = reconcile(&[books, toys()], &rows, &options);
    assert_eq!((proposed(&found), why(&found)), (vec![], vec![UndecidedReason::SeveralKeys]));
    // One charge is the payment of two keys.
    let books = at("#books", intent("books", request(), processed("t")));
    let found = reconcile(&[books, toys()], &rows, &options);
    assert_eq!(shown(&found), [(vec!["books", "toys"], vec![vec![2]])]);
}

/// Among them are many rows and keys of one amount and card at one time, of which no comparison of all with all is fast.
#[test]
fn reconciling_100_000_rows_with_10_000_unknown_keys_is_fast() {
    let many = |index: usize| index.is_multiple_of(2);
    let request = |index: usize| {
        if many(index) { card(1000, "4242") } else { token(1000, Some(&format!("r{index}"))) }
    };
    let intents: Vec<_> =
        (0..10_000).map(|index| intent(&format!("k{index}"), request(index), unknown())).collect();
    let rows: Vec<_> = (0..100_000_usize)
        .map(|index| {
            let reference = if many(index) { String::new() } else { format!("r{index}") };
            let last_four = if many(index) { "4242" } else { "1111" };
            row(2 + index as u64, &format!("t{index}"), 1000, &reference, last_four)
        })
        .collect();
    let begun = Instant::now();
    let found = found(&intents, &rows);
    let took = begun.elapsed();
    println!("100 000 rows and 10 000 unknown keys: {took:?}");
    assert_eq!((found.proposals.len(), found.undecided.len()), (5000, 5000));
    // Without optimization, and beside other tests.
    let limit = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 2 });
    assert!(took < limit, "{took:?}");
}
