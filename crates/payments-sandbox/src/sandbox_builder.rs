use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::SystemTime;

use payments_fake::FakeGateway;
use tokio::net::TcpListener;

use crate::Sandbox;
use crate::tls::Tls;

/// Builds a [`Sandbox`] that differs from [`Sandbox::start`]'s.
#[must_use = "a builder does nothing until it is started"]
pub struct SandboxBuilder {
    listen: SocketAddr,
    api_key: Option<String>,
    gateway: Option<FakeGateway>,
    certificate: Option<Certificate>,
    max_connections: usize,
}

/// A certificate chain and its key, in PEM.
struct Certificate {
    chain: String,
    private_key: String,
}

impl SandboxBuilder {
    pub(crate) fn new() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            api_key: None,
            gateway: None,
            certificate: None,
            max_connections: 1024,
        }
    }

    /// Where to listen; a free port of `127.0.0.1` by default. Any other address than a loopback one lets others in,
    /// and with plain HTTP their requests cross the network in the clear.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// The key that the fresh gateway accepts. A gateway that is [given](Self::gateway) has a key of its own, and this
    /// one is not looked at.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// The gateway to serve, instead of a fresh one.
    pub fn gateway(mut self, gateway: FakeGateway) -> Self {
        self.gateway = Some(gateway);
        self
    }

    /// How many connections are served at once; 1024 by default. Further ones wait until one of these is closed.
    pub fn max_connections(mut self, count: usize) -> Self {
        self.max_connections = count;
        self
    }

    /// Serves over https with this certificate chain and private key, both in PEM. For a base address that clients
    /// accept, the certificate must be for the address that is listened on.
    pub fn tls_pem(mut self, certificate_chain: impl Into<String>, private_key: impl Into<String>) -> Self {
        self.certificate =
            Some(Certificate { chain: certificate_chain.into(), private_key: private_key.into() });
        self
    }

    /// Starts serving in the background of the current tokio runtime. When this returns, connections are accepted.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on, or the certificate and key are not a pair in PEM.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime, or with an API key that no client could send.
    pub async fn start(self) -> io::Result<Sandbox> {
        let tls = self.certificate.map(|pem| Tls::new(&pem.chain, &pem.private_key)).transpose()?;
        let gateway = self.gateway.unwrap_or_else(|| {
            let builder = FakeGateway::builder().wall_clock(SystemTime::now);
            match self.api_key {
                Some(key) => builder.api_key(key).build(),
                None => builder.build(),
            }
        });
        let listener = TcpListener::bind(self.listen).await?;
        Sandbox::serve(listener, tls, gateway, self.max_connections)
    }
}

impl fmt::Debug for SandboxBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxBuilder")
            .field("listen", &self.listen)
            .field("gateway", &self.gateway)
            .finish_non_exhaustive()
    }
}
