//! `Change::decide` in a journal that has lost its newest entries: the ends of attempts that it lacks, and rejected keys.

use std::collections::BTreeSet;

use payments_core::model::TransactionId;
use payments_journal::internals::{Begin, Change, Ending};
use payments_journal::{
    Failure, FailureKind, HistoryEvent, Intent, IntentState, Resolution, StateName, Verdict,
};
use proptest::prelude::*;

use crate::decisions::{
    SERVICE, at, attempt, begin_at, crashed, id, key, none_found, not_processed, owner, paid_as, processed,
    rejected, request, resolve_at, timeout, unknown,
};

fn begin_as(begin: Begin, name: &str) -> Change {
    crate::decisions::begin_as(begin, name, request(10), 5)
}

fn begin(found: Option<&Intent>, name: &str) -> Intent {
    let begin = if found.is_some() { Begin::AfterRejection } else { Begin::Plain };
    begin_as(begin, name).decide(found).unwrap()
}

fn end(begun: &Intent, ending: Ending) -> Change {
    Change::end_of(begun.clone(), ending, at(9))
}

fn ended(begun: &Intent, ending: Ending) -> Intent {
    end(begun, ending).decide(Some(begun)).unwrap()
}

fn resolve(read: &Intent, resolution: Resolution) -> Intent {
    resolve_at(read, resolution, 7).unwrap()
}

/// What accept-history makes of a key that a person has named.
fn named(found: Option<&Intent>) -> Intent {
    Change::lost(key(), at(4), owner(), "ada", at(6)).decide(found).unwrap()
}

fn endings() -> [(Ending, StateName); 4] {
    [
        (processed("txn_n"), StateName::Processed),
        (rejected(429), StateName::Rejected),
        (not_processed(), StateName::NotProcessed),
        (unknown(), StateName::Unknown),
    ]
}

/// No call sends it.
fn assert_never_sent(intent: &Intent) {
    for begin in [Begin::Plain, Begin::AfterRejection] {
        assert!(begin_as(begin, "again").decide(Some(intent)).is_err(), "{intent:?}");
    }
}

#[test]
fn end_of_a_first_attempt_that_the_journal_lacks_is_written_whole_d49() {
    let begun = begin(None, "n");
    for (ending, state) in endings() {
        // The key is not there, or a person has named it.
        for found in [None, Some(named(None))] {
            let written = end(&begun, ending.clone()).decide(found.as_ref()).unwrap();
            let mut expected = ended(&begun, ending.clone());
            expected.revision = written.revision;
            // Who has named it is kept.
            if let Some(named) = &found {
                expected.events = named.events[1..].iter().chain(&*expected.history()).cloned().collect();
            }
            assert_eq!((&written, written.state.name()), (&expected, state));
            assert!(written.revision > found.map_or(0, |found| found.revision));
        }
    }
}

#[test]
fn end_of_a_later_attempt_than_the_older_row_is_written_whole_d49() {
    let first = begin(None, "first");
    let is_unknown = ended(&first, unknown());
    let crashed = crashed("first", 3).decide(Some(&first)).unwrap();
    let said = resolve(&is_unknown, none_found().note("not in the report"));
    let begun = begin(Some(&said), "n");
    for older in [&first, &crashed, &is_unknown, &said, &named(Some(&said))] {
        for (ending, state) in endings() {
            let written = end(&begun, ending.clone()).decide(Some(older)).unwrap();
            let mut expected = ended(&begun, ending);
            (expected.revision, expected.events) = (written.revision, written.events.clone());
            assert_eq!((&written, written.state.name()), (&expected, state), "over {older:?}");
            assert!(written.revision > older.revision && written.revision > begun.revision);
            assert!(written.resolutions().eq(said.resolutions()));
            let history = written.history();
            assert!(begun.history().iter().chain(&*older.history()).all(|event| history.contains(event)));
        }
    }
}

