//! Where the API key came from: what to look at when it is refused.

use std::fmt;

use super::source::Source;

/// Where the API key came from; the first that is set wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeySource {
    /// The key itself stands there.
    Key(Source),
    /// The path of a file with the key stands there.
    File(Source),
}

impl KeySource {
    pub(crate) fn hint(&self) -> String {
        format!("the API key came from {self}")
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(source) => source.fmt(f),
            Self::File(Source::Profile(profile)) => write!(f, "the file of api_key_file in {profile}"),
            Self::File(source) => write!(f, "the file of {source}"),
        }
    }
}
