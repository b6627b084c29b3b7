//! Does every fault have the outcome of the table, and does the service's ledger agree?
//!
//! Every fault in every phase for every operation, in process and over real sockets. The tests of the `payments` command use
//! the same table.

use std::collections::BTreeMap;
use std::time::Duration;

use payments_core::Outcome;
use payments_fake::{Fault, FaultKind, Phase};
use payments_tests::{Expectation, LedgerCheck, PHASES, expectation, expectation_over_socket, fault_kinds};

use crate::calls::Call;
use crate::requests::sale;
use crate::test_setup::{Network, TestSetup};

#[tokio::test]
async fn every_fault_in_process_has_outcome_of_table_d02_d03_d07_d08_d09_d10_d11_d12() {
    every_fault(Network::InProcess).await;
}

#[tokio::test]
async fn every_fault_over_https_has_outcome_of_table_d02_d03_d07_d08_d09_d10_d11_d12() {
    every_fault(Network::Https).await;
}

/// Runs the operations concurrently, because most of the time is spent waiting for deadlines.
async fn every_fault(network: Network) {
    let [card, ach, token, void, transaction, customer] = Call::ALL.map(|call| every_fault_of(network, call));
    tokio::join!(card, ach, token, void, transaction, customer);
}

async fn every_fault_of(network: Network, call: Call) {
    let setup = network.setup().await;
    for kind in fault_kinds() {
        // The client's message for each exit code.
        let mut messages = BTreeMap::new();
        for phase in PHASES {
            let expected = expectation_over(network, call, kind, phase);
            let text =
                one_fault(&setup, call, Fault::on(call.operation()).at(phase).show(kind), expected).await;
            let first = messages.entry(expected.result.exit_code).or_insert_with(|| text.clone());
            // The client cannot know whether the service acted, so the message must be the same.
            assert_eq!(*first, text, "{call:?}, {kind:?}, {phase:?}");
        }
    }
}

/// Connections that are really refused are tested in `never_sent.rs`.
fn expectation_over(network: Network, call: Call, kind: FaultKind, phase: Phase) -> Expectation {
    match network {
        Network::InProcess => expectation(call.operation(), kind, phase),
        Network::Http | Network::Https => expectation_over_socket(call.operation(), kind, phase),
    }
}

/// Returns the client's message, with every id replaced by `ID`.
async fn one_fault(setup: &TestSetup, call: Call, fault: Fault, expected: Expectation) -> String {
    let (operation, kind) = (call.operation(), fault.kind());
    let case = format!("{call:?}, {:?}: {fault}", setup.network);
    setup.gateway.reset();
    let target = call.prepare(&setup.client).await;
    let client = if expected.lasts_until_deadline {
        // Opens the connection first, so that the deadline cannot end before the request is sent.
        Call::Customer.make(&setup.client, &target).await.unwrap();
        setup.client.with_total_timeout(Duration::from_millis(500))
    } else {
        setup.client.clone()
    };
    setup.gateway.clear_requests();
    let ledger = LedgerCheck::of(&setup.gateway);

    setup.gateway.arm(fault.retry_after("120"));
    let result = call.make(&client.with_lookup_retries(0), &target).await;

    assert_eq!(
        result.as_ref().err().map(|failed| failed.outcome),
        expected.result.outcome,
        "{case}: {result:?}"
    );
    let requests = setup.gateway.requests().len();
    let arrives = kind != FaultKind::Refuse;
    assert_eq!(requests, usize::from(arrives), "{case}: number of requests");
    ledger.assert_effect(operation, expected.effect, &case);
    if let (Err(error), FaultKind::Status { .. } | FaultKind::Html { .. }) = (&result, kind) {
        let pause = Duration::from_mins(2);
        assert_eq!(error.retry_after, Some(pause), "{case}: reported, but not a reason to send it again");
    }
    result.err().map(|error| without_ids(&error.text)).unwrap_or_default()
}

/// The fake's transaction ids end in hexadecimal digits, and each transaction has its own.
fn without_ids(text: &str) -> String {
    let mut parts = text.split("txn_");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "ID" + part.trim_start_matches(|it: char| it.is_ascii_hexdigit()))
}

/// No client can distinguish these two cases, so both must have the same error.
#[tokio::test]
async fn lost_request_and_lost_response_have_same_error_d03() {
    for network in Network::ALL {
        let setup = network.setup().await;
        let operation = Call::Card.operation();
        setup.gateway.arm(Fault::request_lost(operation));
        let lost_request = setup.client.process_card(&sale(1_00)).await.unwrap_err();
        setup.gateway.ledger().assert_nothing_charged();

        setup.gateway.arm(Fault::response_lost(operation));
        let lost_response = setup.client.process_card(&sale(1_00)).await.unwrap_err();
        setup.gateway.ledger().assert_charged_once(payments_core::model::Amount::from_cents(1_00));

        assert_eq!(lost_request.outcome(), Outcome::Unknown);
        assert_eq!(lost_request.to_string(), lost_response.to_string());
    }
}
