//! Small reports, and what is said about each of them. [`ledgers`] has random ones.

#![allow(clippy::similar_names, reason = "begin and begun are the journal's own words")]
#![allow(clippy::struct_excessive_bools, reason = "the facts about an attempt are independent")]
#![allow(clippy::unnecessary_wraps, reason = "an attempt that has not ended has no ending")]

mod ledgers;

use std::slice;
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

fn with_fee(request: IntentRequest) -> IntentRequest {
    IntentRequest { convenience_fee: Some(ConvenienceFee::Active), ..request }
}

fn authorization(request: IntentRequest) -> IntentRequest {
    IntentRequest { transaction_type: Some(TransactionType::Auth), ..request }
}

fn new_attempt(begin: Begin, request: IntentRequest) -> NewAttempt {
    let (attempt_id, owner) = (AttemptId::new(), OwnerId::new());
    NewAttempt { begin, service: SERVICE.to_owned(), request, attempt_id, owner }
}

/// An intent with one attempt, which begins at the start and ends a second later, unless it stays being sent.
fn intent(key: &str, request: IntentRequest, ending: Option<Ending>) -> Intent {
    let begin = Change::begin(IntentKey::new(key).unwrap(), new_attempt(Begin::Plain, request), start());
    let begun = begin.decide(None).unwrap();
    match ending {
        Some(ending) => end(&begun, ending, start() + Duration::from_secs(1)),
        None => begun,
    }
}

fn end(begun: &Intent, ending: Ending, at: SystemTime) -> Intent {
    Change::end_of(begun.clone(), ending, at).decide(Some(begun)).unwrap()
}

fn resolve(read: &Intent, said: Resolution) -> Intent {
    Change::resolve(read, said.note("found"), start() + HOUR).decide(Some(read)).unwrap()
}

/// The intent of most tests.
fn k(ending: Option<Ending>) -> Intent {
    intent("k", token(1000, Some("r1")), ending)
}

/// Another with the same payment.
fn l(ending: Option<Ending>) -> Intent {
    intent("l", token(1000, Some("r1")), ending)
}

fn id(text: &str) -> TransactionId {
    TransactionId::new(text).unwrap()
}

fn unknown() -> Option<Ending> {
    Some(Ending::Unknown(Failure::of_kind("timeout")))
}

fn unclear(text: &str) -> Option<Ending> {
    Some(Ending::Unknown(Failure { transaction_id: Some(id(text)), ..Failure::of_kind("unclear_answer") }))
}

fn processed(text: &str) -> Option<Ending> {
    Some(Ending::Processed(id(text)))
}

fn rejected() -> Option<Ending> {
    Some(Ending::Rejected(Failure::of_kind("rejected")))
}

fn rejected_as(text: &str) -> Option<Ending> {
    Some(Ending::Rejected(Failure { transaction_id: Some(id(text)), ..Failure::of_kind("rejected") }))
}

fn not_sent() -> Option<Ending> {
    Some(Ending::NotProcessed(Failure::of_kind("connect")))
}

fn row(line: u64, id: &str, amount: i64, reference: &str, last_four: &str) -> ReportRow {
    let cell =
        |text: &str| if text.is_empty() { ReportCell::Empty } else { ReportCell::Read(text.to_owned()) };
    ReportRow {
        line,
        id: ReportCell::Read(self::id(id)),
        amount: ReportCell::Read(Amount::from_cents(amount)),
        reference: cell(reference),
        last_four: cell(last_four),
        time: ReportCell::Read(RowTime { earliest: start(), latest: start() }),
        status: RowStatus::Charged,
        is_contradicted: false,
    }
}

/// The row of most tests, which is that of [`k`].
fn t() -> ReportRow {
    row(2, "t", 1000, "r1", "4242")
}

/// The same as another transaction.
fn u() -> ReportRow {
    row(3, "u", 1000, "r1", "4242")
}

fn at(time: SystemTime, row: ReportRow) -> ReportRow {
    ReportRow { time: ReportCell::Read(RowTime { earliest: time, latest: time }), ..row }
}

