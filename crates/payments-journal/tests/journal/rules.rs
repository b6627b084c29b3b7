//! `Change::decide`: every state against every change.

use payments_core::model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, TokenTransaction, TransactionType, Void,
};
use payments_journal::internals::{Begin, Change, Ending};
use payments_journal::{
    Failure, FailureKind, HistoryEvent, Intent, IntentRequest, IntentState, OwnerId, Resolution, StateName,
};

use crate::contract::PAYER;
use crate::decisions::{
    SERVICE, at, attempt, begin_as, begin_at, crashed, id, key, none_found, not_processed, owner, paid_as,
    processed, refused, rejected, request, resolve_at, unknown,
};

fn begin(name: &str, cents: i64) -> Change {
    begin_as(Begin::Plain, name, request(cents), 9)
}

fn begin_after_rejection(name: &str, cents: i64) -> Change {
    begin_as(Begin::AfterRejection, name, request(cents), 9)
}

fn end(name: &str, ending: Ending) -> Change {
    crate::decisions::end(name, ending, 9)
}

fn sending() -> Intent {
    begin_as(Begin::Plain, "first", request(10), 1).decide(None).unwrap()
}

fn resolve(read: &Intent, resolution: Resolution) -> Option<Intent> {
    resolve_at(read, resolution, 9)
}

fn row(name: &str) -> Intent {
    rows().into_iter().find(|(row, _)| *row == name).unwrap().1
}

/// A row in each state, with the name that the tests below use.
fn rows() -> Vec<(&'static str, Intent)> {
    let after = |change: Change| change.decide(Some(&sending())).unwrap();
    let unknown = || after(end("first", unknown()));
    let resolved = |resolution| resolve(&unknown(), resolution).unwrap();
    vec![
        ("sending", sending()),
        ("processed", after(end("first", processed("txn_1")))),
        ("rejected 400", after(end("first", rejected(400)))),
        ("rejected 429", after(end("first", rejected(429)))),
        ("not processed", after(end("first", not_processed()))),
        ("unknown", unknown()),
        ("crashed", after(crashed("first", 2))),
        ("resolved: processed", resolved(paid_as("txn_2"))),
        ("resolved: not processed", resolved(none_found())),
        ("resolved: rejected", resolved(Resolution::rejected(id("txn_2"), "ada"))),
    ]
}

/// Checks which rows a change may change, and to which state.
fn assert_changes(change: &Change, expected: &[(&str, StateName)]) {
    for (name, row) in rows() {
        let written = change.decide(Some(&row)).ok();
        let expected = expected.iter().find(|(row, _)| *row == name).map(|(_, state)| *state);
        assert_eq!(written.as_ref().map(|intent| intent.state.name()), expected, "{name}: {change:?}");
        if let Some(written) = written {
            let is_only_marked =
                matches!(&written.state, IntentState::Unknown(it) if it.kind == FailureKind::CRASH);
            assert_eq!(written.revision, row.revision + u64::from(!is_only_marked));
            assert_eq!((written.created_at, written.changed_at), (row.created_at, at(9)));
            assert_eq!(written.key, row.key);
        }
    }
}

#[test]
fn plain_call_sends_again_only_if_nothing_moved_d44() {
    let again = [("not processed", StateName::Sending), ("resolved: not processed", StateName::Sending)];
    assert_changes(&begin("second", 10), &again);
    for (_, mut row) in rows() {
        // Of another process, and of no known service.
        (row.owner, row.service) = (OwnerId::from_kept("another"), None);
        if let Ok(written) = begin("second", 10).decide(Some(&row)) {
            assert_eq!((written.attempt_id, written.attempts), (attempt("second"), 2));
            assert_eq!((written.begun_at, written.owner), (at(9), owner()));
            assert_eq!(written.service.as_deref(), Some(SERVICE));
        }
    }
}

#[test]
fn different_request_never_begins_with_a_used_key() {
    assert_changes(&begin("second", 11), &[]);
}

