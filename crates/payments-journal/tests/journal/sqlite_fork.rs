//! A forked process has neither the threads nor the locks of its parent's journal.

use std::cell::Cell;
use std::env;
use std::time::Duration;

use payments_journal::internals::IntentStore as _;
use payments_journal::{SqliteReader, SqliteStore, StateName};
use tokio::runtime;
use tokio::time::timeout;

use crate::contract::{begin, key};
use crate::process::{Process, in_a_fork, respond};
use crate::sqlite::{InAFile, close};

#[test]
fn a_forked_process_is_refused_and_leaves_its_parents_journal_alone_d51() {
    let (place, store) = InAFile::opened();
    let kept = Cell::new(Some(store));
    in_a_fork(|| use_in_a_child(&place, kept.take().unwrap()));
    let store = kept.take().unwrap();

    let other = SqliteStore::open(place.path()).unwrap();
    assert!(payments_fake::block_on(other.is_live(store.owner())).unwrap(), "the child did not end it");
    payments_fake::block_on(store.apply(begin("k", &store, 1))).unwrap();
    close(store);
    close(other);
    // A journal that was closed before the fork does not matter. Other tests may have one open in this process.
    let test = "sqlite_fork::child_process";
    let mut alone = Process::of_test(&[], test, (JOURNAL, place.path().as_os_str()));
    assert_eq!(alone.response(), "done");
}

/// The journal's path, in a process without any other.
const JOURNAL: &str = "PAYMENTS_TEST_FORKED_JOURNAL";

/// The process that is started above. In an ordinary test run it does nothing.
#[test]
fn child_process() {
    let Some(path) = env::var_os(JOURNAL) else { return };
    let open = || SqliteStore::open(&path).unwrap();
    close(open());
    in_a_fork(|| close(open()));
    respond("done");
}

fn use_in_a_child(place: &InAFile, store: SqliteStore) {
    let runtime = runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let calls = async {
        assert!(store.apply(begin("k", &store, 1)).await.unwrap_err().is_poisoned());
        assert!(store.find(&key("k")).await.unwrap_err().is_poisoned());
        assert!(store.list(StateName::ALL, None, 9).await.unwrap_err().is_poisoned());
        assert!(store.purge(Duration::ZERO).await.unwrap_err().is_poisoned());
        store.close().await;
    };
    // Nothing may wait for a thread that is not in this process.
    runtime.block_on(async { timeout(Duration::from_secs(10), calls).await }).unwrap();
    drop(store);
    assert!(SqliteStore::open(place.path()).unwrap_err().is_refused());
    assert!(SqliteStore::open(InAFile::new().path()).unwrap_err().is_refused());
    assert!(SqliteReader::open(place.path()).unwrap_err().is_refused());
}
