use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use payments_core::Endpoint;
use payments_fake::FakeGateway;
use tokio::runtime;
use tokio::sync::oneshot;

use crate::{Sandbox, SandboxBuilder};

/// A [`Sandbox`] for programs and tests that have no runtime: it runs on a thread of its own.
///
/// Dropping it shuts it down gracefully, as [`Sandbox::shutdown`] does, and waits for that: one second at most for a client
/// that does not finish its request or does not read its response, which is chosen by this SDK. A request that is held at a
/// [gate](payments_fake::Gate) is in flight: release it first.
pub struct BlockingSandbox {
    facts: Facts,
    /// Dropped, it tells the thread to stop.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What is asked of a running sandbox.
struct Facts {
    gateway: FakeGateway,
    seed: Option<u64>,
    base_url: String,
    admin_url: String,
    ca_certificate: Option<String>,
    address: SocketAddr,
    endpoint: Endpoint,
}

impl Facts {
    fn of(sandbox: &Sandbox) -> Self {
        Self {
            gateway: sandbox.gateway().clone(),
            seed: sandbox.seed(),
            base_url: sandbox.base_url(),
            admin_url: sandbox.admin_url(),
            ca_certificate: sandbox.ca_certificate_pem().map(str::to_owned),
            address: sandbox.local_addr(),
            endpoint: sandbox.endpoint(),
        }
    }
}

impl BlockingSandbox {
    /// Serves a fresh gateway on a free port of `127.0.0.1`. When this returns, connections are accepted.
    ///
    /// # Errors
    ///
    /// If no port or no thread can be had.
    pub fn start() -> io::Result<Self> {
        Sandbox::builder().start_blocking()
    }

    /// The same with what the builder says.
    pub(crate) fn start_with(builder: SandboxBuilder) -> io::Result<Self> {
        let (stop, stopped) = oneshot::channel::<()>();
        let (report, started) = mpsc::sync_channel(1);
        let runtime = runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let serve = async move {
            match builder.start().await {
                Ok(sandbox) => {
                    let facts = Facts::of(&sandbox);
                    // The receiver waits for exactly one report.
                    let _ = report.send(Ok(facts));
                    // Sent or dropped, it means the same.
                    let _ = stopped.await;
                    // Nobody is left to be told; what was answered had been made durable before.
                    let _ = sandbox.shutdown().await;
                }
                Err(error) => {
                    let _ = report.send(Err(error));
                }
            }
        };
        let thread = thread::Builder::new()
            .name("payments-sandbox".to_owned())
            .spawn(move || runtime.block_on(serve))?;
        let facts = started
            .recv()
            .map_err(|_| io::Error::other("the sandbox's thread ended before it reported"))??;
        Ok(Self { facts, stop: Some(stop), thread: Some(thread) })
    }

    /// The address that clients are given, such as `http://127.0.0.1:40123/api/v1/public`.
    pub fn base_url(&self) -> &str {
        &self.facts.base_url
    }

    /// The address of the admin interface, such as `http://127.0.0.1:40123/_sandbox`.
    pub fn admin_url(&self) -> &str {
        &self.facts.admin_url
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

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.facts.address
    }

    /// The key that it accepts.
    pub fn api_key(&self) -> String {
        self.facts.gateway.api_key()
    }

    /// [`base_url`](Self::base_url) and [`api_key`](Self::api_key), for a client.
    pub fn endpoint(&self) -> Endpoint {
        self.facts.endpoint.clone()
    }

    /// What is served: its ledger, its faults, its gates.
    pub fn gateway(&self) -> &FakeGateway {
        &self.facts.gateway
    }
}

impl Drop for BlockingSandbox {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was printed there; there is nobody to hand it to.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for BlockingSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { facts, stop: _, thread: _ } = self;
        f.debug_struct("BlockingSandbox")
            .field("base_url", &facts.base_url)
            .field("admin_url", &facts.admin_url)
            .field("gateway", &facts.gateway)
            .finish_non_exhaustive()
    }
}
