//! Recorded requests: what the service did, and what the client saw.

use std::future::pending;
use std::time::Duration;

use http::Request;
use payments_core::{OperationName, Outcome};
use payments_fake::{
    FakeGateway, Fault, FaultKind, ManualClock, RecordedRequest, Reply, RequestEffect, VoidResponse, block_on,
};
use serde_json::{Value, json};

use crate::support::*;

/// What the service did, the status and the symptom that the client saw, and whether there is a transaction id.
type Summary = (RequestEffect, Option<u16>, Option<&'static str>, bool);

fn summary(request: &RecordedRequest) -> Summary {
    let status = request.status.map(|status| status.as_u16());
    let symptom = request.symptom.map(FaultKind::as_str);
    (request.effect, status, symptom, request.transaction_id.is_some())
}

fn send(gateway: &FakeGateway, request: Request<bytes::Bytes>) -> Summary {
    drop(gateway.handle(noon(), request));
    summary(gateway.requests().last().unwrap())
}

fn payment() -> Request<bytes::Bytes> {
    card_request(&sale())
}

#[test]
fn each_request_has_its_effect() {
    use RequestEffect::{Charged, Declined, LookedUp, Refused, Voided};
    let gateway = FakeGateway::new();
    let declined = card_request(&card("4000000000000002").build().unwrap());
    assert_eq!(send(&gateway, payment()), (Charged, Some(200), None, true));
    assert_eq!(send(&gateway, declined), (Declined, Some(200), None, true));
    assert_eq!(send(&gateway, post("/transaction", "{}")), (Refused, Some(400), None, false));
    assert_eq!(send(&gateway, get("/customer/cus_1")), (LookedUp, Some(200), None, false));
    assert_eq!(send(&gateway, get("/customer/cus_2")), (Refused, Some(404), None, false));
    assert_eq!(send(&gateway, card_request(&authorization())), (Charged, Some(200), None, true));
    let authorized = gateway.ledger().entries()[2].transaction_id().clone();
    let void = || void_request(authorized.as_str());
    assert_eq!(send(&gateway, void()), (Voided, Some(200), None, true));
    assert_eq!(gateway.requests().last().unwrap().transaction_id.as_ref(), Some(&authorized));
    assert_eq!(send(&gateway, void()), (Refused, Some(400), None, false));
    assert_eq!(gateway.requests()[0].amount(), Some(PRICE));
}

#[test]
fn a_fault_is_recorded_with_its_effect_and_symptom() {
    use RequestEffect::{Charged, Late, Nothing};
    let gateway = FakeGateway::new();
    let any = Fault::on_any();
    for (fault, expected) in [
        (any.before_commit().close(), (Nothing, None, Some("close"), false)),
        (any.after_commit().close(), (Charged, None, Some("close"), true)),
        (any.late().reset(), (Late, None, Some("reset"), true)),
        (any.after_commit().html(), (Charged, Some(502), None, true)),
        (any.after_commit().truncate(3), (Charged, Some(200), Some("truncate"), true)),
        (any.after_commit().drip(3, Duration::from_secs(1)), (Charged, Some(200), Some("drip"), true)),
        (any.after_commit().stall(), (Charged, None, Some("stall"), true)),
        (any.before_commit().garbage(), (Nothing, None, Some("garbage"), false)),
    ] {
        gateway.arm(fault.clone());
        assert_eq!(send(&gateway, payment()), expected, "{fault}");
        assert_eq!(gateway.requests().last().unwrap().fault.as_ref(), Some(&fault));
    }
    assert_eq!(gateway.deliver_late(), 1);
    assert_eq!(summary(&gateway.requests()[2]), (Charged, None, Some("reset"), true));
}

#[test]
fn a_client_whose_deadline_ends_during_a_delay_saw_no_status() {
    let gateway = FakeGateway::new();
    for (pause, status) in [(1, Some(200)), (1000, None)] {
        gateway.arm(Fault::on_any().after_commit().delay(Duration::from_secs(pause)));
        assert_eq!(pay(&gateway).is_ok(), status.is_some());
        let expected = (RequestEffect::Charged, status, None, true);
        assert_eq!(summary(gateway.requests().last().unwrap()), expected);
    }
}

#[test]
fn a_late_effect_is_dated_at_its_delivery() {
    let gateway = choosing(|choices| choices.void_response = VoidResponse::NewTransactionId);
    let (id, authorized) = (authorize(&gateway), gateway.clock().system_time());
    gateway.arm(Fault::on_any().late().close().times(2));
    pay(&gateway).unwrap_err();
    void(&gateway, id.as_str()).unwrap_err();
    gateway.clock().advance(Duration::from_hours(1));
    assert_eq!(gateway.deliver_late(), 2);
    let delivered = gateway.clock().system_time();
    let times: Vec<_> = gateway.ledger().entries().iter().map(|entry| entry.at).collect();
    assert_eq!(
        times,
        [authorized, delivered, delivered],
        "the voided authorization, the charge and the void"
    );
}

#[test]
fn only_one_of_two_late_voids_takes_effect() {
    let gateway = choosing(|choices| choices.void_response = VoidResponse::NewTransactionId);
    let id = authorize(&gateway);
    gateway.arm(Fault::on(OperationName::Void).late().close().times(2));
    for _ in 0..2 {
        assert_eq!(void(&gateway, id.as_str()).unwrap_err().outcome(), Outcome::Unknown);
        assert_eq!(gateway.requests().last().unwrap().effect, RequestEffect::Late);
    }
    assert_eq!(gateway.deliver_late(), 2);
    let requests = gateway.requests();
    let done: Vec<_> =
        requests[1..].iter().map(|request| (request.effect, request.reason.as_deref())).collect();
    let second = (RequestEffect::Refused, Some("invalid transaction id"));
    assert_eq!(done, [(RequestEffect::Voided, None), second]);
    assert_eq!(gateway.ledger().entries().len(), 2, "the authorization and the first void");
}

#[test]
fn a_held_request_has_no_effect_until_its_pause_ends() {
    let gateway = FakeGateway::builder().recorded_requests(2).build();
    let (core, clock) = (gateway.core(), ManualClock::new());
    let hold = || {
        gateway.arm(Fault::on_any().before_commit().delay(Duration::from_secs(1)));
        let mut held = Box::pin(core.respond(payment(), &clock, pending()));
        assert!(poll(held.as_mut()).is_pending());
        held
    };
    let waiting = hold();
    let (nothing, charged) = (RequestEffect::Nothing, RequestEffect::Charged);
    assert_eq!(summary(&gateway.requests()[0]), (nothing, None, None, false));
    send(&gateway, get("/customer/cus_1"));
    clock.advance(Duration::from_secs(1));
    block_on(waiting);
    assert_eq!(summary(&gateway.requests()[0]), (charged, Some(200), None, true));

    // The end of a request that is no longer stored changes no other.
    let waiting = hold();
    send(&gateway, get("/customer/cus_1"));
    send(&gateway, get("/customer/cus_2"));
    let before = gateway.requests();
    clock.advance(Duration::from_secs(1));
    block_on(waiting);
    assert_eq!(gateway.ledger().entries().len(), 2);
    assert!(gateway.requests() == before);
}

#[test]
fn the_pure_core_processes_a_request_with_a_delay_at_once() {
    let pause = Duration::from_secs(1);
    let gateway = armed(Fault::on_any().before_commit().delay(pause));
    let reply = gateway.handle(noon(), payment());
    assert!(matches!(reply, Reply::Delayed { by, .. } if by == pause), "{reply:?}");
    assert_eq!(summary(&gateway.requests()[0]), (RequestEffect::Charged, Some(200), None, true));
    gateway.ledger().assert_charged_once(PRICE);
}

#[test]
fn the_json_has_the_effect_and_the_symptom() {
    let gateway = armed(Fault::response_lost(OperationName::Transaction));
    send(&gateway, payment());
    let json: Value = serde_json::from_str(&gateway.requests()[0].to_json()).unwrap();
    let id = gateway.ledger().entries()[0].transaction_id().clone();
    let part = ["amount", "effect", "transaction_id", "fault", "status", "symptom"];
    let part: Vec<_> = part.iter().map(|name| json[name].clone()).collect();
    let fault = "after_commit close on transaction";
    let expected = json!([10.5, "charged", id.as_str(), fault, null, "close"]);
    assert_eq!(Value::from(part), expected);
}

#[test]
fn a_refusal_and_a_decline_have_their_reason_without_a_card_number_d62() {
    let gateway = FakeGateway::new();
    let declined = card("4000000000009995").build().unwrap();
    for (request, reason) in [
        (payment(), None),
        (void_request("txn_1"), Some("invalid transaction id")),
        (card_request(&declined), Some("insufficient funds")),
    ] {
        send(&gateway, request);
        assert_eq!(gateway.requests().last().unwrap().reason.as_deref(), reason);
    }
    for secret in ["4242424242424242", FakeGateway::API_KEY] {
        send(&gateway, post("/void", format!(r#"{{"TransactionId":"txn_1","{secret}":1}}"#)));
        let reason = gateway.requests().last().unwrap().reason.clone().unwrap();
        assert!(!reason.contains(secret), "{reason}");
    }
}

#[test]
fn a_short_key_is_not_masked_in_a_reason() {
    let gateway = FakeGateway::builder().api_key("invalid").build();
    send(&gateway, with_key("invalid", void_request("txn_1")));
    assert_eq!(gateway.requests()[0].reason.as_deref(), Some("invalid transaction id"));
}
