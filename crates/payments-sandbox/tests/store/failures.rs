//! A file that can no longer be written: nothing more is written, nobody is told that anything is kept, and the reason
//! can be had.

use std::process::Command;
use std::task::Poll;

use payments_fake::{FakeGateway, NotDurable, block_on};
use payments_sandbox::DataFile;

use crate::support::{Hold, KEYS, Kept, Place, poll_once};

/// SQLite itself refuses this customer.
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
fn everybody_is_told_now_and_later() {
    let place = poisoned();
    let kept = place.open(&KEYS);
    let mut failed = Box::pin(kept.store.failed());
    kept.add_customer(KEYS[0], "cus_before");
    block_on(kept.flushed()).unwrap();
    assert!(poll_once(&mut failed).is_pending());

    let writer = Hold::after_a_change(&kept);
    kept.pay(KEYS[0]);
    let earlier = kept.flushed();
    kept.add_customer(KEYS[0], "cus_poison");
    let with_it = kept.flushed();
    kept.pay(KEYS[0]);
    let after_it = kept.flushed();
    writer.release();
    for flushed in [earlier, with_it, after_it] {
        assert_eq!(block_on(flushed), Err(NotDurable::default()));
    }
    assert_eq!(poll_once(&mut kept.flushed()), Poll::Ready(Err(NotDurable::default())));
    kept.pay(KEYS[0]);
    assert_eq!(poll_once(&mut kept.flushed()), Poll::Ready(Err(NotDurable::default())));

    let error = block_on(failed);
    let said = error.to_string();
    assert!(
        said.contains("can no longer be written: the disk is on fire; every payment that was answered"),
        "{said}"
    );
    assert_eq!(block_on(kept.store.failed()), error);
    let Kept { gateway, store } = kept;
    assert_eq!(block_on(store.close()), Err(error));
    drop(gateway);
    // Nothing is built on a log of which nobody knows what is on the disk.
    assert_eq!(place.names(), ["payments.db", "payments.db-wal"]);

    // The transaction that met it is undone as a whole, and nothing after it is there.
    place.sql().execute_batch("DROP TRIGGER poison").unwrap();
    let again = place.open(&KEYS);
    assert_eq!(again.gateway.first_tenant().transaction_count(), 0);
    let state = &again.states()[0];
    assert!(state.contains("cus_before") && !state.contains("cus_poison"), "{state}");
}

#[test]
fn closing_tells_of_a_failure_that_comes_while_it_waits() {
    let place = poisoned();
    let kept = place.open(&KEYS);
    let writer = Hold::after_a_change(&kept);
    kept.add_customer(KEYS[0], "cus_poison");
    let mut close = Box::pin(kept.store.close());
    assert!(poll_once(&mut close).is_pending());
    writer.release();
    let error = block_on(close).unwrap_err();
    assert!(error.to_string().contains("the disk is on fire"), "{error}");
}

#[test]
fn a_reply_is_withheld_when_its_payment_is_not_kept() {
    let place = poisoned();
    let kept = place.open(&KEYS);
    kept.add_customer(KEYS[0], "cus_poison");
    let _ = block_on(kept.flushed());
    let client = kept.gateway.client();
    let payment = payments_core::model::TokenTransaction::builder(
        "tok_approved",
        crate::support::PRICE,
        payments_core::model::ConvenienceFee::Inactive,
    );
    let error = block_on(client.process_token(&payment.build().unwrap())).unwrap_err();
    assert_eq!(error.outcome(), payments_core::Outcome::Unknown);
}

