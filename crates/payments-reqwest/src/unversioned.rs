//! A transport from your own `reqwest::ClientBuilder`.
//!
//! This module has a type of reqwest in its API, so it may change with every version of reqwest, in any release of this crate. The
//! rest of the crate follows Semantic Versioning.

use payments_core::transport::BuildError;
use reqwest::ClientBuilder;

use crate::clients::Clients;
use crate::transport::ReqwestTransport;

/// Creates a transport over clients from `builder`, and overrides the settings that could harm a payment.
///
/// `builder` is a function, because the transport builds its clients more than once: one for https, one for plain http,
/// and new ones when it abandons all connections. It must return the same settings each time. A call that needs a new client waits for
/// it; other calls do not.
///
/// # What the builder decides
///
/// - TLS: the backend or a preconfigured one, roots, client certificate, versions. Only the builder's roots are trusted.
/// - Its proxies, for https. TLS runs through them end to end. If a proxy refuses, the outcome is `NotProcessed`. The error names
///   the status 407. For any other status it says only that the proxy refused, because reqwest does not show it; `payments-hyper`
///   does.
/// - Names: its resolver and its overrides. Sockets: local address, interface, keep-alive, Unix socket.
/// - Connections: the idle timeout and the number of idle connections. reqwest keeps idle connections for 90 seconds, longer than
///   many servers do. 20 seconds is better, because a payment that is sent into a closing connection is unknown.
/// - `connect_timeout`, in addition to the request's own connect deadline. The earlier one counts, and the outcome is
///   `NotProcessed`.
/// - Connector layers, within the connect deadline.
/// - Headers that it adds to each request. The request's own headers take precedence, `Host` and `Content-Length` included.
///
/// # What is overridden
///
/// | setting | value | because |
/// |---|---|---|
/// | `redirect` | none | 307 and 308 post the card number again, to another host |
/// | `retry` | never | the default resends requests that a server may have processed |
/// | proxies from the environment | not used | a variable would decide where the connections go |
/// | proxies for plain http | not used | plain http is for servers on this machine; a proxy could read the card and the key |
/// | `timeout`, `read_timeout` | replaced by the request's deadlines | reqwest's timeouts lose the part of a response that was read |
/// | HTTP version | 1.1; a connection on which TLS agrees on HTTP/2 is refused | over HTTP/2 a response that is cut short can look whole |
/// | `gzip`, `brotli`, `zstd`, `deflate` | off | the body is returned unchanged |
/// | lenient header parsing, except for folded headers | off | a response could end in two places |
/// | folded headers | read | a payment must not become unknown because of them |
/// | `http1_max_headers` | 1 000 | the same |
/// | `tls_danger_accept_invalid_certs`, `…_hostnames` | off | any server could pose as the service |
/// | `connection_verbose`, `tls_sslkeylogfile` | off | they write secrets to a log |
/// | a default header `Transfer-Encoding` | refused | a request could end in two places |
/// | `referer`, `https_only` | off | [`Endpoint`](payments_core::Endpoint) decides where plain http may go |
///
/// # What cannot be checked
///
/// The settings of a builder cannot be read, so these are up to you:
///
/// - Preconfigured TLS can accept any certificate, or write its keys to a file.
/// - Cookies (reqwest's feature `cookies`) would link payments to each other.
/// - Default headers can change what a request means: `Expect`, `Prefer`, `X-HTTP-Method-Override`.
///   [`CallerHeaders`](payments_core::CallerHeaders) refuses such names.
/// - A connector layer, a proxy or a resolver sees the addresses and decides where a connection goes. None of them can send a
///   request twice: they return a connection, and their errors occur before there is one.
///
/// # Errors
///
/// [`BuildError`] with [`is_client`](BuildError::is_client) if reqwest cannot build a client: for example because the builder
/// sets no TLS, reqwest has no provider compiled in, and the process has installed none. In this case reqwest panics. The panic
/// is caught, but its message reaches the panic hook, and with `panic = "abort"` it ends the process.
///
/// # Examples
///
/// ```
/// use std::net::{IpAddr, Ipv4Addr};
/// use std::time::Duration;
///
/// # // A program must do this if reqwest has no provider compiled in.
/// # rustls::crypto::ring::default_provider().install_default().unwrap();
/// let transport = payments_reqwest::unversioned::from_client_builder(|| {
///     reqwest::Client::builder()
///         .local_address(IpAddr::from(Ipv4Addr::LOCALHOST))
///         .pool_idle_timeout(Duration::from_secs(20))
/// })?;
/// # Ok::<(), payments_reqwest::BuildError>(())
/// ```
pub fn from_client_builder(
    builder: impl Fn() -> ClientBuilder + Send + Sync + 'static,
) -> Result<ReqwestTransport, BuildError> {
    Clients::new(builder).map(ReqwestTransport::from_parts)
}
