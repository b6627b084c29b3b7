use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use payments_core::{ApiKey, Endpoint};
use payments_fake::FakeGateway;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::{SandboxBuilder, Store};

/// A [`FakeGateway`] served over HTTP, in the background of the current tokio runtime.
///
/// Each sandbox has its own port and its own gateway. Dropping it stops the server at once and breaks what is in
/// flight; [`shutdown`](Self::shutdown) stops it gracefully.
#[derive(Debug)]
pub struct Sandbox {
    /// One for each port. Dropped, they stop.
    pub(crate) servers: JoinSet<()>,
    pub(crate) store: Option<Store>,
    pub(crate) facts: Arc<Facts>,
}

/// What can be asked of a sandbox from any thread.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) gateway: FakeGateway,
    pub(crate) seed: Option<u64>,
    pub(crate) address: SocketAddr,
    pub(crate) admin_address: SocketAddr,
    pub(crate) base_url: String,
    pub(crate) admin_url: String,
    pub(crate) ca_certificate: Option<String>,
    /// Set to true, it stops the sandbox gracefully.
    pub(crate) switch: watch::Sender<bool>,
}

impl Facts {
    pub(crate) fn endpoint(&self) -> Endpoint {
        let key = ApiKey::new(&self.gateway.api_key()).expect("the gateway checked its key");
        Endpoint::new(&self.base_url, key)
            .expect("a client takes https, and plain http to a loopback address")
    }
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

    /// The address that clients are given, such as `http://127.0.0.1:40123/api/v1/public`.
    ///
    /// A sandbox that listens on every address gives the loopback one.
    pub fn base_url(&self) -> String {
        self.facts.base_url.clone()
    }

    /// The address of the admin interface, such as `http://127.0.0.1:40123/_sandbox`.
    pub fn admin_url(&self) -> String {
        self.facts.admin_url.clone()
    }

    /// The address of the page that shows to a person what happens here, such as `http://127.0.0.1:40123/_sandbox/ui`.
    pub fn ui_url(&self) -> String {
        format!("{}/ui", self.facts.admin_url)
    }

    /// The certificate authority that clients must trust, in PEM, if the sandbox made [one of its
    /// own](SandboxBuilder::tls).
    pub fn ca_certificate_pem(&self) -> Option<&str> {
        self.facts.ca_certificate.as_deref()
    }

    /// The [seed](SandboxBuilder::seed), unless the gateway was [given](SandboxBuilder::gateway).
    pub fn seed(&self) -> Option<u64> {
        self.facts.seed
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
        self.facts.address
    }

    /// Where the admin interface listens: the same, unless it has [a port of its
    /// own](SandboxBuilder::admin_listen).
    pub fn admin_local_addr(&self) -> SocketAddr {
        self.facts.admin_address
    }

    /// The key that it accepts.
    pub fn api_key(&self) -> String {
        self.facts.gateway.api_key()
    }

    /// [`base_url`](Self::base_url) and [`api_key`](Self::api_key), for a client.
    ///
    /// # Panics
    ///
    /// If the sandbox serves plain HTTP on an address that is not a loopback one: a client refuses to send a card
    /// number there.
    pub fn endpoint(&self) -> Endpoint {
        self.facts.endpoint()
    }

    /// What is served: its ledger, its faults, its gates.
    pub fn gateway(&self) -> &FakeGateway {
        &self.facts.gateway
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
        self.facts.switch.send_replace(true);
        // An error would be a panic of the server, which has nothing that panics, or the runtime's own end.
        while self.servers.join_next().await.is_some() {}
        match self.store {
            Some(store) => store.close().await.map_err(io::Error::other),
            None => Ok(()),
        }
    }
}
