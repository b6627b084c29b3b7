//! Outcomes that could not be written at first, and are written later.

use std::pin::pin;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use payments_core::{OperationName, Outcome};
use payments_journal::internals::{Change, IntentStore as _};
use payments_journal::{Ending, FlushError, IntentKey, LateEnd, Resolution, StateName, StoreError};
use tokio::runtime;
use tokio::task::{JoinHandle, JoinSet};

use crate::client::scripted_store::{ScriptedStore, Step};
use crate::client::support::{Result, TEN_FIFTY, key, payment_of, request_lost};
use crate::client::world::World;

/// A payment was made whose outcome could not be written, and the next change is held.
async fn charged_and_unwritten() -> (World, ScriptedStore) {
    charged_and_unwritten_then([Step::Held]).await
}

async fn charged_and_unwritten_then(steps: impl IntoIterator<Item = Step>) -> (World, ScriptedStore) {
    let store = ScriptedStore::new([Step::Made, Step::Refused].into_iter().chain(steps));
    let world = World::over(store.clone()).await;
    assert!(world.pay().await.unwrap().write_error.is_some());
    (world, store)
}

/// Settles in a task.
fn settle(world: &World) -> JoinHandle<std::result::Result<Vec<LateEnd>, FlushError>> {
    let journal = world.client.journal().clone();
    tokio::spawn(async move { journal.flush().await })
}

/// Pays in a task.
fn pay(world: &World, key: IntentKey) -> JoinHandle<Result> {
    let client = world.client.clone();
    tokio::spawn(async move { client.process_token(&key, &payment_of(TEN_FIFTY)).await })
}

#[tokio::test]
async fn cancelled_settle_leaves_the_outcome_for_the_next() {
    let (world, store) = charged_and_unwritten().await;
    let journal = world.client.journal();
    tokio::select! {
        settled = journal.flush() => panic!("{settled:?}"),
        () = store.until_held() => {}
    }
    assert_eq!(world.intent().await.state.name(), StateName::Sending);
    journal.flush().await.unwrap();
    assert_eq!(world.intent().await.state.name(), StateName::Processed);
}

#[tokio::test]
async fn settle_waits_for_another_settle() {
    let (world, store) = charged_and_unwritten().await;
    let first = settle(&world);
    store.until_held().await;
    {
        let mut second = pin!(world.client.journal().flush());
        assert!(second.as_mut().now_or_never().is_none(), "the end is not written");
        store.gate.add_permits(1);
        second.await.unwrap();
    }
    assert_eq!(world.intent().await.state.name(), StateName::Processed);
    first.await.unwrap().unwrap();
}

/// As in a program that blocks on each call, and has a runtime for each thread.
#[test]
fn no_call_waits_for_a_runtime_that_stands_still() {
    let [standing, other] =
        [(); 2].map(|()| runtime::Builder::new_current_thread().enable_all().build().unwrap());
    let (world, store) = standing.block_on(charged_and_unwritten());
    let flushing = {
        let _inside = standing.enter();
        settle(&world)
    };
    standing.block_on(store.until_held());
    store.gate.add_permits(1);
    let ends = other.block_on(async {
        let work = async {
            let ends = world.client.journal().flush().await.unwrap();
            world.client.process_token(&invoice(18), &payment_of(TEN_FIFTY)).await.unwrap();
            ends
        };
        tokio::time::timeout(Duration::from_secs(20), work).await.expect("it does not wait for the other")
    });
    assert!(matches!(&ends[..], [LateEnd { is_recorded: true, .. }]), "{ends:?}");
    // It goes on, and finds the end written.
    assert_eq!(standing.block_on(flushing).unwrap().unwrap(), []);
    assert_eq!(other.block_on(world.intent()).state.name(), StateName::Processed);
}

