//! A first payment: charge a card, and look the transaction up.
//!
//! Copy `program`. It reads the service's address and your API key from the environment.

#![allow(clippy::print_stdout, reason = "an example prints what it does")]

use std::env;

use anyhow::Context as _;
use payments_core::model::{Amount, Card, CardTransaction, ConvenienceFee, Payer, TransactionType};
use payments_core::{ApiKey, Client, Endpoint, Outcome};
use payments_hyper::{HyperTransport, TokioTimer};

#[tokio::main]
async fn program() -> anyhow::Result<()> {
    // Use one client for the whole program: it pools connections, and its clones share them.
    let key = ApiKey::new(&setting("PAYMENTS_API_KEY")?)?;
    let endpoint = Endpoint::new(&setting("PAYMENTS_BASE_URL")?, key)?;
    let client = Client::builder(endpoint, HyperTransport::builder().build()?, TokioTimer::new()).build();

    // Strings as typed in a form. `build` refuses invalid values before anything is sent.
    let card = Card { number: "4242 4242 4242 4242", cvv: "123", expiry: "12/30" };
    let payer = Payer {
        customer_name: "Ada Lovelace",
        email: "ada@example.com",
        country_code: "+1",
        phone_number: "415-555-0100",
        country: "US",
        postal_code: "94107",
        ip_address: "203.0.113.7",
    };
    let amount = Amount::from_cents(10_50);
    let sale = CardTransaction::builder(amount, TransactionType::Sale, ConvenienceFee::Inactive, card, payer)
        .build()?;

    let charged = match client.process_card(&sale).await {
        Ok(charged) => charged,
        Err(error) => {
            match error.outcome() {
                Outcome::NotProcessed => println!("nothing was charged, it may be sent again"),
                Outcome::Rejected => println!("the payment was rejected"),
                Outcome::Unknown => println!("it may be charged, do NOT send it again"),
            }
            return Err(error.into());
        }
    };
    println!("charged {amount}: transaction {}", charged.transaction_id);

    let found = client.transaction(&charged.transaction_id).await?;
    // A record's fields are read separately: a missing or unreadable field does not fail the lookup.
    if let (Some(amount), Some(card)) = (found.amount.value(), found.card_number.value()) {
        println!("looked up: {amount} of card {card}");
    }
    Ok(())
}

fn setting(name: &'static str) -> anyhow::Result<String> {
    env::var(name).context(name)
}

/// Only for the example: starts a sandbox, and runs the program above in another process.
fn main() -> anyhow::Result<()> {
    use payments_examples::{Program, show_ledger};
    use payments_fake::FakeGateway;
    use payments_sandbox::Sandbox;

    if Program::is_this_process() {
        return program();
    }
    let sandbox = Sandbox::builder().fresh_gateway(FakeGateway::builder().seed(7)).start_blocking()?;
    Program::with(&sandbox)?.run()?;

    let ledger = sandbox.gateway().ledger();
    show_ledger(&ledger);
    ledger.assert_charged_once(Amount::from_cents(10_50));
    Ok(())
}
