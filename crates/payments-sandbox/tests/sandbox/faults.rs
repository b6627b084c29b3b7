//! Every fault as a real socket event, in every phase.

use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use payments_core::OperationName;
use payments_core::model::Amount;
use payments_fake::{FakeGateway, Fault, FaultKind, Phase, RequestEffect, block_on};
use payments_sandbox::unversioned::fault_from_header;
use payments_sandbox::{BlockingSandbox, Exchange, Sandbox, SandboxBuilder};
use serde_json::json;

use crate::raw_client::{End, RawClient, start, wait_for_a_request};

/// A payment that was sent with a fault armed.
struct FaultyPayment {
    sandbox: BlockingSandbox,
    client: RawClient,
    phase: Phase,
    /// Before it was sent.
    begun: Instant,
}

/// Pays with the fault in each phase, armed and asked for by a header, and runs a check of the socket. The ledger must match
/// the phase.
#[track_caller]
fn in_every_phase(kind: &str, mut check: impl FnMut(&mut FaultyPayment)) {
    for phase in [Phase::BeforeCommit, Phase::AfterCommit, Phase::Late] {
        for is_armed in [true, false] {
            let (sandbox, mut client) = start();
            let header = format!("{}={kind}", phase.as_str());
            let begun = Instant::now();
            if is_armed {
                sandbox.gateway().arm(fault_from_header(&header).unwrap());
                client.pay("");
            } else {
                client.pay(&format!("Sandbox-Fault: {header}\r\n"));
            }
            let mut payment = FaultyPayment { sandbox, client, phase, begun };
            check(&mut payment);
            let gateway = payment.sandbox.gateway();
            let charged = gateway.ledger().charged().count();
            assert_eq!(charged, usize::from(phase == Phase::AfterCommit), "{header}");
            assert_eq!(gateway.deliver_late(), usize::from(phase == Phase::Late), "{header}");
        }
    }
}

#[test]
fn close_and_reset_end_the_connection_without_a_byte() {
    for (kind, end) in [("close", End::Closed), ("reset", End::Reset)] {
        in_every_phase(kind, |FaultyPayment { client, .. }| {
            assert_eq!(client.read_to_end(), (Vec::new(), end));
        });
    }
}

#[test]
fn refuse_resets_an_accepted_connection_without_an_effect() {
    for phase in ["before_commit", "after_commit", "late"] {
        let (sandbox, mut client) = start();
        client.pay(&format!("sandbox-fault: {phase}=refuse\r\n"));
        assert_eq!(client.read_to_end(), (Vec::new(), End::Reset));
        sandbox.gateway().ledger().assert_nothing_charged();
        assert_eq!(sandbox.gateway().deliver_late(), 0);
    }
}

#[test]
fn garbage_is_not_http() {
    in_every_phase("garbage", |FaultyPayment { client, .. }| {
        let (bytes, end) = client.read_to_end();
        assert!(bytes.len() > 16 && !bytes.starts_with(b"HTTP"), "{bytes:?}");
        assert_eq!(end, End::Closed);
    });
}

#[test]
fn truncate_keeps_the_content_length_and_cuts_the_body() {
    in_every_phase("truncate;bytes=40", |FaultyPayment { client, .. }| {
        let head = client.read_head();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && length.parse::<usize>().unwrap() > 40, "{head}");
        let (body, end) = client.read_to_end();
        assert_eq!((body.len(), end), (40, End::Closed));
        assert!(body.starts_with(b"{\"status\":\"success\""), "{body:?}");
    });
}

#[test]
fn stall_is_silent_until_the_client_leaves() {
    in_every_phase("stall", |FaultyPayment { client, sandbox, .. }| {
        wait_for_a_request(sandbox.gateway());
        // The request was read. Any reaction of the server would come before its response to another client.
        let mut other = RawClient::connect(sandbox);
        assert_eq!(other.look_up(), 200);
        assert!(client.is_silent());
    });
}

#[test]
fn drip_sends_pieces_and_the_last_byte_only_after_the_commit() {
    let every = Duration::from_millis(3);
    in_every_phase("drip;bytes=16;delay_ms=3", |FaultyPayment { client, phase, begun, .. }| {
        let head = client.read_head();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let length: usize = length.parse().unwrap();
        let pieces = u32::try_from((length - 1).div_ceil(16)).unwrap();
        let body = client.read_exactly(length - 1);
        assert!(begun.elapsed() >= every * pieces);
        assert!(body.starts_with(b"{\"status\":\"success\""));
        if *phase == Phase::AfterCommit {
            assert_eq!(client.read_to_end(), (b"}".to_vec(), End::Closed));
        } else {
            assert!(client.is_silent());
        }
    });
}

