//! The history of an intent: what `Change::decide` adds to it, and what it keeps.

use std::borrow::Cow;
use std::collections::BTreeSet;

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_journal::internals::{Begin, Change};
use payments_journal::{
    Ending, Failure, FailureKind, HistoryEvent, Intent, IntentRequest, IntentState, Resolution,
};
use proptest::prelude::*;

use crate::decisions::{
    at, attempt, begin_as, crashed, end, id, key, none_found, not_processed, owner, processed, rejected,
};

fn request(token: &str) -> IntentRequest {
    let payment = TokenTransaction::builder(token, Amount::from_cents(10_50), ConvenienceFee::Inactive);
    (&payment.reference_no("order-7").build().unwrap()).into()
}

fn begin(name: &str, second: u64) -> Change {
    let begin = if second == 1 { Begin::Plain } else { Begin::AfterRejection };
    begin_as(begin, name, request(&format!("tok_{name}")), second)
}

fn begun(number: u32, name: &str, second: u64) -> HistoryEvent {
    let (attempt_id, request) = (attempt(name), request(&format!("tok_{name}")));
    HistoryEvent::Begun { at: at(second), attempt: number, attempt_id, request }
}

fn ended(number: u32, ending: Ending, second: u64) -> HistoryEvent {
    HistoryEvent::Ended { at: at(second), attempt: number, ending }
}

fn unknown(kind: impl Into<Cow<'static, str>>) -> Ending {
    Ending::Unknown(Failure::of_kind(kind))
}

/// Each change applies. The history of each row continues that of the row before.
fn after(changes: impl IntoIterator<Item = Change>) -> Intent {
    let row = changes.into_iter().fold(None, |row: Option<Intent>, change| {
        let written =
            change.decide(row.as_ref()).unwrap_or_else(|why| panic!("{why:?}: {change:?} of {row:?}"));
        let before = row.as_ref().map_or_else(Vec::new, |row| row.history().into_owned());
        assert!(written.history().starts_with(&before), "{written:?}");
        Some(written)
    });
    row.unwrap()
}

#[test]
fn only_attempt_is_in_the_history_and_not_stored_twice_d48() {
    for (ending, state) in [
        (None, "sending"),
        (Some(processed("txn_1")), "processed"),
        (Some(rejected(429)), "rejected"),
        (Some(not_processed()), "not_processed"),
        (Some(unknown("timeout")), "unknown"),
    ] {
        let ends = ending.iter().map(|ending| end("a", ending.clone(), 2));
        let row = after([begin("a", 1)].into_iter().chain(ends));
        let expected = [begun(1, "a", 1)].into_iter().chain(ending.map(|ending| ended(1, ending, 2)));
        assert_eq!(*row.history(), *expected.collect::<Vec<_>>(), "{state}");
        assert_eq!((row.state.name().as_str(), row.events.len()), (state, 0));
    }
}

#[test]
fn history_has_every_event_in_order_d48() {
    let crashed = after([begin("a", 1), crashed("a", 2)]);
    let step = |row: &Intent, change: Change| change.decide(Some(row)).unwrap();
    let resolve = |row: &Intent, resolution: Resolution, second| {
        step(row, Change::resolve(row, resolution, at(second)))
    };
    let not_processed = none_found().note("not in the report");
    let declined = Resolution::rejected(id("txn_1"), "grace").note("declined on 21 November");
    let row = resolve(&crashed, not_processed.clone(), 3);
    let row = resolve(&row, declined.clone(), 4);
    let row = step(&row, begin("b", 5));
    let row = step(&row, end("b", rejected(429), 6));
    let reopen =
        Change::reopen(key(), Some(&[429]), "ada 4111111111111111", Some("the limit was raised"), at(7));
    let row = step(&row, reopen);
    let row = step(&row, Change::reopen(key(), None, "grace", None, at(8)));
    let row = step(&row, begin("c", 9));
    // Attempt 1 was sent after all, and its process is alive.
    let row = step(&row, end("a", processed("txn_a"), 10));
    let row = step(&row, end("c", unknown("timeout"), 11));
    let history = row.history();
    let [a, crash, said, replaced, b, refused, by_status, by_name, c, late, lost] = &*history else {
        panic!("{history:?}")
    };
    assert_eq!((a, crash), (&begun(1, "a", 1), &ended(1, unknown(FailureKind::CRASH), 2)));
    for (event, resolution, second) in [(said, not_processed, 3), (replaced, declined, 4)] {
        let HistoryEvent::Resolved(said) = event else { panic!("{event:?}") };
        assert_eq!((&said.resolution, said.attempt, said.at), (&resolution, 1, at(second)));
        assert_eq!(said.before, Some(Failure::of_kind(FailureKind::CRASH)));
    }
    assert_eq!((b, refused), (&begun(2, "b", 5), &ended(2, rejected(429), 6)));
    let note = Some("the limit was raised".to_owned());
    let masked = "ada ************1111".to_owned();
    assert_eq!(*by_status, HistoryEvent::Reopened { at: at(7), by: masked, note });
    assert_eq!(*by_name, HistoryEvent::Reopened { at: at(8), by: "grace".to_owned(), note: None });
    assert_eq!((c, lost), (&begun(3, "c", 9), &ended(3, unknown("timeout"), 11)));
    let HistoryEvent::Resolved(late) = late else { panic!("{late:?}") };
    assert!(late.resolution.is_reported && late.attempt == 1);
    let seconds: Vec<_> = history.iter().map(HistoryEvent::at).collect();
    assert_eq!(seconds, (1..=11).map(at).collect::<Vec<_>>());
}

