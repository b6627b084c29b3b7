//! A payment over reqwest, to a sandbox that this program starts.

use std::error::Error;

use payments_core::Client;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_example_reqwest::{ReqwestTransport, TokioTimer};
use payments_sandbox::Sandbox;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    // The real service has an address, a key, and a certificate that Mozilla's roots vouch for.
    let sandbox = Sandbox::builder().tls().start().await?;
    let authority = sandbox.ca_certificate_pem().ok_or("a sandbox with TLS has an authority")?;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes())?)?;

    let client = Client::builder(sandbox.endpoint(), ReqwestTransport::new(roots)?, TokioTimer).build();
    let amount = Amount::from_cents(10_50);
    let payment = TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive).build()?;
    let receipt = client.process_token(&payment).await?;

    sandbox.gateway().ledger().assert_charged_once(amount);
    show(&format!("processed over {}: transaction {}", sandbox.base_url(), receipt.transaction_id));
    Ok(())
}

#[allow(clippy::print_stdout, reason = "it is all that this program is for")]
fn show(line: &str) {
    println!("{line}");
}
