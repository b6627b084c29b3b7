use std::error::Error as StdError;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use http::uri::{Authority, Scheme};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiAddrs, GaiResolver, Name};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioIo;
use payments_core::TransportErrorKind;
use rustls::ClientConfig;
use thiserror::Error;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};
use tower_service::Service;

use crate::proxy::Proxy;
use crate::socket::Socket;
use crate::tls::NoTls;

tokio::task_local! {
    /// When the connection that the current call waits for must stand.
    ///
    /// hyper-util gives a connector the address and nothing else of a request, but it asks for a connection within the
    /// future of the request that needs one.
    static CONNECT_BY: Instant;
}

/// Sends with a deadline for the connection, if one has to be made: name resolution, TCP, proxy and TLS together.
pub(crate) async fn connecting_by<F: Future>(deadline: Instant, send: F) -> F::Output {
    CONNECT_BY.scope(deadline, send).await
}

/// Opens connections. No request is sent here, so after a failure none was processed.
#[derive(Clone)]
pub(crate) struct Connector {
    tcp: HttpConnector<Resolver>,
    proxy: Option<Proxy>,
    tls: Result<Arc<ClientConfig>, NoTls>,
}

/// Why there is no connection, and between whom.
#[derive(Debug, Error)]
#[error("{between}")]
pub(crate) struct NotConnected {
    pub(crate) kind: TransportErrorKind,
    between: String,
    #[source]
    error: BoxError,
}

/// hyper-util does not export its name.
type TunnelError = <Tunnel<Tcp> as Service<Uri>>::Error;
type BoxError = Box<dyn StdError + Send + Sync>;
type BoxFuture<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

impl Connector {
    pub(crate) fn new(tls: Result<Arc<ClientConfig>, NoTls>, proxy: Option<Proxy>) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(Resolver(GaiResolver::new()));
        tcp.enforce_http(false);
        // Head and body may be two writes, and the second must not wait for the server to acknowledge the first.
        tcp.set_nodelay(true);
        Self { tcp, proxy, tls }
    }

    /// Whether a request in clear would cross a network on its way to the proxy.
    pub(crate) fn has_remote_proxy(&self) -> bool {
        self.proxy.as_ref().is_some_and(|proxy| !proxy.is_loopback())
    }

    async fn connect(self, uri: Uri, by: Instant) -> Result<MaybeHttpsStream<TokioIo<Socket>>, BoxError> {
        let mut tcp = self.tcp;
        // The time is shared among the addresses of the name, so that one that does not respond leaves some for the next.
        tcp.set_connect_timeout(Some(by.saturating_duration_since(Instant::now())));
        let tcp = Tcp(tcp);
        match self.proxy {
            None => secure(tcp, self.tls, uri).await,
            Some(proxy) => {
                let mut tunnel = Tunnel::new(proxy.uri, tcp);
                if let Some(credentials) = proxy.credentials {
                    tunnel = tunnel.with_auth(credentials);
                }
                secure(tunnel, self.tls, with_port(uri)?).await
            }
        }
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<Socket>>;
    type Error = NotConnected;
    type Future = BoxFuture<Self::Response, NotConnected>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NotConnected>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let by = CONNECT_BY.get();
        let server = uri.authority().map_or_else(String::new, Authority::to_string);
        let connecting = self.clone().connect(uri, by);
        let proxy = self.proxy.as_ref().and_then(|proxy| proxy.uri.authority().cloned());
        // hyper-util may finish the connection in the background for a later call: the deadline is taken along.
        Box::pin(async move {
            let connected = timeout_at(by, connecting).await.unwrap_or_else(|late| Err(late.into()));
            connected.map_err(|error| {
                let between = match proxy {
                    Some(proxy) => format!("no connection through the proxy {proxy}"),
                    None => format!("no connection to {server}"),
                };
                NotConnected { kind: kind_of(&error), between, error }
            })
        })
    }
}

