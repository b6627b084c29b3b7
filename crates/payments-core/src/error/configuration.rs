use thiserror::Error;

/// Why a client cannot be built as it was configured. Nothing was sent.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum ConfigurationError {
    #[error("the API key is empty")]
    ApiKeyEmpty,
    #[error("the API key holds a space, a line break or another character that is not visible ASCII")]
    ApiKeyCharacters,
    #[error("the base address is not an absolute address such as https://host/api/v1/public")]
    BaseUrlSyntax,
    #[error("the base address holds a user name, a query or a fragment")]
    BaseUrlExtras,
    #[error("the base address is not https; plain http is allowed for a loopback address or localhost alone")]
    BaseUrlNotHttps,
}
