//! Random ledgers, of which each payment's end is known, against what a journal knows of them.
//!
//! `RECONCILED_LEDGERS=100000` and `RECONCILED_SEED=7` choose the number of ledgers and the first seed.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::time::{Duration, SystemTime};

use payments_core::model::{Amount, ConvenienceFee, TransactionId};

use super::super::*;
use super::{DAY, HOUR, card, found, new_attempt, start, token};
use crate::{
    Begin, Change, Ending, Failure, Intent, IntentKey, IntentRequest, OwnerId, Resolution, Subject, Verdict,
};

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
    row.id.value().is_some()
        && row.amount.value().is_some()
        && row.time.value().is_some()
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
            let at = start() - 31 * DAY + random.one_of(&[0, 31, 62]) * DAY;
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
            let new =
                new_attempt(if number == 1 { Begin::Plain } else { Begin::AfterRejection }, request.clone());
            let attempt = new.attempt_id.clone();
            let begun = Change::begin(name.clone(), new, begun_at).decide(intent.as_ref());
            let begun = begun.expect("it begins");

            let happened = random.below(10);
            let id = self.new_id();
            let is_reached = happened < 8;
            let is_charged = happened < 6;
            if is_reached {
                let late = if random.percent(10) { 3 * DAY } else { Duration::ZERO };
                let at = begun_at + late + random.within(2 * HOUR);
                let attempt = Some((key, number));
                self.truths.push(Truth { attempt, request: request.clone(), id: id.clone(), at, is_charged });
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
                super::end(&begun, ending, end)
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
            row.time.value().is_none_or(|time| time.earliest <= seen.to && time.latest >= seen.from);
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
            let same = transactions.iter_mut().find(|rows| row.id.value().is_some() && rows[0].id == row.id);
            match same {
                Some(rows) => rows.push(row),
                None => transactions.push(vec![row]),
            }
        }
        let owners = |rows: &[&ReportRow]| {
            let id = rows[0].id.value();
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
                let Some(rows) = transactions.iter().find(|rows| rows[0].id.value() == Some(id)) else {
                    continue;
                };
                let is_amount = rows.iter().all(|row| row.amount.value() == newest.request.amount.as_ref());
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
            let id = row[0].id.value().unwrap().clone();
            let is_newest = |seen: &Seen| seen.number == newest.number;
            let is_contradicted = row.iter().any(|row| row.is_contradicted);
            let tried_again = Seen { to: newest.to + 7 * 24 * HOUR, ..newest.clone() };
            let is_charged_later = matches!(&newest.request.reference, Some(reference)
            if transactions.iter().any(|rows| {
                owners(rows).is_empty()
                    && is_clear(rows)
                    && rows[0].status == RowStatus::Charged
                    && rows[0].reference.value() == Some(reference)
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
        let rows_of = |id: &TransactionId| {
            self.rows.iter().filter(|row| row.id.value() == Some(id)).collect::<Vec<_>>()
        };
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
                        && row.amount.value().is_some_and(|shown| Some(*shown) != seen.request.amount)
                };
                let is_others = |row: &&ReportRow| {
                    row.reference.value().is_some_and(|shown| {
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
            world.processed.iter().any(|(.., id)| row.id.value() == Some(id))
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