#[test]
fn new_attempt_after_a_rejection_begins_if_nothing_moved_with_any_request_d44() {
    let may_begin =
        ["rejected 400", "rejected 429", "not processed", "resolved: not processed", "resolved: rejected"];
    for cents in [10, 11] {
        let change = begin_after_rejection("second", cents);
        assert_changes(&change, &may_begin.map(|row| (row, StateName::Sending)));
        for (_, row) in rows() {
            if let Ok(written) = change.decide(Some(&row)) {
                assert_eq!((written.attempt_id, written.attempts), (attempt("second"), 2));
                assert_eq!((written.request, written.begun_at), (request(cents), at(9)));
            }
        }
    }
}

#[test]
fn only_the_newest_attempt_records_its_end_and_only_once() {
    for (ending, state) in [
        (processed("txn_3"), StateName::Processed),
        (rejected(400), StateName::Rejected),
        (not_processed(), StateName::NotProcessed),
        (Ending::Unknown(Failure::of_kind("closed")), StateName::Unknown),
    ] {
        let mut expected = vec![("sending", state), ("crashed", state)];
        // The service's own "processed" is final: it also replaces what a person has said meanwhile.
        if state == StateName::Processed {
            let said = ["resolved: processed", "resolved: not processed", "resolved: rejected"];
            expected.extend(said.map(|row| (row, state)));
        }
        assert_changes(&end("first", ending.clone()), &expected);
        assert_changes(&end("second", ending), &[]);
    }
}

#[test]
fn late_success_replaces_what_a_person_said_meanwhile_d48() {
    let success = end("first", processed("txn_3"));
    for said in ["resolved: processed", "resolved: not processed", "resolved: rejected"] {
        let processed = success.decide(Some(&row(said))).unwrap();
        assert_eq!(processed.state, IntentState::Processed { transaction_id: id("txn_3") });
        assert_eq!((processed.second_charges().count(), processed.resolutions().count()), (0, 1));
        // A repeated end changes nothing, and neither does a person now.
        assert!(success.decide(Some(&processed)).is_err());
        assert_eq!(resolve(&processed, none_found()), None);
    }
}

#[test]
fn late_success_of_an_earlier_attempt_is_a_finding_that_no_person_changes_d48() {
    let success = end("first", processed("txn_first"));
    let declined = resolve(&second(Some(unknown())), Resolution::rejected(None, "ada"));
    for (later, state, second_charges) in [
        (second(None), StateName::Sending, 1),
        (second(Some(unknown())), StateName::Unknown, 1),
        (second(Some(rejected(400))), StateName::Resolved, 0),
        (second(Some(not_processed())), StateName::Resolved, 0),
        (declined.unwrap(), StateName::Resolved, 0),
        (second(Some(processed("txn_2nd"))), StateName::Processed, 1),
    ] {
        let found = success.decide(Some(&later)).unwrap();
        assert_eq!((found.state.name(), found.revision), (state, later.revision + 1));
        assert_eq!(found.second_charges().count(), second_charges, "{found:?}");
        let last = found.resolutions().next_back().unwrap();
        assert_eq!((last.attempt, &*last.resolution.by), (1, "the service"));
        assert!(last.resolution.is_reported);
        assert_never_sent(&found);
        let other = paid_as("txn_other").of_attempt(1);
        assert_eq!(resolve(&found, other), None);
        let repeated = success.decide(Some(&found)).unwrap();
        assert!(repeated.resolutions().eq(found.resolutions()));
    }
    // It also replaces what a person has found, and is recorded however much persons have said.
    let mut said = row("unknown");
    for number in 0..100 {
        said = resolve(&said, none_found().note(number.to_string())).unwrap();
    }
    let later = begin("second", 10).decide(Some(&said)).unwrap();
    let found = success.decide(Some(&resolve(&later, found_first()).unwrap_or(later))).unwrap();
    assert!(found.second_charges().eq([&id("txn_first")]));
    // Nothing else that an earlier attempt reports changes the row, and no attempt that it does not know.
    for ending in [rejected(400), not_processed(), unknown()] {
        assert!(end("first", ending).decide(Some(&second(None))).is_err());
    }
    assert!(end("other", processed("txn_1")).decide(Some(&second(None))).is_err());
}

