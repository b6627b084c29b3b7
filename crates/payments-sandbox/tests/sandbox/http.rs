//! What HTTP asks of a server, and where servers usually are not faithful.

use std::collections::HashSet;

use payments_core::model::Amount;
use payments_sandbox::{BlockingSandbox, Sandbox};

use crate::raw_client::{End, RawAnswer, RawClient, TOKEN_PAYMENT};

fn start() -> (BlockingSandbox, RawClient) {
    let sandbox = Sandbox::builder().ignore_unfired_faults().start_blocking().unwrap();
    let client = RawClient::connect(&sandbox);
    (sandbox, client)
}

fn id_of(head: &str) -> String {
    let version = head.lines().find_map(|line| line.strip_prefix("sandbox-version: "));
    assert_eq!(version, Some(payments_sandbox::VERSION), "{head}");
    let mut ids = head.lines().filter_map(|line| line.strip_prefix("x-request-id: "));
    let id = ids.next().unwrap_or_else(|| panic!("no id: {head}"));
    assert_eq!(ids.next(), None, "{head}");
    id.to_owned()
}

#[test]
fn every_answer_has_an_id_of_its_own_and_the_version() {
    let (sandbox, mut client) = start();
    let mut ids = HashSet::new();
    let mut note = |head: &str| assert!(ids.insert(id_of(head)), "the id of {head} was given before");
    let service = "/api/v1/public";
    for _ in 0..150 {
        for (method, target, headers, body) in [
            ("POST", "/api/v1/public/token-transaction", "", TOKEN_PAYMENT),
            ("POST", "/api/v1/public/token-transaction", "", "{"),
            ("GET", "/api/v1/public/customer/cus_1", "", ""),
            ("GET", "/api/v1/public/customer/cus_2", "", ""),
            ("GET", "/api/v1/public/customer/cus_1", "sandbox-fault: late=html\r\n", ""),
            ("GET", "/api/v1/public/customer/cus_1", "sandbox-fault: late=html;status=200\r\n", ""),
            ("GET", "/api/v1/public/customer/cus_1", "sandbox-fault: late=status;status=429\r\n", ""),
            ("GET", "/api/v1/public/customer/cus_1", "sandbox-fault: late=wrong_shape\r\n", ""),
            ("GET", "/api/v1/public/customer/cus_1", "sandbox-fault: nonsense\r\n", ""),
            ("GET", "/api/v1/public/customer/cus_1", "sandbox-fault: after_commit=delay;delay_ms=0\r\n", ""),
            ("GET", "/api/v1/public/customer/cus_1", "x-request-id: mine\r\n", ""),
            ("DELETE", "/api/v1/public/void", "", ""),
            ("GET", "/elsewhere", "", ""),
            ("GET", "/_sandbox/health", "", ""),
            ("GET", "/_sandbox/nowhere", "", ""),
            ("PUT", "/_sandbox/state", "", ""),
            ("POST", "/_sandbox/tokens", "", "{}"),
        ] {
            note(&client.ask(method, target, headers, body).head);
        }
    }
    note(&client.ask("POST", &format!("{service}/void"), "", &" ".repeat(70_000)).head);
    note(&client.ask("POST", "/_sandbox/tokens", "", &" ".repeat(1_100_000)).head);
    for kind in ["truncate;bytes=1", "drip;bytes=999;delay_ms=1"] {
        for _ in 0..20 {
            let mut client = RawClient::connect(&sandbox);
            let head = client.head("GET", "/customer/cus_1");
            client.send(&format!("{head}sandbox-fault: after_commit={kind}\r\n\r\n"));
            note(&client.read_head());
        }
    }
    assert_eq!(ids.len(), 150 * 17 + 2 + 40);
}

#[test]
fn a_body_may_come_in_chunks() {
    let (sandbox, mut client) = start();
    let head = client.head("POST", "/token-transaction");
    let chunks: Vec<_> = TOKEN_PAYMENT
        .as_bytes()
        .chunks(7)
        .map(|chunk| format!("{:x};extension=1\r\n{}\r\n", chunk.len(), std::str::from_utf8(chunk).unwrap()))
        .collect();
    let chunked = chunks.concat();
    for trailer in ["", "x-trailer: 1\r\n"] {
        client.send(&format!(
            "{head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{chunked}0\r\n{trailer}\r\n"
        ));
        assert_eq!(client.answer().status(), 200);
    }
    sandbox.gateway().ledger().assert_charged_total(Amount::from_cents(21_00));
}

