//! A forked process has neither the threads nor the locks of its parent's journal.

use std::cell::Cell;
use std::time::Duration;

use payments_journal::internals::IntentStore as _;
use payments_journal::{SqliteReader, SqliteStore, StateName};
use tokio::runtime;
use tokio::time::timeout;

use crate::contract::{begin, key};
use crate::process::{in_a_fork, is_alone};
use crate::sqlite::{InAFile, close};

#[test]
fn a_forked_process_is_refused_and_leaves_its_parents_journal_alone_d51() {
    // A journal that another test has open was opened before the fork too.
    let name = "sqlite_fork::a_forked_process_is_refused_and_leaves_its_parents_journal_alone_d51";
    if !is_alone(name) {
        return;
    }
    let (place, store) = InAFile::opened();
    let kept = Cell::new(Some(store));
    in_a_fork(|| use_in_a_child(&place, kept.take().unwrap()));
    let store = kept.take().unwrap();

    let other = SqliteStore::open(place.path()).unwrap();
    assert!(payments_fake::block_on(other.is_live(store.owner())).unwrap(), "the child did not end it");
    payments_fake::block_on(store.apply(begin("k", &store, 1))).unwrap();
    close(store);
    close(other);
    // A journal that was closed before the fork does not matter.
    in_a_fork(|| close(SqliteStore::open(place.path()).unwrap()));
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
