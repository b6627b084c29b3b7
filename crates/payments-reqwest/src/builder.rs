use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::build_error::{BuildError, BuildErrorKind};
use crate::clients::Clients;
use crate::transport::ReqwestTransport;

/// Settings of a [`ReqwestTransport`]. Every setting has a safe default.
///
/// By default it trusts Mozilla's roots, compiled in. No setting disables the verification of certificates. For a test server, add
/// its certificate or the authority that issued it.
#[must_use = "a builder does nothing until it is built"]
pub struct ReqwestTransportBuilder {
    only_added_roots: bool,
    added_roots: Vec<CertificateDer<'static>>,
    /// The first setting that could not be read, kept until `build` can return it.
    failure: Option<BuildError>,
}

impl ReqwestTransportBuilder {
    pub(crate) fn with_defaults() -> Self {
        Self { only_added_roots: false, added_roots: Vec::new(), failure: None }
    }

    /// Trusts every certificate in this PEM text as an authority, in addition to the others.
    pub fn root_certificates_pem(mut self, pem: impl AsRef<[u8]>) -> Self {
        match certificates(pem.as_ref()) {
            Ok(roots) => self.added_roots.extend(roots),
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

    /// Builds the transport. It needs no runtime and opens no connection.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if a certificate could not be read.
    pub fn build(self) -> Result<ReqwestTransport, BuildError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let mut roots = RootCertStore::empty();
        if !self.only_added_roots {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        for certificate in self.added_roots {
            roots
                .add(certificate)
                .map_err(|error| BuildError::new(BuildErrorKind::RootCertificate, error))?;
        }
        // Set explicitly. Otherwise reqwest uses the process-wide provider, and panics if there is none.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring supports TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let clients = Clients::new(move || {
            reqwest::Client::builder()
                .tls_backend_preconfigured(tls.clone())
                .no_proxy()
                .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        })?;
        Ok(ReqwestTransport::over(clients))
    }
}

/// Servers and load balancers commonly keep idle connections for 60 seconds or more. A client that closes first does not send a
/// payment into a connection that is just being closed.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(20);

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, BuildError> {
    let refused = |reason: &str| BuildError::new(BuildErrorKind::RootCertificate, reason);
    // Drops the parser's error, which may quote a line of the file: the file may be a private key by mistake.
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|_| refused("the text is not PEM"))?;
    if certificates.is_empty() {
        return Err(refused("the text holds no PEM section CERTIFICATE"));
    }
    Ok(certificates)
}

impl fmt::Debug for ReqwestTransportBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReqwestTransportBuilder").field("failure", &self.failure).finish_non_exhaustive()
    }
}
