use payments_core::{Client, Endpoint, SystemTimer};

use crate::{BuildError, ReqwestTransport};

/// Returns a client of the service at `endpoint`, over a [`ReqwestTransport`] with its defaults and [`SystemTimer`].
///
/// Use one client for the whole program, because its clones share the connections. To change a setting of the transport or the
/// client, build them with [`ReqwestTransport::builder`] and [`Client::builder`].
///
/// # Errors
///
/// [`BuildError`] if the transport cannot be built. The defaults never cause that.
pub fn client(endpoint: Endpoint) -> Result<Client, BuildError> {
    let transport = ReqwestTransport::builder().build()?;
    Ok(Client::builder(endpoint, transport, SystemTimer::new()).build())
}