#[test]
fn orphan_changes_only_a_sending_row_of_that_attempt() {
    assert_changes(&crashed("first", 9), &[("sending", StateName::Unknown)]);
    assert_changes(&crashed("second", 9), &[]);
}

/// Checks which rows accept what a person says, and to which state.
fn assert_accepts(resolution: &Resolution, expected: &[(&str, StateName)]) {
    for (name, row) in rows() {
        let written = resolve(&row, resolution.clone());
        let expected = expected.iter().find(|(row, _)| *row == name).map(|(_, state)| *state);
        assert_eq!(written.as_ref().map(|intent| intent.state.name()), expected, "{name}: {resolution:?}");
        if let Some(written) = written {
            assert_eq!((written.revision, written.changed_at), (row.revision + 1, at(9)));
            let history = written.history();
            let (last, earlier) = history.split_last().unwrap();
            let HistoryEvent::Resolved(last) = last else { panic!("{last:?}") };
            assert_eq!((earlier, &last.resolution, last.attempt), (&*row.history(), resolution, 1));
        }
    }
}

#[test]
fn person_resolves_unknown_rows_and_corrects_what_persons_said_d48() {
    let rows = ["unknown", "crashed", "resolved: processed", "resolved: not processed", "resolved: rejected"];
    assert_accepts(&Resolution::not_processed("grace"), &rows.map(|row| (row, StateName::Resolved)));
    let rejected = [Resolution::rejected(None, "grace"), Resolution::rejected(id("txn_4"), "grace")];
    for resolution in rejected {
        assert_accepts(&resolution, &rows.map(|row| (row, StateName::Rejected)));
    }
}

#[test]
fn rejected_and_not_processed_give_way_to_a_found_id_d48() {
    let expected: Vec<_> = rows()
        .into_iter()
        .filter(|(row, _)| !["sending", "processed"].contains(row))
        .map(|(row, _)| (row, StateName::Resolved))
        .collect();
    assert_accepts(&Resolution::processed(id("txn_4"), "grace"), &expected);
    let found = resolve(&row("rejected 400"), Resolution::processed(id("txn_4"), "grace")).unwrap();
    let IntentState::Resolved { before, .. } = &found.state else { panic!("{found:?}") };
    assert_eq!((before, found.processed_as()), (&refused(400), Some(&id("txn_4"))));
}

#[test]
fn resolution_of_an_intent_that_has_changed_is_refused_d48() {
    let now: Vec<_> = rows().into_iter().map(|(name, row)| (name.to_owned(), row)).collect();
    for (read_as, read) in &now {
        for (is, found) in &now {
            let has_changed = read.revision != found.revision;
            let change = Change::resolve(read, Resolution::processed(id("txn_4"), "grace"), at(9));
            if has_changed {
                assert!(change.decide(Some(found)).is_err(), "read as {read_as}, and it is {is}");
            }
        }
    }
    // The same revision of another attempt, as after a purge.
    let mut other = row("unknown");
    other.attempt_id = attempt("other");
    let change = Change::resolve(&row("unknown"), Resolution::not_processed("grace"), at(9));
    assert!(change.decide(Some(&other)).is_err());
    assert!(change.decide(Some(&row("unknown"))).is_ok());
}

#[test]
fn row_marked_as_a_crash_is_still_the_one_that_was_read_d48() {
    let crashed = row("crashed");
    assert_eq!(crashed.revision, sending().revision);
    for resolution in [
        Resolution::processed(id("txn_4"), "grace"),
        Resolution::rejected(None, "grace"),
        Resolution::not_processed("grace"),
    ] {
        let change = Change::resolve(&sending(), resolution, at(9));
        assert!(change.decide(Some(&crashed)).is_ok(), "{change:?}");
    }
}

