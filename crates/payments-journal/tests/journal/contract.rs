//! What every store must do. A store's own test file implements [`Place`], and [`tests`] generates its tests.

#[cfg(unix)]
mod tables;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use payments_core::OperationName;
use payments_core::model::{
    Amount, Card, CardTransaction, ConvenienceFee, Payer, TokenTransaction, TransactionId, TransactionType,
    Void,
};
use payments_fake::FakeGateway;
use payments_journal::internals::{Applied, Begin, Change, Ending, IntentStore, NewAttempt, Refusal};
use payments_journal::{
    AttemptId, Failure, FailureKind, HistoryEvent, Intent, IntentKey, IntentRequest, IntentState, Journal,
    JournaledClient, Purged, Resolution, StateName, StateSummary, StoreError, Summary,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use tokio::task::JoinSet;

/// The location of a journal, so that it can be opened more than once.
pub(crate) trait Place: Send + Sync {
    type Store: IntentStore;

    /// Opens it as another process would.
    fn open(&self) -> impl Future<Output = Self::Store> + Send;

    /// Makes all rows older, by the store's own time.
    fn make_older(&self, by: Duration) -> impl Future<Output = ()> + Send;
}

/// Generates a test from each function below, with this place, if there is one.
macro_rules! tests {
    ($place:expr) => {
        $crate::contract::tests!($place,
            intent_is_read_back_unchanged
            text_of_any_characters_is_stored
            random_changes_follow_the_rules
            one_of_many_concurrent_begins_wins_whatever_its_service_d47
            one_of_many_new_attempts_after_a_rejection_wins_d44
            different_keys_do_not_interfere
            list_has_pages_in_writing_order
            list_has_the_requested_states
            purge_keeps_unresolved_and_young_rows_d45
            purge_keeps_a_day_whatever_the_age_d45
            purge_ignores_clocks_of_senders_d45
            purge_counts_from_the_last_write_d45
            owner_is_live_until_it_is_closed
            closed_store_does_nothing
            intents_of_dead_owners_become_unknown
            attempt_marked_as_crashed_still_records_its_end
            many_clients_send_one_key_once
            one_of_many_resolutions_with_one_transaction_wins
            resolution_with_a_taken_transaction_is_refused_except_for_a_void
            end_with_a_taken_transaction_is_recorded_and_reported
            no_two_keys_are_found_processed_as_one_transaction_d48
            ids_with_a_replaced_part_are_not_compared_d55
            transaction_belongs_to_one_key_of_a_base_url_whatever_the_label_d47
            transaction_of_a_key_that_was_lost_is_taken_at_every_service_d49
            lost_void_is_resolved_as_its_payment_and_no_lost_payment_is_d49
            summary_has_exact_sums_of_every_state
            service_is_renamed_as_a_whole_and_the_former_name_is_kept_d47
            forgotten_service_leaves_no_key_d47
            service_that_changed_or_is_in_use_stays_d47
            services_with_one_transaction_are_not_joined_d47
        );
    };
    ($place:expr, $($name:ident)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            if let Some(place) = $place {
                $crate::contract::$name(place).await;
            }
        }
    )*};
}
pub(crate) use tests;

#[cfg(unix)]
pub(crate) use tables::*;

pub(crate) fn key(text: &str) -> IntentKey {
    IntentKey::new(text).unwrap()
}

pub(crate) fn at(second: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_795_000_000 + second)
}

pub(crate) fn token_request(cents: i64) -> IntentRequest {
    let payment =
        TokenTransaction::builder("tok_approved", Amount::from_cents(cents), ConvenienceFee::Inactive);
    (&payment.reference_no("invoice 17").build().unwrap()).into()
}

/// The begin of an attempt by this store.
pub(crate) fn begin(name: &str, store: &impl IntentStore, second: u64) -> Change {
    begin_at(SERVICE, Begin::Plain, name, token_request(10_50), store, at(second))
}

fn begin_at(
    service: &str,
    begin: Begin,
    name: &str,
    request: IntentRequest,
    store: &impl IntentStore,
    now: SystemTime,
) -> Change {
    let (service, owner) = (service.to_owned(), store.owner().clone());
    Change::begin(key(name), NewAttempt { begin, service, request, attempt_id: AttemptId::new(), owner }, now)
}

/// Another attempt of a rejected key.
fn begin_again(name: &str, store: &impl IntentStore, cents: i64) -> Change {
    begin_at(SERVICE, Begin::AfterRejection, name, token_request(cents), store, at(3))
}

pub(crate) const SERVICE: &str = "https://pay.example.com";

/// Checks that a journal could not be opened because its store only reads.
pub(crate) fn is_only_read<T: Debug>(opened: Result<T, StoreError>) {
    let refusal = opened.unwrap_err();
    assert!(refusal.is_refused(), "{refusal:?}");
    assert_eq!(refusal.to_string(), "the journal was opened only to be read; nothing was changed");
}

/// Begins this key.
pub(crate) async fn begun(store: &impl IntentStore, name: &str) -> Intent {
    apply(store, begin(name, store, 1)).await.written().unwrap()
}

/// Ends the newest attempt of this key.
pub(crate) async fn ended(store: &impl IntentStore, name: &str, ending: Ending) -> Applied {
    let Intent { key, attempt_id, .. } = row(store, name).await;
    apply(store, Change::end(key, attempt_id, ending, at(2))).await
}

/// Begins and ends this key.
pub(crate) async fn charged(store: &impl IntentStore, name: &str, ending: Ending) -> Applied {
    begun(store, name).await;
    ended(store, name, ending).await
}

pub(crate) async fn row(store: &impl IntentStore, name: &str) -> Intent {
    store.find(&key(name)).await.unwrap().unwrap()
}

/// Begins this key at this service and, unless there is no ending, ends it.
pub(crate) async fn at_service(
    store: &impl IntentStore,
    service: &str,
    name: &str,
    cents: i64,
    ending: Option<Ending>,
) {
    let begin = begin_at(service, Begin::Plain, name, token_request(cents), store, at(1));
    assert!(apply(store, begin).await.written().is_some());
    if let Some(ending) = ending {
        assert!(ended(store, name, ending).await.written().is_some());
    }
}

pub(crate) fn as_processed(id: &str) -> Ending {
    Ending::Processed(transaction(id))
}

