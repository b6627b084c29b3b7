use rustls::crypto::CryptoProvider;

use crate::build_error::BuildError;
#[cfg(not(all(feature = "ring", feature = "aws-lc-rs")))]
use crate::build_error::BuildErrorKind;

/// Whose cryptography TLS is made with.
///
/// Always named explicitly to rustls. The process-wide default provider is neither read nor installed, so no other
/// crate's choice of features can change this one or make it panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsProvider {
    /// ring: needs the feature `ring`. The default wherever that is enabled, even beside `aws-lc-rs`.
    Ring,
    /// aws-lc-rs: needs the feature `aws-lc-rs`.
    AwsLcRs,
}

impl TlsProvider {
    /// The one used where none is chosen.
    pub(crate) fn compiled_in() -> Option<Self> {
        if cfg!(feature = "ring") {
            Some(Self::Ring)
        } else if cfg!(feature = "aws-lc-rs") {
            Some(Self::AwsLcRs)
        } else {
            None
        }
    }

    #[allow(clippy::unnecessary_wraps, reason = "it fails where a feature is off")]
    pub(crate) fn crypto_provider(self) -> Result<CryptoProvider, BuildError> {
        match self {
            #[cfg(feature = "ring")]
            Self::Ring => Ok(rustls::crypto::ring::default_provider()),
            #[cfg(not(feature = "ring"))]
            Self::Ring => Err(BuildError::of(BuildErrorKind::RingMissing)),
            #[cfg(feature = "aws-lc-rs")]
            Self::AwsLcRs => Ok(rustls::crypto::aws_lc_rs::default_provider()),
            #[cfg(not(feature = "aws-lc-rs"))]
            Self::AwsLcRs => Err(BuildError::of(BuildErrorKind::AwsLcRsMissing)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_is_the_default_wherever_it_is_enabled() {
        let default = match (cfg!(feature = "ring"), cfg!(feature = "aws-lc-rs")) {
            (true, _) => Some(TlsProvider::Ring),
            (false, true) => Some(TlsProvider::AwsLcRs),
            (false, false) => None,
        };
        assert_eq!(TlsProvider::compiled_in(), default);
    }
}
