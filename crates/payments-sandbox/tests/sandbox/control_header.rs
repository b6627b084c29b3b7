//! A request that asks for its own fault, and faults armed over the wire.

use payments_core::model::Amount;
use payments_sandbox::{BlockingSandbox, Sandbox};
use serde_json::{Value, json};

use crate::raw_client::{End, RawClient, TOKEN_PAYMENT};

fn start() -> (BlockingSandbox, RawClient) {
    let sandbox = Sandbox::builder().ignore_unfired_faults().start_blocking().unwrap();
    let client = RawClient::connect(&sandbox);
    (sandbox, client)
}

/// Writes a payment that asks for a fault; what comes back is the caller's affair.
fn pay_asking(client: &mut RawClient, headers: &str) {
    let head = client.head("POST", "/token-transaction");
    let length = TOKEN_PAYMENT.len();
    client.send(&format!(
        "{head}{headers}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{TOKEN_PAYMENT}"
    ));
}

fn charges(sandbox: &BlockingSandbox) -> usize {
    let mut client = RawClient::to(sandbox.admin_url(), "").unwrap();
    client.ask("GET", "/_sandbox/state", "", "").json()["transactions"].as_array().unwrap().len()
}

/// What a client sees of a payment under a fault of this kind.
fn look_at(client: &mut RawClient, kind: &str, is_committed: bool) {
    match kind {
        "close" => assert_eq!(client.read_to_end(), (Vec::new(), End::Closed)),
        "reset" | "refuse" => assert_eq!(client.read_to_end(), (Vec::new(), End::Reset)),
        "garbage" => {
            let (bytes, end) = client.read_to_end();
            assert!(!bytes.is_empty() && !bytes.starts_with(b"HTTP") && end == End::Closed);
        }
        "truncate" | "drip" => {
            let head = client.read_head();
            assert!(
                head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("\r\nsandbox-version: "),
                "{head}"
            );
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            let length: usize = length.parse().unwrap();
            if kind == "truncate" {
                assert!(length > 3);
                assert_eq!(client.read_to_end(), (b"{\"s".to_vec(), End::Closed));
            } else {
                assert!(client.read_exactly(length - 1).starts_with(b"{\"status\":\"success\""));
                if is_committed {
                    assert_eq!(client.read_to_end(), (b"}".to_vec(), End::Closed));
                }
            }
        }
        "html" => assert_eq!(client.answer().header("content-type"), Some("text/html; charset=utf-8")),
        "status" => {
            let answer = client.answer();
            assert_eq!((answer.status(), answer.header("retry-after")), (503, Some("7")));
        }
        "delay" => assert_eq!(client.answer().json()["status"], "success"),
        "wrong_shape" => assert_eq!(client.answer().json(), json!({"result": "ok"})),
        "stall" => assert!(client.is_silent()),
        other => panic!("an unknown kind: {other}"),
    }
}

const KINDS: [&str; 11] = [
    "close",
    "reset",
    "refuse",
    "stall",
    "drip",
    "truncate",
    "garbage",
    "html",
    "status",
    "delay",
    "wrong_shape",
];

/// How many charges there are after a fault of this kind; a request that is only delayed is processed all the same.
fn charges_after(kind: &str, phase: &str) -> usize {
    match (kind, phase) {
        ("refuse", _) => 0,
        ("delay", _) | (_, "after_commit") => 1,
        _ => 0,
    }
}

#[test]
fn every_kind_can_be_armed_over_the_wire_before_and_after_the_commit() {
    for kind in KINDS {
        for phase in ["before_commit", "after_commit"] {
            let (sandbox, mut client) = start();
            let fault = json!({
                "operation": "token-transaction", "phase": phase, "kind": kind,
                "status": if kind == "html" { 502 } else { 503 }, "retry_after": "7",
                "bytes": if kind == "truncate" { 3 } else { 64 }, "delay_ms": 2,
            });
            let mut admin = RawClient::connect(&sandbox);
            assert_eq!(admin.ask("POST", "/_sandbox/faults", "", &fault.to_string()).status(), 200);
            pay_asking(&mut client, "");
            if kind == "stall" {
                while sandbox.gateway().requests().is_empty() {
                    std::thread::yield_now();
                }
            }
            look_at(&mut client, kind, phase == "after_commit");
            assert_eq!(charges(&sandbox), charges_after(kind, phase), "{phase} {kind}");
            let listed = admin.ask("GET", "/_sandbox/faults", "", "").json();
            assert_eq!((&listed["faults"][0]["seen"], &listed["faults"][0]["fired"]), (&json!(1), &json!(1)));
        }
    }
}

#[test]
fn a_request_can_ask_for_its_own_fault() {
    for kind in KINDS {
        for phase in ["before_commit", "after_commit"] {
            let (sandbox, mut client) = start();
            let more = match kind {
                "status" => ";status=503;retry_after=7",
                "truncate" => ";bytes=3",
                "drip" => "; bytes=64; delay_ms=2",
                "delay" => ";delay_ms=2",
                _ => "",
            };
            pay_asking(&mut client, &format!("Sandbox-Fault: {phase}={kind}{more}\r\n"));
            if kind == "stall" {
                while sandbox.gateway().requests().is_empty() {
                    std::thread::yield_now();
                }
            }
            look_at(&mut client, kind, phase == "after_commit");
            assert_eq!(charges(&sandbox), charges_after(kind, phase), "{phase} {kind}");
            let mut next = RawClient::connect(&sandbox);
            pay_asking(&mut next, "");
            assert_eq!(next.answer().json()["status"], "success", "the next request asks for nothing");
        }
    }
}

