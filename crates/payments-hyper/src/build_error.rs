use std::error::Error as StdError;
use std::fmt;

/// Why a [`HyperTransport`](crate::HyperTransport) could not be built. Nothing was sent.
///
/// The text says what to change. It never contains part of a private key. `{:#}` includes the cause.
#[derive(Debug)]
pub struct BuildError {
    kind: Kind,
    problem: &'static str,
    fix: &'static str,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    RootCertificate,
    ClientCertificate,
    MissingFeature,
    PlatformRoots,
    Proxy,
}

impl BuildError {
    pub(crate) fn root_certificate() -> Self {
        Self::new(
            Kind::RootCertificate,
            "a root certificate could not be read",
            "pass X.509 certificates as PEM or DER, as the builder's method requires",
        )
    }

    pub(crate) fn client_certificate() -> Self {
        Self::new(
            Kind::ClientCertificate,
            "the client certificate or its private key could not be read, or they do not belong together",
            "pass the PEM chain of the client and the private key of its first certificate",
        )
    }

    pub(crate) fn missing_feature(problem: &'static str, fix: &'static str) -> Self {
        Self::new(Kind::MissingFeature, problem, fix)
    }

    #[cfg(feature = "platform-verifier")]
    pub(crate) fn platform_roots() -> Self {
        Self::new(
            Kind::PlatformRoots,
            "the operating system has no root certificates",
            "install its CA bundle, or use the roots of the feature `webpki-roots` of payments-hyper",
        )
    }

    pub(crate) fn proxy() -> Self {
        Self::new(
            Kind::Proxy,
            "the proxy's address cannot be used",
            "write http://host:port, or http://user:password@host:port with user and password percent-encoded",
        )
    }

    fn new(kind: Kind, problem: &'static str, fix: &'static str) -> Self {
        Self { kind, problem, fix, source: None }
    }

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// A root certificate could not be read: pass X.509 certificates as PEM or DER, as the builder's method requires.
    pub fn is_root_certificate(&self) -> bool {
        self.kind == Kind::RootCertificate
    }

    /// The client certificate or its private key could not be read, or they do not belong together.
    pub fn is_client_certificate(&self) -> bool {
        self.kind == Kind::ClientCertificate
    }

    /// A provider or a set of roots is not compiled in: enable the feature of this crate that the message names.
    pub fn is_missing_feature(&self) -> bool {
        self.kind == Kind::MissingFeature
    }

    /// The proxy's address could not be read, or is not an `http://` address. The text contains no part of it.
    pub fn is_proxy(&self) -> bool {
        self.kind == Kind::Proxy
    }

    /// The operating system has no root certificates, as in many container images: install its CA bundle, or use the roots of
    /// the feature `webpki-roots`.
    pub fn is_platform_roots(&self) -> bool {
        self.kind == Kind::PlatformRoots
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.problem)?;
        if let Some(source) = self.source.as_ref().filter(|_| f.alternate()) {
            write!(f, ": {source}")?;
        }
        write!(f, "; nothing was sent: {}", self.fix)
    }
}

impl StdError for BuildError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&**self.source.as_ref()?)
    }
}
