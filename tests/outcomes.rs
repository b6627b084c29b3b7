//! Is the client's verdict what the table says, and does the service's own ledger bear it out?
//!
//! Every fault in every phase for every operation, in process and over real sockets. The `payments` command is put to the
//! same table by its own tests.

use std::collections::BTreeMap;
use std::time::Duration;

use payments_core::{Outcome, RetryAfter};
use payments_fake::{Fault, FaultKind, Phase};
use payments_tests::{Books, PHASES, WhatHappens, kinds, what_happens, what_happens_over_a_socket};

use crate::calls::{Call, Failed};
use crate::requests::sale;
use crate::rig::{Network, Rig};

#[tokio::test]
async fn in_process_every_fault_has_the_outcome_of_the_table_d02_d03_d07_d08_d09_d10_d11_d12() {
    every_fault(Network::InProcess).await;
}

#[tokio::test]
async fn over_https_every_fault_has_the_outcome_of_the_table_d02_d03_d07_d08_d09_d10_d11_d12() {
    every_fault(Network::Https).await;
}

/// The operations side by side, because most of the time a deadline is waited for.
async fn every_fault(network: Network) {
    let [card, ach, token, void, transaction, customer] = Call::ALL.map(|call| every_fault_of(network, call));
    tokio::join!(card, ach, token, void, transaction, customer);
}

async fn every_fault_of(network: Network, call: Call) {
    let rig = network.rig().await;
    for kind in kinds() {
        // What the client says of each thing that it can be told.
        let mut said = BTreeMap::new();
        for phase in PHASES {
            let fact = what_happens_over(network, call, kind, phase);
            let text = one_fault(&rig, call, Fault::on(call.operation()).at(phase).show(kind), fact).await;
            let first = said.entry(fact.told.exit_code).or_insert_with(|| text.clone());
            // Whether the service acted or not: the client cannot know, and does not pretend to.
            assert_eq!(*first, text, "{call:?}, {kind:?}, {phase:?}");
        }
    }
}

/// What really refuses a connection is put to the proof in `never_sent.rs`.
fn what_happens_over(network: Network, call: Call, kind: FaultKind, phase: Phase) -> WhatHappens {
    match network {
        Network::InProcess => what_happens(call.operation(), kind, phase),
        Network::Http | Network::Https => what_happens_over_a_socket(call.operation(), kind, phase),
    }
}

/// Gives what the client said, with one name for every id.
async fn one_fault(rig: &Rig, call: Call, fault: Fault, fact: WhatHappens) -> String {
    let (operation, kind) = (call.operation(), fault.kind());
    let case = format!("{call:?}, {:?}: {fault}", rig.network);
    rig.gateway.reset();
    let target = call.prepare(&rig.client).await;
    let client = if fact.until_the_deadline {
        // Over a connection that stands already, so that the deadline cannot end before the request is sent.
        Call::Customer.make(&rig.client, &target).await.unwrap();
        rig.client.with_total_timeout(Duration::from_millis(500))
    } else {
        rig.client.clone()
    };
    rig.gateway.clear_requests();
    let books = Books::of(&rig.gateway);

    rig.gateway.arm(fault.retry_after("120"));
    let result = call.make(&client.with_lookup_retries(0), &target).await;

    assert_eq!(result.as_ref().err().map(Failed::outcome), fact.told.outcome, "{case}: {result:?}");
    let requests = rig.gateway.requests().len();
    let arrives = kind != FaultKind::Refuse;
    assert_eq!(requests, usize::from(arrives), "{case}: how often it was sent");
    books.assert_effect(operation, fact.effect, &case);
    if let (Err(error), FaultKind::Status { .. } | FaultKind::Html { .. }) = (&result, kind) {
        let pause = RetryAfter::Delay(Duration::from_mins(2));
        assert_eq!(error.retry_after(), Some(pause), "{case}: surfaced, and no reason to send it again");
    }
    result.err().map(|error| without_ids(&error.to_string())).unwrap_or_default()
}

/// The fake gives every transaction another id, which ends in hexadecimal digits.
fn without_ids(text: &str) -> String {
    let mut parts = text.split("txn_");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "ID" + part.trim_start_matches(|it: char| it.is_ascii_hexdigit()))
}

/// The two cases that no client can tell apart: the promise is that it does not pretend to.
#[tokio::test]
async fn a_lost_request_and_a_lost_answer_look_the_same_and_only_one_charges_d03() {
    for network in Network::ALL {
        let rig = network.rig().await;
        let operation = Call::Card.operation();
        rig.gateway.arm(Fault::request_lost(operation));
        let lost_request = rig.client.process_card(&sale(1_00)).await.unwrap_err();
        rig.gateway.ledger().assert_nothing_charged();

        rig.gateway.arm(Fault::response_lost(operation));
        let lost_answer = rig.client.process_card(&sale(1_00)).await.unwrap_err();
        rig.gateway.ledger().assert_charged_once(payments_core::model::Amount::from_cents(1_00));

        assert_eq!(lost_request.outcome(), Outcome::Unknown);
        assert_eq!(lost_request.to_string(), lost_answer.to_string());
    }
}
