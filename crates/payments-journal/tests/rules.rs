//! `Change::decide`: every state against every change.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, TransactionId};
use payments_journal::{
    AttemptId, Change, Ending, Failure, Intent, IntentKey, IntentRequest, IntentState, OwnerId, Resolution,
    StateName,
};

fn at(second: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(second)
}

fn key() -> IntentKey {
    IntentKey::new("k").unwrap()
}

fn attempt(name: &str) -> AttemptId {
    AttemptId::from_kept(name)
}

fn request(cents: i64) -> IntentRequest {
    let amount = Amount::from_cents(cents);
    (&TokenTransaction::builder("tok_1", amount, ConvenienceFee::Inactive).build().unwrap()).into()
}

fn id(text: &str) -> TransactionId {
    TransactionId::new(text).unwrap()
}

fn begin(name: &str, cents: i64) -> Change {
    Change::begin(key(), request(cents), attempt(name), OwnerId::from_kept("owner"), at(9))
}

fn begin_after_rejection(name: &str, cents: i64) -> Change {
    Change::begin_after_rejection(key(), request(cents), attempt(name), OwnerId::from_kept("owner"), at(9))
}

fn rejected(status: u16) -> Failure {
    let mut failure = Failure::of_kind("rejected");
    failure.http_status = Some(status);
    failure
}

fn end(name: &str, ending: Ending) -> Change {
    Change::end(key(), attempt(name), ending, at(9))
}

fn sending() -> Intent {
    Change::begin(key(), request(10), attempt("first"), OwnerId::from_kept("owner"), at(1))
        .decide(None)
        .unwrap()
}

/// A row in each state, with the name that the tests below use.
fn rows() -> Vec<(&'static str, Intent)> {
    let after = |change: Change| change.decide(Some(&sending())).unwrap();
    let unknown = || after(end("first", Ending::Unknown(Failure::of_kind("timeout"))));
    let resolved = |resolution| Change::resolve(key(), resolution, at(2)).decide(Some(&unknown())).unwrap();
    vec![
        ("sending", sending()),
        ("processed", after(end("first", Ending::Processed(id("txn_1"))))),
        ("rejected 400", after(end("first", Ending::Rejected(rejected(400))))),
        ("rejected 429", after(end("first", Ending::Rejected(rejected(429))))),
        ("not processed", after(end("first", Ending::NotProcessed(Failure::of_kind("connect"))))),
        ("unknown", unknown()),
        ("crashed", after(Change::orphan(key(), attempt("first"), at(2)))),
        ("resolved: processed", resolved(Resolution::processed(id("txn_2"), "ada"))),
        ("resolved: not processed", resolved(Resolution::not_processed("ada"))),
    ]
}

/// Checks which rows a change may change, and to which state.
fn assert_changes(change: &Change, expected: &[(&str, StateName)]) {
    for (name, row) in rows() {
        let written = change.decide(Some(&row));
        let expected = expected.iter().find(|(row, _)| *row == name).map(|(_, state)| *state);
        assert_eq!(written.as_ref().map(|intent| intent.state.name()), expected, "{name}: {change:?}");
        if let Some(written) = written {
            assert_eq!(written.revision, row.revision + 1);
            assert_eq!((written.created_at, written.changed_at), (row.created_at, at(9)));
            assert_eq!(written.key, row.key);
        }
    }
}

#[test]
fn plain_call_sends_again_only_if_nothing_moved_d44() {
    let again = [("not processed", StateName::Sending), ("resolved: not processed", StateName::Sending)];
    assert_changes(&begin("second", 10), &again);
    for (_, row) in rows() {
        if let Some(written) = begin("second", 10).decide(Some(&row)) {
            assert_eq!((written.attempt, written.attempts), (attempt("second"), 2));
            assert_eq!((written.begun_at, written.owner), (at(9), OwnerId::from_kept("owner")));
        }
    }
}

#[test]
fn different_request_never_begins_with_a_used_key() {
    assert_changes(&begin("second", 11), &[]);
}

#[test]
fn new_attempt_after_a_rejection_begins_if_nothing_moved_with_any_request_d44() {
    let may_begin = ["rejected 400", "rejected 429", "not processed", "resolved: not processed"];
    for cents in [10, 11] {
        let change = begin_after_rejection("second", cents);
        assert_changes(&change, &may_begin.map(|row| (row, StateName::Sending)));
        for (_, row) in rows() {
            if let Some(written) = change.decide(Some(&row)) {
                assert_eq!((written.attempt, written.attempts), (attempt("second"), 2));
                assert_eq!((written.request, written.begun_at), (request(cents), at(9)));
            }
        }
    }
}

#[test]
fn new_attempt_after_a_rejection_needs_a_row_d44() {
    assert!(begin_after_rejection("first", 10).decide(None).is_none());
}