fn as_unknown() -> Ending {
    let mut failure = Failure::of_kind("timeout");
    // PostgreSQL cannot read it in JSON.
    failure.reason = Some("no\0answer \\u0000".to_owned());
    Ending::Unknown(failure)
}

pub(crate) const OTHER: &str = "https://rehearsal.example.com/api#books";

fn seen(summary: &Summary, state: StateName) -> (u64, Option<String>, Option<SystemTime>) {
    let StateSummary { count, sum, oldest, .. } = summary.state(state);
    (*count, sum.map(|sum| sum.to_string()), *oldest)
}

pub(crate) async fn summary_has_exact_sums_of_every_state(place: impl Place) {
    let journal = Journal::open(place.open().await).await.unwrap();
    let empty = journal.summary().await.unwrap();
    assert_eq!((empty.count(), empty.states.len()), (0, StateName::ALL.len()));
    assert_eq!(seen(&empty, StateName::Unknown), (0, Some("0.00".to_owned()), None));
    {
        let store = place.open().await;
        at_service(&store, SERVICE, "a", 10, Some(as_processed("txn_a"))).await;
        at_service(&store, SERVICE, "b", 20, Some(as_processed("txn_b"))).await;
        at_service(&store, OTHER, "c", i64::MAX, Some(as_unknown())).await;
        at_service(&store, OTHER, "d", i64::MAX, Some(as_unknown())).await;
        at_service(&store, SERVICE, "e", 7, None).await;
        let summary = journal.summary().await.unwrap();
        assert_eq!(seen(&summary, StateName::Processed), (2, Some("0.30".to_owned()), Some(at(1))));
        // Too large to be exact.
        assert_eq!(seen(&summary, StateName::Unknown), (2, None, Some(at(1))));
        assert_eq!(seen(&summary, StateName::Sending), (1, Some("0.07".to_owned()), Some(at(1))));
        let of_one = journal.intents_of_service(SERVICE).await.unwrap();
        assert_eq!((of_one.intents.count(), of_one.service.as_str()), (3, SERVICE));
        store.close().await;
    }
    // What a dead owner was sending is unknown, and nothing is written for that.
    let summary = journal.summary().await.unwrap();
    assert_eq!((seen(&summary, StateName::Sending).0, seen(&summary, StateName::Unknown).0), (0, 3));
    assert_eq!(journal.find(&key("e")).await.unwrap().unwrap().state, IntentState::Sending);
    assert!(journal.intents_of_service("https://nobody.example.com").await.is_err());
}

pub(crate) async fn service_is_renamed_as_a_whole_and_the_former_name_is_kept_d47(place: impl Place) {
    const NEW: &str = "https://new.example.com/api#books";
    let store = place.open().await;
    at_service(&store, OTHER, "a", 10_50, Some(as_processed("txn_a"))).await;
    at_service(&store, OTHER, "b", 20_00, Some(as_unknown())).await;
    at_service(&store, SERVICE, "c", 5_00, Some(as_processed("txn_a"))).await;
    let journal = Journal::open(place.open().await).await.unwrap();
    let before = journal.find(&key("a")).await.unwrap().unwrap();
    let b_before = journal.find(&key("b")).await.unwrap().unwrap();
    let read = journal.intents_of_service(OTHER).await.unwrap();
    journal.rename_service(&read, NEW, "ada").await.unwrap();

    let renamed = journal.find(&key("a")).await.unwrap().unwrap();
    assert!(renamed.former_services().eq([OTHER]));
    let history = renamed.history();
    let Some((HistoryEvent::Renamed { by, intents, .. }, earlier)) = history.split_last() else {
        panic!("{renamed:?}")
    };
    assert_eq!((earlier, &**by, *intents), (&*before.history(), "ada", 2));
    let mut expected = before.clone();
    expected.service = Some(NEW.to_owned());
    expected.revision += 1;
    (expected.changed_at, expected.events) = (renamed.changed_at, renamed.events.clone());
    assert_eq!(renamed, expected);
    assert_eq!(journal.find(&key("c")).await.unwrap().unwrap().service.as_deref(), Some(SERVICE));
    assert!(journal.intents_of_service(OTHER).await.is_err());
    assert_eq!(journal.intents_of_service(NEW).await.unwrap().intents, read.intents);
    // A person who read it before decides again.
    let refused = journal.resolve(&b_before, Resolution::not_processed("ada")).await.unwrap_err();
    assert!(refused.is_changed(), "{refused}");
    // Its transaction is now taken there, and only there.
    at_service(&store, NEW, "d", 20_00, Some(as_unknown())).await;
    let unresolved = journal.find(&key("d")).await.unwrap().unwrap();
    let same = found("txn_a");
    assert!(journal.resolve(&unresolved, same).await.unwrap_err().is_contradicted());
}

pub(crate) async fn forgotten_service_leaves_no_key_d47(place: impl Place) {
    let store = place.open().await;
    at_service(&store, OTHER, "a", 10_50, Some(as_processed("txn_a"))).await;
    at_service(&store, OTHER, "b", 20_00, Some(as_unknown())).await;
    at_service(&store, SERVICE, "c", 5_00, Some(as_processed("txn_c"))).await;
    let journal = Journal::open(place.open().await).await.unwrap();
    let read = journal.intents_of_service(OTHER).await.unwrap();
    // A possible charge is not forgotten.
    let refused = journal.forget_service(&read, "ada").await.unwrap_err();
    assert!(refused.is_unknown() && refused.to_string().contains("resolve them first"), "{refused}");
    let b = journal.find(&key("b")).await.unwrap().unwrap();
    journal.resolve(&b, Resolution::not_processed("ada")).await.unwrap();
    let read = journal.intents_of_service(OTHER).await.unwrap();
    journal.forget_service(&read, "ada").await.unwrap();
    for forgotten in ["a", "b"] {
        assert_eq!(journal.find(&key(forgotten)).await.unwrap(), None);
    }
    assert!(journal.find(&key("c")).await.unwrap().is_some());
    // The key is new, and its transaction is free.
    at_service(&store, OTHER, "b", 20_00, Some(as_unknown())).await;
    let b = journal.find(&key("b")).await.unwrap().unwrap();
    assert_eq!(b.attempts, 1);
    let found = found("txn_a");
    journal.resolve(&b, found).await.unwrap();
}

