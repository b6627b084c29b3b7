use std::net::SocketAddr;

use payments_fake::FakeGateway;
use tokio::sync::watch;

use crate::data_file::DataFile;

/// The properties of a sandbox that every thread can read.
#[derive(Debug)]
pub(crate) struct SandboxInfo {
    /// A handle of the server.
    pub(crate) gateway: FakeGateway,
    pub(crate) data_file: Option<DataFile>,
    pub(crate) seed: Option<u64>,
    pub(crate) address: SocketAddr,
    pub(crate) admin_address: SocketAddr,
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
    pub(crate) base_url: String,
    pub(crate) admin_url: String,
    pub(crate) ca_certificate: Option<String>,
    /// Setting it to true stops the sandbox gracefully.
    pub(crate) switch: watch::Sender<bool>,
}
