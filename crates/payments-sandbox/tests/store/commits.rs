//! When a change is durable, and how many commits it takes.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;

use payments_fake::{NotDurable, block_on};

use crate::support::{Hold, KEYS, Place, StoredGateway, commits_in, poll_once};

#[test]
fn flushed_is_ready_when_no_change_is_pending() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    assert_eq!(poll_once(&mut stored.flushed()), Poll::Ready(Ok(())));
    stored.add_customer(KEYS[0], "cus_7");
    block_on(stored.flushed()).unwrap();
    assert_eq!(poll_once(&mut stored.flushed()), Poll::Ready(Ok(())));
}

#[test]
fn changes_that_arrive_during_a_commit_are_the_next_commit() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    let writer = Hold::after_a_change(&stored);
    let before = commits_in(&place.log());
    let mut waiting: Vec<_> = (0..100)
        .map(|number| {
            stored.add_customer(KEYS[number % 2], &format!("cus_{number}"));
            stored.flushed()
        })
        .collect();
    // The writer is held, so none of these changes can be in the file.
    assert!(waiting.iter_mut().all(|flushed| poll_once(flushed).is_pending()));
    assert_eq!(commits_in(&place.log()), before);

    writer.release();
    for flushed in waiting {
        block_on(flushed).unwrap();
    }
    assert_eq!(commits_in(&place.log()), before + 1);
}

#[test]
fn the_size_of_a_commit_is_limited() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    let writer = Hold::after_a_change(&stored);
    let before = commits_in(&place.log());
    for number in 0..4097 {
        stored.add_customer(KEYS[0], &format!("cus_{number}"));
    }
    writer.release();
    block_on(stored.flushed()).unwrap();
    assert_eq!(commits_in(&place.log()), before + 2);
}

#[test]
fn a_waiter_for_an_earlier_change_does_not_wait_for_a_later_one() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    let first = Hold::after_a_change(&stored);
    stored.add_customer(KEYS[0], "cus_early");
    let mut early = stored.flushed();
    let second = Hold::new();
    assert!(second.waits_for(&mut early));
    first.release();
    second.wait();
    stored.add_customer(KEYS[0], "cus_late");
    let mut late = stored.flushed();
    assert_eq!(poll_once(&mut early), Poll::Ready(Ok(())));
    assert!(poll_once(&mut late).is_pending());
    second.release();
    block_on(late).unwrap();
}

#[test]
fn a_dropped_waiter_does_not_delay_others() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    let writer = Hold::after_a_change(&stored);
    stored.add_customer(KEYS[0], "cus_7");
    drop(stored.flushed());
    let stays = stored.flushed();
    writer.release();
    block_on(stays).unwrap();
}

#[test]
fn many_threads_can_wait_for_their_own_changes() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    let paid = AtomicUsize::new(0);
    thread::scope(|scope| {
        for key in KEYS.iter().cycle().take(16) {
            scope.spawn(|| {
                for _ in 0..8 {
                    stored.pay(key);
                    block_on(stored.flushed()).unwrap();
                    paid.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(paid.into_inner(), 128);
    stored.close();
    let again = place.open(&KEYS);
    assert_eq!(again.gateway.tenants().map(|tenant| tenant.transaction_count()).sum::<usize>(), 128);
}

#[test]
fn flushed_changes_survive_a_crash() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    let paid = stored.pay(KEYS[0]);
    stored.pay(KEYS[1]);
    stored.void(KEYS[0], &paid);
    block_on(stored.flushed()).unwrap();
    let states = stored.states();

    let image = Place::new();
    fs::copy(place.file(), image.file()).unwrap();
    fs::copy(place.log(), image.log()).unwrap();
    assert_eq!(image.open(&KEYS).states(), states);
}

#[test]
fn closing_writes_pending_changes_and_leaves_one_file() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    let writer = Hold::after_a_change(&stored);
    for _ in 0..20 {
        stored.pay(KEYS[0]);
    }
    let states = stored.states();
    let mut waiting = stored.flushed();
    assert!(poll_once(&mut waiting).is_pending());
    writer.release();
    stored.close();
    assert_eq!(poll_once(&mut waiting), Poll::Ready(Ok(())));
    assert_eq!(place.names(), ["payments.db"]);
    assert_eq!(place.open(&KEYS).states(), states);
}

#[test]
fn dropping_writes_pending_changes_and_releases_the_file() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    for _ in 0..20 {
        stored.pay(KEYS[0]);
    }
    let states = stored.states();
    drop(stored);
    assert_eq!(place.open(&KEYS).states(), states);
}

#[test]
fn changes_after_the_end_are_not_durable() {
    let place = Place::new();
    let StoredGateway { gateway, store } = place.open(&KEYS);
    block_on(store.close()).unwrap();
    let responder = gateway.responder();
    // The changes in the file are still durable.
    assert_eq!(block_on(responder.flushed()), Ok(()));
    gateway.first_tenant().clear();
    assert_eq!(block_on(responder.flushed()), Err(NotDurable::default()));
}