pub(crate) async fn service_that_changed_or_is_in_use_stays_d47(place: impl Place) {
    const NEW: &str = "https://new.example.com";
    let store = place.open().await;
    at_service(&store, OTHER, "a", 10_50, Some(as_processed("txn_a"))).await;
    let journal = Journal::open(place.open().await).await.unwrap();
    let read = journal.intents_of_service(OTHER).await.unwrap();
    at_service(&store, OTHER, "b", 20_00, Some(as_processed("txn_b"))).await;
    for refused in
        [journal.rename_service(&read, NEW, "ada").await, journal.forget_service(&read, "ada").await]
    {
        let refused = refused.unwrap_err();
        assert_eq!(refused.changed().map(|now| now.intents.count()), Some(2), "{refused}");
    }
    at_service(&store, OTHER, "c", 20_00, None).await;
    let read = journal.intents_of_service(OTHER).await.unwrap();
    for refused in
        [journal.rename_service(&read, NEW, "ada").await, journal.forget_service(&read, "ada").await]
    {
        assert!(refused.unwrap_err().is_in_flight());
    }
    assert_eq!(journal.intents_of_service(OTHER).await.unwrap(), read);
    for bad in [
        "",
        "new.example.com",
        "https://new.example.com/",
        "HTTPS://new.example.com",
        "https://n.example#a b",
    ] {
        let refused = journal.rename_service(&read, bad, "ada").await.unwrap_err();
        assert!(refused.to_string().contains("the new name"), "{bad}: {refused}");
    }
}

pub(crate) async fn services_with_one_transaction_are_not_joined_d47(place: impl Place) {
    let store = place.open().await;
    at_service(&store, OTHER, "a", 10_50, Some(as_processed("txn_1"))).await;
    at_service(&store, OTHER, "b", 10_50, Some(as_processed("txn_2"))).await;
    at_service(&store, SERVICE, "c", 10_50, Some(as_processed("txn_1"))).await;
    let journal = Journal::open(place.open().await).await.unwrap();
    let read = journal.intents_of_service(OTHER).await.unwrap();
    let refused = journal.rename_service(&read, SERVICE, "ada").await.unwrap_err();
    assert_eq!(refused.same_transactions(), [key("a")], "{refused}");
    // Nor those of two merchants of the new base URL.
    let refused = journal.rename_service(&read, &format!("{SERVICE}#books"), "ada").await.unwrap_err();
    assert_eq!(refused.same_transactions(), [key("a")], "{refused}");
    assert_eq!(journal.intents_of_service(OTHER).await.unwrap(), read);
    // A merchant gets a label, another one, and none.
    for (from, to) in [
        (SERVICE, "https://pay.example.com#books"),
        ("https://pay.example.com#books", "https://pay.example.com#toys"),
        ("https://pay.example.com#toys", SERVICE),
    ] {
        let read = journal.intents_of_service(from).await.unwrap();
        journal.rename_service(&read, to, "ada").await.unwrap();
        assert_eq!(journal.find(&key("c")).await.unwrap().unwrap().service.as_deref(), Some(to));
    }
}

pub(crate) const PAYER: Payer<'static> = Payer {
    customer_name: "Ada Example",
    email: "ada@example.com",
    country_code: "+44",
    phone_number: "020 7946 0000",
    country: "GB",
    postal_code: "SW1A 1AA",
    ip_address: "203.0.113.7",
};

fn card_request() -> IntentRequest {
    let card = Card { number: "4242424242424242", cvv: "123", expiry: "12/30" };
    let amount = Amount::from_cents(99_99);
    let payment =
        CardTransaction::builder(amount, TransactionType::Auth, ConvenienceFee::Active, card, PAYER);
    (&payment.build().unwrap()).into()
}

fn void_request() -> IntentRequest {
    (&Void::new(TransactionId::new("txn_1").unwrap()).with_reason("ordered twice").unwrap()).into()
}

pub(crate) fn transaction(text: &str) -> TransactionId {
    TransactionId::from_response(text).unwrap()
}

fn failure(kind: &'static str) -> Failure {
    let mut failure = Failure::of_kind(kind);
    failure.http_status = Some(502);
    failure.reason = Some("Bad Gateway".to_owned());
    failure.transaction_id = Some(transaction("txn_9"));
    failure
}

fn endings() -> Vec<Ending> {
    vec![
        Ending::Processed(transaction("txn_7")),
        Ending::Rejected(failure("rejected")),
        Ending::NotProcessed(Failure::of_kind("connect")),
        Ending::Unknown(failure("timeout")),
        Ending::Unknown(Failure::of_kind("closed")),
    ]
}

async fn apply(store: &impl IntentStore, change: Change) -> Applied {
    store.apply(change).await.unwrap()
}

/// The other intent that holds the transaction.
fn holder(applied: &Applied) -> Option<&IntentKey> {
    match applied {
        Applied::Refused(..) => None,
        Applied::Written { same_transaction_as, .. } => same_transaction_as.as_ref(),
    }
}

fn why(applied: Applied) -> Refusal {
    let Applied::Refused(why, Some(_)) = applied else { panic!("{applied:?}") };
    why
}

fn taken(id: &str, by: &str) -> Refusal {
    Refusal::Taken { id: transaction(id), by: key(by) }
}

/// A person has found it processed.
fn found(id: &str) -> Resolution {
    Resolution::processed(transaction(id), "ada")
}

/// Resolves the intent as it is now.
pub(crate) async fn resolve(store: &impl IntentStore, text: &str, resolution: Resolution) -> Applied {
    let read = store.find(&key(text)).await.unwrap().unwrap();
    apply(store, Change::resolve(&read, resolution, at(4))).await
}

