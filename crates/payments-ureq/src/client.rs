use payments_core::blocking::Client;
use payments_core::{Endpoint, SystemTimer};

use crate::{BuildError, UreqTransport};

/// Returns a client of the service at `endpoint`, over a [`UreqTransport`] with its defaults.
///
/// Use one client for the whole program, because its clones share the connections. To change a setting of the transport or the
/// client, build them with [`UreqTransport::builder`] and
/// [`payments_core::Client::builder`].
///
/// # Errors
///
/// Currently this never fails, because the trusted authorities are compiled in.
///
/// # Examples
///
/// ```
/// use payments_core::{ApiKey, Endpoint};
///
/// // Nothing listens on port 1. The real service has an `https` URL.
/// let endpoint = Endpoint::new("http://127.0.0.1:1/api/v1/public", ApiKey::new("sk_test_51H")?)?;
/// let client = payments_ureq::client(endpoint)?;
///
/// let error = client.transaction(&"txn_1".parse()?).unwrap_err();
/// assert!(error.to_string().contains("could not connect"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn client(endpoint: Endpoint) -> Result<Client, BuildError> {
    let transport = UreqTransport::builder().build()?;
    Ok(payments_core::Client::builder(endpoint, transport, SystemTimer::new()).build_blocking())
}
