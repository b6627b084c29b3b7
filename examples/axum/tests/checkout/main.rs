//! The checkout as a process of its own, over real sockets, with browsers that hang up and processes that are killed.
#![cfg(unix)]
#![allow(clippy::print_stdout, reason = "figures and seeds")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod shop;
mod telemetry;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use payments_core::OperationName;
use payments_fake::Fault;
use payments_postgres_for_tests::Server;
use serde_json::json;
use shop::{Instance, Shop};

const TOKENS: OperationName = OperationName::TokenTransaction;

#[test]
fn an_order_is_paid_once_and_a_retry_gets_the_recorded_result() {
    let shop = Shop::open();
    let instance = shop.start();
    let first = instance.pay("17", "tok_approved");
    let again = instance.pay("17", "tok_approved");
    assert_eq!((first.0, again.0), (200, 200), "{first:?} {again:?}");
    assert_eq!(first.1["transaction_id"], again.1["transaction_id"]);
    assert_eq!((&first.1["recorded"], &again.1["recorded"]), (&json!(false), &json!(true)));
    assert_eq!(instance.get("/orders/17").1["state"], "processed");
    assert_eq!((instance.get("/health").0, instance.get("/orders/18").0), (200, 404));
    assert_eq!(shop.sent(), BTreeMap::from([("order 17".to_owned(), 1)]));
}

#[test]
fn a_decline_is_recorded_and_another_card_is_a_request_of_its_own() {
    let shop = Shop::open();
    let instance = shop.start();
    // The browser leaves while the service declines, so it never heard of it.
    let gate = shop.gateway().gate_after_commit(TOKENS);
    let browser = instance.begin("17", "tok_declined");
    while gate.held() == 0 {
        thread::yield_now();
    }
    drop(browser);
    gate.release();
    let declined = instance.pay_patiently("17", "tok_declined");
    assert_eq!((declined.0, &declined.1["recorded"]), (402, &json!(true)), "{declined:?}");
    // A plain retry never tries another card, and never the same one again.
    assert_eq!(instance.pay("17", "tok_declined").0, 402);
    assert_eq!(shop.gateway().requests().len(), 1);
    let paid = instance.pay_with_another_card("17", "tok_approved");
    assert_eq!((paid.0, &paid.1["recorded"]), (200, &json!(false)), "{paid:?}");
    let again = instance.pay_with_another_card("17", "tok_approved");
    assert_eq!((again.0, &again.1["recorded"]), (200, &json!(true)), "{again:?}");
    assert_eq!(shop.charged(), BTreeMap::from([("order 17".to_owned(), 1)]));
}

#[test]
fn a_lost_answer_is_unknown_and_no_retry_pays_it_again() {
    let shop = Shop::open();
    let instance = shop.start();
    shop.gateway().arm(Fault::response_lost(TOKENS));
    for _ in 0..3 {
        assert_eq!(instance.pay("17", "tok_approved").0, 202);
        assert_eq!(instance.pay_with_another_card("17", "tok_approved").0, 202);
    }
    assert_eq!(shop.sent(), BTreeMap::from([("order 17".to_owned(), 1)]));
}

#[test]
fn a_shutdown_waits_for_the_charges_of_browsers_that_have_left() {
    let shop = Shop::open();
    let instance = shop.start();
    let gate = shop.gateway().gate_after_commit(TOKENS);
    let browser = instance.begin("17", "tok_approved");
    while gate.held() == 0 {
        thread::yield_now();
    }
    drop(browser);
    instance.signal("TERM");
    gate.release();
    assert_eq!(instance.end(), Some(0));
    assert_eq!(shop.start().get("/orders/17").1["state"], "processed");
}

