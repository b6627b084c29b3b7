//! Faults that a request asks for.

use payments_core::model::Amount;
use payments_sandbox::{BlockingSandbox, Sandbox};
use serde_json::json;

use crate::raw_client::{End, RawClient, start, start_with};

fn charges(sandbox: &BlockingSandbox) -> usize {
    let mut client = RawClient::to(sandbox.admin_url(), "").unwrap();
    client.read("/state")["transactions"].as_array().unwrap().len()
}

#[test]
fn a_fault_is_for_one_request_alone() {
    let (sandbox, mut client) = start();
    client.pay("Sandbox-Fault: after_commit=wrong_shape\r\n");
    assert_eq!(client.response().json(), json!({"result": "ok"}));
    assert_eq!(client.pay_with_token()["status"], "success");
    assert_eq!(charges(&sandbox), 2);
}

#[test]
fn a_malformed_header_is_refused_and_nothing_is_charged() {
    let (sandbox, mut client) = start();
    for (headers, msg) in [
        (
            "sandbox-fault: reset\r\n",
            "it must be PHASE=KIND, then ;NAME=VALUE for each other field, no name twice",
        ),
        (
            "sandbox-fault: after_commit=reset\r\nsandbox-fault: late=close\r\n",
            "a request can ask for only one fault",
        ),
        ("sandbox-fault: after_commit=r\u{e9}set\r\n", "it must be visible ASCII"),
    ] {
        client.pay(headers);
        let response = client.response();
        let expected = json!({"status": "failed", "status_code": 400, "msg": format!("bad request error: Sandbox-Fault: {msg}")});
        assert_eq!((response.status(), response.json()), (400, expected));
        assert!(response.header("x-request-id").is_some() && response.header("sandbox-version").is_some());
    }
    assert_eq!((charges(&sandbox), sandbox.gateway().requests()), (0, Vec::new()));
}

#[test]
fn the_header_is_ignored_if_it_is_switched_off() {
    let (sandbox, mut client) = start_with(Sandbox::builder().control_headers(false));
    for header in ["sandbox-fault: before_commit=reset\r\n", "sandbox-fault: nonsense\r\n"] {
        client.pay(header);
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

/// What the client sees of a payment with a fault of this kind, to the end of the connection.
fn seen(client: &mut RawClient) -> &'static str {
    match client.read_to_end() {
        (bytes, End::Reset) if bytes.is_empty() => "reset",
        (bytes, End::Closed) if bytes.is_empty() => "close",
        (bytes, End::Closed)
            if bytes.starts_with(b"HTTP/1.1 200 OK\r\n") && bytes.ends_with(b"\r\n\r\n{\"s") =>
        {
            "truncate;bytes=3"
        }
        (bytes, End::Closed) if !bytes.starts_with(b"HTTP") => "garbage",
        (bytes, end) => panic!("{end:?} after {}", String::from_utf8_lossy(&bytes)),
    }
}

const KINDS: [&str; 4] = ["close", "reset", "garbage", "truncate;bytes=3"];

#[test]
fn the_first_of_two_pipelined_responses_is_complete_if_the_second_fails() {
    for kind in KINDS {
        let (sandbox, mut client) = start();
        let second = client.payment(&format!("sandbox-fault: after_commit={kind}\r\n"));
        client.send(&(client.payment("") + &second));
        assert_eq!(client.response().json()["status"], "success", "{kind}");
        // A reset discards unread data, but this client has read everything.
        assert_eq!(seen(&mut client), kind);
        sandbox.gateway().ledger().assert_charged_total(Amount::from_cents(21_00));
    }
}
