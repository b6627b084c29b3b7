//! What faults do. `tests/outcomes.rs` has the outcome and the ledger for every fault in every phase of every operation.

use std::time::Duration;

use crate::support::*;
use http::StatusCode;
use payments_core::{
    Client, Delivery, Error, ErrorKind, FailedCall, OperationName, Outcome, TransportError,
    TransportErrorKind,
};
use payments_fake::{FakeGateway, Fault, FaultKind, FaultMoment, Phase, Reply, block_on};

const PAUSE: Duration = Duration::from_millis(500);

const PHASES: [Phase; 3] = [Phase::BeforeCommit, Phase::AfterCommit, Phase::Late];

/// Completes a fault whose phase is known.
type Kind = fn(FaultMoment) -> Fault;

fn on_payments() -> payments_fake::FaultTarget {
    Fault::on(OperationName::Transaction)
}

/// Pays with the fault armed, checks that the ledger matches the phase, and returns the client's error.
#[track_caller]
fn pay_under(kind: Kind, phase: Phase) -> Error {
    let gateway = armed(kind(on_payments().at(phase)));
    let error = pay(&gateway).expect_err("the fault must cause an error");
    let is_charged = |is_charged: bool| {
        let ledger = gateway.ledger();
        if is_charged { _ = ledger.assert_charged_once(PRICE) } else { ledger.assert_nothing_charged() }
    };
    is_charged(phase == Phase::AfterCommit);
    assert_eq!(gateway.deliver_late(), usize::from(phase == Phase::Late));
    is_charged(phase != Phase::BeforeCommit);
    error
}

/// Pays under the fault in every phase. The client must not be able to tell the phases apart.
#[track_caller]
fn unknown_in_every_phase(kind: Kind, check: impl Fn(&Error)) {
    let [before, after, late] = PHASES.map(|phase| {
        let error = pay_under(kind, phase);
        assert_eq!(error.outcome(), Outcome::Unknown, "{phase:?}");
        check(&error);
        format!("{error:?}")
    });
    assert!(before == after && before == late, "{before} {after} {late}");
}

#[test]
fn a_broken_connection_is_unknown_and_looks_the_same_in_every_phase_d03() {
    let ok = Delivery::Answered(StatusCode::OK);
    let kinds: [(Kind, _, _); 8] = [
        (FaultMoment::close, "closed", Delivery::Unknown),
        (FaultMoment::reset, "closed", Delivery::Unknown),
        (FaultMoment::stall, "timeout", Delivery::Unknown),
        (|fault| fault.drip(64, Duration::from_secs(59)), "timeout", ok),
        (|fault| fault.truncate(100), "body_truncated", ok),
        (|fault| fault.truncate(0), "body_truncated", ok),
        (|fault| fault.truncate(usize::MAX), "body_truncated", ok),
        (FaultMoment::garbage, "protocol", Delivery::Unknown),
    ];
    for (kind, word, delivery) in kinds {
        unknown_in_every_phase(kind, |error| {
            let reported = error.failed_call().transport_error().unwrap();
            assert_eq!((reported.kind().as_str(), reported.delivery()), (word, delivery));
        });
    }
}

#[test]
fn a_delay_delivers_the_normal_response_late() {
    for phase in [Phase::BeforeCommit, Phase::AfterCommit] {
        let gateway = armed(on_payments().at(phase).delay(PAUSE));
        pay(&gateway).unwrap();
        assert_eq!(gateway.clock().elapsed(), PAUSE);
        gateway.ledger().assert_charged_once(PRICE);
    }
}

#[test]
fn a_delay_beyond_the_deadline_is_unknown_in_every_phase_d23() {
    let committed = PHASES.map(|phase| {
        let gateway = armed(on_payments().at(phase).delay(Duration::from_secs(121)));
        let error = pay(&gateway).unwrap_err();
        assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, ErrorKind::TimedOut));
        assert_eq!(gateway.clock().elapsed(), Duration::from_mins(1), "the default deadline");
        (gateway.ledger().entries().len(), gateway.deliver_late())
    });
    assert_eq!(committed, [(0, 0), (1, 0), (0, 1)]);
}

#[test]
fn a_drip_within_the_deadline_is_a_complete_response() {
    let gateway = armed(on_payments().after_commit().drip(100, PAUSE));
    let paid = pay(&gateway).unwrap();
    let pieces = u32::try_from(paid.body_snippet().len().div_ceil(100)).unwrap();
    assert_eq!(gateway.clock().elapsed(), PAUSE * pieces);
    gateway.ledger().assert_charged_once(PRICE);
}

