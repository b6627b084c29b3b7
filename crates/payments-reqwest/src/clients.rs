use std::any::Any;
use std::mem;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use http::header::{CONTENT_LENGTH, HeaderName, TRANSFER_ENCODING};
use payments_core::transport::{BuildError, BuildErrorKind};
use reqwest::{ClientBuilder, Proxy, Url};
use tokio::runtime;

use crate::connect_deadline::ConnectDeadline;

/// reqwest's clients, each with its own pool, and the builder for new ones.
pub(crate) struct Clients {
    builder: Box<dyn Fn() -> ClientBuilder + Send + Sync>,
    /// Whether the clients add a `Content-Length` to a request that has none.
    pub(crate) add_a_length: bool,
    /// The most recently used first. No code of the caller runs while this is locked: it may wait for another call, or make one.
    built: Mutex<Vec<(ClientKey, Client)>>,
    generation: AtomicUsize,
}

/// What a client is for. The task of a connection belongs to the runtime that opened it; no other runtime would drive it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClientKey {
    runtime: runtime::Id,
    is_https: bool,
}

/// A client of reqwest, and its connections that cannot be trusted.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) http: reqwest::Client,
    untrusted: Arc<Mutex<Vec<ConnectionId>>>,
}

/// The local address of a connection, which tells the open connections to one server apart. `None` for a Unix socket.
pub(crate) type ConnectionId = Option<SocketAddr>;

impl Client {
    fn new(http: reqwest::Client) -> Self {
        Self { http, untrusted: Arc::default() }
    }

    /// Whether the next response on this connection may belong to another request.
    pub(crate) fn is_untrusted(&self, connection: ConnectionId) -> bool {
        self.untrusted.lock().unwrap_or_else(PoisonError::into_inner).contains(&connection)
    }
}

/// Chosen by this SDK: the clients of at least this many runtimes are kept. Some servers have a runtime for each core.
fn most_runtimes() -> usize {
    thread::available_parallelism().map_or(1, usize::from).saturating_mul(2).max(8)
}

impl Clients {
    pub(crate) fn new(
        builder: impl Fn() -> ClientBuilder + Send + Sync + 'static,
    ) -> Result<Self, BuildError> {
        let builder = Box::new(builder);
        let (built, generation) = (Mutex::default(), AtomicUsize::new(0));
        let mut clients = Self { builder, add_a_length: false, built, generation };
        // Reports a builder that cannot build a client. The client is discarded, because there may be no runtime yet.
        clients.add_a_length = adds_header(&clients.build(true)?, &CONTENT_LENGTH);
        Ok(clients)
    }

    /// The client of this runtime, for https or for plain http.
    pub(crate) fn get(&self, runtime: runtime::Id, is_https: bool) -> Result<Client, BuildError> {
        let this = ClientKey { runtime, is_https };
        if let Some(client) = most_recent(&mut self.lock(), this) {
            return Ok(client);
        }
        let client = Client::new(self.build(is_https)?);
        let mut built = self.lock();
        if let Some(other) = most_recent(&mut built, this) {
            return Ok(other);
        }
        built.insert(0, (this, client.clone()));
        let kept = built.len().min(2 * most_runtimes());
        let least_used = built.split_off(kept);
        drop(built);
        drop(least_used);
        Ok(client)
    }

    fn build(&self, is_https: bool) -> Result<reqwest::Client, BuildError> {
        // reqwest panics if the builder sets no TLS and the process has no provider for rustls.
        let result =
            catch_unwind(AssertUnwindSafe(|| with_required_settings((self.builder)(), is_https).build()));
        let error = BuildError::new(
            BuildErrorKind::Client,
            "reqwest could not build a client with these settings",
            "change the settings of the `reqwest::ClientBuilder`",
        );
        match result {
            Ok(Ok(client)) if adds_header(&client, &TRANSFER_ENCODING) => Err(error
                .with_source("remove the default header Transfer-Encoding: it changes where a request ends")),
            Ok(Ok(client)) => Ok(client),
            Ok(Err(cause)) => Err(error.with_source(cause)),
            Err(panic) => Err(error.with_source(message(panic.as_ref()))),
        }
    }