#[test]
fn no_resolution_is_lost_d48() {
    let said = [
        none_found().note("not in the report"),
        Resolution::rejected(id("txn_2"), "grace").note("the portal says declined"),
        paid_as("txn_3").note("on the statement"),
        Resolution::rejected(None, "grace").note("that was another order"),
        none_found().note("support says so"),
    ];
    let mut intent = row("unknown");
    for resolution in &said {
        intent = resolve(&intent, resolution.clone()).unwrap();
        if let IntentState::Resolved { before, .. } = &intent.state {
            assert_eq!(before, &Failure::of_kind("timeout"), "the failure of the attempt itself");
        }
    }
    let same = resolve(&intent, said[4].clone()).unwrap();
    let again = begin("second", 10).decide(Some(&intent)).unwrap();
    for intent in [intent, same, again] {
        let kept: Vec<_> = intent.resolutions().map(|recorded| recorded.resolution.clone()).collect();
        assert_eq!(kept, said);
        assert!(intent.resolutions().all(|it| it.before == Some(Failure::of_kind("timeout"))));
    }
}

#[test]
fn texts_and_number_of_resolutions_are_bounded_d48() {
    let long = "n".repeat(Resolution::MAX_TEXT_BYTES + 1);
    let unknown = row("unknown");
    assert_eq!(resolve(&unknown, none_found().note(&*long)), None);
    assert_eq!(resolve(&unknown, Resolution::not_processed(&*long)), None);
    assert!(resolve(&unknown, none_found().note(&long[1..])).is_some());
    let mut intent = unknown;
    let mut count = 0;
    while let Some(resolved) = resolve(&intent, none_found().note(count.to_string())) {
        (intent, count) = (resolved, count + 1);
    }
    assert_eq!((count, intent.resolutions().count()), (100, 100));
    let found = resolve(&intent, paid_as("txn_1")).unwrap();
    assert_eq!(found.processed_as(), Some(&id("txn_1")), "a found transaction is always recorded");
}

/// Attempt 1 was resolved as not processed, and attempt 2 ended like this. Attempt 2 has another request.
fn second(ending: Option<Ending>) -> Intent {
    let sending = begin_after_rejection("second", 20).decide(Some(&row("resolved: not processed"))).unwrap();
    match ending {
        Some(ending) => end("second", ending).decide(Some(&sending)).unwrap(),
        None => sending,
    }
}

fn found_first() -> Resolution {
    Resolution::processed(id("txn_first"), "grace").of_attempt(1)
}

#[test]
fn late_finding_of_an_earlier_attempt_is_what_the_key_is_processed_as_if_nothing_moved_later_d48() {
    let written_off = resolve(&second(Some(unknown())), none_found());
    let declined = resolve(&second(Some(unknown())), Resolution::rejected(None, "ada"));
    let after_declined =
        begin_after_rejection("second", 20).decide(Some(&row("resolved: rejected"))).unwrap();
    for later in [
        end("second", not_processed()).decide(Some(&after_declined)).unwrap(),
        second(Some(rejected(400))),
        second(Some(not_processed())),
        written_off.unwrap(),
        declined.unwrap(),
    ] {
        let found = resolve(&later, found_first()).unwrap();
        assert_eq!((found.state.name(), found.processed_as()), (StateName::Resolved, Some(&id("txn_first"))));
        assert_eq!(found.second_charges().count(), 0);
        assert_eq!((found.request.clone(), found.begun_at), (request(10), at(1)), "of the attempt that paid");
        assert_eq!(found.attempt_id, attempt("second"));
        assert_never_sent(&found);
    }
}

fn assert_never_sent(intent: &Intent) {
    for cents in [10, 20] {
        for change in [begin("third", cents), begin_after_rejection("third", cents)] {
            assert!(change.decide(Some(intent)).is_err(), "{intent:?}");
        }
    }
    let reopen = Change::reopen(key(), Some(&[400, 401, 403, 429]), "ada", None, at(9));
    assert!(reopen.decide(Some(intent)).is_err());
}

