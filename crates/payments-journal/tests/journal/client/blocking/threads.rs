//! Threads of the program, and of the journal, without a runtime.

use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use payments_core::{Client, Outcome, TransportError, TransportRequest, TransportResponse, blocking};
use payments_fake::FakeGateway;
use payments_journal::blocking::{Journal, JournaledClient};
use payments_journal::{Cause, Failure, FailureKind, IntentKey, IntentState, SqliteStore, StateName};

use crate::client::scripted_store::{ScriptedStore, Step};
use crate::client::support::{TEN_FIFTY, key, payment_of};

fn open(path: &Path) -> Journal {
    Journal::open(SqliteStore::open(path).unwrap()).unwrap()
}

#[test]
fn one_of_sixteen_threads_that_pay_one_key_sends_it_d43() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("billing.db");
    let gateway = FakeGateway::new();
    let journals = [open(&path), open(&path)];
    for round in 0..20 {
        let key = IntentKey::new(format!("invoice-{round}")).unwrap();
        let start = Barrier::new(16);
        let charged: usize = thread::scope(|scope| {
            let pay = |number: usize| {
                let client = JournaledClient::new(gateway.blocking_client(), journals[number % 2].clone());
                let (start, key) = (&start, &key);
                scope.spawn(move || {
                    start.wait();
                    match client.process_token(key, &payment_of(TEN_FIFTY)) {
                        Ok(paid) => usize::from(!paid.is_from_the_journal()),
                        Err(error) => {
                            assert_eq!(error.kind(), "in_progress", "{error}");
                            0
                        }
                    }
                })
            };
            let calls: Vec<_> = (0..16).map(pay).collect();
            calls.into_iter().map(|call| call.join().unwrap()).sum()
        });
        assert_eq!((charged, gateway.ledger().entries().len()), (1, round + 1));
    }
}

#[test]
fn the_pages_of_a_closed_journal_end_after_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(&folder.path().join("billing.db"));
    let mut pages = journal.pages(StateName::ALL);
    journal.close();
    assert!(pages.next().unwrap().unwrap_err().is_poisoned());
    assert!(pages.next().is_none());
}

struct Panicking;

impl blocking::Transport for Panicking {
    fn send(&self, _request: TransportRequest) -> Result<TransportResponse, TransportError> {
        panic!("a defect of the transport")
    }
}

#[test]
fn panic_of_the_transport_is_unknown_before_the_call_returns_d43() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("billing.db");
    let gateway = FakeGateway::new();
    let panicking = Client::builder(gateway.endpoint(), Panicking, gateway.clock().clone()).build_blocking();
    let client = JournaledClient::new(panicking, open(&path));
    let error = client.process_token(&key(), &payment_of(TEN_FIFTY)).unwrap_err();
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, "panic"));
    // Another owner, while the first is alive: it is not a crash.
    let client = JournaledClient::new(gateway.blocking_client(), open(&path));
    let again = client.process_token(&key(), &payment_of(TEN_FIFTY)).unwrap_err();
    assert!(again.is_from_the_journal());
    let intent = client.journal().find(&key()).unwrap().unwrap();
    assert_eq!(intent.state, IntentState::Unknown(Failure::of_kind(FailureKind::PANIC)));
    assert_eq!(gateway.requests().len(), 0);
}

/// A payment was made whose outcome could not be written, and what follows in the script is next.
fn charged_and_unwritten(then: impl IntoIterator<Item = Step>) -> (JournaledClient, ScriptedStore) {
    let store = ScriptedStore::new([Step::Made, Step::Refused].into_iter().chain(then));
    let journal = Journal::open(store.clone()).unwrap();
    let client = JournaledClient::new(FakeGateway::new().blocking_client(), journal);
    assert!(client.process_token(&key(), &payment_of(TEN_FIFTY)).unwrap().write_error.is_some());
    (client, store)
}

fn outcome_is_retried_without_another_call() {
    let (client, _) = charged_and_unwritten([Step::Refused]);
    let since = Instant::now();
    while client.journal().find(&key()).unwrap().unwrap().state.name() != StateName::Processed {
        assert!(since.elapsed() < Duration::from_mins(1));
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn unwritten_outcome_is_retried_on_a_thread_of_the_journal() {
    outcome_is_retried_without_another_call();
}

/// A task could not run, because the program blocks the only thread of the runtime.
#[tokio::test]
async fn unwritten_outcome_is_retried_while_a_runtime_is_blocked() {
    outcome_is_retried_without_another_call();
}

#[test]
fn closing_writes_outcomes_first_and_nothing_is_sent_afterwards() {
    let (client, _) = charged_and_unwritten([]);
    client.journal().close();
    assert_eq!(client.journal().find(&key()).unwrap().unwrap().state.name(), StateName::Processed);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("billing.db");
    let gateway = FakeGateway::new();
    let client = JournaledClient::new(gateway.blocking_client(), open(&path));
    client.journal().close();
    assert!(!path.with_file_name("billing.db-wal").exists());
    let error = client.process_token(&key(), &payment_of(TEN_FIFTY)).unwrap_err();
    assert!(matches!(error.cause(), Cause::Store(error) if error.is_poisoned()), "{error}");
    assert_eq!(gateway.requests().len(), 0);
}

#[test]
fn restored_older_copy_sends_nothing_d49() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("billing.db");
    let gateway = FakeGateway::new();
    let pay = |name: &str| {
        let client = JournaledClient::new(gateway.blocking_client(), open(&path));
        let paid = client.process_token(&IntentKey::new(name).unwrap(), &payment_of(TEN_FIFTY));
        client.journal().close();
        paid
    };
    pay("kept").unwrap();
    let copy = fs::read(&path).unwrap();
    pay("lost").unwrap();
    fs::write(&path, copy).unwrap();
    let error = pay("lost").unwrap_err();
    assert!(matches!(error.cause(), Cause::Store(error) if error.is_history_lost()), "{error}");
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert!(pay("kept").unwrap().is_from_the_journal());
    assert_eq!(gateway.requests().len(), 2);
}
