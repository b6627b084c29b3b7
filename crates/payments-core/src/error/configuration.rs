use thiserror::Error;

/// Why a client cannot be used as it is configured. Nothing was sent.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum ConfigurationError {
    #[error("the API key is empty")]
    ApiKeyEmpty,
    #[error("the API key contains a space, a line break or another character that is not visible ASCII")]
    ApiKeyCharacters,
    #[error("the base URL is not an absolute URL such as https://host/api/v1/public")]
    BaseUrlSyntax,
    #[error("the base URL contains a user name, a query or a fragment")]
    BaseUrlExtras,
    #[error("the base URL is not https; plain http is allowed only for loopback addresses and localhost")]
    BaseUrlNotHttps,
    #[error(
        "a caller header is not a valid HTTP header: its value may contain only visible ASCII, spaces and tabs"
    )]
    HeaderSyntax,
    #[error("a caller header has a name that is reserved for this SDK or the HTTP stack")]
    HeaderReserved,
    #[error("the caller headers are longer than 8 KiB in total")]
    HeadersTooLong,
    #[error("the label of a merchant is not 1 to 64 ASCII letters, digits and - . _")]
    MerchantLabel,
    #[error("the label of a merchant contains an API key")]
    MerchantLabelIsKey,
}
