use thiserror::Error;

/// Why a client cannot be used as it is configured. Nothing was sent.
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
    #[error("a header of the caller is no HTTP header: its value may hold visible ASCII, spaces and tabs")]
    HeaderSyntax,
    #[error("a header of the caller belongs to this SDK or to the HTTP stack")]
    HeaderReserved,
    #[error("the headers of the caller are longer than 8 KiB together")]
    HeadersTooLong,
}
