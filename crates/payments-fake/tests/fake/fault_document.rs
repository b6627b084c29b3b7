//! Faults as JSON and as a header, and which of several fires.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use payments_core::OperationName;
use payments_fake::{FakeGateway, Fault, FaultKind, FaultMoment, Phase, Reply};
use serde_json::{Value, json};

use crate::support::*;

type Kind = fn(FaultMoment) -> Fault;

const KINDS: [Kind; 13] = [
    FaultMoment::refuse,
    FaultMoment::close,
    FaultMoment::reset,
    FaultMoment::stall,
    |moment| moment.drip(7, Duration::from_millis(30)),
    |moment| moment.truncate(0),
    |moment| moment.truncate(40),
    FaultMoment::garbage,
    |moment| moment.html().retry_after("Fri, 31 Jan 2030 12:00:00 GMT"),
    |moment| moment.show(FaultKind::Html { status: StatusCode::OK }),
    |moment| moment.status(StatusCode::TOO_MANY_REQUESTS).retry_after("7"),
    |moment| moment.delay(Duration::from_millis(1)),
    FaultMoment::wrong_shape,
];

#[test]
fn every_fault_survives_the_round_trip_through_json() {
    let operations =
        OperationName::ALL.iter().map(|operation| Fault::on(*operation)).chain([Fault::on_any()]);
    for target in operations {
        for phase in [Phase::BeforeCommit, Phase::AfterCommit, Phase::Late] {
            for kind in KINDS {
                let fault = kind(target.at(phase)).skip(2).times(3);
                let gateway = FakeGateway::builder().ignore_unfired_faults().build();
                gateway.arm(fault.clone());
                for written in [fault.to_json(), gateway.faults()[0].to_json()] {
                    assert_eq!(Fault::from_json(&written).as_ref(), Ok(&fault), "{written}");
                }
            }
        }
    }
}

#[test]
fn the_json_has_the_documented_names_and_counts() {
    let gateway = FakeGateway::new();
    gateway
        .arm(Fault::on(OperationName::GetCustomer).after_commit().drip(7, Duration::from_millis(30)).skip(1));
    for _ in 0..3 {
        let _ = gateway.handle(noon(), get("/customer/cus_1"));
    }
    let written: Value = serde_json::from_str(&gateway.faults()[0].to_json()).unwrap();
    let expected = json!({
        "id": "fault_1", "operation": "get-customer", "phase": "after_commit", "kind": "drip", "bytes": 7, "delay_ms": 30,
        "skip": 1, "times": 1, "seen": 3, "fired": 1,
    });
    assert_eq!(written, expected);
}

#[test]
fn omitted_members_have_defaults_and_unused_members_are_refused() {
    let of = |kind: &str| {
        Fault::from_json(&json!({"operation": "any", "phase": "late", "kind": kind}).to_string()).unwrap()
    };
    let late = || Fault::on_any().late();
    assert_eq!(of("status"), late().status(StatusCode::BAD_GATEWAY));
    assert_eq!(of("html"), late().html());
    assert_eq!(of("truncate"), late().truncate(10));
    assert_eq!(of("drip"), late().drip(10, Duration::from_millis(500)));
    assert_eq!(of("delay"), late().delay(Duration::from_millis(500)));
    let armed = json!({
        "operation": "void", "phase": "before_commit", "kind": "close", "skip": 4, "times": 5, "id": "fault_9", "seen": 1,
        "fired": 1,
    });
    let close = Fault::on(OperationName::Void).before_commit().close().skip(4).times(5).retry_after("7");
    assert_eq!(Fault::from_json(&armed.to_string()), Ok(close.clone()));
    assert_eq!(Fault::from_json(&close.to_json()), Ok(close), "a value that the kind ignores is not written");
    let kinds = "close reset stall refuse garbage wrong_shape status html truncate drip delay";
    for kind in kinds.split(' ') {
        for (member, value, users) in [
            ("status", 503, ["status", "html"]),
            ("retry_after", 7, ["status", "html"]),
            ("bytes", 1, ["truncate", "drip"]),
            ("delay_ms", 1, ["delay", "drip"]),
        ] {
            let fault = json!({"operation": "any", "phase": "late", "kind": kind, member: value});
            let read = Fault::from_json(&fault.to_string()).map_err(|error| error.to_string());
            if users.contains(&kind) {
                drop(read.unwrap());
            } else {
                let problem =
                    format!("must not have {member} unless its kind is {} or {}", users[0], users[1]);
                assert!(read.unwrap_err().starts_with(&problem), "{fault}");
            }
        }
    }
    let zero = json!({"operation": "any", "phase": "late", "kind": "drip", "bytes": 0, "delay_ms": 0});
    assert_eq!(Fault::from_json(&zero.to_string()), Ok(late().drip(1, Duration::ZERO)));
}

fn asking_for(fault: Fault, mut request: Request<Bytes>) -> Request<Bytes> {
    request.extensions_mut().insert(fault);
    request
}

#[test]
fn precedence_is_armed_fault_then_requested_fault_then_test_value() {
    let gateway = FakeGateway::new();
    let declined = || card_request(&card("4000000000000002").build().unwrap());
    let close = || Fault::on_any().before_commit().close();
    gateway.arm(Fault::on(OperationName::Transaction).before_commit().reset());
    assert!(matches!(gateway.handle(noon(), asking_for(close(), declined())), Reply::Reset));
    assert!(matches!(gateway.handle(noon(), asking_for(close(), declined())), Reply::Closed));
    let Reply::Response(response) = gateway.handle(noon(), declined()) else {
        panic!("the third request asks for no fault")
    };
    assert!(response.body().starts_with(br#"{"status":"failed""#));
    assert_eq!(gateway.ledger().entries().len(), 1);
}

#[test]
fn a_requested_fault_after_the_commit_does_not_fire_for_a_refused_request() {
    let gateway = FakeGateway::new();
    let close = || Fault::on_any().after_commit().close();
    let refused = gateway.handle(noon(), asking_for(close(), post("/transaction", "{}")));
    assert!(matches!(refused, Reply::Response(response) if response.status() == StatusCode::BAD_REQUEST));
    assert_eq!(gateway.requests()[0].fault, None);
    let lookup = gateway.handle(noon(), asking_for(close(), get("/customer/cus_unknown")));
    assert!(matches!(lookup, Reply::Closed), "a lookup commits nothing");
}

#[test]
fn a_requested_fault_ignores_its_operation_and_skip() {
    let gateway = FakeGateway::new();
    let fault = || Fault::on(OperationName::Void).after_commit().close().skip(9);
    let pay = || card_request(&sale());
    assert!(matches!(gateway.handle(noon(), asking_for(fault(), pay())), Reply::Closed));
    gateway.ledger().assert_charged_once(PRICE);
    assert!(matches!(gateway.handle(noon(), pay()), Reply::Response(_)));
    assert!(gateway.faults().is_empty(), "it is not armed");
    // A request for no operation gets no fault.
    assert!(matches!(gateway.handle(noon(), asking_for(fault(), get("/refund"))), Reply::Response(_)));

    let late = Fault::on_any().late().close();
    assert!(matches!(gateway.handle(noon(), asking_for(late, pay())), Reply::Closed));
    assert_eq!((gateway.ledger().charged().count(), gateway.deliver_late()), (2, 1));
    assert_eq!(gateway.ledger().charged().count(), 3);
}
