//! A payment whose response is lost has an unknown outcome.

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{OperationName, Outcome};
use payments_fake::Fault;
use payments_sandbox::Sandbox;

#[tokio::test]
async fn a_lost_response_is_unknown_and_the_payment_is_charged_once() {
    let sandbox = Sandbox::start().await.unwrap();
    sandbox.gateway().arm(Fault::response_lost(OperationName::TokenTransaction));
    let client = payments_reqwest::client(sandbox.endpoint()).unwrap();

    let amount = Amount::from_cents(10_50);
    let payment =
        TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive).build().unwrap();
    let error = client.process_token(&payment).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
    sandbox.gateway().ledger().assert_charged_once(amount);
}