#[test]
fn real_end_after_a_crash_was_marked_is_added_d48() {
    let orphan = crashed("a", 2);
    let row = after([begin("a", 1), orphan, end("a", processed("txn_1"), 3)]);
    let events =
        [begun(1, "a", 1), ended(1, unknown(FailureKind::CRASH), 2), ended(1, processed("txn_1"), 3)];
    assert_eq!(*row.history(), events);
}

#[test]
fn history_says_who_named_a_key_of_the_lost_time_d49() {
    let named = |second| Change::lost(key(), at(4), owner(), "ada", at(second));
    let lost = |attempt, by: Option<&str>| HistoryEvent::Lost {
        at: at(6),
        attempt,
        by: by.map(str::to_owned),
        since: at(4),
    };
    // A key that the journal lacked.
    let row = after([named(6)]);
    let history = row.history();
    assert!(
        matches!(&*history, [HistoryEvent::Begun { attempt: 1, .. }, said] if *said == lost(1, Some("ada")))
    );
    // One that a call could send.
    let row = after([begin("a", 1), end("a", rejected(429), 2), named(6)]);
    assert_eq!(*row.history(), [begun(1, "a", 1), ended(1, rejected(429), 2), lost(1, Some("ada"))]);
    // One that became unknown instead of being sent again.
    let unsent = after([
        begin("a", 1),
        end("a", rejected(429), 2),
        Change::may_lack(key(), at(4), at(5)),
        begin("b", 6),
    ]);
    assert_eq!(*unsent.history(), [begun(1, "a", 1), ended(1, rejected(429), 2), lost(1, None)]);
    assert!(matches!(unsent.state, IntentState::Unknown(_)));
}

#[test]
fn note_of_a_person_is_refused_and_not_lost_if_there_are_too_many_d48() {
    let mut row = after([begin("a", 1), end("a", rejected(429), 2)]);
    let reopen = |note: Option<&str>| Change::reopen(key(), Some(&[429]), "ada", note, at(3));
    let again = |row: &Intent, name: &str| {
        let row = begin(name, 4).decide(Some(row)).unwrap();
        end(name, rejected(429), 5).decide(Some(&row)).unwrap()
    };
    for number in 0..100 {
        row =
            again(&reopen(Some(&format!("note {number}"))).decide(Some(&row)).unwrap(), &number.to_string());
    }
    assert!(reopen(Some("one more")).decide(Some(&row)).is_err());
    assert!(reopen(None).decide(Some(&row)).is_ok());
    let notes: Vec<_> = (0..100).map(|number| format!("note {number}")).collect();
    assert_eq!(notes_of(&row.history()), notes.into_iter().collect());
}

fn notes_of(history: &[HistoryEvent]) -> BTreeSet<String> {
    let note = |event: &HistoryEvent| match event {
        HistoryEvent::Resolved(said) => said.resolution.note.clone(),
        HistoryEvent::Reopened { note, .. } => note.clone(),
        _ => None,
    };
    history.iter().filter_map(note).collect()
}

/// What may happen to a key.
fn step(row: &Intent, what: u8, number: u64) -> Option<Intent> {
    let (name, note) = (format!("n{number}"), format!("note {number}"));
    let now = at(10 + number);
    let end = |ending| Change::end_of(row.clone(), ending, now);
    let change = match what {
        0..=3 => begin(&name, 10 + number),
        4 | 5 => end(rejected(429)),
        6 => end(not_processed()),
        7 => end(unknown("timeout")),
        8 => Change::orphan(key(), row.attempt_id.clone(), now),
        9 => Change::resolve(row, none_found().note(note), now),
        10 => Change::reopen(key(), Some(&[429]), "ada", Some(&note), now),
        11 => Change::reopen(key(), None, "ada", None, now),
        _ => Change::lost(key(), at(1), owner(), "ada", now),
    };
    change.decide(Some(row)).ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn history_keeps_the_newest_50_events_and_every_note_d48(
        steps in proptest::collection::vec((0..13_u8, 0..20_u8), 0..400),
    ) {
        let mut row = after([begin("a", 1)]);
        let mut events = row.history().into_owned();
        for (number, (what, often)) in (0..).zip(steps) {
            // Notes are rarer than attempts.
            if what > 8 && often > 2 {
                continue;
            }
            let Some(written) = step(&row, what, number) else { continue };
            events.extend(written.history().last().cloned());
            row = written;
        }
        let history = row.history();
        prop_assert_eq!(history.len() + row.dropped_events as usize, events.len());
        let mut all = events.iter();
        prop_assert!(history.iter().all(|event| all.any(|one| one == event)), "in order: {:?}", history);
        prop_assert_eq!(notes_of(&history), notes_of(&events));
        // All of the newest events, unless older ones with notes need their place.
        prop_assert!(history.len() >= events.len().min(50));
        let said: BTreeSet<_> = row.resolutions().map(|said| said.attempt).chain([row.attempts]).collect();
        let may_be_dropped = |event: &&HistoryEvent| match event {
            HistoryEvent::Begun { attempt, .. }
            | HistoryEvent::Ended { attempt, .. }
            | HistoryEvent::Lost { attempt, .. } => !said.contains(attempt),
            HistoryEvent::Reopened { note, .. } => note.is_none(),
            _ => false,
        };
        prop_assert!(history.len() <= 50 || history.iter().filter(may_be_dropped).count() == 0);
        let dropped = events.iter().filter(|event| !history.contains(event));
        prop_assert!(dropped.clone().count() == row.dropped_events as usize);
        // A loss replaces `begun_at` of the row by the beginning of the lost time.
        let is_newest = |event: &HistoryEvent| matches!(event, HistoryEvent::Begun { attempt, attempt_id, request, .. }
            if (*attempt, attempt_id, request) == (row.attempts, &row.attempt_id, &row.request));
        prop_assert!(history.iter().any(is_newest));
    }
}
