use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use payments_core::{ApiKey, Endpoint};
use payments_fake::FakeGateway;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::SandboxBuilder;
use crate::server::Server;
use crate::shutdown::{Shutdown, ShutdownSwitch};
use crate::tls::Tls;

/// A [`FakeGateway`] served over HTTP, in the background of the current tokio runtime.
///
/// Each sandbox has its own port and its own gateway. Dropping it stops the server at once and breaks what is in
/// flight; [`shutdown`](Self::shutdown) stops it gracefully.
pub struct Sandbox {
    gateway: FakeGateway,
    address: SocketAddr,
    scheme: &'static str,
    switch: ShutdownSwitch,
    server: JoinHandle<()>,
}

impl Sandbox {
    /// Serves a fresh gateway on a free port of `127.0.0.1`. When this returns, connections are accepted.
    ///
    /// # Errors
    ///
    /// If no port can be had.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn start() -> io::Result<Self> {
        Self::builder().start().await
    }

    /// A sandbox that differs from [`start`](Self::start)'s.
    pub fn builder() -> SandboxBuilder {
        SandboxBuilder::new()
    }

    pub(crate) fn serve(
        listener: TcpListener,
        tls: Option<Tls>,
        gateway: FakeGateway,
        max_connections: usize,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let (switch, shutdown) = Shutdown::new();
        let server = Server { listener, tls, responder: gateway.responder(), places: max_connections };
        let server = tokio::spawn(server.run(shutdown));
        Ok(Self { gateway, address, scheme, switch, server })
    }

    /// The address that clients are given, such as `http://127.0.0.1:40123/api/v1/public`.
    ///
    /// A sandbox that listens on every address gives the loopback one.
    pub fn base_url(&self) -> String {
        let address = SocketAddr::new(reachable(self.address.ip()), self.address.port());
        format!("{}://{address}/api/v1/public", self.scheme)
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The key that it accepts.
    pub fn api_key(&self) -> String {
        self.gateway.api_key()
    }

    /// [`base_url`](Self::base_url) and [`api_key`](Self::api_key), for a client.
    ///
    /// # Panics
    ///
    /// If the sandbox serves plain HTTP on an address that is not a loopback one: a client refuses to send a card
    /// number there.
    pub fn endpoint(&self) -> Endpoint {
        let key = ApiKey::new(&self.api_key()).expect("the gateway checked its key");
        Endpoint::new(&self.base_url(), key)
            .expect("a client takes https, and plain http to a loopback address")
    }

    /// What is served: its ledger, its faults, its gates.
    pub fn gateway(&self) -> &FakeGateway {
        &self.gateway
    }

    /// Accepts nothing more, answers every request that was received, closes the connections and returns.
    ///
    /// Idle connections are closed at once, and so are those on which a fault keeps the client waiting for ever. A
    /// request that is held at a [gate](payments_fake::Gate) is in flight: release it, or this waits for it.
    pub async fn shutdown(mut self) {
        self.switch.begin();
        // An error would be a panic of the server, which has nothing that panics, or the runtime's own end.
        let _ = (&mut self.server).await;
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { gateway, address: _, scheme: _, switch: _, server: _ } = self;
        f.debug_struct("Sandbox")
            .field("base_url", &self.base_url())
            .field("gateway", gateway)
            .finish_non_exhaustive()
    }
}

fn reachable(listening: IpAddr) -> IpAddr {
    match listening {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address => address,
    }
}
