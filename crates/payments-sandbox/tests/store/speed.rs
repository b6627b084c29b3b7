//! Measurements, run by hand: `cargo test --release -p payments-sandbox --test store -- --ignored --nocapture speed`.

use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use payments_fake::test_values::VISA;
use payments_fake::{FakeGateway, block_on};
use payments_sandbox::DataFile;

use crate::round_trip::card_payment;
use crate::support::{KEYS, Place};

#[test]
#[ignore = "a measurement"]
fn a_hundred_thousand_transactions_load() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    let body = Bytes::from_owner(card_payment(VISA, false, false));
    for _ in 0..100_000 {
        stored.post(KEYS[0], "/transaction", body.clone());
    }
    let written = Instant::now();
    stored.close();
    println!("closed after {:?}", written.elapsed());
    println!("{} bytes", place.file().metadata().unwrap().len());
    for _ in 0..5 {
        let start = Instant::now();
        let file = DataFile::open(place.file(), &KEYS).unwrap();
        let opened = start.elapsed();
        let builder = FakeGateway::builder().seed(file.starts());
        let (gateway, store) = file.gateway(builder).unwrap();
        println!("opened after {opened:?}, loaded after {:?}", start.elapsed());
        assert_eq!(gateway.first_tenant().transaction_count(), 100_000);
        let start = Instant::now();
        drop(store);
        println!("closed after {:?}", start.elapsed());
    }
}

#[test]
#[ignore = "a measurement"]
fn payments_a_second_that_wait_for_their_commit() {
    for waiters in [1, 8, 64, 256] {
        let place = Place::new();
        let stored = place.open(&KEYS);
        let body = Bytes::from_owner(card_payment(VISA, false, false));
        let end = Instant::now() + Duration::from_secs(3);
        let paid: u32 = thread::scope(|scope| {
            let pay = || {
                let mut paid = 0;
                while Instant::now() < end {
                    stored.post(KEYS[0], "/transaction", body.clone());
                    block_on(stored.flushed()).unwrap();
                    paid += 1;
                }
                paid
            };
            let threads: Vec<_> = (0..waiters).map(|_| scope.spawn(pay)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        println!("{waiters} waiters: {} payments a second", paid / 3);
    }
}