#[test]
fn key_found_processed_is_never_sent_again_and_settles_when_the_later_attempt_has_ended_d48() {
    for later in [second(None), second(Some(unknown()))] {
        let found = resolve(&later, found_first()).unwrap();
        assert_eq!((found.state.name(), found.processed_as()), (later.state.name(), None));
        assert!(found.second_charges().eq([&id("txn_first")]));
        assert_eq!(found.held_transactions().collect::<Vec<_>>(), [&id("txn_first")]);
        assert_eq!(found.request, request(20), "of the attempt whose outcome is open");
        assert_never_sent(&found);
        let ended = match found.state {
            IntentState::Sending => vec![
                end("second", rejected(429)).decide(Some(&found)).unwrap(),
                end("second", not_processed()).decide(Some(&found)).unwrap(),
            ],
            _ => vec![
                resolve(&found, Resolution::rejected(None, "ada").of_attempt(2)).unwrap(),
                resolve(&found, none_found()).unwrap(),
            ],
        };
        for ended in ended {
            assert_eq!(
                (ended.state.name(), ended.processed_as()),
                (StateName::Resolved, Some(&id("txn_first")))
            );
            assert_eq!((ended.second_charges().count(), ended.request.clone()), (0, request(10)));
            assert_never_sent(&ended);
        }
    }
}

#[test]
fn two_attempts_found_processed_are_a_possible_second_charge_d48() {
    let by_the_service = resolve(&second(Some(processed("txn_2nd"))), found_first()).unwrap();
    assert_eq!(by_the_service.state, IntentState::Processed { transaction_id: id("txn_2nd") });
    let unknown = resolve(&second(Some(unknown())), found_first()).unwrap();
    let by_a_person = resolve(&unknown, paid_as("txn_2nd")).unwrap();
    // The first finding has settled the key before the second one comes.
    let settled = resolve(&second(Some(rejected(400))), found_first()).unwrap();
    let after_all = resolve(&settled, paid_as("txn_2nd")).unwrap();
    for twice in [by_the_service, by_a_person.clone(), after_all] {
        assert_eq!(twice.processed_as(), Some(&id("txn_2nd")));
        assert!(twice.second_charges().eq([&id("txn_first")]), "{twice:?}");
        assert_eq!((&twice.request, twice.begun_at), (&request(20), at(9)), "of the newest attempt");
        assert_never_sent(&twice);
        // A correction of the first finding.
        let corrected = resolve(&twice, paid_as("txn_1st").of_attempt(1)).unwrap();
        assert!(corrected.second_charges().eq([&id("txn_1st")]));
        // The same transaction twice is a mistake.
        assert_eq!(resolve(&twice, paid_as("txn_2nd").of_attempt(1)), None);
    }
    let taken_back = resolve(&by_a_person, none_found().note("wrong order")).unwrap();
    assert_eq!(taken_back.processed_as(), Some(&id("txn_first")));
    assert_never_sent(&taken_back);
}

#[test]
fn rejected_and_not_processed_are_accepted_for_the_last_attempt_only_d48() {
    for later in [second(None), second(Some(unknown()))] {
        for resolution in [none_found(), Resolution::rejected(None, "ada")] {
            assert_eq!(resolve(&later, resolution.of_attempt(1)), None);
        }
        for number in [0, 3] {
            assert_eq!(resolve(&later, paid_as("t").of_attempt(number)), None);
        }
    }
}

/// Of the attempts that its history has.
fn numbers_of(intent: &Intent) -> Vec<u32> {
    let begun = |event: &HistoryEvent| match event {
        HistoryEvent::Begun { attempt, .. } => Some(*attempt),
        _ => None,
    };
    intent.history().iter().filter_map(begun).collect()
}

#[test]
fn many_attempts_do_not_grow_the_row_without_bound_d48() {
    let mut intent = row("not processed");
    for number in 2..150 {
        let name = format!("{number}");
        let sending = begin(&name, 10).decide(Some(&intent)).unwrap();
        intent = end(&name, not_processed()).decide(Some(&sending)).unwrap();
    }
    assert_eq!(intent.attempts, 149);
    assert_eq!(numbers_of(&intent), (125..150).collect::<Vec<_>>());
    assert_eq!((intent.history().len(), intent.dropped_events), (50, 2 * 124));
    // A dropped attempt moved no money, and if a person finds out that it did, the key is not sent again.
    let found = resolve(&intent, paid_as("txn_1").of_attempt(1)).unwrap();
    assert_eq!(found.processed_as(), Some(&id("txn_1")));
    assert_never_sent(&found);
}