fn later(days: u32, row: ReportRow) -> ReportRow {
    at(start() + days * DAY, row)
}

fn with_status(status: RowStatus, row: ReportRow) -> ReportRow {
    ReportRow { status, ..row }
}

fn declined(row: ReportRow) -> ReportRow {
    with_status(RowStatus::Declined, row)
}

fn contradicted(row: ReportRow) -> ReportRow {
    ReportRow { is_contradicted: true, ..row }
}

fn found(intents: &[Intent], rows: &[ReportRow]) -> Reconciliation {
    reconcile(intents, rows, &ReconcileOptions::default())
}

/// All that was found, in short, each thing with the lines of its rows.
fn said(found: &Reconciliation) -> String {
    let name = |it: &ReconciledAttempt| match it.attempt {
        1 => it.key.to_string(),
        number => format!("{}/{number}", it.key),
    };
    let proposed = |it: &Proposal| {
        let key = name(&it.attempt);
        match &it.verdict {
            Verdict::Processed(id) => format!("{key} is {id} {:?}", it.lines),
            Verdict::Rejected(Some(id)) => format!("{key} was declined as {id} {:?}", it.lines),
            verdict => panic!("{verdict:?}"),
        }
    };
    let mut said: Vec<String> = found.proposals.iter().map(proposed).collect();
    for it in &found.undecided {
        let mut words = vec![name(&it.attempt), format!("{:?}", it.why)];
        for candidate in &it.candidates {
            words.push(format!("{:?}", candidate.lines));
            words.extend(candidate.other_keys.iter().map(|key| format!("or {key}")));
        }
        said.push(words.join(" "));
    }
    said.extend(found.missing.iter().map(|it| format!("{} is missing", name(it))));
    for it in &found.unexplained {
        let keys: Vec<_> = it.attempts.iter().map(name).collect();
        let rows: Vec<_> = it.rows.iter().map(|lines| format!("{lines:?}")).collect();
        let proposal = it.proposal.as_ref().map(|it| format!(": {}", proposed(it))).unwrap_or_default();
        said.push(format!("{} unexplained {}{proposal}", keys.join(", "), rows.join(" ")));
    }
    for it in &found.other_merchants {
        said.push(format!("{} of {} has {:?}", it.key, it.service, it.lines));
    }
    let lines =
        [("foreign", &found.foreign), ("doubtful", &found.doubtful), ("unreadable", &found.unreadable)];
    let lines = lines.iter().filter(|(_, lines)| !lines.is_empty());
    said.extend(lines.map(|(what, lines)| format!("{what} {lines:?}")));
    said.join("; ")
}

/// Checks all that is said about these intents and rows.
#[track_caller]
fn assert_said<const N: usize>(cases: [(Vec<Intent>, Vec<ReportRow>, &str); N]) {
    for (intents, rows, expected) in cases {
        assert_eq!(said(&found(&intents, &rows)), expected, "{rows:#?} and {intents:#?}");
    }
}

#[test]
fn reconciling_ends_the_window_where_it_says() {
    let (minute, second) = (Duration::from_mins(1), Duration::from_secs(1));
    for (time, is_in) in [
        (start() - 5 * minute, true),
        (start() - 5 * minute - second, false),
        (start() + second + DAY, true),
        (start() + 2 * second + DAY, false),
    ] {
        let found = found(&[k(unknown())], &[at(time, t())]);
        assert_eq!(found.proposals.len(), usize::from(is_in), "{time:?}");
    }
    let longer = ReconcileOptions { within: 2 * DAY, ..ReconcileOptions::default() };
    assert_eq!(said(&reconcile(&[k(unknown())], &[later(2, t())], &longer)), "k is t [2]");
}