pub(crate) async fn intent_is_read_back_unchanged<P: Place>(place: P) {
    let (store, other) = (place.open().await, place.open().await);
    assert_ne!(store.owner(), other.owner());
    let mut expected = Vec::new();
    for (number, request) in [token_request(1), card_request(), void_request()].into_iter().enumerate() {
        for (ending_number, ending) in endings().into_iter().enumerate() {
            let name = format!("intent-{number}-{ending_number}");
            let change = |by| begin_at(SERVICE, Begin::Plain, &name, request.clone(), by, at(1));
            let begun = apply(&store, change(&store)).await.written();
            assert_eq!(other.find(&key(&name)).await.unwrap(), begun, "while it is sent");
            assert_eq!(apply(&other, change(&other)).await, Applied::Refused(Refusal::Known, begun));
            let ended = ended(&store, &name, ending.clone()).await;
            let mut last = ended.written().unwrap();
            if matches!(ending, Ending::Unknown(_)) {
                let id = format!("txn_8-{number}-{ending_number}");
                let resolution = found(&id).note("it is on the statement");
                let resolved = apply(&store, Change::resolve(&last, resolution, at(3))).await;
                last = resolved.written().unwrap();
                assert_eq!(last.transaction_id(), Some(&transaction(&id)));
                assert_eq!((last.created_at, last.changed_at, last.revision), (at(1), at(3), 3));
            }
            for reader in [&store, &other] {
                assert_eq!(row(reader, &name).await, last);
            }
            expected.push(last);
        }
    }
    drop((store, other));
    let reopened = place.open().await;
    assert_eq!(intents(&reopened).await, expected);
    assert_eq!(reopened.find(&key("intent")).await.unwrap(), None);
}

pub(crate) async fn text_of_any_characters_is_stored<P: Place>(place: P) {
    let store = place.open().await;
    let odd = "'); DROP TABLE intent; -- \" \\ \r\n\t ä 😀 \u{202e} %s $1 ?1";
    let name = format!("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{{|}}~{}", "k".repeat(90));
    let mut unknown = failure("timeout");
    unknown.reason = Some(odd.repeat(20));
    unknown.transaction_id = Some(transaction(odd));
    charged(&store, &name, Ending::Unknown(unknown.clone())).await;
    let resolution = Resolution::not_processed(odd).note(odd);
    resolve(&store, &name, resolution.clone()).await;
    let kept = row(&store, &name).await;
    assert_eq!(kept.state, IntentState::Resolved { resolution, before: unknown });

    let kept = charged(&store, "nul", as_processed("txn\0_1")).await.written().unwrap();
    assert_eq!(row(&store, "nul").await, kept);
    assert_eq!(kept.processed_as(), Some(&transaction("txn\0_1")));
}

/// Changes of a few keys by a few attempts, so that they collide.
fn changes() -> impl Strategy<Value = Vec<(u8, u8, u8)>> {
    proptest::collection::vec((0..3_u8, 0..3_u8, 0..18_u8), 40)
}

pub(crate) async fn random_changes_follow_the_rules<P: Place>(place: P) {
    let stores = [place.open().await, place.open().await];
    let mut runner = TestRunner::default();
    for round in 0..12 {
        let attempts: Vec<_> = (0..3).map(|_| AttemptId::new()).collect();
        let mut model: BTreeMap<IntentKey, Intent> = BTreeMap::new();
        for (step, (key, attempt, what)) in
            changes().new_tree(&mut runner).unwrap().current().into_iter().enumerate()
        {
            let key = self::key(&format!("{round}-{key}"));
            let store = &stores[step % 2];
            let attempt = attempts[usize::from(attempt)].clone();
            let now = at(step as u64);
            let end = |ending| Change::end(key.clone(), attempt.clone(), ending, now);
            let change = match what {
                0..=3 | 11..=12 => {
                    let request = token_request(i64::from(what % 2 + 1));
                    let begin = if what <= 3 { Begin::Plain } else { Begin::AfterRejection };
                    let (service, owner) = (SERVICE.to_owned(), store.owner().clone());
                    let attempt_id = attempt.clone();
                    let new = NewAttempt { begin, service, request, attempt_id, owner };
                    Change::begin(key.clone(), new, now)
                }
                4..=8 => end(endings().remove(usize::from(what - 4))),
                9 if let Some(found) = model.get(&key) => {
                    Change::resolve(found, Resolution::not_processed("ada"), now)
                }
                9..=10 => Change::orphan(key.clone(), attempt.clone(), now),
                13 => Change::reopen(key.clone(), Some(&[502]), "ada", Some("n"), now),
                14 => Change::reopen(key.clone(), None, "ada", None, now),
                15 => Change::may_lack(key.clone(), at(0), now),
                16 => Change::lost(key.clone(), at(0), store.owner().clone(), "ada", now),
                // Of an attempt that the journal lacks.
                _ => {
                    let lost = begin(key.as_str(), store, 1).decide(None).unwrap();
                    Change::end_of(lost, endings().remove(step % 5), now)
                }
            };
            let expected = change.decide(model.get(&key));
            match apply(store, change.clone()).await {
                Applied::Refused(why, found) => {
                    assert_eq!((found.as_ref(), Err(why)), (model.get(&key), expected), "{change:?}");
                }
                applied @ Applied::Written { .. } => {
                    let written = applied.written();
                    assert_eq!(written, expected.ok(), "{change:?}");
                    model.extend(written.map(|written| (key, written)));
                }
            }
        }
        for (key, intent) in model {
            assert_eq!(stores[0].find(&key).await.unwrap(), Some(intent));
        }
    }
}

/// Applies these changes at once, by three stores in turn. Returns the rows of those that were made.
async fn raced<S: IntentStore>(stores: &[Arc<S>], change: impl Fn(usize, &S) -> Change) -> Vec<Intent> {
    let mut racing = JoinSet::new();
    for number in 0..12 {
        let store = stores[number % stores.len()].clone();
        let change = change(number, &store);
        racing.spawn(async move { apply(&*store, change).await.written() });
    }
    racing.join_all().await.into_iter().flatten().collect()
}

async fn three_stores<P: Place>(place: &P) -> [Arc<P::Store>; 3] {
    [place.open().await, place.open().await, place.open().await].map(Arc::new)
}

/// Programs for production and for a sandbox use a key at the same time.
pub(crate) async fn one_of_many_concurrent_begins_wins_whatever_its_service_d47<P: Place>(place: P) {
    let stores = three_stores(&place).await;
    for round in 0..20 {
        let name = format!("k{round}");
        // A new key, and the same key after it was not processed.
        for attempts in 1..=2 {
            let winners = raced(&stores, |number, store| {
                let service = if number < 6 { SERVICE } else { OTHER };
                begin_at(service, Begin::Plain, &name, token_request(10_50), store, at(1))
            });
            let winners = winners.await;
            let kept = row(&*stores[0], &name).await;
            assert_eq!((kept.attempts, winners), (attempts, vec![kept]));
            ended(&*stores[0], &name, Ending::NotProcessed(Failure::of_kind("connect"))).await;
        }
    }
}

