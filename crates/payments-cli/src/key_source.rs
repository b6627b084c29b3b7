//! Where the API key came from: what to look at when it is refused.

use std::fmt;

/// Where the API key came from; the first that is set wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeySource {
    /// The file of the flag.
    Flag,
    /// The key itself in the environment.
    Variable,
    /// The file that the environment names.
    FileVariable,
}

impl KeySource {
    pub(crate) fn hint(self) -> String {
        format!("the API key came from {self}")
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag => "the file of --api-key-file",
            Self::Variable => "PAYMENTS_API_KEY",
            Self::FileVariable => "the file of PAYMENTS_API_KEY_FILE",
        })
    }
}
