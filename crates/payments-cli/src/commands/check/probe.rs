//! How far a connection gets, where the client's own evidence leaves it open.

use std::io;
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

/// How far name resolution and TCP got. Nothing is sent.
#[derive(Debug)]
pub(super) enum Probe {
    /// The name did not resolve, or not in time.
    Unresolved(Option<io::Error>),
    /// No address took a connection, or none in time.
    Unconnected(Option<io::Error>),
    /// A connection was made, and closed again.
    Connected,
}

impl Probe {
    /// Tries each within half of the time.
    pub(super) async fn of(uri: &Uri, within: Duration) -> Self {
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let usual_port = if uri.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 };
        let port = uri.port_u16().unwrap_or(usual_port);
        let addresses: Vec<_> = match timeout(within / 2, lookup_host((host, port))).await {
            Ok(Ok(addresses)) => addresses.collect(),
            Ok(Err(error)) => return Self::Unresolved(Some(error)),
            Err(_elapsed) => return Self::Unresolved(None),
        };
        match timeout(within / 2, TcpStream::connect(&*addresses)).await {
            Ok(Ok(_connection)) => Self::Connected,
            Ok(Err(error)) => Self::Unconnected(Some(error)),
            Err(_elapsed) => Self::Unconnected(None),
        }
    }
}