/// In the lost time a person may have resolved it, so that it was sent again.
#[test]
fn unknown_key_that_is_named_changes_so_that_no_earlier_finding_fits_d49() {
    let is_unknown = |failure| ended(&begin(None, "first"), Ending::Unknown(failure));
    let mut unclear = Failure::of_kind("unclear_answer");
    unclear.transaction_id = Some(id("txn_1"));
    let crashed = crashed("first", 3).decide(Some(&begin(None, "first"))).unwrap();
    let twice = named(Some(&is_unknown(timeout())));
    for found in [is_unknown(timeout()), is_unknown(unclear), crashed, named(None), twice] {
        let named = named(Some(&found));
        assert_eq!(named.state, IntentState::Unknown(Failure::of_kind(FailureKind::LOST_HISTORY)));
        assert_eq!((named.revision, named.attempts), (found.revision + 1, 1));
        assert_eq!(named.begun_at, at(4).min(found.begun_at), "it may still be the known attempt");
        assert!(found.history().iter().all(|event| named.history().contains(event)));
        for said in [none_found(), paid_as("txn_1")] {
            let old = Change::resolve(&found, said.clone().note("found"), at(7));
            assert!(old.decide(Some(&named)).is_err(), "it was about what the person saw");
            assert!(resolve_at(&named, said.note("found"), 7).is_some());
        }
        assert_never_sent(&named);
    }
}

#[test]
fn rejection_stays_one_if_the_attempt_after_it_was_not_processed_d49() {
    let refused = ended(&begin(None, "first"), rejected(429));
    let begun = begin(Some(&refused), "n");
    for older in [refused.clone(), named(Some(&refused))] {
        let written = end(&begun, not_processed()).decide(Some(&older)).unwrap();
        assert_eq!((written.state.name(), written.attempts), (StateName::Rejected, 2));
    }
    // A person has found out that the named key was declined.
    let declined = resolve(&named(None), Resolution::rejected(None, "ada").note("declined"));
    let written = end(&begin(None, "n"), not_processed()).decide(Some(&declined)).unwrap();
    assert_eq!((written.state.name(), written.resolutions().count()), (StateName::Rejected, 1));
}

#[test]
fn what_was_found_out_since_the_restore_is_kept_d49() {
    let first = ended(&begin(None, "first"), unknown());
    let said = resolve(&first, none_found().note("lost"));
    let begun = begin(Some(&said), "n");
    let found = resolve(&first, Resolution::processed(id("txn_1"), "grace").note("on the statement"));
    let reported = end(&begin(None, "first"), processed("txn_1")).decide(Some(&begin(None, "first")));
    for restored in [found, reported.unwrap()] {
        for (ending, state, second_charges) in [
            (processed("txn_n"), StateName::Processed, 1),
            (processed("txn_1"), StateName::Processed, 0),
            (unknown(), StateName::Unknown, 1),
            (rejected(429), StateName::Resolved, 0),
            (not_processed(), StateName::Resolved, 0),
        ] {
            let written = end(&begun, ending).decide(Some(&restored)).unwrap();
            assert_eq!((written.state.name(), written.attempts), (state, 2));
            assert_eq!(written.second_charges().count(), second_charges, "{written:?}");
            assert_eq!(written.resolutions().count(), 2, "{written:?}");
            assert_never_sent(&written);
        }
    }
}

