//! The exit codes, which scripts branch on.

use std::process;

/// The exit code of the process. The numbers are fixed: other programs depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ExitCode {
    /// The service processed the request, or found the record.
    Processed = 0,
    /// Anything without its own code, such as a result that could not be written.
    Other = 1,
    /// Wrong usage or input. Nothing was sent.
    Invalid = 2,
    /// Not processed: running the same command again is safe.
    NotProcessed = 3,
    /// The service, or something in front of it, rejected the request.
    Rejected = 4,
    /// It may have been processed. Running the same command again may charge twice.
    Unknown = 5,
    /// Rejected with HTTP 401: the API key was refused.
    Unauthorized = 6,
    /// Rejected with HTTP 404.
    NotFound = 7,
    /// What was found or received was recorded, and two attempts of the key may have been charged.
    SecondCharge = 8,
}

impl ExitCode {
    /// The exit code of a billing run: the first that applies of 5, 8, 6, 3, 4, 1 and 0, so no other code hides an unknown
    /// outcome. A run whose file is refused ends with 2 before it begins.
    pub(crate) fn of_run(applies: impl Fn(Self) -> bool) -> Self {
        let order = [
            Self::Unknown,
            Self::SecondCharge,
            Self::Unauthorized,
            Self::NotProcessed,
            Self::Rejected,
            Self::Other,
        ];
        order.into_iter().find(|code| applies(*code)).unwrap_or(Self::Processed)
    }

    pub(crate) const fn number(self) -> u8 {
        self as u8
    }
}

impl From<ExitCode> for process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}
