use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

use crate::build_error::{BuildError, BuildErrorKind};
use crate::tls_provider::TlsProvider;
use crate::trusted_roots::TrustedRoots;

/// What was asked of TLS. Nothing in here can turn verification off.
#[derive(Default)]
pub(crate) struct TlsSettings {
    pub(crate) provider: Option<TlsProvider>,
    pub(crate) trusted_roots: Option<TrustedRoots>,
    /// Trust the given roots and no others.
    pub(crate) only_given_roots: bool,
    /// Whether to offer HTTP/2 beside HTTP/1.1.
    #[cfg(feature = "http2")]
    pub(crate) http2: bool,
    given_roots: Vec<CertificateDer<'static>>,
    client_identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
}

/// Why a transport that is otherwise whole cannot speak https.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoTls {
    NoProvider,
    NoRoots,
}

impl TlsSettings {
    pub(crate) fn add_root_der(&mut self, der: Vec<u8>) {
        self.given_roots.push(CertificateDer::from(der));
    }

    pub(crate) fn add_roots_pem(&mut self, pem: &[u8]) -> Result<(), BuildError> {
        let roots = certificates(pem, BuildErrorKind::RootCertificate)?;
        self.given_roots.extend(roots);
        Ok(())
    }

    pub(crate) fn set_client_identity(
        &mut self,
        certificates_pem: &[u8],
        key_pem: &[u8],
    ) -> Result<(), BuildError> {
        let chain = certificates(certificates_pem, BuildErrorKind::ClientCertificate)?;
        // Without the parser's error as source: it may quote a line of the file, and this file is a private key.
        let key = PrivateKeyDer::from_pem_slice(key_pem)
            .map_err(|_| BuildError::of(BuildErrorKind::ClientCertificate))?;
        self.client_identity = Some((chain, key));
        Ok(())
    }

    /// The configuration for https, or why there is none.
    ///
    /// A build without TLS makes a working transport for plain http to the own machine, so its absence is an error here
    /// only where something was asked of TLS.
    pub(crate) fn build(self) -> Result<Result<Arc<ClientConfig>, NoTls>, BuildError> {
        let nothing_asked = self.provider.is_none()
            && self.trusted_roots.is_none()
            && !self.only_given_roots
            && self.given_roots.is_empty()
            && self.client_identity.is_none();
        let Some(provider) = self.provider.or_else(TlsProvider::compiled_in) else {
            let refusal =
                if nothing_asked { Ok(Err(NoTls::NoProvider)) } else { Err(BuildErrorKind::NoProvider) };
            return refusal.map_err(BuildError::of);
        };
        let roots =
            if self.only_given_roots { None } else { self.trusted_roots.or_else(TrustedRoots::compiled_in) };
        if roots.is_none() && self.given_roots.is_empty() {
            let refusal = if nothing_asked { Ok(Err(NoTls::NoRoots)) } else { Err(BuildErrorKind::NoRoots) };
            return refusal.map_err(BuildError::of);
        }

        let provider = Arc::new(provider.crypto_provider()?);
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| BuildError::of(BuildErrorKind::Protocol).with_source(error))?;
        let config = match roots {
            Some(TrustedRoots::Platform) => platform_verifier(config, self.given_roots, provider)?,
            Some(TrustedRoots::Mozilla) => {
                config.with_root_certificates(store(mozilla_roots()?, self.given_roots)?)
            }
            None => config.with_root_certificates(store(RootCertStore::empty(), self.given_roots)?),
        };
        let mut config = match self.client_identity {
            None => config.with_no_client_auth(),
            Some((chain, key)) => config
                .with_client_auth_cert(chain, key)
                .map_err(|error| BuildError::of(BuildErrorKind::ClientCertificate).with_source(error))?,
        };
        #[cfg(feature = "http2")]
        if self.http2 {
            config.alpn_protocols.push(b"h2".to_vec());
        }
        config.alpn_protocols.push(b"http/1.1".to_vec());
        // Said although it is rustls' default: data sent early can be replayed by anyone who recorded it.
        config.enable_early_data = false;
        Ok(Ok(Arc::new(config)))
    }
}

fn certificates(pem: &[u8], kind: BuildErrorKind) -> Result<Vec<CertificateDer<'static>>, BuildError> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|_| BuildError::of(kind).with_source("the text is not PEM"))?;
    if certificates.is_empty() {
        return Err(BuildError::of(kind).with_source("the text holds no PEM section CERTIFICATE"));
    }
    Ok(certificates)
}

fn store(mut roots: RootCertStore, given: Vec<CertificateDer<'static>>) -> Result<RootCertStore, BuildError> {
    for certificate in given {
        roots
            .add(certificate)
            .map_err(|error| BuildError::of(BuildErrorKind::RootCertificate).with_source(error))?;
    }
    Ok(roots)
}

#[cfg(feature = "webpki-roots")]
#[allow(clippy::unnecessary_wraps, reason = "its twin without the feature fails")]
fn mozilla_roots() -> Result<RootCertStore, BuildError> {
    Ok(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() })
}

#[cfg(not(feature = "webpki-roots"))]
fn mozilla_roots() -> Result<RootCertStore, BuildError> {
    Err(BuildError::of(BuildErrorKind::MozillaRootsMissing))
}

#[cfg(feature = "platform-verifier")]
fn platform_verifier(
    config: ConfigBuilder<ClientConfig, WantsVerifier>,
    given: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, BuildError> {
    // Read here first, so that an unreadable given root is not reported as a fault of the operating system.
    store(RootCertStore::empty(), given.clone())?;
    let verifier = rustls_platform_verifier::Verifier::new_with_extra_roots(given, provider)
        .map_err(|error| BuildError::of(BuildErrorKind::PlatformRoots).with_source(error))?;
    // rustls calls every verifier but its own dangerous. This one is the operating system's.
    Ok(config.dangerous().with_custom_certificate_verifier(Arc::new(verifier)))
}

#[cfg(not(feature = "platform-verifier"))]
fn platform_verifier(
    _config: ConfigBuilder<ClientConfig, WantsVerifier>,
    _given: Vec<CertificateDer<'static>>,
    _provider: Arc<CryptoProvider>,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, BuildError> {
    Err(BuildError::of(BuildErrorKind::PlatformRootsMissing))
}

impl fmt::Display for NoTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoProvider => {
                "https is not compiled in: enable the feature `ring` or `aws-lc-rs` of payments-hyper"
            }
            Self::NoRoots => {
                "no server can be trusted: enable the feature `webpki-roots` or `platform-verifier` of \
                 payments-hyper, or give root certificates"
            }
        })
    }
}

impl StdError for NoTls {}