/// Who reads that no row agrees may believe that nothing was charged.
#[test]
fn reconciling_shows_a_row_that_agrees_but_for_its_amount_its_time_or_how_its_reference_is_written() {
    let asked = || token(1000, Some("invoice 17"));
    let t = |amount, reference| row(2, "t", amount, reference, "");
    let yesterday = |row| at(start() - DAY, row);
    for (row, expected) in [
        (t(1000, "invoice 17"), "k is t [2]"),
        (t(1000, " invoice17"), "k is t [2]"),
        (t(1000, "Invoice 17"), "k OtherReference [2]; foreign [2]"),
        (t(1000, "INVOICE-17"), "k OtherReference [2]; foreign [2]"),
        (t(1000, "ACME invoice 17"), "k OtherReference [2]; foreign [2]"),
        (t(1000, "INVOICE-"), "k OtherReference [2]; foreign [2]"),
        // A spreadsheet writes `17` for `0017`.
        (t(1000, "invoice-18"), "k NoRow [2]; foreign [2]"),
        (t(1000, "17"), "k NoRow [2]; foreign [2]"),
        (t(971, "invoice 17"), "k OtherAmount [2]; foreign [2]"),
        (later(5, t(971, "invoice 17")), "k OtherAmount [2]; foreign [2]"),
        (t(100_000, "INVOICE-17"), "k OtherAmount [2]; foreign [2]"),
        (with_status(RowStatus::Other, t(-1000, "invoice 17")), "k OtherAmount [2]"),
        (later(5, t(1000, "invoice 17")), "k OtherTime [2]; foreign [2]"),
        // A clock may be wrong.
        (yesterday(t(1000, "INVOICE-17")), "k OtherTime [2]; foreign [2]"),
        (t(971, "invoice 18"), "k is missing; foreign [2]"),
        // It was there before the payment was sent.
        (yesterday(t(971, "invoice 17")), "k NoRow; foreign [2]"),
    ] {
        let complete = Some((start() - 9 * DAY, start() + 9 * DAY));
        for complete in [None, complete] {
            let options = ReconcileOptions { complete, ..ReconcileOptions::default() };
            let found = reconcile(&[intent("k", asked(), unknown())], slice::from_ref(&row), &options);
            let expected =
                if complete.is_none() { &*expected.replace("is missing", "NoRow") } else { expected };
            assert_eq!(said(&found), expected, "{row:?}");
        }
    }
    assert_said([
        // For which nothing is proposed.
        (
            vec![intent("k", with_fee(asked()), unknown())],
            vec![later(5, t(1030, "invoice 17"))],
            "k Fee [2]; foreign [2]",
        ),
        (vec![intent("k", asked(), None)], vec![t(971, "invoice 17")], "k Sending [2]; foreign [2]"),
        // A wallet pays with a number of its own.
        (
            vec![intent("k", card(1000, "4242"), unknown())],
            vec![row(2, "t", 1000, "", "1111"), later(5, row(3, "u", 1000, "", "1111"))],
            "k NoRow [2]; foreign [2, 3]",
        ),
        // The payment of another key.
        (
            vec![intent("k", asked(), unknown()), intent("l", asked(), processed("t"))],
            vec![later(5, t(1000, "invoice 17"))],
            "k NoRow",
        ),
        (
            vec![intent("k", asked(), unknown()), intent("l", token(1000, Some("INVOICE-17")), unknown())],
            vec![t(1000, "INVOICE-17")],
            "l is t [2]; k NoRow",
        ),
    ]);
}

#[test]
fn reconciling_shows_few_rows_of_other_references() {
    let asked = || intent("k", token(1000, Some("invoice 17")), unknown());
    let rows = |count: u64| {
        (2..2 + count).map(|line| row(line, &format!("t{line}"), 1000, &format!("web-{line}"), "")).collect()
    };
    let shown = |rows: Vec<_>| found(&[asked()], &rows).undecided[0].candidates.len();
    assert_eq!([1, 10, 11].map(|count| shown(rows(count))), [1, 10, 10]);
    let last = rows(11).into_iter().chain([row(20, "t20", 1000, "017", "")]).collect::<Vec<_>>();
    assert_eq!(found(&[asked()], &last).undecided[0].candidates[0].lines, [20]);
    let with_alike: Vec<_> = rows(11).into_iter().chain([row(20, "t20", 1000, "INVOICE-17", "")]).collect();
    assert_eq!(shown(with_alike), 1);
}

