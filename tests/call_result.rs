use payments_core::{OperationName, Outcome};

/// What a caller is told: by the SDK as an outcome, by the command as an exit code.
///
/// The exit codes are written out and not taken from the command, so that a change of the one is seen in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Told {
    /// The outcome of the error, or nothing for a success.
    pub outcome: Option<Outcome>,
    /// The exit code of `payments`.
    pub exit_code: u8,
}

impl Told {
    /// It was done, or found.
    pub const PROCESSED: Self = Self { outcome: None, exit_code: 0 };
    /// Provably nothing happened.
    pub const NOT_PROCESSED: Self = Self { outcome: Some(Outcome::NotProcessed), exit_code: 3 };
    /// The answer is no.
    pub const REJECTED: Self = Self { outcome: Some(Outcome::Rejected), exit_code: 4 };
    /// It may have happened.
    pub const UNKNOWN: Self = Self { outcome: Some(Outcome::Unknown), exit_code: 5 };
    /// The answer is no, with HTTP 401.
    pub const UNAUTHORIZED: Self = Self { outcome: Some(Outcome::Rejected), exit_code: 6 };
    /// The answer is no, with HTTP 404.
    pub const NOT_FOUND: Self = Self { outcome: Some(Outcome::Rejected), exit_code: 7 };

    /// Of a payment or a void the one, of a look-up the other.
    pub(crate) const fn by(operation: OperationName, payment: Self, look_up: Self) -> Self {
        if operation.moves_money() { payment } else { look_up }
    }

    /// The outcome as the command's document has it.
    pub const fn document_outcome(self) -> &'static str {
        match self.outcome {
            None => "processed",
            Some(outcome) => outcome.as_str(),
        }
    }
}
