//! Charge, look up, and retry only a charge that was not processed. A lookup that fails charges nobody twice.
//!
//! Copy `program`; its environment has the service's address and your key.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

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

    // A `LookupError` has no outcome: whatever went wrong here says nothing about the charge.
    match client.transaction(&charged.transaction_id).await {
        Ok(_) => println!("looked up"),
        Err(error) => println!("the lookup failed ({}), and the charge stands", error.code()),
    }
    Ok(())
}

/// Three attempts at most, and another one only where nothing can have been charged.
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

/// Only for the example: a sandbox in the service's place whose lookups fail, and the program above in a process of its own.
fn main() -> anyhow::Result<()> {
    use http::StatusCode;
    use payments_core::OperationName;
    use payments_examples::{Program, show_books};
    use payments_fake::Fault;
    use payments_sandbox::Sandbox;

    if Program::is_this_process() {
        return program();
    }
    let sandbox = Sandbox::builder().seed(7).start_blocking()?;
    let lookups = Fault::on(OperationName::GetTransaction).before_commit();
    sandbox.gateway().arm(lookups.status(StatusCode::BAD_GATEWAY).times(3));
    Program::with(&sandbox)?.run()?;

    let ledger = sandbox.gateway().ledger();
    show_books(&ledger);
    ledger.assert_charged_once(Amount::from_cents(10_50));
    Ok(())
}