#[test]
fn attempt_that_a_person_has_written_off_is_never_dropped_d48() {
    let mut intent = row("resolved: not processed");
    for number in 2..150 {
        let name = number.to_string();
        let sending = begin(&name, 10).decide(Some(&intent)).unwrap();
        intent = end(&name, not_processed()).decide(Some(&sending)).unwrap();
    }
    // Its begin, its end and what was said about it.
    assert_eq!(numbers_of(&intent), [1].into_iter().chain(127..150).collect::<Vec<_>>());
    assert_eq!(intent.history().len(), 50);
    let late = end("first", processed("txn_1")).decide(Some(&intent)).unwrap();
    assert_eq!((late.processed_as(), late.request.clone()), (Some(&id("txn_1")), request(10)));
    assert_never_sent(&late);
}

#[test]
fn person_reopens_rows_rejected_with_that_status() {
    let change = |statuses: &[u16]| Change::reopen(key(), Some(statuses), "ada", None, at(9));
    assert_changes(&change(&[401, 403, 429]), &[("rejected 429", StateName::NotProcessed)]);
    assert_changes(&change(&[]), &[]);
    let row = row("rejected 429");
    let reopened = change(&[429]).decide(Some(&row)).unwrap();
    let mut expected = refused(429);
    expected.kind = FailureKind::REOPENED;
    assert_eq!(reopened.state, IntentState::NotProcessed(expected));
}

#[test]
fn no_call_for_another_service_begins_with_a_used_key_d47() {
    const OTHER: &str = "https://sandbox.example.com";
    for begin in [Begin::Plain, Begin::AfterRejection] {
        let change = begin_at(OTHER, begin, "second", request(10), 9);
        assert_changes(&change, &[]);
        // Nor after a person has reopened it.
        for (name, row) in rows() {
            let reopen = [
                Change::reopen(key(), Some(&[400, 429]), "ada", None, at(8)),
                Change::reopen(key(), None, "ada", None, at(8)),
            ];
            for reopened in reopen.iter().filter_map(|reopen| reopen.decide(Some(&row)).ok()) {
                assert!(change.decide(Some(&reopened)).is_err(), "{name}");
                assert!(begin_after_rejection("second", 11).decide(Some(&reopened)).is_ok(), "{name}");
            }
        }
    }
    // No change moves a row to another service.
    for (name, row) in rows() {
        assert_eq!(row.service.as_deref(), Some(SERVICE), "{name}");
    }
}

#[test]
fn person_reopens_a_named_row_whatever_it_was_rejected_with_d44() {
    let change = Change::reopen(key(), None, "ada", None, at(9));
    let rejected = ["rejected 400", "rejected 429", "resolved: rejected"];
    assert_changes(&change, &rejected.map(|row| (row, StateName::NotProcessed)));
    // A rejection that was already reopened with others is now named, once.
    let row = row("rejected 429");
    let reopened = Change::reopen(key(), Some(&[429]), "ada", None, at(2)).decide(Some(&row)).unwrap();
    let named = change.decide(Some(&reopened)).unwrap();
    let mut expected = refused(429);
    expected.kind = FailureKind::REOPENED_BY_NAME;
    assert_eq!(named.state, IntentState::NotProcessed(expected));
    assert!(change.decide(Some(&named)).is_err());
}

/// A request in parts, of which a correction may change some.
#[derive(Clone, Copy)]
struct Parts {
    token: &'static str,
    cents: i64,
    fee: ConvenienceFee,
    reference: Option<&'static str>,
}

impl Parts {
    fn request(self) -> IntentRequest {
        let amount = Amount::from_cents(self.cents);
        let payment = TokenTransaction::builder(self.token, amount, self.fee);
        let payment = match self.reference {
            Some(reference) => payment.reference_no(reference),
            None => payment,
        };
        (&payment.build().unwrap()).into()
    }

    fn begin(self) -> Change {
        begin_as(Begin::Plain, "second", self.request(), 9)
    }

    /// As rejected with HTTP 400.
    fn rejected(self) -> Intent {
        let sending = begin_as(Begin::Plain, "first", self.request(), 1).decide(None).unwrap();
        end("first", rejected(400)).decide(Some(&sending)).unwrap()
    }

