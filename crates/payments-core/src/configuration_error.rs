use std::fmt;

/// Why a client cannot be built as it was configured. Nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfigurationError {
    ApiKeyEmpty,
    ApiKeyCharacters,
    BaseUrlSyntax,
    BaseUrlExtras,
    BaseUrlNotHttps,
}

impl fmt::Display for ConfigurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ApiKeyEmpty => "the API key is empty",
            Self::ApiKeyCharacters => {
                "the API key holds a space, a line break or another character that is not visible ASCII"
            }
            Self::BaseUrlSyntax => {
                "the base address is not an absolute address such as https://host/api/v1/public"
            }
            Self::BaseUrlExtras => "the base address holds a user name, a query or a fragment",
            Self::BaseUrlNotHttps => {
                "the base address is not https; plain http is allowed for a loopback address or localhost alone"
            }
        })
    }
}
