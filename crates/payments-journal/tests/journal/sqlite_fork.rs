//! A forked process has neither the threads nor the locks of its parent's journal.

use std::io::{Read, Write, pipe};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::time::Duration;

use fork::{Fork, fork, waitpid};
use payments_journal::internals::IntentStore as _;
use payments_journal::{SqliteReader, SqliteStore, StateName};
use tokio::runtime;
use tokio::time::timeout;

use crate::contract::{begin, key};
use crate::sqlite::{InAFile, close};

#[test]
fn a_forked_process_is_refused_and_leaves_its_parents_journal_alone_d51() {
    let place = InAFile::new();
    let store = SqliteStore::open(place.path()).unwrap();
    let (mut text, mut writer) = pipe().unwrap();
    let child = match fork().unwrap() {
        Fork::Parent(child) => child,
        Fork::Child => {
            let result = catch_unwind(AssertUnwindSafe(|| use_in_a_child(&place, store)));
            writer.write_all(if result.is_ok() { b"refused" } else { b"failed" }).unwrap();
            exit();
        }
    };
    drop(writer);
    let mut said = String::new();
    text.read_to_string(&mut said).unwrap();
    assert_eq!((waitpid(child).unwrap(), &*said), (0, "refused"));

    let other = SqliteStore::open(place.path()).unwrap();
    assert!(payments_fake::block_on(other.is_live(store.owner())).unwrap(), "the child did not end it");
    payments_fake::block_on(store.apply(begin("k", &store, 1))).unwrap();
    close(store);
    close(other);
    // A journal that was closed before the fork does not matter.
    let Fork::Parent(child) = fork().unwrap() else {
        close(SqliteStore::open(place.path()).unwrap());
        exit();
    };
    assert_eq!(waitpid(child).unwrap(), 0);
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

#[allow(clippy::exit, reason = "a child must not return into the test harness")]
fn exit() -> ! {
    process::exit(0)
}
