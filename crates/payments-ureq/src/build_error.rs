use std::error::Error as StdError;

use thiserror::Error;

/// Why no [`UreqTransport`](crate::UreqTransport) could be built. Nothing was sent.
#[derive(Debug, Error)]
#[error("a root certificate could not be read")]
pub struct BuildError {
    source: Box<dyn StdError + Send + Sync>,
}

impl BuildError {
    pub(crate) fn root_certificate(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { source: source.into() }
    }

    /// A root certificate could not be read. Pass certificates in the form that the builder's method names. Always true: there is
    /// no other error yet.
    pub fn is_root_certificate(&self) -> bool {
        let Self { source: _ } = self;
        true
    }
}