#[test]
fn end_of_an_attempt_before_the_recorded_one_is_a_late_finding_d49() {
    let begun = begin(None, "n");
    let later = begin(None, "later");
    for (recorded, state, second_charges) in [
        (later.clone(), StateName::Sending, 1),
        (ended(&later, unknown()), StateName::Unknown, 1),
        (ended(&later, processed("txn_later")), StateName::Processed, 1),
        (resolve(&ended(&later, unknown()), paid_as("txn_later")), StateName::Resolved, 1),
        // The same transaction is one charge.
        (ended(&later, processed("txn_n")), StateName::Processed, 0),
        // Nothing later can have moved money.
        (ended(&later, rejected(429)), StateName::Processed, 0),
        (ended(&later, not_processed()), StateName::Processed, 0),
        (resolve(&ended(&later, unknown()), none_found()), StateName::Processed, 0),
        // A person has found the named key as a transaction.
        (resolve(&named(None), paid_as("txn_later")), StateName::Resolved, 1),
        (resolve(&named(None), paid_as("txn_n")), StateName::Resolved, 0),
    ] {
        let written = end(&begun, processed("txn_n")).decide(Some(&recorded)).unwrap();
        assert_eq!((written.state.name(), written.attempts), (state, 2), "{written:?}");
        assert_eq!(written.second_charges().count(), second_charges, "{written:?}");
        assert!(written.held_transactions().any(|held| *held == id("txn_n")));
        assert_never_sent(&written);
        // The later attempt still records its end.
        if state == StateName::Sending {
            let both = end(&later, processed("txn_later")).decide(Some(&written)).unwrap();
            assert!(both.second_charges().eq([&id("txn_n")]));
            let one = end(&later, not_processed()).decide(Some(&written)).unwrap();
            assert_eq!(one.processed_as(), Some(&id("txn_n")));
            assert_never_sent(&both);
            assert_never_sent(&one);
        }
        for ending in [rejected(429), not_processed(), unknown()] {
            let written = end(&begun, ending).decide(Some(&recorded)).ok();
            // Never less than what is recorded.
            let may_be_sent = |intent: &Intent| begin_as(Begin::Plain, "again").decide(Some(intent)).is_ok();
            assert!(may_be_sent(&recorded) || written.is_none_or(|written| !may_be_sent(&written)));
        }
    }
}

#[test]
fn late_success_of_the_attempt_that_a_person_named_as_lost_is_recorded_d49() {
    let begun = begin(None, "n");
    let said = resolve(&ended(&begun, unknown()), none_found());
    let named = named(Some(&said));
    let written = end(&begun, processed("txn_n")).decide(Some(&named)).unwrap();
    assert_eq!(written.state, IntentState::Processed { transaction_id: id("txn_n") });
    // What may have been sent since then is not settled by what is known of this attempt.
    for ending in [rejected(429), not_processed(), unknown()] {
        assert!(end(&begun, ending).decide(Some(&named)).is_err());
    }
}

#[test]
fn rejected_key_becomes_unknown_and_not_sent_if_later_entries_are_lost_d49() {
    let refused = ended(&begin(None, "first"), rejected(429));
    let by_status = Change::reopen(key(), Some(&[429]), "ada", None, at(8));
    let by_name = Change::reopen(key(), None, "ada", None, at(8));
    let may_lack = |since| Change::may_lack(key(), since, at(7));
    let reopened = by_status.decide(Some(&refused)).unwrap();
    let unreached = ended(&begin(None, "first"), not_processed());
    let written_off = resolve(&ended(&begin(None, "first"), unknown()), none_found());
    for (found, change) in [
        (&refused, begin_as(Begin::AfterRejection, "again")),
        (&refused, by_status),
        (&refused, by_name.clone()),
        (&reopened, begin_as(Begin::Plain, "again")),
        (&reopened, begin_as(Begin::AfterRejection, "again")),
        (&reopened, by_name),
    ] {
        let without_a_loss = change.decide(Some(found)).ok();
        assert!(without_a_loss.is_none_or(|written| written.state.name() != StateName::Unknown));
        let marked = may_lack(at(4)).decide(Some(found)).unwrap();
        assert_eq!((marked.lost_since, marked.revision), (Some(at(4)), found.revision));
        assert!(may_lack(at(5)).decide(Some(&marked)).is_err(), "the earlier loss counts");
        let named = Change::lost(key(), at(6), owner(), "ada", at(8)).decide(Some(&marked)).unwrap();
        assert_eq!(named.begun_at, at(4), "also if a person names the key in a later one");
        let lost = change.decide(Some(&marked)).unwrap();
        assert_eq!(
            lost.state,
            IntentState::Unknown(Failure::of_kind(FailureKind::LOST_HISTORY)),
            "{change:?}"
        );
        assert_eq!((lost.begun_at, lost.attempts, lost.revision), (at(4), 1, found.revision + 1));
        assert_eq!(lost.lost_since, None, "a person finds out about it");
        assert_never_sent(&lost);
    }
    // What changes nothing, and a call for another service.
    let marked = may_lack(at(4)).decide(Some(&refused)).unwrap();
    for change in [
        begin_as(Begin::Plain, "again"),
        Change::reopen(key(), Some(&[400]), "ada", None, at(8)),
        begin_at("https://sandbox.example.com", Begin::Plain, "again", request(10), 5),
    ] {
        assert!(change.decide(Some(&marked)).is_err());
    }
    // What is not about a rejected key.
    let charged = ended(&begin(None, "first"), processed("txn_1"));
    for found in [Some(&unreached), Some(&written_off), Some(&charged), None] {
        assert!(may_lack(at(4)).decide(found).is_err());
    }
}