    /// Abandons all connections, because this one cannot be trusted and reqwest cannot close a single one.
    ///
    /// A request that waits for a connection must take another client. A response on this connection [proves
    /// nothing](Client::is_untrusted): another request may have taken it from the pool before this call.
    pub(crate) fn abandon_connections(&self, client: &Client, untrusted: ConnectionId) {
        client.untrusted.lock().unwrap_or_else(PoisonError::into_inner).push(untrusted);
        let clients = mem::take(&mut *self.lock());
        self.generation.fetch_add(1, Ordering::SeqCst);
        drop(clients);
    }

    /// How often all connections were abandoned. A request that still waits for a connection of an earlier generation is not sent on it.
    pub(crate) fn generation(&self) -> usize {
        self.generation.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(ClientKey, Client)>> {
        self.built.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The client for this use, which becomes the most recently used one.
fn most_recent(built: &mut [(ClientKey, Client)], this: ClientKey) -> Option<Client> {
    let index = built.iter().position(|(other, _)| *other == this)?;
    built[..=index].rotate_right(1);
    Some(built[0].1.clone())
}

/// Whether the client adds this header to requests that lack it. `Debug` is the only way to read a setting; it escapes quotation marks
/// within a value.
fn adds_header(client: &reqwest::Client, name: &HeaderName) -> bool {
    format!("{client:?}").contains(&format!("{:?}: ", name.as_str()))
}

/// Overrides the builder's settings where the contract of a transport needs it. `unversioned` documents each of these.
fn with_required_settings(builder: ClientBuilder, is_https: bool) -> ClientBuilder {
    let builder = if is_https {
        // Adding a proxy, even one that matches no address, disables those of the environment.
        builder.proxy(Proxy::custom(|_| None::<Url>))
    } else {
        // A proxy would see the card number and the key unencrypted.
        builder.no_proxy()
    };
    builder
        // Following a 307 or 308 posts the card number to another host.
        .redirect(reqwest::redirect::Policy::none())
        // Over HTTP/2 the default resends requests that a server may have processed.
        .retry(reqwest::retry::never())
        .referer(false)
        .http1_only()
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        // The request has its own deadlines, and reqwest's total timeout loses the part of a response that was read.
        .timeout(NEVER)
        .read_timeout(NEVER)
        // A payment must not become unknown because a gateway adds or folds headers. RFC 9112 (5.2) tells a client to read folded
        // ones.
        .http1_max_headers(MAX_HEADERS)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        // A response that is read leniently can belong to another request.
        .http1_allow_spaces_after_header_name_in_responses(false)
        .http1_ignore_invalid_headers_in_responses(false)
        // These write secrets to a log or accept any server.
        .connection_verbose(false)
        .tls_sslkeylogfile(false)
        .tls_danger_accept_invalid_certs(false)
        .tls_danger_accept_invalid_hostnames(false)
        // payments-core decides where plain http may go. reqwest reports its refusal like an error after sending.
        .https_only(false)
        // The last layer is the outermost.
        .connector_layer(ConnectDeadline)
}

/// Chosen by this SDK; hyper's default is 100.
const MAX_HEADERS: usize = 1000;

/// Longer than any deadline of a call.
const NEVER: Duration = Duration::from_hours(10 * 365 * 24);

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "the builder panicked".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_settings_of_a_builder_are_overridden() {
        let unsafe_builder = || {
            ClientBuilder::new()
                .http1_allow_spaces_after_header_name_in_responses(true)
                .http1_ignore_invalid_headers_in_responses(true)
                .tls_sslkeylogfile(true)
                .tls_danger_accept_invalid_certs(true)
                .tls_danger_accept_invalid_hostnames(true)
        };
        // `Debug` is the only way to read a setting.
        let settings = |builder: ClientBuilder| format!("{builder:?}");
        let off = [
            "http1_allow_spaces_after_header_name_in_responses: true",
            "http1_ignore_invalid_headers_in_responses: true",
            "tls_sslkeylogfile: true",
            "tls_danger_accept_invalid_certs: true",
            "tls_danger_accept_invalid_hostnames: true",
            "referer: true",
        ];
        for setting in off {
            assert!(settings(unsafe_builder()).contains(setting), "{setting}");
            assert!(!settings(with_required_settings(unsafe_builder(), true)).contains(setting), "{setting}");
        }
    }
}