pub(crate) async fn one_of_many_new_attempts_after_a_rejection_wins_d44<P: Place>(place: P) {
    let stores = three_stores(&place).await;
    let first = apply(&*stores[0], begin_again("k", &*stores[0], 1)).await;
    assert_eq!(first, Applied::Refused(Refusal::NoSuchIntent, None), "there is no rejection to follow");
    let refused = charged(&*stores[0], "k", Ending::Rejected(failure("rejected"))).await.written().unwrap();
    // Each with another request.
    let cents = |number| 100 + i64::try_from(number).unwrap();
    let winners = raced(&stores, |number, store| begin_again("k", store, cents(number))).await;
    let kept = row(&*stores[1], "k").await;
    assert_eq!(winners, std::slice::from_ref(&kept));
    assert_eq!((kept.attempts, &kept.state), (2, &IntentState::Sending));
    assert_ne!((&kept.request, &kept.attempt_id), (&refused.request, &refused.attempt_id));

    // The outcome of this attempt is the outcome of the key.
    let ended = ended(&*stores[2], "k", as_processed("txn_1")).await.written().unwrap();
    assert_eq!(ended.request, kept.request);
    let again = apply(&*stores[1], begin_again("k", &*stores[1], 1)).await;
    assert!(matches!(&again, Applied::Refused(_, Some(found)) if *found == ended), "{again:?}");
}

pub(crate) async fn different_keys_do_not_interfere<P: Place>(place: P) {
    let stores = [place.open().await, place.open().await].map(Arc::new);
    let mut racing = JoinSet::new();
    for number in 0..64_usize {
        let store = stores[number % 2].clone();
        racing.spawn(async move {
            let ending = as_processed(&format!("txn_{number}"));
            assert!(charged(&*store, &format!("k{number}"), ending).await.written().is_some());
        });
    }
    racing.join_all().await;
    for number in 0..64 {
        let intent = row(&*stores[0], &format!("k{number}")).await;
        assert_eq!(intent.transaction_id(), Some(&transaction(&format!("txn_{number}"))));
    }
}

/// Every intent of the store.
pub(crate) async fn intents(store: &impl IntentStore) -> Vec<Intent> {
    let rows = store.list(StateName::ALL, None, usize::MAX).await.unwrap();
    rows.into_iter().map(|(_, intent)| intent).collect()
}

pub(crate) async fn list_has_pages_in_writing_order<P: Place>(place: P) {
    let store = place.open().await;
    // This is neither the order of the keys nor that of the last change.
    let names = ["m", "z", "a", "q", "c", "b", "y"];
    for name in names {
        begun(&store, name).await;
    }
    ended(&store, "m", endings().remove(0)).await;

    let (mut listed, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = store.list(StateName::ALL, after, 3).await.unwrap();
        pages += 1;
        after = page.last().map(|(position, _)| *position);
        let is_last = page.len() < 3;
        listed.extend(page.into_iter().map(|(_, intent)| intent.key.to_string()));
        if is_last {
            break;
        }
    }
    assert_eq!((listed, pages), (names.map(str::to_owned).into(), 3));
    assert_eq!(store.list(StateName::ALL, after, 3).await.unwrap(), [], "nothing follows the last one");
}

pub(crate) async fn list_has_the_requested_states<P: Place>(place: P) {
    let store = place.open().await;
    for (number, ending) in endings().into_iter().enumerate() {
        charged(&store, &format!("k{number}"), ending).await;
    }
    begun(&store, "k5").await;
    resolve(&store, "k4", Resolution::not_processed("ada")).await;
    let keys = async |states: &[StateName]| -> Vec<String> {
        let page = store.list(states, None, 100).await.unwrap();
        page.into_iter().map(|(_, intent)| intent.key.to_string()).collect()
    };
    assert_eq!(keys(StateName::UNRESOLVED).await, ["k3", "k5"]);
    for (state, expected) in [
        (StateName::Processed, "k0"),
        (StateName::Rejected, "k1"),
        (StateName::NotProcessed, "k2"),
        (StateName::Unknown, "k3"),
        (StateName::Resolved, "k4"),
        (StateName::Sending, "k5"),
    ] {
        assert_eq!(keys(&[state]).await, [expected], "{state:?}");
    }
    assert_eq!(keys(&[]).await, [""; 0]);
}

const HOUR: Duration = Duration::from_hours(1);

pub(crate) async fn purge_keeps_unresolved_and_young_rows_d45<P: Place>(place: P) {
    let store = place.open().await;
    for name in ["old", "young"] {
        for (number, ending) in endings().into_iter().enumerate() {
            charged(&store, &format!("{name}-{number}"), ending).await;
        }
        resolve(&store, &format!("{name}-4"), Resolution::not_processed("ada")).await;
        if name == "old" {
            begun(&store, "old-sending").await;
            place.make_older(48 * HOUR).await;
        }
    }
    // As a later process does it.
    let store = place.open().await;
    assert_eq!(store.purge(72 * HOUR).await.unwrap(), Purged::default(), "nothing is as old");
    let purged = store.purge(36 * HOUR).await.unwrap();
    assert_eq!(purged.intents, 4);
    let age = purged.newest.unwrap().elapsed().unwrap();
    assert!(age >= 48 * HOUR && age < 49 * HOUR, "{age:?}");
    let left = intents(&store).await;
    let left: Vec<_> = left.iter().map(|intent| intent.key.as_str()).collect();
    assert_eq!(left, ["old-3", "old-sending", "young-0", "young-1", "young-2", "young-3", "young-4"]);
    let again = apply(&store, begin("old-0", &store, 40)).await;
    assert!(again.written().is_some(), "a purged key is new again");
    assert_eq!(holder(&charged(&store, "again", as_processed("txn_8")).await), None);
}

/// Begins and ends this key at this time by the sender's clock.
async fn charged_at(name: &str, store: &impl IntentStore, time: SystemTime) {
    let change = begin_at(SERVICE, Begin::Plain, name, token_request(1), store, time);
    let begun = apply(store, change).await.written().unwrap();
    apply(store, Change::end_of(begun, as_processed(&format!("txn_{name}")), time)).await;
}