#[test]
fn html_status_and_wrong_shape_are_complete_responses() {
    in_every_phase("html", |FaultyPayment { client, .. }| {
        let response = client.response();
        let media_type = response.header("content-type");
        assert_eq!((response.status(), media_type), (502, Some("text/html; charset=utf-8")));
        assert!(response.body.starts_with(b"<!DOCTYPE html>"));
        let id = response.header("x-request-id").unwrap();
        assert!(id.starts_with("req_"), "one seed gives it the same id again: {id}");
    });
    in_every_phase("status;status=503;retry_after=7", |FaultyPayment { client, .. }| {
        let response = client.response();
        assert_eq!((response.status(), response.header("retry-after")), (503, Some("7")));
        let body = json!({ "status": "failed", "status_code": 503, "msg": "Service Unavailable" });
        assert_eq!(response.json(), body);
    });
    in_every_phase("wrong_shape", |FaultyPayment { client, .. }| {
        let response = client.response();
        assert_eq!((response.status(), response.json()), (200, json!({ "result": "ok" })));
    });
}

#[test]
fn delay_sends_the_normal_response_late_and_keeps_the_connection() {
    for phase in ["before_commit", "after_commit"] {
        let (sandbox, mut client) = start();
        let started = Instant::now();
        client.pay(&format!("sandbox-fault: {phase}=delay;delay_ms=30\r\n"));
        assert_eq!(client.response().status(), 200);
        assert!(started.elapsed() >= Duration::from_millis(30));
        assert_eq!(client.look_up(), 200);
        sandbox.gateway().ledger().assert_charged_once(Amount::from_cents(10_50));
    }
}

#[test]
fn a_client_that_leaves_before_its_request_is_processed_is_never_charged() {
    for closes_only_its_side in [false, true] {
        let sandbox = BlockingSandbox::start().unwrap();
        let gate = sandbox.gateway().gate(OperationName::TokenTransaction);
        let mut client = RawClient::connect(&sandbox);
        client.pay("");
        block_on(gate.arrived());
        let half_closed = if closes_only_its_side {
            client.close_sending_side();
            Some(client)
        } else {
            drop(client);
            None
        };
        // The server notices that the client is gone, and drops the request.
        while gate.held() > 0 {
            std::thread::yield_now();
        }
        gate.release();
        if let Some(mut client) = half_closed {
            assert_eq!(client.read_to_end(), (Vec::new(), End::Closed));
        }
        let gateway = sandbox.gateway().clone();
        drop(sandbox);
        gateway.ledger().assert_nothing_charged();
    }
}

/// A sandbox that sends its log to a channel.
fn logging(builder: SandboxBuilder) -> (BlockingSandbox, Receiver<Exchange>) {
    let (sender, log) = mpsc::channel();
    let log_to = move |exchange: &Exchange| sender.send(exchange.clone()).unwrap();
    (builder.on_exchange(log_to).start_blocking().unwrap(), log)
}

/// Sends a payment that a fault holds before it is processed, for a very long time.
fn held(sandbox: &BlockingSandbox) -> RawClient {
    let fault = Fault::on(OperationName::TokenTransaction).before_commit().delay(Duration::from_hours(1000));
    sandbox.gateway().arm(fault);
    let mut client = RawClient::connect(sandbox);
    client.pay("");
    wait_for_a_request(sandbox.gateway());
    client
}

#[test]
fn a_client_that_leaves_or_half_closes_while_its_request_is_held_is_never_charged() {
    // One connection at a time: the next client is served only after the server has noticed that the first one left.
    let (sandbox, log) = logging(Sandbox::builder().max_connections(1));
    let seen = || {
        let exchange = log.recv_timeout(Duration::from_secs(30)).unwrap();
        (exchange.status.map(|status| status.as_u16()), exchange.symptom.map(FaultKind::as_str))
    };
    for how in ["closes", "closes its side", "closes with a request more", "resets"] {
        sandbox.gateway().reset();
        let mut client = held(&sandbox);
        match how {
            "closes its side" => client.close_sending_side(),
            "closes with a request more" => client.get("/customer/cus_1"),
            "resets" => client.reset_on_drop(),
            _ => {}
        }
        let half_closed = (how == "closes its side").then_some(client);
        let mut next = RawClient::connect(&sandbox);
        assert_eq!(next.look_up(), 200, "{how}");
        assert_eq!(seen(), (None, Some("close")), "{how}");
        if let Some(mut client) = half_closed {
            assert_eq!(client.read_to_end(), (Vec::new(), End::Closed));
        }
        assert_eq!(seen(), (Some(200), None));
        sandbox.gateway().ledger().assert_nothing_charged();
    }
}

/// What the log, the record and both sides of a payment say after its client left.
fn left(sandbox: &BlockingSandbox, log: &Receiver<Exchange>) -> (Option<u16>, Option<&'static str>, bool) {
    let exchange = log.recv_timeout(Duration::from_secs(30)).unwrap();
    let recorded = sandbox.gateway().requests().pop().unwrap();
    assert_eq!(recorded.effect, RequestEffect::Charged);
    assert_eq!(exchange.recorded.as_ref(), Some(&recorded));
    let symptom = recorded.symptom.map(FaultKind::as_str);
    (recorded.status.map(|status| status.as_u16()), symptom, exchange.moved_without_response())
}