/// A person names a wrong transaction and takes it back. Neither is about the lost time.
#[test]
fn found_transaction_does_not_hide_that_later_entries_are_lost_d49() {
    let refused = ended(&begin(None, "first"), rejected(429));
    let declined = resolve(&ended(&begin(None, "first"), unknown()), Resolution::rejected(None, "grace"));
    let reopened = Change::reopen(key(), None, "ada", None, at(5)).decide(Some(&refused)).unwrap();
    for row in [&refused, &declined, &reopened] {
        for decision in [none_found(), Resolution::rejected(None, "ada")] {
            let mut row = Change::may_lack(key(), at(4), at(6)).decide(Some(row)).unwrap();
            for text in ["txn_1", "txn_2"] {
                row = resolve(&row, paid_as(text));
                assert_eq!(row.processed_as(), Some(&id(text)));
            }
            row = resolve(&row, decision.clone());
            assert_eq!(row.state, IntentState::Unknown(Failure::of_kind(FailureKind::LOST_HISTORY)));
            assert_never_sent(&row);
            // Now the person knows of the loss, and may be wrong again.
            row = resolve(&resolve(&row, paid_as("txn_wrong")), decision);
            assert_eq!(begin(Some(&row), "again").state, IntentState::Sending);
            let says_so =
                |it: &HistoryEvent| matches!(it, HistoryEvent::Lost { since, .. } if *since == at(4));
            assert!(row.history().iter().any(says_so), "{row:?}");
        }
    }
    // What was found before the loss is no rejection that may hide one.
    let before = resolve(&refused, paid_as("txn_before"));
    assert!(Change::may_lack(key(), at(4), at(6)).decide(Some(&before)).is_err());
    assert_eq!(resolve(&before, none_found()).state.name(), StateName::Resolved);
}

/// The attempt that the journal lacked and the one that began since do not know of each other.
#[test]
fn lost_attempt_that_may_have_moved_money_stays_to_be_resolved_d49() {
    let lost = begin(None, "n");
    let since = begin(None, "since");
    let both = end(&lost, unknown()).decide(Some(&since)).unwrap();
    assert_eq!((both.state.name(), both.attempts), (StateName::Sending, 2));
    for ending in [rejected(429), not_processed(), unknown()] {
        let ended = Change::end_of(since.clone(), ending, at(9)).decide(Some(&both)).unwrap();
        assert_eq!(ended.state.name(), StateName::Unknown, "{ended:?}");
        assert_never_sent(&ended);
        let resolved = resolve(&ended, none_found().note("neither is in the report"));
        assert!(begin_as(Begin::Plain, "again").decide(Some(&resolved)).is_ok(), "a person has decided");
        let again = begin(Some(&resolved), "again");
        assert_eq!(self::ended(&again, not_processed()).state.name(), StateName::NotProcessed);
    }
    for processed_since in
        [ended(&since, processed("txn_since")), resolve(&ended(&since, unknown()), paid_as("txn_since"))]
    {
        let ended = end(&lost, unknown()).decide(Some(&processed_since)).unwrap();
        assert!(ended.is_unresolved(), "{ended:?}");
        assert!(ended.second_charges().eq([&id("txn_since")]), "{ended:?}");
        assert_never_sent(&ended);
    }
}

