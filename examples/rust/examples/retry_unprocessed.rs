//! Charge, look up, and retry only a charge that was not processed. A failed lookup never causes a second charge.
//!
//! Copy `program`. It reads the service's address and your API key from the environment.

#![allow(clippy::print_stdout, reason = "an example prints what it does")]

use std::env;

use anyhow::Context as _;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, TransactionReceipt};
use payments_core::{ApiKey, Client, Endpoint, Error, Outcome, Success};
use payments_hyper::{HyperTransport, TokioTimer};

#[tokio::main]
async fn program() -> anyhow::Result<()> {
    let key = ApiKey::new(&setting("PAYMENTS_API_KEY")?)?;
    let endpoint = Endpoint::new(&setting("PAYMENTS_BASE_URL")?, key)?;
    let client = Client::builder(endpoint, HyperTransport::builder().build()?, TokioTimer::new()).build();

    let amount = Amount::from_cents(10_50);
    let payment = TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive).build()?;
    let charged = charge(&client, &payment).await?;
    println!("charged {amount}");

    // A `LookupError` has no outcome, because a failed lookup says nothing about the charge.
    match client.transaction(&charged.transaction_id).await {
        Ok(_) => println!("looked up"),
        Err(error) => println!("the lookup failed ({}), but the charge succeeded", error.kind()),
    }
    Ok(())
}

/// Makes up to three attempts, and retries only if nothing can have been charged.
async fn charge(client: &Client, payment: &TokenTransaction) -> Result<Success<TransactionReceipt>, Error> {
    let mut attempt = 1;
    loop {
        match client.process_token(payment).await {
            Err(error) if error.outcome() == Outcome::NotProcessed && attempt < 3 => attempt += 1,
            result => return result,
        }
    }
}

fn setting(name: &'static str) -> anyhow::Result<String> {
    env::var(name).context(name)
}

/// Only for the example: starts a sandbox whose lookups fail, and runs the program above in another process.
fn main() -> anyhow::Result<()> {
    use http::StatusCode;
    use payments_core::OperationName;
    use payments_examples::{Program, show_ledger};
    use payments_fake::{FakeGateway, Fault};
    use payments_sandbox::Sandbox;

    if Program::is_this_process() {
        return program();
    }
    let sandbox = Sandbox::builder().fresh_gateway(FakeGateway::builder().seed(7)).start_blocking()?;
    let lookups = Fault::on(OperationName::GetTransaction).before_commit();
    sandbox.gateway().arm(lookups.status(StatusCode::BAD_GATEWAY).times(3));
    Program::with(&sandbox)?.run()?;

    let ledger = sandbox.gateway().ledger();
    show_ledger(&ledger);
    ledger.assert_charged_once(Amount::from_cents(10_50));
    Ok(())
}
