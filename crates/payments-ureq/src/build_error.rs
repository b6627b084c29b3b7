use std::error::Error as StdError;

use thiserror::Error;

/// Why no [`UreqTransport`](crate::UreqTransport) could be built. Nothing was sent.
#[derive(Debug, Error)]
#[error("{what}")]
pub struct BuildError {
    what: &'static str,
    source: Box<dyn StdError + Send + Sync>,
}

const ROOT_CERTIFICATE: &str = "a root certificate could not be read";

impl BuildError {
    pub(crate) fn root_certificate(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { what: ROOT_CERTIFICATE, source: source.into() }
    }

    pub(crate) fn protocol(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { what: "the TLS provider supports neither TLS 1.2 nor TLS 1.3", source: source.into() }
    }

    /// A root certificate could not be read. Pass certificates in the form that the builder's method names.
    pub fn is_root_certificate(&self) -> bool {
        self.what == ROOT_CERTIFICATE
    }
}
