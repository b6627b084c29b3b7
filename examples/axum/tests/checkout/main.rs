//! The checkout in its own process, over real sockets, with browsers that disconnect and processes that are killed.
#![cfg(unix)]
#![allow(clippy::print_stdout, reason = "figures and seeds")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod shop;
mod telemetry;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use axum::http::StatusCode;
use payments_core::OperationName;
use payments_fake::{FakeGateway, Fault};
use payments_journal::{IntentKey, Journal, Resolution, SqliteStore};
use payments_postgres_for_tests::Server;
use serde_json::json;
use shop::{Instance, Shop};

const TOKENS: OperationName = OperationName::TokenTransaction;

#[test]
fn order_is_paid_once_and_a_retry_gets_the_recorded_result() {
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

/// The customer would wait for a payment that was never sent and is in no list.
#[test]
fn journal_that_cannot_be_used_is_no_unknown_payment() {
    let shop = Shop::open();
    let instance = shop.start();
    assert_eq!(instance.pay("17", "tok_approved").0, 200);
    fs::rename(shop.journal(), format!("{}.moved", shop.journal())).unwrap();
    let refused = instance.pay("18", "tok_approved");
    assert_eq!((refused.0, &refused.1["next"]), (503, &json!("repeat the same request")), "{refused:?}");
    assert_eq!(shop.sent(), BTreeMap::from([("order 17".to_owned(), 1)]));
}

#[test]
fn token_with_the_api_key_or_a_card_number_is_refused_for_good() {
    let shop = Shop::open();
    let instance = shop.start();
    let refused = instance.pay("17", FakeGateway::API_KEY);
    assert_eq!((refused.0, &refused.1["next"]), (422, &json!("send a valid token")), "{refused:?}");
    assert_eq!(instance.pay("18", "4242424242424242").0, 422);
    assert_eq!(shop.sent(), BTreeMap::new());
}

/// In a wrong folder or database every order would be charged again.
#[test]
fn created_journal_is_announced_once() {
    let server = Server::start();
    let in_postgres = server.as_ref().map(|server| Shop::open_over(server.url()));
    for shop in [Some(Shop::open()), in_postgres].into_iter().flatten() {
        let folder = tempfile::tempdir().unwrap();
        for is_new in [true, false] {
            let errors = folder.path().join("errors");
            drop(shop.start_with_stderr(&[], File::create(&errors).unwrap()));
            let text = fs::read_to_string(&errors).unwrap();
            assert_eq!(text.contains("created the journal that PAYMENTS_JOURNAL names"), is_new, "{text}");
        }
    }
}

#[test]
fn decline_is_recorded_and_another_card_is_a_separate_request() {
    let shop = Shop::open();
    let instance = shop.start();
    // The browser disconnects during the decline, so it never sees it.
    let gate = shop.gateway().gate_after_commit(TOKENS);
    let browser = instance.begin("17", "tok_declined");
    while gate.held() == 0 {
        thread::yield_now();
    }
    drop(browser);
    gate.release();
    let declined = instance.pay_patiently("17", "tok_declined");
    assert_eq!((declined.0, &declined.1["recorded"]), (402, &json!(true)), "{declined:?}");
    // A plain retry charges neither another card nor the same one again.
    assert_eq!(instance.pay("17", "tok_declined").0, 402);
    assert_eq!(shop.gateway().requests().len(), 1);
    let paid = instance.pay_with_another_card("17", "tok_approved");
    assert_eq!((paid.0, &paid.1["recorded"]), (200, &json!(false)), "{paid:?}");
    let again = instance.pay_with_another_card("17", "tok_approved");
    assert_eq!((again.0, &again.1["recorded"]), (200, &json!(true)), "{again:?}");
    assert_eq!(shop.charged(), BTreeMap::from([("order 17".to_owned(), 1)]));
}

/// The key comes from the order's record, and not from the text in the URL.
#[test]
fn order_is_charged_once_however_its_url_is_written() {
    let shop = Shop::open();
    let instance = shop.start();
    let first = instance.pay("17", "tok_approved");
    assert_eq!(first.0, 200, "{first:?}");
    for same in ["017", "0000017", "%31%37", "+17"] {
        let again = instance.pay(same, "tok_approved");
        assert_eq!((again.0, &again.1["recorded"]), (200, &json!(true)), "{same}: {again:?}");
        assert_eq!(again.1["transaction_id"], first.1["transaction_id"], "{same}");
        assert_eq!(instance.get(&format!("/orders/{same}")).1, instance.get("/orders/17").1, "{same}");
    }
    for none in ["seventeen", "17%20", "17%2F", "-17", "1e1", "17-"] {
        assert_eq!(instance.pay(none, "tok_approved").0, 404, "{none}");
        assert_eq!(instance.get(&format!("/orders/{none}")).0, 404, "{none}");
    }
    assert_eq!(shop.sent(), BTreeMap::from([("order 17".to_owned(), 1)]));
}

/// A customer who enters another card in the form of the first one.
#[test]
fn declined_order_with_another_token_is_told_to_pay_with_another_card() {
    let shop = Shop::open();
    let instance = shop.start();
    assert_eq!(instance.pay("17", "tok_declined").0, 402);
    for _ in 0..2 {
        let other = instance.pay("17", "tok_approved");
        assert_eq!((other.0, &other.1["order"]), (402, &json!("declined")), "{other:?}");
        assert!(other.1["next"].as_str().unwrap().contains("pay-with-another-card"), "{other:?}");
    }
    assert_eq!(instance.pay_with_another_card("17", "tok_approved").0, 200);
    assert_eq!(shop.charged(), BTreeMap::from([("order 17".to_owned(), 1)]));
    // Now it is paid, whatever card the customer tries.
    for other in [instance.pay("17", "tok_declined"), instance.pay_with_another_card("17", "tok_lost_card")] {
        assert_eq!((other.0, &other.1["order"]), (200, &json!("paid")), "{other:?}");
        assert!(other.1["transaction_id"].is_string(), "{other:?}");
    }
    assert_eq!(shop.sent(), BTreeMap::from([("order 17".to_owned(), 2)]));
}

/// The customer's card was not declined, so another card does not help.
#[test]
fn refusal_of_the_shop_is_no_decline() {
    for status in [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN, StatusCode::TOO_MANY_REQUESTS] {
        let shop = Shop::open();
        let instance = shop.start();
        shop.gateway().arm(Fault::on(TOKENS).before_commit().status(status));
        for token in ["tok_approved", "tok_approved", "tok_declined"] {
            let refused = instance.pay("17", token);
            assert_eq!((refused.0, &refused.1["order"]), (503, &json!("not paid")), "{status}: {refused:?}");
            assert!(!refused.1.to_string().contains("card"), "{status}: {refused:?}");
        }
        // The cause is fixed, and a person reopens the key.
        reopen(&shop, "order-17", status.as_u16());
        assert_eq!(instance.pay("17", "tok_approved").0, 200);
        assert_eq!(shop.charged(), BTreeMap::from([("order 17".to_owned(), 1)]));
    }
}

/// The response to the first card was lost, and a person found the decline at the service.
#[test]
fn decline_that_a_person_found_is_told_to_pay_with_another_card_d48() {
    let shop = Shop::open();
    let instance = shop.start();
    shop.gateway().arm(Fault::response_lost(TOKENS));
    assert_eq!(instance.pay("17", "tok_declined").0, 202);
    with_journal(&shop, async |journal| {
        let read = journal.find(&IntentKey::new("order-17").unwrap()).await.unwrap().unwrap();
        journal.resolve(&read, Resolution::rejected(None, "ada").note("the portal")).await.unwrap();
    });
    for token in ["tok_declined", "tok_approved"] {
        let declined = instance.pay("17", token);
        assert_eq!((declined.0, &declined.1["order"]), (402, &json!("declined")), "{token}: {declined:?}");
        assert!(declined.1["next"].as_str().unwrap().contains("pay-with-another-card"), "{declined:?}");
    }
    assert_eq!(instance.pay_with_another_card("17", "tok_approved").0, 200);
    assert_eq!(shop.charged(), BTreeMap::from([("order 17".to_owned(), 1)]));
}

/// As `payments journal retry --status STATUS --key KEY`.
fn reopen(shop: &Shop, key: &str, status: u16) {
    with_journal(shop, async |journal| {
        journal.reopen(&IntentKey::new(key).unwrap(), &[status], "ada", None).await.unwrap();
    });
}

fn with_journal(shop: &Shop, change: impl AsyncFnOnce(&Journal)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let journal = Journal::open(SqliteStore::open(shop.journal()).unwrap()).await.unwrap();
        change(&journal).await;
        journal.close().await;
    });
}