    /// As rejected with HTTP 400, then reopened by a person.
    fn reopened(self, reopen: &Change) -> Intent {
        reopen.decide(Some(&self.rejected())).unwrap()
    }
}

#[test]
fn reopened_key_takes_a_corrected_request_and_no_other_payment_d44() {
    const WITH: Parts = Parts {
        token: "tok_mistyped",
        cents: 10,
        fee: ConvenienceFee::Inactive,
        reference: Some("order 17"),
    };
    const WITHOUT: Parts = Parts { reference: None, ..WITH };
    let by_status = Some(&[400][..]);
    for (recorded, corrected, is_taken_by_status, is_taken_by_name) in [
        (WITH, Parts { token: "tok_1", ..WITH }, true, true),
        (WITH, Parts { token: "tok_1", reference: Some(" order\u{a0} 17\n"), ..WITH }, true, true),
        (WITH, Parts { token: "tok_1", reference: Some("order17"), ..WITH }, true, true),
        // Another order of the same amount.
        (WITH, Parts { token: "tok_1", reference: Some("order 18"), ..WITH }, false, false),
        (WITH, Parts { token: "tok_1", reference: Some("Order 17"), ..WITH }, false, false),
        (WITH, Parts { token: "tok_1", ..WITHOUT }, false, false),
        (WITHOUT, Parts { token: "tok_1", ..WITH }, false, false),
        (WITH, Parts { reference: Some("order 18"), ..WITH }, false, false),
        (WITH, WITHOUT, false, false),
        (WITHOUT, WITH, false, false),
        (WITH, Parts { reference: Some("order\t17 "), ..WITH }, true, true),
        (WITH, Parts { token: "tok_1", cents: 11, ..WITH }, false, false),
        (WITH, Parts { token: "tok_1", fee: ConvenienceFee::Active, ..WITH }, false, false),
        (WITHOUT, Parts { token: "tok_1", ..WITHOUT }, false, true),
        (WITHOUT, Parts { token: "tok_1", cents: 11, ..WITHOUT }, false, false),
        // The same request, as of any key that moved nothing.
        (WITHOUT, WITHOUT, true, true),
    ] {
        for (statuses, is_taken) in [(by_status, is_taken_by_status), (None, is_taken_by_name)] {
            let reopen = Change::reopen(key(), statuses, "ada", None, at(2));
            let row = recorded.reopened(&reopen);
            let begun = corrected.begin().decide(Some(&row)).ok();
            let (from, to) = (recorded.request(), corrected.request());
            assert_eq!(recorded.rejected().is_corrected_by(&to, statuses), is_taken, "{reopen:?}: {from:?}");
            assert!(!recorded.rejected().is_corrected_by(&to, Some(&[401])), "{from:?}");
            assert_eq!(begun.is_some(), is_taken, "{reopen:?}: {from:?}, then {to:?}");
            assert_eq!(row.differences(&to).is_empty(), is_taken, "{reopen:?}: {from:?}, then {to:?}");
            let Some(begun) = begun else { continue };
            assert_eq!((begun.request, begun.attempts), (to, 2));
        }
    }
}

#[test]
fn only_a_reopened_key_takes_a_corrected_request_and_only_once_d44() {
    let parts =
        Parts { token: "tok_1", cents: 10, fee: ConvenienceFee::Inactive, reference: Some("order 17") };
    let corrected = Parts { token: "tok_2", ..parts };
    // A row in any other state.
    for (name, row) in rows() {
        let mut row = row;
        row.request = parts.request();
        assert!(corrected.begin().decide(Some(&row)).is_err(), "{name}");
    }
    let reopened = parts.reopened(&Change::reopen(key(), None, "ada", None, at(2)));
    let begun = corrected.begin().decide(Some(&reopened)).unwrap();
    let not_processed = not_processed();
    let used_up = end("second", not_processed).decide(Some(&begun)).unwrap();
    assert!(parts.begin().decide(Some(&used_up)).is_err(), "the corrected request is the key's");
    assert!(corrected.begin().decide(Some(&used_up)).is_ok());
}

