use std::error::Error as StdError;

/// Why no [`ReqwestTransport`](crate::ReqwestTransport) could be built. Nothing was sent.
#[derive(Debug, thiserror::Error)]
#[error("{kind}")]
pub struct BuildError {
    kind: BuildErrorKind,
    source: Box<dyn StdError + Send + Sync>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum BuildErrorKind {
    #[error("a root certificate could not be read")]
    RootCertificate,
    #[error("reqwest could not build a client with these settings")]
    Client,
}

impl BuildError {
    pub(crate) fn new(kind: BuildErrorKind, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { kind, source: source.into() }
    }

    /// A root certificate that was given could not be read: give certificates in the form that the method names.
    pub fn is_root_certificate(&self) -> bool {
        matches!(self.kind, BuildErrorKind::RootCertificate)
    }

    /// reqwest built no client with these settings; [`source`](StdError::source) has its reason. With the transport's
    /// own builder this does not happen.
    pub fn is_client(&self) -> bool {
        matches!(self.kind, BuildErrorKind::Client)
    }
}
