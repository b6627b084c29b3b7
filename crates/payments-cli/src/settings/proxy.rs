//! The egress proxy, whose address may hold a password.

use std::error::Error as _;

use http::Uri;
use payments_core::{ApiKey, Endpoint};
use payments_hyper::HyperTransport;
use zeroize::Zeroizing;

use super::source::{PROXY, Source, chosen_text, password_in, seen_in_arguments};
use crate::args::ClientOptions;
use crate::failure::Failure;

/// A proxy that the transport accepts.
pub(super) struct Proxy {
    pub(super) address: Zeroizing<String>,
    /// Without credentials.
    pub(super) host_and_port: String,
    pub(super) source: Source,
}

impl Proxy {
    /// The proxy from the option, else the environment. No other variable is read.
    pub(super) fn chosen(options: &ClientOptions) -> Result<Option<Self>, Failure> {
        let Some((address, source)) = chosen_text(options.proxy.as_ref(), "--proxy", PROXY)? else {
            return Ok(None);
        };
        let address = Zeroizing::new(address);
        let refused = |why: &str| {
            Failure::configuration(format!(
                "{source} cannot be used: {why}; nothing was sent: give http://host:port"
            ))
        };
        // Only the transport knows what it accepts. Its errors never contain the address.
        if let Err(error) = HyperTransport::builder().proxy(&*address).build()
            && error.is_proxy()
        {
            let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            return Err(refused(&why));
        }
        let uri: Uri = address.parse().map_err(|_| refused("it is not a URI"))?;
        let host_and_port = format!("{}:{}", uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(80));
        Ok(Some(Self { address, host_and_port, source }))
    }

    /// Refuses a base URL that the transport would not use with this proxy: card data and key would cross the network
    /// unencrypted.
    pub(super) fn check(&self, base_url: &str) -> Result<(), Failure> {
        let is_plain = base_url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http:"));
        // Plain http is accepted only for this machine.
        let is_elsewhere = || {
            let key = ApiKey::new("any");
            key.and_then(|key| Endpoint::new(&format!("http://{}", self.host_and_port), key)).is_err()
        };
        if is_plain && is_elsewhere() {
            return Err(Failure::configuration(
                "a plain http base URL cannot be used with a proxy on another machine, because card data and API \
                 key would cross the network unencrypted; nothing was sent: use https, or no proxy",
            )
            .hint(format!("the proxy came from {}", self.source)));
        }
        Ok(())
    }
}

/// A warning if other users of this machine can see the proxy's password, whatever else is missing or wrong.
pub(crate) fn warning_of_proxy(options: &ClientOptions) -> Option<String> {
    let is_seen = options.proxy.as_deref().and_then(password_in).is_some_and(|password| !password.is_empty());
    is_seen.then(|| seen_in_arguments("--proxy", PROXY))
}
