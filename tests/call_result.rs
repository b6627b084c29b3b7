use payments_core::{OperationName, Outcome};

/// The result of a call: the SDK's outcome and the command's exit code.
///
/// The exit codes are written out instead of taken from the command, so that a change in the command fails a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallResult {
    /// The outcome of the error, or `None` for a success.
    pub outcome: Option<Outcome>,
    /// The exit code of `payments`.
    pub exit_code: u8,
}

impl CallResult {
    /// Processed, or found.
    pub const PROCESSED: Self = Self { outcome: None, exit_code: 0 };
    /// Provably not processed, or a lookup without a result.
    pub const NOT_PROCESSED: Self = Self { outcome: Some(Outcome::NotProcessed), exit_code: 3 };
    /// Rejected.
    pub const REJECTED: Self = Self { outcome: Some(Outcome::Rejected), exit_code: 4 };
    /// Possibly processed.
    pub const UNKNOWN: Self = Self { outcome: Some(Outcome::Unknown), exit_code: 5 };
    /// Rejected with HTTP 401.
    pub const UNAUTHORIZED: Self = Self { outcome: Some(Outcome::Rejected), exit_code: 6 };
    /// Rejected with HTTP 404.
    pub const NOT_FOUND: Self = Self { outcome: Some(Outcome::Rejected), exit_code: 7 };

    /// The first result for a payment or a void, the second for a lookup.
    pub(crate) const fn of_operation(operation: OperationName, payment: Self, lookup: Self) -> Self {
        if operation.moves_money() { payment } else { lookup }
    }

    /// The outcome in the command's JSON document.
    pub const fn document_outcome(self) -> &'static str {
        match self.outcome {
            None => "processed",
            Some(outcome) => outcome.as_str(),
        }
    }
}
