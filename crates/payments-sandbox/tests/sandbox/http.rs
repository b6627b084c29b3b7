//! What HTTP requires of a server, with the cases that servers often get wrong.

use std::collections::HashSet;

use payments_core::model::Amount;
use payments_sandbox::BlockingSandbox;

use crate::raw_client::{End, RawClient, RawResponse, TOKEN_PAYMENT, start};

fn id_of(head: &str) -> String {
    let version = head.lines().find_map(|line| line.strip_prefix("sandbox-version: "));
    assert_eq!(version, Some(payments_sandbox::VERSION), "{head}");
    let mut ids = head.lines().filter_map(|line| line.strip_prefix("x-request-id: "));
    let id = ids.next().unwrap_or_else(|| panic!("no id: {head}"));
    assert_eq!(ids.next(), None, "{head}");
    id.to_owned()
}

#[test]
fn every_response_has_a_unique_id_and_the_version() {
    let (sandbox, mut client) = start();
    let mut ids = HashSet::new();
    let mut check = |head: &str, status: u16| {
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        assert!(ids.insert(id_of(head)), "the id of {head} was used before");
    };
    let get = ("GET", "/api/v1/public/customer/cus_1");
    let pay = ("POST", "/api/v1/public/token-transaction");
    for _ in 0..20 {
        for (status, (method, target), headers, body) in [
            (200, pay, "", TOKEN_PAYMENT),
            (400, pay, "", "{"),
            (200, get, "", ""),
            (404, ("GET", "/api/v1/public/customer/cus_2"), "", ""),
            (502, get, "sandbox-fault: late=html\r\n", ""),
            (200, get, "sandbox-fault: late=html;status=200\r\n", ""),
            (429, get, "sandbox-fault: late=status;status=429\r\n", ""),
            (200, get, "sandbox-fault: late=wrong_shape\r\n", ""),
            (400, get, "sandbox-fault: nonsense\r\n", ""),
            (200, get, "sandbox-fault: after_commit=delay;delay_ms=0\r\n", ""),
            (200, get, "x-request-id: mine\r\n", ""),
            (405, ("DELETE", "/api/v1/public/void"), "", ""),
            (404, ("GET", "/elsewhere"), "", ""),
            (200, ("GET", "/_sandbox/health"), "", ""),
            (404, ("GET", "/_sandbox/unknown"), "", ""),
            (405, ("PUT", "/_sandbox/state"), "", ""),
            (400, ("POST", "/_sandbox/tokens"), "", "{}"),
        ] {
            check(&client.request(method, target, headers, body).head, status);
        }
    }
    check(&client.request("POST", "/api/v1/public/void", "", &" ".repeat(70_000)).head, 413);
    check(&client.request("POST", "/_sandbox/tokens", "", &" ".repeat(1_100_000)).head, 413);
    for kind in ["truncate;bytes=1", "drip;bytes=999;delay_ms=1"] {
        for _ in 0..20 {
            let mut client = RawClient::connect(&sandbox);
            let head = client.head("GET", "/customer/cus_1");
            client.send(&format!("{head}sandbox-fault: after_commit={kind}\r\n\r\n"));
            check(&client.read_head(), 200);
        }
    }
    assert_eq!(ids.len(), 20 * 17 + 2 + 40);
}

#[test]
fn a_chunked_body_that_is_too_large_is_refused_and_the_connection_stays_usable() {
    let (sandbox, mut client) = start();
    let head = client.head("POST", "/token-transaction");
    let chunk = format!("{:x}\r\n{}\r\n", 40_000, " ".repeat(40_000));
    client.send(&format!(
        "{head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{chunk}{chunk}0\r\n\r\n"
    ));
    assert_eq!(client.response().status(), 413);
    assert_eq!(client.pay_with_token()["status"], "success");
    sandbox.gateway().ledger().assert_charged_once(Amount::from_cents(10_50));
}

/// A response to HEAD announces the length of a body that is not sent.
fn head_of(client: &mut RawClient, target: &str) -> RawResponse {
    let key = payments_fake::FakeGateway::API_KEY;
    client.send(&format!("HEAD {target} HTTP/1.1\r\nhost: localhost\r\nauthorization: {key}\r\n\r\n"));
    RawResponse { head: client.read_head(), body: Vec::new() }
}

#[test]
fn a_head_gets_the_head_of_the_response_to_a_get() {
    let (_sandbox, mut client) = start();
    for target in [
        "/api/v1/public/customer/cus_1",
        "/api/v1/public/customer/unknown",
        "/api/v1/public/transaction/unknown",
        "/nowhere",
        "/_sandbox/health",
        "/_sandbox/magic",
        "/_sandbox/openapi.json",
        "/_sandbox/clock?unknown=1",
        "/_sandbox/ui",
        "/_sandbox/unknown",
    ] {
        let get = client.request("GET", target, "", "");
        let head = head_of(&mut client, target);
        assert_eq!(head.status(), get.status(), "{target}");
        for name in ["content-type", "content-length", "cache-control"] {
            assert_eq!(head.header(name), get.header(name), "{target} {name}");
        }
        assert_eq!(head.header("content-length"), Some(&*get.body.len().to_string()), "{target}");
    }
}

#[test]
fn a_head_of_the_events_ends_and_the_connection_stays_usable() {
    let (_sandbox, mut client) = start();
    assert_eq!(head_of(&mut client, "/_sandbox/events").status(), 200);
    assert_eq!(client.admin("GET", "/health", "").status(), 200);
    assert_eq!(head_of(&mut client, "/_sandbox/events").status(), 200);
    client.send("this is no HTTP\r\n\r\n");
    assert_eq!(refused(&mut client).status(), 400);
}

