use std::sync::Arc;
use std::time::Duration;

use payments_core::Deadlines;
use payments_core::transport::BuildError;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::clients::Clients;
use crate::transport::ReqwestTransport;

/// Settings of a [`ReqwestTransport`]. Every setting has a safe default.
///
/// By default it trusts Mozilla's roots, compiled in. No setting disables the verification of certificates. For a test server, add
/// its certificate or the authority that issued it.
#[derive(Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct ReqwestTransportBuilder {
    /// The added roots, or why one could not be read.
    roots: Result<RootCertStore, BuildError>,
    trusts_public_authorities: bool,
    idle_timeout: Duration,
    max_idle: usize,
}

impl ReqwestTransportBuilder {
    pub(crate) fn with_defaults() -> Self {
        Self {
            roots: Ok(RootCertStore::empty()),
            trusts_public_authorities: true,
            idle_timeout: Self::DEFAULT_POOL_IDLE_TIMEOUT,
            max_idle: Self::DEFAULT_MAX_IDLE_CONNECTIONS,
        }
    }

    /// Chosen by this SDK: 20 seconds.
    ///
    /// Servers and load balancers commonly keep idle connections for 60 seconds or more. A client that closes first does not
    /// send a payment into a connection that the server is closing, which would make the outcome unknown.
    pub const DEFAULT_POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(20);

    /// Chosen by this SDK: 512 connections.
    pub const DEFAULT_MAX_IDLE_CONNECTIONS: usize = 512;

    /// Trusts every certificate in this PEM text as an authority, in addition to the others.
    pub fn root_certificates_pem(self, pem: impl AsRef<[u8]>) -> Self {
        // Drops the parser's error, which may quote a line of the file: the file may be a private key by mistake.
        self.add(match CertificateDer::pem_slice_iter(pem.as_ref()).collect::<Result<Vec<_>, _>>() {
            Err(_) => Err("the text is not PEM"),
            Ok(certificates) if certificates.is_empty() => Err("the text has no PEM section CERTIFICATE"),
            Ok(certificates) => Ok(certificates),
        })
    }

    /// Trusts this DER certificate as an authority, in addition to the others.
    pub fn root_certificate_der(self, der: impl Into<Vec<u8>>) -> Self {
        self.add(Ok(vec![CertificateDer::from(der.into())]))
    }

    fn add(mut self, certificates: Result<Vec<CertificateDer<'static>>, &'static str>) -> Self {
        self.roots = self.roots.and_then(|mut roots| {
            for certificate in certificates.map_err(BuildError::root_certificate)? {
                roots.add(certificate).map_err(BuildError::root_certificate)?;
            }
            Ok(roots)
        });
        self
    }

    /// Trusts the certificates in this PEM text and any others that you add, but no public authority.
    pub fn only_root_certificates_pem(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.trusts_public_authorities = false;
        self.root_certificates_pem(pem)
    }

    /// How long a connection may be idle and still be reused. With zero, each call opens its own connection, which protects against
    /// a server that sends a late second response.
    pub fn pool_idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// The maximum number of idle connections to keep, for each server and each runtime.
    pub fn max_idle_connections(mut self, count: usize) -> Self {
        self.max_idle = count;
        self
    }

    /// Builds the transport. It needs no runtime and opens no connection.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if a certificate could not be read.
    #[allow(clippy::missing_panics_doc, reason = "it never panics: ring supports TLS 1.2 and 1.3")]
    pub fn build(self) -> Result<ReqwestTransport, BuildError> {
        let mut roots = self.roots?;
        if self.trusts_public_authorities {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        // Set explicitly. Otherwise reqwest uses the process-wide provider, and panics if there is none.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring supports TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let idle_timeout = self.idle_timeout.min(Deadlines::LONGEST);
        let max_idle = if idle_timeout.is_zero() { 0 } else { self.max_idle };
        let clients = Clients::new(move || {
            reqwest::Client::builder()
                .tls_backend_preconfigured(tls.clone())
                .no_proxy()
                .pool_idle_timeout(idle_timeout)
                .pool_max_idle_per_host(max_idle)
        })?;
        Ok(ReqwestTransport::from_parts(clients))
    }
}
