//! Tests that a call works without a runtime and on the threads of one.

use payments_core::Outcome;
use payments_core::blocking::Client;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_sandbox::{BlockingSandbox, Sandbox};
use tokio::task::spawn_blocking;

const AMOUNT: Amount = Amount::from_cents(10_50);

fn payment() -> TokenTransaction {
    TokenTransaction::builder("tok_approved", AMOUNT, ConvenienceFee::Inactive).build().unwrap()
}

/// Makes two payments over one connection, and one to a server that does not exist.
fn make_payments(sandbox: &BlockingSandbox) {
    let client: Client = payments_ureq::client(sandbox.endpoint()).unwrap();
    for _ in 0..2 {
        client.process_token(&payment()).unwrap();
    }
    let unreachable = "http://127.0.0.1:1/api/v1/public";
    let unreachable =
        payments_core::Endpoint::new(unreachable, payments_core::ApiKey::new("sk_test").unwrap()).unwrap();
    let error = payments_ureq::client(unreachable).unwrap().process_token(&payment()).unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotProcessed);
}

#[test]
fn a_call_works_without_a_runtime() {
    make_payments(&BlockingSandbox::start().unwrap());
}

#[tokio::test(flavor = "current_thread")]
async fn a_call_works_on_the_thread_of_a_current_thread_runtime() {
    // Started on another thread, because a blocking sandbox contains a runtime.
    let sandbox = spawn_blocking(|| BlockingSandbox::start().unwrap()).await.unwrap();
    make_payments(&sandbox);
    spawn_blocking(move || drop(sandbox)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_call_works_on_a_worker_thread() {
    let sandbox = spawn_blocking(|| BlockingSandbox::start().unwrap()).await.unwrap();
    let sandbox = tokio::spawn(async move {
        make_payments(&sandbox);
        sandbox
    });
    let sandbox = sandbox.await.unwrap();
    spawn_blocking(move || drop(sandbox)).await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn a_call_in_spawn_blocking_does_not_block_the_runtime() {
    // This sandbox runs on the runtime's only thread, so a call on that thread would not get a response.
    let sandbox = Sandbox::start().await.unwrap();
    let client = payments_ureq::client(sandbox.endpoint()).unwrap();
    spawn_blocking(move || client.process_token(&payment())).await.unwrap().unwrap();
    sandbox.gateway().ledger().assert_charged_once(AMOUNT);
}
