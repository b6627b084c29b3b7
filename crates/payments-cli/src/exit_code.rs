//! The exit codes, which scripts branch on.

use std::process;

/// The exit code of the process. The numbers are fixed: other programs depend on them.
///
/// A billing run ends with the first that applies of 2, 5, 6, 3, 4, 1 and 0, so no other code hides an unknown outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitCode {
    /// The service processed the request, or found the record.
    Processed,
    /// Anything without its own code, such as a result that could not be written.
    Other,
    /// Wrong usage or input. Nothing was sent.
    Invalid,
    /// Not processed: running the same command again is safe.
    NotProcessed,
    /// The service, or something in front of it, rejected the request.
    Rejected,
    /// It may have been processed. Running the same command again may charge twice.
    Unknown,
    /// Rejected with HTTP 401: the API key was refused.
    Unauthorized,
    /// Rejected with HTTP 404.
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