/// The processor, or a person there, has tried it again.
#[test]
fn reconciling_proposes_no_decline_of_what_was_charged_later() {
    let charged = |days, amount, reference| later(days, row(3, "u", amount, reference, ""));
    for (other, expected) in [
        (charged(3, 1000, "r1"), "k SeveralRows [2] [3]; foreign [3]"),
        (charged(3, 1000, "R-1"), "k SeveralRows [2] [3]; foreign [3]"),
        (charged(9, 1000, "r1"), "k was declined as t [2]; foreign [3]"),
        (charged(3, 999, "r1"), "k was declined as t [2]; foreign [3]"),
        (charged(3, 1000, "r2"), "k was declined as t [2]; foreign [3]"),
    ] {
        assert_said([(vec![k(unknown())], vec![declined(t()), other], expected)]);
    }
}

#[test]
fn reconciling_an_intent_with_an_id_takes_only_the_row_of_that_id() {
    assert_said([
        (vec![k(unclear("t"))], vec![t(), u()], "k is t [2]; k unexplained [2] [3]"),
        (vec![k(unclear("t"))], vec![u()], "k NoRow; foreign [3]"),
        // The id alone is no proof if the rest of the row is another payment's.
        (vec![k(unclear("t"))], vec![row(2, "t", 999, "r1", "")], "k Contradiction [2]"),
        (vec![k(unclear("t"))], vec![row(2, "t", 1000, "r2", "")], "k Contradiction [2]"),
        // What another intent was processed as is no candidate.
        (
            vec![k(unclear("t")), l(processed("t"))],
            vec![t(), u()],
            "k SeveralKeys [2] or l; k unexplained [2] [3]",
        ),
        (vec![k(unknown()), l(processed("t"))], vec![t(), u()], "k is u [3]"),
    ]);
}

#[test]
fn reconciling_proposes_no_void_ach_or_fee_and_nothing_that_is_being_sent() {
    let ach = IntentRequest { subject: Subject::Account, ..card(1000, "") };
    let void = IntentRequest {
        operation: Some(OperationName::Void),
        subject: Subject::Transaction(id("t")),
        amount: None,
        transaction_type: None,
        convenience_fee: None,
        reference: None,
    };
    let fee = with_fee(token(1000, Some("r1")));
    assert_said([
        (vec![intent("k", fee, unknown())], vec![t()], "k Fee [2]"),
        (vec![intent("k", ach, unknown())], vec![t()], "k Ach; foreign [2]"),
        (vec![intent("k", void, unknown())], vec![t()], "k Void; foreign [2]"),
        (vec![k(None)], vec![t()], "k Sending [2]"),
    ]);
}

#[test]
fn reconciling_shows_charges_that_the_journal_cannot_explain() {
    assert_said([
        (vec![k(rejected())], vec![t()], "k unexplained [2]: k is t [2]"),
        (vec![k(rejected_as("t"))], vec![t()], "k unexplained [2]: k is t [2]"),
        (vec![k(not_sent())], vec![t()], "k unexplained [2]: k is t [2]"),
        // Two charges for one key: which of them is a mistake, a person must find out.
        (vec![k(unknown())], vec![t(), u()], "k SeveralRows [2] [3]; k unexplained [2] [3]"),
        (vec![k(rejected())], vec![t(), u()], "k unexplained [2] [3]"),
        // One charge, and two keys that were both rejected.
        (vec![k(rejected()), l(rejected())], vec![t()], "k, l unexplained [2]"),
        // A refund is no charge.
        (vec![], vec![row(2, "t", 1000, "", ""), row(3, "u", -1000, "", "")], "foreign [2]"),
    ]);
}

#[test]
fn reconciling_proposes_nothing_by_the_amount_alone() {
    let rows = || vec![row(2, "t", 1000, "", ""), row(9, "other", 1, "r9", "9999")];
    let without_references = rows().into_iter().map(|row| ReportRow { reference: ReportCell::Absent, ..row });
    let without_last_four = rows().into_iter().map(|row| ReportRow { last_four: ReportCell::Absent, ..row });
    let expected = "k AmountOnly [2]; foreign [9]";
    assert_said([
        (vec![intent("k", token(1000, None), unknown())], rows(), expected),
        (vec![k(unknown())], without_references.collect(), expected),
        (vec![intent("k", card(1000, "4242"), unknown())], without_last_four.collect(), expected),
    ]);
}

