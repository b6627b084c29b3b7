use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, TrustAnchor};
use rustls::{ClientConfig, RootCertStore};
#[cfg(feature = "platform-verifier")]
use rustls::{ConfigBuilder, WantsVerifier, client::WantsClientCert};

use payments_core::transport::{BuildError, BuildErrorKind};

/// The crate that provides the cryptography for TLS.
///
/// It is always passed to rustls explicitly. The process-wide default provider is neither read nor installed, so another crate's
/// features can neither change this choice nor make it panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsProvider {
    /// ring: needs the feature `ring`. The default if that feature is enabled, even together with `aws-lc-rs`.
    Ring,
    /// aws-lc-rs: needs the feature `aws-lc-rs`.
    AwsLcRs,
}

impl TlsProvider {
    /// The default.
    pub(crate) fn compiled_in() -> Option<Self> {
        if cfg!(feature = "ring") {
            Some(Self::Ring)
        } else if cfg!(feature = "aws-lc-rs") {
            Some(Self::AwsLcRs)
        } else {
            None
        }
    }

    #[allow(clippy::unnecessary_wraps, reason = "it fails if a feature is off")]
    pub(crate) fn crypto_provider(self) -> Result<CryptoProvider, BuildError> {
        match self {
            #[cfg(feature = "ring")]
            Self::Ring => Ok(rustls::crypto::ring::default_provider()),
            #[cfg(not(feature = "ring"))]
            Self::Ring => Err(missing_feature(
                "the TLS provider ring is not compiled in",
                "enable the feature `ring` of payments-hyper",
            )),
            #[cfg(feature = "aws-lc-rs")]
            Self::AwsLcRs => Ok(rustls::crypto::aws_lc_rs::default_provider()),
            #[cfg(not(feature = "aws-lc-rs"))]
            Self::AwsLcRs => Err(missing_feature(
                "the TLS provider aws-lc-rs is not compiled in",
                "enable the feature `aws-lc-rs` of payments-hyper",
            )),
        }
    }
}

/// Which certificate authorities are trusted, in addition to those added individually.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustedRoots {
    /// Mozilla's root certificates, compiled in: needs the feature `webpki-roots`. The default if that feature is enabled, even
    /// together with `platform-verifier`.
    Mozilla,
    /// The operating system's root certificates and, if it has one, its verifier: needs the feature `platform-verifier`.
    ///
    /// On Linux the system's CA bundle is read once, when the transport is built, and no revocation is checked.
    Platform,
}

impl TrustedRoots {
    /// The default.
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

/// The builder's TLS settings. None of them can turn verification off.
#[derive(Default)]
pub(crate) struct TlsSettings {
    pub(crate) provider: Option<TlsProvider>,
    pub(crate) trusted_roots: Option<TrustedRoots>,
    /// Whether to trust only the added roots.
    pub(crate) only_added_roots: bool,
    /// Whether to offer HTTP/2 in addition to HTTP/1.1.
    #[cfg(feature = "http2")]
    pub(crate) http2: bool,
    added_roots: Vec<CertificateDer<'static>>,
    client_identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
}

/// Why a transport that works for plain http cannot use https, and what to change.
pub(crate) type NoTls = String;

impl TlsSettings {
    pub(crate) fn add_root_der(&mut self, der: Vec<u8>) {
        self.added_roots.push(CertificateDer::from(der));
    }

    pub(crate) fn add_roots_pem(&mut self, pem: &[u8]) -> Result<(), BuildError> {
        self.added_roots.extend(certificates(pem).map_err(BuildError::root_certificate)?);
        Ok(())
    }

    pub(crate) fn set_client_identity(
        &mut self,
        certificates_pem: &[u8],
        key_pem: &[u8],
    ) -> Result<(), BuildError> {
        let chain =
            certificates(certificates_pem).map_err(|reason| client_certificate().with_source(reason))?;
        // The parser's error is dropped: it may quote a line of the file, and the file is a private key.
        let key = PrivateKeyDer::from_pem_slice(key_pem).map_err(|_| client_certificate())?;
        self.client_identity = Some((chain, key));
        Ok(())
    }

    /// Whether no setting was made that is useless without TLS. `http2` is not: over plain http, HTTP/1.1 is used.
    pub(crate) fn is_default(&self) -> bool {
        self.provider.is_none()
            && self.trusted_roots.is_none()
            && !self.only_added_roots
            && self.added_roots.is_empty()
            && self.client_identity.is_none()
    }

