//! A log of each payment with `tracing`: one line for each attempt, at a level that depends on its outcome.
//!
//! Copy `program`. In `Cargo.toml`, enable the feature `tracing` of `payments-core`, and add any subscriber. With a journal,
//! also enable the feature `tracing` of `payments-journal`, so that each line has the key.

use std::env;

use anyhow::Context as _;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{ApiKey, Client, Endpoint, Outcome, TracingObserver};
use payments_hyper::{HyperTransport, TokioTimer};
use tracing::{Instrument, error, info, info_span, warn};

#[tokio::main]
async fn program() -> anyhow::Result<()> {
    // Alert on ERROR of the target `payments`: it is an unknown outcome, which a person must resolve.
    tracing_subscriber::fmt().with_max_level(tracing::Level::INFO).init();

    let key = ApiKey::new(&setting("PAYMENTS_API_KEY")?)?;
    let endpoint = Endpoint::new(&setting("PAYMENTS_BASE_URL")?, key)?;
    let client = Client::builder(endpoint, HyperTransport::builder().build()?, TokioTimer::new())
        .observer(TracingObserver::new())
        .build();

    // The span adds the order's number to each line.
    for (order, token) in [(1, "tok_approved"), (2, "tok_declined"), (3, "tok_approved")] {
        pay(&client, token).instrument(info_span!("order", number = order)).await?;
    }
    Ok(())
}

async fn pay(client: &Client, token: &str) -> anyhow::Result<()> {
    let amount = Amount::from_cents(10_50);
    let payment = TokenTransaction::builder(token, amount, ConvenienceFee::Inactive).build()?;
    // The observer logs the attempt. These lines log the program's own actions.
    match client.process_token(&payment).await {
        Ok(_) => info!("shipped"),
        Err(error) if error.outcome() == Outcome::Unknown => error!("parked for a person"),
        Err(error) if error.is_decline() => warn!("asking the customer for another card"),
        Err(_) => warn!("not paid, and no other card helps"),
    }
    Ok(())
}

fn setting(name: &'static str) -> anyhow::Result<String> {
    env::var(name).context(name)
}

/// Only for the example: starts a sandbox, and runs the program above in another process.
fn main() -> anyhow::Result<()> {
    use payments_core::OperationName;
    use payments_examples::Program;
    use payments_fake::{FakeGateway, Fault};
    use payments_sandbox::Sandbox;

    if Program::is_this_process() {
        return program();
    }
    let sandbox = Sandbox::builder().fresh_gateway(FakeGateway::builder().seed(7)).start_blocking()?;
    sandbox.gateway().arm(Fault::response_lost(OperationName::TokenTransaction).skip(2));
    let output = Program::with(&sandbox)?.run()?;

    // The program does not know that the last order was charged, and the log has one alert.
    assert_eq!(sandbox.gateway().ledger().charged().count(), 2);
    let alerts = output.iter().filter(|line| line.contains("ERROR") && line.contains(" payments: "));
    assert_eq!(alerts.count(), 1, "one of the two charges has an unknown outcome");
    Ok(())
}