#[test]
fn a_panic_on_the_writers_thread_is_a_failure() {
    struct Panicking;
    impl std::task::Wake for Panicking {
        fn wake(self: std::sync::Arc<Self>) {
            panic!("a waker of somebody else's");
        }
    }

    let place = Place::new();
    let kept = place.open(&KEYS);
    let writer = Hold::after_a_change(&kept);
    kept.add_customer(KEYS[0], "cus_7");
    let mut flushed = kept.flushed();
    let waker = std::sync::Arc::new(Panicking).into();
    assert!(flushed.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
    writer.release();
    let error = block_on(kept.store.failed());
    assert!(error.to_string().contains("the thread that writes has panicked"), "{error}");
    assert_eq!(block_on(kept.flushed()), Err(NotDurable::default()));
}

/// The limit on a file's size is the system's own, so this process asks for it on behalf of a child.
#[test]
#[cfg(unix)]
fn a_full_disk_loses_nothing_that_was_flushed() {
    let place = Place::new();
    place.open(&KEYS).close();
    let child = Command::new("sh")
        // Without the signal a write beyond the limit is an error, as on a full disk.
        .args(["-c", "trap '' XFSZ; ulimit -f 400; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "failures::pays_until_the_disk_is_full", "--nocapture", "--ignored"])
        .env(FULL_DISK, place.file())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    let flushed = said.lines().filter(|line| line.contains("flushed: txn_")).count();
    assert!(child.status.success() && flushed > 0, "{said}\n{}", String::from_utf8_lossy(&child.stderr));
    assert!(said.contains("can no longer be written: "), "{said}");

    let again = place.open(&KEYS);
    let ledger = again.gateway.first_tenant().ledger();
    let kept: Vec<_> = ledger.entries().iter().map(|entry| entry.transaction_id().to_string()).collect();
    for line in said.lines().filter_map(|line| line.split_once("flushed: ")) {
        assert!(kept.iter().any(|id| id == line.1), "{} is lost", line.1);
    }
    // The one that met the full disk was answered to nobody, and may be there or not.
    assert!((flushed..=flushed + 1).contains(&kept.len()), "{flushed} were flushed, {} are kept", kept.len());
}

const FULL_DISK: &str = "STORE_TEST_FULL_DISK";

#[test]
#[ignore = "it is the child of another test"]
fn pays_until_the_disk_is_full() {
    let Some(path) = std::env::var_os(FULL_DISK) else { return };
    let file = DataFile::open(path, &KEYS).unwrap();
    let builder = FakeGateway::builder().seed(file.starts());
    let (gateway, store) = file.gateway(builder).unwrap();
    let kept = Kept { gateway, store };
    println!();
    for _ in 0..100_000 {
        let id = kept.pay(KEYS[0]);
        if block_on(kept.flushed()).is_err() {
            println!("{}", block_on(kept.store.failed()));
            assert!(block_on(kept.store.close()).is_err());
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
    // The public interface cannot make one: the file gives the gateway its keys.
    let strange = "CREATE TRIGGER strange AFTER INSERT ON record
                   BEGIN UPDATE record SET tenant = 99 WHERE position = new.position; END";
    place.sql().execute_batch(strange).unwrap();
    let kept = place.open(&KEYS);
    kept.pay(KEYS[0]);
    assert_eq!(block_on(kept.flushed()), Err(NotDurable::default()));
    let error = block_on(kept.store.failed());
    assert!(error.to_string().contains("FOREIGN KEY constraint failed"), "{error}");
}

/// Nobody else's: files of a process that runs cannot be taken away elsewhere.
#[cfg(unix)]
mod a_file_that_is_no_longer_in_its_place {
    use std::fs;

    use super::*;

    /// After this, no payment is answered, and the one before it is kept if its files are put back.
    fn displaced_by(displace: impl Fn(&Place), put_back: impl Fn(&Place)) {
        let place = Place::new();
        let kept = place.open(&KEYS);
        kept.pay(KEYS[0]);
        block_on(kept.flushed()).unwrap();
        let states = kept.states();

        displace(&place);
        kept.pay(KEYS[0]);
        assert_eq!(block_on(kept.flushed()), Err(NotDurable::default()));
        let error = block_on(kept.store.failed());
        let said = error.to_string();
        assert!(
            said.contains("was removed, moved or replaced while the sandbox kept its payments"),
            "{said}"
        );
        let Kept { gateway, store } = kept;
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
        displaced_by(
            |place| fs::rename(place.file(), aside(place)).unwrap(),
            |place| fs::rename(aside(place), place.file()).unwrap(),
        );
    }

    #[test]
    fn replaced_by_a_copy() {
        displaced_by(
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
        displaced_by(
            |place| fs::rename(place.log(), aside(place)).unwrap(),
            |place| fs::rename(aside(place), place.log()).unwrap(),
        );
    }

    #[test]
    fn in_another_folder() {
        let outer = tempfile::tempdir().unwrap();
        let [before, after] = ["before", "after"].map(|name| outer.path().join(name));
        fs::create_dir(&before).unwrap();
        let kept = Kept::open(&before.join("payments.db"), &KEYS);
        fs::rename(&before, &after).unwrap();
        kept.pay(KEYS[0]);
        assert_eq!(block_on(kept.flushed()), Err(NotDurable::default()));
    }

    #[test]
    fn removed_before_it_is_closed() {
        let place = Place::new();
        let kept = place.open(&KEYS);
        kept.pay(KEYS[0]);
        block_on(kept.flushed()).unwrap();
        fs::remove_file(place.file()).unwrap();
        let error = block_on(kept.store.close()).unwrap_err();
        assert!(error.to_string().contains("was removed, moved or replaced"), "{error}");
        assert_eq!(place.names(), ["payments.db-wal"], "somebody else's log is not removed");
    }

    /// Two sandboxes with one path do not both answer.
    #[test]
    fn taken_by_another_sandbox() {
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
