use std::borrow::Cow;

use thiserror::Error;

/// Why a client cannot be used as it is configured. Nothing was sent. No text shows a key, a part of a URL or the value of a header.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum ConfigurationError {
    #[error("the API key is empty")]
    ApiKeyEmpty,
    #[error("the API key contains a space, a line break or another character that is not visible ASCII")]
    ApiKeyCharacters,
    /// With what is wrong with it.
    #[error("the base URL {0}")]
    BaseUrl(Cow<'static, str>),
    #[error("the name of a caller header is not one that HTTP allows")]
    HeaderName,
    #[error("the caller header {0} is not valid: its value may contain only visible ASCII, spaces and tabs")]
    HeaderValue(String),
    #[error("the caller header {0} is reserved for this SDK or the HTTP stack")]
    HeaderReserved(String),
    #[error("the caller headers are longer than 8 KiB in total")]
    HeadersTooLong,
    #[error("the label of a merchant is not 1 to 64 ASCII letters, digits and - . _")]
    MerchantLabel,
    #[error("the label of a merchant contains an API key")]
    MerchantLabelIsKey,
}
