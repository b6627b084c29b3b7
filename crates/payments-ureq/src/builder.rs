use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::{BuildError, UreqTransport};

/// Settings of a [`UreqTransport`]. Every setting has a safe default.
///
/// No setting disables the verification of certificates. For a test server, add its certificate or the authority that issued it.
#[must_use = "a builder does nothing until it is built"]
pub struct UreqTransportBuilder {
    added_roots: Vec<CertificateDer<'static>>,
    only_added_roots: bool,
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
            added_roots: Vec::new(),
            only_added_roots: false,
            pool: Pool {
                idle_timeout: Self::DEFAULT_POOL_IDLE_TIMEOUT,
                max_idle: Self::DEFAULT_MAX_IDLE_CONNECTIONS,
            },
            failure: None,
        }
    }

    /// Chosen by this SDK: 20 seconds.
    ///
    /// Servers and load balancers commonly keep idle connections for 60 seconds or more. A client that closes first does not send a
    /// payment into a connection that is just being closed, which would make its outcome unknown.
    pub const DEFAULT_POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(20);

    /// Chosen by this SDK: 512 connections.
    pub const DEFAULT_MAX_IDLE_CONNECTIONS: usize = 512;

    /// Trusts every certificate in this PEM text as an authority, in addition to the others.
    pub fn root_certificates_pem(mut self, pem: impl AsRef<[u8]>) -> Self {
        match certificates(pem.as_ref()) {
            Ok(certificates) => self.added_roots.extend(certificates),
            Err(failure) => {
                self.failure.get_or_insert(failure);
            }
        }
        self
    }

    /// Trusts this DER certificate as an authority, in addition to the others.
    pub fn root_certificate_der(mut self, der: impl Into<Vec<u8>>) -> Self {
        self.added_roots.push(CertificateDer::from(der.into()));
        self
    }

    /// Trusts the certificates in this PEM text and any others that you add, but no public authority.
    pub fn only_root_certificates_pem(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.only_added_roots = true;
        self.root_certificates_pem(pem)
    }

    /// How long a connection may be idle and still be reused; [20 seconds](Self::DEFAULT_POOL_IDLE_TIMEOUT) by
    /// default. With zero, each call opens its own connection.
    pub fn pool_idle_timeout(mut self, timeout: Duration) -> Self {
        self.pool.idle_timeout = timeout;
        self
    }

    /// How many idle connections are kept; [512](Self::DEFAULT_MAX_IDLE_CONNECTIONS) by default. More connections can be
    /// in use at once.
    pub fn max_idle_connections(mut self, connections: usize) -> Self {
        self.pool.max_idle = connections;
        self
    }

    /// Builds the transport. It opens no connection.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if a certificate could not be read.
    pub fn build(self) -> Result<UreqTransport, BuildError> {
        let Self { added_roots, only_added_roots, mut pool, failure } = self;
        if let Some(failure) = failure {
            return Err(failure);
        }
        let mut roots = RootCertStore::empty();
        if !only_added_roots {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        for certificate in added_roots {
            roots.add(certificate).map_err(BuildError::root_certificate)?;
        }
        // Set explicitly. Otherwise rustls uses the process-wide provider, and panics if there is none.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring supports TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols.push(b"http/1.1".to_vec());
        // Also rustls' default. Early data can be recorded and replayed.
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
