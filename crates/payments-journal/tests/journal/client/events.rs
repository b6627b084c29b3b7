//! Log events of a journaled call: every line has the caller's span and the key.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use futures_util::FutureExt as _;
use payments_core::{OperationName, Outcome, TracingObserver};
use payments_fake::FakeGateway;
use payments_journal::internals::{Change, IntentStore};
use payments_journal::{IntentKey, Journal, JournaledClient, MemoryStore, Resolution};
use tokio::runtime::{Builder, Runtime};
use tracing::{Event, Instrument as _, Subscriber, info_span};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{self, Layer, SubscriberExt as _};

use crate::client::scripted_store::{ScriptedStore, Step};
use crate::client::support::{TEN_FIFTY, begin_for, key, payment_of, response_lost};
use crate::client::world::World;

/// The logged text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// The lines of warnings and errors while this runs.
pub(crate) fn logged(test: impl Future<Output = ()>) -> Vec<String> {
    logged_with(|runtime| runtime.block_on(test))
}

fn logged_with(test: impl FnOnce(Runtime)) -> Vec<String> {
    let log = Log::default();
    let subscriber =
        tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).without_time().finish();
    with_subscriber(subscriber, test);
    let written = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let is_alert = |line: &&str| ["WARN", "ERROR"].contains(&line.split_whitespace().next().unwrap());
    written.lines().filter(is_alert).map(|line| line.trim().to_owned()).collect()
}

fn with_subscriber(subscriber: impl Subscriber + Send + Sync, test: impl FnOnce(Runtime)) {
    // Else tracing may remember, from a thread of another test without a subscriber, that an event is not wanted.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry());
    tracing::subscriber::with_default(subscriber, || {
        test(Builder::new_current_thread().enable_all().build().unwrap());
    });
}

/// Runs the call in the span of an order, as a checkout does.
async fn in_order_span<T>(call: impl Future<Output = T>) -> T {
    call.instrument(info_span!("order", number = 4711)).await
}

/// The beginning of every line of a call.
const SPANS: &str = r#"order{number=4711}:intent{key="invoice-17"}: payments: "#;

