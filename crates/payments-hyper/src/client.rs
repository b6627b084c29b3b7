use payments_core::{Client, Endpoint};

use crate::{BuildError, HyperTransport, TokioTimer};

/// Creates a client for the service at `endpoint`, over a default [`HyperTransport`] and [`TokioTimer`].
///
/// Use one client for the whole program: its clones share connections. To change a setting of the transport or the client,
/// build them with [`HyperTransport::builder`] and [`Client::builder`].
///
/// # Errors
///
/// [`BuildError`] if the operating system's root certificates are used and it has none. With the default features the roots are
/// compiled in, and this never fails.
///
/// # Examples
///
/// ```
/// use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
/// use payments_core::{ApiKey, Endpoint, Outcome};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Nothing listens on port 1. A real service has an `https` address.
/// let endpoint = Endpoint::new("http://127.0.0.1:1/api/v1/public", ApiKey::new("sk_test_51H")?)?;
/// let client = payments_hyper::client(endpoint)?;
///
/// let amount = Amount::from_cents(10_50);
/// let payment = TokenTransaction::builder("tok_1", amount, ConvenienceFee::Inactive).build()?;
/// let error = client.process_token(&payment).await.unwrap_err();
/// assert_eq!(error.outcome(), Outcome::NotProcessed);
/// # Ok(())
/// # }
/// ```
pub fn client(endpoint: Endpoint) -> Result<Client, BuildError> {
    let transport = HyperTransport::builder().build()?;
    Ok(Client::builder(endpoint, transport, TokioTimer::new()).build())
}