/// A key that is tried again every hour, from this attempt until it has dropped the first.
fn tried_again_for_long(mut row: Intent) -> Intent {
    for number in row.attempts + 1..=60 {
        row = begin(Some(&ended(&row, not_processed())), &number.to_string());
    }
    assert!(row.dropped_events > 0);
    row
}

/// It has dropped the begin of the attempt at which the copy was taken.
#[test]
fn copy_from_before_the_kept_history_is_an_older_row_d49() {
    let mut copy = begin(None, "1");
    for number in 2..=5 {
        copy = begin(Some(&ended(&copy, not_processed())), &number.to_string());
    }
    let row = tried_again_for_long(copy.clone());
    let crashed = Change::orphan(key(), attempt("5"), at(3)).decide(Some(&copy)).unwrap();
    let older = [ended(&copy, not_processed()), copy, crashed];
    for older in older {
        for (ending, state) in endings() {
            let written = end(&row, ending).decide(Some(&older)).unwrap();
            assert_eq!((written.attempts, &written.attempt_id), (60, &row.attempt_id), "over {older:?}");
            assert_eq!(written.state.name(), state);
            assert_eq!(written.second_charges().count(), 0);
        }
    }
}

#[test]
fn row_of_a_lost_and_a_found_one_is_as_old_and_as_changed_as_both_d49() {
    let lost = tried_again_for_long(begin(None, "1"));
    let since = begin_at(SERVICE, Begin::Plain, "since", request(10), 6).decide(None).unwrap();
    let both = end(&lost, unknown()).decide(Some(&since)).unwrap();
    assert_eq!((both.attempt_id, both.created_at), (since.attempt_id, lost.created_at));
    assert_eq!(both.revision, lost.revision + 1);
    assert!(both.dropped_events >= lost.dropped_events, "its own are dropped too");

    let mut named = named(None);
    named.revision += 10; // by other changes of the same person
    let found = end(&lost, unknown()).decide(Some(&named)).unwrap();
    assert_eq!((found.attempt_id, found.revision), (lost.attempt_id, lost.revision.max(named.revision) + 1));
    let first = end(&begin(None, "n"), unknown()).decide(Some(&named)).unwrap();
    assert_eq!(first.revision, named.revision + 1);
}

/// What happens to a key, in the lost time or after the restore.
fn step(row: Option<Intent>, what: u8, name: &str) -> Option<Intent> {
    let note = |resolution: Resolution| resolution.note(format!("note {name}"));
    let resolve =
        |row: &Intent, resolution| Change::resolve(row, note(resolution), at(7)).decide(Some(row)).ok();
    let end = |row: &Intent, ending| Change::end_of(row.clone(), ending, at(7)).decide(Some(row)).ok();
    let changed = match (what, &row) {
        (0..=3, found) => {
            let begin = if found.is_some() { Begin::AfterRejection } else { Begin::Plain };
            begin_as(begin, name).decide(found.as_ref()).ok()
        }
        (_, None) => None,
        (4, Some(row)) => end(row, rejected(429)),
        (5, Some(row)) => end(row, not_processed()),
        (6, Some(row)) => end(row, unknown()),
        (7, Some(row)) => end(row, processed(&format!("txn_{name}"))),
        (8 | 9, Some(row)) => resolve(row, none_found()),
        (10, Some(row)) => resolve(row, Resolution::rejected(None, "ada")),
        (11, Some(row)) => resolve(row, Resolution::processed(id(&format!("txn_{name}")), "ada")),
        (_, Some(row)) => {
            let found = note(Resolution::processed(id(&format!("txn_{name}")), "ada").of_attempt(1));
            Change::resolve(row, found, at(7)).decide(Some(row)).ok()
        }
    };
    changed.or(row)
}