#[test]
fn card_and_account_are_no_corrections_of_each_other_d44() {
    let (amount, kind, fee) = (Amount::from_cents(10), TransactionType::Sale, ConvenienceFee::Inactive);
    let card = |number: &str, kind| -> IntentRequest {
        let card = Card { number, cvv: "123", expiry: "12/33" };
        (&CardTransaction::builder(amount, kind, fee, card, PAYER).build().unwrap()).into()
    };
    let account = AchTransaction::builder(amount, kind, fee, PAYER).account_field("AccountNumber", "000123");
    let account: IntentRequest = (&account.build().unwrap()).into();
    let (recorded, other_card) = (card("4242424242424242", kind), card("4111111111111111", kind));
    let (_, mut row) = rows().into_iter().find(|(name, _)| *name == "rejected 400").unwrap();
    row.request = recorded;
    let reopened = |reopen: Change| reopen.decide(Some(&row)).unwrap();
    let by_status = reopened(Change::reopen(key(), Some(&[400]), "ada", None, at(2)));
    let by_name = reopened(Change::reopen(key(), None, "ada", None, at(2)));
    assert_eq!(by_status.differences(&other_card), ["card"]);
    assert_eq!(by_name.differences(&other_card), [""; 0]);
    assert_eq!(by_name.differences(&account), ["card"]);
    let authorization = card("4111111111111111", TransactionType::Auth);
    assert_eq!(by_name.differences(&authorization), ["transaction type"]);
    // A void of another transaction is another void.
    let void = |id: &str| -> IntentRequest { (&Void::new(self::id(id))).into() };
    let mut by_name = by_name;
    by_name.request = void("txn_1");
    assert_eq!(by_name.differences(&void("txn_2")), ["transaction"]);
}

#[test]
fn missing_row_can_only_be_begun_by_a_plain_call_d44() {
    assert!(begin("first", 10).decide(None).is_ok());
    for change in [
        begin_after_rejection("first", 10),
        end("first", processed("txn_1")),
        crashed("first", 9),
        Change::resolve(&row("unknown"), none_found(), at(9)),
        Change::reopen(key(), Some(&[429]), "ada", None, at(9)),
        Change::reopen(key(), None, "ada", None, at(9)),
    ] {
        assert!(change.decide(None).is_err(), "{change:?}");
    }
}

#[test]
fn card_numbers_in_a_resolution_are_masked() {
    let resolution =
        Resolution::not_processed("ada 4111111111111111").note("the card was 4111 1111 1111 1111");
    let unknown = row("unknown");
    let resolved = resolve(&unknown, resolution).unwrap();
    assert!(!format!("{:?}", resolved.history()).contains("1111 1111"));
    let IntentState::Resolved { resolution, .. } = resolved.state else { panic!("{:?}", resolved.state) };
    for text in [resolution.by, resolution.note.unwrap()] {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        assert!(digits.len() <= 4, "{text}");
    }
}

#[test]
fn rejection_returns_if_the_attempt_that_follows_it_was_not_processed_d44() {
    let first = row("rejected 400");
    assert_eq!(first.follows, None);
    let running = begin_after_rejection("second", 11).decide(Some(&first)).unwrap();
    assert_eq!(running.follows, Some(refused(400)));
    let crashed = crashed("second", 9).decide(Some(&running)).unwrap();
    for open in [running, crashed] {
        let ended = |ending| end("second", ending).decide(Some(&open)).unwrap();
        for kind in ["connect", "withdrawn", "abandoned"] {
            let restored = ended(Ending::NotProcessed(Failure::of_kind(kind)));
            assert_eq!((restored.state, restored.follows), (IntentState::Rejected(refused(400)), None));
        }
        for (ending, state) in [
            (processed("txn_3"), StateName::Processed),
            (rejected(422), StateName::Rejected),
            (Ending::Unknown(Failure::of_kind("closed")), StateName::Unknown),
        ] {
            let ended = ended(ending);
            assert_eq!((ended.state.name(), ended.follows), (state, None));
        }
    }
    // Without a rejection there is nothing to return to.
    for name in ["not processed", "resolved: not processed"] {
        let row = row(name);
        assert_eq!(begin_after_rejection("second", 11).decide(Some(&row)).unwrap().follows, None);
    }
}