#[test]
fn a_client_that_leaves_before_its_response_is_sent_saw_nothing() {
    let (sandbox, log) = logging(Sandbox::builder());
    for how in ["closes", "resets", "closes its side"] {
        sandbox.gateway().reset();
        let mut client = RawClient::connect(&sandbox);
        let gate = sandbox.gateway().gate_after_commit(OperationName::TokenTransaction);
        client.pay("");
        block_on(gate.arrived());
        let waiting = sandbox.gateway().requests().pop().unwrap();
        assert_eq!((waiting.effect, waiting.status), (RequestEffect::Charged, None));
        match how {
            "resets" => client.reset_on_drop(),
            "closes its side" => {
                client.close_sending_side();
                gate.release();
                assert_eq!(client.response().status(), 200, "it can still read");
                assert_eq!(left(&sandbox, &log), (Some(200), None, false));
                continue;
            }
            _ => {}
        }
        drop(client);
        // Nothing shows when the end of the connection has arrived.
        std::thread::sleep(Duration::from_millis(200));
        gate.release();
        assert_eq!(left(&sandbox, &log), (None, Some("close"), true), "{how}");
    }
}

#[test]
fn a_response_that_was_written_completely_stays_recorded_as_seen() {
    for how in ["closes", "resets", "closes its side before it reads"] {
        let (sandbox, log) = logging(Sandbox::builder());
        let mut client = RawClient::connect(&sandbox);
        client.pay("");
        assert_eq!(client.response().status(), 200);
        // Two requests at once.
        let pipelined = client.payment("").repeat(2);
        client.send(&pipelined);
        if how.starts_with("closes its side") {
            client.close_sending_side();
        }
        assert_eq!([client.response().status(), client.response().status()], [200, 200], "{how}");
        if how == "resets" {
            client.reset_on_drop();
        }
        drop(client);
        let gateway = sandbox.gateway().clone();
        sandbox.shutdown().unwrap();
        let seen: Vec<_> = log.iter().map(|exchange| (exchange.status, exchange.symptom)).collect();
        let records = gateway.requests();
        let recorded: Vec<_> = records.iter().map(|request| (request.status, request.symptom)).collect();
        assert_eq!((&seen, &recorded), (&vec![(Some(StatusCode::OK), None); 3], &seen), "{how}");
    }
}

#[test]
fn a_client_that_leaves_in_the_middle_of_a_drip_saw_half_a_response() {
    let (sandbox, log) = logging(Sandbox::builder());
    let mut client = RawClient::connect(&sandbox);
    client.pay("Sandbox-Fault: after_commit=drip;bytes=1;delay_ms=50\r\n");
    client.read_head();
    client.read_exactly(1);
    drop(client);
    assert_eq!(left(&sandbox, &log), (Some(200), Some("truncate"), true));
}

#[test]
fn the_log_has_a_charge_that_the_gateway_no_longer_records() {
    for fault in ["drip;bytes=1;delay_ms=50", "delay;delay_ms=50"] {
        for how in ["evicted", "cleared", "reset", "never kept"] {
            let settings = FakeGateway::builder().recorded_requests(usize::from(how != "never kept"));
            let (sandbox, log) = logging(Sandbox::builder().fresh_gateway(settings));
            let gateway = sandbox.gateway();
            let mut client = RawClient::connect(&sandbox);
            client.pay(&format!("Sandbox-Fault: after_commit={fault}\r\n"));
            while gateway.ledger().entries().is_empty() {
                std::thread::yield_now();
            }
            match how {
                "evicted" => assert_eq!(RawClient::connect(&sandbox).look_up(), 200),
                "cleared" => gateway.clear_requests(),
                "reset" => gateway.reset(),
                _ => {}
            }
            let is_drip = fault.starts_with("drip");
            if is_drip {
                // A client that leaves earlier may have seen no response.
                client.read_head();
                drop(client);
            } else {
                assert_eq!(client.response().status(), 200, "{how}");
            }
            let exchange = loop {
                let exchange = log.recv_timeout(Duration::from_secs(30)).unwrap();
                if exchange.method == Method::POST {
                    break exchange;
                }
            };
            let recorded = exchange.recorded.as_ref().unwrap();
            assert_eq!(recorded.effect, RequestEffect::Charged, "{how}");
            assert_eq!(recorded.operation, Some(OperationName::TokenTransaction));
            let status = recorded.status.map(|status| status.as_u16());
            assert_eq!((status, exchange.moved_without_response()), (Some(200), is_drip), "{fault} {how}");
        }
    }
}

#[test]
fn a_fault_ends_only_its_own_connection() {
    let sandbox = BlockingSandbox::start().unwrap();
    let (mut client, mut other) = (RawClient::connect(&sandbox), RawClient::connect(&sandbox));
    assert_eq!(other.look_up(), 200);
    sandbox.gateway().arm(Fault::on(OperationName::GetCustomer).before_commit().reset());
    client.get("/customer/cus_1");
    assert_eq!(client.read_to_end().1, End::Reset);
    assert_eq!(other.look_up(), 200);
}