    pub(crate) fn build(self) -> Result<Arc<ClientConfig>, BuildError> {
        let Some(provider) = self.provider.or_else(TlsProvider::compiled_in) else {
            return Err(missing_feature(
                "TLS is not compiled in",
                "enable the feature `ring` or `aws-lc-rs` of payments-hyper",
            ));
        };
        let roots =
            if self.only_added_roots { None } else { self.trusted_roots.or_else(TrustedRoots::compiled_in) };
        if roots.is_none() && self.added_roots.is_empty() {
            return Err(missing_feature(
                "there are no root certificates, so no server can be trusted",
                "enable the feature `webpki-roots` or `platform-verifier` of payments-hyper, or add root certificates",
            ));
        }

        let config = ClientConfig::builder_with_provider(Arc::new(provider.crypto_provider()?))
            .with_safe_default_protocol_versions()
            .expect("ring and aws-lc-rs support TLS 1.2 and 1.3");
        let config = match roots {
            None => config.with_root_certificates(store(Vec::new(), self.added_roots)?),
            #[cfg(feature = "webpki-roots")]
            Some(TrustedRoots::Mozilla) => {
                let mozilla = webpki_roots::TLS_SERVER_ROOTS.to_vec();
                config.with_root_certificates(store(mozilla, self.added_roots)?)
            }
            #[cfg(not(feature = "webpki-roots"))]
            Some(TrustedRoots::Mozilla) => {
                return Err(missing_feature(
                    "Mozilla's root certificates are not compiled in",
                    "enable the feature `webpki-roots` of payments-hyper",
                ));
            }
            #[cfg(feature = "platform-verifier")]
            Some(TrustedRoots::Platform) => platform_verifier(config, self.added_roots)?,
            #[cfg(not(feature = "platform-verifier"))]
            Some(TrustedRoots::Platform) => {
                return Err(missing_feature(
                    "the operating system's certificate verifier is not compiled in",
                    "enable the feature `platform-verifier` of payments-hyper",
                ));
            }
        };
        let mut config = match self.client_identity {
            None => config.with_no_client_auth(),
            Some((chain, key)) => config
                .with_client_auth_cert(chain, key)
                .map_err(|error| client_certificate().with_source(error))?,
        };
        #[cfg(feature = "http2")]
        if self.http2 {
            config.alpn_protocols.push(b"h2".to_vec());
        }
        config.alpn_protocols.push(b"http/1.1".to_vec());
        // This is rustls' default, stated here because early data can be replayed by anyone who recorded it.
        config.enable_early_data = false;
        Ok(Arc::new(config))
    }
}

fn missing_feature(problem: &'static str, fix: &'static str) -> BuildError {
    BuildError::new(BuildErrorKind::MissingFeature, problem, fix)
}

fn client_certificate() -> BuildError {
    BuildError::new(
        BuildErrorKind::ClientCertificate,
        "the client certificate or its private key could not be read, or they do not belong together",
        "pass the PEM chain of the client and the private key of its first certificate",
    )
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, &'static str> {
    // The parser's error is dropped: it may quote a line of the file, which may be a private key by mistake.
    match CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>() {
        Err(_) => Err("the text is not PEM"),
        Ok(certificates) if certificates.is_empty() => Err("the text has no PEM section CERTIFICATE"),
        Ok(certificates) => Ok(certificates),
    }
}

fn store(
    roots: Vec<TrustAnchor<'static>>,
    added: Vec<CertificateDer<'static>>,
) -> Result<RootCertStore, BuildError> {
    let mut roots = RootCertStore { roots };
    for certificate in added {
        roots.add(certificate).map_err(BuildError::root_certificate)?;
    }
    Ok(roots)
}

#[cfg(feature = "platform-verifier")]
fn platform_verifier(
    config: ConfigBuilder<ClientConfig, WantsVerifier>,
    added: Vec<CertificateDer<'static>>,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, BuildError> {
    // Checked here first, so that an unreadable added root is not reported as an error of the operating system.
    store(Vec::new(), added.clone())?;
    let provider = Arc::clone(config.crypto_provider());
    let verifier =
        rustls_platform_verifier::Verifier::new_with_extra_roots(added, provider).map_err(|error| {
            BuildError::new(
                BuildErrorKind::PlatformRoots,
                "the operating system has no root certificates",
                "install its CA bundle, or use the roots of the feature `webpki-roots` of payments-hyper",
            )
            .with_source(error)
        })?;
    // rustls calls every verifier except its own dangerous. This one is the operating system's.
    Ok(config.dangerous().with_custom_certificate_verifier(Arc::new(verifier)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_is_the_default_if_enabled() {
        let default = match (cfg!(feature = "ring"), cfg!(feature = "aws-lc-rs")) {
            (true, _) => Some(TlsProvider::Ring),
            (false, true) => Some(TlsProvider::AwsLcRs),
            (false, false) => None,
        };
        assert_eq!(TlsProvider::compiled_in(), default);
    }
}
