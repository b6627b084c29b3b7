use std::error::Error as StdError;
use std::fmt;

use thiserror::Error;

/// Why no [`HyperTransport`](crate::HyperTransport) could be built. Nothing was sent.
///
/// Its text says what to change, and holds nothing of a private key.
#[derive(Debug, Error)]
pub struct BuildError {
    kind: BuildErrorKind,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// `{:#}` shows the source as well.
impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        match &self.source {
            Some(source) if f.alternate() => write!(f, ": {source}"),
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Copy, Debug, Error)]
#[allow(dead_code, reason = "which of them can happen depends on the features")]
pub(crate) enum BuildErrorKind {
    #[error("a root certificate could not be read")]
    RootCertificate,
    #[error("the client certificate or its private key could not be read, or they do not belong together")]
    ClientCertificate,
    #[error(
        "TLS was configured, but none is compiled in: enable the feature `ring` or `aws-lc-rs` of payments-hyper"
    )]
    NoProvider,
    #[error("the TLS provider ring is not compiled in: enable the feature `ring` of payments-hyper")]
    RingMissing,
    #[error(
        "the TLS provider aws-lc-rs is not compiled in: enable the feature `aws-lc-rs` of payments-hyper"
    )]
    AwsLcRsMissing,
    #[error("Mozilla's roots are not compiled in: enable the feature `webpki-roots` of payments-hyper")]
    MozillaRootsMissing,
    #[error(
        "the verifier of the operating system is not compiled in: enable the feature `platform-verifier` of \
         payments-hyper"
    )]
    PlatformRootsMissing,
    #[error(
        "no server could be trusted: enable the feature `webpki-roots` or `platform-verifier` of payments-hyper, \
         or give root certificates"
    )]
    NoRoots,
    #[error(
        "the operating system offers no root certificates: install its CA bundle, or use the compiled-in roots of \
         the feature `webpki-roots` of payments-hyper"
    )]
    PlatformRoots,
    #[error("the TLS provider supports neither TLS 1.2 nor TLS 1.3")]
    Protocol,
    #[error(
        "the proxy cannot be used: give http://host:port, or http://user:password@host:port with both \
         percent-encoded"
    )]
    Proxy,
}

impl BuildError {
    pub(crate) fn of(kind: BuildErrorKind) -> Self {
        Self { kind, source: None }
    }

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// A root certificate that was given could not be read: give certificates in the form that the method names.
    pub fn is_root_certificate(&self) -> bool {
        matches!(self.kind, BuildErrorKind::RootCertificate)
    }

    /// The client certificate or its private key could not be read, or the one does not belong to the other.
    pub fn is_client_certificate(&self) -> bool {
        matches!(self.kind, BuildErrorKind::ClientCertificate)
    }

    /// A provider or a set of roots is not compiled in: enable the feature of this crate that the message names.
    pub fn is_missing_feature(&self) -> bool {
        match self.kind {
            BuildErrorKind::NoProvider
            | BuildErrorKind::RingMissing
            | BuildErrorKind::AwsLcRsMissing
            | BuildErrorKind::MozillaRootsMissing
            | BuildErrorKind::PlatformRootsMissing
            | BuildErrorKind::NoRoots => true,
            BuildErrorKind::RootCertificate
            | BuildErrorKind::ClientCertificate
            | BuildErrorKind::PlatformRoots
            | BuildErrorKind::Protocol
            | BuildErrorKind::Proxy => false,
        }
    }

    /// The proxy's address cannot be read, or is not an `http://` address. The text holds none of it.
    pub fn is_proxy(&self) -> bool {
        matches!(self.kind, BuildErrorKind::Proxy)
    }

    /// The operating system offers no root certificates, as in many container images: install its CA bundle, or use
    /// the compiled-in ones of the feature `webpki-roots`.
    pub fn is_platform_roots(&self) -> bool {
        matches!(self.kind, BuildErrorKind::PlatformRoots)
    }
}