#[test]
fn a_malformed_header_is_refused_and_nothing_is_charged() {
    let (sandbox, mut client) = start();
    for (headers, msg) in [
        ("sandbox-fault: reset\r\n", "it must be PHASE=KIND, then ;NAME=VALUE for more, each once"),
        ("sandbox-fault:\r\n", "it must be PHASE=KIND, then ;NAME=VALUE for more, each once"),
        ("sandbox-fault: never=reset\r\n", "phase must be before_commit, after_commit or late"),
        ("sandbox-fault: after_commit=reset;times=0\r\n", "times must be a whole number above zero"),
        (
            "sandbox-fault: after_commit=reset\r\nsandbox-fault: late=close\r\n",
            "a request can ask for one fault",
        ),
        ("sandbox-fault: after_commit=r\u{e9}set\r\n", "it must be visible ASCII"),
    ] {
        pay_asking(&mut client, headers);
        let answer = client.answer();
        let expected = json!({"status": "failed", "status_code": 400, "msg": format!("bad request error: Sandbox-Fault: {msg}")});
        assert_eq!((answer.status(), answer.json()), (400, expected));
        assert!(answer.header("x-request-id").is_some() && answer.header("sandbox-version").is_some());
    }
    assert_eq!((charges(&sandbox), sandbox.gateway().requests()), (0, Vec::new()));
}

#[test]
fn the_header_means_nothing_where_it_is_switched_off() {
    let sandbox = Sandbox::builder().control_headers(false).start_blocking().unwrap();
    let mut client = RawClient::connect(&sandbox);
    for header in ["sandbox-fault: before_commit=reset\r\n", "sandbox-fault: nonsense\r\n"] {
        pay_asking(&mut client, header);
        assert_eq!(client.answer().json()["status"], "success");
    }
    assert_eq!(charges(&sandbox), 2);
}

#[test]
fn an_armed_fault_goes_before_the_header_and_that_before_a_test_value() {
    let (sandbox, mut client) = start();
    let mut admin = RawClient::connect(&sandbox);
    let fault = json!({"operation": "any", "phase": "before_commit", "kind": "wrong_shape"});
    admin.ask("POST", "/_sandbox/faults", "", &fault.to_string());
    let body = TOKEN_PAYMENT.replace("tok_approved", "tok_declined");
    let mut pay = |header: &str| client.ask("POST", "/api/v1/public/token-transaction", header, &body);
    assert_eq!(pay("sandbox-fault: before_commit=html\r\n").json(), json!({"result": "ok"}));
    assert_eq!(pay("sandbox-fault: before_commit=html\r\n").status(), 502);
    assert_eq!(pay("").json()["status"], "failed");
}

#[test]
fn it_means_nothing_to_what_is_no_operation_and_to_the_admin_interface() {
    let (_sandbox, mut client) = start();
    let reset = "sandbox-fault: before_commit=reset\r\n";
    assert_eq!(client.ask("GET", "/_sandbox/health", reset, "").status(), 200);
    assert_eq!(client.ask("GET", "/_sandbox/health", "sandbox-fault: nonsense\r\n", "").status(), 200);
    assert_eq!(client.ask("GET", "/api/v1/public/refund", reset, "").status(), 404);
    assert_eq!(client.ask("PUT", "/api/v1/public/void", reset, "").status(), 405);
    assert_eq!(
        client.ask("GET", "/api/v1/public/customer/cus_1", "sandbox-fault: late=html\r\n", "").status(),
        502
    );
}

#[test]
fn the_faults_of_two_requests_do_not_mix() {
    let (sandbox, _) = start();
    let (kinds, rounds) = (["close", "reset", "garbage", "wrong_shape", "html"], 20);
    std::thread::scope(|scope| {
        for kind in kinds {
            let sandbox = &sandbox;
            scope.spawn(move || {
                for _ in 0..rounds {
                    let mut client = RawClient::connect(sandbox);
                    pay_asking(&mut client, &format!("sandbox-fault: after_commit={kind}\r\n"));
                    look_at(&mut client, kind, true);
                }
            });
        }
    });
    assert_eq!(charges(&sandbox), kinds.len() * rounds);
}

#[test]
fn what_was_answered_before_is_whole_although_the_next_of_two_written_at_once_fails() {
    for kind in ["close", "reset", "garbage", "truncate;bytes=3"] {
        let (sandbox, mut client) = start();
        let payment = |header: &str| {
            let length = TOKEN_PAYMENT.len();
            format!(
                "{header}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{TOKEN_PAYMENT}"
            )
        };
        let head = client.head("POST", "/token-transaction");
        let first = payment("");
        let second = payment(&format!("sandbox-fault: after_commit={kind}\r\n"));
        client.send(&format!("{head}{first}{head}{second}"));
        let whole: Value = client.answer().json();
        assert_eq!(whole["status"], "success", "{kind}");
        let kind = kind.split(';').next().unwrap();
        // A reset throws away what the client has not read yet, and this one has read all.
        look_at(&mut client, kind, true);
        sandbox.gateway().ledger().assert_charged_total(Amount::from_cents(21_00));
    }
}
