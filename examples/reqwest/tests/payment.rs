//! The program of this example runs, and a payment whose answer is lost is an unknown one.

use std::process::Command;

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{Client, OperationName, Outcome};
use payments_example_reqwest::{ReqwestTransport, TokioTimer};
use payments_fake::Fault;
use payments_sandbox::Sandbox;
use rustls::RootCertStore;

#[test]
fn the_program_makes_its_payment() {
    let program = Command::new(env!("CARGO_BIN_EXE_payments-example-reqwest")).output().unwrap();
    let told = String::from_utf8(program.stdout).unwrap();
    assert!(program.status.success() && told.starts_with("processed over https://"), "{told}");
}

#[tokio::test]
async fn a_lost_answer_is_unknown_and_the_payment_was_made_once() {
    let sandbox = Sandbox::start().await.unwrap();
    sandbox.gateway().arm(Fault::response_lost(OperationName::TokenTransaction));
    let transport = ReqwestTransport::new(RootCertStore::empty()).unwrap();
    let client = Client::builder(sandbox.endpoint(), transport, TokioTimer).build();

    let amount = Amount::from_cents(10_50);
    let payment =
        TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive).build().unwrap();
    let error = client.process_token(&payment).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
    sandbox.gateway().ledger().assert_charged_once(amount);
}
