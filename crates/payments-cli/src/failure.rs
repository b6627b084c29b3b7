//! A command that did not succeed, as both output shapes and the exit code need it.

use std::error::Error as StdError;
use std::time::SystemTime;

use payments_core::{Error, Outcome, RetryAfter};
use payments_model::{ValidationError, Violation};

use crate::exit_code::ExitCode;

/// Why a command did not succeed. Every text in it is free of secrets.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) outcome: FailedOutcome,
    /// One stable word.
    pub(crate) kind: &'static str,
    /// What happened, what it means for the money, what to do.
    pub(crate) message: String,
    /// What lies beneath, such as why a certificate was refused.
    pub(crate) cause: Option<String>,
    pub(crate) violations: Vec<Violation>,
    /// What an answer said, if one came.
    pub(crate) answer: Option<Box<FailedAnswer>>,
}

/// What is kept of an answer that is no success.
#[derive(Clone, Debug)]
pub(crate) struct FailedAnswer {
    pub(crate) http_status: u16,
    /// As it was written.
    pub(crate) status_code: Option<String>,
    pub(crate) transaction_id: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) retry_after_seconds: Option<u64>,
}

impl FailedAnswer {
    fn of(error: &Error) -> Option<Self> {
        Some(Self {
            http_status: error.http_status()?.as_u16(),
            status_code: error.status_code().map(str::to_owned),
            transaction_id: error.transaction_id().map(ToString::to_string),
            reason: error.reason().map(str::to_owned),
            request_id: error.request_id().map(str::to_owned),
            retry_after_seconds: error.retry_after().and_then(seconds),
        })
    }
}

/// The SDK's three outcomes, with the refusals by this command itself told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailedOutcome {
    /// Refused here, before anything was sent.
    Invalid,
    /// Provably never acted on.
    NotProcessed,
    /// Answered no.
    Rejected,
    /// It may have been processed.
    Unknown,
}

impl FailedOutcome {
    /// The outcome as the JSON document has it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::NotProcessed => "not_processed",
            Self::Rejected => "rejected",
            Self::Unknown => "unknown",
        }
    }
}

impl Failure {
    /// A refusal by this command; `message` says what to do.
    pub(crate) fn invalid(kind: &'static str, message: impl Into<String>) -> Self {
        Self::new(FailedOutcome::Invalid, kind, message.into())
    }

    /// Nothing was sent, and the caller did nothing wrong.
    pub(crate) fn not_processed(kind: &'static str, message: impl Into<String>) -> Self {
        Self::new(FailedOutcome::NotProcessed, kind, message.into())
    }

    /// The request may have been sent, and nobody waits for its answer any more.
    pub(crate) fn unknown(kind: &'static str, message: impl Into<String>) -> Self {
        Self::new(FailedOutcome::Unknown, kind, message.into())
    }

    /// The same failure with the text of what lies beneath.
    pub(crate) fn because(mut self, cause: &dyn StdError) -> Self {
        self.cause = chain(Some(cause));
        self
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match (self.outcome, self.answer.as_ref().map(|answer| answer.http_status)) {
            (FailedOutcome::Invalid, _) => ExitCode::Invalid,
            (FailedOutcome::NotProcessed, _) => ExitCode::NotProcessed,
            (FailedOutcome::Rejected, Some(401)) => ExitCode::Unauthorized,
            (FailedOutcome::Rejected, Some(404)) => ExitCode::NotFound,
            (FailedOutcome::Rejected, _) => ExitCode::Rejected,
            (FailedOutcome::Unknown, _) => ExitCode::Unknown,
        }
    }

    fn new(outcome: FailedOutcome, kind: &'static str, message: String) -> Self {
        Self { outcome, kind, message, cause: None, violations: Vec::new(), answer: None }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let outcome = match error.outcome() {
            Outcome::NotProcessed if error.is_validation() || error.is_configuration() => {
                FailedOutcome::Invalid
            }
            Outcome::NotProcessed => FailedOutcome::NotProcessed,
            Outcome::Rejected => FailedOutcome::Rejected,
            Outcome::Unknown => FailedOutcome::Unknown,
        };
        Self {
            outcome,
            kind: error.kind(),
            message: error.to_string(),
            cause: chain(error.source()),
            violations: error.violations().to_vec(),
            answer: FailedAnswer::of(&error).map(Box::new),
        }
    }
}

impl From<ValidationError> for Failure {
    fn from(error: ValidationError) -> Self {
        Self::from(Error::from(error))
    }
}

/// The texts of an error and of everything beneath it.
fn chain(error: Option<&dyn StdError>) -> Option<String> {
    let mut text = error?.to_string();
    let mut beneath = error?.source();
    while let Some(error) = beneath {
        let next = error.to_string();
        // Some libraries print their source and hand it out as well.
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        beneath = error.source();
    }
    Some(text)
}

fn seconds(retry_after: RetryAfter) -> Option<u64> {
    match retry_after {
        RetryAfter::Delay(delay) => Some(delay.as_secs()),
        RetryAfter::Date(date) => Some(date.duration_since(SystemTime::now()).unwrap_or_default().as_secs()),
        _ => None,
    }
}
