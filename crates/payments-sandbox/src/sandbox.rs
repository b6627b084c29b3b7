use std::io;
use std::sync::Arc;

use payments_fake::FakeGateway;
use tokio::task::{JoinError, JoinSet, spawn_blocking};

use crate::SandboxBuilder;
use crate::sandbox_info::SandboxInfo;

/// A [`FakeGateway`] served over HTTP, in the background of the current tokio runtime.
///
/// Each sandbox has its own port and its own gateway. Dropping it stops the server at once and breaks the requests in
/// flight, and saves nothing; [`shutdown`](Self::shutdown) stops it gracefully and saves its state.
#[derive(Debug)]
pub struct Sandbox {
    /// One for each port. They stop when they are dropped.
    pub(crate) servers: JoinSet<Result<(), JoinError>>,
    /// A handle of the program, which fails a test whose faults never fired.
    pub(crate) gateway: FakeGateway,
    pub(crate) info: Arc<SandboxInfo>,
}

/// What the program that started a sandbox can read of it.
macro_rules! accessors {
    ($sandbox:ty) => {
        impl $sandbox {
            /// The base URL for clients, such as `http://127.0.0.1:40123/api/v1/public`.
            ///
            /// If the sandbox listens on every address, this is the loopback address.
            pub fn base_url(&self) -> &str {
                &self.info.base_url
            }

            /// The address of the admin interface, such as `http://127.0.0.1:40123/_sandbox`.
            pub fn admin_url(&self) -> &str {
                &self.info.admin_url
            }

            /// The address of the page that shows people what happens, such as `http://127.0.0.1:40123/_sandbox/ui`.
            pub fn ui_url(&self) -> String {
                format!("{}/ui", self.info.admin_url)
            }

            /// The certificate authority that clients must trust, in PEM, if the sandbox
            /// [generated one](crate::SandboxBuilder::tls).
            pub fn ca_certificate_pem(&self) -> Option<&str> {
                self.info.ca_certificate.as_deref()
            }

            /// The [seed](payments_fake::FakeGatewayBuilder::seed), or `None` if you passed a
            /// [gateway](crate::SandboxBuilder::gateway).
            pub fn seed(&self) -> Option<u64> {
                self.info.seed
            }

            /// The address that it listens on.
            pub fn local_addr(&self) -> std::net::SocketAddr {
                self.info.address
            }

            /// The address that the admin interface listens on: the same, unless it has
            /// [its own](crate::SandboxBuilder::admin_listen).
            pub fn admin_local_addr(&self) -> std::net::SocketAddr {
                self.info.admin_address
            }

            /// The key that it accepts, or the first of several.
            pub fn api_key(&self) -> &str {
                self.gateway.api_key()
            }

            /// [`base_url`](Self::base_url) and [`api_key`](Self::api_key), for a client.
            ///
            /// # Panics
            ///
            /// If the sandbox serves plain HTTP on an address other than a loopback one: a client refuses to send card
            /// numbers there.
            pub fn endpoint(&self) -> payments_core::Endpoint {
                let key = payments_core::ApiKey::new(self.api_key()).expect("the gateway checked its key");
                payments_core::Endpoint::new(self.base_url(), key)
                    .expect("a client accepts https, and plain http to a loopback address")
            }

            /// The gateway that it serves, with its ledger, faults and gates.
            pub fn gateway(&self) -> &payments_fake::FakeGateway {
                &self.gateway
            }
        }
    };
}
pub(crate) use accessors;

accessors!(Sandbox);

impl Sandbox {
    /// Serves a fresh gateway on a free port of `127.0.0.1`. When this returns, connections are accepted.
    ///
    /// # Errors
    ///
    /// If it cannot listen.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn start() -> io::Result<Self> {
        Self::builder().start().await
    }

    /// Builds a sandbox with other settings than [`start`](Self::start).
    pub fn builder() -> SandboxBuilder {
        SandboxBuilder::new()
    }

    /// Accepts no more connections, responds to every request that was received, closes the connections and returns.
    ///
    /// Idle connections are closed at once, and so are those that a fault would keep open for ever. The pauses of `delay`
    /// and `drip` end: the requests are processed and the responses sent at once. A request at a
    /// [gate](payments_fake::Gate) is in flight: release it, or this waits for it.
    ///
    /// A client that is still sending a request or reading a response has one second for the rest, chosen by this SDK. Then
    /// its connection is closed, and an incomplete request is ignored.
    ///
    /// After the last response, it saves the state in its [data file](SandboxBuilder::data_file), if it has one.
    ///
    /// # Errors
    ///
    /// If the data file could not be written: it is then whole, with the state that was saved before, or, if only its folder could
    /// not be synced, with the new one. Or if a task of the server panicked, which is a bug of this crate or of the function of
    /// [`on_exchange`](SandboxBuilder::on_exchange), or its runtime has ended; the state is saved nevertheless.
    pub async fn shutdown(mut self) -> io::Result<()> {
        self.info.switch.send_replace(true);
        let mut served = Ok(());
        while let Some(ended) = self.servers.join_next().await {
            let ended = ended.flatten();
            served = served.and(ended);
        }
        let served = served.map_err(io::Error::other);
        let info = Arc::clone(&self.info);
        let save = move || info.data_file.as_ref().map_or(Ok(()), |file| file.save(&info.gateway));
        // After a panic of the server too: the charges before it took place.
        spawn_blocking(save).await.map_err(io::Error::other)?.and(served)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_of_the_server_is_reported_by_the_shutdown() {
        let mut sandbox = Sandbox::start().await.unwrap();
        sandbox.servers.spawn(async { panic!("the server broke") });
        let error = sandbox.shutdown().await.unwrap_err();
        assert!(error.to_string().contains("the server broke"), "{error}");
    }
}
