use std::error::Error as StdError;

use thiserror::Error;

/// Why no [`UreqTransport`](crate::UreqTransport) could be built. Nothing was sent.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct BuildError(BuildErrorKind);

#[derive(Debug, Error)]
enum BuildErrorKind {
    #[error("a root certificate could not be read")]
    RootCertificate(#[source] Box<dyn StdError + Send + Sync>),
    #[error("the TLS provider supports neither TLS 1.2 nor TLS 1.3")]
    Protocol(#[source] rustls::Error),
}

impl BuildError {
    pub(crate) fn root_certificate(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self(BuildErrorKind::RootCertificate(source.into()))
    }

    pub(crate) fn protocol(source: rustls::Error) -> Self {
        Self(BuildErrorKind::Protocol(source))
    }

    /// A root certificate that was given could not be read: give certificates in the form that the method names.
    pub fn is_root_certificate(&self) -> bool {
        matches!(self.0, BuildErrorKind::RootCertificate(_))
    }
}
