use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use payments_core::Endpoint;
use payments_fake::FakeGateway;
use tokio::runtime;

use crate::sandbox::Facts;
use crate::{Sandbox, SandboxBuilder};

/// A [`Sandbox`] for programs and tests that have no runtime: it runs on a thread of its own.
///
/// Dropping it shuts it down gracefully, as [`Sandbox::shutdown`] does, and waits for that: one second at most for a client
/// that does not finish its request or does not read its response, which is chosen by this SDK. A request that is held at a
/// [gate](payments_fake::Gate) is in flight: release it first.
#[derive(Debug)]
pub struct BlockingSandbox {
    facts: Arc<Facts>,
    thread: Option<JoinHandle<()>>,
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
        let (report, started) = mpsc::sync_channel(1);
        let runtime = runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let serve = async move {
            let sandbox = match builder.start().await {
                Ok(sandbox) => sandbox,
                Err(error) => return drop(report.send(Err(error))),
            };
            let mut switch = sandbox.facts.switch.subscribe();
            // The receiver waits for exactly one report.
            let _ = report.send(Ok(Arc::clone(&sandbox.facts)));
            let _ = switch.wait_for(|stop| *stop).await;
            // Nobody is left to be told; what was answered had been made durable before.
            let _ = sandbox.shutdown().await;
        };
        let thread = thread::Builder::new()
            .name("payments-sandbox".to_owned())
            .spawn(move || runtime.block_on(serve))?;
        let facts = started
            .recv()
            .map_err(|_| io::Error::other("the sandbox's thread ended before it reported"))??;
        Ok(Self { facts, thread: Some(thread) })
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
    ///
    /// # Panics
    ///
    /// As [`Sandbox::endpoint`].
    pub fn endpoint(&self) -> Endpoint {
        self.facts.endpoint()
    }

    /// What is served: its ledger, its faults, its gates.
    pub fn gateway(&self) -> &FakeGateway {
        &self.facts.gateway
    }
}

impl Drop for BlockingSandbox {
    fn drop(&mut self) {
        self.facts.switch.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic there was printed there; there is nobody to hand it to.
            let _ = thread.join();
        }
    }
}
