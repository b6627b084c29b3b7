//! When a change is in the file, and in how many commits.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;

use payments_fake::{NotDurable, block_on};

use crate::support::{Hold, KEYS, Kept, Place, commits_in, poll_once};

#[test]
fn nothing_is_waited_for_where_nothing_waits() {
    let place = Place::new();
    let kept = place.open(&KEYS);
    assert_eq!(poll_once(&mut kept.flushed()), Poll::Ready(Ok(())));
    kept.add_customer(KEYS[0], "cus_7");
    block_on(kept.flushed()).unwrap();
    assert_eq!(poll_once(&mut kept.flushed()), Poll::Ready(Ok(())));
}

#[test]
fn everything_that_gathers_during_a_commit_is_the_next_commit() {
    let place = Place::new();
    let kept = place.open(&KEYS);
    let writer = Hold::after_a_change(&kept);
    let before = commits_in(&place.log());
    let mut waiting: Vec<_> = (0..100)
        .map(|number| {
            kept.add_customer(KEYS[number % 2], &format!("cus_{number}"));
            kept.flushed()
        })
        .collect();
    // The writer is held, so that nothing of it can be in the file.
    assert!(waiting.iter_mut().all(|flushed| poll_once(flushed).is_pending()));
    assert_eq!(commits_in(&place.log()), before);

    writer.release();
    for flushed in waiting {
        block_on(flushed).unwrap();
    }
    assert_eq!(commits_in(&place.log()), before + 1);
}

#[test]
fn a_commit_holds_a_bounded_number_of_changes() {
    let place = Place::new();
    let kept = place.open(&KEYS);
    let writer = Hold::after_a_change(&kept);
    let before = commits_in(&place.log());
    for number in 0..4097 {
        kept.add_customer(KEYS[0], &format!("cus_{number}"));
    }
    writer.release();
    block_on(kept.flushed()).unwrap();
    assert_eq!(commits_in(&place.log()), before + 2);
}

#[test]
fn whoever_waits_for_an_earlier_change_is_not_held_up_by_a_later_one() {
    let place = Place::new();
    let kept = place.open(&KEYS);
    let first = Hold::after_a_change(&kept);
    kept.add_customer(KEYS[0], "cus_early");
    let mut early = kept.flushed();
    let second = Hold::new();
    assert!(second.waits_for(&mut early));
    first.release();
    second.wait();
    kept.add_customer(KEYS[0], "cus_late");
    let mut late = kept.flushed();
    assert_eq!(poll_once(&mut early), Poll::Ready(Ok(())));
    assert!(poll_once(&mut late).is_pending());
    second.release();
    block_on(late).unwrap();
}

#[test]
fn a_waiter_that_goes_away_holds_up_nobody() {
    let place = Place::new();
    let kept = place.open(&KEYS);
    let writer = Hold::after_a_change(&kept);
    kept.add_customer(KEYS[0], "cus_7");
    drop(kept.flushed());
    let stays = kept.flushed();
    writer.release();
    block_on(stays).unwrap();
}

#[test]
fn many_threads_are_each_told_of_their_own_change() {
    let place = Place::new();
    let kept = place.open(&KEYS);
    let paid = AtomicUsize::new(0);
    thread::scope(|scope| {
        for key in KEYS.iter().cycle().take(16) {
            scope.spawn(|| {
                for _ in 0..8 {
                    kept.pay(key);
                    block_on(kept.flushed()).unwrap();
                    paid.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(paid.into_inner(), 128);
    kept.close();
    let again = place.open(&KEYS);
    assert_eq!(again.gateway.tenants().map(|tenant| tenant.transaction_count()).sum::<usize>(), 128);
}

#[test]
fn what_was_flushed_is_in_the_image_that_a_crash_leaves() {
    let place = Place::new();
    let kept = place.open(&KEYS);
    let paid = kept.pay(KEYS[0]);
    kept.pay(KEYS[1]);
    kept.void(KEYS[0], &paid);
    block_on(kept.flushed()).unwrap();
    let states = kept.states();

    let image = Place::new();
    fs::copy(place.file(), image.file()).unwrap();
    fs::copy(place.log(), image.log()).unwrap();
    assert_eq!(image.open(&KEYS).states(), states);
}

#[test]
fn closing_writes_what_waits_and_leaves_the_one_file() {
    let place = Place::new();
    let kept = place.open(&KEYS);
    let writer = Hold::after_a_change(&kept);
    for _ in 0..20 {
        kept.pay(KEYS[0]);
    }
    let states = kept.states();
    let mut waiting = kept.flushed();
    assert!(poll_once(&mut waiting).is_pending());
    writer.release();
    kept.close();
    assert_eq!(poll_once(&mut waiting), Poll::Ready(Ok(())));
    assert_eq!(place.names(), ["payments.db"]);
    assert_eq!(place.open(&KEYS).states(), states);
}

#[test]
fn dropping_writes_what_waits_and_lets_the_file_go() {
    let place = Place::new();
    let kept = place.open(&KEYS);
    for _ in 0..20 {
        kept.pay(KEYS[0]);
    }
    let states = kept.states();
    drop(kept);
    assert_eq!(place.open(&KEYS).states(), states);
}

#[test]
fn after_the_end_nobody_is_told_that_something_is_kept() {
    let place = Place::new();
    let Kept { gateway, store } = place.open(&KEYS);
    block_on(store.close()).unwrap();
    let responder = gateway.responder();
    // What is in the file can still be spoken of.
    assert_eq!(block_on(responder.flushed()), Ok(()));
    gateway.first_tenant().clear();
    assert_eq!(block_on(responder.flushed()), Err(NotDurable::default()));
}
