use std::error::Error as StdError;
use std::fmt;

/// Why a [`ReqwestTransport`](crate::ReqwestTransport) could not be built. Nothing was sent.
///
/// The text says what to change. `{:#}` includes the cause.
#[derive(Debug)]
pub struct BuildError {
    kind: Kind,
    problem: &'static str,
    fix: &'static str,
    source: Box<dyn StdError + Send + Sync>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    RootCertificate,
    Client,
}

impl BuildError {
    pub(crate) fn root_certificate(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            kind: Kind::RootCertificate,
            problem: "a root certificate could not be read",
            fix: "pass X.509 certificates as PEM or DER, as the builder's method requires",
            source: source.into(),
        }
    }

    pub(crate) fn client(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            kind: Kind::Client,
            problem: "reqwest could not build a client with these settings",
            fix: "change the settings of the `reqwest::ClientBuilder`",
            source: source.into(),
        }
    }

    /// A root certificate could not be read: pass X.509 certificates as PEM or DER, as the builder's method requires.
    pub fn is_root_certificate(&self) -> bool {
        self.kind == Kind::RootCertificate
    }

    /// reqwest could not build a client with these settings; [`source`](StdError::source) has the reason. The transport's own
    /// builder never causes this.
    pub fn is_client(&self) -> bool {
        self.kind == Kind::Client
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.problem)?;
        if f.alternate() {
            write!(f, ": {}", self.source)?;
        }
        write!(f, "; nothing was sent: {}", self.fix)
    }
}

impl StdError for BuildError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.source)
    }
}
