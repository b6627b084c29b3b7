//! `Change::decide`: every state against every change.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use payments_core::model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, Payer, TokenTransaction, TransactionId,
    TransactionType, Void,
};
use payments_journal::{
    AttemptId, Change, Ending, Failure, Intent, IntentKey, IntentRequest, IntentState, OwnerId, Resolution,
    StateName,
};

const SERVICE: &str = "https://pay.example.com";

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
    Change::begin(key(), SERVICE, request(cents), attempt(name), OwnerId::from_kept("owner"), at(9))
}

fn begin_after_rejection(name: &str, cents: i64) -> Change {
    let (request, owner) = (request(cents), OwnerId::from_kept("owner"));
    Change::begin_after_rejection(key(), SERVICE, request, attempt(name), owner, at(9))
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
    Change::begin(key(), SERVICE, request(10), attempt("first"), OwnerId::from_kept("owner"), at(1))
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
fn no_call_for_another_service_begins_with_a_used_key_d47() {
    let owner = || OwnerId::from_kept("owner");
    for begin in [Change::begin, Change::begin_after_rejection] {
        let change =
            begin(key(), "https://sandbox.example.com", request(10), attempt("second"), owner(), at(9));
        assert_changes(&change, &[]);
        // Nor after a person has reopened it.
        for (name, row) in rows() {
            let reopen = [Change::reopen(key(), vec![400, 429], at(8)), Change::reopen_by_name(key(), at(8))];
            for reopened in reopen.iter().filter_map(|reopen| reopen.decide(Some(&row))) {
                assert!(change.decide(Some(&reopened)).is_none(), "{name}");
                assert!(begin_after_rejection("second", 11).decide(Some(&reopened)).is_some(), "{name}");
            }
        }
    }
    // No change moves a row to another service.
    for (name, row) in rows() {
        assert_eq!(row.service, SERVICE, "{name}");
    }
}

#[test]
fn person_reopens_a_named_row_whatever_it_was_rejected_with_d44() {
    let change = Change::reopen_by_name(key(), at(9));
    let rejected = ["rejected 400", "rejected 429"];
    assert_changes(&change, &rejected.map(|row| (row, StateName::NotProcessed)));
    // A rejection that was already reopened with others is now named, once.
    let (_, row) = rows().into_iter().find(|(name, _)| *name == "rejected 429").unwrap();
    let reopened = Change::reopen(key(), vec![429], at(2)).decide(Some(&row)).unwrap();
    let named = change.decide(Some(&reopened)).unwrap();
    let mut expected = self::rejected(429);
    expected.kind = Failure::REOPENED_BY_NAME.into();
    assert_eq!(named.state, IntentState::NotProcessed(expected));
    assert!(change.decide(Some(&named)).is_none());
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
        let owner = OwnerId::from_kept("owner");
        Change::begin(key(), SERVICE, self.request(), attempt("second"), owner, at(9))
    }

    /// As rejected with HTTP 400, then reopened by a person.
    fn reopened(self, reopen: &Change) -> Intent {
        let owner = OwnerId::from_kept("owner");
        let begin = Change::begin(key(), SERVICE, self.request(), attempt("first"), owner, at(1));
        let sending = begin.decide(None).unwrap();
        let rejected = end("first", Ending::Rejected(rejected(400))).decide(Some(&sending)).unwrap();
        reopen.decide(Some(&rejected)).unwrap()
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
    let by_status = Change::reopen(key(), vec![400], at(2));
    let by_name = Change::reopen_by_name(key(), at(2));
    for (recorded, corrected, is_taken_by_status, is_taken_by_name) in [
        (WITH, Parts { token: "tok_1", ..WITH }, true, true),
        (WITH, Parts { token: "tok_1", reference: Some(" order\u{a0} 17\n"), ..WITH }, true, true),
        (WITH, Parts { token: "tok_1", reference: Some("order17"), ..WITH }, true, true),
        // Another order of the same amount.
        (WITH, Parts { token: "tok_1", reference: Some("order 18"), ..WITH }, false, false),
        (WITH, Parts { token: "tok_1", reference: Some("Order 17"), ..WITH }, false, false),
        (WITH, Parts { token: "tok_1", ..WITHOUT }, false, false),
        (WITHOUT, Parts { token: "tok_1", ..WITH }, false, false),
        (WITH, Parts { token: "tok_1", cents: 11, ..WITH }, false, false),
        (WITH, Parts { token: "tok_1", fee: ConvenienceFee::Active, ..WITH }, false, false),
        (WITHOUT, Parts { token: "tok_1", ..WITHOUT }, false, true),
        (WITHOUT, Parts { token: "tok_1", reference: Some("\t "), ..WITHOUT }, false, true),
        (WITHOUT, Parts { token: "tok_1", cents: 11, ..WITHOUT }, false, false),
        // The same request, as of any key that moved nothing.
        (WITHOUT, WITHOUT, true, true),
    ] {
        for (reopen, is_taken) in [(&by_status, is_taken_by_status), (&by_name, is_taken_by_name)] {
            let row = recorded.reopened(reopen);
            let begun = corrected.begin().decide(Some(&row));
            let (from, to) = (recorded.request(), corrected.request());
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
        assert!(corrected.begin().decide(Some(&row)).is_none(), "{name}");
    }
    let reopened = parts.reopened(&Change::reopen_by_name(key(), at(2)));
    let begun = corrected.begin().decide(Some(&reopened)).unwrap();
    let not_processed = Ending::NotProcessed(Failure::of_kind("connect"));
    let used_up = end("second", not_processed).decide(Some(&begun)).unwrap();
    assert!(parts.begin().decide(Some(&used_up)).is_none(), "the corrected request is the key's");
    assert!(corrected.begin().decide(Some(&used_up)).is_some());
}

#[test]
fn card_and_account_are_no_corrections_of_each_other_d44() {
    let payer = Payer {
        customer_name: "Ada Example",
        email: "ada@example.com",
        country_code: "+44",
        phone_number: "020 7946 0000",
        country: "GB",
        postal_code: "SW1A 1AA",
        ip_address: "203.0.113.7",
    };
    let (amount, kind, fee) = (Amount::from_cents(10), TransactionType::Sale, ConvenienceFee::Inactive);
    let card = |number: &str, kind| -> IntentRequest {
        let card = Card { number, cvv: "123", expiry: "12/33" };
        (&CardTransaction::builder(amount, kind, fee, card, payer).build().unwrap()).into()
    };
    let account = AchTransaction::builder(amount, kind, fee, payer).account_field("AccountNumber", "000123");
    let account: IntentRequest = (&account.build().unwrap()).into();
    let (recorded, other_card) = (card("4242424242424242", kind), card("4111111111111111", kind));
    let (_, mut row) = rows().into_iter().find(|(name, _)| *name == "rejected 400").unwrap();
    row.request = recorded;
    let reopened = |reopen: Change| reopen.decide(Some(&row)).unwrap();
    let by_status = reopened(Change::reopen(key(), vec![400], at(2)));
    let by_name = reopened(Change::reopen_by_name(key(), at(2)));
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
fn missing_row_can_only_be_begun() {
    assert!(begin("first", 10).decide(None).is_some());
    for change in [
        end("first", Ending::Processed(id("txn_1"))),
        Change::orphan(key(), attempt("first"), at(9)),
        Change::resolve(key(), Resolution::not_processed("ada"), at(9)),
        Change::reopen(key(), vec![429], at(9)),
        Change::reopen_by_name(key(), at(9)),
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
