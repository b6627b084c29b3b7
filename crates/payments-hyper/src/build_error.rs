use std::error::Error as StdError;
use std::fmt;

use thiserror::Error;

/// Why a [`HyperTransport`](crate::HyperTransport) could not be built. Nothing was sent.
///
/// The text says what to change. It never contains part of a private key. `{:#}` includes the cause.
#[derive(Debug, Error)]
pub struct BuildError {
    kind: BuildErrorKind,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (problem, fix) = self.kind.problem_and_fix();
        f.write_str(problem)?;
        if f.alternate()
            && let Some(source) = &self.source
        {
            write!(f, ": {source}")?;
        }
        write!(f, "; nothing was sent: {fix}")
    }
}

#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "which of them can happen depends on the features")]
pub(crate) enum BuildErrorKind {
    RootCertificate,
    ClientCertificate,
    NoProvider,
    RingMissing,
    AwsLcRsMissing,
    MozillaRootsMissing,
    PlatformRootsMissing,
    NoRoots,
    PlatformRoots,
    Protocol,
    Proxy,
}

impl BuildErrorKind {
    fn problem_and_fix(self) -> (&'static str, &'static str) {
        match self {
            Self::RootCertificate => (
                "a root certificate could not be read",
                "pass X.509 certificates as PEM or DER, as the builder's method requires",
            ),
            Self::ClientCertificate => (
                "the client certificate or its private key could not be read, or they do not belong together",
                "pass the PEM chain of the client and the private key of its first certificate",
            ),
            Self::NoProvider => (
                "TLS is configured, but not compiled in",
                "enable the feature `ring` or `aws-lc-rs` of payments-hyper",
            ),
            Self::RingMissing => {
                ("the TLS provider ring is not compiled in", "enable the feature `ring` of payments-hyper")
            }
            Self::AwsLcRsMissing => (
                "the TLS provider aws-lc-rs is not compiled in",
                "enable the feature `aws-lc-rs` of payments-hyper",
            ),
            Self::MozillaRootsMissing => (
                "Mozilla's root certificates are not compiled in",
                "enable the feature `webpki-roots` of payments-hyper",
            ),
            Self::PlatformRootsMissing => (
                "the operating system's certificate verifier is not compiled in",
                "enable the feature `platform-verifier` of payments-hyper",
            ),
            Self::NoRoots => (
                "there are no root certificates, so no server can be trusted",
                "enable the feature `webpki-roots` or `platform-verifier` of payments-hyper, or add root certificates",
            ),
            Self::PlatformRoots => (
                "the operating system has no root certificates",
                "install its CA bundle, or use the roots of the feature `webpki-roots` of payments-hyper",
            ),
            Self::Protocol => (
                "the TLS provider supports neither TLS 1.2 nor TLS 1.3",
                "use a provider that supports one of them",
            ),
            Self::Proxy => (
                "the proxy's address cannot be used",
                "write http://host:port, or http://user:password@host:port with user and password percent-encoded",
            ),
        }
    }
}

impl BuildError {
    pub(crate) fn of(kind: BuildErrorKind) -> Self {
        Self { kind, source: None }
    }

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// A root certificate could not be read: pass X.509 certificates as PEM or DER, as the builder's method requires.
    pub fn is_root_certificate(&self) -> bool {
        matches!(self.kind, BuildErrorKind::RootCertificate)
    }

    /// The client certificate or its private key could not be read, or they do not belong together.
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

    /// The proxy's address could not be read, or is not an `http://` address. The text contains no part of it.
    pub fn is_proxy(&self) -> bool {
        matches!(self.kind, BuildErrorKind::Proxy)
    }

    /// The operating system has no root certificates, as in many container images: install its CA bundle, or use the roots of
    /// the feature `webpki-roots`.
    pub fn is_platform_roots(&self) -> bool {
        matches!(self.kind, BuildErrorKind::PlatformRoots)
    }
}