/// Browsers that hang up at random moments, and then one that waits.
fn browsers_hang_up(shop: &Shop, instances: &[Instance]) {
    const ORDERS: usize = 60;
    let seed = shop::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    shop.slow(Duration::from_millis(10));
    let mut hang_ups = 0;
    for order in 0..ORDERS {
        let order = order.to_string();
        for _ in 0..random.usize(1..4) {
            let browser = instances[random.usize(..instances.len())].begin(&order, "tok_approved");
            thread::sleep(Duration::from_micros(random.u64(..40_000)));
            drop(browser);
            hang_ups += 1;
        }
        let answer = instances[random.usize(..instances.len())].pay_patiently(&order, "tok_approved");
        assert_eq!(answer.0, 200, "seed {seed}, order {order}: {answer:?}");
    }
    let (charged, sent) = (shop.charged(), shop.sent());
    let duplicates = sent.values().filter(|count| **count > 1).count();
    println!("{ORDERS} orders, {hang_ups} hang-ups: {} charges, {duplicates} duplicates", charged.len());
    assert_eq!(
        (charged.len(), charged.values().sum::<usize>(), duplicates),
        (ORDERS, ORDERS, 0),
        "seed {seed}"
    );
}

#[test]
fn a_browser_that_hangs_up_is_charged_once_over_sqlite() {
    let shop = Shop::open();
    let instance = shop.start();
    browsers_hang_up(&shop, &[instance]);
}

#[test]
fn a_browser_that_hangs_up_is_charged_once_by_two_instances_over_postgresql() {
    let Some(server) = Server::start() else { return };
    let shop = Shop::open_over(server.url());
    let instances = [shop.start(), shop.start()];
    browsers_hang_up(&shop, &instances);
}

/// Kills the first instance again and again while browsers pay at all of them.
fn instances_are_killed(shop: &Shop, count: usize) {
    const ROUNDS: usize = 8;
    const BROWSERS: usize = 4;
    let seed = shop::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    shop.slow(Duration::from_millis(5));
    let mut instances: Vec<_> = (0..count).map(|_| shop.start()).collect();
    let mut orders = Vec::new();
    for round in 0..ROUNDS {
        let is_over = AtomicBool::new(false);
        let paid = thread::scope(|scope| {
            let browsers: Vec<_> = (0..BROWSERS)
                .map(|browser| {
                    let (instance, is_over) = (&instances[browser % count], &is_over);
                    scope.spawn(move || {
                        let mut orders = Vec::new();
                        while !is_over.load(Ordering::Relaxed) && orders.len() < 50 {
                            let order = format!("{round}-{browser}-{}", orders.len());
                            let answer = instance.try_to_pay(&order, "tok_approved");
                            orders.push((order, answer.map(|answer| answer.0)));
                        }
                        orders
                    })
                })
                .collect();
            thread::sleep(Duration::from_micros(random.u64(20_000..80_000)));
            instances[0].signal("KILL");
            is_over.store(true, Ordering::Relaxed);
            browsers.into_iter().flat_map(|browser| browser.join().unwrap()).collect::<Vec<_>>()
        });
        orders.extend(paid);
        instances[0] = shop.start();
    }

    let (mut paid, mut unknown) = (0, 0);
    for (order, before) in &orders {
        let answer = instances[random.usize(..count)].pay_patiently(order, "tok_approved").0;
        match (before, answer) {
            (_, 200) => paid += 1,
            // Only what a killed process had in flight, or what a browser was told so.
            (None | Some(202), 202) => unknown += 1,
            _ => panic!("seed {seed}, order {order}: {before:?}, then {answer}"),
        }
    }
    let (charged, sent) = (shop.charged(), shop.sent());
    let duplicates = sent.values().filter(|count| **count > 1).count();
    println!(
        "{} orders, {ROUNDS} kills: {paid} paid, {unknown} unknown, {} charges, {duplicates} duplicates",
        orders.len(),
        charged.len()
    );
    assert_eq!(duplicates, 0, "seed {seed}");
    assert!(
        (paid..=paid + unknown).contains(&charged.len()),
        "seed {seed}: {paid} {unknown} {}",
        charged.len()
    );
    assert!(paid > ROUNDS, "seed {seed}: {paid}");
}

#[test]
fn a_killed_process_leaves_no_order_to_be_charged_twice_over_sqlite() {
    instances_are_killed(&Shop::open(), 1);
}

#[test]
fn a_killed_process_leaves_no_order_to_be_charged_twice_by_two_instances_over_postgresql() {
    let Some(server) = Server::start() else { return };
    instances_are_killed(&Shop::open_over(server.url()), 2);
}