/// A program that ends must know which charges nobody else will hear of.
#[tokio::test]
async fn flush_returns_every_late_end_and_what_became_of_it() {
    let (world, store) = charged_at_once(3, [Step::Made, Step::Damaged, Step::ReplyLost]).await;
    let error = world.client.journal().flush().await.unwrap_err();
    let ends = error.late_ends();
    let is_recorded: Vec<_> = ends.iter().map(|end| (end.is_recorded, end.intent.is_some())).collect();
    assert_eq!(is_recorded, [(true, true), (false, false), (false, false)], "{ends:?}");
    for end in ends {
        let row = world.client.journal().find(&end.key).await.unwrap().unwrap();
        let Ending::Processed(id) = &end.ending else { panic!("{end:?}") };
        assert_eq!(end.intent.as_ref(), Some(&row).filter(|_| end.is_recorded));
        assert!(world.gateway.ledger().entries().iter().any(|entry| entry.transaction_id() == id));
    }
    // The store was in doubt about one of them, and had written it.
    let waiting: Vec<_> = ends[1..].iter().map(|end| end.key.clone()).collect();
    let flushed = world.client.journal().flush().await.unwrap();
    assert!(flushed.iter().all(|end| end.is_recorded && end.intent.is_some()), "{flushed:?}");
    assert_eq!(flushed.iter().map(|end| &end.key).collect::<Vec<_>>(), waiting.iter().collect::<Vec<_>>());
    assert_eq!(world.client.journal().flush().await.unwrap(), []);
    assert!(store.script.lock().unwrap().is_empty());
}

/// Its begin may have been written, so it is withdrawn. There is no charge that anybody must know of.
#[tokio::test]
async fn flush_returns_no_end_of_what_was_never_sent() {
    let store = ScriptedStore::new([Step::RequestLost, Step::Refused, Step::Refused]);
    let world = World::over(store.clone()).await;
    world.pay().await.unwrap_err();
    let error = world.client.journal().flush().await.unwrap_err();
    assert!(error.is_unavailable() && error.late_ends().is_empty(), "{error:?}");
    assert_eq!(world.client.journal().flush().await.unwrap(), []);
    assert_eq!(world.sent(), 0);
}

/// What was decided stands, and the caller hears of it.
#[tokio::test]
async fn late_end_that_a_person_has_overtaken_is_not_called_recorded() {
    let store = ScriptedStore::new([Step::Made, Step::Refused]);
    let world = World::over(store.clone()).await;
    world.gateway.arm(request_lost());
    assert!(world.pay().await.unwrap_err().write_error().is_some());
    let crash = Change::orphan(key(), world.intent().await.attempt_id, SystemTime::now());
    store.apply(crash).await.unwrap();
    let said = world.resolve(Resolution::rejected(None, "ada").note("declined")).await.unwrap();
    let flushed = world.client.journal().flush().await.unwrap();
    let [LateEnd { ending: Ending::Unknown(_), is_recorded: false, intent: Some(found), .. }] = &*flushed
    else {
        panic!("{flushed:?}")
    };
    assert_eq!(found, &said);
    assert_eq!(world.intent().await, said);
}

/// A dead database takes long to fail. Calls that wait meanwhile do not start that wait again.
#[tokio::test]
async fn calls_that_wait_for_a_failing_write_fail_with_it() {
    let (world, store) = charged_and_unwritten_then([Step::HeldAndRefused, Step::Held]).await;
    let settling = [settle(&world), settle(&world), settle(&world)];
    store.until_held().await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    store.gate.add_permits(1);
    for settled in settling {
        let settled = tokio::time::timeout(Duration::from_secs(30), settled).await;
        settled.expect("they do not try again").unwrap().unwrap_err();
    }
    store.gate.add_permits(1);
    world.client.journal().flush().await.unwrap();
    assert_eq!(world.intent().await.state.name(), StateName::Processed);
}

#[tokio::test]
async fn nothing_begins_while_an_earlier_outcome_is_written() {
    let (world, store) = charged_and_unwritten().await;
    let settling = settle(&world);
    store.until_held().await;
    let next = pay(&world, invoice(18));
    // All tasks run on this thread: the call has run as far as it can.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.sent(), 1, "the second was sent before the first was written");
    store.gate.add_permits(1);
    settling.await.unwrap().unwrap();
    next.await.unwrap().unwrap();
    assert_eq!(*store.made.lock().unwrap(), ["invoice-17", "invoice-17", "invoice-18", "invoice-18"]);
}

#[tokio::test]
async fn unwritten_outcomes_are_written_in_order() {
    // The second begins before the first has ended, so that both outcomes are unwritten at once.
    let store = ScriptedStore::new([Step::Held, Step::Made, Step::Refused, Step::Refused]);
    let world = World::over(store.clone()).await;
    let second = pay(&world, invoice(18));
    store.until_held().await;
    assert!(world.pay().await.unwrap().write_error.is_some());
    store.gate.add_permits(1);
    assert!(second.await.unwrap().unwrap().write_error.is_some());
    world.client.journal().flush().await.unwrap();
    assert_eq!(*store.made.lock().unwrap(), ["invoice-17", "invoice-18", "invoice-17", "invoice-18"]);
}