#[test]
fn a_chunked_body_that_is_too_large_is_refused_and_the_connection_goes_on() {
    let (sandbox, mut client) = start();
    let head = client.head("POST", "/token-transaction");
    let chunk = format!("{:x}\r\n{}\r\n", 40_000, " ".repeat(40_000));
    client.send(&format!(
        "{head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{chunk}{chunk}0\r\n\r\n"
    ));
    assert_eq!(client.answer().status(), 413);
    client.post("/token-transaction", TOKEN_PAYMENT);
    assert_eq!(client.answer().status(), 200);
    sandbox.gateway().ledger().assert_charged_once(Amount::from_cents(10_50));
}

#[test]
fn two_lengths_are_no_request() {
    let (sandbox, mut client) = start();
    let head = client.head("POST", "/token-transaction");
    let length = TOKEN_PAYMENT.len();
    client.send(&format!(
        "{head}content-type: application/json\r\ncontent-length: {length}\r\ncontent-length: 1\r\n\r\n{TOKEN_PAYMENT}"
    ));
    let (bytes, end) = client.read_to_end();
    assert!(bytes.is_empty() || bytes.starts_with(b"HTTP/1.1 400"), "{}", String::from_utf8_lossy(&bytes));
    assert_eq!(end, End::Closed);
    sandbox.gateway().ledger().assert_nothing_charged();
}

/// An answer to HEAD has the length of a body that does not come.
fn head_of(client: &mut RawClient, target: &str) -> RawAnswer {
    client.send(&format!("HEAD {target} HTTP/1.1\r\nhost: localhost\r\n\r\n"));
    RawAnswer { head: client.read_head(), body: Vec::new() }
}

#[test]
fn head_and_options_are_wrong_methods() {
    let (_sandbox, mut client) = start();
    for (path, allowed) in [("/transaction", "POST"), ("/customer/cus_1", "GET"), ("/void", "POST")] {
        let target = format!("/api/v1/public{path}");
        let head = head_of(&mut client, &target);
        assert_eq!((head.status(), head.header("allow")), (405, Some(allowed)));
        let options = client.ask("OPTIONS", &target, "", "");
        assert_eq!((options.status(), options.header("allow")), (405, Some(allowed)));
        assert_eq!(options.json()["msg"], "Method not allowed");
    }
    assert_eq!(head_of(&mut client, "/_sandbox/health").status(), 405);
    assert_eq!(client.ask("OPTIONS", "*", "", "").status(), 404);
}

#[test]
fn http_1_0_is_answered_and_closed() {
    let (_sandbox, mut client) = start();
    let key = payments_fake::FakeGateway::API_KEY;
    client.send(&format!("GET /api/v1/public/customer/cus_1 HTTP/1.0\r\nauthorization: {key}\r\n\r\n"));
    let (bytes, end) = client.read_to_end();
    let answer = String::from_utf8(bytes).unwrap();
    assert!(
        answer.starts_with("HTTP/1.0 200 OK\r\n") && answer.contains("\"CustomerId\":\"cus_1\""),
        "{answer}"
    );
    assert_eq!(end, End::Closed);
}

#[test]
fn a_client_that_wants_to_go_is_let_go_after_its_answer() {
    let (_sandbox, mut client) = start();
    let answer = client.ask("GET", "/_sandbox/health", "connection: close\r\n", "");
    assert_eq!((answer.status(), answer.header("connection")), (200, Some("close")));
    assert_eq!(client.read_to_end(), (Vec::new(), End::Closed));
}

#[test]
fn many_requests_written_at_once_are_answered_in_their_order() {
    let (_sandbox, mut client) = start();
    let head = client.head("GET", "/customer/cus_");
    let (before, after) = head.split_once("cus_").unwrap();
    let all: Vec<_> = (1..=50).map(|number| format!("{before}cus_{number}{after}\r\n")).collect();
    client.send(&all.concat());
    assert_eq!(client.answer().status(), 200);
    for _ in 2..=50 {
        assert_eq!(client.answer().status(), 404);
    }
}

