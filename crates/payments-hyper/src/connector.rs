use std::error::Error as StdError;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::uri::PathAndQuery;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use payments_core::{TransportError, TransportErrorKind};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::error::Elapsed;
use tokio_rustls::TlsConnector;
use tower_service::Service;

use crate::connection::Connection;
use crate::link::Link;
#[cfg(feature = "http2")]
use crate::multiplexed::Multiplexed;
use crate::origin::Origin;
use crate::resolver::{Resolver, Unresolved};
use crate::stream::{Reins, Socket, Stream};
use crate::tls::NoTls;

/// Opens connections, stage by stage: name, TCP, TLS, HTTP.
///
/// No request exists here, so whatever goes wrong, none was processed.
pub(crate) struct Connector {
    tcp: HttpConnector<Resolver>,
    tls: Result<TlsConnector, NoTls>,
}

impl Connector {
    pub(crate) fn new(tls: Result<Arc<ClientConfig>, NoTls>) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(Resolver::new());
        tcp.enforce_http(false);
        // Head and body may be two writes, and the second must not wait for the server to acknowledge the first.
        tcp.set_nodelay(true);
        Self { tcp, tls: tls.map(TlsConnector::from) }
    }

    /// A connection to `origin`. `time_left` is shared among the addresses of the name, so that one that does not
    /// answer leaves time for the next; the caller enforces it as a whole.
    pub(crate) async fn connect(&self, origin: &Origin, time_left: Duration) -> Result<Link, TransportError> {
        let tls = match (&self.tls, origin.is_secure()) {
            (_, false) => None,
            (Ok(tls), true) => {
                let name = ServerName::try_from(origin.server_name().to_owned()).map_err(|error| {
                    TransportError::not_processed(TransportErrorKind::Tls).with_source(error)
                })?;
                Some((tls, name))
            }
            (Err(reason), true) => {
                return Err(TransportError::not_processed(TransportErrorKind::Tls).with_source(*reason));
            }
        };

        let reins = Reins::new();
        let socket = Socket::new(self.tcp(origin, time_left).await?, reins.clone());
        let stream = match tls {
            None => Stream::Plain(socket),
            Some((tls, name)) => {
                let tls = tls.connect(name, socket).await.map_err(|error| {
                    TransportError::not_processed(TransportErrorKind::Tls).with_source(error)
                })?;
                Stream::Tls(Box::new(tls))
            }
        };

        let link = match &stream {
            #[cfg(feature = "http2")]
            Stream::Tls(tls) if tls.get_ref().1.alpn_protocol() == Some(b"h2") => {
                Multiplexed::start(stream).await.map(Link::Multiplexed)
            }
            _ => {
                Connection::start(stream, reins).await.map(|connection| Link::Exclusive(Box::new(connection)))
            }
        };
        link.map_err(|error| TransportError::not_processed(TransportErrorKind::Connect).with_source(error))
    }

    async fn tcp(&self, origin: &Origin, time_left: Duration) -> Result<TcpStream, TransportError> {
        let mut tcp = self.tcp.clone();
        tcp.set_connect_timeout(Some(time_left));
        let connected = tcp.call(origin.uri(PathAndQuery::from_static("/"))).await;
        connected
            .map(TokioIo::into_inner)
            .map_err(|error| TransportError::not_processed(kind(&error)).with_source(error))
    }
}

fn kind(error: &(dyn StdError + 'static)) -> TransportErrorKind {
    let mut error = Some(error);
    while let Some(this) = error {
        if this.is::<Unresolved>() {
            return TransportErrorKind::Resolve;
        }
        // The last address's share of the time ends with the whole, and of the two timers either may be the first.
        let inner = this.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if inner.is_some_and(<dyn StdError + Send + Sync>::is::<Elapsed>) {
            return TransportErrorKind::Timeout;
        }
        error = this.source();
    }
    TransportErrorKind::Connect
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_small_write_does_not_wait_for_an_acknowledgement() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let connector = Connector::new(Err(NoTls::NoProvider));
        let tcp = connector.tcp(&Origin::of(&uri).unwrap(), Duration::from_secs(20)).await.unwrap();
        assert!(tcp.nodelay().unwrap());
    }
}