#[test]
fn a_fault_sends_no_body_for_a_head() {
    let faults = [("truncate", 200), ("drip;delay_ms=1", 200), ("html", 502), ("status", 502)];
    for (fault, status) in faults.into_iter().chain([("delay;delay_ms=1", 200)]) {
        let (_sandbox, mut client) = start();
        let key = payments_fake::FakeGateway::API_KEY;
        client.send(&format!(
            "HEAD /api/v1/public/customer/cus_1 HTTP/1.1\r\nhost: localhost\r\nauthorization: {key}\r\n\
             connection: close\r\nsandbox-fault: after_commit={fault}\r\n\r\n"
        ));
        let (bytes, end) = client.read_to_end();
        let head = String::from_utf8(bytes).unwrap();
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status} ")) && head.ends_with("\r\n\r\n"),
            "{fault}: {head}"
        );
        assert_eq!(end, End::Closed, "{fault}");
    }
}

#[test]
fn a_status_without_a_body_has_none_for_any_fault() {
    let (_sandbox, mut client) = start();
    for kind in ["status", "html"] {
        for status in [204, 205, 304] {
            let head = client.head("GET", "/customer/cus_1");
            client.send(&format!("{head}sandbox-fault: before_commit={kind};status={status}\r\n\r\n"));
            let head = client.read_head();
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
            assert_eq!(length, "0", "{kind} {head}");
            assert_eq!(
                client.admin("GET", "/health", "").status(),
                200,
                "the next response starts in the right place"
            );
        }
    }
}

#[test]
fn a_client_that_closes_its_sending_side_still_gets_its_response() {
    let sandbox = BlockingSandbox::start().unwrap();
    for _ in 0..50 {
        let mut client = RawClient::connect(&sandbox);
        client.pay("");
        client.close_sending_side();
        assert_eq!(client.response().status(), 200);
        assert_eq!(client.read_to_end(), (Vec::new(), End::Closed));
    }
    assert_eq!(sandbox.gateway().ledger().entries().len(), 50);
}

/// The error response to the bytes that were sent; the connection is closed after it.
fn refused(client: &mut RawClient) -> RawResponse {
    let response = client.response();
    assert_eq!(client.read_to_end(), (Vec::new(), End::Closed));
    assert_eq!(response.header("connection"), Some("close"), "{}", response.head);
    assert_eq!(response.header("content-type"), Some("application/json"));
    let json = response.json();
    assert!(json["status"] == "failed" && json["status_code"] == response.status(), "{json}");
    assert!(id_of(&response.head).starts_with("sbx_"));
    response
}

#[test]
fn an_unreadable_request_gets_the_error_body_of_the_service() {
    let sandbox = BlockingSandbox::start().unwrap();
    for (sent, status) in [
        ("\u{16}\u{3}\u{1} this is no HTTP\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), 400),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\nno colon\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\n{}\r\n", "x-a: b\r\n".repeat(300)), 431),
        (format!("GET / HTTP/1.1\r\nx-a: {}\r\n\r\n", "b".repeat(70_000)), 431),
        ("POST / HTTP/1.1\r\ncontent-length: 5\r\ncontent-length: 1\r\n\r\n12345".to_owned(), 400),
    ] {
        // On a new connection, and after a response.
        for is_used in [false, true] {
            let mut client = RawClient::connect(&sandbox);
            if is_used {
                assert_eq!(client.look_up(), 200);
            }
            client.send(&sent);
            assert_eq!(refused(&mut client).status(), status, "{}", &sent[..20]);
        }
    }
    assert_eq!(sandbox.gateway().requests().len(), 7);
}

#[test]
fn malformed_chunks_get_the_error_body_and_incomplete_ones_no_response() {
    let sandbox = BlockingSandbox::start().unwrap();
    let started = || {
        let mut client = RawClient::connect(&sandbox);
        let head = client.head("POST", "/token-transaction");
        client.send(&format!(
            "{head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{{\"Tok"
        ));
        client
    };
    for rest in ["\r\nno number\r\n", "too long", "\r\n5;extension\n", "\r\nfffffffffffffffffffff\r\n"] {
        let mut client = started();
        client.send(rest);
        let response = refused(&mut client);
        assert_eq!(response.status(), 400, "{rest}");
        assert!(response.json()["msg"].as_str().unwrap().contains("chunks"));
    }
    let mut client = started();
    client.close_sending_side();
    assert_eq!(client.read_to_end(), (Vec::new(), End::Closed));
    assert_eq!(sandbox.gateway().requests(), []);
}

#[test]
fn two_keys_are_refused() {
    let (sandbox, mut client) = start();
    let key = sandbox.api_key();
    // `RawClient::pay` sends the right key too.
    for other in ["wrong", key] {
        client.pay(&format!("authorization: {other}\r\n"));
        let response = client.response();
        assert_eq!(
            (response.status(), &response.json()["msg"]),
            (401, &"Unauthorized: Invalid API Key".into())
        );
    }
    sandbox.gateway().ledger().assert_nothing_charged();
}

#[test]
fn requests_before_unreadable_bytes_get_their_responses() {
    let sandbox = BlockingSandbox::start().unwrap();
    for _ in 0..50 {
        let mut client = RawClient::connect(&sandbox);
        let request = format!("{}\r\n", client.head("GET", "/customer/cus_1"));
        client.send(&format!("{request}{request}this is no HTTP\r\n\r\n"));
        assert_eq!([client.response().status(), client.response().status()], [200, 200]);
        assert_eq!(refused(&mut client).status(), 400);
    }
}
