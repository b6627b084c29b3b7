//! Faults that a request asks for.

use payments_core::model::Amount;
use payments_sandbox::{BlockingSandbox, Sandbox};
use serde_json::{Value, json};

use crate::raw_client::{End, RawClient, TOKEN_PAYMENT};

fn start() -> (BlockingSandbox, RawClient) {
    let sandbox = Sandbox::builder().ignore_unfired_faults().start_blocking().unwrap();
    let client = RawClient::connect(&sandbox);
    (sandbox, client)
}

/// Writes a payment that asks for a fault. The caller reads the reply.
fn send_payment(client: &mut RawClient, headers: &str) {
    let head = client.head("POST", "/token-transaction");
    let length = TOKEN_PAYMENT.len();
    client.send(&format!(
        "{head}{headers}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{TOKEN_PAYMENT}"
    ));
}

fn charges(sandbox: &BlockingSandbox) -> usize {
    let mut client = RawClient::to(sandbox.admin_url(), "").unwrap();
    client.request("GET", "/_sandbox/state", "", "").json()["transactions"].as_array().unwrap().len()
}

/// Checks what the client sees of a payment with a fault of this kind.
fn assert_symptom(client: &mut RawClient, kind: &str, is_committed: bool) {
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
        "html" => assert_eq!(client.response().header("content-type"), Some("text/html; charset=utf-8")),
        "status" => {
            let response = client.response();
            assert_eq!((response.status(), response.header("retry-after")), (503, Some("7")));
        }
        "delay" => assert_eq!(client.response().json()["status"], "success"),
        "wrong_shape" => assert_eq!(client.response().json(), json!({"result": "ok"})),
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

/// How many charges there are after a fault of this kind. A delayed request is still processed.
fn charges_after(kind: &str, phase: &str) -> usize {
    match (kind, phase) {
        ("refuse", _) => 0,
        ("delay", _) | (_, "after_commit") => 1,
        _ => 0,
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
            send_payment(&mut client, &format!("Sandbox-Fault: {phase}={kind}{more}\r\n"));
            if kind == "stall" {
                while sandbox.gateway().requests().is_empty() {
                    std::thread::yield_now();
                }
            }
            assert_symptom(&mut client, kind, phase == "after_commit");
            assert_eq!(charges(&sandbox), charges_after(kind, phase), "{phase} {kind}");
            let mut next = RawClient::connect(&sandbox);
            send_payment(&mut next, "");
            assert_eq!(next.response().json()["status"], "success", "the next request asks for no fault");
        }
    }
}

#[test]
fn a_malformed_header_is_refused_and_nothing_is_charged() {
    let (sandbox, mut client) = start();
    for (headers, msg) in [
        (
            "sandbox-fault: reset\r\n",
            "it must be PHASE=KIND, then ;NAME=VALUE for each other field, no name twice",
        ),
        ("sandbox-fault:\r\n", "it must be PHASE=KIND, then ;NAME=VALUE for each other field, no name twice"),
        ("sandbox-fault: never=reset\r\n", "phase: expected one of `before_commit`, `after_commit`, `late`"),
        (
            "sandbox-fault: after_commit=reset;times=2\r\n",
            "skip and times need an armed fault (POST /_sandbox/faults): a header is for its own request alone",
        ),
        ("sandbox-fault: after_commit=truncate;bytes=-1\r\n", "bytes must be a whole number"),
        (
            "sandbox-fault: after_commit=reset\r\nsandbox-fault: late=close\r\n",
            "a request can ask for only one fault",
        ),
        ("sandbox-fault: after_commit=r\u{e9}set\r\n", "it must be visible ASCII"),
    ] {
        send_payment(&mut client, headers);
        let response = client.response();
        let expected = json!({"status": "failed", "status_code": 400, "msg": format!("bad request error: Sandbox-Fault: {msg}")});
        assert_eq!((response.status(), response.json()), (400, expected));
        assert!(response.header("x-request-id").is_some() && response.header("sandbox-version").is_some());
    }
    assert_eq!((charges(&sandbox), sandbox.gateway().requests()), (0, Vec::new()));
}

#[test]
fn the_header_is_ignored_if_it_is_switched_off() {
    let sandbox = Sandbox::builder().control_headers(false).start_blocking().unwrap();
    let mut client = RawClient::connect(&sandbox);
    for header in ["sandbox-fault: before_commit=reset\r\n", "sandbox-fault: nonsense\r\n"] {
        send_payment(&mut client, header);
        assert_eq!(client.response().json()["status"], "success");
    }
    assert_eq!(charges(&sandbox), 2);
}

#[test]
fn the_header_is_ignored_outside_operations() {
    let (_sandbox, mut client) = start();
    let reset = "sandbox-fault: before_commit=reset\r\n";
    assert_eq!(client.request("GET", "/_sandbox/health", reset, "").status(), 200);
    assert_eq!(client.request("GET", "/_sandbox/health", "sandbox-fault: nonsense\r\n", "").status(), 200);
    assert_eq!(client.request("GET", "/api/v1/public/refund", reset, "").status(), 404);
    assert_eq!(client.request("PUT", "/api/v1/public/void", reset, "").status(), 405);
    assert_eq!(
        client.request("GET", "/api/v1/public/customer/cus_1", "sandbox-fault: late=html\r\n", "").status(),
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
                    send_payment(&mut client, &format!("sandbox-fault: after_commit={kind}\r\n"));
                    assert_symptom(&mut client, kind, true);
                }
            });
        }
    });
    assert_eq!(charges(&sandbox), kinds.len() * rounds);
}

#[test]
fn the_first_of_two_pipelined_responses_is_complete_if_the_second_fails() {
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
        let whole: Value = client.response().json();
        assert_eq!(whole["status"], "success", "{kind}");
        let kind = kind.split(';').next().unwrap();
        // A reset discards unread data, but this client has read everything.
        assert_symptom(&mut client, kind, true);
        sandbox.gateway().ledger().assert_charged_total(Amount::from_cents(21_00));
    }
}
