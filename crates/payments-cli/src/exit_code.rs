//! The exit codes, which scripts branch on.

use std::process;

/// How the process ends. The numbers are fixed: other programs are written against them.
///
/// A billing run ends with the first that applies of 2, 5, 6, 3, 4, 1 and 0: nothing hides a charge that nobody knows the end
/// of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitCode {
    /// Done: the service processed the request, or found what was asked for.
    Processed,
    /// Anything that has no code of its own, such as a result that could not be written.
    Other,
    /// Wrong usage or input. Nothing was sent.
    Invalid,
    /// Not processed: running the same command again is safe.
    NotProcessed,
    /// The service, or something in front of it, answered no.
    Rejected,
    /// It may have been processed. Running the same command again may charge twice.
    Unknown,
    /// HTTP 401 in place of [`Self::Rejected`]: the API key was refused.
    Unauthorized,
    /// HTTP 404 in place of [`Self::Rejected`].
    NotFound,
}

impl ExitCode {
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Processed => 0,
            Self::Other => 1,
            Self::Invalid => 2,
            Self::NotProcessed => 3,
            Self::Rejected => 4,
            Self::Unknown => 5,
            Self::Unauthorized => 6,
            Self::NotFound => 7,
        }
    }
}

impl From<ExitCode> for process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}