/// Makes charges at once whose outcomes could not be written: `invoice-0`, `invoice-1` and so on.
async fn charged_at_once(count: usize, then: impl IntoIterator<Item = Step>) -> (World, ScriptedStore) {
    let begun = std::iter::repeat_n(Step::Made, count);
    let ended = std::iter::repeat_n(Step::Refused, count);
    let store = ScriptedStore::new(begun.chain(ended).chain(then));
    let world = World::over(store.clone()).await;
    let gate = world.gateway.gate_after_commit(OperationName::TokenTransaction);
    let mut charging = JoinSet::new();
    for number in 0..count {
        let (client, key) = (world.client.clone(), invoice(number));
        charging.spawn(async move { client.process_token(&key, &payment_of(TEN_FIFTY)).await });
        gate.arrivals(number + 1).await;
    }
    gate.release();
    for charged in charging.join_all().await {
        assert!(charged.unwrap().write_error.is_some());
    }
    store.made.lock().unwrap().clear();
    (world, store)
}

fn invoice(number: usize) -> IntentKey {
    IntentKey::new(format!("invoice-{number}")).unwrap()
}

async fn state(world: &World, number: usize) -> StateName {
    world.client.journal().find(&invoice(number)).await.unwrap().unwrap().state.name()
}

#[tokio::test]
async fn end_that_is_refused_for_good_does_not_stop_the_others() {
    for refusal in [Step::Damaged, Step::Newer, Step::NotAllowed] {
        let (world, store) = charged_at_once(3, [Step::Made, refusal]).await;
        let refused = {
            let error = world.client.journal().flush().await.unwrap_err().to_string();
            assert!(error.starts_with("the outcome of invoice-"), "{error}");
            assert!(error.contains(" could not be written: the row "), "{error}");
            (0..3).find(|number| error.contains(&format!("invoice-{number}"))).unwrap()
        };
        for number in 0..3 {
            let expected = if number == refused { StateName::Sending } else { StateName::Processed };
            assert_eq!(state(&world, number).await, expected, "{number}");
        }

        // Another key begins and ends without a new attempt at the refused end.
        store.made.lock().unwrap().clear();
        let client = &world.client;
        let charged = client.process_token(&invoice(9), &payment_of(TEN_FIFTY)).await.unwrap();
        assert!(charged.write_error.is_none());
        assert_eq!(*store.made.lock().unwrap(), ["invoice-9", "invoice-9"]);

        // It is kept: its own key cannot begin, and it is written once the store accepts it.
        store.script.lock().unwrap().push_back(refusal);
        let error = client.process_token(&invoice(refused), &payment_of(TEN_FIFTY)).await.unwrap_err();
        assert!(error.kind() == "journal" && error.outcome() == Outcome::Unknown, "{error}");
        assert!(error.to_string().contains("could not be written"), "{error}");
        client.journal().flush().await.unwrap();
        assert_eq!(state(&world, refused).await, StateName::Processed);
        assert_eq!(world.sent(), 4);
    }
}

#[tokio::test]
async fn every_refused_key_is_named_up_to_a_limit() {
    let (world, _) = charged_at_once(8, std::iter::repeat_n(Step::Damaged, 8)).await;
    let error = world.client.journal().flush().await.unwrap_err();
    assert!(error.is_damaged());
    let text = error.to_string();
    assert_eq!(text.matches("the outcome of invoice-").count(), 5, "{text}");
    assert!(text.ends_with("so it is for 3 more"), "{text}");
}

#[tokio::test]
async fn end_that_is_refused_by_the_whole_store_stops_the_others() {
    for (refusal, is_expected) in [
        (Step::Refused, StoreError::is_unavailable as fn(&StoreError) -> bool),
        (Step::RequestLost, StoreError::is_in_doubt),
        (Step::Poisoned, StoreError::is_poisoned),
    ] {
        let (world, store) = charged_at_once(2, [refusal]).await;
        let error = world.client.journal().flush().await.unwrap_err();
        assert!(is_expected(&error) && error.to_string().starts_with("the outcome of invoice-"), "{error}");
        assert_eq!(*store.made.lock().unwrap(), [""; 0], "the second was not tried");
        world.client.journal().flush().await.unwrap();
        assert_eq!(store.made.lock().unwrap().len(), 2);
    }
}

