use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use payments_fake::unversioned::PATH_PREFIX;
use payments_fake::{FakeGateway, FakeGatewayBuilder, Fixtures};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, spawn_blocking};
use tokio_rustls::TlsAcceptor;

use crate::Sandbox;
use crate::activity::IdleClose;
use crate::admin::{self, Admin};
use crate::data_file::DataFile;
use crate::exchange::Exchange;
use crate::page::Feed;
use crate::sandbox_info::SandboxInfo;
use crate::server;
use crate::shutdown::Shutdown;
use crate::site::{OnExchange, OnIdleClose, Port, Site};
use crate::tls::Certificate;
use crate::wall_clock::WallClock;

/// Builds a [`Sandbox`] with other settings than [`Sandbox::start`].
#[must_use = "a builder does nothing until it is started"]
pub struct SandboxBuilder {
    listen: SocketAddr,
    admin_listen: Option<SocketAddr>,
    gateway: Gateway,
    data_file: Option<PathBuf>,
    fixtures: Fixtures,
    encryption: Encryption,
    max_connections: usize,
    control_headers: bool,
    tls_names: Vec<String>,
    on_exchange: Option<OnExchange>,
    on_idle_close: Option<OnIdleClose>,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a program has few sandboxes")]
enum Gateway {
    Fresh(FakeGatewayBuilder),
    Given(FakeGateway),
}

impl Gateway {
    /// The gateway, and its seed and its clock if it is fresh.
    fn build(self, any_number: u64) -> (FakeGateway, Option<u64>, Option<WallClock>) {
        match self {
            Self::Given(gateway) => (gateway, None, None),
            Self::Fresh(mut settings) => {
                let seed = settings.seed_or(any_number);
                let clock = WallClock::default();
                let wall_clock = clock.clone();
                (settings.wall_clock(move || wall_clock.now()).build(), Some(seed), Some(clock))
            }
        }
    }
}

enum Encryption {
    None,
    Provided(Certificate),
    Generated,
}

impl Encryption {
    /// What accepts TLS, if anything, and the authority of a generated certificate in PEM.
    fn acceptor(
        self,
        listen: IpAddr,
        names: Vec<String>,
    ) -> io::Result<(Option<TlsAcceptor>, Option<String>)> {
        if !names.is_empty() && !matches!(self, Self::Generated) {
            let message = "a name is only for a generated certificate: call `tls` too, and not `tls_pem`, or leave the name out";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let (certificate, authority) = match self {
            Self::None => return Ok((None, None)),
            Self::Provided(certificate) => (certificate, None),
            Self::Generated => {
                let (certificate, authority) = Certificate::generate(listen, names)?;
                (certificate, Some(authority))
            }
        };
        Ok((Some(certificate.acceptor()?), authority))
    }
}

impl SandboxBuilder {
    pub(crate) fn new() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            admin_listen: None,
            gateway: Gateway::Fresh(FakeGateway::builder()),
            data_file: None,
            fixtures: Fixtures::default(),
            encryption: Encryption::None,
            max_connections: 1024,
            control_headers: true,
            tls_names: Vec::new(),
            on_exchange: None,
            on_idle_close: None,
        }
    }

    /// The address to listen on; a free port of `127.0.0.1` by default. On an address other than a loopback one, other
    /// machines can use the sandbox, and with plain HTTP their requests cross the network unencrypted.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// A separate address for the admin interface, which is then not on the service's port. So clients of the service need
    /// not be able to control it, and cannot use up its [connections](Self::max_connections).
    ///
    /// On a loopback address, the admin interface accepts only requests to a literal address or `localhost`: any other
    /// host name could be that of a web page.
    pub fn admin_listen(mut self, address: SocketAddr) -> Self {
        self.admin_listen = Some(address);
        self
    }

