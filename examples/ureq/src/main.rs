//! A payment over ureq, without a runtime, to a sandbox that this program starts.

use std::error::Error;

use payments_core::Client;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_example_ureq::{ThreadTimer, UreqTransport};
use payments_sandbox::Sandbox;
use ureq::tls::{Certificate, RootCerts};

fn main() -> Result<(), Box<dyn Error>> {
    // The real service has an address, a key, and a certificate that Mozilla's roots vouch for: RootCerts::WebPki.
    let sandbox = Sandbox::builder().tls().start_blocking()?;
    let authority = sandbox.ca_certificate_pem().ok_or("a sandbox with TLS has an authority")?;
    let roots = RootCerts::new_with_certs(&[Certificate::from_pem(authority.as_bytes())?]);

    let client = Client::builder(sandbox.endpoint(), UreqTransport::new(roots), ThreadTimer).build();
    let amount = Amount::from_cents(10_50);
    let payment = TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive).build()?;
    let receipt = pollster::block_on(client.process_token(&payment))?;

    sandbox.gateway().ledger().assert_charged_once(amount);
    show(&format!("processed over {}: transaction {}", sandbox.base_url(), receipt.transaction_id));
    Ok(())
}

#[allow(clippy::print_stdout, reason = "it is all that this program is for")]
fn show(line: &str) {
    println!("{line}");
}
