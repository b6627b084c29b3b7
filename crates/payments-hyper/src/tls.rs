use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use thiserror::Error;

use crate::build_error::{BuildError, BuildErrorKind};

/// Whose cryptography TLS is made with.
///
/// Always named explicitly to rustls. The process-wide default provider is neither read nor installed, so no other
/// crate's choice of features can change this one or make it panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsProvider {
    /// ring: needs the feature `ring`. The default wherever that is enabled, even beside `aws-lc-rs`.
    Ring,
    /// aws-lc-rs: needs the feature `aws-lc-rs`.
    AwsLcRs,
}

impl TlsProvider {
    /// The one used where none is chosen.
    pub(crate) fn compiled_in() -> Option<Self> {
        if cfg!(feature = "ring") {
            Some(Self::Ring)
        } else if cfg!(feature = "aws-lc-rs") {
            Some(Self::AwsLcRs)
        } else {
            None
        }
    }

    #[allow(clippy::unnecessary_wraps, reason = "it fails where a feature is off")]
    pub(crate) fn crypto_provider(self) -> Result<CryptoProvider, BuildError> {
        match self {
            #[cfg(feature = "ring")]
            Self::Ring => Ok(rustls::crypto::ring::default_provider()),
            #[cfg(not(feature = "ring"))]
            Self::Ring => Err(BuildError::of(BuildErrorKind::RingMissing)),
            #[cfg(feature = "aws-lc-rs")]
            Self::AwsLcRs => Ok(rustls::crypto::aws_lc_rs::default_provider()),
            #[cfg(not(feature = "aws-lc-rs"))]
            Self::AwsLcRs => Err(BuildError::of(BuildErrorKind::AwsLcRsMissing)),
        }
    }
}

/// Which certificate authorities may vouch for a server, beside those that are given one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustedRoots {
    /// The roots of Mozilla's programme, compiled in: needs the feature `webpki-roots`. The default wherever that is
    /// enabled, even beside `platform-verifier`.
    Mozilla,
    /// The roots and, where it has one, the verifier of the operating system: needs the feature `platform-verifier`.
    ///
    /// On Linux the system's CA bundle is read once, when the transport is built, and no revocation is checked.
    Platform,
}

impl TrustedRoots {
    /// The one used where none is chosen.
    pub(crate) fn compiled_in() -> Option<Self> {
        if cfg!(feature = "webpki-roots") {
            Some(Self::Mozilla)
        } else if cfg!(feature = "platform-verifier") {
            Some(Self::Platform)
        } else {
            None
        }
    }
}

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
#[derive(Clone, Copy, Debug, Error)]
pub(crate) enum NoTls {
    #[error("https is not compiled in: enable the feature `ring` or `aws-lc-rs` of payments-hyper")]
    NoProvider,
    #[error(
        "no server can be trusted: enable the feature `webpki-roots` or `platform-verifier` of \
         payments-hyper, or give root certificates"
    )]
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
    /// A build without TLS makes a working transport for plain http to this machine, so its absence is an error here
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_is_the_default_wherever_it_is_enabled() {
        let default = match (cfg!(feature = "ring"), cfg!(feature = "aws-lc-rs")) {
            (true, _) => Some(TlsProvider::Ring),
            (false, true) => Some(TlsProvider::AwsLcRs),
            (false, false) => None,
        };
        assert_eq!(TlsProvider::compiled_in(), default);
    }
}