#[test]
fn a_drip_before_the_commit_never_completes() {
    for phase in [Phase::BeforeCommit, Phase::Late] {
        let gateway = armed(on_payments().at(phase).drip(usize::MAX, PAUSE));
        let error = pay(&gateway).unwrap_err();
        assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, ErrorKind::TimedOut));
        let read = error.failed_call().body_snippet().unwrap();
        assert!(read.ends_with(r#""Status":""#), "the digits after it may be half a number: {read}");
        gateway.ledger().assert_nothing_charged();
    }
}

#[test]
fn a_truncated_response_has_the_id_of_the_new_transaction_d08() {
    let gateway = armed(on_payments().after_commit().truncate(200));
    let error = pay(&gateway).unwrap_err();
    assert_eq!(error.http_status(), Some(StatusCode::OK));
    assert!(error.failed_call().transport_error().unwrap().partial().is_none(), "it is not masked");
    let ledger = gateway.ledger();
    assert_eq!(error.transaction_id(), Some(ledger.assert_charged_once(PRICE).transaction_id()));
}

#[test]
fn a_truncated_response_never_has_its_last_byte() {
    let gateway = armed(Fault::on_any().after_commit().truncate(usize::MAX));
    let client = gateway.client().with_lookup_retries(0);
    let error = block_on(client.customer(&"cus_1".parse().unwrap())).unwrap_err();
    let read = error.failed_call().body_snippet().unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&read).is_err(), "{read}");
    assert!(read.ends_with(r#""StateId":"#), "the digits after it may be half a number: {read}");
}

#[test]
fn a_lookup_is_retried_through_transient_faults_d20() {
    let gateway = armed(Fault::on(OperationName::GetCustomer).before_commit().reset());
    gateway.arm(Fault::on(OperationName::GetCustomer).before_commit().html());
    block_on(gateway.client().customer(&"cus_1".parse().unwrap())).unwrap();
    assert_eq!(gateway.requests().len(), 3);
    assert!(gateway.clock().elapsed() >= Duration::from_millis(300), "two pauses, without real time");
}

#[test]
fn a_fault_fires_for_the_requests_that_it_names() {
    let gateway = armed(on_payments().before_commit().close().skip(1).times(2));
    let is_paid = || {
        // Another operation does not count.
        block_on(gateway.client().process_token(&token("tok_approved"))).unwrap();
        pay(&gateway).is_ok()
    };
    assert_eq!([(); 4].map(|()| is_paid()), [true, false, false, true]);
    let faults = gateway.faults();
    assert_eq!((faults[0].seen, faults[0].fired), (4, 2));
    assert_eq!(gateway.ledger().entries().len(), 6);
}

/// A payment or void that the service refuses commits nothing, so a fault that comes after the commit waits for the next.
#[test]
fn a_refused_request_does_not_use_up_a_fault_after_the_commit() {
    for target in [Fault::on(OperationName::Void), Fault::on_any()] {
        for phase in [Phase::AfterCommit, Phase::Late] {
            let gateway = FakeGateway::new();
            let ids = [(); 3].map(|()| authorize(&gateway));
            let outcome = |id: &str| void(&gateway, id).map_or_else(|error| Some(error.outcome()), |_| None);
            gateway.arm(target.at(phase).close().skip(1).times(2));

            let counts = || (gateway.faults()[0].seen, gateway.faults()[0].fired);
            assert_eq!(json(&gateway, post("/void", "{}")).0, 400);
            assert_eq!(outcome("txn_unknown"), Some(Outcome::Rejected));
            assert_eq!(counts(), (0, 0), "{phase:?}");
            assert_eq!([(); 2].map(|()| outcome(ids[0].as_str())), [None, Some(Outcome::Rejected)]);
            assert_eq!(counts(), (1, 0), "{phase:?}");
            for (fired, id) in [(1, &ids[1]), (2, &ids[2])] {
                assert_eq!(outcome(id.as_str()), Some(Outcome::Unknown), "{phase:?}");
                gateway.deliver_late();
                assert_eq!(outcome(id.as_str()), Some(Outcome::Rejected), "{phase:?}");
                assert_eq!(counts(), (1 + fired, fired), "{phase:?}");
            }
        }
    }
}

#[test]
fn a_fault_before_the_commit_fires_for_a_refused_request_too() {
    let gateway = armed(Fault::request_lost(OperationName::Void));
    assert_eq!(void(&gateway, "txn_unknown").unwrap_err().outcome(), Outcome::Unknown);
}

#[test]
fn a_declined_payment_is_processed_and_uses_up_a_fault_after_the_commit() {
    let gateway = armed(Fault::response_lost(OperationName::Transaction));
    let declined = card("4000000000000002").build().unwrap();
    let error = block_on(gateway.client().process_card(&declined)).unwrap_err();
    assert_eq!((error.outcome(), gateway.ledger().entries().len()), (Outcome::Unknown, 1));
}

#[test]
fn a_fault_on_any_operation_fires_for_every_operation() {
    type Reported = (Option<TransportErrorKind>, Option<OperationName>);
    fn of(call: &FailedCall) -> Reported {
        (call.transport_error().map(TransportError::kind), call.operation())
    }
    let calls: [fn(&FakeGateway, Client) -> Reported; 5] = [
        |gateway, _| of(pay(gateway).unwrap_err().failed_call()),
        |_, client| of(block_on(client.process_token(&token("tok_approved"))).unwrap_err().failed_call()),
        |gateway, _| of(void(gateway, "txn_1").unwrap_err().failed_call()),
        |_, client| of(block_on(client.transaction(&"txn_1".parse().unwrap())).unwrap_err().failed_call()),
        |_, client| of(block_on(client.customer(&"cus_1".parse().unwrap())).unwrap_err().failed_call()),
    ];
    for (call, operation) in calls.into_iter().zip(OperationName::ALL) {
        let gateway = armed(Fault::on_any().before_commit().garbage());
        let reported = call(&gateway, gateway.client().with_lookup_retries(0));
        assert_eq!(reported, (Some(TransportErrorKind::Protocol), Some(*operation)));
    }
}

fn reported(error: &Error) -> (Outcome, Option<TransportErrorKind>) {
    (error.outcome(), error.failed_call().transport_error().map(TransportError::kind))
}

#[test]
fn a_response_over_the_cap_is_answered_and_unknown_d65() {
    let gateway = FakeGateway::new();
    let client = gateway.client_builder().response_cap(100).build();
    let error = block_on(client.process_card(&sale())).unwrap_err();
    assert_eq!(reported(&error), (Outcome::Unknown, Some(TransportErrorKind::BodyTooLarge)));
    let read = error.failed_call().body_snippet().unwrap();
    assert!(read.len() <= 120, "{read}");
    gateway.ledger().assert_charged_once(PRICE);

    // A truncated response is over the cap too, unless the part that arrives is not.
    for (bytes, kind) in [(101, TransportErrorKind::BodyTooLarge), (100, TransportErrorKind::BodyTruncated)] {
        gateway.arm(on_payments().after_commit().truncate(bytes));
        let error = block_on(client.process_card(&sale())).unwrap_err();
        assert_eq!(reported(&error), (Outcome::Unknown, Some(kind)));
    }
    // So is a dripping one, as soon as the piece has arrived that exceeds it.
    for phase in [Phase::BeforeCommit, Phase::AfterCommit] {
        gateway.arm(on_payments().at(phase).drip(40, PAUSE));
        let begun = gateway.clock().elapsed();
        let error = block_on(client.process_card(&sale())).unwrap_err();
        assert_eq!(reported(&error), (Outcome::Unknown, Some(TransportErrorKind::BodyTooLarge)));
        assert_eq!(gateway.clock().elapsed(), begun + PAUSE * 3, "{phase:?}");
    }
}

const UNFIRED: &str = "armed faults that never fired, so the test did not test them:\n  \
                       fault_1: before_commit close on void (seen 0, fired 0)";

fn unfired() -> FakeGateway {
    armed(Fault::request_lost(OperationName::Void))
}

#[test]
fn an_unfired_fault_fails_the_test_when_the_last_handle_is_dropped() {
    // A client that outlives the gateway does not delay the check.
    let mut client = None;
    let message = panic_message(|| {
        let gateway = unfired();
        let another = gateway.clone();
        client = Some(gateway.client());
        drop(gateway);
        another.ledger().assert_nothing_charged();
    });
    let hint = "if the test returned an error, this panic hides it: use FakeGateway::conclude";
    assert_eq!(message, format!("{UNFIRED}\n{hint}"));
}

#[test]
fn an_unfired_fault_does_not_hide_the_failure_of_its_test() {
    let message = panic_message(|| {
        let _gateway = unfired();
        panic!("the test's own failure");
    });
    assert_eq!(message, "the test's own failure");
    assert_eq!(unfired().conclude::<(), _>(Err("its own failure")), Err("its own failure"));
    assert_eq!(panic_message(|| _ = unfired().conclude::<_, &str>(Ok(()))), UNFIRED);
}

#[test]
fn an_unfired_fault_can_be_asserted_disarmed_or_ignored() {
    let gateway = unfired();
    assert_eq!(panic_message(|| gateway.assert_all_faults_fired()), UNFIRED);
    let id = gateway.faults()[0].id;
    assert!(gateway.disarm(id) && !gateway.disarm(id));
    gateway.assert_all_faults_fired();

    let served = FakeGateway::builder().ignore_unfired_faults().build();
    served.arm(Fault::request_lost(OperationName::Void));
}

#[test]
fn a_fault_displays_its_settings() {
    let fault =
        Fault::on(OperationName::Void).after_commit().status(StatusCode::BAD_GATEWAY).retry_after("7");
    assert_eq!(fault.to_string(), "after_commit status on void");
    assert_eq!((fault.operation(), fault.phase()), (Some(OperationName::Void), Phase::AfterCommit));
    assert_eq!(fault.kind(), FaultKind::Status { status: StatusCode::BAD_GATEWAY });
    let late = || Fault::on_any().late();
    let often = late().drip(0, PAUSE).skip(2).times(2);
    assert_eq!(often.to_string(), "late drip on any operation, from request 3, 2 times");
}

/// As they are in a document.
#[test]
fn a_value_that_no_fault_can_have_is_refused() {
    let moment = || Fault::on_any().before_commit();
    let status = "status must be an HTTP status from 200 to 599";
    let beyond = || StatusCode::from_u16(600).unwrap();
    assert_eq!(panic_message(|| _ = moment().status(StatusCode::CONTINUE)), status);
    assert_eq!(panic_message(|| _ = moment().status(beyond())), status);
    assert_eq!(panic_message(|| _ = moment().show(FaultKind::Html { status: StatusCode::CONTINUE })), status);
    assert_eq!(panic_message(|| _ = moment().close().times(0)), "times must be a whole number above zero");
    let retry_after = "retry_after must be seconds or a date, as in the Retry-After header";
    for text in ["", "\n", "sp\u{e4}ter"] {
        assert_eq!(panic_message(|| _ = moment().html().retry_after(text)), retry_after);
    }
}

#[test]
fn whatever_response_a_fault_shows_has_the_id_and_the_date_of_its_request() {
    let kinds: [(&str, Kind); 12] = [
        ("drip", |fault| fault.drip(64, PAUSE)),
        ("truncate", |fault| fault.truncate(10)),
        ("html", FaultMoment::html),
        ("status", |fault| fault.status(StatusCode::SERVICE_UNAVAILABLE)),
        ("no content", |fault| fault.status(StatusCode::NO_CONTENT)),
        ("delay", |fault| fault.delay(PAUSE)),
        ("wrong shape", FaultMoment::wrong_shape),
        ("close", FaultMoment::close),
        ("reset", FaultMoment::reset),
        ("stall", FaultMoment::stall),
        ("garbage", FaultMoment::garbage),
        ("refuse", FaultMoment::refuse),
    ];
    let header = |reply: &mut Reply, name: &str| {
        let value = reply.response_mut()?.headers().get(name)?;
        Some(value.to_str().unwrap().to_owned())
    };
    for phase in PHASES {
        for (name, kind) in kinds {
            let (plain, faulty) = (FakeGateway::new(), armed(kind(on_payments().at(phase))));
            let [mut normal, mut shown] =
                [&plain, &faulty].map(|gateway| gateway.handle(noon(), card_request(&sale())));
            let is_response = shown.response_mut().is_some();
            for header_name in ["x-request-id", "date"] {
                let normal = header(&mut normal, header_name).filter(|_| is_response);
                assert_eq!(header(&mut shown, header_name), normal, "{header_name} of {name} {phase:?}");
            }
            // The fault of one request changes nothing about the next.
            if faulty.requests().len() == 1 && !matches!(shown, Reply::Garbage(_)) {
                let [mut normal, mut next] =
                    [&plain, &faulty].map(|gateway| gateway.handle(noon(), get("/customer/cus_1")));
                assert_eq!(header(&mut next, "x-request-id"), header(&mut normal, "x-request-id"), "{name}");
            }
        }
    }
}
