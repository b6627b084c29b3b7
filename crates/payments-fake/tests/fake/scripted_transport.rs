//! A transport that returns scripted responses.

use std::time::Duration;

use payments_core::{Client, ErrorKind, Outcome, TransportError, TransportErrorKind};
use payments_fake::{FakeGateway, ManualClock, ScriptedTransport, block_on};

use crate::support::*;

fn client(script: &ScriptedTransport) -> Client {
    Client::builder(FakeGateway::new().endpoint(), script.clone(), ManualClock::auto()).build()
}

#[test]
fn it_runs_its_steps_in_order_and_records_the_requests() {
    let script = ScriptedTransport::new()
        .respond_json(200, r#"{"status_code":100,"data":{"TransactionId":"txn_1"}}"#)
        .fail(TransportError::not_processed(TransportErrorKind::Resolve))
        .respond(http::Response::builder().status(503).body("busy".into()).unwrap());
    let client = client(&script);
    let pay = || block_on(client.process_token(&token("tok_1")));
    assert_eq!(pay().unwrap().transaction_id.as_str(), "txn_1");
    assert_eq!(pay().unwrap_err().outcome(), Outcome::NotProcessed);
    assert_eq!(pay().unwrap_err().outcome(), Outcome::Unknown);
    assert_eq!(script.requests().len(), 3);
    assert_eq!(script.requests()[2].field("TokenId").as_deref(), Some("tok_1"));
    assert_eq!(script.requests()[2].headers["authorization"], "[redacted]");
}

#[test]
fn a_transport_that_ignores_its_deadline_cannot_hang_a_payment_d23() {
    let clock = ManualClock::auto();
    let script = ScriptedTransport::new().hang();
    let client = Client::builder(FakeGateway::new().endpoint(), script, clock.clone()).build();
    let error = block_on(client.process_card(&sale())).unwrap_err();
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, ErrorKind::TimedOut));
    assert!(clock.elapsed() > Duration::from_mins(1));
}

#[test]
fn an_unused_step_fails_the_test() {
    let script = ScriptedTransport::new().hang().hang();
    let other = script.clone();
    drop(script);
    assert_eq!(panic_message(|| drop(other)), "steps of the script that no request reached: 2");
    let message = panic_message(|| {
        let _script = ScriptedTransport::new().hang();
        panic!("the test's own failure");
    });
    assert_eq!(message, "the test's own failure");
}

#[test]
#[should_panic(expected = "the script has no response left for a request: transaction")]
fn an_extra_request_fails_the_test() {
    let _ = block_on(client(&ScriptedTransport::new()).process_card(&sale()));
}
