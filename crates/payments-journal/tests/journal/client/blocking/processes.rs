//! Processes that die or are forked while they charge.

use std::cell::Cell;
use std::env;
use std::path::Path;
use std::thread;

use payments_core::{Client, Outcome, TransportError, TransportRequest, TransportResponse, blocking};
use payments_fake::FakeGateway;
use payments_journal::blocking::{Journal, JournaledClient};
use payments_journal::{Cause, FailureKind, MemoryStore, SqliteStore, StateName};

use crate::client::support::{TEN_FIFTY, key, payment_of};
use crate::process::{Process, in_a_fork, respond};

/// The journal's path, in a process that charges until it is killed.
const JOURNAL: &str = "PAYMENTS_TEST_BLOCKING_JOURNAL";

/// Sends, and gets no response.
struct Unanswered;

impl blocking::Transport for Unanswered {
    fn send(&self, _request: TransportRequest) -> Result<TransportResponse, TransportError> {
        respond("sent");
        loop {
            thread::park();
        }
    }
}

/// The process that is started below. In an ordinary test run it does nothing.
#[test]
fn child_process() {
    let Some(path) = env::var_os(JOURNAL) else { return };
    let gateway = FakeGateway::new();
    let client = Client::builder(gateway.endpoint(), Unanswered, gateway.clock().clone()).build_blocking();
    let client = JournaledClient::new(client, open(path.as_ref()));
    drop(client.process_token(&key(), &payment_of(TEN_FIFTY)));
}

#[test]
fn payment_of_a_killed_process_is_unknown_and_never_sent_again_d43() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("billing.db");
    let test = "client::blocking::processes::child_process";
    let mut process = Process::of_test(&[], test, (JOURNAL, path.as_os_str()));
    assert_eq!(process.response(), "sent");

    let gateway = FakeGateway::new();
    let client = JournaledClient::new(gateway.blocking_client(), open(&path));
    let error = client.process_token(&key(), &payment_of(TEN_FIFTY)).unwrap_err();
    assert_eq!(error.kind(), "in_progress", "{error}");
    process.kill();
    let error = client.process_token(&key(), &payment_of(TEN_FIFTY)).unwrap_err();
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, FailureKind::CRASH.as_str()));
    // The program starts again.
    let client = JournaledClient::new(gateway.blocking_client(), open(&path));
    assert!(client.process_token(&key(), &payment_of(TEN_FIFTY)).unwrap_err().is_from_the_journal());
    let unresolved = client.journal().pages(StateName::UNRESOLVED).next().unwrap().unwrap();
    assert_eq!((unresolved.len(), gateway.requests().len()), (1, 0));
}

/// Nothing may be sent by a forked process, nor may it wait for a thread that it does not have.
#[test]
fn forked_process_is_refused_and_sends_nothing_d51() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("billing.db");
    let on_disk = open(&path);
    for journal in [Journal::open(MemoryStore::new()).unwrap(), on_disk] {
        let gateway = FakeGateway::new();
        let client = JournaledClient::new(gateway.blocking_client(), journal);
        let kept = Cell::new(Some(client));
        in_a_fork(|| use_in_a_child(&kept.take().unwrap(), &gateway));
        let client = kept.take().unwrap();
        assert!(!client.process_token(&key(), &payment_of(TEN_FIFTY)).unwrap().is_from_the_journal());
        gateway.ledger().assert_charged_once(TEN_FIFTY);
    }
}

fn use_in_a_child(client: &JournaledClient, gateway: &FakeGateway) {
    let payment = payment_of(TEN_FIFTY);
    let key = key();
    for error in [
        client.process_token(&key, &payment).unwrap_err(),
        client.after_rejection(&key).process_token(&payment).unwrap_err(),
    ] {
        assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, "journal"));
        assert!(matches!(error.cause(), Cause::Store(error) if error.is_poisoned()));
        assert!(error.to_string().contains("forked"), "{error}");
    }
    assert_eq!(gateway.requests().len(), 0);
    let journal = client.journal();
    assert!(journal.find(&key).unwrap_err().is_poisoned());
    assert!(journal.pages(StateName::ALL).next().unwrap().unwrap_err().is_poisoned());
    assert!(journal.flush().unwrap_err().is_poisoned());
    journal.close();
}

fn open(path: &Path) -> Journal {
    Journal::open(SqliteStore::open(path).unwrap()).unwrap()
}