pub(crate) async fn purge_keeps_a_day_whatever_the_age_d45<P: Place>(place: P) {
    charged_at("k", &place.open().await, at(1)).await;
    place.make_older(23 * HOUR).await;
    // So that the journal has a newer time.
    charged_at("newer", &place.open().await, at(1)).await;
    let store = place.open().await;
    for age in [Duration::ZERO, HOUR, 22 * HOUR, Duration::MAX] {
        assert_eq!(store.purge(age).await.unwrap(), Purged::default(), "{age:?}");
    }
    place.make_older(2 * HOUR).await;
    assert_eq!(store.purge(Duration::ZERO).await.unwrap().intents, 1);
    assert!(store.find(&key("newer")).await.unwrap().is_some());
}

/// One sender's clock is in 1970, and another's is a century ahead.
pub(crate) async fn purge_ignores_clocks_of_senders_d45<P: Place>(place: P) {
    let ahead = SystemTime::now() + 24 * 365 * 100 * HOUR;
    charged_at("ahead", &place.open().await, ahead).await;
    place.make_older(48 * HOUR).await;
    charged_at("behind", &place.open().await, UNIX_EPOCH).await;
    let store = place.open().await;
    assert_eq!(store.purge(36 * HOUR).await.unwrap().intents, 1);
    let left = intents(&store).await;
    let left: Vec<_> = left.iter().map(|intent| (intent.key.as_str(), intent.changed_at)).collect();
    assert_eq!(left, [("behind", UNIX_EPOCH)], "the sender's time is shown");
}

/// A charge that was begun long ago, and ended or was resolved just now.
pub(crate) async fn purge_counts_from_the_last_write_d45<P: Place>(place: P) {
    let store = place.open().await;
    begun(&store, "ended").await;
    unknown("resolved", token_request(1), &store).await;
    place.make_older(48 * HOUR).await;
    ended(&store, "ended", as_processed("txn_1")).await;
    resolve(&store, "resolved", Resolution::processed(transaction("txn_2"), "ada")).await;
    // As a later process does it.
    assert_eq!(place.open().await.purge(36 * HOUR).await.unwrap(), Purged::default());
}

pub(crate) async fn owner_is_live_until_it_is_closed<P: Place>(place: P) {
    let one = place.open().await;
    let other = place.open().await;
    begun(&other, "k").await;
    let owner = other.owner().clone();
    assert!(one.is_live(one.owner()).await.unwrap());
    assert!(one.is_live(&owner).await.unwrap());
    assert!(one.is_live(&owner).await.unwrap(), "checking does not change it");
    other.close().await;
    drop(other);
    assert!(!one.is_live(&owner).await.unwrap());
    assert!(!one.is_live(&payments_journal::OwnerId::new()).await.unwrap(), "an unknown owner is not live");
}

pub(crate) async fn closed_store_does_nothing<P: Place>(place: P) {
    let (store, journal) = (place.open().await, Journal::open(place.open().await).await.unwrap());
    charged_at("old", &store, at(1)).await;
    place.make_older(48 * HOUR).await;
    // So that the journal has a newer time.
    charged_at("newer", &store, at(1)).await;
    let before = intents(&place.open().await).await;
    let seen = journal.intents_of_service(SERVICE).await.unwrap();
    store.close().await;
    journal.close().await;
    for error in [
        store.apply(begin("k", &store, 1)).await.unwrap_err(),
        store.purge(36 * HOUR).await.unwrap_err(),
        store.accept_history("ada", Some(0), at(1)).await.unwrap_err(),
        store.find(&key("k")).await.unwrap_err(),
        store.list(StateName::ALL, None, 1).await.unwrap_err(),
    ] {
        assert!(error.is_poisoned() && error.to_string().contains("closed"), "{error}");
    }
    journal.forget_service(&seen, "ada").await.unwrap_err();
    assert_eq!(intents(&place.open().await).await, before);
}

pub(crate) async fn intents_of_dead_owners_become_unknown<P: Place>(place: P) {
    let dead = place.open().await;
    begun(&dead, "dead").await;
    let void = key("void");
    apply(&dead, begin_at(SERVICE, Begin::Plain, "void", void_request(), &dead, at(1))).await;
    let live = place.open().await;
    begun(&live, "live").await;
    dead.close().await;
    drop(dead);

    let journal = Journal::open(place.open().await).await.unwrap();
    let intent = journal.find(&key("dead")).await.unwrap().unwrap();
    assert_eq!(intent.state, IntentState::Unknown(Failure::of_kind(FailureKind::CRASH)));
    let intent = journal.find(&void).await.unwrap().unwrap();
    assert_eq!(intent.transaction_id(), Some(&transaction("txn_1")), "a void says what to look up");
    let intent = journal.find(&key("live")).await.unwrap().unwrap();
    assert_eq!(intent.state, IntentState::Sending);
    assert_eq!(journal.mark_crashed().await.unwrap(), 0);
}

pub(crate) async fn attempt_marked_as_crashed_still_records_its_end<P: Place>(place: P) {
    let store = place.open().await;
    let sending = begun(&store, "k").await;
    apply(&store, Change::orphan(key("k"), sending.attempt_id, at(2))).await;
    let last = ended(&store, "k", as_processed("txn_1")).await.written().unwrap();
    assert_eq!(last.state, IntentState::Processed { transaction_id: transaction("txn_1") });
    assert_eq!(
        ended(&store, "k", as_processed("txn_1")).await,
        Applied::Refused(Refusal::Known, Some(last)),
        "a repeated end changes nothing"
    );
}

pub(crate) async fn many_clients_send_one_key_once<P: Place>(place: P) {
    let gateway = FakeGateway::new();
    let mut clients = Vec::new();
    for _ in 0..4 {
        let journal = Journal::open(place.open().await).await.unwrap();
        clients.push(JournaledClient::new(gateway.client(), journal));
    }
    let amount = Amount::from_cents(10_50);
    let payment =
        TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive).build().unwrap();
    for round in 1..=10 {
        let mut racing = JoinSet::new();
        for number in 0..16 {
            let (client, payment) = (clients[number % clients.len()].clone(), payment.clone());
            racing.spawn(async move { client.process_token(&key(&format!("k{round}")), &payment).await });
        }
        for result in racing.join_all().await {
            assert!(result.as_ref().is_err_and(|error| error.kind() == "in_progress") || result.is_ok());
        }
        let sent = gateway.requests();
        let sent = sent.iter().filter(|request| request.operation == Some(OperationName::TokenTransaction));
        assert_eq!(sent.count(), round);
        let intent = clients[0].journal().find(&key(&format!("k{round}"))).await.unwrap().unwrap();
        assert_eq!(intent.state.name(), StateName::Processed);
    }
}