#[test]
fn only_the_newest_attempt_records_its_end_and_only_once() {
    for (ending, state) in [
        (Ending::Processed(id("txn_3")), StateName::Processed),
        (Ending::Rejected(rejected(400)), StateName::Rejected),
        (Ending::NotProcessed(Failure::of_kind("connect")), StateName::NotProcessed),
        (Ending::Unknown(Failure::of_kind("closed")), StateName::Unknown),
    ] {
        assert_changes(&end("first", ending.clone()), &[("sending", state), ("crashed", state)]);
        assert_changes(&end("second", ending), &[]);
    }
}

#[test]
fn orphan_changes_only_a_sending_row_of_that_attempt() {
    assert_changes(&Change::orphan(key(), attempt("first"), at(9)), &[("sending", StateName::Unknown)]);
    assert_changes(&Change::orphan(key(), attempt("second"), at(9)), &[]);
}

#[test]
fn person_resolves_unknown_rows_and_corrects_resolved_ones() {
    let rows = ["unknown", "crashed", "resolved: processed", "resolved: not processed"];
    let expected = rows.map(|row| (row, StateName::Resolved));
    assert_changes(&Change::resolve(key(), Resolution::not_processed("grace"), at(9)), &expected);
    assert_changes(&Change::resolve(key(), Resolution::processed(id("txn_4"), "grace"), at(9)), &expected);
}

#[test]
fn resolving_an_attempt_changes_no_resolution_and_no_other_attempt() {
    let change = |name| {
        Change::resolve_attempt(key(), attempt(name), Resolution::processed(id("txn_4"), "grace"), at(9))
    };
    let expected = ["unknown", "crashed"].map(|row| (row, StateName::Resolved));
    assert_changes(&change("first"), &expected);
    assert_changes(&change("second"), &[]);
    assert!(change("first").is_refused_if_taken());
}

#[test]
fn person_reopens_rows_rejected_with_that_status() {
    let change = |statuses: &[u16]| Change::reopen(key(), statuses.to_vec(), at(9));
    assert_changes(&change(&[401, 403, 429]), &[("rejected 429", StateName::NotProcessed)]);
    assert_changes(&change(&[]), &[]);
    let (_, row) = rows().into_iter().find(|(name, _)| *name == "rejected 429").unwrap();
    let reopened = change(&[429]).decide(Some(&row)).unwrap();
    let mut expected = rejected(429);
    expected.kind = Failure::REOPENED.into();
    assert_eq!(reopened.state, IntentState::NotProcessed(expected));
}

#[test]
fn missing_row_can_only_be_begun() {
    assert!(begin("first", 10).decide(None).is_some());
    for change in [
        end("first", Ending::Processed(id("txn_1"))),
        Change::orphan(key(), attempt("first"), at(9)),
        Change::resolve(key(), Resolution::not_processed("ada"), at(9)),
        Change::reopen(key(), vec![429], at(9)),
    ] {
        assert!(change.decide(None).is_none(), "{change:?}");
    }
}

#[test]
fn card_numbers_in_a_resolution_are_masked() {
    let resolution =
        Resolution::not_processed("ada 4111111111111111").note("the card was 4111 1111 1111 1111");
    let (_, unknown) = rows().into_iter().find(|(name, _)| *name == "unknown").unwrap();
    let resolved = Change::resolve(key(), resolution, at(9)).decide(Some(&unknown)).unwrap();
    let IntentState::Resolved { resolution, .. } = resolved.state else { panic!("{:?}", resolved.state) };
    for text in [resolution.by, resolution.note.unwrap()] {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        assert!(digits.len() <= 4, "{text}");
    }
}

#[test]
fn rejection_returns_if_the_attempt_that_follows_it_was_not_processed_d44() {
    let (_, refused) = rows().into_iter().find(|(name, _)| *name == "rejected 400").unwrap();
    assert_eq!(refused.follows, None);
    let running = begin_after_rejection("second", 11).decide(Some(&refused)).unwrap();
    assert_eq!(running.follows, Some(rejected(400)));
    let crashed = Change::orphan(key(), attempt("second"), at(9)).decide(Some(&running)).unwrap();
    for open in [running, crashed] {
        let ended = |ending| end("second", ending).decide(Some(&open)).unwrap();
        for kind in ["connect", Failure::WITHDRAWN, Failure::ABANDONED] {
            let restored = ended(Ending::NotProcessed(Failure::of_kind(kind)));
            assert_eq!((restored.state, restored.follows), (IntentState::Rejected(rejected(400)), None));
        }
        for (ending, state) in [
            (Ending::Processed(id("txn_3")), StateName::Processed),
            (Ending::Rejected(rejected(422)), StateName::Rejected),
            (Ending::Unknown(Failure::of_kind("closed")), StateName::Unknown),
        ] {
            let ended = ended(ending);
            assert_eq!((ended.state.name(), ended.follows), (state, None));
        }
    }
    // Without a rejection there is nothing to return to.
    for name in ["not processed", "resolved: not processed"] {
        let (_, row) = rows().into_iter().find(|(row, _)| *row == name).unwrap();
        assert_eq!(begin_after_rejection("second", 11).decide(Some(&row)).unwrap().follows, None);
    }
}