    /// The settings of the fresh gateway to serve: its keys, its seed, its [`Choices`](payments_fake::Choices). Its time of day
    /// is the sandbox's. Without a [seed](FakeGatewayBuilder::seed), it has another one at each start.
    ///
    /// A reset does not restart the sequence of identifiers, and an identifier that was loaded is never given out again.
    pub fn fresh_gateway(mut self, settings: FakeGatewayBuilder) -> Self {
        self.gateway = Gateway::Fresh(settings);
        self
    }

    /// The gateway to serve, instead of a [fresh one](Self::fresh_gateway), with its own seed and clock.
    pub fn gateway(mut self, gateway: FakeGateway) -> Self {
        self.gateway = Gateway::Given(gateway);
        self
    }

    /// Loads the state from this file at the start, if it exists, and writes it at the [shutdown](Sandbox::shutdown) and at
    /// `POST /_sandbox/save`. Changes after the last save are lost if the process is killed.
    ///
    /// The file has the JSON documents of `GET /_sandbox/state`, one for each [key](FakeGatewayBuilder::api_key) in the order
    /// of the keys, and no key. So with one key it is a [fixture](Fixtures::from_json), and a fixture can be such a file; armed
    /// faults are not saved. Only its owner may read a file that was saved. It is written to a new file in the same folder, which
    /// then replaces the old one, together with whatever another program wrote to it meanwhile.
    ///
    /// Anything else, or a file for another number of keys, is refused and left as it is. Only one sandbox at a time can use a
    /// file: another one does not start.
    pub fn data_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.data_file = Some(path.into());
        self
    }

    /// The records of every key at the start. A record with the same id in the [data file](Self::data_file) is kept.
    pub fn fixtures(mut self, fixtures: Fixtures) -> Self {
        self.fixtures = fixtures;
        self
    }

    /// How many connections are served at once; 1024 by default. Zero counts as one, and a number above
    /// `tokio::sync::Semaphore::MAX_PERMITS` as that.
    ///
    /// If one more client connects, the connection that has been idle for longest is closed, if that is at least a second. If none
    /// is idle, the client waits. On the service's port, that includes the admin interface: give it
    /// [its own](Self::admin_listen) to control a sandbox whose connections are all in use.
    pub fn max_connections(mut self, count: usize) -> Self {
        self.max_connections = count.clamp(1, Semaphore::MAX_PERMITS);
        self
    }

    /// Serves over https with this certificate chain and private key, both in PEM. The certificate must be for the address
    /// that the sandbox listens on, or clients do not accept its base URL.
    pub fn tls_pem(mut self, certificate_chain: impl Into<String>, private_key: impl Into<String>) -> Self {
        self.encryption = Encryption::Provided(Certificate {
            chain: certificate_chain.into(),
            private_key: private_key.into(),
        });
        self
    }

    /// Serves over https with a generated certificate for `localhost`, the loopback addresses and the address that the
    /// sandbox listens on. Clients must trust [`Sandbox::ca_certificate_pem`], which is new at each start.
    pub fn tls(mut self) -> Self {
        self.encryption = Encryption::Generated;
        self
    }

    /// Another host name or IP address for the [generated certificate](Self::tls), such as the name of a container; call it again for
    /// more. `*.example.test` stands for every name with one more label. Without a generated certificate, [`start`](Self::start)
    /// refuses a name.
    pub fn tls_name(mut self, name: impl Into<String>) -> Self {
        self.tls_names.push(name.into());
        self
    }

    /// Whether a request may ask for its own fault with the header `Sandbox-Fault`; it may by default. A request with an
    /// invalid header is refused before it reaches the service, so it is not recorded.
    pub fn control_headers(mut self, allowed: bool) -> Self {
        self.control_headers = allowed;
        self
    }

    /// Called for every request to the service, before the client sees the response. If the client has closed its side of the
    /// connection, it is called after the response was sent, because only then it is known whether the client could read it.
    pub fn on_exchange(mut self, tell: impl Fn(&Exchange) + Send + Sync + 'static) -> Self {
        self.on_exchange = Some(Arc::new(tell));
        self
    }

    /// Called for every connection that is closed because it was idle: for a minute, or when the
    /// [limit](Self::max_connections) was reached.
    pub fn on_idle_close(mut self, tell: impl Fn(&IdleClose) + Send + Sync + 'static) -> Self {
        self.on_idle_close = Some(Arc::new(tell));
        self
    }

    /// Starts serving in the background of the current tokio runtime. When this returns, connections are accepted.
    ///
    /// # Errors
    ///
    /// If it cannot listen on an address, if the certificate and the key are not a pair in PEM, if a name cannot be in a
    /// certificate or is not for a generated one, or if the [data file](Self::data_file) cannot be used. The error has the cause.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn start(self) -> io::Result<Sandbox> {
        // 32 bits, because people type the number, and some languages read JSON numbers exactly only up to 53 bits.
        let any_number = RandomState::new().hash_one("any number") >> 32;
        let (gateway, seed, clock) = self.gateway.build(any_number);
        let (tls, ca_certificate) = self.encryption.acceptor(self.listen.ip(), self.tls_names)?;
        let listener = bind(self.listen).await?;
        let admin_listener = match self.admin_listen {
            Some(address) => Some(bind(address).await?),
            None => None,
        };
        let address = listener.local_addr()?;
        let admin_address = admin_listener.as_ref().unwrap_or(&listener).local_addr()?;
        let data_file = match self.data_file {
            Some(path) => {
                let gateway = gateway.uncounted();
                // Reading many transactions would delay other tasks of the runtime.
                let opened = spawn_blocking(move || DataFile::open(&path, &gateway)).await;
                Some(opened.map_err(io::Error::other)??)
            }
            None => None,
        };
        gateway.load(&self.fixtures);

        let (switch, shutdown) = Shutdown::new();
        let feed = Feed::new(shutdown.clone());
        let scheme = if tls.is_some() { "https" } else { "http" };
        let info = Arc::new(SandboxInfo {
            gateway: gateway.uncounted(),
            data_file,
            seed,
            address,
            admin_address,
            scheme,
            base_url: format!("{}{PATH_PREFIX}", origin(scheme, address)),
            admin_url: format!("{}{}", origin(scheme, admin_address), admin::PREFIX),
            ca_certificate,
            switch,
        });
        let admin = Admin { info: Arc::clone(&info), clock, fixtures: self.fixtures, feed: feed.clone() };
        let admin = Arc::new(admin);
        let site = Site {
            port: Port::Service,
            service: gateway.core(),
            control_headers: self.control_headers,
            on_exchange: self.on_exchange,
            on_idle_close: self.on_idle_close,
            feed,
            next_id: Arc::new(AtomicU64::new(any_number)),
        };
        let mut servers = JoinSet::new();
        let mut serve = |listener, site| {
            servers.spawn(server::run(listener, tls.clone(), site, self.max_connections, shutdown.clone()));
        };
        match admin_listener {
            None => serve(listener, Site { port: Port::Both(admin), ..site }),
            Some(admin_listener) => {
                serve(admin_listener, Site { port: Port::Admin(admin), ..site.clone() });
                serve(listener, site);
            }
        }
        Ok(Sandbox { servers, gateway, info })
    }
}

impl fmt::Debug for SandboxBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxBuilder")
            .field("listen", &self.listen)
            .field("admin_listen", &self.admin_listen)
            .field("gateway", &self.gateway)
            .field("data_file", &self.data_file)
            .finish_non_exhaustive()
    }
}

async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| io::Error::new(error.kind(), format!("cannot listen on {address} ({error})")))
}

/// The address for clients: the loopback address if the sandbox listens on every address.
fn origin(scheme: &str, listening: SocketAddr) -> String {
    let ip = match listening.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    format!("{scheme}://{}", SocketAddr::new(ip, listening.port()))
}
