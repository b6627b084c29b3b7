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
}