fn notes(row: Option<&Intent>) -> BTreeSet<String> {
    let said = row.into_iter().flat_map(Intent::resolutions);
    said.filter_map(|said| said.resolution.note.clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn end_over_any_copy_loses_no_money_and_no_note_d49(
        kept in proptest::collection::vec(0..13_u8, 0..8),
        lost in proptest::collection::vec(0..13_u8, 0..8),
        is_named in any::<bool>(),
        since in proptest::collection::vec(0..13_u8, 0..8),
        ending in 0..4_usize,
    ) {
        let steps = |row: Option<Intent>, steps: &[u8], name: &str| {
            let steps = steps.iter().enumerate();
            steps.fold(row, |row, (number, what)| step(row, *what, &format!("{name}{number}")))
        };
        let copy = steps(None, &kept, "kept");
        let begun = steps(copy.clone(), &lost, "lost");
        let begin = if begun.is_some() { Begin::AfterRejection } else { Begin::Plain };
        let begun = begin_as(begin, "n").decide(begun.as_ref()).ok();
        let Some(begun) = begun else { return Ok(()) };
        let accepted = if is_named {
            Change::lost(key(), at(4), owner(), "ada", at(6))
        } else {
            Change::may_lack(key(), at(4), at(6))
        };
        let restored = accepted.decide(copy.as_ref()).ok().or(copy);
        let found = steps(restored, &since, "since");
        let (ending, _) = endings()[ending].clone();
        let written = end(&begun, ending.clone()).decide(found.as_ref()).ok();
        let now = written.as_ref().or(found.as_ref());
        let all: BTreeSet<_> = notes(Some(&begun)).union(&notes(found.as_ref())).cloned().collect();
        let may_begin = |row: &Intent, begin| begin_as(begin, "again").decide(Some(row)).is_ok();
        if let Some(written) = &written {
            prop_assert_eq!(notes(Some(written)), all);
            prop_assert_eq!(written.lost_since, found.as_ref().and_then(|found| found.lost_since));
            prop_assert!(written.revision > found.as_ref().map_or(0, |found| found.revision));
            let history = written.history();
            let attempts = history.iter().filter_map(|event| match event {
                HistoryEvent::Begun { attempt, attempt_id, .. } => Some((*attempt, attempt_id.clone())),
                _ => None,
            });
            let attempts: Vec<_> = attempts.collect();
            let numbers: BTreeSet<_> = attempts.iter().map(|(number, _)| *number).collect();
            prop_assert!(numbers.len() == attempts.len() && numbers.last() == Some(&written.attempts));
            let ids: BTreeSet<_> = attempts.iter().map(|(_, id)| id).collect();
            prop_assert_eq!(ids.len(), attempts.len());
            prop_assert!(written.resolutions().all(|said| said.attempt <= written.attempts));
            // A finding stays, unless a person has corrected it in the lost time.
            let is_corrected = |id: &TransactionId| {
                begun.resolutions().any(|said| said.resolution.verdict == Verdict::Processed(id.clone()))
            };
            for id in found.iter().flat_map(Intent::held_transactions).filter(|id| !is_corrected(id)) {
                prop_assert!(written.held_transactions().any(|held| held == id), "{id:?} in {written:?}");
            }
        }
        match &ending {
            Ending::Processed(id) => {
                let now = now.unwrap();
                prop_assert!(written.is_some() && now.held_transactions().any(|held| held == id), "{now:?}");
                prop_assert!(!may_begin(now, Begin::Plain) && !may_begin(now, Begin::AfterRejection));
            }
            // Also if the attempt that has begun since then moved no money.
            Ending::Unknown(_) => {
                let now = now.unwrap();
                let newest = Change::end(key(), now.attempt_id.clone(), not_processed(), at(9)).decide(Some(now)).ok();
                for row in [Some(now), newest.as_ref()].into_iter().flatten() {
                    prop_assert!(!may_begin(row, Begin::Plain) && !may_begin(row, Begin::AfterRejection), "{row:?}");
                }
            }
            _ => {}
        }
        // Another attempt that may have moved money is not forgotten.
        if let Some(found) = &found
            && found.is_unresolved()
            && found.attempt_id.to_string().starts_with("since")
        {
            prop_assert!(now.unwrap().is_unresolved());
            prop_assert_eq!(&now.unwrap().attempt_id, &found.attempt_id);
        }
    }
}
