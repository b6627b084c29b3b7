//! What a log says of each payment, with `tracing`: one line for each attempt, at the level that its outcome deserves.
//!
//! Copy `program`. In `Cargo.toml`: `payments-core` with its feature `tracing`, and any subscriber that you like. With a journal,
//! `payments-journal` with its feature `tracing`: then each line has the key, too.

use std::env;

use anyhow::Context as _;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{ApiKey, Client, Endpoint, Outcome, TracingObserver};
use payments_hyper::{HyperTransport, TokioTimer};
use tracing::{Instrument, error, info, info_span, warn};

#[tokio::main]
async fn program() -> anyhow::Result<()> {
    // Raise an alarm on ERROR of the target `payments`: it is an outcome that only a person can find out.
    tracing_subscriber::fmt().with_max_level(tracing::Level::INFO).init();

    let key = ApiKey::new(&setting("PAYMENTS_API_KEY")?)?;
    let endpoint = Endpoint::new(&setting("PAYMENTS_BASE_URL")?, key)?;
    let client = Client::builder(endpoint, HyperTransport::builder().build()?, TokioTimer::new())
        .observer(TracingObserver::new())
        .build();

    // The span gives each line the order that it is about.
    for (order, token) in [(1, "tok_approved"), (2, "tok_declined"), (3, "tok_approved")] {
        pay(&client, token).instrument(info_span!("order", number = order)).await?;
    }
    Ok(())
}

async fn pay(client: &Client, token: &str) -> anyhow::Result<()> {
    let amount = Amount::from_cents(10_50);
    let payment = TokenTransaction::builder(token, amount, ConvenienceFee::Inactive).build()?;
    // The attempt is logged by the observer. These lines are the program's own: what it does about it.
    match client.process_token(&payment).await {
        Ok(_) => info!("shipped"),
        Err(error) if error.outcome() == Outcome::Unknown => error!("parked for a person"),
        Err(_) => warn!("the customer is asked for another card"),
    }
    Ok(())
}

fn setting(name: &'static str) -> anyhow::Result<String> {
    env::var(name).context(name)
}

/// Only for the example: a sandbox in the service's place, and the program above in a process of its own.
fn main() -> anyhow::Result<()> {
    use payments_core::OperationName;
    use payments_examples::Program;
    use payments_fake::Fault;
    use payments_sandbox::Sandbox;

    if Program::is_this_process() {
        return program();
    }
    let sandbox = Sandbox::builder().seed(7).start_blocking()?;
    sandbox.gateway().arm(Fault::response_lost(OperationName::TokenTransaction).nth(3));
    let said = Program::with(&sandbox)?.run()?;

    // Somebody was charged of whom the program does not know, and the log raises the alarm.
    assert_eq!(sandbox.gateway().ledger().charged().count(), 2);
    let alarms = said.iter().filter(|line| line.contains("ERROR") && line.contains(" payments: "));
    assert_eq!(alarms.count(), 1, "one of the two charges is of unknown outcome");
    Ok(())
}
