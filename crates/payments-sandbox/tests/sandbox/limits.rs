//! What a client cannot do to the server.

use payments_fake::RecordedRequest;
use payments_sandbox::{BlockingSandbox, Sandbox};

use crate::raw_client::{RawClient, TOKEN_PAYMENT};

#[test]
fn d37_a_body_over_64_kib_is_too_large_and_the_connection_goes_on() {
    let sandbox = BlockingSandbox::start().unwrap();
    let padded = |length: usize| format!("{TOKEN_PAYMENT}{}", " ".repeat(length - TOKEN_PAYMENT.len()));
    let mut client = RawClient::connect(&sandbox);
    for (length, status) in [(64 * 1024, 200), (64 * 1024 + 1, 413), (8 * 1024 * 1024, 413), (100, 200)] {
        client.post("/token-transaction", &padded(length));
        let answer = client.answer();
        assert_eq!(answer.status(), status, "{length} bytes");
        assert_eq!(answer.json()["status"], if status == 200 { "success" } else { "failed" });
    }
    assert_eq!(sandbox.gateway().ledger().entries().len(), 2);
    let kept: Vec<_> = sandbox.gateway().requests().iter().map(RecordedRequest::body_length).collect();
    assert_eq!(kept, [65_536, 65_537, 65_537, 100], "no more is kept than it takes to refuse it");
}

#[test]
fn a_head_of_more_than_64_kib_is_too_large_and_is_not_kept() {
    let sandbox = BlockingSandbox::start().unwrap();
    let of_length = |length: usize| format!("x-long: {}\r\n", "a".repeat(length));
    let mut client = RawClient::connect(&sandbox);
    let target = "/api/v1/public/customer/cus_1";
    assert_eq!(client.ask("GET", target, &of_length(60 * 1024), "").status(), 200);
    assert_eq!(client.ask("GET", target, &of_length(70 * 1024), "").status(), 431);
    assert_eq!(sandbox.gateway().requests().len(), 1);
}

#[test]
fn a_request_that_breaks_off_is_none() {
    let sandbox = BlockingSandbox::start().unwrap();
    let mut client = RawClient::connect(&sandbox);
    let head = client.head("POST", "/token-transaction");
    client.send(&format!(
        "{head}content-type: application/json\r\ncontent-length: 4096\r\n\r\n{TOKEN_PAYMENT}"
    ));
    drop(client);
    let gateway = sandbox.gateway().clone();
    drop(sandbox);
    assert_eq!(gateway.requests(), []);
    gateway.ledger().assert_nothing_charged();
}

#[test]
fn a_connection_over_the_limit_waits_until_another_is_closed() {
    let sandbox = Sandbox::builder().max_connections(1).start_blocking().unwrap();
    let mut first = RawClient::connect(&sandbox);
    first.get("/customer/cus_1");
    first.answer();
    let mut second = RawClient::connect(&sandbox);
    second.get("/customer/cus_1");
    first.get("/customer/cus_1");
    first.answer();
    assert!(second.is_silent());
    assert_eq!(sandbox.gateway().requests().len(), 2);
    drop(first);
    assert_eq!(second.answer().status(), 200);
}
