use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use payments_core::{ApiKey, Endpoint};
use payments_fake::FakeGateway;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::server::Server;
use crate::shutdown::{Shutdown, ShutdownSwitch};
use crate::site::Site;
use crate::{SandboxBuilder, Store, admin};

/// A [`FakeGateway`] served over HTTP, in the background of the current tokio runtime.
///
/// Each sandbox has its own port and its own gateway. Dropping it stops the server at once and breaks what is in
/// flight; [`shutdown`](Self::shutdown) stops it gracefully.
pub struct Sandbox {
    gateway: FakeGateway,
    store: Option<Store>,
    seed: Option<u64>,
    address: SocketAddr,
    admin_address: SocketAddr,
    scheme: &'static str,
    ca_certificate: Option<String>,
    switch: ShutdownSwitch,
    servers: Vec<JoinHandle<()>>,
}

/// What is offered on each port.
pub(crate) struct Sites {
    pub(crate) service: Site,
    /// What the admin interface's own port offers, if it has one.
    pub(crate) admin: Option<Site>,
}

/// What a sandbox is made of.
pub(crate) struct Facts {
    pub(crate) gateway: FakeGateway,
    pub(crate) store: Option<Store>,
    pub(crate) seed: Option<u64>,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) ca_certificate: Option<String>,
    pub(crate) max_connections: usize,
}

/// The sockets that are listened on.
pub(crate) struct Ports {
    service: TcpListener,
    admin: Option<TcpListener>,
    pub(crate) service_address: SocketAddr,
    admin_address: SocketAddr,
}

impl Ports {
    pub(crate) async fn bind(service: SocketAddr, admin: Option<SocketAddr>) -> io::Result<Self> {
        let service = bind(service).await?;
        let service_address = service.local_addr()?;
        let (admin, admin_address) = match admin {
            None => (None, service_address),
            Some(address) => {
                let admin = bind(address).await?;
                let address = admin.local_addr()?;
                (Some(admin), address)
            }
        };
        Ok(Self { service, admin, service_address, admin_address })
    }
}

async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| io::Error::new(error.kind(), format!("it cannot listen on {address} ({error})")))
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

    /// Serves on ports that are bound.
    pub(crate) fn serve(ports: Ports, sites: Sites, facts: Facts) -> Self {
        let Ports { service, admin, service_address, admin_address } = ports;
        let Facts { gateway, store, seed, tls, ca_certificate, max_connections } = facts;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let (switch, shutdown) = Shutdown::new();
        let serve = |listener, site| {
            let server = Server { listener, tls: tls.clone(), site: Arc::new(site), places: max_connections };
            tokio::spawn(server.run(shutdown.clone()))
        };
        let mut servers = vec![serve(service, sites.service)];
        servers.extend(admin.zip(sites.admin).map(|(listener, site)| serve(listener, site)));
        Self {
            gateway,
            store,
            seed,
            address: service_address,
            admin_address,
            scheme,
            ca_certificate,
            switch,
            servers,
        }
    }

    /// The address that clients are given, such as `http://127.0.0.1:40123/api/v1/public`.
    ///
    /// A sandbox that listens on every address gives the loopback one.
    pub fn base_url(&self) -> String {
        base_url(self.scheme, self.address)
    }

    /// The address of the admin interface, such as `http://127.0.0.1:40123/_sandbox`.
    pub fn admin_url(&self) -> String {
        format!("{}{}", origin(self.scheme, self.admin_address), admin::PREFIX)
    }

    /// The address of the page that shows to a person what happens here, such as `http://127.0.0.1:40123/_sandbox/ui`.
    pub fn ui_url(&self) -> String {
        format!("{}/ui", self.admin_url())
    }

    /// The certificate authority that clients must trust, in PEM, if the sandbox made [one of its
    /// own](SandboxBuilder::tls).
    pub fn ca_certificate_pem(&self) -> Option<&str> {
        self.ca_certificate.as_deref()
    }

    /// The [seed](SandboxBuilder::seed), unless the gateway was [given](SandboxBuilder::gateway).
    pub fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// Ready if the [data file](SandboxBuilder::data) could not be written, and says why; otherwise never.
    ///
    /// From then on every request is let down without an answer: nobody is told of a payment that the next start would
    /// not know. Stop the sandbox and start it again.
    pub async fn failed(&self) -> io::Error {
        match &self.store {
            Some(store) => io::Error::other(store.failed().await),
            None => std::future::pending().await,
        }
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Where the admin interface listens: the same, unless it has [a port of its
    /// own](SandboxBuilder::admin_listen).
    pub fn admin_local_addr(&self) -> SocketAddr {
        self.admin_address
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
    /// Idle connections are closed at once, and so are those on which a fault keeps the client waiting for ever. The pauses of
    /// `delay` and `drip` end: what waited for them is processed and answered at once. A request that is held at a [gate](payments_fake::Gate) is in flight: release it, or this waits for it.
    ///
    /// A client that is in the middle of sending a request or of reading a response has one second for the rest, which is
    /// chosen by this SDK: then its connection is closed, and a request that has not come whole is none.
    ///
    /// # Errors
    ///
    /// If the [data file](SandboxBuilder::data) could not be closed as it should: it is no longer in its place, or its disk
    /// is at fault. What was answered may not be there at the next start.
    pub async fn shutdown(mut self) -> io::Result<()> {
        self.switch.begin();
        // An error would be a panic of the server, which has nothing that panics, or the runtime's own end.
        for server in &mut self.servers {
            let _ = server.await;
        }
        match self.store.take() {
            Some(store) => store.close().await.map_err(io::Error::other),
            None => Ok(()),
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        for server in &self.servers {
            server.abort();
        }
    }
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox")
            .field("base_url", &self.base_url())
            .field("admin_url", &self.admin_url())
            .field("gateway", &self.gateway)
            .finish_non_exhaustive()
    }
}

/// The base address of a service that listens there.
pub(crate) fn base_url(scheme: &str, address: SocketAddr) -> String {
    format!("{}/api/v1/public", origin(scheme, address))
}

fn origin(scheme: &str, address: SocketAddr) -> String {
    format!("{scheme}://{}", SocketAddr::new(reachable(address.ip()), address.port()))
}

fn reachable(listening: IpAddr) -> IpAddr {
    match listening {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address => address,
    }
}
