//! Requests that are held in flight, dropped or timed out, without a runtime and without real time.

use std::future::pending;
use std::pin::pin;
use std::sync::{Arc, OnceLock, mpsc};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use payments_core::{Client, ErrorKind, OperationName, Outcome};
use payments_fake::{FakeGateway, Fault, ManualClock, Reply, block_on};

use crate::support::*;

fn pay_on_a_thread(client: Client) -> thread::JoinHandle<Result<(), payments_core::Error>> {
    thread::spawn(move || block_on(client.process_card(&sale())).map(drop))
}

#[test]
fn a_gate_holds_requests_before_they_are_processed() {
    let gateway = FakeGateway::new();
    let gate = gateway.gate(OperationName::Transaction);
    let calls = [gateway.client(), gateway.client(), gateway.client()].map(pay_on_a_thread);
    block_on(gate.arrivals(3));
    assert_eq!(gate.held(), 3);
    gateway.ledger().assert_nothing_charged();
    block_on(gateway.client().process_token(&token("tok_approved"))).expect("another operation passes");

    gate.release();
    for call in calls {
        call.join().unwrap().unwrap();
    }
    assert_eq!(gateway.ledger().entries().len(), 4);
    block_on(gateway.client().process_card(&sale())).expect("a released gate holds no request");
}

#[test]
fn a_gate_after_the_commit_holds_the_response_of_a_charged_payment() {
    let gateway = FakeGateway::new();
    let gate = gateway.gate_after_commit(OperationName::Transaction);
    let call = pay_on_a_thread(gateway.client());
    block_on(gate.arrived());
    gateway.ledger().assert_charged_once(PRICE);
    assert_eq!(gateway.requests()[0].status, None, "nothing was sent yet");
    drop(gate);
    call.join().unwrap().unwrap();
    assert_eq!(gateway.requests()[0].status.unwrap(), 200);
}

#[test]
fn a_gate_after_the_commit_holds_only_what_the_service_processed() {
    let paid = || card_request(&sale());
    let on_payments = || Fault::on(OperationName::Transaction);
    let refused = || post("/transaction", "{}");
    let unauthorized = || with_key("another_key", paid());
    for (what, fault, request, is_held) in [
        ("a charge", None, paid(), true),
        ("a decline", None, card_request(&card("4000000000000002").build().unwrap()), true),
        ("a lost response", Some(on_payments().after_commit().close()), paid(), true),
        ("a lost request", Some(on_payments().before_commit().close()), paid(), false),
        ("an error before the commit", Some(on_payments().before_commit().html()), paid(), false),
        ("a late charge", Some(on_payments().late().close()), paid(), false),
        ("a refused connection", Some(on_payments().before_commit().refuse()), paid(), false),
        ("a delayed charge", Some(on_payments().before_commit().delay(Duration::ZERO)), paid(), true),
        ("an invalid request", None, refused(), false),
        ("a wrong key", None, unauthorized(), false),
        (
            "a delayed invalid request",
            Some(on_payments().before_commit().delay(Duration::ZERO)),
            refused(),
            false,
        ),
    ] {
        let gateway = fault.map_or_else(FakeGateway::new, armed);
        let gate = gateway.gate_after_commit(OperationName::Transaction);
        let core = gateway.core();
        let mut responding = pin!(core.respond(request, gateway.clock(), pending()));
        let polled = poll(responding.as_mut());
        assert_eq!((polled.is_pending(), gate.held()), (is_held, usize::from(is_held)), "{what}");
    }
    let gateway = FakeGateway::new();
    let gate = gateway.gate_after_commit(OperationName::GetTransaction);
    let core = gateway.core();
    let mut responding = pin!(core.respond(get("/transaction/txn_1"), gateway.clock(), pending()));
    assert!(poll(responding.as_mut()).is_pending());
    assert_eq!(gate.held(), 1, "a lookup is processed, found or not");
}

#[test]
fn every_closed_gate_holds_a_request() {
    let gateway = FakeGateway::new();
    let gates = [gateway.gate(OperationName::Transaction), gateway.gate(OperationName::Transaction)];
    let (client, payment) = (gateway.client(), sale());
    let mut call = pin!(client.process_card(&payment));
    for gate in gates {
        assert!(poll(call.as_mut()).is_pending());
        assert_eq!(gate.held(), 1);
        gateway.ledger().assert_nothing_charged();
        gate.release();
    }
    assert!(matches!(poll(call), Poll::Ready(Ok(_))));
}

#[test]
fn automatic_time_is_paused_while_a_gate_holds_a_request() {
    let gateway = FakeGateway::new();
    let gate = gateway.gate(OperationName::Transaction);
    let call = pay_on_a_thread(gateway.client());
    block_on(gate.arrived());
    gateway.clock().advance(Duration::from_secs(59));
    gate.release();
    call.join().unwrap().expect("59 of 60 seconds are no timeout");
}

