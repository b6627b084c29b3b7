//! The failure of a command that a panic or a signal ended before it knew its result.

use std::fmt;

use payments_core::{Facts, NextStep};
use payments_journal::IntentKey;

use crate::failure::{FailedOutcome, Failure};
use crate::intent::IntentNote;
use crate::report::advice;

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

    /// A request that moves money may have been sent, maybe with a key. `facts` are those of the request, if they are known.
    pub(crate) fn after_sending(self, facts: Option<Facts<'_>>, key: Option<&IntentKey>) -> Failure {
        let what = format!(
            "{self} after the request may have been sent; the outcome is unknown, it may have been processed"
        );
        let step = facts.map_or(NextStep::new(None, "time"), |facts| facts.next_step());
        let message = format!("{what}: {}", advice::not_again(key.is_some(), &step));
        let mut failure = self.failure(FailedOutcome::Unknown, message);
        failure.advice.what_happened = Some(what);
        failure.note =
            key.map(|key| Box::new(IntentNote { key: Some(key.clone()), ..IntentNote::default() }));
        failure
    }

    fn failure(self, outcome: FailedOutcome, message: String) -> Failure {
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
