//! A file that can no longer be written: nothing more is written, no change is reported as durable, and the cause can be
//! read.

use std::process::Command;
use std::task::Poll;

use payments_fake::{FakeGateway, NotDurable, block_on};
use payments_sandbox::DataFile;

use crate::support::{Hold, KEYS, Place, StoredGateway, poll_once};

/// A data file in which SQLite itself refuses the customer `cus_poison`.
fn poisoned() -> Place {
    let place = Place::new();
    place.open(&KEYS).close();
    place
        .sql()
        .execute_batch(
            "CREATE TRIGGER poison BEFORE INSERT ON record WHEN new.id = 'cus_poison'
             BEGIN SELECT RAISE(ABORT, 'the disk is on fire'); END",
        )
        .unwrap();
    place
}

#[test]
fn every_waiter_gets_the_error_now_and_later() {
    let place = poisoned();
    let stored = place.open(&KEYS);
    let mut failed = Box::pin(stored.store.failed());
    stored.add_customer(KEYS[0], "cus_before");
    block_on(stored.flushed()).unwrap();
    assert!(poll_once(&mut failed).is_pending());

    let writer = Hold::after_a_change(&stored);
    stored.pay(KEYS[0]);
    let earlier = stored.flushed();
    stored.add_customer(KEYS[0], "cus_poison");
    let with_it = stored.flushed();
    stored.pay(KEYS[0]);
    let after_it = stored.flushed();
    writer.release();
    for flushed in [earlier, with_it, after_it] {
        assert_eq!(block_on(flushed), Err(NotDurable::default()));
    }
    assert_eq!(poll_once(&mut stored.flushed()), Poll::Ready(Err(NotDurable::default())));
    stored.pay(KEYS[0]);
    assert_eq!(poll_once(&mut stored.flushed()), Poll::Ready(Err(NotDurable::default())));

    let error = block_on(failed);
    let message = error.to_string();
    assert!(
        message.contains(
            "can no longer be written: the disk is on fire; it has every payment whose response was sent"
        ),
        "{message}"
    );
    assert_eq!(block_on(stored.store.failed()), error);
    let StoredGateway { gateway, store } = stored;
    assert_eq!(block_on(store.close()), Err(error));
    drop(gateway);
    // No checkpoint uses a log whose content on the disk is unknown.
    assert_eq!(place.names(), ["payments.db", "payments.db-wal"]);

    // The failed transaction is rolled back as a whole, and nothing after it is stored.
    place.sql().execute_batch("DROP TRIGGER poison").unwrap();
    let again = place.open(&KEYS);
    assert_eq!(again.gateway.first_tenant().transaction_count(), 0);
    let state = &again.states()[0];
    assert!(state.contains("cus_before") && !state.contains("cus_poison"), "{state}");
}

#[test]
fn closing_reports_a_failure_that_happens_while_it_waits() {
    let place = poisoned();
    let stored = place.open(&KEYS);
    let writer = Hold::after_a_change(&stored);
    stored.add_customer(KEYS[0], "cus_poison");
    let mut close = Box::pin(stored.store.close());
    assert!(poll_once(&mut close).is_pending());
    writer.release();
    let error = block_on(close).unwrap_err();
    assert!(error.to_string().contains("the disk is on fire"), "{error}");
}

#[test]
fn no_response_is_sent_for_a_payment_that_is_not_stored() {
    let place = poisoned();
    let stored = place.open(&KEYS);
    stored.add_customer(KEYS[0], "cus_poison");
    let _ = block_on(stored.flushed());
    let client = stored.gateway.client();
    let payment = payments_core::model::TokenTransaction::builder(
        "tok_approved",
        crate::support::PRICE,
        payments_core::model::ConvenienceFee::Inactive,
    );
    let error = block_on(client.process_token(&payment.build().unwrap())).unwrap_err();
    assert_eq!(error.outcome(), payments_core::Outcome::Unknown);
}

