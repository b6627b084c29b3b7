use std::error::Error as StdError;
use std::fmt;

/// Why a [`UreqTransport`](crate::UreqTransport) could not be built. Nothing was sent.
///
/// The text says what to change. `{:#}` includes the cause.
#[derive(Debug)]
pub struct BuildError {
    source: Box<dyn StdError + Send + Sync>,
}

impl BuildError {
    pub(crate) fn root_certificate(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { source: source.into() }
    }

    /// A root certificate could not be read: pass X.509 certificates as PEM or DER, as the builder's method requires.
    #[allow(clippy::unused_self, reason = "a second kind of error may be added")]
    pub fn is_root_certificate(&self) -> bool {
        true
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a root certificate could not be read")?;
        if f.alternate() {
            write!(f, ": {}", self.source)?;
        }
        f.write_str(
            "; nothing was sent: pass X.509 certificates as PEM or DER, as the builder's method requires",
        )
    }
}

impl StdError for BuildError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.source)
    }
}
