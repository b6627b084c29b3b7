//! The same seed replays a run byte for byte.

use std::fmt::Write;
use std::time::Duration;

use http::StatusCode;
use payments_core::OperationName;
use payments_fake::{FakeGateway, Fault, Reply};

use crate::support::*;

/// Everything a run shows, to the last byte.
fn run(seed: u64) -> String {
    let gateway = FakeGateway::builder().seed(seed).build();
    let operation = OperationName::Transaction;
    gateway.arm(Fault::on(operation).after_commit().garbage().skip(1));
    gateway.arm(Fault::on(operation).before_commit().truncate(99).skip(2));
    gateway.arm(Fault::on(operation).late().drip(7, Duration::from_secs(1)).skip(3));
    gateway.arm(Fault::on(operation).before_commit().delay(Duration::from_secs(1)).skip(4));
    gateway.arm(Fault::on(operation).before_commit().status(StatusCode::SERVICE_UNAVAILABLE).skip(5));

    let mut log = String::new();
    for number in ["4242424242424242", "4000000000000002"].iter().cycle().take(8) {
        let payment = tokenizing(number);
        show(&gateway.handle(noon(), card_request(&payment)), &mut log);
        show(&gateway.handle(noon(), token_request("tok_approved")), &mut log);
        show(&gateway.handle(noon(), get("/customer/cus_1")), &mut log);
    }
    gateway.deliver_late();
    write!(log, "{:?} {:?}", gateway.ledger(), gateway.tokens()).unwrap();
    log
}

fn show(reply: &Reply, log: &mut String) {
    write!(log, "{reply:?} ").unwrap();
    match reply {
        Reply::Response(response) | Reply::Truncated { response, .. } | Reply::Drip { response, .. } => {
            write!(log, "{} {:?} {:?}", response.status(), response.headers(), response.body()).unwrap();
        }
        Reply::Garbage(bytes) => write!(log, "{bytes:?}").unwrap(),
        _ => {}
    }
    log.push('\n');
}

#[test]
fn the_same_seed_produces_the_same_bytes() {
    let first = run(7);
    assert_eq!(first, run(7));
    assert!(first.contains("txn_") && first.contains("req_") && first.contains("Some(Garbage)"), "{first}");
}

#[test]
fn another_seed_produces_other_identifiers() {
    let ids =
        |log: &str| log.match_indices("txn_").map(|(at, _)| log[at..at + 20].to_owned()).collect::<Vec<_>>();
    let (first, second) = (ids(&run(7)), ids(&run(8)));
    assert!(!first.is_empty() && first.iter().all(|id| !second.contains(id)));
}

#[test]
fn gateways_share_nothing() {
    let (one, other) = (FakeGateway::new(), FakeGateway::new());
    response(&one, card_request(&sale()));
    one.ledger().assert_charged_once(PRICE);
    other.ledger().assert_nothing_charged();
    assert_eq!(other.requests(), []);
}
