//! The failure of a command that a panic or a signal ended before it knew its result.

use std::fmt;

use crate::failure::{FailedOutcome, Failure};

/// What ended it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Abandoned {
    /// A panic, which is a bug.
    Panic,
    /// The signal of this name.
    Signal(&'static str),
}

impl Abandoned {
    /// Before anything was sent.
    pub(crate) fn before_sending(self) -> Failure {
        self.harmless(match self {
            Self::Panic => "; nothing was sent",
            Self::Signal(_) => " before anything was sent; it is safe to run it again",
        })
    }

    /// The command moved no money. `rest` ends the message.
    pub(crate) fn harmless(self, rest: &str) -> Failure {
        self.failure(FailedOutcome::NotProcessed, format!("{self}{rest}"))
    }

    pub(crate) fn failure(self, outcome: FailedOutcome, message: String) -> Failure {
        let (kind, is_interrupted) = match self {
            Self::Panic => ("internal", false),
            Self::Signal(_) => ("interrupted", true),
        };
        let mut failure = Failure::new(outcome, kind, message);
        failure.advice.is_interrupted = is_interrupted;
        failure
    }
}

impl fmt::Display for Abandoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic => f.write_str("internal error"),
            Self::Signal(name) => write!(f, "interrupted by {name}"),
        }
    }
}