#[test]
fn reconciling_proposes_no_row_that_may_be_a_lost_key() {
    let lost = |found: Option<Intent>, since: SystemTime| {
        let key = IntentKey::new("lost").unwrap();
        Change::lost(key, since, OwnerId::new(), "ada", start() + HOUR).decide(found.as_ref()).unwrap()
    };
    let sent = |request| Some(intent("lost", request, not_sent()));
    for (lost, may_be) in [
        (lost(None, start()), true),
        // Its window begins after the row.
        (lost(None, start() + HOUR), false),
        // Another card may have followed a rejection, but no other amount and no other reference.
        (lost(sent(card(1000, "1111")), start()), true),
        (lost(sent(card(2000, "1111")), start()), false),
        (lost(sent(token(1000, Some("r2"))), start()), false),
    ] {
        for request in [token(1000, Some("r1")), card(1000, "4242")] {
            let said = said(&found(&[intent("k", request, unknown()), lost.clone()], &[t()]));
            let expected = if may_be { "k SeveralKeys [2] or lost; " } else { "k is t [2]; lost " };
            assert!(said.starts_with(expected), "{said}: {lost:?}");
        }
        // A charge of a rejected key is shown too.
        let said = said(&found(&[intent("k", card(1000, "4242"), rejected()), lost.clone()], &[t()]));
        let expected = if may_be { "k unexplained [2]" } else { "k unexplained [2]: k is t [2]" };
        assert!(said.ends_with(expected), "{said}: {lost:?}");
    }
    assert_said([(vec![lost(None, start())], vec![t()], "lost Lost; foreign [2]")]);
    let with_its_key = row(2, "t", 1000, "LOST", "");
    assert_said([(vec![lost(None, start())], vec![with_its_key], "lost Lost [2]; foreign [2]")]);
}

#[test]
fn reconciling_shows_a_second_charge_of_a_known_one() {
    // As this processor writes its references.
    let written = |line, id| row(line, id, 1000, "R-1", "");
    assert_said([
        (vec![k(processed("t"))], vec![written(2, "t"), written(3, "u")], "k unexplained [2] [3]"),
        (vec![k(processed("t"))], vec![t(), u()], "k unexplained [2] [3]"),
        // Its own row is not there: the report may have other ids.
        (vec![k(processed("t"))], vec![u()], "foreign [3]"),
        (vec![k(processed("t"))], vec![t(), row(3, "u", 1000, "r2", "4242")], "foreign [3]"),
        (vec![k(processed("t"))], vec![t(), row(3, "u", 999, "r1", "4242")], "foreign [3]"),
        (vec![k(processed("t"))], vec![t(), later(3, u())], "foreign [3]"),
        (vec![k(processed("t"))], vec![t(), declined(u())], ""),
        // Two purchases of one amount with one card are no rarity.
        (vec![intent("k", card(1000, "4242"), processed("t"))], vec![t(), u()], "foreign [3]"),
    ]);
}

/// What a person may believe to be settled.
#[test]
fn reconciling_shows_what_contradicts_a_processed_key() {
    let processed_as_t = |request| vec![intent("k", request, processed("t"))];
    let m = intent("m", token(1000, Some("r1")), processed("t"));
    let l_of_r2 = intent("l", token(1000, Some("r2")), processed("u"));
    let alarm = "k unexplained [2]";
    assert_said([
        (vec![k(processed("t"))], vec![t()], ""),
        (vec![k(processed("t"))], vec![row(2, "t", 10_000, "r1", "")], alarm),
        (vec![k(processed("t"))], vec![declined(t())], alarm),
        // A part was refunded, or the rows of the transaction are of several steps.
        (vec![k(processed("t"))], vec![t(), row(3, "t", -400, "r1", "")], ""),
        (vec![k(processed("t"))], vec![t(), declined(row(3, "t", 1000, "r1", ""))], ""),
        // A column that is not the caller's reference, and one that is another key's.
        (vec![k(processed("t"))], vec![row(2, "t", 1000, "batch 7", "")], ""),
        (vec![k(processed("t")), l_of_r2], vec![row(2, "t", 1000, "r2", "")], alarm),
        (processed_as_t(with_fee(token(1000, Some("r1")))), vec![row(2, "t", 1027, "r1", "")], ""),
        (processed_as_t(authorization(card(1000, "4242"))), vec![row(2, "t", 400, "", "4242")], ""),
        (processed_as_t(card(1000, "4242")), vec![row(2, "t", 1001, "", "4242")], alarm),
        // Three keys share one transaction.
        (vec![k(processed("t")), l(processed("t")), m], vec![t()], "k, l, m unexplained [2]"),
    ]);
}