#[test]
fn a_panic_of_the_writer_thread_is_a_failure() {
    struct Panicking;
    impl std::task::Wake for Panicking {
        fn wake(self: std::sync::Arc<Self>) {
            panic!("a waker that panics");
        }
    }

    let place = Place::new();
    let stored = place.open(&KEYS);
    let writer = Hold::after_a_change(&stored);
    stored.add_customer(KEYS[0], "cus_7");
    let mut flushed = stored.flushed();
    let waker = std::sync::Arc::new(Panicking).into();
    assert!(flushed.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
    writer.release();
    let error = block_on(stored.store.failed());
    assert!(error.to_string().contains("the writer thread panicked"), "{error}");
    assert_eq!(block_on(stored.flushed()), Err(NotDurable::default()));
}

/// Runs a child process, because the limit of a file's size applies to a whole process.
#[test]
#[cfg(unix)]
fn a_full_disk_loses_nothing_that_was_flushed() {
    let place = Place::new();
    place.open(&KEYS).close();
    let child = Command::new("sh")
        // With the signal ignored, a write beyond the limit is an error, as on a full disk.
        .args(["-c", "trap '' XFSZ; ulimit -f 400; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "failures::pays_until_the_disk_is_full", "--nocapture", "--ignored"])
        .env(FULL_DISK, place.file())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    let flushed = output.lines().filter(|line| line.contains("flushed: txn_")).count();
    assert!(child.status.success() && flushed > 0, "{output}\n{}", String::from_utf8_lossy(&child.stderr));
    assert!(output.contains("can no longer be written: "), "{output}");

    let again = place.open(&KEYS);
    let ledger = again.gateway.first_tenant().ledger();
    let stored: Vec<_> = ledger.entries().iter().map(|entry| entry.transaction_id().to_string()).collect();
    for line in output.lines().filter_map(|line| line.split_once("flushed: ")) {
        assert!(stored.iter().any(|id| id == line.1), "{} is lost", line.1);
    }
    // The payment that hit the full disk got no response, and may be stored or not.
    assert!(
        (flushed..=flushed + 1).contains(&stored.len()),
        "{flushed} were flushed, {} are stored",
        stored.len()
    );
}

const FULL_DISK: &str = "STORE_TEST_FULL_DISK";

#[test]
#[ignore = "the child process of another test"]
fn pays_until_the_disk_is_full() {
    let Some(path) = std::env::var_os(FULL_DISK) else { return };
    let file = DataFile::open(path, &KEYS).unwrap();
    let builder = FakeGateway::builder().seed(file.starts());
    let (gateway, store) = file.gateway(builder).unwrap();
    let stored = StoredGateway { gateway, store };
    println!();
    for _ in 0..100_000 {
        let id = stored.pay(KEYS[0]);
        if block_on(stored.flushed()).is_err() {
            println!("{}", block_on(stored.store.failed()));
            assert!(block_on(stored.store.close()).is_err());
            return;
        }
        println!("flushed: {id}");
    }
    panic!("the disk was never full");
}

#[test]
fn a_change_of_a_tenant_that_is_not_in_the_file_is_a_failure() {
    let place = Place::new();
    place.open(&KEYS).close();
    // The public API cannot create such a change, because the gateway gets its keys from the file.
    let trigger = "CREATE TRIGGER unknown_tenant AFTER INSERT ON record
                   BEGIN UPDATE record SET tenant = 99 WHERE position = new.position; END";
    place.sql().execute_batch(trigger).unwrap();
    let stored = place.open(&KEYS);
    stored.pay(KEYS[0]);
    assert_eq!(block_on(stored.flushed()), Err(NotDurable::default()));
    let error = block_on(stored.store.failed());
    assert!(error.to_string().contains("FOREIGN KEY constraint failed"), "{error}");
}

/// Only on Unix: other systems do not allow an open file to be moved or removed.
#[cfg(unix)]
mod a_displaced_file {
    use std::fs;

    use super::*;

    /// After the displacement, no payment gets a response, and earlier payments are stored if the files are put back.
    fn assert_displaced(displace: impl Fn(&Place), put_back: impl Fn(&Place)) {
        let place = Place::new();
        let stored = place.open(&KEYS);
        stored.pay(KEYS[0]);
        block_on(stored.flushed()).unwrap();
        let states = stored.states();

        displace(&place);
        stored.pay(KEYS[0]);
        assert_eq!(block_on(stored.flushed()), Err(NotDurable::default()));
        let error = block_on(stored.store.failed());
        let message = error.to_string();
        assert!(message.contains("was removed, moved or replaced while the sandbox used it"), "{message}");
        let StoredGateway { gateway, store } = stored;
        assert_eq!(block_on(store.close()), Err(error));
        drop(gateway);
        put_back(&place);
        assert_eq!(place.open(&KEYS).states(), states);
    }

    fn aside(place: &Place) -> std::path::PathBuf {
        place.folder().join("aside")
    }

    #[test]
    fn moved_away() {
        assert_displaced(
            |place| fs::rename(place.file(), aside(place)).unwrap(),
            |place| fs::rename(aside(place), place.file()).unwrap(),
        );
    }

    #[test]
    fn replaced_by_a_copy() {
        assert_displaced(
            |place| {
                fs::hard_link(place.file(), aside(place)).unwrap();
                let copy = place.folder().join("copy");
                fs::copy(place.file(), &copy).unwrap();
                fs::rename(copy, place.file()).unwrap();
            },
            |place| fs::rename(aside(place), place.file()).unwrap(),
        );
    }

    #[test]
    fn without_its_log() {
        assert_displaced(
            |place| fs::rename(place.log(), aside(place)).unwrap(),
            |place| fs::rename(aside(place), place.log()).unwrap(),
        );
    }

    #[test]
    fn in_another_folder() {
        let outer = tempfile::tempdir().unwrap();
        let [before, after] = ["before", "after"].map(|name| outer.path().join(name));
        fs::create_dir(&before).unwrap();
        let stored = StoredGateway::open(&before.join("payments.db"), &KEYS);
        fs::rename(&before, &after).unwrap();
        stored.pay(KEYS[0]);
        assert_eq!(block_on(stored.flushed()), Err(NotDurable::default()));
    }

    #[test]
    fn removed_before_it_is_closed() {
        let place = Place::new();
        let stored = place.open(&KEYS);
        stored.pay(KEYS[0]);
        block_on(stored.flushed()).unwrap();
        fs::remove_file(place.file()).unwrap();
        let error = block_on(stored.store.close()).unwrap_err();
        assert!(error.to_string().contains("was removed, moved or replaced"), "{error}");
        assert_eq!(place.names(), ["payments.db-wal"], "the log is not removed");
    }

    /// Of two sandboxes with the same path, only one stores payments.
    #[test]
    fn replaced_by_the_file_of_another_sandbox() {
        let place = Place::new();
        let first = place.open(&KEYS);
        first.pay(KEYS[0]);
        block_on(first.flushed()).unwrap();
        fs::remove_file(place.file()).unwrap();
        let second = place.open(&KEYS);
        first.pay(KEYS[0]);
        assert_eq!(block_on(first.flushed()), Err(NotDurable::default()));
        drop(first);
        second.pay(KEYS[0]);
        block_on(second.flushed()).unwrap();
        let states = second.states();
        second.close();
        assert_eq!(place.open(&KEYS).states(), states);
    }
}