/// The same journal, and another service: a payment there says nothing about this one.
#[test]
fn order_of_another_service_is_never_paid_here() {
    let shop = Shop::open();
    assert_eq!(shop.start().pay("17", "tok_approved").0, 200);
    let other = Shop::open();
    let instance = other.start_with(&[("PAYMENTS_JOURNAL", shop.journal())]);
    for response in [
        instance.pay("17", "tok_approved"),
        instance.pay("17", "tok_declined"),
        instance.pay_with_another_card("17", "tok_approved"),
    ] {
        assert_eq!((response.0, response.1.get("transaction_id")), (202, None), "{response:?}");
    }
    let order = instance.get("/orders/17");
    assert_eq!((&order.1["state"], order.1.get("transaction_id")), (&json!("unknown"), None), "{order:?}");
    assert_eq!(other.gateway().requests().len(), 0);
}

#[test]
fn lost_response_is_unknown_and_no_retry_pays_again() {
    let shop = Shop::open();
    let instance = shop.start();
    shop.gateway().arm(Fault::response_lost(TOKENS));
    for _ in 0..3 {
        assert_eq!(instance.pay("17", "tok_approved").0, 202);
        assert_eq!(instance.pay_with_another_card("17", "tok_approved").0, 202);
    }
    assert_eq!(shop.sent(), BTreeMap::from([("order 17".to_owned(), 1)]));
}