#[test]
fn unknown_outcome_is_logged_with_the_order_and_the_key() {
    let lines = logged(async {
        let gateway = FakeGateway::new();
        let client = gateway.client_builder().observer(TracingObserver::new()).build();
        let client = JournaledClient::new(client, Journal::open(MemoryStore::new()).await.unwrap());
        gateway.arm(response_lost());
        let payment = payment_of(TEN_FIFTY);
        let error = in_order_span(client.process_token(&key(), &payment)).await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown);
    });
    let [attempt, intent] = &lines[..] else { panic!("{lines:#?}") };
    for (line, text) in [
        (attempt, r#"outcome unknown: it may have been processed operation="token-transaction""#),
        (intent, r#"outcome unknown: it may have been processed key="invoice-17" kind="closed""#),
    ] {
        assert!(line.starts_with(&format!("ERROR {SPANS}{text}")), "{line}");
    }
}

#[test]
fn unrecorded_outcome_is_logged_as_an_error_with_its_key() {
    let lines = logged(async {
        let store = ScriptedStore::new([Step::Made, Step::Refused]);
        let world = World::over(store).await;
        assert!(in_order_span(world.pay()).await.unwrap().write_error.is_some());
    });
    let [line] = &lines[..] else { panic!("{lines:#?}") };
    let text = r#"the outcome could not be written to the journal key="invoice-17" outcome="processed""#;
    assert!(line.starts_with(&format!("ERROR {SPANS}{text}")), "{line}");
    assert!(line.contains("transaction_id=\"txn_") && line.contains("the disk is full"), "{line}");
}

#[test]
fn caller_that_left_is_logged_as_a_warning_with_its_key() {
    let lines = logged(async {
        let world = World::new().await;
        {
            // The task is spawned, and has not run yet: there is one thread.
            let mut call = pin!(in_order_span(world.pay()));
            assert!(call.as_mut().now_or_never().is_none());
        }
        world.client.drain().await;

        let gate = world.gateway.gate_after_commit(OperationName::TokenTransaction);
        {
            let mut call = pin!(in_order_span(world.pay()));
            assert!(call.as_mut().now_or_never().is_none());
            gate.arrived().await;
        }
        gate.release();
        world.client.drain().await;
    });
    let [before, after] = &lines[..] else { panic!("{lines:#?}") };
    let text = r#"the caller left before it was sent: nothing was sent key="invoice-17""#;
    assert_eq!(before, &format!("WARN {SPANS}{text}"));
    let text = r#"processed after the caller left key="invoice-17" transaction_id="txn_"#;
    assert!(after.starts_with(&format!("WARN {SPANS}{text}")), "{after}");
}

#[test]
fn end_of_the_runtime_is_logged_as_an_error_with_its_key() {
    let lines = logged_with(|runtime| {
        let world = runtime.block_on(World::new());
        let gate = world.gateway.gate(OperationName::TokenTransaction);
        let mut call = Box::pin(in_order_span(world.pay()));
        runtime.block_on(async {
            assert!(call.as_mut().now_or_never().is_none());
            gate.arrived().await;
        });
        drop(runtime);
    });
    let [line] = &lines[..] else { panic!("{lines:#?}") };
    let text = r#"outcome unknown: it may have been processed key="invoice-17" kind="lost""#;
    assert_eq!(line, &format!("ERROR {SPANS}{text}"));
}

/// Nobody else hears of this charge if the journal cannot write it before the program ends.
#[test]
fn outcome_that_was_being_written_when_the_runtime_ended_is_logged() {
    let (gateway, store) = (FakeGateway::new(), ScriptedStore::new([Step::Made, Step::Held]));
    let lines = logged_with(|runtime| {
        let journal = runtime.block_on(Journal::open(store.clone())).unwrap();
        let client = JournaledClient::new(gateway.client(), journal);
        runtime.spawn(async move { client.process_token(&key(), &payment_of(TEN_FIFTY)).await });
        runtime.block_on(store.until_held());
    });
    let [line] = &lines[..] else { panic!("{lines:#?}") };
    let id = gateway.ledger().entries()[0].transaction_id().to_string();
    let text = format!(r#"key="invoice-17" outcome="processed" transaction_id="{id}""#);
    assert!(line.contains("could not be written") && line.contains(&text), "{line}");
}

#[test]
fn crash_of_another_process_is_logged_as_an_error_with_its_key() {
    let lines = logged(async {
        for is_found_by_a_call in [false, true] {
            let store = MemoryStore::new();
            let dead = store.another_owner();
            let begin = begin_for(&dead);
            dead.apply(begin).await.unwrap();
            if is_found_by_a_call {
                let world = World::over(store).await;
                drop(dead);
                in_order_span(world.pay()).await.unwrap_err();
            } else {
                drop(dead);
                Journal::open(store).await.unwrap();
            }
        }
    });
    let [at_the_start, by_a_call] = &lines[..] else { panic!("{lines:#?}") };
    let text = r#"outcome unknown: it may have been processed key="invoice-17" kind="crash""#;
    assert_eq!(at_the_start, &format!("ERROR payments: {text}"));
    assert_eq!(by_a_call, &format!("ERROR {SPANS}{text}"));
}

#[test]
fn key_that_contains_a_secret_is_not_logged() {
    let lines = logged(async {
        let gateway = FakeGateway::new();
        let client = gateway.client_builder().observer(TracingObserver::new()).build();
        let client = JournaledClient::new(client, Journal::open(MemoryStore::new()).await.unwrap());
        let mistaken = IntentKey::new(gateway.api_key()).unwrap();
        let error = client.process_token(&mistaken, &payment_of(TEN_FIFTY)).await.unwrap_err();
        assert_eq!(error.kind(), "secret_in_key");
    });
    assert_eq!(lines, [""; 0]);
}

#[test]
fn second_charge_is_logged_once_if_two_calls_write_the_end_at_once() {
    let lines = logged(async {
        let store = ScriptedStore::new([Step::Made, Step::Refused, Step::Held, Step::Held]);
        let world = World::over(store.clone()).await;
        assert!(world.pay().await.unwrap().write_error.is_some());
        let crashed = Change::orphan(key(), world.intent().await.attempt_id, SystemTime::now());
        store.below.apply(crashed).await.unwrap();
        let said = Resolution::not_processed("ada");
        let resolved = Change::resolve(&world.intent().await, said, SystemTime::now());
        store.below.apply(resolved).await.unwrap();
        let other = store.below.another_owner();
        assert!(other.apply(begin_for(&other)).await.unwrap().written().is_some());

        let flush = || {
            tokio::spawn({
                let journal = world.client.journal().clone();
                async move { journal.flush().await }
            })
        };
        let both = [flush(), flush()];
        for _ in 0..2 {
            store.until_held().await;
        }
        store.gate.add_permits(2);
        for flushed in both {
            flushed.await.unwrap().unwrap();
        }
        assert_eq!(world.intent().await.second_charges().count(), 1);
    });
    assert_eq!(lines.iter().filter(|line| line.contains("possible second charge")).count(), 1, "{lines:#?}");
}

/// Counts the events, and panics at each.
struct Panicking(Arc<AtomicU32>);

impl<S: Subscriber> Layer<S> for Panicking {
    fn on_event(&self, _: &Event<'_>, _: layer::Context<'_, S>) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("on purpose");
    }
}

#[test]
fn layer_that_panics_at_an_event_does_not_lose_the_outcome() {
    let panics = Arc::default();
    let subscriber = tracing_subscriber::registry().with(Panicking(Arc::clone(&panics)));
    with_subscriber(subscriber, |runtime| {
        runtime.block_on(async {
            let world = World::over(ScriptedStore::new([Step::Made, Step::Refused])).await;
            assert!(world.pay().await.unwrap().write_error.is_some());

            let world = World::new().await;
            world.pay().await.unwrap();
            let client = JournaledClient::new(FakeGateway::new().client(), world.client.journal().clone());
            let other = IntentKey::new("invoice-18").unwrap();
            let second = client.process_token(&other, &payment_of(TEN_FIFTY)).await.unwrap();
            assert_eq!(second.same_transaction_as, Some(key()));
        });
    });
    assert_eq!(panics.load(Ordering::Relaxed), 2);
}
