//! Processes that die or are forked while they charge.

use std::env;
use std::io::{BufRead as _, BufReader, Read as _, Write as _, pipe, stdout};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{self, Command, Stdio};
use std::thread;

use fork::{Fork, fork, waitpid};
use payments_core::{Client, Outcome, TransportError, TransportRequest, TransportResponse, blocking};
use payments_fake::FakeGateway;
use payments_journal::blocking::{Journal, JournaledClient};
use payments_journal::{Failure, MemoryStore, SqliteStore, StateName};

use crate::client::support::{TEN_FIFTY, key, payment_of};

/// The journal's path, in a process that charges until it is killed.
const JOURNAL: &str = "PAYMENTS_TEST_BLOCKING_JOURNAL";

const SENT: &str = "=> sent";

/// Sends, and gets no response.
struct Unanswered;

impl blocking::Transport for Unanswered {
    fn send(&self, _request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let mut output = stdout();
        writeln!(output, "{SENT}").unwrap();
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
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "client::blocking::processes::child_process", "--nocapture"])
        .env(JOURNAL, &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    assert!(output.lines().any(|line| line.unwrap().ends_with(SENT)));

    let gateway = FakeGateway::new();
    let client = JournaledClient::new(gateway.blocking_client(), open(&path));
    let error = client.process_token(&key(), &payment_of(TEN_FIFTY)).unwrap_err();
    assert!(error.is_in_progress(), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
    let error = client.process_token(&key(), &payment_of(TEN_FIFTY)).unwrap_err();
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, Failure::CRASH));
    // The program starts again.
    let client = JournaledClient::new(gateway.blocking_client(), open(&path));
    assert!(client.process_token(&key(), &payment_of(TEN_FIFTY)).unwrap_err().is_recorded());
    let unresolved = client.journal().list(StateName::UNRESOLVED, None, 9).unwrap().intents;
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
        let (mut text, mut writer) = pipe().unwrap();
        let child = match fork().unwrap() {
            Fork::Parent(child) => child,
            Fork::Child => {
                let result = catch_unwind(AssertUnwindSafe(|| use_in_a_child(&client, &gateway)));
                drop(client);
                writer.write_all(if result.is_ok() { b"refused" } else { b"failed" }).unwrap();
                exit();
            }
        };
        drop(writer);
        let mut said = String::new();
        text.read_to_string(&mut said).unwrap();
        assert_eq!((waitpid(child).unwrap(), &*said), (0, "refused"));
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
        assert!(error.store_error().unwrap().is_poisoned());
        assert!(error.to_string().contains("forked"), "{error}");
    }
    assert_eq!(gateway.requests().len(), 0);
    let journal = client.journal();
    assert!(journal.find(&key).unwrap_err().is_poisoned());
    assert!(journal.list(StateName::ALL, None, 9).unwrap_err().is_poisoned());
    assert!(journal.settle().unwrap_err().is_poisoned());
    journal.close();
}

fn open(path: &Path) -> Journal {
    Journal::open(SqliteStore::open(path).unwrap()).unwrap()
}

#[allow(clippy::exit, reason = "a child must not return into the test harness")]
fn exit() -> ! {
    process::exit(0)
}
