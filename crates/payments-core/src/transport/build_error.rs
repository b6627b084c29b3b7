use std::error::Error as StdError;
use std::fmt;

/// Why a transport could not be built. Nothing was sent.
///
/// The text says what to change. It never contains part of a private key or of a password. `{:#}` includes the cause.
#[derive(Debug)]
pub struct BuildError {
    kind: BuildErrorKind,
    problem: &'static str,
    fix: &'static str,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// Which setting a transport cannot be built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildErrorKind {
    /// See [`BuildError::is_root_certificate`].
    RootCertificate,
    /// See [`BuildError::is_client_certificate`].
    ClientCertificate,
    /// See [`BuildError::is_missing_feature`].
    MissingFeature,
    /// See [`BuildError::is_platform_roots`].
    PlatformRoots,
    /// See [`BuildError::is_proxy`].
    Proxy,
    /// See [`BuildError::is_client`].
    Client,
}

impl BuildError {
    /// Creates an error for a transport to return: what is wrong, and what to change.
    pub fn new(kind: BuildErrorKind, problem: &'static str, fix: &'static str) -> Self {
        Self { kind, problem, fix, source: None }
    }

    /// Creates the error of a root certificate that could not be read.
    pub fn root_certificate(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(
            BuildErrorKind::RootCertificate,
            "a root certificate could not be read",
            "pass X.509 certificates as PEM or DER, as the builder's method requires",
        )
        .with_source(source)
    }

    /// Adds the underlying error. Its text must hold no secret: it is shown in logs.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// A root certificate could not be read: pass X.509 certificates as PEM or DER, as the builder's method requires.
    pub fn is_root_certificate(&self) -> bool {
        self.kind == BuildErrorKind::RootCertificate
    }

    /// The client certificate or its private key could not be read, or they do not belong together.
    pub fn is_client_certificate(&self) -> bool {
        self.kind == BuildErrorKind::ClientCertificate
    }

    /// Something is not compiled in: enable the feature that the message names.
    pub fn is_missing_feature(&self) -> bool {
        self.kind == BuildErrorKind::MissingFeature
    }

    /// The operating system has no root certificates, as in many container images: install its CA bundle, or use roots that are
    /// compiled in.
    pub fn is_platform_roots(&self) -> bool {
        self.kind == BuildErrorKind::PlatformRoots
    }

    /// The proxy's address could not be read, or is not one that the transport supports. The text contains no part of it.
    pub fn is_proxy(&self) -> bool {
        self.kind == BuildErrorKind::Proxy
    }

    /// The HTTP library could not build a client with the caller's own settings; [`source`](StdError::source) has the reason.
    pub fn is_client(&self) -> bool {
        self.kind == BuildErrorKind::Client
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