#[test]
fn a_dropped_call_is_charged_only_after_the_commit_d22() {
    let give_up = |gateway: &FakeGateway| {
        let (client, payment) = (gateway.client(), sale());
        assert!(poll(pin!(client.process_card(&payment))).is_pending());
    };
    let before = FakeGateway::new();
    let gate = before.gate(OperationName::Transaction);
    give_up(&before);
    assert_eq!(gate.held(), 0, "it is no longer held");
    gate.release();
    before.ledger().assert_nothing_charged();

    let after = FakeGateway::new();
    let _gate = after.gate_after_commit(OperationName::Transaction);
    give_up(&after);
    after.ledger().assert_charged_once(PRICE);
}

#[test]
fn a_stalled_call_ends_when_the_clock_reaches_its_deadline_d23() {
    let clock = ManualClock::new();
    let gateway = FakeGateway::builder().clock(clock.clone()).build();
    gateway.arm(Fault::on(OperationName::Transaction).after_commit().stall());
    let (client, payment) = (gateway.client(), sale());
    let mut call = pin!(client.process_card(&payment));
    assert!(poll(call.as_mut()).is_pending());
    clock.advance(Duration::from_secs(59));
    assert!(poll(call.as_mut()).is_pending());
    clock.advance(Duration::from_secs(1));
    let Poll::Ready(Err(error)) = poll(call) else { panic!("its deadline has passed") };
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, ErrorKind::TimedOut));
    assert_eq!(
        error.failed_call().transport_error().unwrap().to_string(),
        "the deadline passed, and the request may have been sent"
    );
    gateway.ledger().assert_charged_once(PRICE);
}

#[test]
fn a_timeout_takes_no_real_time_with_the_automatic_clock_d23() {
    let gateway = FakeGateway::new();
    gateway.arm(Fault::on(OperationName::Transaction).before_commit().stall());
    let client = gateway.client().with_total_timeout(Duration::from_secs(3601));
    let error = block_on(client.process_card(&sale())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(
        gateway.clock().elapsed(),
        Duration::from_secs(3601),
        "the transport's deadline, not the backstop"
    );
}

#[test]
fn a_request_held_across_a_reset_is_closed_without_an_effect() {
    let gateway = FakeGateway::new();
    let delay = Fault::on(OperationName::TokenTransaction).before_commit().delay(Duration::from_secs(1));
    let (core, clock) = (gateway.core(), ManualClock::new());
    let hold = || {
        gateway.arm(delay.clone());
        let mut held = Box::pin(core.respond(token_request("tok_approved"), &clock, pending()));
        assert!(poll(held.as_mut()).is_pending());
        held
    };
    let before_reset = hold();
    gateway.reset();
    let after_reset = hold();
    clock.advance(Duration::from_secs(1));
    assert!(matches!(block_on(before_reset).0, Reply::Closed));
    gateway.ledger().assert_nothing_charged();
    assert!(matches!(block_on(after_reset).0, Reply::Response(_)));
    assert_eq!(gateway.ledger().entries().len(), 1);

    let gate = gateway.gate(OperationName::TokenTransaction);
    let mut at_the_gate = Box::pin(core.respond(token_request("tok_approved"), &clock, pending()));
    assert!(poll(at_the_gate.as_mut()).is_pending());
    gateway.reset();
    drop(gate);
    assert!(matches!(block_on(at_the_gate).0, Reply::Closed));
    gateway.ledger().assert_nothing_charged();
}

#[test]
fn a_client_can_give_up_only_before_its_request_is_processed() {
    let on_tokens = OperationName::TokenTransaction;
    let gateway = armed(Fault::on(on_tokens).before_commit().delay(Duration::from_secs(1)));
    let clock = ManualClock::new();
    let give_up = || {
        let given_up = std::future::ready(());
        let reply = block_on(gateway.core().respond(token_request("tok_approved"), &clock, given_up)).0;
        assert!(matches!(reply, Reply::Closed), "{reply:?}");
    };
    give_up();
    let gate = gateway.gate(on_tokens);
    give_up();
    drop(gate);
    gateway.ledger().assert_nothing_charged();

    let never_polled = std::future::poll_fn(|_| panic!("the client is already charged"));
    let reply = block_on(gateway.core().respond(token_request("tok_approved"), &clock, never_polled)).0;
    assert!(matches!(reply, Reply::Response(_)), "{reply:?}");
    assert_eq!(gateway.ledger().entries().len(), 1);
}

/// A wall clock may read the gateway, for example to date one request a second after the other.
#[test]
fn a_late_delivery_reads_the_wall_clock_without_a_lock() {
    let read = Arc::new(OnceLock::<FakeGateway>::new());
    let clock = Arc::clone(&read);
    let builder = FakeGateway::builder().wall_clock(move || {
        noon() + Duration::from_secs(clock.get().map_or(0, |gateway| gateway.requests().len() as u64))
    });
    let gateway = builder.build();
    read.set(gateway.clone()).unwrap();
    gateway.arm(Fault::on(OperationName::TokenTransaction).late().close());
    block_on(gateway.client().process_token(&token("tok_approved"))).unwrap_err();
    let (delivered, delivery) = mpsc::channel();
    let late = gateway.clone();
    thread::spawn(move || delivered.send(late.deliver_late()));
    assert_eq!(delivery.recv_timeout(Duration::from_secs(30)), Ok(1));
    assert_eq!(gateway.ledger().entries()[0].at, noon() + Duration::from_secs(1));
}
