use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use payments_fake::{Choices, FakeGateway, Fixtures};
use tokio::task::spawn_blocking;

use crate::admin::Admin;
use crate::exchange::Exchange;
use crate::fresh_gateway::{Choose, FreshGateway};
use crate::page::Feed;
use crate::sandbox::{Facts, Ports, Sites, base_url};
use crate::site::{OnExchange, RequestIds, Site};
use crate::tls::Certificate;
use crate::wall_clock::WallClock;
use crate::{BlockingSandbox, Sandbox};

/// Builds a [`Sandbox`] that differs from [`Sandbox::start`]'s.
#[must_use = "a builder does nothing until it is started"]
pub struct SandboxBuilder {
    listen: SocketAddr,
    admin_listen: Option<SocketAddr>,
    api_keys: Vec<String>,
    seed: Option<u64>,
    choose: Vec<Choose>,
    ignores_unfired_faults: bool,
    gateway: Option<FakeGateway>,
    data: Option<PathBuf>,
    fixtures: Fixtures,
    encryption: Encryption,
    max_connections: usize,
    control_headers: bool,
    on_exchange: Option<OnExchange>,
}

enum Encryption {
    None,
    Given(Certificate),
    SelfMade,
}

impl SandboxBuilder {
    pub(crate) fn new() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            admin_listen: None,
            api_keys: Vec::new(),
            seed: None,
            choose: Vec::new(),
            ignores_unfired_faults: false,
            gateway: None,
            data: None,
            fixtures: Fixtures::default(),
            encryption: Encryption::None,
            max_connections: 1024,
            control_headers: true,
            on_exchange: None,
        }
    }

    /// Where to listen; a free port of `127.0.0.1` by default. Any other address than a loopback one lets others in,
    /// and with plain HTTP their requests cross the network in the clear.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// A port of its own for the admin interface, which is then not on the service's: whoever may call the service need
    /// not be able to steer it, and has no share in its [connections](Self::max_connections).
    ///
    /// On a loopback address the interface answers only who asks for a literal address or `localhost`: under any other
    /// name a web page might pass for a client.
    pub fn admin_listen(mut self, address: SocketAddr) -> Self {
        self.admin_listen = Some(address);
        self
    }

    /// A key to accept, instead of [`FakeGateway::API_KEY`]. Each further call adds a key with a ledger, tokens and
    /// customers of its own.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_keys.push(key.into());
        self
    }

    /// Where identifiers come from; another number at each start by default. One seed and the same requests in the same
    /// order give the same identifiers; with [`data`](Self::data) only on the first start with a file. A reset does not begin
    /// the sequence again: what is made afterwards has new identifiers.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Changes what the service does where the interface says nothing; see [`Choices`].
    pub fn choices(mut self, change: impl FnOnce(&mut Choices) + Send + 'static) -> Self {
        self.choose.push(Box::new(change));
        self
    }

    /// Does not panic at the end if an armed fault never fired: for a sandbox whose faults are not armed by the test that
    /// drops it.
    pub fn ignore_unfired_faults(mut self) -> Self {
        self.ignores_unfired_faults = true;
        self
    }

    /// The gateway to serve, instead of a fresh one. It has keys, a seed, choices and a clock of its own:
    /// [`api_key`](Self::api_key), [`seed`](Self::seed) and [`choices`](Self::choices) are not looked at, and
    /// [`data`](Self::data) is refused.
    pub fn gateway(mut self, gateway: FakeGateway) -> Self {
        self.gateway = Some(gateway);
        self
    }

    /// Keeps everything in this file, which is made if it is not there: a payment that was answered is there at the next
    /// start, whatever ends the process. Only one sandbox at a time can use a file.
    pub fn data(mut self, path: impl Into<PathBuf>) -> Self {
        self.data = Some(path.into());
        self
    }

    /// What every key has at the start, as far as it does not have a record of the same id.
    pub fn fixtures(mut self, fixtures: Fixtures) -> Self {
        self.fixtures = fixtures;
        self
    }

    /// How many connections are served at once; 1024 by default. Further ones wait until one of these is closed. That
    /// holds for the admin interface as well, on the service's port: give it [one of its own](Self::admin_listen) to steer a
    /// sandbox whose connections are all taken.
    pub fn max_connections(mut self, count: usize) -> Self {
        self.max_connections = count;
        self
    }

    /// Serves over https with this certificate chain and private key, both in PEM. For a base address that clients
    /// accept, the certificate must be for the address that is listened on.
    pub fn tls_pem(mut self, certificate_chain: impl Into<String>, private_key: impl Into<String>) -> Self {
        self.encryption = Encryption::Given(Certificate {
            chain: certificate_chain.into(),
            private_key: private_key.into(),
        });
        self
    }

    /// Serves over https with a certificate of its own for `localhost`, the loopback addresses and the address that is
    /// listened on. Clients must trust [`Sandbox::ca_certificate_pem`], which is another at each start.
    pub fn tls(mut self) -> Self {
        self.encryption = Encryption::SelfMade;
        self
    }

    /// Whether a request may ask for its own fault with the header `Sandbox-Fault`; it may by default. One whose header is
    /// wrong is refused before it comes to the service: the recorded requests do not have it.
    pub fn control_headers(mut self, allowed: bool) -> Self {
        self.control_headers = allowed;
        self
    }

    /// Told of every request to the service, before the client is shown anything.
    pub fn on_exchange(mut self, tell: impl Fn(&Exchange) + Send + Sync + 'static) -> Self {
        self.on_exchange = Some(Arc::new(tell));
        self
    }

    /// Starts serving in the background of the current tokio runtime. When this returns, connections are accepted.
    ///
    /// # Errors
    ///
    /// If an address cannot be listened on, if the certificate and key are not a pair in PEM, or if the data file cannot
    /// be used: the error says why.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime, or with an API key that no client could send.
    pub async fn start(self) -> io::Result<Sandbox> {
        let Self {
            listen,
            admin_listen,
            mut api_keys,
            seed,
            choose,
            ignores_unfired_faults,
            gateway,
            data,
            fixtures,
            encryption,
            max_connections,
            control_headers,
            on_exchange,
        } = self;
        let (certificate, ca_certificate) = match encryption {
            Encryption::None => (None, None),
            Encryption::Given(certificate) => (Some(certificate), None),
            Encryption::SelfMade => {
                let (certificate, authority) = Certificate::self_made(listen.ip())?;
                (Some(certificate), Some(authority))
            }
        };
        let tls = certificate.map(|certificate| certificate.acceptor()).transpose()?;
        let ports = Ports::bind(listen, admin_listen).await?;

        // Few digits, because people type it again, and JSON numbers of some languages are exact up to 53 bits.
        let any_number = RandomState::new().hash_one("any number") >> 32;
        let (gateway, store, seed, clock) = if let Some(gateway) = gateway {
            if data.is_some() {
                let message =
                    "a gateway that is given keeps its own books: it cannot be served with a data file";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
            (gateway, None, None, None)
        } else {
            let seed = seed.unwrap_or(any_number);
            if api_keys.is_empty() {
                api_keys.push(FakeGateway::API_KEY.to_owned());
            }
            let fresh = FreshGateway { api_keys, seed, choose, ignores_unfired_faults, data };
            let clock = WallClock::default();
            let told = clock.clone();
            // A file with many transactions must not hold up whatever else the runtime does.
            let built = spawn_blocking(move || fresh.build(&told)).await;
            let (gateway, store) = built.map_err(|stopped| match stopped.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(cancelled) => io::Error::other(cancelled),
            })??;
            (gateway, store, Some(seed), Some(clock))
        };
        gateway.load(&fixtures);
        gateway.responder().flushed().await.map_err(io::Error::other)?;

        let feed = Feed::new();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let admin = Arc::new(Admin {
            gateway: gateway.uncounted(),
            clock,
            fixtures,
            seed,
            is_on_loopback: admin_listen.unwrap_or(listen).ip().is_loopback(),
            scheme,
            base_url: base_url(scheme, ports.service_address),
            feed: feed.clone(),
        });
        let request_ids = Arc::new(RequestIds::new(any_number));
        let site = |serves: bool, administers: bool| Site {
            service: gateway.responder(),
            serves,
            admin: administers.then(|| Arc::clone(&admin)),
            control_headers,
            on_exchange: on_exchange.clone(),
            feed: feed.clone(),
            request_ids: Arc::clone(&request_ids),
        };
        let sites = match admin_listen {
            None => Sites { service: site(true, true), admin: None },
            Some(_) => Sites { service: site(true, false), admin: Some(site(false, true)) },
        };
        Ok(Sandbox::serve(ports, sites, Facts { gateway, store, seed, tls, ca_certificate, max_connections }))
    }

    /// Starts serving on a thread of its own, for programs and tests that have no runtime. When this returns, connections
    /// are accepted.
    ///
    /// ```
    /// use payments_sandbox::Sandbox;
    ///
    /// let sandbox = Sandbox::builder().seed(7).start_blocking()?;
    /// assert!(sandbox.base_url().starts_with("http://127.0.0.1:"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start), or if no thread can be had.
    pub fn start_blocking(self) -> io::Result<BlockingSandbox> {
        BlockingSandbox::start_with(self)
    }
}

impl fmt::Debug for SandboxBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxBuilder")
            .field("listen", &self.listen)
            .field("admin_listen", &self.admin_listen)
            .field("gateway", &self.gateway)
            .field("data", &self.data)
            .finish_non_exhaustive()
    }
}
