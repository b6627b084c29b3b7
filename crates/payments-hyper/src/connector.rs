use std::error::Error as StdError;
use std::future::{Future, pending, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use http::Uri;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::dns::{GaiAddrs, GaiResolver, Name};
use hyper_util::client::legacy::connect::{CaptureConnection, HttpConnector};
use hyper_util::rt::TokioIo;
use payments_core::TransportErrorKind;
use payments_core::transport::{ServerAddress, causes};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use thiserror::Error;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tower_service::Service;

use crate::proxy::Proxy;
use crate::socket::Socket;
use crate::tls::NoTls;
use crate::tunnel::{self, TunnelError};

tokio::task_local! {
    /// The connection that the current call waits for.
    ///
    /// hyper-util passes a connector only the request's address, but it calls the connector inside the future of the request
    /// that needs the connection.
    static NEEDED: Arc<Needed>;
}

/// What TLS with a server needs.
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// Which connection a call needs, and when it must be open: name resolution, TCP, proxy and TLS together.
pub(crate) struct Needed {
    server: ServerAddress,
    tls: Option<Tls>,
    pub(crate) by: Instant,
    /// The connection that the request is assigned to, opened for it or pooled.
    assigned: CaptureConnection,
    /// Whether the request still waited for a new connection when it was polled last.
    is_opening: AtomicBool,
}

impl Needed {
    pub(crate) fn new(
        server: ServerAddress,
        tls: Option<Tls>,
        by: Instant,
        assigned: CaptureConnection,
    ) -> Arc<Self> {
        Arc::new(Self { server, tls, by, assigned, is_opening: AtomicBool::default() })
    }

    /// Sends, and opens this connection if it is needed.
    pub(crate) async fn during<F: Future>(self: &Arc<Self>, send: F) -> F::Output {
        let mut send = pin!(send);
        let polled = poll_fn(|context| {
            self.is_opening.store(false, Ordering::Relaxed);
            send.as_mut().poll(context)
        });
        NEEDED.scope(Arc::clone(self), polled).await
    }

    /// Whether the request is on a connection. False again once that connection has returned it unwritten: then it waits for a new one.
    ///
    /// hyper-util polls the connector within the request's future only as long as the request has no connection.
    pub(crate) fn may_be_sent(&self) -> bool {
        self.assigned.connection_metadata().is_some() && !self.is_opening.load(Ordering::Relaxed)
    }

    /// The connector of this request is pending.
    fn pending(self: &Arc<Self>) {
        if NEEDED.try_with(|current| Arc::ptr_eq(current, self)).unwrap_or(false) {
            self.is_opening.store(true, Ordering::Relaxed);
        }
    }
}

/// Opens connections. It sends no request, so after a failure nothing was processed.
#[derive(Clone)]
pub(crate) struct Connector {
    tcp: HttpConnector<Resolver>,
    proxy: Option<Proxy>,
    tls: Result<Arc<ClientConfig>, NoTls>,
}

/// Why there is no connection.
#[derive(Debug, Error)]
#[error("no connection {place}")]
pub(crate) struct ConnectError {
    pub(crate) kind: TransportErrorKind,
    /// To which server, or through which proxy.
    place: String,
    #[source]
    cause: BoxError,
}

impl ConnectError {
    /// Whether the proxy refuses every tunnel until the address or the proxy's settings are changed.
    pub(crate) fn is_refused_for_good(&self) -> bool {
        let Some(TunnelError::Refused(status)) = self.cause.downcast_ref() else { return false };
        // Not because of an overload or a timeout.
        (400..=499).contains(status) && ![408, 425, 429].contains(status)
    }
}

pub(crate) type BoxError = Box<dyn StdError + Send + Sync>;
type BoxFuture<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;
type Stream = MaybeHttpsStream<TokioIo<Socket>>;

impl Connector {
    pub(crate) fn new(tls: Result<Arc<ClientConfig>, NoTls>, proxy: Option<Proxy>) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(Resolver(GaiResolver::new()));
        tcp.enforce_http(false);
        // Head and body may be two writes. The second must not wait until the server acknowledges the first.
        tcp.set_nodelay(true);
        Self { tcp, proxy, tls }
    }

    /// What TLS with this server needs, `None` for plain http; or why there can be no TLS.
    pub(crate) fn tls_with(&self, server: &ServerAddress) -> Result<Option<Tls>, BoxError> {
        if !server.is_https() {
            return Ok(None);
        }
        let config = self.tls.clone()?;
        let name = ServerName::try_from(server.host().trim_matches(['[', ']']).to_owned())
            .map_err(|_| "the host is not a name that a certificate can have: fix the base URL")?;
        Ok(Some(Tls { config, name }))
    }

    /// Whether an unencrypted request would cross a network on its way to the proxy.
    pub(crate) fn has_remote_proxy(&self) -> bool {
        self.proxy.as_ref().is_some_and(|proxy| !proxy.server.is_loopback())
    }

    /// Name resolution and TCP, the tunnel through a proxy, and TLS.
    async fn connect(
        mut self,
        uri: Uri,
        needed: Arc<Needed>,
    ) -> Result<Stream, (TransportErrorKind, BoxError)> {
        // hyper-util divides the time among the name's addresses, so that one that does not respond leaves time for the next.
        self.tcp.set_connect_timeout(Some(needed.by.saturating_duration_since(Instant::now())));
        let connected = self.tcp.call(self.proxy.as_ref().map_or(uri, |proxy| proxy.uri.clone())).await;
        let mut tcp = connected.map_err(|error| (tcp_kind(&error), error.into()))?.into_inner();
        if let Some(proxy) = self.proxy {
            let opened = tunnel::open(&mut tcp, &needed.server, proxy.credentials.as_ref()).await;
            opened.map_err(|error| (TransportErrorKind::Connect, error.into()))?;
        }
        let socket = TokioIo::new(Socket::new(tcp));
        let Some(Tls { config, name }) = &needed.tls else {
            return Ok(MaybeHttpsStream::Http(socket));
        };
        let secured =
            TlsConnector::from(Arc::clone(config)).connect(name.clone(), TokioIo::new(socket)).await;
        let secured = secured.map_err(|error| (TransportErrorKind::Tls, error.into()))?;
        Ok(MaybeHttpsStream::Https(TokioIo::new(secured)))
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = ConnectError;
    type Future = BoxFuture<Stream, ConnectError>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let needed = NEEDED.get();
        let by = needed.by;
        let place = match &self.proxy {
            Some(proxy) => format!("through the proxy {}", proxy.server),
            None => format!("to {}", needed.server),
        };
        let connecting = self.clone().connect(uri, Arc::clone(&needed));
        // hyper-util may finish the connection in the background for a later call, outside the scope of `NEEDED`.
        Box::pin(async move {
            let connecting = async {
                let connected = connecting.await;
                if connected.is_ok() && Instant::now() >= by {
                    // This process was stopped meanwhile. A request on this connection would be sent after its deadline.
                    pending::<()>().await;
                }
                connected
            };
            let mut connecting = pin!(timeout_at(by, connecting));
            let polled = poll_fn(|context| {
                let polled = connecting.as_mut().poll(context);
                if polled.is_pending() {
                    needed.pending();
                }
                polled
            });
            let connected = polled.await;
            let connected = connected.unwrap_or_else(|late| Err((TransportErrorKind::Timeout, late.into())));
            connected.map_err(|(kind, cause)| ConnectError { kind, place, cause })
        })
    }
}

fn tcp_kind(error: &(dyn StdError + 'static)) -> TransportErrorKind {
    if causes(error).any(<dyn StdError>::is::<ResolveError>) {
        TransportErrorKind::Resolve
    } else if causes(error).any(<dyn StdError>::is::<Elapsed>) {
        // The last address's share of the time ends together with the whole, and either timer may fire first.
        TransportErrorKind::Timeout
    } else {
        TransportErrorKind::Connect
    }
}

/// The operating system's resolver, with its own error type so that its failures are not mistaken for a refused connection.
#[derive(Clone)]
struct Resolver(GaiResolver);

#[derive(Debug, Error)]
#[error("the host name did not resolve")]
struct ResolveError(#[source] io::Error);

impl Service<Name> for Resolver {
    type Response = GaiAddrs;
    type Error = ResolveError;
    type Future = BoxFuture<GaiAddrs, ResolveError>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ResolveError>> {
        self.0.poll_ready(cx).map_err(ResolveError)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let addresses = self.0.call(name);
        Box::pin(async move { addresses.await.map_err(ResolveError) })
    }
}
