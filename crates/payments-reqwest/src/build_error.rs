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

    /// A root certificate could not be read. Pass certificates in the form that the builder's method names.
    pub fn is_root_certificate(&self) -> bool {
        matches!(self.kind, BuildErrorKind::RootCertificate)
    }

    /// reqwest could not build a client with these settings; [`source`](StdError::source) has the reason. The transport's own
    /// builder never causes this.
    pub fn is_client(&self) -> bool {
        matches!(self.kind, BuildErrorKind::Client)
    }
}