#[test]
fn an_expected_body_that_never_comes_is_no_request() {
    let (sandbox, mut client) = start();
    let head = client.head("POST", "/token-transaction");
    client.send(&format!(
        "{head}content-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 80\r\n\r\n"
    ));
    assert_eq!(client.read_head(), "HTTP/1.1 100 Continue\r\n\r\n");
    drop(client);
    let gateway = sandbox.gateway().clone();
    drop(sandbox);
    assert_eq!(gateway.requests(), []);
}

#[test]
fn an_answer_without_a_body_has_none_whichever_fault_asks_for_it() {
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
                client.ask("GET", "/_sandbox/health", "", "").status(),
                200,
                "the next answer begins where it should"
            );
        }
    }
}

#[test]
fn a_client_that_closes_its_sending_side_is_answered_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for builder in [Sandbox::builder(), Sandbox::builder().data(folder.path().join("sandbox.db"))] {
        let sandbox = builder.start_blocking().unwrap();
        for _ in 0..50 {
            let mut client = RawClient::connect(&sandbox);
            client.post("/token-transaction", TOKEN_PAYMENT);
            client.close_sending_side();
            assert_eq!(client.answer().status(), 200);
            assert_eq!(client.read_to_end(), (Vec::new(), End::Closed));
        }
        assert_eq!(sandbox.gateway().ledger().entries().len(), 50);
    }
}

/// The one answer to what was sent, after which the connection is closed.
fn refused(client: &mut RawClient) -> RawAnswer {
    let answer = client.answer();
    assert_eq!(client.read_to_end(), (Vec::new(), End::Closed));
    assert_eq!(answer.header("connection"), Some("close"), "{}", answer.head);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let json = answer.json();
    assert_eq!(
        (&json["status"], &json["status_code"]),
        (&"failed".into(), &answer.status().into()),
        "{json}"
    );
    assert!(id_of(&answer.head).starts_with("sbx_"));
    answer
}

#[test]
fn what_cannot_be_read_as_a_request_is_refused_in_the_shape_of_the_service() {
    let sandbox = BlockingSandbox::start().unwrap();
    for (sent, status) in [
        ("\u{16}\u{3}\u{1} this is no HTTP\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\nno colon\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\n{}\r\n", "x-a: b\r\n".repeat(300)), 431),
        (format!("GET / HTTP/1.1\r\nx-a: {}\r\n\r\n", "b".repeat(70_000)), 431),
    ] {
        // On a fresh connection, and after an answer.
        for asks_before in [false, true] {
            let mut client = RawClient::connect(&sandbox);
            if asks_before {
                client.get("/customer/cus_1");
                assert_eq!(client.answer().status(), 200);
            }
            client.send(&sent);
            assert_eq!(refused(&mut client).status(), status, "{}", &sent[..20]);
        }
    }
    assert_eq!(sandbox.gateway().requests().len(), 5);
}

#[test]
fn malformed_chunks_are_refused_in_the_shape_of_the_service_and_broken_off_ones_are_not_answered() {
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
        let answer = refused(&mut client);
        assert_eq!(answer.status(), 400, "{rest}");
        assert!(answer.json()["msg"].as_str().unwrap().contains("chunks"));
    }
    let mut client = started();
    client.close_sending_side();
    assert_eq!(client.read_to_end(), (Vec::new(), End::Closed));
    assert_eq!(sandbox.gateway().requests(), []);
}

#[test]
fn two_keys_are_none() {
    let (sandbox, mut client) = start();
    let key = sandbox.api_key();
    // `ask` sends the right one as well.
    for other in ["wrong", &key] {
        let answer = client.ask(
            "POST",
            "/api/v1/public/token-transaction",
            &format!("authorization: {other}\r\n"),
            TOKEN_PAYMENT,
        );
        assert_eq!(
            (answer.status(), &answer.json()["msg"]),
            (401, &"Unauthorized: Invalid API Key".into()),
            "{other}"
        );
    }
    sandbox.gateway().ledger().assert_nothing_charged();
}

#[test]
fn what_was_asked_before_it_is_answered_although_it_came_at_once_with_what_is_no_request() {
    let sandbox = BlockingSandbox::start().unwrap();
    for _ in 0..50 {
        let mut client = RawClient::connect(&sandbox);
        let asked = format!("{}\r\n", client.head("GET", "/customer/cus_1"));
        client.send(&format!("{asked}{asked}this is no HTTP\r\n\r\n"));
        assert_eq!([client.answer().status(), client.answer().status()], [200, 200]);
        assert_eq!(refused(&mut client).status(), 400);
    }
}
