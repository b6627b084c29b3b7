use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::{BuildError, UreqTransport};

/// Settings of a [`UreqTransport`]. Every one has a default that is safe to keep.
///
/// There is no setting that turns the verification of certificates off. To talk to a test server, give its certificate
/// or the authority's that issued it.
#[must_use = "a builder does nothing until it is built"]
pub struct UreqTransportBuilder {
    given_roots: Vec<CertificateDer<'static>>,
    only_given_roots: bool,
    pool: Pool,
    /// The first setting that could not be read, kept until `build` can return it.
    failure: Option<BuildError>,
}

/// Which connections are kept for later calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool {
    pub(crate) idle_timeout: Duration,
    pub(crate) max_idle: usize,
}

impl UreqTransportBuilder {
    pub(crate) fn with_defaults() -> Self {
        Self {
            given_roots: Vec::new(),
            only_given_roots: false,
            pool: Pool {
                idle_timeout: Self::DEFAULT_POOL_IDLE_TIMEOUT,
                max_idle: Self::DEFAULT_MAX_IDLE_CONNECTIONS,
            },
            failure: None,
        }
    }

    /// Chosen by this SDK: 20 seconds.
    ///
    /// Servers and load balancers commonly keep idle connections for 60 seconds and more. A client that gives up first
    /// does not send a payment into a connection that is just being closed, which would make its outcome unknown.
    pub const DEFAULT_POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(20);

    /// Chosen by this SDK: 512 connections.
    pub const DEFAULT_MAX_IDLE_CONNECTIONS: usize = 512;

    /// Trusts every certificate of this PEM text as an authority, in addition to the others.
    pub fn root_certificates_pem(mut self, pem: impl AsRef<[u8]>) -> Self {
        match certificates(pem.as_ref()) {
            Ok(certificates) => self.given_roots.extend(certificates),
            Err(failure) => {
                self.failure.get_or_insert(failure);
            }
        }
        self
    }

    /// Trusts this DER certificate as an authority, in addition to the others.
    pub fn root_certificate_der(mut self, der: impl Into<Vec<u8>>) -> Self {
        self.given_roots.push(CertificateDer::from(der.into()));
        self
    }

    /// Trusts the certificates of this PEM text and any others that are given, but no public authority.
    pub fn only_root_certificates_pem(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.only_given_roots = true;
        self.root_certificates_pem(pem)
    }

    /// How long a connection may be idle and still be used again; [20 seconds](Self::DEFAULT_POOL_IDLE_TIMEOUT) by
    /// default. Zero gives each call a connection of its own.
    pub fn pool_idle_timeout(mut self, timeout: Duration) -> Self {
        self.pool.idle_timeout = timeout;
        self
    }

    /// How many idle connections are kept; [512](Self::DEFAULT_MAX_IDLE_CONNECTIONS) by default. More than this can be
    /// in use at once.
    pub fn max_idle_connections(mut self, connections: usize) -> Self {
        self.pool.max_idle = connections;
        self
    }

    /// Builds the transport. Opens no connection.
    ///
    /// # Errors
    ///
    /// [`BuildError`] where a certificate could not be read.
    pub fn build(self) -> Result<UreqTransport, BuildError> {
        let Self { given_roots, only_given_roots, mut pool, failure } = self;
        if let Some(failure) = failure {
            return Err(failure);
        }
        let mut roots = RootCertStore::empty();
        if !only_given_roots {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        for certificate in given_roots {
            roots.add(certificate).map_err(BuildError::root_certificate)?;
        }
        // The provider is chosen here: rustls would take the one that the process has installed, and panic without.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(BuildError::protocol)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols.push(b"http/1.1".to_vec());
        // Said although it is rustls' default: data sent early can be replayed by anyone who recorded it.
        tls.enable_early_data = false;
        if pool.idle_timeout.is_zero() {
            pool.max_idle = 0;
        }
        Ok(UreqTransport::from_parts(Arc::new(tls), pool))
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, BuildError> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|_| BuildError::root_certificate("the text is not PEM"))?;
    if certificates.is_empty() {
        return Err(BuildError::root_certificate("the text holds no PEM section CERTIFICATE"));
    }
    Ok(certificates)
}

impl fmt::Debug for UreqTransportBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UreqTransportBuilder")
            .field("pool", &self.pool)
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}