/// After both were recorded, as before.
#[test]
fn reconciling_shows_two_charges_of_one_key_that_are_both_recorded() {
    let written_off = resolve(&k(unknown()), Resolution::not_processed("ada"));
    let at_2 = start() + 2 * HOUR;
    let new = new_attempt(Begin::Plain, token(1000, Some("r1")));
    let begun = Change::begin(written_off.key.clone(), new, at_2).decide(Some(&written_off)).unwrap();
    let found_first = |ending: Option<Ending>| {
        let ended = end(&begun, ending.unwrap(), at_2);
        vec![resolve(&ended, Resolution::processed(id("t"), "ada").of_attempt(1))]
    };
    let rows = || vec![t(), at(at_2, u())];
    assert_said([
        (found_first(processed("u")), rows(), "k, k/2 unexplained [2] [3]"),
        // The newest is still unknown, and its row is proposed.
        (found_first(unknown()), rows(), "k/2 is u [3]; k, k/2 unexplained [2] [3]"),
    ]);
}

/// A charge that a person named and took back is nobody's, unless it is another key's.
#[test]
fn reconciling_shows_a_charge_that_a_person_has_taken_back() {
    let processed = |text| Resolution::processed(id(text), "ada");
    let not_processed = resolve(&resolve(&k(unknown()), processed("t")), Resolution::not_processed("ada"));
    let corrected = resolve(&resolve(&k(unknown()), processed("t")), processed("u"));
    let other = resolve(&l(unknown()), processed("t"));
    assert_said([
        (vec![not_processed.clone()], vec![t()], "k unexplained [2]"),
        (vec![corrected.clone()], vec![t(), u()], "k unexplained [2] [3]"),
        (vec![corrected, other.clone()], vec![t(), u()], ""),
        (vec![not_processed, other], vec![t()], ""),
    ]);
}

/// Its status decides nothing, and nobody would see it otherwise.
#[test]
fn reconciling_lists_rows_that_may_be_a_charge_by_a_status_that_nobody_named() {
    let captured = |row| with_status(RowStatus::Other, row);
    assert_said([
        (vec![k(processed("t"))], vec![t(), captured(u())], "doubtful [3]"),
        (vec![k(processed("t"))], vec![t(), captured(u()), row(4, "u", 1000, "r1", "4242")], "doubtful [3]"),
        (vec![k(processed("t"))], vec![t(), captured(row(3, "u", 1000, "r2", ""))], ""),
        (vec![k(processed("t"))], vec![captured(t())], ""),
        (vec![k(rejected())], vec![captured(t())], "doubtful [2]"),
        (vec![k(unknown())], vec![captured(t())], "k Status [2]"),
    ]);
}

/// A second charge stays one if a part of it was given back.
#[test]
fn reconciling_contradicted_charge_is_an_alarm_and_no_proposal() {
    let once_more = || row(4, "u", 1000, "r1", "4242");
    assert_said([
        (vec![k(processed("t"))], vec![t(), contradicted(u())], "k unexplained [2] [3]"),
        (vec![k(processed("t"))], vec![t(), contradicted(u()), once_more()], "k unexplained [2] [3, 4]"),
        (vec![k(processed("t"))], vec![t(), contradicted(row(3, "u", 1000, "r2", ""))], "foreign [3]"),
        (vec![k(rejected())], vec![contradicted(u())], "k unexplained [3]"),
        (vec![k(unknown())], vec![t(), contradicted(u())], "k SeveralRows [2] [3]; k unexplained [2] [3]"),
        (vec![k(unknown())], vec![contradicted(u())], "k Status [3]"),
        (vec![k(unknown())], vec![contradicted(u()), once_more()], "k Status [3, 4]"),
    ]);
}

