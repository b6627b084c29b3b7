//! A service with a certificate from a private authority: trust only that authority, or the public ones too.
//!
//! Copy `program` with one of the two ways. No setting switches certificate verification off.

#![allow(clippy::print_stdout, reason = "an example prints what it does")]

use std::{env, fs};

use anyhow::Context as _;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{ApiKey, Client, Endpoint, Outcome};
use payments_hyper::{HyperTransport, HyperTransportBuilder, TokioTimer};

#[tokio::main]
async fn program() -> anyhow::Result<()> {
    let base_url = setting("PAYMENTS_BASE_URL")?;
    // One or more authority certificates in PEM. With a wrong file, `build` fails.
    let authority = fs::read(setting("PAYMENTS_CA_CERT")?)?;

    println!("only the public authorities:");
    pay(&base_url, HyperTransport::builder()).await?;

    println!("only the private authority, which is the strictest:");
    pay(&base_url, HyperTransport::builder().only_root_certificates_pem(&authority)).await?;

    println!("the private authority and the public ones:");
    pay(&base_url, HyperTransport::builder().root_certificates_pem(&authority)).await?;

    // Another server, with a certificate from another private authority.
    let elsewhere = setting("ANOTHER_BASE_URL")?;
    println!("only the private authority, and a server of another authority:");
    pay(&elsewhere, HyperTransport::builder().only_root_certificates_pem(&authority)).await
}

async fn pay(base_url: &str, transport: HyperTransportBuilder) -> anyhow::Result<()> {
    let endpoint = Endpoint::new(base_url, ApiKey::new(&setting("PAYMENTS_API_KEY")?)?)?;
    let client = Client::builder(endpoint, transport.build()?, TokioTimer::new()).build();
    let amount = Amount::from_cents(10_50);
    let payment = TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive).build()?;
    match client.process_token(&payment).await {
        Ok(charged) => println!("  processed: transaction {}", charged.transaction_id),
        // The handshake comes before the request, so not even the API key was sent.
        Err(error) if error.outcome() == Outcome::NotProcessed => println!("  NOT PROCESSED: {error:#}"),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

fn setting(name: &'static str) -> anyhow::Result<String> {
    env::var(name).context(name)
}

/// Only for the example: starts two sandboxes with TLS, each with its own authority, and runs the program above in another
/// process.
fn main() -> anyhow::Result<()> {
    use payments_examples::{Program, show_ledger};
    use payments_fake::FakeGateway;
    use payments_sandbox::Sandbox;

    if Program::is_this_process() {
        return program();
    }
    let sandbox = Sandbox::builder().tls().fresh_gateway(FakeGateway::builder().seed(7)).start_blocking()?;
    let elsewhere = Sandbox::builder().tls().start_blocking()?;
    let folder = tempfile::tempdir()?;
    let authority = folder.path().join("authority.pem");
    fs::write(&authority, sandbox.ca_certificate_pem().context("a sandbox with TLS has an authority")?)?;
    Program::with(&sandbox)?
        .env("PAYMENTS_CA_CERT", authority)
        .env("ANOTHER_BASE_URL", elsewhere.base_url())
        .run()?;

    let ledger = sandbox.gateway().ledger();
    show_ledger(&ledger);
    assert_eq!(ledger.charged().count(), 2, "not one payment for each trusted connection");
    assert!(elsewhere.gateway().requests().is_empty(), "an untrusted server received a request");
    Ok(())
}