/// An end that is refused when its charge ends is not tried again before each new charge.
#[tokio::test]
async fn refused_end_of_a_charge_does_not_block_the_next_charge() {
    let store = ScriptedStore::new([Step::Made, Step::Damaged]);
    let world = World::over(store.clone()).await;
    assert!(world.pay().await.unwrap().write_error.unwrap().is_damaged());
    world.client.process_token(&invoice(1), &payment_of(TEN_FIFTY)).await.unwrap();
    assert_eq!(*store.made.lock().unwrap(), ["invoice-17", "invoice-1", "invoice-1"]);
    world.client.journal().flush().await.unwrap();
    assert_eq!(world.intent().await.state.name(), StateName::Processed);
}

/// In virtual time: it advances only while every task waits.
async fn until_processed(world: &World, at_most: Duration) {
    let waiting = async {
        while world.intent().await.state.name() != StateName::Processed {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(at_most, waiting).await.expect("it is written without another call");
}

#[tokio::test(start_paused = true)]
async fn unwritten_outcome_is_written_while_nothing_else_happens() {
    let (world, _) = charged_and_unwritten_then([Step::Refused, Step::RequestLost, Step::Refused]).await;
    until_processed(&world, Duration::from_mins(1)).await;

    // Also the next one, long after the first.
    let store = ScriptedStore::new([]);
    let world = World::over(store.clone()).await;
    for number in 0..2 {
        let key = invoice(number);
        store.script.lock().unwrap().extend([Step::Made, Step::Refused]);
        let charged = world.client.process_token(&key, &payment_of(TEN_FIFTY)).await.unwrap();
        assert!(charged.write_error.is_some());
        tokio::time::sleep(Duration::from_mins(5)).await;
        assert_eq!(state(&world, number).await, StateName::Processed);
    }
}

#[tokio::test(start_paused = true)]
async fn outcome_is_not_tried_in_a_busy_loop() {
    let (_world, store) = charged_and_unwritten_then(std::iter::repeat_n(Step::Refused, 10_000)).await;
    let before = store.script.lock().unwrap().len();
    tokio::time::sleep(Duration::from_hours(1)).await;
    let tries = before - store.script.lock().unwrap().len();
    assert!((100..200).contains(&tries), "{tries} in an hour");
}

#[tokio::test(start_paused = true)]
async fn dropped_journal_is_not_kept_open() {
    let (world, store) = charged_and_unwritten_then(std::iter::repeat_n(Step::Refused, 10_000)).await;
    let below = Arc::downgrade(&store.below);
    drop((world, store));
    assert!(below.upgrade().is_none(), "the store is closed at once");
}

#[tokio::test(start_paused = true)]
async fn closing_writes_outcomes_first() {
    let (world, store) = charged_and_unwritten_then([]).await;
    world.client.journal().close().await;
    assert_eq!(world.intent().await.state.name(), StateName::Processed);
    assert_eq!(*store.closed.lock().unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn closing_does_not_wait_for_a_store_that_does_not_respond() {
    // The last writes of the journal, and those in the background.
    let (world, store) = charged_and_unwritten_then([Step::Held, Step::Held]).await;
    let began = tokio::time::Instant::now();
    world.client.journal().close().await;
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(*store.closed.lock().unwrap(), 1);
    // Nothing more is tried.
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(world.intent().await.state.name(), StateName::Sending);
}

#[test]
fn closing_without_a_timer_or_a_runtime_writes_outcomes() {
    for has_ended in [false, true] {
        let runtime = runtime::Builder::new_current_thread().build().unwrap();
        let (world, store) = runtime.block_on(charged_and_unwritten_then([]));
        let close = async {
            world.client.journal().close().await;
            assert_eq!(world.intent().await.state.name(), StateName::Processed);
        };
        if has_ended {
            drop(runtime);
            payments_fake::block_on(close);
        } else {
            runtime.block_on(close);
        }
        assert_eq!(*store.closed.lock().unwrap(), 1);
    }
}

/// As at the end of a program that has stopped waiting for the journal.
#[test]
fn runtime_that_ends_during_close_panics_nowhere() {
    let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (world, store) = runtime.block_on(charged_and_unwritten());
    let closing = thread::spawn({
        let (runtime, journal) = (runtime.handle().clone(), world.client.journal().clone());
        move || runtime.block_on(journal.close())
    });
    runtime.block_on(store.until_held());
    runtime.shutdown_background();
    // Time to notice it.
    thread::sleep(Duration::from_millis(100));
    store.gate.add_permits(1);
    closing.join().expect("it does not panic");
    assert_eq!(*store.made.lock().unwrap(), ["invoice-17", "invoice-17"]);
    assert_eq!(*store.closed.lock().unwrap(), 1);
}