/// An intent of unknown outcome.
async fn unknown(text: &str, request: IntentRequest, store: &impl IntentStore) {
    unknown_at(SERVICE, text, request, store).await;
}

async fn unknown_at(service: &str, text: &str, request: IntentRequest, store: &impl IntentStore) {
    apply(store, begin_at(service, Begin::Plain, text, request, store, at(1))).await;
    ended(store, text, Ending::Unknown(Failure::of_kind("timeout"))).await;
}

/// Two people, on two machines, find the same transaction for two invoices.
pub(crate) async fn one_of_many_resolutions_with_one_transaction_wins<P: Place>(place: P) {
    let mut journals = Vec::new();
    for _ in 0..3 {
        journals.push(Journal::open(place.open().await).await.unwrap());
    }
    let store = place.open().await;
    for round in 0..20 {
        let keys: Vec<_> = (0..6).map(|number| format!("k{round}-{number}")).collect();
        for key in &keys {
            unknown(key, token_request(10_50), &store).await;
        }
        let mut racing = JoinSet::new();
        for (number, key) in keys.iter().enumerate() {
            let (journal, key) = (journals[number % journals.len()].clone(), self::key(key));
            let read = store.find(&key).await.unwrap().unwrap();
            let resolution = found(&format!("txn_{round}"));
            racing.spawn(async move { (journal.resolve(&read, resolution).await, key) });
        }
        let results = racing.join_all().await;
        let winners: Vec<_> = results.iter().filter(|(result, _)| result.is_ok()).collect();
        assert_eq!(winners.len(), 1, "round {round}: {results:?}");
        let (_, winner) = winners[0];
        for (result, key) in &results {
            let kept = store.find(key).await.unwrap().unwrap();
            let Err(error) = result else {
                assert_eq!(kept.processed_as(), Some(&transaction(&format!("txn_{round}"))));
                continue;
            };
            assert!(error.is_contradicted(), "{error}");
            assert!(error.to_string().contains(&format!("already belongs to {winner}")), "{error}");
            assert_eq!((kept.state.name(), kept.revision), (StateName::Unknown, 2));
        }
    }
}

pub(crate) async fn resolution_with_a_taken_transaction_is_refused_except_for_a_void<P: Place>(place: P) {
    let (one, other) = (place.open().await, place.open().await);
    // Reported by the service, and by a person. An id may have any length and any characters.
    let long = format!("txn_\0{}", "9".repeat(20_000));
    for (round, id) in [(0, "txn_1"), (1, &long)] {
        let name = |text: &str| format!("{text}-{round}");
        charged(&one, &name("answered"), as_processed(id)).await;
        for (text, request) in
            [("k", token_request(1)), ("void", void_request()), ("second-void", void_request())]
        {
            unknown(&name(text), request, &one).await;
        }
        let refused = resolve(&other, &name("k"), found(id)).await;
        assert_eq!(why(refused), taken(id, &name("answered")));
        assert!(resolve(&other, &name("void"), found(id)).await.written().is_some(), "a void of the payment");
        let refused = resolve(&one, &name("second-void"), found(id)).await;
        assert_eq!(why(refused), taken(id, &name("void")));
        // The holder may be resolved again with the same id. When it is resolved as not processed, another may have the id.
        assert!(resolve(&one, &name("void"), found(id)).await.written().is_some());
        resolve(&one, &name("void"), Resolution::not_processed("ada")).await;
        let resolved = resolve(&other, &name("second-void"), found(id)).await;
        assert_eq!(holder(&resolved), None);
        assert!(resolved.written().is_some());
    }
}

/// A merchant's label tells API keys apart, and not the service that makes the ids.
pub(crate) async fn transaction_belongs_to_one_key_of_a_base_url_whatever_the_label_d47<P: Place>(place: P) {
    const UNRELATED: [&str; 4] = [
        OTHER,
        "https://pay.example.com/toys",
        "https://pay.example.co",
        "https://pay.example.com.example.org#toys",
    ];
    let (store, other) = (place.open().await, place.open().await);
    let [toys, books] = ["toys", "books"].map(|label| format!("{SERVICE}#{label}"));
    // It holds two, one for each attempt.
    unknown_at(&toys, "toys", token_request(1), &store).await;
    resolve(&store, "toys", Resolution::rejected(None, "ada")).await;
    apply(&store, begin_at(&toys, Begin::AfterRejection, "toys", token_request(1), &store, at(3))).await;
    ended(&store, "toys", as_processed("txn_1")).await;
    assert!(resolve(&store, "toys", found("txn_2").of_attempt(1)).await.written().is_some());
    for service in [SERVICE, &books] {
        let name = |what: &str| format!("{what}-{}", service.len());
        unknown_at(service, &name("resolved"), token_request(1), &store).await;
        for id in ["txn_1", "txn_2"] {
            for said in [found(id), Resolution::rejected(transaction(id), "ada")] {
                assert_eq!(
                    why(resolve(&other, &name("resolved"), said).await),
                    taken(id, "toys"),
                    "{service}"
                );
            }
        }
    }
    // What the service reports is recorded.
    for service in [SERVICE, &books] {
        let name = |what: &str| format!("{what}-{}", service.len());
        at_service(&store, service, &name("reported"), 1, None).await;
        let reported = ended(&store, &name("reported"), as_processed("txn_2")).await;
        assert!(holder(&reported).is_some() && reported.written().is_some(), "{service}");
    }
    for (number, service) in UNRELATED.iter().enumerate() {
        let name = |what: &str| format!("{what}-{number}");
        for what in ["resolved", "too"] {
            unknown_at(service, &name(what), token_request(1), &store).await;
        }
        for id in ["txn_1", "txn_2"] {
            let resolved = resolve(&other, &name("resolved"), found(id)).await;
            assert_eq!(holder(&resolved), None, "{service}");
            let written = resolved.written().unwrap();
            assert_eq!(
                (written.service.as_deref(), &written),
                (Some(*service), &row(&store, &name("resolved")).await)
            );
            let refused = resolve(&other, &name("too"), found(id)).await;
            assert_eq!(why(refused), taken(id, &name("resolved")), "{service}");
        }
        // The end of a charge, as the service reports it.
        at_service(&store, service, &name("reported"), 1, None).await;
        assert_eq!(holder(&ended(&store, &name("reported"), as_processed("txn_1")).await), None, "{service}");
    }
}

