use std::error::Error as StdError;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiAddrs, GaiResolver, Name};
use hyper_util::rt::TokioIo;
use payments_core::TransportErrorKind;
use payments_core::transport::{ServerAddress, causes};
use rustls::{AlertDescription, ClientConfig};
use thiserror::Error;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};
use tower_service::Service;

use crate::evidence::tls_error;
use crate::proxy::Proxy;
use crate::socket::Socket;
use crate::tls::NoTls;
use crate::tunnel::{self, TunnelError};

tokio::task_local! {
    /// The connection that the current call waits for.
    ///
    /// hyper-util passes a connector only the request's address, but it calls the connector inside the future of the request
    /// that needs the connection.
    static NEEDED: Needed;
}

/// Which connection a call needs, and when it must be open: name resolution, TCP, proxy and TLS together.
#[derive(Clone)]
pub(crate) struct Needed {
    pub(crate) server: ServerAddress,
    pub(crate) by: Instant,
}

impl Needed {
    /// Sends, and opens this connection if it is needed.
    pub(crate) async fn during<F: Future>(self, send: F) -> F::Output {
        NEEDED.scope(self, send).await
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
    error: BoxError,
}

impl ConnectError {
    /// Whether connections fail until the certificate, the address or the proxy's settings are changed.
    pub(crate) fn is_permanent(&self) -> bool {
        match (self.kind, self.error.downcast_ref::<TcpError>()) {
            (_, Some(tcp)) => tcp.is_refusal(),
            (TransportErrorKind::Tls, None) => match tls_error(&*self.error) {
                Some(error) => *error != rustls::Error::AlertReceived(AlertDescription::InternalError),
                // A connection that was closed during the handshake; without one, no handshake is possible.
                None => !self.error.is::<io::Error>(),
            },
            _ => false,
        }
    }
}

type BoxError = Box<dyn StdError + Send + Sync>;
type BoxFuture<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

impl Connector {
    pub(crate) fn new(tls: Result<Arc<ClientConfig>, NoTls>, proxy: Option<Proxy>) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(Resolver(GaiResolver::new()));
        tcp.enforce_http(false);
        // Head and body may be two writes. The second must not wait until the server acknowledges the first.
        tcp.set_nodelay(true);
        Self { tcp, proxy, tls }
    }

    /// Whether an unencrypted request would cross a network on its way to the proxy.
    pub(crate) fn has_remote_proxy(&self) -> bool {
        self.proxy.as_ref().is_some_and(|proxy| !proxy.server.is_loopback())
    }

    async fn connect(self, uri: Uri, needed: Needed) -> Result<MaybeHttpsStream<TokioIo<Socket>>, BoxError> {
        let Needed { server, by } = needed;
        let mut tcp = self.tcp;
        // hyper-util divides the time among the name's addresses, so that one that does not respond leaves time for the next.
        tcp.set_connect_timeout(Some(by.saturating_duration_since(Instant::now())));
        let is_https = server.is_https();
        let tcp = Tcp { tcp, proxy: self.proxy, server };
        match self.tls {
            Ok(tls) => ready_and_call(HttpsConnector::from((tcp, tls)), uri).await,
            Err(no_tls) if is_https => Err(no_tls.into()),
            Err(_) => Ok(MaybeHttpsStream::Http(ready_and_call(tcp, uri).await?)),
        }
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<Socket>>;
    type Error = ConnectError;
    type Future = BoxFuture<Self::Response, ConnectError>;

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
        let connecting = self.clone().connect(uri, needed);
        // hyper-util may finish the connection in the background for a later call, outside the scope of the deadline.
        Box::pin(async move {
            let connected = timeout_at(by, connecting).await.unwrap_or_else(|late| Err(late.into()));
            connected.map_err(|error| ConnectError { kind: kind_of(&error), place, error })
        })
    }
}

async fn ready_and_call<S: Service<Uri>>(mut service: S, uri: Uri) -> Result<S::Response, S::Error> {
    poll_fn(|cx| service.poll_ready(cx)).await?;
    service.call(uri).await
}

/// Name resolution and TCP, and the tunnel through a proxy.
#[derive(Clone)]
struct Tcp {
    tcp: HttpConnector<Resolver>,
    proxy: Option<Proxy>,
    server: ServerAddress,
}

impl Service<Uri> for Tcp {
    type Response = TokioIo<Socket>;
    type Error = TcpError;
    type Future = BoxFuture<Self::Response, TcpError>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TcpError>> {
        self.tcp.poll_ready(cx).map_err(|error| TcpError(error.into()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (proxy, server) = (self.proxy.clone(), self.server.clone());
        let connecting = self.tcp.call(proxy.as_ref().map_or(uri, |proxy| proxy.uri.clone()));
        Box::pin(async move {
            let mut tcp = connecting.await.map_err(|error| TcpError(error.into()))?.into_inner();
            if let Some(proxy) = proxy {
                let opened = tunnel::open(&mut tcp, &server, proxy.credentials.as_ref()).await;
                opened.map_err(|error| TcpError(error.into()))?;
            }
            Ok(TokioIo::new(Socket::new(tcp)))
        })
    }
}

/// An error below TLS.
#[derive(Debug, Error)]
#[error(transparent)]
struct TcpError(BoxError);

impl TcpError {
    /// Whether the proxy refused the address or the credentials, and not because of an overload or a timeout.
    fn is_refusal(&self) -> bool {
        matches!(self.0.downcast_ref(), Some(TunnelError::Refused(400..=499)))
            && !matches!(self.0.downcast_ref(), Some(TunnelError::Refused(408 | 425 | 429)))
    }

    fn kind(&self) -> TransportErrorKind {
        let kind_of = |cause: &(dyn StdError + 'static)| {
            // The last address's share of the time ends together with the whole, and either timer may fire first.
            let is_late = cause.is::<Elapsed>().then_some(TransportErrorKind::Timeout);
            is_late.or_else(|| cause.is::<ResolveError>().then_some(TransportErrorKind::Resolve))
        };
        causes(&*self.0).find_map(kind_of).unwrap_or(TransportErrorKind::Connect)
    }
}

fn kind_of(error: &BoxError) -> TransportErrorKind {
    if let Some(tcp) = error.downcast_ref::<TcpError>() {
        return tcp.kind();
    }
    if error.is::<Elapsed>() {
        return TransportErrorKind::Timeout;
    }
    TransportErrorKind::Tls
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
