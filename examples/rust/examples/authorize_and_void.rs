//! An authorization: reserve an amount on a card, and void it when the order is canceled.
//!
//! Copy `payer_of` and `program`. The interface has no capture: an authorization can only be voided here.

#![allow(clippy::print_stdout, reason = "an example prints what it does")]

use std::env;

use anyhow::Context as _;
use payments_core::model::{Amount, Card, CardTransaction, ConvenienceFee, Payer, TransactionType, Void};
use payments_core::{ApiKey, Client, Endpoint, Outcome};
use payments_hyper::{HyperTransport, TokioTimer};

/// A customer in your own database.
struct Customer {
    name: String,
    email: String,
    dialing_prefix: String,
    phone: String,
    country: String,
    postal_code: String,
}

/// A `Payer` borrows its texts, so a function can fill it from a record of yours.
fn payer_of<'a>(customer: &'a Customer, ip_address: &'a str) -> Payer<'a> {
    Payer {
        customer_name: &customer.name,
        email: &customer.email,
        country_code: &customer.dialing_prefix,
        phone_number: &customer.phone,
        country: &customer.country,
        postal_code: &customer.postal_code,
        ip_address,
    }
}

#[tokio::main]
async fn program() -> anyhow::Result<()> {
    let key = ApiKey::new(&setting("PAYMENTS_API_KEY")?)?;
    let endpoint = Endpoint::new(&setting("PAYMENTS_BASE_URL")?, key)?;
    let client = Client::builder(endpoint, HyperTransport::builder().build()?, TokioTimer::new()).build();

    let customer = Customer {
        name: "Ada Lovelace".to_owned(),
        email: "ada@example.com".to_owned(),
        dialing_prefix: "+1".to_owned(),
        phone: "415-555-0100".to_owned(),
        country: "US".to_owned(),
        postal_code: "94107".to_owned(),
    };
    let card = Card { number: "4242 4242 4242 4242", cvv: "123", expiry: "12/30" };
    let (amount, fee) = (Amount::from_cents(99_00), ConvenienceFee::Inactive);
    let payer = payer_of(&customer, "203.0.113.7");
    let hold = CardTransaction::builder(amount, TransactionType::Auth, fee, card, payer).build()?;

    let reserved = client.process_card(&hold).await?;
    println!("reserved {amount}: transaction {}", reserved.transaction_id);

    // The customer cancels.
    let void = Void::new(reserved.transaction_id.clone()).with_reason("order 17 was canceled")?;
    match client.void(&void).await {
        Ok(voided) => println!("voided {}", voided.transaction_id),
        Err(error) => match error.outcome() {
            Outcome::NotProcessed => println!("nothing was voided, it may be sent again: {error:#}"),
            Outcome::Rejected => println!("the service refused the void, look the transaction up: {error:#}"),
            Outcome::Unknown => println!("it may be voided, a person must look: {error:#}"),
        },
    }
    Ok(())
}

fn setting(name: &'static str) -> anyhow::Result<String> {
    env::var(name).context(name)
}

/// Only for the example: starts a sandbox, and runs the program above in another process.
fn main() -> anyhow::Result<()> {
    use payments_examples::{Program, show_ledger};
    use payments_fake::{EntryKind, FakeGateway};
    use payments_sandbox::Sandbox;

    if Program::is_this_process() {
        return program();
    }
    let sandbox = Sandbox::builder().fresh_gateway(FakeGateway::builder().seed(7)).start_blocking()?;
    Program::with(&sandbox)?.run()?;

    let ledger = sandbox.gateway().ledger();
    show_ledger(&ledger);
    assert_eq!(ledger.entries()[0].kind, EntryKind::Authorization);
    assert_eq!(ledger.charged().count(), 0);
    Ok(())
}
