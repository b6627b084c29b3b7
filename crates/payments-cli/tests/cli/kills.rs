//! A sandbox with a data file, killed two hundred times while it works.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test as the test itself does")]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use serde_json::Value;

use crate::http::Http;
use crate::support::{Running, payments};

/// Starts a sandbox on `data`, and returns its ready line.
fn start(data: &str) -> (Running, Value) {
    let mut running = payments(["sandbox", "--data", data, "--log", "off"]).stdout(Stdio::piped()).spawn();
    let ready = running.first_line();
    let ready = serde_json::from_str(&ready).unwrap_or_else(|error| panic!("{error}: {ready}"));
    (running, ready)
}

fn connect(ready: &Value, url: &str) -> Http {
    let key = ready["api_key"].as_str().unwrap();
    Http::connect(ready[url].as_str().unwrap(), &format!("authorization: {key}\r\n")).unwrap()
}

/// Pays with new references until the connection ends, and reports each response. Even payers use a token, odd ones a card
/// that is tokenized. Returns the number of attempts.
fn pay(
    mut service: Http,
    round: usize,
    payer: usize,
    acknowledged: &Sender<Acknowledged>,
    count: &AtomicUsize,
) -> usize {
    for number in 0.. {
        let reference = format!("{round}-{payer}-{number}");
        let paid = if payer.is_multiple_of(2) {
            let body = format!(
                r#"{{"TokenId":"tok_approved","Amount":{}.50,"ConvenienceFeeActive":false,"ReferenceNo":"{reference}"}}"#,
                number + 1
            );
            service.post("/token-transaction", &body)
        } else {
            // A card payment has no reference field.
            let body = format!(
                r#"{{"TransactionType":"1","Amount":{}.50,"ConvenienceFeeActive":false,"SuggestedMode":"Card",
                    "CardNumber":"4242424242424242","Cvv":"987","ExpiryDate":"1233","BillingCustomerName":"{reference}",
                    "BillingEmail":"ada@example.com","BillingCountryCode":"+1","BillingPhoneNumber":"555-0199",
                    "BillingCountry":"US","BillingPostalCode":"94105","IpAddress":"203.0.113.7",
                    "PaymentTokenization":true}}"#,
                number + 1
            );
            service.post("/transaction", &body)
        };
        let Ok((status, response)) = paid else { return number + 1 };
        assert_eq!(status, 200, "{response}");
        let id = response["data"]["TransactionId"].as_str().unwrap().to_owned();
        acknowledged.send(Acknowledged { id, reference }).unwrap();
        count.fetch_add(1, Ordering::Release);
    }
    unreachable!("the sandbox is killed")
}

#[derive(Clone, Debug)]
struct Acknowledged {
    id: String,
    reference: String,
}

/// The reference of every stored transaction, by id. Checks that each card payment has its token, and each token its payment.
fn kept(ready: &Value) -> BTreeMap<String, String> {
    let (status, state) = connect(ready, "admin_url").get("/state").unwrap();
    assert_eq!(status, 200);
    let transactions = state["transactions"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let kept: BTreeMap<_, _> = transactions
        .iter()
        .map(|entry| (text(&entry["TransactionId"]), text(&entry[reference_field(entry)])))
        .collect();
    assert_eq!(kept.len(), transactions.len(), "duplicate id");
    let by_card = transactions.iter().filter(|entry| entry["Operation"] == "transaction");
    let by_card: BTreeSet<_> = by_card.map(|entry| text(&entry["TransactionId"])).collect();
    let tokens = state["tokens"].as_array().unwrap().iter();
    let tokenised: BTreeSet<_> = tokens.map(|token| text(&token["TransactionId"])).collect();
    assert_eq!(tokenised, by_card, "a payment without its token, or the reverse");
    kept
}

fn reference_field(entry: &Value) -> &'static str {
    if entry["Operation"] == "transaction" { "BillingCustomerName" } else { "ReferenceNo" }
}

/// Checks that every acknowledged payment is there, and that nothing was invented or duplicated.
fn check(ready: &Value, acknowledged: &[Acknowledged], sent: &HashSet<String>) {
    let kept = kept(ready);
    for Acknowledged { id, reference } in acknowledged {
        assert_eq!(kept.get(id), Some(reference), "an acknowledged payment is lost");
    }
    let mut seen = HashSet::new();
    for reference in kept.values() {
        assert!(
            sent.contains(reference) && seen.insert(reference),
            "{reference} was not sent, or is there twice"
        );
    }
}

#[test]
fn two_hundred_kills_lose_and_invent_no_payment() {
    const ROUNDS: usize = 200;
    const PAYERS: usize = 4;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("sandbox.db");
    let data = data.to_str().unwrap();
    let mut acknowledged = Vec::new();
    let mut sent = HashSet::new();
    let chance = RandomState::new();

    for round in 0..ROUNDS {
        let (running, ready) = start(data);
        // Only the newest payments: reading everything in each round would take too long.
        let mut service = connect(&ready, "base_url");
        let newest = acknowledged.len().saturating_sub(PAYERS * 8);
        for Acknowledged { id, .. } in &acknowledged[newest..] {
            assert_eq!(
                service.get(&format!("/transaction/{id}")).unwrap().0,
                200,
                "{id} of round {round} is lost"
            );
        }
        if round % 20 == 0 {
            check(&ready, &acknowledged, &sent);
        }

        let (sender, received) = channel();
        let count = AtomicUsize::new(0);
        let enough = usize::try_from(chance.hash_one((round, "answers")) % 12).unwrap();
        let spins = chance.hash_one((round, "spins")) % 20_000;
        let attempts: Vec<usize> = thread::scope(|scope| {
            let payers: Vec<_> = (0..PAYERS)
                .map(|payer| {
                    let (service, sender, count) = (connect(&ready, "base_url"), sender.clone(), &count);
                    scope.spawn(move || pay(service, round, payer, &sender, count))
                })
                .collect();
            while count.load(Ordering::Acquire) < enough {
                thread::yield_now();
            }
            // A random moment between two responses.
            (0..spins).for_each(|_| std::hint::spin_loop());
            running.signal("KILL");
            payers.into_iter().map(|payer| payer.join().unwrap()).collect()
        });
        drop(sender);
        acknowledged.extend(received);
        for (payer, attempts) in attempts.into_iter().enumerate() {
            sent.extend((0..attempts).map(|number| format!("{round}-{payer}-{number}")));
        }
    }

    assert!(
        acknowledged.len() > ROUNDS,
        "too little work between the kills: {} responses",
        acknowledged.len()
    );
    let (running, ready) = start(data);
    check(&ready, &acknowledged, &sent);
    running.signal("TERM");
    assert_eq!(running.end().code, Some(0));
}