#[test]
fn reconciling_rows_with_one_id_are_one_row_unless_they_differ() {
    assert_said([
        (vec![k(unknown())], vec![t(), row(9, "t", 1000, "r1", "4242")], "k is t [2, 9]"),
        (vec![k(unknown())], vec![t(), row(9, "t", -1000, "r1", "4242")], "k UnreadableRow [2, 9]"),
    ]);
}

#[test]
fn reconciling_calls_a_key_missing_only_if_nothing_resembles_it() {
    let (from, to) = (start() - 3 * DAY, start() + 4 * DAY);
    let complete = Some((from, to));
    let sale = || token(1000, Some("r1"));
    let other = || row(2, "t", 555, "r9", "9999");
    for (request, row, complete, is_missing) in [
        (sale(), other(), complete, true),
        (card(1000, "4242"), other(), complete, true),
        // An authorization is in no settlement.
        (authorization(card(1000, "4242")), other(), complete, false),
        (sale(), other(), None, false),
        (sale(), other(), Some((start() - 2 * DAY, to)), false),
        (sale(), other(), Some((from, start() + 3 * DAY - HOUR)), false),
        (sale(), later(60, row(2, "t", 1000, "r9", "9999")), complete, false),
        (sale(), later(60, row(2, "t", 555, "r1", "9999")), complete, false),
        // A key with another amount, as with a surcharge.
        (sale(), row(2, "t", 1027, "R-1", "9999"), complete, false),
        (sale(), row(2, "t", 1027, "#r 1", ""), complete, false),
        (sale(), ReportRow { amount: ReportCell::Unreadable, ..other() }, complete, false),
        (sale(), ReportRow { reference: ReportCell::Unreadable, ..other() }, complete, false),
    ] {
        let options = ReconcileOptions { complete, ..ReconcileOptions::default() };
        let found = reconcile(&[intent("k", request, unknown())], slice::from_ref(&row), &options);
        let listed = (found.missing.len(), found.undecided.len(), found.proposals.len());
        assert_eq!(listed, (usize::from(is_missing), usize::from(!is_missing), 0), "{row:?} {complete:?}");
    }
}

#[tokio::test]
async fn reconciling_compares_one_service() {
    let journal = Journal::open(MemoryStore::new()).await.unwrap();
    let now = SystemTime::now();
    let rows = [at(now, t())];
    let nothing = journal.reconcile(&rows, &ReconcileOptions::default()).await.unwrap();
    assert_eq!((&nothing.service, &*said(&nothing)), (&None, "foreign [2]"));
    for (key, service) in [("k", SERVICE), ("l", "https://sandbox.example.com")] {
        let new = NewAttempt {
            service: service.to_owned(),
            owner: journal.store().owner().clone(),
            ..new_attempt(Begin::Plain, token(1000, Some("r1")))
        };
        assert!(journal.begin(&IntentKey::new(key).unwrap(), &new).await.is_ok());
    }
    let refused = journal.reconcile(&rows, &ReconcileOptions::default()).await.unwrap_err().to_string();
    assert!(refused.contains(SERVICE) && refused.contains("https://sandbox.example.com"), "{refused}");
    let mut options = ReconcileOptions { service: Some(SERVICE.to_owned()), ..ReconcileOptions::default() };
    let found = journal.reconcile(&rows, &options).await.unwrap();
    assert_eq!((found.service.as_deref(), &*said(&found)), (Some(SERVICE), "k Sending [2]"));
    for (to, is_refused) in [(now, false), (now + 2 * HOUR, true)] {
        let complete = Some((now - HOUR, to));
        let found = journal.reconcile(&rows, &ReconcileOptions { complete, ..options.clone() }).await;
        assert_eq!(found.is_err_and(|error| error.is_refused()), is_refused);
    }
    options.service = Some("https://typo.example.com".to_owned());
    assert!(journal.reconcile(&rows, &options).await.is_err());
}