/// The connection of `connector`, with TLS in it for https.
async fn secure<C>(
    connector: C,
    tls: Result<Arc<ClientConfig>, NoTls>,
    uri: Uri,
) -> Result<MaybeHttpsStream<TokioIo<Socket>>, BoxError>
where
    C: Service<Uri, Response = TokioIo<Socket>, Error: Into<BoxError>, Future: Send + 'static>,
{
    match tls {
        Ok(tls) => ready_and_call(HttpsConnector::from((connector, tls)), uri).await,
        Err(no_tls) if uri.scheme() == Some(&Scheme::HTTPS) => Err(no_tls.into()),
        Err(_) => ready_and_call(connector, uri).await.map(MaybeHttpsStream::Http).map_err(Into::into),
    }
}

async fn ready_and_call<S: Service<Uri>>(mut service: S, uri: Uri) -> Result<S::Response, S::Error> {
    poll_fn(|cx| service.poll_ready(cx)).await?;
    service.call(uri).await
}

/// The same address with its port written out: a tunnel takes an absent one for 443, whatever the scheme.
fn with_port(uri: Uri) -> Result<Uri, BoxError> {
    let mut parts = uri.into_parts();
    if let (Some(scheme), Some(authority)) = (&parts.scheme, &parts.authority)
        && authority.port().is_none()
    {
        let port = if *scheme == Scheme::HTTPS { 443 } else { 80 };
        parts.authority = Some(Authority::try_from(format!("{}:{port}", authority.host()))?);
    }
    Ok(Uri::from_parts(parts)?)
}

/// Name resolution and TCP.
#[derive(Clone)]
struct Tcp(HttpConnector<Resolver>);

impl Service<Uri> for Tcp {
    type Response = TokioIo<Socket>;
    type Error = TcpFailed;
    type Future = BoxFuture<Self::Response, TcpFailed>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TcpFailed>> {
        self.0.poll_ready(cx).map_err(|error| TcpFailed(error.into()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.0.call(uri);
        Box::pin(async move {
            let tcp = connecting.await.map_err(|error| TcpFailed(error.into()))?;
            Ok(TokioIo::new(Socket::new(tcp.into_inner())))
        })
    }
}

/// The error of hyper-util's connector, told from one of TLS.
#[derive(Debug, Error)]
#[error(transparent)]
struct TcpFailed(BoxError);

impl TcpFailed {
    fn kind(&self) -> TransportErrorKind {
        let mut cause: Option<&(dyn StdError + 'static)> = Some(&*self.0);
        while let Some(this) = cause {
            if this.is::<Unresolved>() {
                return TransportErrorKind::Resolve;
            }
            // The last address's share of the time ends with the whole, and either timer may be the first.
            let inner = this.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            if inner.is_some_and(<dyn StdError + Send + Sync>::is::<Elapsed>) {
                return TransportErrorKind::Timeout;
            }
            cause = this.source();
        }
        TransportErrorKind::Connect
    }
}

fn kind_of(error: &BoxError) -> TransportErrorKind {
    if let Some(tcp) = error.downcast_ref::<TcpFailed>() {
        return tcp.kind();
    }
    if error.is::<Elapsed>() {
        return TransportErrorKind::Timeout;
    }
    if error.is::<TunnelError>() {
        let tcp = error.source().and_then(|source| source.downcast_ref::<TcpFailed>());
        return tcp.map_or(TransportErrorKind::Connect, TcpFailed::kind);
    }
    TransportErrorKind::Tls
}

/// The operating system's resolver, its failures marked so that they are not taken for a refused connection.
#[derive(Clone)]
struct Resolver(GaiResolver);

#[derive(Debug, Error)]
#[error("the host name did not resolve")]
struct Unresolved(#[source] io::Error);

impl Service<Name> for Resolver {
    type Response = GaiAddrs;
    type Error = Unresolved;
    type Future = BoxFuture<GaiAddrs, Unresolved>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Unresolved>> {
        self.0.poll_ready(cx).map_err(Unresolved)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let addresses = self.0.call(name);
        Box::pin(async move { addresses.await.map_err(Unresolved) })
    }
}