/// What a person must look for: a lost response, and the charge that a killed instance was sending.
#[test]
fn unknown_payments_are_listed_for_a_person() {
    let shop = Shop::open();
    let (killed, instance) = (shop.start(), shop.start());
    assert_eq!(instance.pay("16", "tok_approved").0, 200);
    shop.gateway().arm(Fault::response_lost(TOKENS));
    assert_eq!(instance.pay("17", "tok_approved").0, 202);
    let gate = shop.gateway().gate_after_commit(TOKENS);
    let browser = killed.begin("18", "tok_approved");
    while gate.held() == 0 {
        thread::yield_now();
    }
    killed.signal("KILL");
    assert_eq!(killed.end(), None);
    drop((gate, browser));

    let (status, listed) = instance.get("/unknown-payments");
    let members = |name: &str| {
        let values = listed.as_array().unwrap().iter().map(|payment| payment[name].clone());
        values.collect::<Vec<_>>()
    };
    assert_eq!((status, members("key")), (200, vec![json!("order-17"), json!("order-18")]), "{listed}");
    assert_eq!(members("reference"), [json!("order 17"), json!("order 18")]);
    assert_eq!(members("amount"), [json!("10.50"), json!("10.50")]);
    assert!(members("sent_at").iter().all(|at| at.as_str().unwrap().ends_with('Z')), "{listed}");
}

#[test]
fn shutdown_waits_for_the_charges_of_disconnected_browsers() {
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

/// For each order, some browsers disconnect at random moments, and then one waits.
fn disconnect_browsers(shop: &Shop, instances: &[Instance]) {
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
        let response = instances[random.usize(..instances.len())].pay_patiently(&order, "tok_approved");
        assert_eq!(response.0, 200, "seed {seed}, order {order}: {response:?}");
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
fn disconnected_browser_is_charged_once_with_sqlite() {
    let shop = Shop::open();
    let instance = shop.start();
    disconnect_browsers(&shop, &[instance]);
}

#[test]
fn disconnected_browser_is_charged_once_by_two_instances_with_postgresql() {
    let Some(server) = Server::start() else { return };
    let shop = Shop::open_over(server.url());
    let instances = [shop.start(), shop.start()];
    disconnect_browsers(&shop, &instances);
}

/// Kills the first instance repeatedly while browsers pay at all instances.
fn kill_instances(shop: &Shop, count: usize) {
    const ROUNDS: usize = 8;
    const BROWSERS: usize = 4;
    let seed = shop::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    shop.slow(Duration::from_millis(5));
    let mut instances: Vec<_> = (0..count).map(|_| shop.start()).collect();
    let mut orders = Vec::new();
    for round in 0..ROUNDS {
        let (is_over, ended) = (AtomicBool::new(false), AtomicUsize::new(0));
        let paid = thread::scope(|scope| {
            let browsers: Vec<_> = (0..BROWSERS)
                .map(|browser| {
                    let (instance, is_over, ended) = (&instances[browser % count], &is_over, &ended);
                    scope.spawn(move || {
                        let mut orders = Vec::new();
                        while !is_over.load(Ordering::Relaxed) && orders.len() < 50 {
                            let order = format!("{round}-{browser}-{}", orders.len());
                            let response = instance.try_to_pay(&order, "tok_approved");
                            orders.push((order, response.map(|response| response.0)));
                            ended.fetch_add(1, Ordering::Relaxed);
                        }
                        orders
                    })
                })
                .collect();
            // After some orders, at any moment of the next ones. A time alone may end before the first order on a busy machine.
            let kill_after = random.usize(2..12);
            while ended.load(Ordering::Relaxed) < kill_after {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(Duration::from_micros(random.u64(..8_000)));
            instances[0].signal("KILL");
            is_over.store(true, Ordering::Relaxed);
            browsers.into_iter().flat_map(|browser| browser.join().unwrap()).collect::<Vec<_>>()
        });
        orders.extend(paid);
        instances[0] = shop.start();
    }

    let (mut paid, mut unknown) = (0, 0);
    for (order, before) in &orders {
        let response = instances[random.usize(..count)].pay_patiently(order, "tok_approved").0;
        match (before, response) {
            (_, 200) => paid += 1,
            // Only for a charge in flight in a killed process, or one already reported as unknown.
            (None | Some(202), 202) => unknown += 1,
            _ => panic!("seed {seed}, order {order}: {before:?}, then {response}"),
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
fn killed_process_causes_no_second_charge_with_sqlite() {
    kill_instances(&Shop::open(), 1);
}

#[test]
fn killed_process_causes_no_second_charge_by_two_instances_with_postgresql() {
    let Some(server) = Server::start() else { return };
    kill_instances(&Shop::open_over(server.url()), 2);
}
