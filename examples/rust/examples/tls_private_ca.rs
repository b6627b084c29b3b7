//! A service whose certificate comes from the company's own authority: trust that one alone, or beside the public ones.
//!
//! Copy `program`, with one of the two ways. There is no setting that switches the verification off.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::{env, fs};

use anyhow::Context as _;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{ApiKey, Client, Endpoint, Outcome};
use payments_hyper::{HyperTransport, HyperTransportBuilder, TokioTimer};

#[tokio::main]
async fn program() -> anyhow::Result<()> {
    let base_url = setting("PAYMENTS_BASE_URL")?;
    // The certificate of the authority, or several of them, in PEM; a wrong file is an error of `build`.
    let authority = fs::read(setting("PAYMENTS_CA_CERT")?)?;

    println!("the public authorities alone:");
    pay(&base_url, HyperTransport::builder()).await?;

    println!("this authority and no public one, the narrowest:");
    pay(&base_url, HyperTransport::builder().only_root_certificates_pem(&authority)).await?;

    println!("this authority beside the public ones:");
    pay(&base_url, HyperTransport::builder().root_certificates_pem(&authority)).await?;

    // Another server, whose certificate another private authority made.
    let elsewhere = setting("ANOTHER_BASE_URL")?;
    println!("this authority, and a server of another one:");
    pay(&elsewhere, HyperTransport::builder().only_root_certificates_pem(&authority)).await
}

async fn pay(base_url: &str, transport: HyperTransportBuilder) -> anyhow::Result<()> {
    let endpoint = Endpoint::new(base_url, ApiKey::new(&setting("PAYMENTS_API_KEY")?)?)?;
    let client = Client::builder(endpoint, transport.build()?, TokioTimer::new()).build();
    let amount = Amount::from_cents(10_50);
    let payment = TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive).build()?;
    match client.process_token(&payment).await {
        Ok(charged) => println!("  processed: transaction {}", charged.transaction_id),
        // The handshake comes before the request: not even the API key has left.
        Err(error) if error.outcome() == Outcome::NotProcessed => println!("  NOT PROCESSED: {error:#}"),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

fn setting(name: &'static str) -> anyhow::Result<String> {
    env::var(name).context(name)
}

/// Only for the example: two sandboxes with TLS, each with an authority of its own, and the program above in a process of
/// its own.
fn main() -> anyhow::Result<()> {
    use payments_examples::{Program, show_books};
    use payments_sandbox::Sandbox;

    if Program::is_this_process() {
        return program();
    }
    let sandbox = Sandbox::builder().tls().seed(7).start_blocking()?;
    let elsewhere = Sandbox::builder().tls().start_blocking()?;
    let folder = tempfile::tempdir()?;
    let authority = folder.path().join("authority.pem");
    fs::write(&authority, sandbox.ca_certificate_pem().context("a sandbox with TLS has an authority")?)?;
    Program::with(&sandbox)?
        .env("PAYMENTS_CA_CERT", authority)
        .env("ANOTHER_BASE_URL", elsewhere.base_url())
        .run()?;

    let ledger = sandbox.gateway().ledger();
    show_books(&ledger);
    assert_eq!(ledger.charged().count(), 2, "a payment was made without trust, or was not made with it");
    assert!(elsewhere.gateway().requests().is_empty(), "a server that is not trusted was sent a request");
    Ok(())
}
