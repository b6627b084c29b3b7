//! A transport from a caller's own `reqwest::ClientBuilder`.
//!
//! This module shows a type of reqwest, so it may change with every version of reqwest, in any release of this crate. The
//! rest of the crate promises what its version says.

use reqwest::ClientBuilder;

use crate::build_error::BuildError;
use crate::clients::Clients;
use crate::transport::ReqwestTransport;

/// A transport over clients that `builder` describes, with the settings that a payment needs on top.
///
/// `builder` is a function, because the transport builds its clients more than once: one for https, one for plain http,
/// and new ones when it leaves all connections behind. It must return the same settings each time.
///
/// # What the builder decides
///
/// - TLS: the backend or a preconfigured one, roots, client certificate, versions. Trusted roots are the builder's alone.
/// - Proxies that it names, for https: TLS goes through them end to end, and one that refuses is `NotProcessed`.
/// - Names: its resolver and its overrides. Sockets: local address, interface, keep-alive, Unix socket.
/// - Connections: its idle timeout and their number. reqwest keeps idle connections for 90 seconds, which is longer than
///   many servers do; 20 seconds is better, because a payment sent into a closing connection is unknown.
/// - `connect_timeout`, beside the request's own connect deadline: the one that ends first counts. Either is
///   `NotProcessed`.
/// - Connector layers, within the connect deadline.
/// - Headers that it adds to each request. The request's own win.
///
/// # What is set whatever the builder says
///
/// | setting | is | because |
/// |---|---|---|
/// | `redirect` | none | 307 and 308 post the card number again, to another host |
/// | `retry` | never | the default repeats what a server may have processed |
/// | proxies of the environment | not used | a variable would decide where the connections go |
/// | proxies for plain http | not used | plain http is for servers on this machine; a proxy would read card and key |
/// | `timeout`, `read_timeout` | replaced by the request's deadlines | reqwest's lose the part of a response that was read |
/// | HTTP version | 1.1 | over HTTP/2 a response cut short can look whole |
/// | `gzip`, `brotli`, `zstd`, `deflate` | off | a body is passed on as it came |
/// | lenient reading of headers | off | a response could end in two places |
/// | `tls_danger_accept_invalid_certs`, `…_hostnames` | off | anybody could be the service |
/// | `connection_verbose`, `tls_sslkeylogfile` | off | they write secrets to a log |
/// | `referer`, `https_only` | off | [`Endpoint`](payments_core::Endpoint) decides where plain http may go |
///
/// # What cannot be checked
///
/// The settings of a builder cannot be read, so these are up to you:
///
/// - A preconfigured TLS can accept any certificate, write its keys to a file, or offer HTTP/2, which is then spoken.
/// - Cookies (reqwest's feature `cookies`): they would tie payments to each other.
/// - Default headers: `Accept-Encoding` asks for a body that is not decoded, and a payment with such a response is unknown.
/// - A connector layer, a proxy or a resolver sees the addresses, and decides where a connection goes. None of them can
///   send a request twice: what they return is a connection, and an error of theirs comes before there is one.
///
/// # Errors
///
/// [`BuildError`] with [`is_client`](BuildError::is_client) where reqwest builds no client: for example because the builder
/// names no TLS, its crate has no provider compiled in, and the process has installed none. reqwest panics there. The panic
/// is caught, but its message reaches the panic hook, and with `panic = "abort"` it ends the process.
///
/// # Examples
///
/// ```
/// use std::net::{IpAddr, Ipv4Addr};
/// use std::time::Duration;
///
/// # // What a program does that has no provider compiled into reqwest.
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
    Clients::new(builder).map(ReqwestTransport::over)
}