pub(crate) async fn end_with_a_taken_transaction_is_recorded_and_reported<P: Place>(place: P) {
    let (one, other) = (place.open().await, place.open().await);
    for (text, expected) in [("first", None), ("second", Some("first")), ("third", Some("either"))] {
        assert_eq!(holder(&apply(&one, begin(text, &one, 1)).await), None);
        let ended = ended(&other, text, as_processed("txn_1")).await;
        let kept = row(&one, text).await;
        assert_eq!(kept.processed_as(), Some(&transaction("txn_1")));
        let reported = holder(&ended).cloned();
        assert_eq!(ended.written(), Some(kept));
        match expected {
            Some("either") => assert!([Some(key("first")), Some(key("second"))].contains(&reported)),
            other => assert_eq!(reported, other.map(key)),
        }
    }
    // An id with another outcome is not a payment.
    let mut failure = Failure::of_kind("timeout");
    failure.transaction_id = Some(transaction("txn_1"));
    assert_eq!(holder(&charged(&one, "unknown", Ending::Unknown(failure)).await), None);
}

/// A key can hold several: one for each attempt.
pub(crate) async fn no_two_keys_are_found_processed_as_one_transaction_d48<P: Place>(place: P) {
    let (one, other) = (place.open().await, place.open().await);
    let long = format!("txn_\0{}", "9".repeat(20_000));
    unknown("twice", token_request(1), &one).await;
    resolve(&one, "twice", Resolution::rejected(transaction("txn_declined"), "ada")).await;
    apply(&one, begin_again("twice", &one, 1)).await;
    ended(&one, "twice", as_processed("txn_2")).await;
    for text in ["another", "one-more"] {
        unknown(text, token_request(1), &one).await;
    }
    let is_refused = async |id: &str| {
        for resolution in [found(id), Resolution::rejected(transaction(id), "ada")] {
            let refused = resolve(&other, "another", resolution).await;
            assert_eq!(why(refused), taken(id, "twice"));
        }
    };
    is_refused("txn_2").await;
    // It was charged after all, as another one.
    for id in ["txn_1", &long] {
        assert!(resolve(&one, "twice", found(id).of_attempt(1)).await.written().is_some());
        is_refused(id).await;
        is_refused("txn_2").await;
    }
    // What it does not hold any more is free, and so is everything once it is purged.
    assert!(resolve(&other, "another", found("txn_1")).await.written().is_some());
    place.make_older(48 * HOUR).await;
    place.open().await.purge(36 * HOUR).await.unwrap();
    assert!(resolve(&other, "one-more", found(&long)).await.written().is_some());
}

/// Two charges whose ids contained a secret may look the same.
pub(crate) async fn ids_with_a_replaced_part_are_not_compared_d55<P: Place>(place: P) {
    let store = place.open().await;
    for text in ["first", "second"] {
        let ended = charged(&store, text, as_processed("txn_[redacted]")).await;
        assert_eq!(holder(&ended), None);
        let kept = row(&store, text).await;
        assert_eq!(kept.processed_as(), Some(&transaction("txn_[redacted]")));
    }
}

/// Nobody knows to which service a lost key belongs.
pub(crate) async fn transaction_of_a_key_that_was_lost_is_taken_at_every_service_d49<P: Place>(place: P) {
    let (store, other) = (place.open().await, place.open().await);
    for text in ["lost", "lost-too"] {
        apply(&store, Change::lost(key(text), at(0), store.owner().clone(), "ada", at(2))).await;
    }
    for (text, id, also) in [("k", "txn_1", "lost"), ("k-too", "txn_2", "lost-too")] {
        unknown(text, token_request(1), &store).await;
        let (first, second) = if id == "txn_1" { (text, also) } else { (also, text) };
        assert!(resolve(&store, first, found(id)).await.written().is_some());
        let refused = resolve(&other, second, found(id)).await;
        assert_eq!(why(refused), taken(id, first));
    }
}

/// A void and its payment have one transaction. Only a person knows that the lost key was one.
pub(crate) async fn lost_void_is_resolved_as_its_payment_and_no_lost_payment_is_d49<P: Place>(place: P) {
    let (store, other) = (place.open().await, place.open().await);
    charged(&store, "paid", as_processed("txn_1")).await;
    for text in ["lost", "lost-too"] {
        apply(&store, Change::lost(key(text), at(0), store.owner().clone(), "ada", at(2))).await;
    }
    assert_eq!(why(resolve(&store, "lost", found("txn_1")).await), taken("txn_1", "paid"));
    let voided = resolve(&store, "lost", found("txn_1").of_a_void()).await.written().unwrap();
    assert!(voided.is_void() && voided.request.operation() == Some(OperationName::Void));
    assert_eq!(row(&other, "lost").await, voided);
    // It is said once.
    let again = resolve(&store, "lost", found("txn_1").of_a_void()).await.written().unwrap();
    assert_eq!((again.history(), again.is_void()), (voided.history(), true));
    // A second void with the same transaction hides nothing either.
    let refused = resolve(&other, "lost-too", found("txn_1").of_a_void()).await;
    assert_eq!(why(refused), taken("txn_1", "lost"));
    // It was no void after all.
    assert_eq!(why(resolve(&other, "lost", found("txn_1")).await), taken("txn_1", "paid"));
    let paid = resolve(&other, "lost", found("txn_2")).await.written().unwrap();
    assert!(!paid.is_void() && paid.request.operation().is_none());
    // The journal knows what this one is.
    unknown("known", token_request(1), &store).await;
    assert_eq!(why(resolve(&store, "known", found("txn_1").of_a_void()).await), taken("txn_1", "paid"));
}