/// The report of another merchant of the same base URL, by mistake.
#[test]
fn reconciling_names_the_key_of_another_merchant_and_proposes_no_row_of_it_d47() {
    let of = |label: &str, intent: Intent| Intent { service: Some(format!("{SERVICE}{label}")), ..intent };
    let toys = |ending| of("#toys", intent("toys", token(1000, Some("r1")), ending));
    let books = |ending| of("#books", intent("books", token(1000, Some("r1")), ending));
    let unlabelled = of("", intent("toys", token(1000, Some("r1")), processed("t")));
    let elsewhere = of(".example.org#toys", intent("toys", token(1000, Some("r1")), processed("t")));
    let missing = || of("#books", intent("books", token(555, Some("r2")), unknown()));
    let own = of("#books", intent("own", token(7, Some("r3")), processed("u")));
    let own_row = || row(3, "u", 7, "r3", "");
    let options = ReconcileOptions {
        service: Some(format!("{SERVICE}#books")),
        complete: Some((start() - 3 * DAY, start() + 4 * DAY)),
        ..ReconcileOptions::default()
    };
    let one = || vec![t()];
    let with_labels = "toys of https://pay.example.com/api#toys has [2]";
    let mut cases = vec![
        (vec![books(unknown()), toys(unknown())], one(), "books is t [2]".to_owned()),
        (vec![books(unknown()), elsewhere], one(), "books is t [2]".to_owned()),
        // The service itself has named it for both.
        (vec![books(unclear("t")), toys(processed("t"))], one(), "books SeveralKeys [2] or toys".to_owned()),
        // One charge is the payment of two keys.
        (vec![books(processed("t")), toys(processed("t"))], one(), "books, toys unexplained [2]".to_owned()),
    ];
    for (other, has) in [
        (toys(processed("t")), with_labels),
        (toys(rejected_as("t")), with_labels),
        (unlabelled, "toys of https://pay.example.com/api has [2]"),
    ] {
        cases.extend([
            (vec![books(unknown()), other.clone()], one(), format!("books NoRow; {has}")),
            // Nor is a payment missing in the report of another merchant.
            (vec![missing(), other.clone()], one(), format!("books NoRow; {has}")),
            // A report may be of both.
            (vec![missing(), other, own.clone()], vec![t(), own_row()], format!("books is missing; {has}")),
        ]);
    }
    for (intents, rows, expected) in cases {
        assert_eq!(said(&reconcile(&intents, &rows, &options)), expected, "{intents:#?}");
    }
}

/// Among them are many rows and keys of one amount and card at one time, of which no comparison of all with all is fast.
#[test]
fn reconciling_100_000_rows_with_10_000_unknown_keys_is_fast() {
    let took_for = |keys: usize| {
        let many = |index: usize| index.is_multiple_of(2);
        let request = |index: usize| {
            if many(index) { card(1000, "4242") } else { token(1000, Some(&format!("r{index}"))) }
        };
        let intents: Vec<_> =
            (0..keys).map(|index| intent(&format!("k{index}"), request(index), unknown())).collect();
        let rows: Vec<_> = (0..10 * keys)
            .map(|index| {
                let reference = if many(index) { String::new() } else { format!("r{index}") };
                let last_four = if many(index) { "4242" } else { "1111" };
                row(2 + index as u64, &format!("t{index}"), 1000, &reference, last_four)
            })
            .collect();
        let begun = Instant::now();
        let found = found(&intents, &rows);
        let took = begun.elapsed();
        assert_eq!((found.proposals.len(), found.undecided.len()), (keys / 2, keys / 2));
        took
    };
    let few = (0..3).map(|_| took_for(1000)).min().unwrap();
    let many = took_for(10_000);
    // Ten times as many take a hundred times as long if all are compared with all.
    assert!(many < 60 * few, "{few:?} for a tenth, then {many:?}");
}
